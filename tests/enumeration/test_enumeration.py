"""Random small tables: what is answered is safe in all of them, and each check would notice if it were not.

Thousands of them: `python -m tests.enumeration --systems 2000`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from auditor.deciding.cases import Case, Outcome
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from auditor.gate import suppress
from auditor.parties.party import Knowledge
from cae_sql import AnsweredSystem
from cae_sql.inference.certify import question as certify_question
from cae_sql.inference.certify.question import Question as Asked
from cae_sql.inference.facts.query import Query
from cae_sql.inference.intervals.bounds import Bounds
from tests.quick import some

from . import asking, deciding
from .__main__ import main
from .asking import Aggregate, Asking, Condition, Heard, Said, Select, asking_at_random, smallest
from .certifying import SCALES, system_at_random, untrue
from .deciding import Bench, Finding, Play, Tally
from .oracle import Question
from .scenarios import MODES, Scenario, Settings, minimised, scenario_at_random
from .scenarios import Rules as Wanted

INSIDERS = (0, 1)
"""Numbers of insiders that the gate is held against."""
SEED = 20
QUICK = Settings(most=5_000, largest=6)
ALL3, PAIR = Question("sum", (1, 1, 1)), Question("sum", (1, 1, 0))


def played(settings: Settings, count: int, others: int) -> Tally:
    tally = Tally()
    for number in range(count):
        scenario = scenario_at_random(settings, SEED, number)
        play = Play(scenario, others)
        assert not list(play.findings()), f"seed {SEED}, number {number}: {scenario}"
        tally.add(play.tally)
    return tally


@pytest.mark.slow
@pytest.mark.parametrize("insiders", INSIDERS)
@pytest.mark.parametrize("values", some(["uniform", "skewed"], 1))
def test_after_every_answer_everybody_keeps_the_limit_in_all_tables(insiders: int, values: str) -> None:
    settings = replace(QUICK, mode="answer-dependent", values=values, insiders=insiders)
    tally = played(settings, 35, others=0)
    assert tally.verdicts["safe"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("insiders", INSIDERS)
def test_refusals_are_the_same_whichever_table_is_the_true_one(insiders: int) -> None:
    # with an insider fewer are answered
    tally = played(replace(QUICK, insiders=insiders), 15 if not insiders else 45, others=1)
    assert tally.compared > 20
    assert {"safe", "risk"} <= set(tally.verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("insiders", INSIDERS)
def test_some_of_what_could_be_answered_is(insiders: int) -> None:
    tally = played(replace(QUICK, insiders=insiders), 30, others=0)
    print(f"answered {dict(tally.answered)} of {dict(tally.harmless)}")
    assert sum(tally.answered.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("mode", some(list(MODES), 1))
def test_after_every_answer_everybody_keeps_the_limit_if_all_tables_are_equally_likely(
    insiders: int, mode: str
) -> None:
    """Ends among the answers; measured against the whole domain."""
    settings = replace(QUICK, mode=mode, insiders=insiders, baseline="prior")
    tally = played(settings, 25, others=1)
    assert tally.verdicts["safe"] + tally.verdicts["ends"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("insiders", INSIDERS)
@pytest.mark.parametrize("baseline", ["members", "prior"])
def test_ranges_keep_the_promises_and_tell_nothing_by_which_is_told(insiders: int, baseline: str) -> None:
    settings = replace(QUICK, kinds=("sum",), insiders=insiders, baseline=baseline, ranges=True)
    tally = played(settings, 20, others=1)
    assert tally.verdicts["ranges"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["members", "prior"])
def test_the_rule_for_one_sum_of_larger_tables_keeps_the_promises_on_small_ones_too(
    baseline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody is searched for, some hypothetical answers next to each other are enough."""
    monkeypatch.setattr(certify_question, "MOST_SEARCHED", 0)
    settings = replace(QUICK, kinds=("sum",), largest=8, baseline=baseline)
    tally = played(settings, 30, others=1)
    assert tally.verdicts["safe"] + tally.verdicts["ends"] > 5


