"""Counts of values in a region, and quantiles: what AT_LEAST and AT_MOST around them ask, value by value."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from auditor.data.database import Database
from auditor.gate.hints import with_ends
from auditor.sql import Dialect, Plan, Unsupported, understand
from tests.auditor.sql.gate_double import answer, make, open_staff, understood
from tests.quick import some

COUNTS = [
    "COUNT(*) FILTER (WHERE salary > 300)",
    "COUNT(*) FILTER (salary <= 300 AND age > 30)",
    "COUNT(salary) FILTER (WHERE 500 <= salary AND age > 30)",
    "COUNT(sex) FILTER (WHERE salary <> 300)",
    "COUNT(1) FILTER (WHERE NOT (salary > 300 OR salary = 12.5))",
    "COUNT(*) FILTER (WHERE salary IN (1, 2, 3) OR salary > 700)",
    "COUNT(*) FILTER (WHERE salary BETWEEN 100.5 AND 300 AND dept <> 'IT')",
    "COUNT(*) FILTER (WHERE salary > 100000)",
    "COUNT_IF(salary BETWEEN 300 AND 400)",
    "COUNT_IF(salary > 300 AND age > 40) FILTER (WHERE sex = 'f')",
    "COUNT(CASE WHEN salary > 300 AND age > 40 THEN 1 END)",
    "COUNT(IF(salary > 300, 1, NULL))",
    "COUNT(IF(salary > 300, FALSE, NULL))",
    "SUM(CASE WHEN salary < 300 THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN salary < 300 AND age > 30 THEN 5 ELSE 0 END) FILTER (WHERE sex = 'f')",
    "AVG(CASE WHEN salary > 300.5 THEN 1.0 ELSE 0 END)",
    "AVG(CASE WHEN salary > 300 THEN 100 ELSE 0 END) FILTER (WHERE age > 30)",
]
QUANTILES = [
    "MEDIAN(salary)",
    "MEDIAN(salary) FILTER (WHERE age > 40)",
    "QUANTILE_CONT(salary, 0.9)",
    "QUANTILE_DISC(salary, 0.25)",
    "QUANTILE(salary, 0.1)",
    "QUANTILE_DISC(salary, 0)",
    "QUANTILE_DISC(salary, 1)",
]
TAILS = ["FROM staff", "FROM staff GROUP BY dept ORDER BY dept", "FROM staff WHERE age > 1000"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("statistics") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with open_staff(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def same(told: list[tuple[Any, ...]], true: list[tuple[Any, ...]], unit: float = 0.01) -> bool:
    """Whether both ends are what DuckDB has, which cuts quantiles of DECIMAL to its digits."""
    for (*keys, low, high), (*others, value) in zip(told, true, strict=True):
        if keys != others or (low is None) != (value is None):
            return False
        ends = [each for each in (low, high, value) if isinstance(each, float)]
        if ends and not (low <= high <= low + 1e-9 and low - unit <= value <= high + 1e-9):
            return False
    return True


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("aggregate", [*COUNTS, *QUANTILES])
def test_with_exact_ends_both_are_the_value_that_duckdb_gives(
    aggregate: str, tail: str, database: Database, plain: duckdb.DuckDBPyConnection
) -> None:
    keys = "dept, " if "GROUP" in tail else ""
    plan = understood(database, f"SELECT {keys}AT_LEAST({aggregate}), AT_MOST({aggregate}) {tail}")
    told = [tuple(row.values()) for row in answer(database, plan).to_pylist()]
    true = plain.execute(f"SELECT {keys}CAST({aggregate} AS DOUBLE) {tail}").fetchall()
    assert same(told, true), (told, true)


@pytest.mark.parametrize(
    "aggregate", [each for each in COUNTS if "COUNT_IF" not in each and "IF(" not in each]
)
def test_counts_are_read_in_postgresql_too(aggregate: str, database: Database) -> None:
    aggregate = aggregate.replace("FILTER (salary", "FILTER (WHERE salary")
    found = understand(f"SELECT AT_LEAST({aggregate}) FROM staff", None, database.schema, "postgres")
    assert isinstance(found, Plan)
    assert found.blocks[0].aggregates[0].statistic is not None


@pytest.mark.parametrize("aggregate", [*COUNTS, *QUANTILES])
def test_no_condition_on_a_value_is_run_on_record_numbers(aggregate: str, database: Database) -> None:
    plan = understood(database, f"SELECT AT_LEAST({aggregate}) FROM staff")
    groups = plan.blocks[0].groups_sql
    assert "300" not in groups
    assert "700" not in groups
    assert not any(word in groups.upper() for word in ("MEDIAN", "QUANTILE", "BETWEEN"))


@pytest.mark.parametrize("aggregate", [*COUNTS, *QUANTILES])
def test_outside_of_the_two_it_is_said_how_to_ask(aggregate: str, database: Database) -> None:
    found = understand(f"SELECT {aggregate} FROM staff", None, database.schema)
    assert isinstance(found, Unsupported)
    assert found.code == "range"
    assert "AT_LEAST(" in found.hint


WRONG = {
    "COUNT(*) FILTER (WHERE salary > 3 OR age > 3)": "protected-condition",
    "COUNT(*) FILTER (WHERE salary > age)": "protected-condition",
    "COUNT(*) FILTER (WHERE salary * 2 > 30)": "protected-condition",
    "COUNT(*) FILTER (WHERE salary > 3 AND salary < 2)": "protected-condition",
    "COUNT(*) FILTER (WHERE salary IN (SELECT age FROM staff))": "protected-condition",
    "COUNT(DISTINCT salary) FILTER (WHERE salary > 3)": "count-distinct",
    "MEDIAN(DISTINCT salary)": "distinct-aggregate",
    "MEDIAN(salary * 2)": "protected-aggregate",
    "QUANTILE_CONT(salary, 2)": "protected-aggregate",
    "STDDEV(2 * salary)": "protected-aggregate",
    "REGR_SLOPE(age, salary)": "protected-aggregate",
    "COVAR_POP(salary, salary)": "protected-aggregate",
    "SUM(salary * salary * age)": "nonlinear",
    "AVG(CASE WHEN salary > 3 THEN 1 END)": "protected-condition",
    "SUM(1) FILTER (WHERE salary > 3)": "protected-condition",
    "SUM(CASE WHEN salary > 3 THEN FALSE ELSE 0 END)": "offset",
    "AVG(CASE WHEN salary > 3 THEN FALSE ELSE 0 END)": "offset",
}


@pytest.mark.parametrize("aggregate", WRONG)
def test_what_is_not_wholly_read_is_not_understood(aggregate: str, database: Database) -> None:
    found = understand(f"SELECT AT_LEAST({aggregate}) FROM staff", None, database.schema)
    assert isinstance(found, Unsupported), found
    assert found.code == WRONG[aggregate], found


def test_parameters_may_be_the_constants(database: Database, plain: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT AT_MOST(COUNT_IF(salary > ?)) FROM staff"
    told = answer(database, understood(database, sql, [250])).column(0).to_pylist()
    assert told == [
        plain.execute("SELECT CAST(COUNT_IF(salary > 250) AS DOUBLE) FROM staff").fetchall()[0][0]
    ]


def test_joins_that_repeat_people_unevenly_are_not_counted(database: Database) -> None:
    sql = "SELECT AT_LEAST(MEDIAN(s.salary)) FROM staff s JOIN regions r ON s.age > r.size * 10"
    plan = understand(sql, None, database.schema)
    assert isinstance(plan, Plan)
    with pytest.raises(Exception, match="failed"):
        database.ask(plan)


def condition(chance: random.Random, depth: int) -> str:
    """A condition on the protected column, or on public ones."""
    if depth and chance.random() < 0.6:
        left, right = condition(chance, depth - 1), condition(chance, depth - 1)
        return chance.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"])
    number = chance.choice(["100", "433.21", "333.33", "700", "-5"])
    other = chance.choice(["200", "400", "900.01"])
    return chance.choice(
        [
            f"salary {chance.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}",
            f"{number} {chance.choice(['<', '<=', '>', '>='])} salary",
            f"salary BETWEEN {number} AND {other}",
            f"salary NOT BETWEEN {number} AND {other}",
            f"salary IN ({number}, {other}, 433.5)",
            f"salary NOT IN ({number}, {other})",
            f"age > {chance.choice([25, 40])}",
            "salary IS NOT NULL",
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", some([100, 600], 1))
def test_random_conditions_that_are_understood_count_as_duckdb_does(
    count: int, database: Database, plain: duckdb.DuckDBPyConnection
) -> None:
    assert plain.execute("SELECT COUNT(*) > 0 FROM staff WHERE salary = 433.21").fetchall() == [(True,)]
    chance, read = random.Random(5), 0
    for _ in range(count):
        wanted = f"COUNT(*) FILTER (WHERE {condition(chance, 2)} AND {condition(chance, 1)})"
        plan = understand(f"SELECT sex, AT_LEAST({wanted}) FROM staff GROUP BY sex", None, database.schema)
        if isinstance(plan, Unsupported):
            assert plan.code in ("protected-condition", "range-argument"), plan
            continue
        read += 1
        told = {
            row[0]: row[1]
            for row in zip(*(c.to_pylist() for c in answer(database, plan).columns), strict=True)
        }
        assert told == dict(plain.execute(f"SELECT sex, {wanted} FROM staff GROUP BY sex").fetchall()), wanted
    assert read > count // 4


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_the_first_and_the_last_quantile_are_the_extremes(dialect: Dialect, database: Database) -> None:
    ways = ["QUANTILE_CONT(salary, {0})", "QUANTILE_DISC(salary, {0}.0)", "QUANTILE(salary, {0})"]
    if dialect == "postgres":
        ways = ["PERCENTILE_DISC({0}) WITHIN GROUP (ORDER BY salary)"]
    for part, extreme in ((0, "MIN"), (1, "MAX")):
        wanted = understand(f"SELECT AT_LEAST({extreme}(salary)) FROM staff", None, database.schema, dialect)
        assert isinstance(wanted, Plan)
        for way in ways:
            sql = f"SELECT AT_LEAST({way.format(part)}) FROM staff"
            plan = understand(sql, None, database.schema, dialect)
            assert isinstance(plan, Plan), plan
            assert plan.blocks == wanted.blocks
    for part in ("0.1", "10", "0.01", "0.99"):
        found = understand(
            f"SELECT AT_LEAST(QUANTILE_DISC(salary, {part})) FROM staff", None, database.schema
        )
        assert isinstance(found, Unsupported) or found.blocks[0].aggregates[0].statistic is not None


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("function", ["PERCENTILE_CONT(0.9)", "percentile_disc(0.25)"])
def test_a_percentile_that_no_end_is_asked_of_gets_the_statement_with_both(
    function: str, dialect: Dialect, database: Database
) -> None:
    for more in ("", " FILTER (WHERE age > 30)"):
        sql = f"SELECT sex, {function} WITHIN GROUP (ORDER BY salary){more} AS p FROM staff GROUP BY sex"
        refusal = understand(sql, None, database.schema, dialect)
        assert isinstance(refusal, Unsupported)
        assert refusal.code == "range"
        again = with_ends(sql, dialect, ["salary"])
        assert again is not None
        plan = understand(again, None, database.schema, dialect)
        assert isinstance(plan, Plan), again
        assert list(plan.columns) == ["sex", "p_at_least", "p_at_most"]


def test_percentiles_of_public_columns_are_duckdbs_in_both_dialects(
    database: Database, plain: duckdb.DuckDBPyConnection
) -> None:
    sql = "SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY age) AS p FROM staff"
    plan = understand(sql, None, database.schema)
    assert isinstance(plan, Plan)
    assert answer(database, plan)["p"].to_pylist() == [row[0] for row in plain.execute(sql).fetchall()]
    carried_over = understand(sql, None, database.schema, "postgres")
    assert isinstance(carried_over, Plan)
    assert answer(database, carried_over)["p"].to_pylist() == answer(database, plan)["p"].to_pylist()
