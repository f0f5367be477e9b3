"""Cells of a table: one GROUP BY over its public columns, made where its rows are.

Promise: of a protected table nothing else is brought here, and nothing that is asked of the engine hangs on
what clients ask. For each combination of public columns and of which protected values are missing: the
number of rows; of each protected column the number of its values, how many of them are on the grid, and their
sum, least and greatest, exact, as DECIMAL(38, `digits`). Here DuckDB makes it of any query; PostgreSQL and
Ibis make it where they are, and hand it in. Where cells are by value too, the rows are made of them again.
Beside the cells stands a table without rows, of the columns and types that the rows have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import duckdb

from auditor.data import units, vault
from auditor.data.ordering import finer
from auditor.data.sources.wanted import Lattice, Needed, same
from auditor.errors import DatabaseError
from auditor.sql.schema import Table, folded, quoted

CATALOG = "_cells"
ROWS = "n"
"""The column that says how many rows a cell has."""
KEY, VALUES, ON_GRID, SUM, LEAST, GREATEST = "k ", "c ", "o ", "s ", "l ", "g "
"""What is put before a column's name: its value, and what is told of a protected one."""

_COARSER = ("TIMESTAMP_S", "TIMESTAMP_MS")
_SCALE = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")
Columns = Sequence[tuple[str, str]]
"""Names and DuckDB's types."""


def begin(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the catalogue that cells are put into."""
    connection.execute(f"ATTACH ':memory:' AS {CATALOG}")


def staged(table: str) -> str:
    """The cells of a table, as SQL names them."""
    return f"{CATALOG}.{quoted(same(table))}"


def is_there(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether the cells of a table are."""
    found = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE database_name = $1 AND table_name = $2",
        [CATALOG, same(table)],
    ).fetchall()
    return found != [(0,)]


def digits(type_: str, lattice: Lattice) -> int:
    """How many decimals the sums of a protected column have."""
    scale = _SCALE.fullmatch(type_)
    return max(lattice.digits, int(scale[1]) if scale else 0)


def text(value: Fraction) -> str:
    """A decimal fraction as SQL writes it.

    >>> text(Fraction(-5, 4))
    '-1.25'
    """
    return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def lattice_of(needed: Needed, column: str) -> Lattice:
    """Where the values of one of its protected columns lie."""
    place = [folded(each) for each in needed.protected].index(folded(column))
    return needed.lattices[place]


# --- made here


def put(connection: duckdb.DuckDBPyConnection, catalog: str | None, needed: Needed, query: str) -> None:
    """Make the cells of the rows that a query gives, and what stands beside them.

    Args:
        connection: Where.
        catalog: Where the table without rows is put; None: nowhere.
        needed: What is wanted of the table; its columns are the query's.
        query: The rows; read once.

    Raises:
        DatabaseError: a sum has too many digits; by value, there are too many rows.
        duckdb.Error: as DuckDB raises it; its text may quote values.
    """
    rows = connection.execute(f"DESCRIBE {query}").fetchall()
    columns = [(str(row[0]), str(row[1])) for row in rows]
    public = [name for name, _ in columns if not needed.protects(name)]
    apart = finer(connection, f"({query})", public)
    if needed.by_value:
        put_made(connection, catalog, needed, columns, _by_value(columns, apart, query))
    else:
        put_made(connection, catalog, needed, columns, _cells(columns, needed, apart, query))


def _by_value(columns: Columns, apart: Sequence[str], query: str) -> str:
    names = [quoted(name) for name, _ in columns]
    shown = [f"{name} AS {quoted(KEY + bare)}" for name, (bare, _) in zip(names, columns, strict=True)]
    return (
        f"SELECT {', '.join([*shown, f'count(*) AS {ROWS}'])} FROM ({query}) AS r "
        f"GROUP BY {', '.join([*names, *apart])}"
    )


def _cells(columns: Columns, needed: Needed, apart: Sequence[str], query: str) -> str:
    inner, outer = list[str](), list[str]()
    groups = list(apart)
    for name, _ in columns:
        column = quoted(name)
        if not needed.protects(name):
            inner.append(column)
            outer.append(f"{column} AS {quoted(KEY + name)}")
            groups.append(column)
    outer.append(f"count(*) AS {ROWS}")
    for name, type_ in columns:
        if needed.protects(name) and vault.supported(type_):
            value, exact = quoted(name), quoted(SUM + name)
            there, fits = quoted(VALUES + name), quoted(ON_GRID + name)
            found, on_grid = _exact(value, type_, lattice_of(needed, name))
            inner += [f"{value} IS NOT NULL AS {there}", f"{found} AS {exact}", f"{on_grid} AS {fits}"]
            groups.append(there)
            outer += [f"count(*) FILTER ({there}) AS {there}", f"count(*) FILTER ({fits}) AS {fits}"]
            outer += [f"sum({exact}) AS {exact}", f"min({exact}) AS {quoted(LEAST + name)}"]
            outer.append(f"max({exact}) AS {quoted(GREATEST + name)}")
    return (
        f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM ({query}) AS r) AS q "
        f"GROUP BY {', '.join(groups)}"
    )


