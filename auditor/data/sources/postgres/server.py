"""One server's database as a source: connecting, one snapshot, and its refusals in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb
import pyarrow as pa

from auditor.data.sources import staging
from auditor.data.sources.postgres import cells, copying
from auditor.data.sources.postgres.relations import Relation, found, require_apart
from auditor.data.sources.wanted import Wanted
from auditor.errors import DatabaseError

if TYPE_CHECKING:
    import psycopg

LEAST_VERSION = 12
_SETTINGS = {
    "client_encoding": "UTF8", "timezone": "UTC", "datestyle": "ISO, YMD", "intervalstyle": "postgres",
    "extra_float_digits": "1", "bytea_output": "hex", "row_security": "off",
}  # fmt: skip
"""How values are written; extra_float_digits: so that they read back as the same number."""
_SAID = (
    (r"authentication failed|no password supplied", "it does not accept the user name or the password"),
    (r"pg_hba\.conf", "its pg_hba.conf does not let this user in from here"),
    (r"database .* does not exist", "there is no such database on it"),
    (r"role .* does not exist", "it has no such role"),
    (r"timeout|refused|no such file|could not translate|not known|unreachable|resolve",
     "it cannot be reached; is it running, and is this its address?"),
    (r"ssl|certificate", "it and this machine do not agree on TLS"),
)  # fmt: skip
"""What servers and libpq say when they let nobody in, and what is said here: their words are not shown."""
_COLUMN = re.compile(r"when casting from source column (.+?)(?:\n|$)")


class PostgreSQL:
    """See `Source`."""

    def __init__(self, url: str) -> None:
        """Take a URL of libpq's; nothing is connected to.

        Raises:
            DatabaseError: it is none.
        """
        self._url = re.sub(r"(?i)^postgres(ql)?(\+psycopg)?://", "postgresql://", url)
        try:
            parts = urlsplit(self._url)
            query = parse_qs(parts.query)
        except ValueError:
            raise DatabaseError("postgresql://…: not a URL; write postgresql://USER@HOST/DATABASE") from None
        login, _, host = parts.netloc.rpartition("@")
        if "@" in login or "@" in parts.path:
            # of a password with an @, the rest would be taken for the host, and shown
            raise DatabaseError("postgresql://…: an @ in user name or password is written %40")
        user = login.partition(":")[0]
        self.database = (
            unquote(parts.path.strip("/")) or query.get("dbname", [unquote(user)])[0] or "postgres"
        )
        self.name = f"postgresql://{user}{'@' if user else ''}{host}/{self.database}"
        self.beside: Path | None = None
        self.far = False
        self.elsewhere: str | None = self._url

    def attach(self, connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        """See `Source.attach`."""
        staging.begin(connection, catalog, self.name, wanted)
        with self._snapshot() as server:
            relations = [found(server, self.name, each) for each in wanted.tables]
            require_apart(server, relations)
            for each in relations:
                self._copy(server, each, connection, catalog)

    @contextmanager
    def _snapshot(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction in which everything is of one moment."""
        try:
            import psycopg
        except ImportError:
            raise DatabaseError(f"{self.name}: psycopg is missing; pip install 'cae-sql[postgres]'") from None
        try:
            server = psycopg.connect(self._url, application_name="cae-sql", **self._patience())
        except psycopg.ProgrammingError:
            raise DatabaseError(f"{self.name}: not a URL that libpq reads") from None
        except psycopg.Error as error:
            raise DatabaseError(f"{self.name} could not be opened: {_why_not(str(error))}") from None
        try:
            with server:
                if server.info.server_version < LEAST_VERSION * 10_000:
                    raise DatabaseError(f"{self.name} is older than PostgreSQL {LEAST_VERSION}")
                server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                server.read_only = True
                for setting, value in _SETTINGS.items():
                    server.execute(b"SELECT pg_catalog.set_config(%s, %s, true)", [setting, value])
                yield server
        except psycopg.Error as error:
            raise DatabaseError(
                f"{self.name} could not be read{_state(error)}; nothing of it was kept"
            ) from None

    def _patience(self) -> dict[str, Any]:
        return {} if "connect_timeout" in self._url else {"connect_timeout": 10}

    def _copy(
        self,
        server: psycopg.Connection[Any],
        relation: Relation,
        connection: duckdb.DuckDBPyConnection,
        catalog: str,
    ) -> None:
        table = relation.needed.table
        for column in relation.columns:
            if column.check is None:
                continue
            asked = f"SELECT EXISTS (SELECT FROM {relation.full} WHERE {column.check})"
            if server.execute(asked.encode()).fetchall() != [(False,)]:
                raise DatabaseError(
                    f"column {column.name} of table {table} is a numeric of no declared precision with more "
                    "than 15 digits; give its column, or a view's, a type such as numeric(18, 2)"
                )
        if relation.needed.lattices:
            made = cells.made(connection, relation)
        else:
            made = cells.Made(
                [f"{each.there} AS c{i}" for i, each in enumerate(relation.columns)],
                [each.name for each in relation.columns],
                [each.here for each in relation.columns],
            )
        query = (
            f"COPY (SELECT {', '.join(made.there)} FROM {relation.full}{made.groups}) TO STDOUT (FORMAT csv)"
        )
        with server.cursor() as cursor, cursor.copy(query.encode()) as copy:
            stream = copying.Stream(copy)
            try:
                rows = copying.batches(stream, made.names)
                if relation.needed.lattices:
                    needed = relation.needed
                    staging.put_cells(connection, catalog, needed, rows, made.columns, made.here)
                else:
                    staging.put_stream(connection, catalog, relation.needed, rows, made.here)
            except duckdb.OutOfMemoryException:
                raise DatabaseError(f"{self.name}, table {table}: does not fit into memory") from None
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                if stream.error is not None:
                    raise stream.error from None
                # the rest of what DuckDB says quotes a value
                where = _COLUMN.search(str(error))
                what = f"column {where[1]} of table {table}" if where else f"table {table}"
                raise DatabaseError(
                    f"{self.name}: {what} holds a value that DuckDB has none for, such as NaN in a numeric "
                    "or a date before Christ"
                ) from None
            finally:
                stream.end()


def _why_not(said: str) -> str:
    lower = said.lower()
    return next((ours for theirs, ours in _SAID if re.search(theirs, lower)), "it does not let us in")


def _state(error: psycopg.Error) -> str:
    return f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ": the connection was lost"
