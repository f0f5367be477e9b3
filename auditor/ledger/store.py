"""A ledger's tables in an SQLite file, by the standard library.

Promise: a write is one transaction that has the write lock from its first statement; a read is one snapshot;
every database error becomes one `LedgerError` in plain words. A ledger file appears whole or not at all, and
is its owner's alone, as what SQLite keeps beside it is (-wal, -shm).

Triggers forbid UPDATE and DELETE: they stop accidents. What they cannot stop, the hash chain shows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from auditor import private
from auditor.errors import LedgerError
from auditor.ledger.connection import BINDING, TABLES, Row

PATIENCE = 30.0
"""Seconds to wait for another writer, each of which takes about a millisecond."""
_IDLE = 5
"""Connections kept open for those who read next."""

TRIGGERS = {
    f"{name}_no_{change.lower()}": (
        f"CREATE TRIGGER {name}_no_{change.lower()} BEFORE {change} ON {name} "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    for name in TABLES
    for change in ("UPDATE", "DELETE")
}
"""Of an SQLite file, by name."""

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
    """Turn errors of a file into one `LedgerError` each."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(place, getattr(error, "sqlite_errorname", None) or "", error) from error
    except UnicodeEncodeError as error:
        raise LedgerError(
            f"ledger {place}: the statement is not valid Unicode; nothing was released"
        ) from error


def fault(place: object, name: str, error: object) -> LedgerError:
    """What an error of that name means to whoever asks."""
    known = next((text for start, text in FAULTS.items() if name.startswith(start)), None)
    return LedgerError(f"ledger {place}: {known or error}")


class FileConnection:
    """A connection to a ledger file."""

    on_server = False

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self.process = os.getpid()
        self.kept: object = None
        """What `places.File` knows to be verified, as this connection sees the file."""

    def tables(self) -> set[str]:
        """Names of the tables that are there."""
        return {name for (name,) in self.raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(self, sql: str, **parameters: object) -> list[Row]:
        """All rows of a statement."""
        cursor = self.raw.execute(sql, parameters)
        names = [each[0] for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def value(self, sql: str, **parameters: object) -> Any:
        """The first value of the first row, None where there is none."""
        found = self.raw.execute(sql, parameters).fetchall()
        return found[0][0] if found else None

    def run(self, sql: str, *rows: Row) -> None:
        """Run a statement, once for each of the rows where there are any."""
        if rows:
            self.raw.executemany(sql, rows)
        else:
            self.raw.execute(sql)

    @contextmanager
    def transaction(self, kind: str) -> Iterator[None]:
        """What happens within it is kept whole, or not at all where an exception leaves it."""
        try:
            self.raw.execute(f"BEGIN {kind}")
            yield
            self.raw.execute("COMMIT")
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")
            raise


def open_file(file: Path) -> sqlite3.Connection:
    """A connection to a file, which it never creates."""
    # isolation_level None: the driver's own BEGIN is deferred, and fails while others write.
    made = sqlite3.connect(
        f"{file.as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=PATIENCE,
        check_same_thread=False,
    )
    made.execute("PRAGMA trusted_schema = OFF")  # what a file's schema says runs nothing but the harmless
    return made


class _Turn:
    """The turn of who writes. Whoever is interrupted at any line lets go of it with the frame that had it."""

    mine = False

    def __init__(self, lock: threading.Lock, patience: float) -> None:
        self._lock = lock
        self.mine = lock.acquire(timeout=patience)

    def end(self) -> None:
        """Let go of it."""
        if self.mine: self.mine = False; self._lock.release()  # noqa: E701, E702 -- no line between them # fmt: skip

    __del__ = end


class Connections:
    """Connections to a ledger file, opened when they are needed."""

    def __init__(self, file: Path, alone: bool = False) -> None:
        """Prepare; nothing is opened yet.

        Args:
            file: The ledger, which must be there when a connection is needed.
            alone: There is one connection, and all wait for it.
        """
        self.file, self.patience = file, PATIENCE
        self._alone = threading.Lock() if alone else None
        self._idle: list[FileConnection] = []
        self._closings = 0

    @contextmanager
    def connection(self) -> Iterator[FileConnection]:
        """One of them, for one thread."""
        turn = None if self._alone is None else _Turn(self._alone, self.patience)
        if turn is not None and not turn.mine:
            raise fault(self.file, "SQLITE_BUSY", None)
        try:
            with self._lent() as lent:
                yield lent
        finally:
            if turn is not None:
                turn.end()

    @contextmanager
    def _lent(self) -> Iterator[FileConnection]:
        closings = self._closings
        lent = self._taken() or FileConnection(open_file(self.file))
        try:
            yield lent
        except sqlite3.Error:
            lent.raw.close()  # what was opened while the file could not be written would stay read-only
            raise
        finally:
            # of what was interrupted while it was undone, nothing is kept
            fresh = closings == self._closings and len(self._idle) < (_IDLE if self._alone is None else 1)
            if fresh and _usable(lent):
                self._idle.append(lent)
            else:
                lent.raw.close()

    def _taken(self) -> FileConnection | None:
        with suppress(IndexError):
            while True:
                found = self._idle.pop()
                if found.process == os.getpid():  # SQLite's are not carried across a fork
                    return found
        return None

    def close(self) -> None:
        """Close those that nobody uses, and the others when they come back; more can be opened."""
        self._closings += 1
        while (found := self._taken()) is not None:
            found.raw.close()


def _usable(connection: FileConnection) -> bool:
    try:
        return not connection.raw.in_transaction
    except sqlite3.ProgrammingError:  # it is closed
        return False


@contextmanager
def reading(connections: Connections) -> Iterator[FileConnection]:
    """One snapshot of the ledger."""
    with connections.connection() as connection, connection.transaction("DEFERRED"):
        yield connection


@contextmanager
def writing(
    connections: Connections, durable: bool, committed: Callable[[FileConnection], None] = lambda _: None
) -> Iterator[FileConnection]:
    """One transaction that holds the write lock; `durable`: it survives a power cut once it is left.

    `committed` is called once it is over, and before anybody else has the connection.
    """
    with connections.connection() as connection:
        connection.run(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")  # not possible inside BEGIN
        with connection.transaction("IMMEDIATE"):
            yield connection
        committed(connection)


def create(file: Path, binding: Row) -> None:
    """Put a new ledger in place, whole: built beside, synced, then renamed."""
    new = file.with_name(f"{file.name}.new")  # one name, because who creates holds the lock
    connections = Connections(new)
    try:
        _remove(new)  # what somebody left who was killed here must not become a part of it
        private.create(new)
        with writing(connections, durable=True) as connection:
            version = int(binding["format"])
            create_tables(connection, version)
            connection.run(BINDING.of(version).insert, binding)
        with connections.connection() as connection:
            # Last: a log (-wal) is not renamed, and on a full disk what it holds would stay there.
            if connection.value("PRAGMA journal_mode = WAL") != "wal":
                raise LedgerError(f"ledger {file}: cannot be created: its disk allows no log (-wal)")
        connections.close()
        with new.open("rb+") as content:
            os.fsync(content.fileno())
        new.replace(file)
        private.sync_folder(file.parent)
    except OSError as error:
        raise LedgerError(f"ledger {file}: cannot be created: {error.strerror or error}") from error
    finally:
        connections.close()
        with suppress(OSError):
            _remove(new)


def create_tables(connection: FileConnection, version: int) -> None:
    """The tables of a new ledger of a format, and their triggers."""
    for table in TABLES.values():
        connection.run(table.of(version).create({}))
    for trigger in TRIGGERS.values():
        connection.run(trigger)


def _remove(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