def _exact(value: str, type_: str, lattice: Lattice) -> tuple[str, str]:
    """A value as a DECIMAL, NULL where it is none, and whether it is on the grid."""
    decimal = f"DECIMAL(38, {digits(type_, lattice)})"
    step, least = (f"CAST('{text(each)}' AS {decimal})" for each in (lattice.step, lattice.least))
    if type_ in ("DOUBLE", "FLOAT"):
        # a value means the shortest text that reads back as it
        found = f"TRY_CAST(CAST({value} AS VARCHAR) AS {decimal})"
        return (
            found,
            f"COALESCE(CAST({found} AS {type_}) = {value} AND ({found} - {least}) % {step} = 0, FALSE)",
        )
    found = f"CAST({value} AS INTEGER)" if type_ == "BOOLEAN" else value
    found = f"TRY_CAST({found} AS {decimal})"
    return found, f"COALESCE(({found} - {least}) % {step} = 0, FALSE)"


# --- made here or elsewhere


def put_made(
    connection: duckdb.DuckDBPyConnection, catalog: str | None, needed: Needed, columns: Columns, query: str
) -> None:
    """Take in cells.

    Args:
        connection: Where.
        catalog: Where the table without rows is put, or by value the rows; None: nowhere.
        needed: What is wanted of the table.
        columns: Those of its rows, in their order, with their types.
        query: The cells: columns named as `put` names them.

    Raises:
        DatabaseError: a sum has too many digits; by value, there are too many rows.
        duckdb.Error: as DuckDB raises it; its text may quote values.
    """
    full = staged(needed.table)
    try:
        connection.execute(f"CREATE TABLE {full} AS {query}")
    except duckdb.OutOfMemoryException:
        public = ", ".join(name for name, _ in columns if needed.by_value or not needed.protects(name))
        raise DatabaseError(
            f"the cells of table {needed.table} do not fit into memory; they are by {public}: leave out of "
            "public what has many values"
        ) from None
    except duckdb.OutOfRangeException as error:
        if "overflow" not in str(error).lower():
            raise
        raise DatabaseError(
            f"the cells of table {needed.table} have a sum of more than 38 digits; round or scale the column"
        ) from None
    types = dict(columns)
    for name, type_, *_ in connection.execute(f"DESCRIBE {full}").fetchall():
        if not str(name).startswith(KEY) or needed.protects(str(name).removeprefix(KEY)):
            continue
        if coarser(connection, full, quoted(name), str(type_)):
            connection.execute(f"ALTER TABLE {full} ALTER {quoted(name)} TYPE TIMESTAMP")
            type_ = "TIMESTAMP"
        types[str(name).removeprefix(KEY)] = str(type_)
    if catalog is None:
        return
    types = {name: "INTEGER" if type_ == '"NULL"' else type_ for name, type_ in types.items()}
    schema, bare = Table(needed.table, ()).path
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{quoted(schema)}")
    listed = ", ".join(f"{quoted(name)} {types[name]}" for name, _ in columns)
    table = f"{catalog}.{quoted(schema)}.{quoted(bare)}"
    connection.execute(f"CREATE TABLE {table} ({listed})")
    if needed.by_value:
        require_few(connection, needed.table, f"SELECT sum({ROWS}) FROM {full}")
        rows = ", ".join(quoted(KEY + name) for name, _ in columns)
        connection.execute(
            f"INSERT INTO {table} SELECT {rows} FROM (SELECT *, unnest(range({ROWS})) FROM {full})"
        )


def require_few(connection: duckdb.DuckDBPyConnection, table: str, count: str) -> None:
    """Check that there are not too many rows to be held one by one.

    Raises:
        DatabaseError: there are.
    """
    ((rows,),) = connection.execute(count).fetchall()
    if (rows or 0) > units.MOST:
        raise DatabaseError(
            f"table {table} has {rows:,} rows, and with source.values = true at most {units.MOST:,} are "
            "held; leave values out, or protect a part of the table"
        )


def coarser(connection: duckdb.DuckDBPyConnection, full: str, name: str, type_: str) -> bool:
    """Whether a column is of moments that TIMESTAMP holds: nanoseconds that nobody uses are left out."""
    if type_ != "TIMESTAMP_NS":
        return type_ in _COARSER
    found = connection.execute(
        f"SELECT count(*) FROM {full} WHERE {name}::TIMESTAMP::TIMESTAMP_NS <> {name}"
    ).fetchall()
    return found == [(0,)]
