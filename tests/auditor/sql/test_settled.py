"""What picks one of several values that would do picks the same at every run."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy
from auditor.sql import Column, Plan, Protected, Schema, Table, understand

SCHEMA = Schema(
    (Table("t", (Column("id", "INTEGER"), Column("name", "VARCHAR"), Column("d", "DOUBLE"))),),
    (Protected("t", "x", "INTEGER"),),
)
POLICY = """
[protect]
table = "t"
column = "x"
minimum = 0
maximum = 250
step = 10
public = "all"
[limit]
risk = 0.5
"""
STATEMENTS = [
    "SELECT mode(name), any_value(name), first(name ORDER BY d), last(name ORDER BY name) FROM t",
    "SELECT arg_min(name, d), arg_max(id, name), min(name), max(name) FROM t",
    "SELECT name, count(*), sum(x) FROM t GROUP BY name ORDER BY name",
    "SELECT DISTINCT name FROM t ORDER BY name",
    "SELECT name FROM t UNION SELECT name FROM t WHERE id > 5 ORDER BY name",
    "SELECT name FROM t INTERSECT SELECT name FROM t WHERE id > 5 ORDER BY name",
    "SELECT histogram(name) FROM t",
    "SELECT quantile_disc(name, 0.5), median(name), string_agg(DISTINCT name, ',') FROM t",
    "SELECT d, count(*) FROM t GROUP BY d",
    "SELECT CAST(min(d) AS VARCHAR), CAST(max(d) AS VARCHAR), CAST(mode(d) AS VARCHAR) FROM t",
    "SELECT CAST(d AS VARCHAR) FROM (SELECT d FROM t UNION SELECT d FROM t WHERE id > 7)",
]


@pytest.mark.parametrize(
    ("written", "picked"),
    [
        ("mode(name)", '"name"'), ("any_value(name)", '"name"'), ("arg_max(name, d)", '"name"'),
        ("min_by(name, d)", '"name"'), ("first(name ORDER BY d)", '"name"'),
        ("last(id ORDER BY name)", '"id"'), ("mode(d) FILTER (WHERE id > 3)", '"d"'),
    ],
)  # fmt: skip
def test_an_order_of_the_values_is_written_into_what_picks_one(written: str, picked: str) -> None:
    plan = understand(f"SELECT {written} FROM t", None, SCHEMA)
    assert isinstance(plan, Plan), plan
    column = rf'"\w+"\.{picked}'
    assert re.search(rf"ORDER BY .*{column}.*HEX\(CAST\({column} AS TEXT\)\)", plan.final_sql), plan.final_sql


def test_what_picks_by_a_protected_column_is_refused_as_ever() -> None:
    for written in ("arg_max(id, x)", "mode(x)", "any_value(x)", "first(id ORDER BY x)"):
        plan = understand(f"SELECT {written} FROM t", None, SCHEMA)
        assert not isinstance(plan, Plan)
        assert plan.code in ("protected-aggregate", "range"), plan


def made(path: Path, collation: str, zero: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, name VARCHAR {collation}, d DOUBLE, x INTEGER)")
        connection.execute(
            "INSERT INTO t SELECT i, ['Ann', 'ANN', 'ann', 'Bob', 'BOB'][1 + i % 5], "
            f"CASE WHEN i % 2 = 0 THEN 0.0 ELSE {zero}::DOUBLE END, "
            "20 + i * 37 % 23 * 10 FROM range(5000) r(i)"
        )
    return path


@pytest.mark.parametrize(
    ("collation", "zero", "one"), [("COLLATE NOCASE", "1.0", True), ("", "'-0.0'", True), ("", "1.0", False)]
)
def test_one_thread_reads_tables_with_equal_values_that_are_not_the_same(
    tmp_path: Path, collation: str, zero: str, one: bool
) -> None:
    path = made(tmp_path / "t.duckdb", collation, zero)
    with Gate.open(str(path), Policy.parse(POLICY), tmp_path / "ledger") as gate:
        # read through the public instance itself: a statement may not ask for settings
        asked = "SELECT current_setting('threads')"
        threads = gate._database._loaded.connection.execute(asked).fetchone()
        with duckdb.connect() as plain:
            usual = plain.execute(asked).fetchone()
        assert threads == ((1,) if one else usual)


@pytest.mark.slow
def test_a_table_under_nocase_is_read_the_same_each_time(tmp_path: Path) -> None:
    path = made(tmp_path / "t.duckdb", "COLLATE NOCASE", "'-0.0'")
    seen: dict[str, set[str]] = {sql: set() for sql in STATEMENTS}
    for run in range(4):
        with Gate.open(str(path), Policy.parse(POLICY), tmp_path / f"ledger{run}") as gate:
            for sql in STATEMENTS:
                seen[sql].add(str(gate.execute(sql).fetchall()))
    assert {sql: len(answers) for sql, answers in seen.items()} == dict.fromkeys(STATEMENTS, 1)
