"""A ledger on a PostgreSQL server, which proxies and gates on several machines share.

Promise: as `auditor.ledger.places`. Writers take turns by an advisory lock that ends with their transaction,
deciders by one that ends with their connection: a decider whose connection is lost may meet another, and then
the one who appends second is turned away, because the other's answer is there (`LedgerMoved`).

The tables are in the schema that the role's search path names first. A pooler that shares one connection
among transactions loses the deciders' lock, and time with it, but no promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy
from sqlalchemy import URL, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from auditor.errors import LedgerError
from auditor.ledger import store
from auditor.ledger.connection import BINDING, TABLES, Connection, Row
from auditor.ledger.schema import RAISES, TYPES

_BEGINS, _WRITES, _DECIDES = 0x63616530, 0x63616531, 0x63616532
"""First halves of the advisory locks' names: "cae0" to "cae2"."""
_LEDGER = "('ledger_statement'::regclass::oid::bigint % 2147483647)::int"
"""The second half: which ledger of the database."""
_NEW = "hashtext(current_schema())"
_WRITING = (
    "SELECT set_config('lock_timeout', :patience, true), set_config('synchronous_commit', "
    "CASE WHEN NOT :durable THEN 'off' WHEN current_setting('synchronous_commit') = 'off' THEN 'on' "
    f"ELSE current_setting('synchronous_commit') END, true), pg_advisory_xact_lock({_WRITES}, {_LEDGER})"
)
_LET_GO = text(f"SELECT pg_advisory_unlock({_DECIDES}, {_LEDGER})")
_ABLE = (
    "SELECT has_table_privilege('ledger_statement', 'INSERT') AND "
    "has_table_privilege('ledger_answer', 'INSERT') AS insert, "
    "current_setting('transaction_read_only') = 'off' AS writable, "
    "current_setting('server_encoding') = 'UTF8' AS utf8"
)
_ROWS = (
    "SELECT count(*) AS count, sum(xmin::text::bigint) AS written "
    "FROM ledger_statement WHERE number <= :number UNION ALL "
    "SELECT count(*), sum(xmin::text::bigint) FROM ledger_answer WHERE statement <= :number UNION ALL "
    "SELECT count(*), sum(xmin::text::bigint) FROM ledger_binding"
)
"""How many rows there are up to an entry, and by which transactions they were written: what rewrites a row is
a later one, so that the sum cannot stay the same."""
# Who decides holds a lock for as long as the server believes in the connection.
_LIVELY = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "connect_timeout": 10}
_SERVERS_SIDE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
_DRIVER = "postgresql+psycopg"
_RAISES = f"CREATE OR REPLACE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $${RAISES}$$"


_HARMLESS = frozenset({"host", "port", "dbname", "user", "options", "sslmode", "connect_timeout"})
"""Parts of a URL's query that messages may show; others may be passwords, or lead to one."""


