"""The user's tables and views, as rows of pg_class, pg_attribute and the like.

Promises that only readable tables with their readable columns appear, protected ones as ordinary columns, in
table order and with the PostgreSQL type in which their values are sent; and that the same schema gets the
same OIDs each time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb

from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.results import result_type
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, Table, quoted

FIRST_OID = 16384
"""PostgreSQL's first OID of what is not built in."""
PUBLIC = "public"
"""What PostgreSQL calls the schema that DuckDB calls main."""
PROTECTED = "Protected: read through aggregates alone, such as AVG and SUM over many rows."
"""The comment of a protected column."""
_FIRST_SCHEMA = 100_000_000
"""Of schemas; apart from tables, so that a new table moves no schema."""


_Found = tuple[tuple[str, str], str, list[tuple[str, str]], str | None]


@dataclass(frozen=True)
class Attribute:
    """A column of a user's table or view."""

    name: str
    type: str
    """PostgreSQL's name of its type."""
    modifier: int = -1
    """As in `atttypmod`: of numeric, 65536 times the digits plus the digits after the point plus 4."""
    remark: str = ""
    """The column's comment."""


@dataclass(frozen=True)
class Described:
    """A user's table or view."""

    oid: int
    schema: str
    """As PostgreSQL calls it."""
    name: str
    kind: str
    """As in `relkind`."""
    attributes: tuple[Attribute, ...]
    definition: str | None = None
    """Of a view: its SELECT."""


def postgres_type(duckdb_type: str) -> tuple[str, int]:
    """PostgreSQL's type and modifier for a DuckDB type as DESCRIBE prints it.

    >>> postgres_type("DECIMAL(10,2)"), postgres_type("INTEGER[]")
    (('numeric', 655366), ('_int4', -1))
    """
    try:
        found = result_type(duckdb_type)
    except NotRepresentable:
        # It cannot be sent as it is, but as a text.
        return "text", -1
    return found.type.name, found.modifier


def described(schema: Schema, administration: Sequence[Table] = ()) -> tuple[Described, ...]:
    """Every table and view that may be named, in an order that its names decide.

    Args:
        schema: The readable tables and views.
        administration: Further tables, for administrators.

    Raises:
        duckdb.Error: if a view does not fit the tables, which `auditor.data.database` has checked.
    """
    tables: list[_Found] = [(table.path, "r", schema.columns_of(table), None) for table in schema.tables]
    tables += [(path, "v", columns, query) for path, columns, query in _views(schema)]
    protected = {
        (table.path, each.column)
        for each in schema.protected
        for table in schema.tables
        if table.name == each.table
    }
    found = _numbered(tables, FIRST_OID, protected)
    more: list[_Found] = [
        (table.path, "r", Schema((table,), ()).columns_of(table), None) for table in administration
    ]
    return found + _numbered(more, FIRST_OID + len(found))


def schema_oids(tables: Sequence[Described]) -> dict[str, int]:
    """OIDs of the schemas that hold the tables, `public` first."""
    names = sorted({table.schema for table in tables} - {PUBLIC})
    return {PUBLIC: 2200} | {name: _FIRST_SCHEMA + number for number, name in enumerate(names)}


def _numbered(
    tables: Sequence[_Found], first: int, protected: Collection[tuple[tuple[str, str], str]] = ()
) -> tuple[Described, ...]:
    made = []
    for number, (path, kind, columns, query) in enumerate(sorted(tables, key=lambda each: each[0])):
        schema = PUBLIC if path[0] == DEFAULT_SCHEMA else path[0]
        attributes = tuple(
            Attribute(name, *postgres_type(type_), PROTECTED if (path, name) in protected else "")
            for name, type_ in columns
        )
        made.append(Described(first + number, schema, path[1], kind, attributes, query))
    return tuple(made)


def _views(schema: Schema) -> list[tuple[tuple[str, str], list[tuple[str, str]], str]]:
    """Path, columns and query of each view; its columns are read off empty tables of the same types."""
    if not schema.views:
        return []
    found = []
    with duckdb.connect(":memory:", config={"threads": "1"}) as empty:
        for table in schema.tables:
            listed = ", ".join(f"{quoted(name)} {type_}" for name, type_ in schema.columns_of(table))
            empty.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.path[0])}")
            empty.execute(f"CREATE TABLE {'.'.join(map(quoted, table.path))} ({listed})")
        empty.execute("SET enable_external_access = false")
        for view in schema.views:
            name = ".".join(map(quoted, view.path))
            names = f" ({', '.join(map(quoted, view.columns))})" if view.columns else ""
            empty.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(view.path[0])}")
            empty.execute(f"CREATE VIEW {name}{names} AS {view.query}")
            columns = [(str(row[0]), str(row[1])) for row in empty.execute(f"DESCRIBE {name}").fetchall()]
            found.append((view.path, columns, view.query))
    return found