def test_a_gate_that_does_not_count_what_is_likely_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three who sum up to 3 nothing of anybody is excluded; 0 is four times as likely as 3."""
    rules = Wanted(mode="answer-dependent", risk=0.1, baseline="prior")
    asked = Scenario((1, 1, 1), 3, rules, (), ((ALL3,),))
    assert kinds(list(Play(asked, 0).findings())) == set()

    def half(cases: Sequence[Case], rules: Rules) -> Outcome:
        return decide([replace(case, model=None) for case in cases], rules)

    monkeypatch.setattr(deciding, "decide", half)
    assert kinds(list(Play(asked, 0).findings())) == {"likely"}


def test_what_is_certified_is_possible_and_what_is_possible_is_in_the_interval() -> None:
    for number in range(60):
        size, top, told = system_at_random(QUICK, SEED, number)
        found = list(untrue(size, top, told, number % len(SCALES)))
        assert not found, f"seed {SEED}, number {number}: {told}"


@pytest.mark.parametrize("insiders", INSIDERS)
@pytest.mark.parametrize("mode", some(MODES, 1))
def test_what_a_gate_hands_out_leaves_everybody_the_limit(mode: str, insiders: int) -> None:
    tally = Tally()
    for number in range(4 if not insiders else 12):
        one = asking_at_random(replace(QUICK, mode=mode, insiders=insiders), SEED, number)
        heard = Heard(one)
        assert not list(heard.findings()), f"seed {SEED}, number {number}:\n{one}"
        tally.add(heard.tally)
    assert tally.verdicts["answered"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("insiders", INSIDERS)
def test_groups_that_are_asked_as_one_question_leave_everybody_the_limit(
    insiders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in large tables: with no search record by record, everybody is looked at at once, and a bound is
    shown by the exact answers that it leaves."""
    joined, together = suppress.joined, list[int]()
    monkeypatch.setattr(suppress, "joined", lambda units: together.append(len(units)) or joined(units))
    monkeypatch.setattr(certify_question, "MOST_SEARCHED", 0)
    tally = Tally()
    for number in range(24):
        one = asking_at_random(replace(QUICK, kinds=("sum",), insiders=insiders), SEED, number)
        heard = Heard(one)
        assert not list(heard.findings()), f"seed {SEED}, number {number}:\n{one}"
        tally.add(heard.tally)
    assert tally.verdicts["answered"] + tally.verdicts["ends"] > 0
    assert max(together) > 1


@pytest.mark.slow
def test_the_command_line_runs_every_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--systems", "2", "--largest", "3", "--values", "skewed", "--kinds", "sum,max"]
    monkeypatch.setattr(sys, "argv", ["enumeration", *words])
    assert main() == 0
    printed = capsys.readouterr().out
    assert printed.count(" systems; verdicts") == 5
    assert printed.endswith("findings: 0\n")


# Each check notices what it is there for


def scenario(*statements: tuple[Question, ...], mode: str = "answer-dependent") -> Scenario:
    return Scenario((2, 3, 1), 4, Wanted(mode=mode), (), statements)


def kinds(findings: Sequence[Finding]) -> set[str]:
    return {finding.what for finding in findings}


def test_a_standard_that_is_too_low_is_noticed_and_its_example_made_smaller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lax(self: Bench, queries: Sequence[Query]) -> Outcome:
        case = self.column.case(queries)
        return decide([replace(case, standard=replace(case.standard, need=0), model=None)], self.rules)

    monkeypatch.setattr(Bench, "decide", lax)
    long = scenario((ALL3,), (Question("max", (1, 1, 1)),), (PAIR,))

    def shows(less: Scenario) -> bool:
        return kinds(list(Play(less, 0).findings())) == {"limit"}

    assert shows(long)
    least = minimised(long, shows)
    assert least.size == 2
    assert len(least.statements) < 3


def test_an_insider_whom_the_gate_does_not_reckon_with_is_noticed() -> None:
    two = Scenario((2, 3), 4, Wanted(mode="answer-dependent"), (), ((Question("sum", (1, 1)),),))
    for insiders, expected in ((0, set[str]()), (1, {"limit"})):
        play = Play(two, 0)
        play.insiders = insiders
        assert kinds(list(play.findings())) == expected
    rows = ((0, 0, "x", 2), (1, 0, "x", 3))
    heard = Heard(Asking(rows, 4, two.rules, "", (Select((Aggregate("AVG"),)),)))
    heard.insiders = 1
    assert kinds(list(heard.findings())) == {"limit"}


