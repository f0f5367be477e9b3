"""Statements that are not understood: each has its code, and its message holds no value."""

from __future__ import annotations

import re

import pytest
from gate_double import failures, make, open_staff

from auditor.data.database import Database
from auditor.sql import Unsupported, understand
from auditor.sql.understood import REASONS
from tests.clocks import at_once

FAILURES = list(failures("must_fail.sql"))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return open_staff(make(tmp_path_factory.mktemp("must_fail") / "staff.duckdb"))


def test_there_are_enough() -> None:
    assert len(FAILURES) >= 120


def test_every_code_has_a_statement() -> None:
    assert {code for code, _ in FAILURES} >= set(REASONS) - {
        "empty",
        "too-large",
        "translation",
        "ungrouped",
        "uneven",
        "two-columns",
        "dialect",
        "too-slow",
        "too-much",
        # what a table is read as decides, not the statement
        "cells",
        "cells-values",
    }


@pytest.mark.parametrize(("code", "sql"), FAILURES)
def test_code(code: str, sql: str, database: Database) -> None:
    verdict = understand(sql, None, database.schema)
    assert isinstance(verdict, Unsupported), verdict
    assert verdict.code == code, verdict
    assert verdict.message
    assert not re.search(r"[{}]", verdict.message + verdict.hint)


@pytest.mark.parametrize("sql", ["", "  ;; ", "-- nothing", "/* nothing */"])
def test_no_statement_is_empty(sql: str, database: Database) -> None:
    verdict = understand(sql, None, database.schema)
    assert isinstance(verdict, Unsupported)
    assert verdict.code == "empty"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 60 + "1" + ")" * 60,
        "SELECT " + "NOT " * 200 + "true",
        "SELECT " + "- " * 5000 + "1",
        "SELECT SUM(salary) FROM staff WHERE " + " AND ".join(["age > 1"] * 1100),
        "SELECT '" + "x" * 70_000 + "'",
        "SELECT " + ", ".join(["1"] * 15_000),
        "SELECT " + "CASE WHEN true THEN " * 60 + "1" + " END" * 60,
        "SELECT " + "+".join(["age"] * 5000) + " FROM staff",
        "SELECT " + "||".join(["dept"] * 3000) + " FROM staff",
        "FROM " * 200 + "staff",
        "SELECT " + "SELECT ".join([""] * 100),
    ],
)
def test_large_statements_are_turned_away_quickly(sql: str, database: Database) -> None:
    with at_once():
        assert isinstance(understand(sql, None, database.schema), Unsupported)


@pytest.mark.slow
def test_many_conditions_are_understood(database: Database) -> None:
    sql = "SELECT SUM(salary) FROM staff WHERE " + " AND ".join(f"age <> {i}" for i in range(900))
    assert not isinstance(understand(sql, None, database.schema), Unsupported)
