"""Random statements keep the three promises of `checks`, and each check would notice if one were broken."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from auditor.sql import Plan, Unsupported, understand
from tests.fuzz import checks, gates
from tests.fuzz.checks import check, checker
from tests.fuzz.grammar import Statement, generate
from tests.fuzz.minimise import by_tree, by_words, minimised
from tests.fuzz.words import joined, solid, words
from tests.fuzz.worlds import SMALL
from tests.quick import rounds, some

HERE = Path(__file__).parent
SEEDS = (2, 3, 4)
EACH = rounds(100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(SEEDS, 1))
def test_random_statements_are_answered_as_by_duckdb_or_not_at_all(seed: int) -> None:
    for number in range(EACH):
        statement = generate(seed, number)
        assert not check(statement).findings, f"seed {seed}, number {number}: {statement.text}"


def faults() -> Iterator[object]:
    """The statements of faults.sql, each with its world; open ones are expected to fail."""
    world = fault = ""
    for part in (HERE / "faults.sql").read_text("utf-8").split(";\n"):
        lines = [line for line in part.split("\n") if line.strip()]
        marks = []
        for line in list(lines):
            if not line.startswith("-- "):
                break
            lines.remove(line)
            world = line.removeprefix("-- world: ") if line.startswith("-- world: ") else world
            fault = line.removeprefix("-- fault: ") if line.startswith("-- fault: ") else fault
            if line == "-- open":
                marks.append(pytest.mark.xfail(strict=True, reason=fault))
        if lines and world in ("staff", "crowd", "several", "small"):
            text = "\n".join(lines)
            yield pytest.param(Statement(world, text), id=" ".join(text.split())[:70], marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("statement", list(faults()))
def test_what_was_wrong_once_is_right(statement: Statement) -> None:
    found = check(statement, gated=True).findings
    assert not found


@pytest.mark.parametrize(
    "text", ["SELECT '\ud800'", 'SELECT SUM(salary) AS "\udc00" FROM staff', "(?''", "\ufeff"]
)
def test_text_that_is_no_text_is_not_understood(text: str) -> None:
    found = understand(text, [1] if "?" in text else None, checker("staff")._a.schema)
    assert isinstance(found, Unsupported)
    assert found.code in ("syntax", "empty", "statement")


@pytest.mark.slow
def test_most_statements_that_are_meant_to_be_valid_are() -> None:
    meant = [each for each in (generate(7, number) for number in range(300)) if each.origin == "valid"]
    plain = {each.world: checker(each.world)._plain for each in meant}
    valid = [
        not isinstance(plain[each.world].run(each.text, each.parameters), duckdb.Error) for each in meant
    ]
    assert sum(valid) > 0.7 * len(meant)


@pytest.mark.slow
def test_a_statement_comes_from_its_seed_and_number_alone() -> None:
    texts = repr([generate(5, number).text for number in (9, 3)])
    script = (
        f"from tests.fuzz.grammar import generate; print([generate(5, n).text for n in (9, 3)] == {texts})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=HERE.parents[1])
    assert ran.stdout == "True\n", ran.stderr


def test_words_give_the_text_back() -> None:
    for number in range(200):
        text = generate(6, number).text
        assert "".join(words(text)) == text
        assert solid(joined(solid(text))) == solid(text)


# --- the checks can fail


SUMS = Statement("staff", "SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept ORDER BY ALL")


def found(statement: Statement) -> str:
    return "; ".join(f"{each.kind}: {each.what}" for each in check(statement).findings)


@pytest.mark.slow
def test_another_value_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "computed", lambda database, asked: Fraction(1))
    assert found(SUMS) == "rows: values"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda plan: {"columns": ("a", "b")}, "rows: names"),
        (lambda plan: {"final_sql": plan.final_sql + " LIMIT 2"}, "rows: count"),
        (lambda plan: {"final_sql": f"SELECT dept, s::DOUBLE AS s FROM ({plan.final_sql})"}, "rows: types"),
        (lambda plan: {"final_sql": f"SELECT * FROM ({plan.final_sql}) ORDER BY 2 DESC"}, "rows: order"),
        (lambda plan: {"final_sql": "SELECT 1/0, error('x')"}, "failed: failed where DuckDB answers"),
    ],
)
def test_another_table_is_noticed(monkeypatch: pytest.MonkeyPatch, change: object, fault: str) -> None:
    def changed(*arguments: object) -> object:
        plan = understand(*arguments)  # type: ignore[arg-type]
        return replace(plan, **change(plan)) if isinstance(plan, Plan) else plan  # type: ignore[operator]

    monkeypatch.setattr(checks, "understand", changed)
    assert found(SUMS) == fault


def test_an_exception_and_a_print_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "understand", lambda *arguments: 1 // 0)
    assert found(SUMS).startswith("crash: ZeroDivisionError in understand")
    monkeypatch.setattr(checks, "understand", lambda *arguments: print("x"))
    assert found(SUMS) == "crash: understand printed"
    monkeypatch.setattr(checks, "understand", lambda *arguments: None)
    assert found(SUMS) == "crash: understand returned NoneType"


def test_a_record_number_that_matters_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the number instead of the value gets another result from other numbers."""
    number = 'SELECT SUM("salary" * "id") AS "x" FROM "_data"."staff"'

    def careless(*arguments: object) -> object:
        plan = understand("SELECT SUM(id) AS x FROM staff", *arguments[1:])  # type: ignore[arg-type]
        return replace(plan, final_sql=number)

    monkeypatch.setattr(checks, "understand", careless)
    monkeypatch.setattr(checks.Checker, "_compared", lambda *arguments: "equal")
    assert found(SUMS) == "influence: the same released values give another result"


