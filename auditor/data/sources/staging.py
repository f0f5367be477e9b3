"""Tables of other places in a catalogue of DuckDB's own memory, with the types that a DuckDB file would have.

Promise: a table is read once, so that all of it is of one moment as far as its source has such moments. Its
types hang on those of the source; of public columns alone also on values: nanoseconds that nobody uses are
left out, so that a moment is one type wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from auditor.data.sources import celling
from auditor.data.sources.wanted import Needed, Wanted
from auditor.errors import DatabaseError
from auditor.sql.schema import Table, quoted

_STREAM = "_stream"


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


def put(connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed, query: str) -> None:
    """Make a table of what a query gives, or the cells of it.

    Raises:
        DatabaseError: see `celling.put`.
        duckdb.Error: as DuckDB raises it; its text may quote values.
    """
    if needed.lattices:
        celling.put(connection, catalog, needed, query)
        return
    schema, bare = Table(needed.table, ()).path
    full = f"{catalog}.{quoted(schema)}.{quoted(bare)}"
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{quoted(schema)}")
    connection.execute(f"CREATE TABLE {full} AS {query}")
    for name, type_, *_ in connection.execute(f"DESCRIBE {full}").fetchall():
        if celling.coarser(connection, full, quoted(name), str(type_)):
            connection.execute(f"ALTER TABLE {full} ALTER {quoted(name)} TYPE TIMESTAMP")
        elif type_ == '"NULL"':
            # nothing but NULLs: what DuckDB's own tables make of them
            connection.execute(f"ALTER TABLE {full} ALTER {quoted(name)} TYPE INTEGER")


def put_stream(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    needed: Needed,
    stream: pa.RecordBatchReader,
    columns: Sequence[str],
    more: str = "",
) -> None:
    """Make a table of Arrow's batches.

    Args:
        connection: Where.
        catalog: Its catalogue.
        needed: The table.
        stream: Batches.
        columns: What is selected of them: SQL expressions with their names.
        more: What follows in FROM.

    Raises:
        DatabaseError: see `celling.put`.
        duckdb.Error: as DuckDB raises it, also for what the stream raises.
    """
    connection.register(_STREAM, stream)
    try:
        put(connection, catalog, needed, f"SELECT {', '.join(columns)} FROM {_STREAM} {more}")
    finally:
        connection.unregister(_STREAM)


def put_cells(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    needed: Needed,
    stream: pa.RecordBatchReader,
    columns: celling.Columns,
    selected: Sequence[str],
) -> None:
    """Take in cells that another engine made.

    Args:
        connection: Where.
        catalog: Its catalogue, for what stands beside the cells.
        needed: The table.
        stream: Batches of cells.
        columns: Those of its rows, with their types.
        selected: What is selected of the batches, named as `celling.put` names it.

    Raises:
        DatabaseError: see `celling.put_made`.
        duckdb.Error: as DuckDB raises it, also for what the stream raises.
    """
    connection.register(_STREAM, stream)
    try:
        query = f"SELECT {', '.join(selected)} FROM {_STREAM}"
        celling.put_made(connection, catalog, needed, columns, query)
    finally:
        connection.unregister(_STREAM)
