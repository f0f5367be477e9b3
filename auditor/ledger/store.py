"""The ledger's tables, through SQLAlchemy Core, and SQLite files that hold them.

Promise: a write is one transaction that has the write lock from its first statement; a read is one snapshot;
every database error becomes one `LedgerError` in plain words. A ledger file appears whole or not at all, and
is its owner's alone, as what SQLite keeps beside it is (-wal, -shm).

Triggers forbid UPDATE and DELETE: they stop accidents. What they cannot stop, the hash chain shows.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
)
from sqlalchemy.dialects import sqlite as _sqlite  # noqa: F401 -- now: who has given up rights may not read it later
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from auditor import private
from auditor.errors import LedgerError

PATIENCE = 30.0
"""Seconds to wait for another writer, each of which takes about a millisecond."""

METADATA = MetaData()

BINDING = Table(
    "ledger_binding",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("protect_digest", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("sizes", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("protect", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("insiders", Integer, nullable=False),
)

STATEMENT = Table(
    "ledger_statement",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("sql", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("normalised", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("is_check", Integer, nullable=False),
    Column("risk_before", Float),
    Column("risk_after", Float),
    Column("leak", Integer, nullable=False),
    Column("answers", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

ANSWER = Table(
    "ledger_answer",
    METADATA,
    Column("statement", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("table_name", Text, nullable=False),
    Column("column_name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
    Column("signs", LargeBinary),
    Column("value", Text, nullable=False),
)

TRIGGERS = {
    f"{table.name}_no_{change.lower()}": (
        f"CREATE TRIGGER {table.name}_no_{change.lower()} BEFORE {change} ON {table.name} "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    for table in (BINDING, STATEMENT, ANSWER)
    for change in ("UPDATE", "DELETE")
}
"""Of an SQLite file, by name."""
RAISES = "BEGIN RAISE EXCEPTION 'the ledger is append-only'; END"
"""What a server's trigger does."""

for _table in (BINDING, STATEMENT, ANSWER):
    for _change in ("UPDATE", "DELETE"):
        _trigger = DDL(TRIGGERS[f"{_table.name}_no_{_change.lower()}"])  # type: ignore[no-untyped-call]
        event.listen(_table, "after_create", _trigger.execute_if(dialect="sqlite"))
    _trigger = DDL(  # type: ignore[no-untyped-call]
        f"CREATE TRIGGER {_table.name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {_table.name} "
        "EXECUTE FUNCTION ledger_append_only()"
    )
    event.listen(_table, "after_create", _trigger.execute_if(dialect="postgresql"))
_raises = DDL(  # type: ignore[no-untyped-call]
    f"CREATE OR REPLACE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $${RAISES}$$"
)
event.listen(METADATA, "before_create", _raises.execute_if(dialect="postgresql"))

FAULTS: Mapping[str, str] = {
    "SQLITE_FULL": "the disk is full; nothing was released; make room and ask again",
    "SQLITE_BUSY": "another process kept it locked; nothing was released; ask again",
    "SQLITE_LOCKED": "another process kept it locked; nothing was released; ask again",
    "SQLITE_READONLY": "it cannot be written; its file and folder must be writable",
    "SQLITE_CANTOPEN": "it cannot be opened; its file and folder must exist and be writable",
    "SQLITE_PERM": "it cannot be opened; its file and folder must be writable",
    "SQLITE_NOTADB": "not a ledger (not an SQLite file); restore it from a copy, or name another path",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a copy",
    "SQLITE_IOERR": "the disk reported an error; nothing was released",
    "SQLITE_TOOBIG": "the statement is too long to be recorded; nothing was released",
    "SQLSTATE_53100": "the server's disk is full; nothing was released; make room and ask again",
    "SQLSTATE_53300": "the server has no connection left; nothing was released; ask again",
    "SQLSTATE_55P03": "another process kept it locked; nothing was released; ask again",
    "SQLSTATE_25006": "it cannot be written: the server is a standby, or the role may only read",
    "SQLSTATE_42501": "the role must be able to create tables there, to read and to insert",
    "SQLSTATE_28": "the server does not let this role in",
    "SQLSTATE_3D000": "the server has no such database",
    "SQLSTATE_57P": "the server is stopping or starting; nothing was released; ask again",
    "SQLSTATE_22021": "the statement has a letter that the server's encoding lacks; nothing was released",
    "SQLSTATE_08": "the server cannot be reached; nothing was released",
}
"""By the beginning of SQLite's error name, or of PostgreSQL's SQLSTATE; lost connections count as 08."""