def test_a_choice_by_record_number_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*arguments: object) -> object:
        plan = understand(*arguments)  # type: ignore[arg-type]
        assert isinstance(plan, Plan)
        (block,) = plan.blocks
        chosen = block.groups_sql.replace(
            'FROM "_data"."staff" AS "staff"', 'FROM (FROM "_data"."staff" WHERE "salary" < 20) AS "staff"'
        )
        assert chosen != block.groups_sql
        return replace(plan, blocks=(replace(block, groups_sql=chosen),))

    monkeypatch.setattr(checks, "understand", careless)
    monkeypatch.setattr(checks.Checker, "_compared", lambda *arguments: "equal")
    assert found(SUMS).startswith("influence: asks")


@pytest.mark.slow
def test_a_gate_that_looks_at_values_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = Statement("small", "SELECT SUM(salary) FROM staff WHERE dept = 'IT'")
    database = checker("small")._a
    plan = understand(statement.text, None, database.schema)
    assert isinstance(plan, Plan)
    asked = database.ask(plan)
    assert gates.verdicts_agree(SMALL, database, statement, asked) is None
    monkeypatch.setattr(gates, "told", lambda world, statement, rows: ("answered", "x", repr(rows)))
    assert (
        gates.verdicts_agree(SMALL, database, statement, asked)
        == "values permuted within atoms change the answer"
    )

    def peeping(world: object, statement: object, rows: dict[str, list[tuple[object, ...]]]) -> object:
        return ("refused", repr([row[6] for row in rows["staff"] if row[3] == "HR"]), None)

    monkeypatch.setattr(gates, "told", peeping)
    assert gates.verdicts_agree(SMALL, database, statement, asked) == (
        "values changed outside the query set change the verdict"
    )


# --- minimising


def test_minimising_leaves_what_matters() -> None:
    text = (
        "WITH x AS (SELECT a, b FROM t WHERE c = 1) SELECT d, SUM(CASE WHEN e > 3 THEN f ELSE 0 END) AS s "
        "FROM x JOIN u ON x.a = u.a WHERE g LIKE 'x%' GROUP BY ROLLUP (d, h) HAVING COUNT(*) > 2 LIMIT 3"
    )
    fails = re.compile(r"ROLLUP\s*\(", re.IGNORECASE).search
    shorter = by_tree(text, lambda each: bool(fails(each)), float("inf"))
    assert fails(shorter)
    assert len(shorter) < 50
    assert len(solid(by_words(shorter, lambda each: bool(fails(each)), float("inf")))) == 2


def test_a_finding_is_minimised_with_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "computed", lambda database, asked: Fraction(1))
    statement = Statement(
        "staff", "SELECT dept, SUM(salary) AS s FROM staff WHERE age > ? AND id < ? GROUP BY dept", [20, 99]
    )
    (finding,) = check(statement).findings
    smallest = minimised(statement, finding, 5)
    assert len(smallest.text) < len("SELECT SUM(salary) FROM staff WHERE age")
    assert smallest.parameters is None
