"""Hints: from a statement's text alone, and what they suggest is understood."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from auditor import Gate
from auditor.data.database import TooSlow
from auditor.gate.hints import COST, EVERYBODY, FIXED, hint, joins, suggestions
from auditor.gate.reading import Reading
from auditor.gate.verdict import failed
from auditor.sql import Plan, understand
from tests.auditor.staff import build, people, policy, verdict
from tests.clocks import at_once

HAVING = "Add HAVING COUNT(*) >= 10"
OWNER = 'With partial = "suppress" in the policy only the unsafe groups would be withheld.'

CASES: list[tuple[str, list[str]]] = [
    ("SELECT dept, sum(salary) FROM staff GROUP BY dept", [HAVING, "ask for all groups together", OWNER]),
    ("SELECT dept, sum(salary) FROM staff GROUP BY ALL", [HAVING, OWNER]),
    ("SELECT dept, sum(salary) FROM staff GROUP BY ROLLUP (dept)", [HAVING, OWNER]),
    ("SELECT age >= 40, sum(salary) FROM staff GROUP BY ROLLUP (age >= 40)", [HAVING, OWNER]),
    ("SELECT dept, age, sum(salary) FROM staff GROUP BY dept, age", [HAVING, "leave age out of GROUP BY"]),
    ("SELECT age // 5 AS b, dept, sum(salary) FROM staff GROUP BY b, dept ORDER BY b", ["leave dept out"]),
    ("SELECT dept, sum(salary) FROM staff GROUP BY dept HAVING sum(salary) > 3", [HAVING]),
    ("SELECT sum(salary) FROM staff WHERE dept = 'a'", ["Drop the condition dept = 'a'."]),
    ("SELECT sum(salary) FROM staff WHERE id <> 17", ["Drop the condition id <> 17."]),
    ("SELECT sum(salary) FROM staff WHERE NOT (id = 17)", ["Drop the condition NOT (id = 17)."]),
    ("SELECT sum(salary) FROM staff WHERE dept IN ('a', 'b')", ["Drop the condition dept IN ('a', 'b')."]),
    ("SELECT sum(salary) FROM staff WHERE age BETWEEN 30 AND 32", ["Widen or drop age BETWEEN 30 AND 32."]),
    (
        "SELECT sum(salary) FROM staff WHERE age > 30 AND age < 32",
        ["Widen or drop age > 30, or widen or drop"],
    ),
    ("SELECT sum(salary) FILTER (WHERE age = 3) FROM staff", ["Drop the condition age = 3."]),
    ("SELECT max(salary) FROM staff", ["Ask for AVG(salary) instead of MAX(salary)."]),
    ("SELECT min(2 * salary) FROM staff", ["Ask for AVG(2 * salary) instead of MIN(2 * salary)."]),
    ("WITH x AS (SELECT * FROM staff WHERE sex = 'f') SELECT sum(salary) FROM x", ["condition sex = 'f'"]),
    ("SELECT avg(s) FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept)", [HAVING]),
    ("SELECT sum(salary) FROM staff", [EVERYBODY["risk"]]),
    ("SELECT sum(salary) FROM staff WHERE age = 3 OR id = 4", [FIXED["risk"]]),
    ("SELECT sum(salary) FROM staff WHERE dept IN (SELECT dept FROM staff WHERE age = 3)", ["age = 3"]),
    ('SELECT sum(salary) FROM staff AS "ü" WHERE "ü".dept = \'é"\'', ["condition dept = 'é\"'"]),
]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    folder = tmp_path_factory.mktemp("hints")
    with Gate.open(build(folder / "staff.duckdb", people(40)), policy()) as opened:
        yield opened


def understood(gate: Gate, sql: str) -> Plan:
    found = understand(sql, None, gate._database.schema)
    assert isinstance(found, Plan), f"{found} {sql}"
    return found


@pytest.mark.parametrize(("sql", "parts"), CASES, ids=[sql for sql, _ in CASES])
def test_a_hint_names_what_in_the_statement_could_be_changed(sql: str, parts: list[str], gate: Gate) -> None:
    said = hint("risk", understood(gate, sql).normalised, ["salary"], sql, True)
    for part in parts:
        assert part in said


@pytest.mark.parametrize("sql", [sql for sql, _ in CASES])
def test_a_statement_changed_as_suggested_is_understood(sql: str, gate: Gate) -> None:
    plan = understood(gate, sql)
    for each in suggestions(plan.normalised, ["salary"]):
        changed = understood(gate, each.sql)
        assert changed.normalised != plan.normalised
        assert not changed.public


def test_a_hint_for_time_and_for_withheld_groups(gate: Gate) -> None:
    sql = "SELECT dept, sum(salary) FROM staff GROUP BY dept"
    normalised = understood(gate, sql).normalised
    late = hint("time", normalised, ["salary"], sql, True)
    assert late.startswith(HAVING)
    assert "Fewer groups at once take less time." in late
    partial = hint("partial", normalised, ["salary"], sql, False)
    assert partial.startswith("What is worked out over all groups leaves these out. Add HAVING")
    assert "suppress" not in partial


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(s) FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept)",
        "SELECT dept, rank() OVER (ORDER BY sum(salary)) FROM staff GROUP BY dept",
        "SELECT sum(salary) FROM staff WHERE id = 3",
    ],
)
def test_withholding_is_suggested_only_where_groups_are_rows_of_the_answer(sql: str, gate: Gate) -> None:
    assert OWNER not in hint("risk", understood(gate, sql).normalised, ["salary"], sql, True)


def test_a_large_group_is_not_told_again_to_be_large(gate: Gate) -> None:
    sql = "SELECT dept, sum(salary) FROM staff GROUP BY dept HAVING count(*) > 20"
    assert HAVING not in hint("risk", understood(gate, sql).normalised, ["salary"], sql, True)


def test_of_a_long_condition_the_columns_are_named(gate: Gate) -> None:
    sql = f"SELECT sum(salary) FROM staff WHERE id IN ({', '.join(map(str, range(300)))})"
    assert (
        hint("risk", understood(gate, sql).normalised, ["salary"], sql, True)
        == f"Drop the condition on id. {COST}"
    )


@pytest.mark.parametrize(
    "text", ["", "not SQL at all (", "SELECT", "a" * 10_000, "(" * 400 + "1" + ")" * 400]
)
def test_a_text_of_which_nothing_can_be_said_gets_a_fixed_hint(text: str) -> None:
    assert hint("risk", text, ["salary"], text, True) == FIXED["risk"]


@pytest.mark.parametrize("code", ["risk", "time"])
def test_who_asks_about_everybody_is_not_told_to_ask_about_more(code: str, gate: Gate) -> None:
    sql = "SELECT sum(salary) FROM staff"
    said = hint(code, understood(gate, sql).normalised, ["salary"], sql, True)
    assert said == EVERYBODY[code]
    assert "larger group:" not in said
    some = "SELECT sum(CASE WHEN age > 30 THEN salary END) FROM staff"
    assert hint(code, understood(gate, some).normalised, ["salary"], some, True) == FIXED[code]


def test_a_hint_that_costs_room_says_so_and_others_do_not(gate: Gate) -> None:
    sql = "SELECT max(salary) FROM staff WHERE dept = 'a'"
    assert hint("risk", understood(gate, sql).normalised, ["salary"], sql, True).endswith(COST)
    total = "SELECT sum(salary) FROM staff"
    assert COST not in hint("risk", understood(gate, total).normalised, ["salary"], total, True)


def test_only_who_joins_is_told_to_join_less() -> None:
    assert joins("SELECT count(*) FROM a JOIN b USING (c)", "duckdb")
    assert joins("SELECT count(*) FROM a, b", "postgres")
    assert not joins("SELECT age, count(*) FROM a GROUP BY age", "duckdb")
    assert not joins("not SQL at all (", "duckdb")
    assert "oin" not in failed(TooSlow()).hint
    assert "Join fewer tables" in failed(TooSlow(), joins=True).hint


def test_many_conditions_are_looked_at_in_little_time(gate: Gate) -> None:
    sql = "SELECT sum(salary) FROM staff WHERE " + " AND ".join(f"id <> {i}" for i in range(150))
    normalised = understood(gate, sql).normalised
    with at_once():
        assert hint("risk", normalised, ["salary"], sql, True).startswith("Drop the condition id <> 0,")


def test_what_only_a_view_says_is_not_quoted(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(40))
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE VIEW few AS SELECT dept, salary FROM staff WHERE age < 21 AND sex = 'm'")
    with Gate.open(database, policy('[tables]\nviews = ["few"]')) as gate:
        decision = verdict(gate, "SELECT sum(salary) FROM few WHERE dept = 'a'")
        assert decision.code == "risk"
        assert decision.hint.startswith(f"Drop the condition dept = 'a'. {COST} Or ask for a range")
        assert "age" not in decision.hint


def test_the_gate_gives_the_hint_with_its_refusal(gate: Gate) -> None:
    decision = verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'b' AND id < 3")
    asked = "SELECT AT_LEAST(SUM(salary)), AT_MOST(SUM(salary)) FROM staff WHERE dept = 'b' AND id < 3"
    assert (decision.code, decision.hint) == (
        "risk",
        f"Drop the condition dept = 'b', or widen or drop id < 3. {COST} Or ask for a range, which may be "
        f"told where the exact value is not: {asked}",
    )
    assert gate.check("SELECT sum(salary) FROM staff WHERE id = 3").hint.startswith(
        f"Drop the condition id = 3. {COST} Or ask for a range"
    )


def test_of_a_range_that_is_refused_no_range_is_offered(gate: Gate) -> None:
    decision = verdict(gate, "SELECT AT_LEAST(sum(salary)), AT_MOST(sum(salary)) FROM staff WHERE id = 3")
    assert (decision.code, decision.hint) == ("risk", f"Drop the condition id = 3. {COST}")


def test_whether_a_shown_statement_is_understood_is_seen_once_for_each_form(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, read = list[str](), Reading.read

    def counted(self: Reading, ask: Any) -> Any:
        seen.extend([ask.sql] if "AT_LEAST" in ask.sql else [])
        return read(self, ask)

    monkeypatch.setattr(Reading, "read", counted)
    for sql in (
        *("id < 2 OR dept = 'no'", "id < 3 OR dept = 'it''s'"),
        *("id IN (1, 2)", "id IN (3)"),
        *("id < 2 AND dept IN ('a')", "id < 3 AND dept IN ('a', 'b', 'it''s')"),
    ):
        decision = verdict(gate, f"SELECT sum(salary) FROM staff WHERE {sql}")
        assert decision.hint.endswith(f"AT_MOST(SUM(salary)) FROM staff WHERE {sql}")
    assert len(seen) == 3
