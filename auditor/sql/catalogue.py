"""SHOW TABLES and DESCRIBE: what there is to ask about, answered from the schema, never from the catalogue.

Promises a public plan that names readable tables and their readable columns only. A protected column is
listed with its type: that it exists is what everybody is told anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from auditor.sql.schema import DEFAULT_SCHEMA, Schema, folded, quoted
from auditor.sql.shape import Describe
from auditor.sql.statement import Plan

_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_DESCRIBE = re.compile(
    r"\s*(?:describe|desc|show)\s+(?:table\s+)?((?:\w+|\"[^\"]+\")(?:\.(?:\w+|\"[^\"]+\"))?)\s*;?\s*",
    re.IGNORECASE,
)
_INNER = re.compile(r"\s*(?:describe|desc)\s+((?:select|from|with|\().*)", re.IGNORECASE | re.DOTALL)
_FIELDS = ("column_name", "column_type", "null", "key", "default", "extra")


def listed(text: str, schema: Schema, describe: Describe) -> Plan | None:
    """The plan of SHOW TABLES, and of DESCRIBE or SHOW of a table or view; None for any other text."""
    if _SHOW_TABLES.fullmatch(text):
        names = sorted([*(each.name for each in schema.tables), *(each.name for each in schema.views)])
        return _plan("SHOW TABLES", ("name",), [(name,) for name in names])
    found = _DESCRIBE.fullmatch(text)
    if found is None:
        return None
    name = folded(found[1].replace('"', "")).removeprefix(f"{DEFAULT_SCHEMA}.")
    for table in schema.tables:
        if folded(table.name) == name:
            return described(f"DESCRIBE {table.name}", schema.columns_of(table))
    for view in schema.views:
        if folded(view.name) == name:
            return described(f"DESCRIBE {view.name}", describe(f"FROM {'.'.join(map(quoted, view.path))}"))
    return None


def inner(text: str) -> str | None:
    """The query of `DESCRIBE SELECT …`, or None."""
    found = _INNER.fullmatch(text)
    return found[1] if found else None


def described(text: str, columns: Sequence[tuple[str, str]]) -> Plan:
    """The plan that lists columns as DESCRIBE does."""
    return _plan(text, _FIELDS, [(name, type_, "YES", None, None, None) for name, type_ in columns])


def _plan(text: str, names: tuple[str, ...], rows: Sequence[tuple[str | None, ...]]) -> Plan:
    selects = []
    for row in rows:
        cells = ("NULL::VARCHAR" if cell is None else _literal(cell) for cell in row)
        named = (f'{cell} AS "{name}"' for cell, name in zip(cells, names, strict=True))
        selects.append("SELECT " + ", ".join(named))
    return Plan(text, (), " UNION ALL ".join(selects), names, ("VARCHAR",) * len(names))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
