"""SHOW TABLES and DESCRIBE list what is readable, and nothing else of the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gate_double import make, open_staff, understood

from auditor.data.database import Database


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_staff(make(tmp_path_factory.mktemp("catalogue") / "staff.duckdb")) as opened:
        yield opened


def rows(database: Database, sql: str) -> list[dict[str, object]]:
    return database.run_public(understood(database, sql)).to_pylist()


def test_tables_and_views_that_may_be_read_are_listed(database: Database) -> None:
    assert [row["name"] for row in rows(database, "show tables;")] == [
        "adults",
        "hr.grades",
        "regions",
        "staff",
    ]


@pytest.mark.parametrize(
    "sql", ["DESCRIBE staff", "desc Staff;", "SHOW main.staff", 'describe table "staff"']
)
def test_a_table_is_described_without_what_is_not_public(sql: str, database: Database) -> None:
    columns = {row["column_name"]: row["column_type"] for row in rows(database, sql)}
    assert columns["salary"] == "DECIMAL(10,2)"
    assert columns["age"] == "INTEGER"
    assert "secret_note" not in columns


def test_a_view_is_described_as_it_is_seen_through_the_gate(database: Database) -> None:
    assert {row["column_name"] for row in rows(database, "DESCRIBE adults")} == {
        row["column_name"] for row in rows(database, "DESCRIBE staff")
    }


def test_a_query_is_described_by_its_columns(database: Database) -> None:
    found = rows(database, "DESCRIBE SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept")
    assert [(row["column_name"], row["column_type"]) for row in found] == [
        ("dept", "VARCHAR"),
        ("s", "DECIMAL(38,2)"),
    ]
