"""What tells rows apart that an order takes for equal: 0.0 and -0.0, two NaNs, 30 days and a month, a and A.

Promises expressions by which rows that agree in an order of the given columns are ordered further, by the
binary form of what the columns hold: those that agree in these too are alike in everything that a statement
can read of the columns. None of it hangs on the order of rows in the file or on other columns. Columns whose
equal values are the same value have no such expression, so that their order costs what it did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb
from duckdb.sqltypes import DuckDBPyType

from auditor.sql.schema import Table, quoted

_PROBE = "temp._collations"
_FLOATS = frozenset({"float", "double"})
# Values of these may be equal and differ, also inside a list, a struct, a map or a union.
_COARSE = _FLOATS | {"interval", "varchar", "variant"}
_COLLATED = re.compile(r"\bc(\d+) VARCHAR COLLATE\b")


def finer(connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> list[str]:
    """Expressions that order what ORDER BY these columns leaves open.

    Args:
        connection: Where the source is.
        source: A relation, as SQL names it.
        columns: Names of columns of it.
    """
    if not columns:
        return []
    names = [quoted(each) for each in columns]
    types = connection.sql(f"SELECT {', '.join(names)} FROM {source} LIMIT 0").types
    collated = _collated(connection, source, names)
    found = []
    for number, (name, type_) in enumerate(zip(names, types, strict=True)):
        if type_.id in _FLOATS:
            # most columns have none of these values: nothing to sort by
            found.append(f"CASE WHEN {name} = 0 OR isnan({name}) THEN encode({_text(name, type_)}) END")
        elif type_.id == "varchar":
            found += [f"encode({name})"] if number in collated else []
        elif _coarse(type_):
            found.append(f"encode(CAST({_text(name, type_)} AS VARCHAR))")
    return found


def told_apart(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> bool:
    """Whether a public column has values that compare equal and are not the same value.

    Args:
        connection: Where the table is.
        table: The table.
        source: Its name there.
    """
    for column in table.columns:
        for text in finer(connection, source, [column.name]):
            name = quoted(column.name)
            found = connection.execute(
                f"SELECT 1 FROM {source} WHERE {text} IS NOT NULL GROUP BY {name} "
                f"HAVING min({text}) <> max({text}) LIMIT 1"
            ).fetchall()
            if found:
                return True
    return False


def _collated(connection: duckdb.DuckDBPyConnection, source: str, names: Sequence[str]) -> set[int]:
    """Which columns are texts under a collation: DuckDB says so of a table alone."""
    shown = ", ".join(f"{name} AS c{number}" for number, name in enumerate(names))
    connection.execute(f"CREATE TEMP TABLE {_PROBE} AS SELECT {shown} FROM {source} LIMIT 0")
    try:
        (row,) = connection.execute(
            "SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = $1",
            [_PROBE.removeprefix("temp.")],
        ).fetchall()
    finally:
        connection.execute(f"DROP TABLE {_PROBE}")
    return {int(number) for number in _COLLATED.findall(str(row[0]))}


def _coarse(type_: DuckDBPyType) -> bool:
    return type_.id in _COARSE or any(_coarse(child) for _, child in _children(type_))


def _children(type_: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    if type_.id not in ("list", "array", "struct", "map", "union"):
        return []
    parts = [(str(name), child) for name, child in type_.children if isinstance(child, DuckDBPyType)]
    # a union's tag comes first, without a name
    return [(name, child) for name, child in parts if name or type_.id != "union"]


def _text(value: str, type_: DuckDBPyType, depth: int = 0) -> str:
    """A SQL expression that is the same for two equal values only if they are one value."""
    kind = type_.id
    if kind in _FLOATS:
        return f"CAST(CAST({value} AS BIT) AS VARCHAR)"
    if kind == "variant":
        return f"list_value(variant_typeof({value}), CAST({value} AS VARCHAR))"
    if not any(_coarse(child) for _, child in _children(type_)):
        return value
    children = _children(type_)
    each = f"x{depth}"
    if kind in ("list", "array"):
        return f"list_transform({value}, lambda {each}: {_text(each, children[0][1], depth + 1)})"
    if kind == "map":
        parts = [f"CAST({_text(f'{each}.{name}', child, depth + 1)} AS VARCHAR)" for name, child in children]
        return f"list_transform(map_entries({value}), lambda {each}: list_value({', '.join(parts)}))"
    extract = "union_extract" if kind == "union" else "struct_extract"
    parts = []
    for place, (name, child) in enumerate(children, 1):
        key = "'" + name.replace("'", "''") + "'" if name or kind == "union" else str(place)
        parts.append(f"CAST({_text(f'{extract}({value}, {key})', child, depth + 1)} AS VARCHAR)")
    return f"list_value({', '.join(parts)})"
