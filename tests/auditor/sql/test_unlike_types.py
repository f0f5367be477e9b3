"""A statement that failed is told which text it puts beside a number or a date, by text and types alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy, QueryUnsupported
from auditor.gate.hints import COST, hint
from auditor.sql import Column, Dialect, Plan, Protected, Schema, Table, Unsupported, understand
from auditor.sql.unlike_types import unlike
from auditor.sql.wording import worded

SCHEMA = Schema(
    (
        Table(
            "staff",
            (
                Column("id", "INTEGER"), Column("age", "BIGINT"), Column("sex", "INTEGER"),
                Column("dept", "VARCHAR"), Column("hired", "DATE"),
            ),
        ),
    ),
    (Protected("staff", "pay", "INTEGER"),),
)  # fmt: skip
WITHIN = "WITHIN GROUP (ORDER BY pay)"


def said(sql: str, dialect: Dialect = "duckdb") -> str:
    plan = understand(sql, None, SCHEMA, dialect)
    assert isinstance(plan, Plan), plan
    return unlike(plan.normalised, SCHEMA, sql, dialect)


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("sex = 'M'", "It compares sex, which is INTEGER, with 'M', a text that is none: compare "),
        ("'M' <> sex", "It compares sex, which is INTEGER, with 'M', a text that is none"),
        ("sex IN ('1', 'M')", "It compares sex, which is INTEGER, with 'M', a text that is none"),
        ("age BETWEEN '20' AND 'old'", "It compares age, which is BIGINT, with 'old', a text that is none"),
        ("hired > 'spring'", "It compares hired, which is DATE, with 'spring', a text that is none"),
        ("age + 1 = 'x'", "It compares age + 1, which is BIGINT, with 'x', a text that is none"),
        ("dept = 3", "It compares dept, which is VARCHAR, with 3, which is INTEGER: compare texts with "),
        ("dept = age", "It compares dept, which is VARCHAR, with age, which is BIGINT"),
        ("CAST(dept AS INTEGER) > 3", "It casts dept, which is VARCHAR, to INTEGER: some text may be none."),
    ],
)  # fmt: skip
def test_the_types_of_what_is_compared_are_said(condition: str, sentence: str) -> None:
    assert said(f"SELECT sum(pay) FROM staff WHERE {condition}").startswith(sentence)


def test_columns_of_joins_and_derived_tables_have_types_too() -> None:
    joined = "SELECT sum(a.pay) FROM staff a JOIN staff b ON a.id = b.id WHERE b.sex = 'M'"
    assert said(joined).startswith("It compares sex, which is INTEGER, with 'M'")
    derived = "SELECT sum(pay) FROM (SELECT age AS a, pay FROM staff) WHERE a = 'old'"
    assert said(derived).startswith("It compares a, which is BIGINT, with 'old'")


@pytest.mark.parametrize("condition", ["sex = '1'", "hired = '2020-01-31'", "dept = 'IT'", "age > 3", "TRUE"])
def test_nothing_is_said_of_what_goes_together(condition: str) -> None:
    assert said(f"SELECT sum(pay) FROM staff WHERE {condition}") == ""


def test_what_the_analyst_did_not_write_is_not_quoted() -> None:
    plan = understand("SELECT sum(pay) FROM staff WHERE sex = 'M'", None, SCHEMA)
    assert isinstance(plan, Plan)
    assert unlike(plan.normalised, SCHEMA, "SELECT sum(pay) FROM a_view", "duckdb") == ""


def test_in_postgresqls_dialect_types_have_its_names() -> None:
    found = said("SELECT dept::int AS n FROM staff", "postgres")
    assert found == "It casts dept, which is text, to int: some text may be none."
    refused = understand("SELECT sum(pay) FROM staff WHERE sex = 'M'", None, SCHEMA, "postgres")
    assert isinstance(refused, Unsupported)
    assert "'M' is read as int4 here, and is none" in refused.message


def test_a_failed_statement_says_so_with_the_types(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, (i % 2)::INTEGER AS sex, (i % 25) * 10 AS pay "
            "FROM range(60) r(i)"
        )
    policy = Policy.parse(
        '[protect]\ntable = "staff"\ncolumn = "pay"\nminimum = 0\nmaximum = 240\nstep = 10\npublic = "all"\n'
        "[limit]\nrisk = 0.5\n"
    )
    with (
        Gate.open(str(tmp_path / "s.duckdb"), policy, tmp_path / "ledger") as gate,
        pytest.raises(QueryUnsupported) as error,
    ):
        gate.execute("SELECT sum(pay) FROM staff WHERE sex = 'M'")
    decision = error.value.decision
    assert (decision.code, decision.message) == ("failed", "The statement failed while it ran.")
    assert decision.hint.startswith("It compares sex, which is INTEGER, with 'M'")


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        (f"percentile_cont(0.5) {WITHIN}", f"PERCENTILE_CONT(0.5) {WITHIN}"),
        (f"percentile_disc(0.9) {WITHIN}", f"PERCENTILE_DISC(0.9) {WITHIN}"),
        ("stddev(pay)", "STDDEV(pay)"),
    ],
)  # fmt: skip
def test_messages_name_aggregates_as_the_question_did(sql: str, name: str) -> None:
    refused = understand(f"SELECT {sql} FROM staff", None, SCHEMA, "postgres")
    assert isinstance(refused, Unsupported)
    assert refused.message.startswith(f"{name} is told as a range alone")
    assert f"AT_LEAST({name})" in refused.hint


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("age::float = 30", "Drop the condition CAST(age AS DOUBLE PRECISION) = 30."),
        ("age / 2 = 15", "Drop the condition age / 2 = 15."),
        ("extract(year from hired) = 2015", "Drop the condition EXTRACT(YEAR FROM hired) = 2015."),
        ("age < 30 AND dept ~ '^I'", "Widen or drop age < 30."),
    ],
)  # fmt: skip
def test_hints_quote_conditions_in_the_dialect_of_the_question(condition: str, expected: str) -> None:
    sql = f"SELECT sum(pay) FROM staff WHERE {condition}"
    plan = understand(sql, None, SCHEMA, "postgres")
    assert isinstance(plan, Plan)
    found = hint("risk", plan.normalised, ["pay"], sql, False, "postgres", sql)
    assert found == f"{expected} {COST}"


def test_pieces_are_worded_in_a_dialect() -> None:
    assert worded("QUANTILE_CONT(x, 0.5)", "duckdb") == "QUANTILE_CONT(x, 0.5)"
    assert worded("MEDIAN(x)", "postgres") == "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"
    assert worded("SUM(x) // 2", "postgres") == "SUM(x) / 2"
    assert worded("CAST(x AS FLOAT)", "postgres") == "CAST(x AS REAL)"
    assert worded("not ( sql", "postgres") == "not ( sql"
