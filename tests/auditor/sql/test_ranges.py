"""AT_LEAST and AT_MOST as they are read: around one aggregate of a protected column, in both dialects."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.data.database import Database
from auditor.data.relations import outward
from auditor.sql import Dialect, Plan, Schema, Unsupported, understand
from tests.auditor.sql.gate_double import answer, make, open_staff, understood

DIALECTS: list[Dialect] = ["duckdb", "postgres"]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return open_staff(make(Path(tmp_path_factory.mktemp("ranges")) / "staff.duckdb"))


WRONG = {
    "SELECT AT_LEAST(1)": "what is no aggregate",
    "SELECT AT_LEAST(salary) FROM staff": "what is no aggregate",
    "SELECT AT_LEAST(age) FROM staff": "what is no aggregate",
    "SELECT AT_LEAST(abs(sum(salary))) FROM staff": "something else made of aggregates",
    "SELECT AT_LEAST(2 * count(*)) FROM staff": "what is public and always exact",
    "SELECT AT_LEAST(2 * salary) FROM staff": "what is no aggregate",
    "SELECT AT_LEAST(AT_MOST(sum(salary)) + 1) FROM staff": "another AT_MOST",
    "SELECT AT_LEAST(sum(sum(salary)) OVER ()) FROM staff": "what is no aggregate",
    "SELECT sum(AT_LEAST(salary)) FROM staff": "what is no aggregate",
    "SELECT id FROM staff WHERE AT_LEAST(age) > 30": "what is no aggregate",
    "SELECT AT_LEAST(s) FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept LIMIT 2) WHERE s > 1":
        "what is no aggregate",
    "SELECT AT_LEAST(count(*)) FROM staff": "what is public and always exact",
    "SELECT AT_LEAST(count(salary)) FROM staff": "what is public and always exact",
    "SELECT AT_LEAST(max(age)) FROM staff": "what is public and always exact",
    "SELECT AT_LEAST(AT_MOST(sum(salary))) FROM staff": "another AT_MOST",
    "SELECT AT_LEAST(sum(salary), 2) FROM staff": "2 arguments",
    "SELECT AT_LEAST() FROM staff": "no arguments",
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", WRONG)
def test_around_anything_else_there_is_one_error(sql: str, dialect: Dialect, database: Database) -> None:
    if dialect == "postgres":
        sql = sql.replace("LIMIT 2)", "LIMIT 2) q")
    found = understand(sql, None, database.schema, dialect)
    assert isinstance(found, Unsupported)
    assert found.code == "range-argument"
    assert found.message.endswith(f"here around {WRONG[sql.replace(') q', ')')]}.")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AT_LEAST(sum(salary)) OVER () FROM staff",
        "SELECT AT_LEAST(sum(salary)) FILTER (WHERE age > 3) FROM staff",
        "SELECT AT_LEAST(corr(salary, salary)) FROM staff",
        "SELECT AT_LEAST(DISTINCT sum(salary)) FROM staff",
        "SELECT AT_LEAST(sum(DISTINCT salary)) FROM staff",
        "SELECT main.at_least(sum(salary)) FROM staff",
        "SELECT AT_LEAST(sum(salary) ORDER BY age) FROM staff",
        "SELECT sum(AT_LEAST(sum(salary))) FROM staff",
        "SELECT at_least FROM staff",
        "SELECT count(*) FROM at_least(3)",
        "SELECT dept FROM staff GROUP BY AT_LEAST(sum(salary))",
        "SELECT sum(salary) FROM staff WHERE age > (SELECT AT_LEAST(avg(salary)) FROM staff)",
        "SELECT sum(salary) FILTER (WHERE AT_LEAST(sum(salary)) > 3) FROM staff",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_other_places_are_turned_away(sql: str, dialect: Dialect, database: Database) -> None:
    assert isinstance(understand(sql, None, database.schema, dialect), Unsupported)


def test_columns_are_doubles_and_named_as_each_dialect_names_calls(database: Database) -> None:
    sql = "SELECT AT_LEAST(avg(salary)), at_most(sum(salary) FILTER (WHERE age > 30)) FROM staff"
    names = {
        "duckdb": ("at_least(avg(salary))", "at_most(sum(salary) FILTER (WHERE (age > 30)))"),
        "postgres": ("at_least", "at_most"),
    }
    for dialect in DIALECTS:
        plan = understand(sql, None, database.schema, dialect)
        assert isinstance(plan, Plan)
        assert (plan.columns, plan.types) == (names[dialect], ("DOUBLE", "DOUBLE"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dept, {0} AS a FROM staff GROUP BY dept HAVING {0} > 100 ORDER BY {0}, dept",
        "SELECT dept, round(({0} / 2)::numeric, 1) AS a FROM staff GROUP BY ROLLUP (dept) ORDER BY a, dept",
        "SELECT d, a FROM (SELECT dept AS d, {0} AS a FROM staff GROUP BY dept) q WHERE d <> 'IT' ORDER BY d",
        "WITH q AS (SELECT sex, {0} AS a FROM staff GROUP BY sex) SELECT max(a) - min(a) AS spread FROM q",
        "SELECT dept, rank() OVER (ORDER BY {0} DESC) AS r FROM staff GROUP BY dept ORDER BY dept",
        "SELECT id FROM staff WHERE age > (SELECT {0} FROM staff) / 1000 ORDER BY id",
    ],
)
def test_of_an_exact_answer_they_are_the_value_wherever_they_stand(
    sql: str, dialect: Dialect, database: Database
) -> None:
    for aggregate in ("avg(salary)", "max(salary)", "sum(salary) FILTER (WHERE sex = 'f')"):
        tables = []
        for shown in (f"AT_LEAST({aggregate})", f"at_most({aggregate})", f"({aggregate})::float8"):
            plan = understand(sql.format(shown), None, database.schema, dialect)
            assert isinstance(plan, Plan), plan
            tables.append(answer(database, plan).to_pylist())
        assert tables[0] == tables[1] == tables[2]
        assert tables[0]


def test_all_that_is_said_of_one_aggregate_asks_once(database: Database) -> None:
    plain = understood(database, "SELECT dept, avg(salary) FROM staff GROUP BY dept")
    ranged = understood(
        database,
        "SELECT dept, AT_LEAST(avg(salary)) AS a, AT_MOST(AVG(salary)), avg(salary) FROM staff GROUP BY dept",
    )
    one, other = database.ask(plain), database.ask(ranged)
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert (left.kind, left.records.tolist(), left.divisor) == (
            right.kind,
            right.records.tolist(),
            right.divisor,
        )


@pytest.mark.parametrize("single", [False, True])
def test_an_end_that_is_no_float_is_rounded_outwards(single: bool) -> None:
    from fractions import Fraction

    for value in (Fraction(1, 3), Fraction(-1, 3), Fraction(10**20 + 1, 7), Fraction(5), Fraction(0)):
        assert outward(value, False, single) <= value <= outward(value, True, single)
    assert outward(Fraction(5), True, single) == outward(Fraction(5), False, single) == 5


def test_a_schema_that_protects_nothing_reads_like_any_other() -> None:
    assert isinstance(understand("SELECT 1 AS one", None, Schema((), ())), Plan)