def shown(url: URL) -> str:
    """A URL as messages may have it."""
    query = {name: value if name in _HARMLESS else "***" for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


class _ServerConnection:
    """A connection to a server, as the ledger speaks to it."""

    on_server = True

    def __init__(self, connection: sqlalchemy.Connection) -> None:
        self._connection = connection

    def tables(self) -> set[str]:
        """Names of the tables in the schema that the search path names first."""
        return set(inspect(self._connection).get_table_names())

    def rows(self, sql: str, **parameters: object) -> list[Row]:
        """All rows of a statement."""
        return [dict(row) for row in self._connection.execute(text(sql), parameters).mappings()]

    def value(self, sql: str, **parameters: object) -> Any:
        """The first value of the first row, None where there is none."""
        return self._connection.execute(text(sql), parameters).scalar()

    def run(self, sql: str, *rows: Row) -> None:
        """Run a statement, once for each of the rows where there are any."""
        self._connection.execute(text(sql), [dict(row) for row in rows] or None)


class Server:
    """A ledger in one schema of a database."""

    def __init__(self, url: URL) -> None:
        """Prepare; nothing is connected to yet.

        Raises:
            LedgerError: psycopg is not installed, or the URL names another driver.
        """
        self._shown = shown(url)
        if url.drivername not in ("postgresql", _DRIVER):
            raise LedgerError(f"ledger {self}: it is reached by psycopg alone; write postgresql://…")
        given = str(url.query.get("options", ""))
        arguments = {**_LIVELY, "options": f"{_SERVERS_SIDE} {given}".strip()}
        kept = url.set(drivername=_DRIVER).difference_update_query(["options"])
        try:
            self.engine: Engine = create_engine(
                kept, connect_args=arguments, pool_pre_ping=True, isolation_level="READ COMMITTED"
            )
        except ImportError as error:
            raise LedgerError(
                f"ledger {self}: psycopg is missing; pip install 'cae-sql[postgres]'"
            ) from error
        event.listen(self.engine, "connect", _plain)
        self._kept: tuple[int, bytes, tuple[object, ...]] | None = None

    def __str__(self) -> str:
        return self._shown

    def exists(self) -> bool:
        """Whether one of the tables is there."""
        with self.reading() as connection:
            return bool(connection.tables() & TABLES.keys())

    def begin(self, row: Row) -> None:
        """Create the tables, bound as the row says, unless somebody else is first."""
        with _explained(self), self.engine.begin() as started:
            connection = _ServerConnection(started)
            connection.rows("SELECT set_config('lock_timeout', :t, true)", t=f"{store.PATIENCE:.3f}s")
            connection.rows(f"SELECT pg_advisory_xact_lock({_BEGINS}, {_NEW})")
            if connection.tables() & TABLES.keys():
                return  # another process was first
            if connection.value("SELECT current_schema()") is None:
                raise LedgerError(f"ledger {self}: its search path names no schema that there is; create one")
            connection.run("SET LOCAL synchronous_commit = on")
            connection.run(_RAISES)
            for table in TABLES.values():
                connection.run(table.create(TYPES))
                connection.run(
                    f"CREATE TRIGGER {table.name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
                    f"ON {table.name} EXECUTE FUNCTION ledger_append_only()"
                )
            connection.run(BINDING.insert, row)

    def check(self) -> None:
        """Look whether the role may write, and whether every text can be kept."""
        with _explained(self), self.engine.connect() as started:
            connection = _ServerConnection(started)
            if not TABLES.keys() <= connection.tables():
                return  # which is told where the ledger is read
            [able] = connection.rows(_ABLE)
        if not able["insert"] or not able["writable"]:
            wanted = store.FAULTS["SQLSTATE_42501" if able["writable"] else "SQLSTATE_25006"]
            raise LedgerError(f"ledger {self}: {wanted}")
        if not able["utf8"]:
            raise LedgerError(f"ledger {self}: its database must be encoded in UTF8; create another")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot."""
        with _explained(self), self.engine.connect() as connection:
            reader = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with reader.begin():
                yield _ServerConnection(reader)

    @contextmanager
    def writing(self, durable: bool) -> Iterator[Connection]:
        """One transaction that holds the write lock."""
        with _explained(self), self.engine.begin() as started:
            connection = _ServerConnection(started)
            connection.rows(_WRITING, patience=f"{store.PATIENCE:.3f}s", durable=durable)
            yield connection

    def kept(self, connection: Connection) -> tuple[int, bytes] | None:
        """By the transactions that wrote the rows: the server's own word on each."""
        kept = self._kept
        if kept is None or kept[2] != _written(connection, kept[0]):
            return None
        return kept[:2]

    def keep(self, connection: Connection, number: int, head: bytes) -> None:
        """Noted at once: if the transaction is undone, its rows are not found the next time."""
        self._kept = number, head, _written(connection, number)

    @contextmanager
    def deciding(self, timeout: float) -> Iterator[None]:
        """The deciders' lock, on a connection of its own."""
        with _explained(self):
            connection = self.engine.connect()
        free = False
        try:
            with _explained(self):
                connection.execution_options(isolation_level="AUTOCOMMIT")
                self._take(connection, timeout)
            try:
                yield
            finally:
                with suppress(DBAPIError):
                    free = bool(connection.execute(_LET_GO).scalar())
        finally:
            if not free:
                connection.invalidate()  # what was not let go of ends with the connection
            connection.close()

    def _take(self, connection: sqlalchemy.Connection, timeout: float) -> None:
        connection.execute(text("SELECT set_config('lock_timeout', :t, false)"), {"t": f"{timeout:.3f}s"})
        try:
            connection.execute(text(f"SELECT pg_advisory_lock({_DECIDES}, {_LEDGER})"))
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != "55P03":
                raise
            said = f"others have been deciding for {timeout:g} seconds; ask again"
            raise LedgerError(f"ledger {self}: {said}") from error

    def settle(self) -> None:
        """A transaction that is on disk has all before it there."""
        with self.writing(durable=True) as connection:
            connection.rows("SELECT pg_current_xact_id()")

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _written(connection: Connection, number: int) -> tuple[object, ...]:
    return tuple(tuple(row.values()) for row in connection.rows(_ROWS, number=number))


def _state(error: BaseException | None) -> str:
    """An error of the server as `store.FAULTS` names it; empty for others."""
    if error is None or not hasattr(error, "sqlstate"):
        return ""
    return f"SQLSTATE_{error.sqlstate or '08'}"


@contextmanager
def _explained(place: object) -> Iterator[None]:
    """As `store.explained`, for errors of a server."""
    try:
        with store.explained(place):
            yield
    except DBAPIError as error:
        raise store.fault(place, _state(error.orig), error.orig) from error
    except PoolTimeout as error:
        raise store.fault(place, "SQLITE_BUSY", error) from error


def _plain(connection: object, _: object) -> None:
    """Statements are prepared by the server's name for them, which poolers mix up."""
    connection.prepare_threshold = None  # type: ignore[attr-defined]
