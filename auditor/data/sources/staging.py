"""Tables of other places in a catalogue of DuckDB's own memory, with the types that a DuckDB file would have.

Promise: a table is read once, so that all of it is of one moment as far as its source has such moments. Its
types hang on those of the source; of public columns alone also on values: nanoseconds that nobody uses are
left out, so that a moment is one type wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from auditor.data.sources.wanted import Wanted
from auditor.errors import DatabaseError
from auditor.sql.schema import Table, quoted

_STREAM = "_stream"
_COARSER = ("TIMESTAMP_S", "TIMESTAMP_MS")


def begin(connection: duckdb.DuckDBPyConnection, catalog: str, name: str, wanted: Wanted) -> None:
    """Make the catalogue.

    Args:
        connection: Where.
        catalog: Its name.
        name: The source's, for errors.
        wanted: What will be put there.

    Raises:
        DatabaseError: views are wanted.
    """
    if wanted.views:
        raise DatabaseError(
            f"tables.views: {name} has no stored queries that can be read, as a DuckDB file has; leave "
            f"{wanted.views[0]} out, or copy what it shows into a table"
        )
    connection.execute(f"ATTACH ':memory:' AS {catalog}")


def put(connection: duckdb.DuckDBPyConnection, catalog: str, table: str, query: str) -> None:
    """Make a table of what a query gives.

    Raises:
        duckdb.Error: as DuckDB raises it; its text may quote values.
    """
    schema, bare = Table(table, ()).path
    full = f"{catalog}.{quoted(schema)}.{quoted(bare)}"
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{quoted(schema)}")
    connection.execute(f"CREATE TABLE {full} AS {query}")
    for name, type_, *_ in connection.execute(f"DESCRIBE {full}").fetchall():
        if type_ in _COARSER or (type_ == "TIMESTAMP_NS" and _whole(connection, full, quoted(name))):
            connection.execute(f"ALTER TABLE {full} ALTER {quoted(name)} TYPE TIMESTAMP")
        elif type_ == '"NULL"':
            # nothing but NULLs: what DuckDB's own tables make of them
            connection.execute(f"ALTER TABLE {full} ALTER {quoted(name)} TYPE INTEGER")


def _whole(connection: duckdb.DuckDBPyConnection, full: str, name: str) -> bool:
    """Whether nanoseconds are whole microseconds."""
    found = connection.execute(
        f"SELECT count(*) FROM {full} WHERE {name}::TIMESTAMP::TIMESTAMP_NS <> {name}"
    ).fetchall()
    return found == [(0,)]


def put_stream(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    table: str,
    stream: pa.RecordBatchReader,
    columns: Sequence[str],
    more: str = "",
) -> None:
    """Make a table of Arrow's batches.

    Args:
        connection: Where.
        catalog: Its catalogue.
        table: `name` or `schema.name`.
        stream: Batches.
        columns: What is selected of them: SQL expressions with their names.
        more: What follows in FROM.

    Raises:
        duckdb.Error: as DuckDB raises it, also for what the stream raises.
    """
    connection.register(_STREAM, stream)
    try:
        put(connection, catalog, table, f"SELECT {', '.join(columns)} FROM {_STREAM} {more}")
    finally:
        connection.unregister(_STREAM)