@contextmanager
def explained(place: object) -> Iterator[None]:
    """Turn errors of the database into one `LedgerError` each."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        name = getattr(original, "sqlite_errorname", None) or _state(original)
        known = next((text for start, text in FAULTS.items() if name.startswith(start)), None)
        raise LedgerError(f"ledger {place}: {known or original}") from error
    except PoolTimeout as error:
        raise LedgerError(f"ledger {place}: {FAULTS['SQLITE_BUSY']}") from error
    except UnicodeEncodeError as error:
        raise LedgerError(
            f"ledger {place}: the statement is not valid Unicode; nothing was released"
        ) from error


def _state(error: BaseException | None) -> str:
    """A PostgreSQL error as `FAULTS` names it; empty for others."""
    if error is None or not hasattr(error, "sqlstate"):
        return ""
    return f"SQLSTATE_{error.sqlstate or '08'}"


def connect(file: Path, alone: bool = False) -> Engine:
    """An engine on a ledger file, which it never creates; `alone`: of one connection, for which all wait."""
    address = f"{file.as_uri()}?mode=rw"

    def connection() -> sqlite3.Connection:
        # isolation_level None: the driver's own BEGIN is deferred, and fails while others write.
        made = sqlite3.connect(
            address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False
        )
        made.execute("PRAGMA trusted_schema = OFF")  # what a file's schema says runs nothing but the harmless
        return made

    size = {"pool_size": 1, "max_overflow": 0, "pool_timeout": PATIENCE} if alone else {}
    engine = create_engine("sqlite://", creator=connection, poolclass=QueuePool, **size)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    kind = "IMMEDIATE" if connection.get_execution_options().get("writes") else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {kind}")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One snapshot of the ledger."""
    with engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(
    engine: Engine, durable: bool, committed: Callable[[Connection], None] = lambda _: None
) -> Iterator[Connection]:
    """One transaction that holds the write lock; `durable`: it survives a power cut once it is left.

    `committed` is called once it is over, and before anybody else has the connection.
    """
    try:
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute(
                f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}"
            )  # not possible inside BEGIN
            writer = connection.execution_options(writes=True)
            with writer.begin():
                yield writer
            committed(writer)
    except (DBAPIError, sqlite3.Error):
        engine.dispose()  # what was opened while the file could not be written would stay read-only
        raise


def create(file: Path, binding: Mapping[str, object]) -> None:
    """Put a new ledger in place, whole: built beside, synced, then renamed."""
    new = file.with_name(f"{file.name}.new")  # one name, because who creates holds the lock
    engine = connect(new)
    try:
        _remove(new)  # what somebody left who was killed here must not become a part of it
        private.create(new)
        with writing(engine, durable=True) as connection:
            METADATA.create_all(connection)
            connection.execute(BINDING.insert(), dict(binding))
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            # Last: a log (-wal) is not renamed, and on a full disk what it holds would stay there.
            if raw.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise LedgerError(f"ledger {file}: cannot be created: its disk allows no log (-wal)")
        engine.dispose()
        with new.open("rb+") as content:
            os.fsync(content.fileno())
        new.replace(file)
        private.sync_folder(file.parent)
    except OSError as error:
        raise LedgerError(f"ledger {file}: cannot be created: {error.strerror or error}") from error
    finally:
        engine.dispose()
        with suppress(OSError):
            _remove(new)


def _remove(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