@pytest.mark.parametrize("mode", MODES)
def test_an_insider_with_the_greatest_value_knows_that_there_is_a_tie(mode: str) -> None:
    """Five have 9 together, and at most 4; so have three of them. A fourth with 4 leaves the fifth 0 or 1."""
    everybody, three = (1, 1, 1, 1, 1), (0, 1, 1, 0, 1)
    asked = (Question("sum", everybody), Question("max", everybody)), (Question("max", three),)
    rules = Wanted(insiders=1, mode=mode, risk=0.7)
    for truth in ((0, 4, 2, 0, 3), (4, 4, 1, 0, 0), (0, 0, 4, 4, 1)):
        assert not list(Play(Scenario(truth, 4, rules, (), asked), 5).findings())


def test_a_refusal_that_looked_at_the_true_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def peeping(cases: Sequence[Case], rules: Rules) -> Outcome:
        return decide(cases, replace(rules, simulatable=False))

    monkeypatch.setattr(deciding, "decide", peeping)
    asked = scenario((Question("max", (1, 1, 1)),), mode="simulatable")
    assert kinds(list(Play(asked, others=20).findings())) == {"refusal"}


def test_something_new_that_is_called_known_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "derivable", True)
    assert "known" in kinds(list(Play(scenario((ALL3,)), 0).findings()))


def test_a_run_that_is_certified_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_possible(self: AnsweredSystem) -> Bounds:
        return Bounds(np.full(self.size, 0.0), np.full(self.size, 4.0))

    told = [(Question("max", (1, 1)), 3)]
    assert not list(untrue(2, 4, told, 0))
    monkeypatch.setattr(AnsweredSystem, "certified", all_possible)
    assert len(list(untrue(2, 4, told, 0))) == 2


@pytest.mark.slow
def test_a_gate_with_too_low_a_limit_is_noticed_and_its_example_made_smaller() -> None:
    rows = ((0, 0, "x", 2), (1, 1, "x", 3), (2, 1, "y", 1), (3, 2, "y", 3))
    total = Select((Aggregate("SUM"),))
    but_one = Select((Aggregate("MAX"),), (Condition("id", "<>", 0),))
    asked = Asking(rows, 4, Wanted(mode="answer-dependent", risk=0.99), "", (total, total, but_one))

    def shows(less: Asking) -> bool:
        heard = Heard(less)
        heard.bound = Wanted(risk=0.0).bound(4)
        return kinds(list(heard.findings())) == {"limit"}

    assert shows(asked)
    least = smallest(asked, shows)
    assert len(least.statements) == 1
    assert len(least.truth) < 4


@pytest.mark.slow
def test_words_of_a_gate_that_hang_on_values_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(gate: object, select: Select) -> Said:
        said = honest(gate, select)  # type: ignore[arg-type]
        knowledge: Knowledge = gate._knowledge  # type: ignore[attr-defined]
        values = knowledge.columns[0]._values
        return replace(said, words=f"{values.tolist()}")

    honest = asking._said
    monkeypatch.setattr(asking, "_said", telling)
    rows = ((0, 0, "x", 2), (1, 1, "x", 3), (2, 1, "y", 1))
    asked = Asking(rows, 4, Wanted(), "", (Select((Aggregate("MAX"),), (Condition("id", "=", 1),)),))
    assert kinds(list(Heard(asked, others=3).findings())) == {"refusal"}


def test_groups_are_found_as_duckdb_finds_them() -> None:
    """Conditions, GROUP BY, FILTER and CASE, with a NULL among the values."""
    rows = ((0, 0, "x", 2), (1, 1, "x", None), (2, 1, "y", 1), (3, 2, "y", 4))
    aggregates = (
        Aggregate("SUM", None, Condition("b", "=", "x")),
        Aggregate("MAX", Condition("a", ">=", 1)),
        Aggregate("MIN"),
    )
    for where in ((), (Condition("id", "<>", 0),), (Condition("b", "<>", "x"), Condition("a", "<", 2))):
        for by in ((), ("b",), ("a", "b")):
            select = Select(aggregates, where, by)
            assert answers(rows, select) == by_duckdb(rows, select)


def answers(rows: Sequence[asking.Row], select: Select) -> dict[object, list[int | None]]:
    truth = np.array([[row[3] for row in rows if row[3] is not None]])
    return {
        name: [
            None if question is None else int(question.of(truth)[0])
            for question in (each.question(rows, covered) for each in select.aggregates)
        ]
        for name, covered in select.groups(rows).items()
    }


def by_duckdb(rows: Sequence[asking.Row], select: Select) -> dict[object, list[int | None]]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR, v INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row) for row in rows])
        found = connection.execute(str(select)).fetchall()
    return {row[: len(select.by)]: [*row[len(select.by) :]] for row in found}
