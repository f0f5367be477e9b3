"""Previews: rows with NULL in the protected column, and nothing worked out from these NULLs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from gate_double import make, open_staff

from auditor.data.database import Database
from auditor.sql import Dialect, Plan, Unsupported, understand

PUBLIC = 'id, age, sex, dept, hired, "Büro Ort", bonus, active, "select"'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("previews") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with open_staff(path) as opened:
        yield opened


def read(database: Database, sql: str, dialect: Dialect = "duckdb") -> Plan | Unsupported:
    return understand(sql, None, database.schema, dialect, previews=True)


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("SELECT * FROM staff ORDER BY id LIMIT 5", f"SELECT {PUBLIC}, NULL FROM staff ORDER BY id LIMIT 5"),
        ("SELECT * FROM main.staff ORDER BY id", f"SELECT {PUBLIC}, NULL FROM staff ORDER BY id"),
        ("SELECT s.* FROM staff AS s ORDER BY s.id", f"SELECT {PUBLIC}, NULL FROM staff ORDER BY id"),
        (
            "SELECT id, salary AS pay FROM staff WHERE age > 40 ORDER BY id",
            "SELECT id, NULL FROM staff WHERE age > 40 ORDER BY id",
        ),
        (
            "SELECT * FROM (SELECT id, salary FROM staff) AS virtual_table ORDER BY id LIMIT 9",
            "SELECT id, NULL FROM staff ORDER BY id LIMIT 9",
        ),
        (
            "SELECT pay FROM (SELECT id, salary AS pay FROM staff) WHERE id IN (SELECT 7)",
            "SELECT NULL FROM staff WHERE id = 7",
        ),
        (
            "SELECT id, salary FROM staff WHERE EXISTS (SELECT * FROM regions WHERE size > 1) ORDER BY id",
            "SELECT id, NULL FROM staff WHERE EXISTS (SELECT * FROM regions WHERE size > 1) ORDER BY id",
        ),
        (
            "SELECT s.id, r.region, s.salary FROM staff s JOIN regions r ON s.dept = r.dept ORDER BY s.id",
            "SELECT s.id, r.region, NULL FROM staff s JOIN regions r ON s.dept = r.dept ORDER BY s.id",
        ),
    ],
)
def test_a_preview_is_the_rows_with_null_for_what_is_protected(
    sql: str, instead: str, path: Path, database: Database
) -> None:
    plan = read(database, sql)
    assert isinstance(plan, Plan)
    assert plan.preview
    assert plan.public
    assert dict(zip(plan.columns, plan.types, strict=True)).get("salary", "DECIMAL(10,2)") == "DECIMAL(10,2)"
    with duckdb.connect(str(path), read_only=True) as plain:
        rows = plain.sql(instead).fetchall()
    table = database.run_public(plan)
    assert list(zip(*(each.to_pylist() for each in table.columns), strict=True)) == rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM staff WHERE salary > 100",
        "SELECT salary FROM staff WHERE salary IS NULL",
        "SELECT salary * 2 FROM staff",
        "SELECT DISTINCT salary FROM staff",
        "SELECT id, salary FROM staff ORDER BY salary",
        "SELECT salary FROM staff UNION SELECT salary FROM staff",
        "SELECT id, salary, COUNT(*) OVER () FROM staff",
        "SELECT salary FROM staff GROUP BY ALL",
        "SELECT id, salary FROM staff WHERE id IN (SELECT id FROM staff WHERE salary > 3)",
        "WITH s AS (SELECT * FROM staff) SELECT MAX(salary) FROM (SELECT salary FROM s LIMIT 1)",
        "SELECT secret_note, salary FROM staff",
        "SELECT * FROM (SELECT id, salary AS pay FROM staff) WHERE pay > 100",
        "SELECT pay FROM (SELECT wage AS pay FROM (SELECT salary AS wage FROM staff)) ORDER BY pay IS NULL",
        "SELECT id FROM (SELECT (SELECT salary FROM staff LIMIT 1) AS pay, id FROM staff) WHERE pay IS NULL",
        "SELECT * FROM (SELECT id, salary FROM staff) AS s(a, b) WHERE b IS NULL",
        "SELECT * FROM (SELECT * RENAME (salary AS pay) FROM staff) WHERE pay IS NULL",
        "SELECT * REPLACE (salary AS bonus) FROM staff",
        "SELECT id FROM staff WHERE bonus IN (SELECT salary FROM staff)",
        "SELECT id FROM staff WHERE bonus > (SELECT salary FROM staff LIMIT 1)",
        "SELECT id FROM staff WHERE bonus IN (SELECT * FROM (SELECT salary FROM staff))",
    ],
)
def test_what_does_more_than_show_the_column_gets_no_preview(sql: str, database: Database) -> None:
    found = read(database, sql)
    assert not isinstance(found, Plan) or not found.preview


def test_without_previews_rows_are_refused_as_ever(database: Database) -> None:
    found = understand("SELECT * FROM staff LIMIT 5", None, database.schema)
    assert isinstance(found, Unsupported)
    assert found.code == "row-level"


def test_a_preview_may_be_asked_for_in_postgres(database: Database) -> None:
    plan = read(database, "SELECT * FROM staff AS s LIMIT 1000", "postgres")
    assert isinstance(plan, Plan)
    assert plan.preview


def test_aggregates_are_answered_as_without_previews(database: Database) -> None:
    found = read(database, "SELECT dept, AVG(salary) FROM staff GROUP BY dept")
    assert isinstance(found, Plan)
    assert not found.preview
    assert not found.public
