"""A column without AS is called what PostgreSQL calls it, whoever asks: one list of rules."""

from __future__ import annotations

import pytest
import sqlglot

from auditor.sql.postgres.naming import figured

NAMES = {
    "age": "age",
    "t.Age": "age",
    't."Age"': "Age",
    "ÄB": "Äb",  # PostgreSQL folds ASCII letters alone
    "my_function(x)": "my_function",
    "pg_catalog.my_function(x)": "my_function",
    "(x)": "x",
    "x + 1": "",
    "x[1]": "x",
    'x COLLATE "C"': "x",
    "1::int": "int4",
    "x::int": "x",
    "'a'::varchar": "varchar",
    "CASE WHEN true THEN 1 END": "case",
    "CASE WHEN true THEN 1 ELSE y END": "y",
    "EXISTS (SELECT 1)": "exists",
    "(SELECT 1 AS one)": "one",
    "(SELECT x)": "x",
    "TRIM(LEADING 'a' FROM x)": "ltrim",
    "INTERVAL '1 day'": "interval",
    "current_date": "current_date",
    "EXTRACT(year FROM d)": "extract",
}


@pytest.mark.parametrize("expression", NAMES)
def test_a_column_without_as_has_postgresqls_name(expression: str) -> None:
    (node,) = sqlglot.parse_one(f"SELECT {expression}", read="postgres").expressions
    assert figured(node) == NAMES[expression]
