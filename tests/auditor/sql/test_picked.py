"""Counts of rows that WHERE picks by a protected value: told like those under FILTER, held against DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor.data.database import Database
from auditor.gate.hints import with_ends
from auditor.sql import Dialect, Plan, Unsupported, understand
from tests.auditor.sql.gate_double import answer, make, open_staff

CONDITIONS = [
    "salary >= 400",
    "salary >= 400 AND age < 50",
    "NOT salary > 400 AND dept = 'a'",
    "salary BETWEEN 200 AND 500 OR salary > 800",
    "(salary < 100 OR salary > 900) AND salary IS NOT NULL AND age > 20",
    "salary <> 400 AND salary IN (400, 500)",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Path(tmp_path_factory.mktemp("picked")) / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("count", ["COUNT(*)", "COUNT(salary)", "COUNT(*) FILTER (WHERE age > 30)"])
def test_a_count_of_picked_rows_is_duckdbs(
    condition: str, count: str, database: Database, path: Path
) -> None:
    sql = f"SELECT {{0}} AS n FROM staff WHERE {condition}"
    plan = understand(sql.format(f"AT_LEAST({count})"), None, database.schema)
    assert isinstance(plan, Plan), plan
    assert not plan.shows_any
    (told,) = answer(database, plan)["n"].to_pylist()
    with duckdb.connect(str(path), read_only=True) as plain:
        (true,) = plain.execute(sql.format(count)).fetchone() or (None,)
    assert told == true


@pytest.mark.parametrize("condition", [*CONDITIONS, "salary > 1000"])
def test_every_group_is_a_row_and_where_some_are_picked_it_is_duckdbs(
    condition: str, database: Database, path: Path
) -> None:
    sql = f"SELECT age // 10 AS decade, dept, {{0}} AS n FROM staff WHERE {condition} GROUP BY ALL"
    plan = understand(sql.format("AT_MOST(COUNT(*))"), None, database.schema)
    assert isinstance(plan, Plan), plan
    table = answer(database, plan)
    told = {row[:-1]: row[-1] for row in zip(*(each.to_pylist() for each in table.columns), strict=True)}
    public = condition.rpartition(" AND ")[2] if condition.endswith(("50", "'a'", "20")) else "TRUE"
    with duckdb.connect(str(path), read_only=True) as plain:
        true = {row[:-1]: row[-1] for row in plain.execute(sql.format("COUNT(*)")).fetchall()}
        groups = plain.execute(f"SELECT DISTINCT age // 10, dept FROM staff WHERE {public}").fetchall()
    assert told == {each: true.get(each, 0) for each in groups}


def test_rows_are_picked_over_joins_and_derived_tables_too(database: Database, path: Path) -> None:
    sources = [
        "staff JOIN (SELECT DISTINCT dept AS d FROM regions) r ON r.d = staff.dept",
        "(SELECT * FROM staff WHERE age > 30) AS s",
        "staff LEFT JOIN (SELECT 1 AS one) o ON age > 40",
    ]
    for source in sources:
        sql = f"SELECT {{}} AS n FROM {source} WHERE salary >= 400 AND age < 60"
        plan = understand(sql.format("AT_LEAST(COUNT(*))"), None, database.schema)
        assert isinstance(plan, Plan), plan
        with duckdb.connect(str(path), read_only=True) as plain:
            (true,) = plain.execute(sql.format("COUNT(*)")).fetchone() or (None,)
        assert answer(database, plan)["n"].to_pylist() == [true]


def test_an_order_by_the_count_is_by_the_picked_ones(database: Database) -> None:
    sql = "SELECT dept, AT_LEAST(COUNT(*)) AS n FROM staff WHERE salary > 400 GROUP BY dept ORDER BY {}"
    refusal = understand(sql.format("COUNT(*)"), None, database.schema)
    assert isinstance(refusal, Unsupported)
    assert refusal.code == "range"
    plan = understand(sql.format("AT_LEAST(COUNT(*)), dept"), None, database.schema)
    assert isinstance(plan, Plan), plan
    counts = answer(database, plan)["n"].to_pylist()
    assert counts == sorted(counts)
    assert len(set(counts)) > 1


def test_a_share_of_all_may_stand_beside_it(database: Database) -> None:
    sql = "SELECT AT_LEAST(COUNT(*)) / (SELECT COUNT(*) FROM staff) AS share FROM staff WHERE salary > 400"
    assert isinstance(understand(sql, None, database.schema), Plan)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_without_the_two_functions_the_hint_is_the_statement_with_them(
    dialect: Dialect, database: Database
) -> None:
    sql = "SELECT COUNT(*) AS n FROM staff WHERE salary > 400 AND age < 50"
    refusal = understand(sql, None, database.schema, dialect)
    assert isinstance(refusal, Unsupported)
    assert refusal.code == "range"
    again = with_ends(sql, dialect, ["salary"])
    assert again is not None
    assert "AT_LEAST(COUNT(*)) AS n_at_least, AT_MOST(COUNT(*)) AS n_at_most" in again
    assert isinstance(understand(again, None, database.schema, dialect), Plan)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dept, AT_LEAST(COUNT(*)) FROM staff WHERE salary > 400 GROUP BY ROLLUP (dept)",
        "SELECT dept FROM staff WHERE salary > 400 GROUP BY dept ORDER BY AT_LEAST(COUNT(*))",
        "SELECT 1 AS one FROM staff WHERE salary > 400 ORDER BY AT_LEAST(COUNT(*))",
        "SELECT dept, AT_LEAST(COUNT(*)) FROM staff WHERE salary > 400 GROUP BY dept, salary > 500",
        "SELECT 1 FROM (SELECT dept, AT_LEAST(COUNT(*)) AS n FROM staff WHERE salary > 400 GROUP BY dept)",
        "SELECT 1 WHERE EXISTS (SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > 400 GROUP BY dept)",
        "SELECT AT_LEAST(SUM(salary)) FROM staff WHERE salary > 400",
        "SELECT AT_LEAST(COUNT_IF(age > 30)) FROM staff WHERE salary > 400",
        "SELECT AT_LEAST(COUNT(*)), MAX(age) FROM staff WHERE salary > 400",
        "SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > age",
        "SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > 400 HAVING COUNT(*) > 3",
        "SELECT AT_LEAST(COUNT(*)) FROM staff WHERE EXISTS (SELECT 1 FROM staff AS s WHERE s.salary > 400)",
    ],
)
def test_what_would_show_whether_a_row_is_picked_stays_refused(sql: str, database: Database) -> None:
    refusal = understand(sql, None, database.schema)
    assert isinstance(refusal, Unsupported), refusal
    assert refusal.code in ("protected-condition", "protected-subquery")
