"""The table of types is PostgreSQL's own."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.proxy.values import types
from auditor.proxy.values.results import result_type


def test_the_table_is_postgresqls_catalogue(raw: Any) -> None:
    found = raw("SELECT oid, typname, typlen, typarray, typelem, format_type(oid, NULL) FROM pg_type")
    catalogue = {int(row[0]): row for row in found}
    for each in types.BY_OID.values():
        _, name, length, array, element, sql = (cell.decode() for cell in catalogue[each.oid])
        expected = (name, int(length), int(array), sql)
        assert (each.name, each.length, each.array, each.sql) == expected
        if each.element:
            assert each.element == int(element)


def test_each_type_has_one_entry() -> None:
    assert len(types.BY_OID) == len(types.BY_NAME) == len(types.SCALARS) + len(types.ARRAYS)


@pytest.mark.parametrize(
    ("duckdb", "name", "modifier"),
    [
        ("HUGEINT", "numeric", -1),
        ("DECIMAL(18,3)", "numeric", (18 << 16 | 3) + 4),
        ("DECIMAL(18, 3)", "numeric", (18 << 16 | 3) + 4),
        ("TIMESTAMP WITH TIME ZONE", "timestamptz", -1),
        ("INTEGER[]", "_int4", -1),
        ("INTEGER[][3]", "_int4", -1),
        ("STRUCT(a INTEGER, b VARCHAR[])", "json", -1),
        ("STRUCT(a INTEGER)[]", "_json", -1),
        ("MAP(VARCHAR, INTEGER)", "json", -1),
        ("ENUM('a', 'INTEGER[]')", "text", -1),
        ('"NULL"', "text", -1),
        ("NULL", "text", -1),
        ("UBIGINT[]", "_numeric", -1),
    ],
)
def test_duckdbs_types_have_postgresqls_names(duckdb: str, name: str, modifier: int) -> None:
    found = result_type(duckdb)
    assert (found.type.name, found.modifier) == (name, modifier)
