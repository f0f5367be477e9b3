"""Every understood statement answers as plain DuckDB does: names, types and rows."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from gate_double import answer, make, open_staff, same_tables, statements, understood

from auditor.data.database import Database

STATEMENTS = statements("understood.sql")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("understood") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


def test_there_are_enough() -> None:
    assert len(STATEMENTS) >= 120


@pytest.mark.slow
@pytest.mark.parametrize("sql", STATEMENTS)
def test_answers_equal_plain_duckdb(sql: str, database: Database, path: Path) -> None:
    plan = understood(database, sql)
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.sql(sql).to_arrow_table()
        names = [str(row[0]) for row in plain.sql(f"DESCRIBE {sql}").fetchall()]
    got = answer(database, plan)
    ordered = re.search(r"order by(?!.*\))", sql, re.IGNORECASE | re.DOTALL) is not None
    same_tables(got, expected.rename_columns(names), ordered)
