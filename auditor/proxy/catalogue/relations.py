"""The relations of PostgreSQL 15's pg_catalog and information_schema, as data that lies beside this file.

Promises names, order, types and OIDs of their columns as PostgreSQL 15 has them, and the rows that every
PostgreSQL server has of its built-in types. Holds nothing of any user's database: that is `objects`'s.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NULL = r"\N"
"""How the files write NULL, as COPY does."""
CATALOG, INFORMATION = "pg_catalog", "information_schema"

_STORED = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT",
    "float8": "DOUBLE", "timestamptz": "TIMESTAMPTZ", "timestamp": "TIMESTAMP", "interval": "INTERVAL",
    "date": "DATE", "numeric": "DECIMAL(38, 6)",
    "oid": "UINTEGER", "xid": "UINTEGER", "int2vector": "SMALLINT[]", "oidvector": "UINTEGER[]",
}  # fmt: skip
OBJECT_NAMES = frozenset({"regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"})
"""Types that are OIDs inside and names when they are shown."""
VECTORS = frozenset({"int2vector", "oidvector"})
"""Types that are arrays from 0 inside and texts of numbers when they are shown."""


@dataclass(frozen=True)
class Field:
    """A column of a relation."""

    name: str
    type: str
    """PostgreSQL's name of its type; of a domain, that of the type below it."""
    required: bool
    """NOT NULL."""


@dataclass(frozen=True)
class Relation:
    """A table or view that every PostgreSQL database has."""

    schema: str
    oid: int
    name: str
    kind: str
    """As in `relkind`: "r" a table, "v" a view."""
    fields: tuple[Field, ...]


def stored_as(kind: str) -> str:
    """DuckDB's type for values of a PostgreSQL type.

    >>> stored_as("oid"), stored_as("_name")
    ('UINTEGER', 'VARCHAR[]')
    """
    if kind in OBJECT_NAMES:
        return "UINTEGER"
    if kind.startswith("_"):
        return f"{stored_as(kind[1:])}[]"
    return _STORED.get(kind, "VARCHAR")


@cache
def relations() -> Mapping[tuple[str, str], Relation]:
    """All relations by schema and name."""
    found = {}
    for row in rows("relations"):
        schema, name, kind = (row[each] or "" for each in ("schema", "name", "kind"))
        fields = fields_of(row["columns"] or "")
        found[schema, name] = Relation(schema, int(row["oid"] or 0), name, kind, fields)
    return found


def fields_of(text: str) -> tuple[Field, ...]:
    """Columns as the files write them: `oid:oid! relname:name`, of which the first is NOT NULL."""
    parts = (each.partition(":") for each in text.split())
    return tuple(Field(name, kind.removesuffix("!"), kind.endswith("!")) for name, _, kind in parts)


@cache
def type_oids() -> Mapping[str, int]:
    """OIDs of the built-in types by name."""
    return {str(row["typname"]): int(row["oid"] or 0) for row in rows("pg_type")}


def rows(name: str) -> list[dict[str, str | None]]:
    """The rows of a file of `rows/`, as texts."""
    text = (files(__package__) / "rows" / f"{name}.csv").read_text(encoding="utf-8")
    return [
        {column: None if value == NULL else value for column, value in row.items()}
        for row in csv.DictReader(text.splitlines(keepends=True))
    ]
