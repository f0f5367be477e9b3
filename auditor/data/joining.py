"""By which columns the rows of a protected table find one row of a public table: whose they are.

Promise: one way of joining, or an error that says what would do. A foreign key that the file declares is one;
where it declares none, a column that both tables have, of one type and unique in the public table. A column
called `id`, or so, is none of these: each of two tables may number its own rows by it. No protected value is
ever looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from auditor.errors import DatabaseError
from auditor.sql.schema import Column, Table, folded, quoted

GENERIC = frozenset(["id", "key", "nr", "no", "number", "code", "pid", "uid", "rowid", "name"])
"""Names that say of which kind a column is, not of what."""


def joined(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    table: tuple[str, Sequence[Column]],
    other: tuple[str, Sequence[Column]],
    column: str,
    unit: str,
) -> str:
    """The rows of a table, and as one more column whose they are by a public one; NULL where that has no row.

    Args:
        connection: Where both are.
        catalog: Its catalogue with both.
        table: The name of the protected table, and those of its columns that are not protected.
        other: The name of the public table, and all of its columns.
        column: The public table's column that says whose rows they are.
        unit: What it is called in the result.

    Returns:
        A query in parentheses.

    Raises:
        DatabaseError: there is no way of joining, or there are several.
    """
    ways = list(_declared(connection, catalog, table, other[0])) or list(
        _alike(connection, catalog, table[1], other)
    )
    if len(ways) != 1:
        found = " and ".join(f"by {', '.join(one)}" for one, _ in ways)
        raise DatabaseError(
            f'protect.unit = "{unit}": tables {table[0]} and {other[0]} can be joined {found}; '
            f"declare one foreign key, or copy the column into table {table[0]} and name it there"
            if ways
            else f'protect.unit = "{unit}": nothing says how tables {table[0]} and {other[0]} are joined: '
            f"that takes a foreign key, or a column of one name and type in both that names each row of "
            f"{other[0]} once and is not just called id; or copy the column into table {table[0]}"
        )
    on = " AND ".join(f"one.{quoted(mine)} = other.{quoted(its)}" for mine, its in zip(*ways[0], strict=True))
    return (
        f"(SELECT one.*, other.{quoted(column)} AS {quoted(unit)} FROM {place(catalog, table[0])} AS one "
        f"LEFT JOIN {place(catalog, other[0])} AS other ON {on})"
    )


def place(catalog: str, table: str) -> str:
    """A table in SQL."""
    return ".".join([catalog, *map(quoted, Table(table, ()).path)])


_Way = tuple[tuple[str, ...], tuple[str, ...]]
"""Columns of the one table, and those of the other that they are equal to."""


def _declared(
    connection: duckdb.DuckDBPyConnection, catalog: str, table: tuple[str, Sequence[Column]], other: str
) -> Iterator[_Way]:
    rows = connection.execute(
        "SELECT schema_name, table_name, referenced_table, constraint_column_names, referenced_column_names "
        "FROM duckdb_constraints() WHERE database_name = $1 AND constraint_type = 'FOREIGN KEY'",
        [catalog],
    ).fetchall()
    schema, holder = map(folded, Table(table[0], ()).path)
    ends = [(schema, holder), tuple(map(folded, Table(other, ()).path))]
    open_ = {folded(each.name) for each in table[1]}
    for home, of, referenced, mine, its in rows:
        # foreign keys stay within their schema
        found = [(folded(home), folded(of)), (folded(home), folded(referenced))]
        if found == ends and {folded(each) for each in mine} <= open_:
            yield tuple(mine), tuple(its)


def _alike(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    columns: Sequence[Column],
    other: tuple[str, Sequence[Column]],
) -> Iterator[_Way]:
    theirs = {folded(each.name): each for each in other[1]}
    for mine in columns:
        its = theirs.get(folded(mine.name))
        if its is None or folded(mine.name) in GENERIC or _kind(mine) != _kind(its):
            continue
        name = quoted(its.name)
        ((named, names),) = connection.execute(
            f"SELECT count({name}), count(DISTINCT {name}) FROM {place(catalog, other[0])}"
        ).fetchall()
        if 0 < named == names:
            yield (mine.name,), (its.name,)


def _kind(column: Column) -> str:
    """Whole numbers of all widths are compared with one another."""
    return "INTEGER" if "INT" in column.type and "(" not in column.type else column.type
