"""CORR of a protected column and a public one: a quotient of what ranges are told of, held against DuckDB."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from auditor.data.database import Database
from auditor.gate.hints import with_ends
from auditor.sql import Dialect, Plan, Unsupported, understand
from auditor.sql.context import Context
from auditor.sql.ranges import MACROS
from auditor.sql.rules.divide_correlations import divide_correlations
from auditor.sql.shape import DATA
from tests.auditor.sql.gate_double import STAFF, answer, make, open_staff

SOME = STAFF.replace("(1000 + hash(i) % 90000) / 100", "CASE WHEN i % 7 <> 3 THEN hash(i) % 400 END")
DIALECTS: list[Dialect] = ["duckdb", "postgres"]
CALLS = [
    "CORR(age, salary)",
    "CORR(salary, age)",
    "CORR(salary, CASE WHEN age > 30 THEN age END)",
    "CORR(age, salary) FILTER (WHERE age > 25)",
    "CORR(salary, age) FILTER (WHERE sex = 'f' AND salary IS NOT NULL)",
    "REGR_R2(age, salary)",
    "REGR_R2(salary, age) FILTER (WHERE age > 25)",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert SOME != STAFF
    return make(Path(tmp_path_factory.mktemp("correlation")) / "staff.duckdb", SOME)


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("keys", "tail"), [("", ""), ("sex, ", " GROUP BY sex ORDER BY sex")])
def test_the_quotient_is_duckdbs_correlation(
    call: str, keys: str, tail: str, database: Database, path: Path
) -> None:
    sql = f"SELECT {keys}AT_LEAST({call}) AS r FROM {DATA}.staff AS t{tail}"
    tree = sqlglot.parse_one(re.sub(r"\b(age|salary|sex)\b", r"t.\1", sql), dialect="duckdb")
    assert isinstance(tree, exp.Query)
    written = tree.sql(dialect="duckdb")
    divide_correlations(tree, Context("", database.schema))
    assert not any(True for _ in tree.find_all(exp.Corr, exp.RegrR2))
    with duckdb.connect() as plain:
        plain.execute(f"CREATE SCHEMA {DATA}; ATTACH '{path}' AS source (READ_ONLY)")
        plain.execute(f"CREATE TABLE {DATA}.staff AS FROM source.staff; {'; '.join(MACROS)}")
        true = [row[-1] for row in plain.execute(written).fetchall()]
        quotients = plain.execute(tree.sql(dialect="duckdb")).fetchall()
        assert [row[-1] for row in quotients] == pytest.approx(true)
    assert any(each is not None and abs(each) > 1e-9 for each in true)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("call", CALLS)
def test_outside_of_the_two_functions_the_hint_is_the_statement_with_them(
    call: str, dialect: Dialect, database: Database
) -> None:
    sql = f"SELECT sex, {call} AS r FROM staff GROUP BY sex"
    refusal = understand(sql, None, database.schema, dialect)
    assert isinstance(refusal, Unsupported)
    assert refusal.code == "range"
    again = with_ends(sql, dialect, ["salary"])
    assert again is not None
    plan = understand(again, None, database.schema, dialect)
    assert isinstance(plan, Plan), again
    assert list(plan.columns) == ["sex", "r_at_least", "r_at_most"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "call", ["CORR(salary, salary)", "CORR(salary, salary + age)", "CORR(2 * salary, age)"]
)
def test_of_protected_values_on_both_sides_or_changed_nothing_is_told(
    call: str, dialect: Dialect, database: Database
) -> None:
    for word in ("AT_LEAST({})", "{}"):
        refusal = understand(f"SELECT {word.format(call)} FROM staff", None, database.schema, dialect)
        assert isinstance(refusal, Unsupported), call


def test_a_public_correlation_is_the_engines(database: Database, path: Path) -> None:
    sql = "SELECT CORR(age, id) AS r FROM staff"
    plan = understand(sql, None, database.schema)
    assert isinstance(plan, Plan)
    assert plan.public
    with duckdb.connect(str(path), read_only=True) as plain:
        true = [row[0] for row in plain.execute(sql).fetchall()]
        assert answer(database, plan)["r"].to_pylist() == pytest.approx(true, rel=1e-9)
