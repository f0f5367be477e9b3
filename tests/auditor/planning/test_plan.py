"""A plan's figures are those of a gate; what follows from them; what is left out is said."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from auditor import Answer, Gate, Policy, QueryRefused
from auditor.data.sources import source_of
from auditor.errors import AuditorError
from auditor.planning import plan as planning
from auditor.planning import words
from auditor.planning.json_form import as_json
from auditor.planning.plan import Plan, Wanted, plan
from auditor.planning.players import Played, Players, Run
from auditor.planning.playing import Outcome, play
from auditor.planning.statements import Statement
from tests.auditor.staff import build, people, policy, truth
from tests.quick import some

ASKED = (
    "SELECT dept, avg(salary) FROM staff GROUP BY dept",
    "SELECT age, sum(salary), max(salary) FROM staff GROUP BY age",
    "SELECT sex, dept, min(salary) FROM staff GROUP BY sex, dept",
    "SELECT sum(salary) FROM staff WHERE id <> 7",
    "SELECT avg(salary) FROM staff",
)
ALONE = Wanted((), (), ("written",), 0)
"""The policy's own run and no other."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(80))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "list.sql"
    path.write_text(";\n".join(ASKED))
    return path


def rows_told(answer: Answer) -> tuple[int, int, int]:
    """Rows with a value in every column, with ends where there is none, and with nothing."""
    ended = {each.row for each in answer.ranges}
    lacking = [(place, row) for place, row in enumerate(answer.fetchall()) if None in row]
    withheld = [place for place, _ in lacking if place not in ended]
    return answer.arrow().num_rows - len(lacking), len(lacking) - len(withheld), len(withheld)


def really_told(database: Path, rules: Policy, ledger: Path) -> list[tuple[int, int, int]]:
    """What a gate with a ledger tells of each statement, counted by its rows."""
    found = []
    with Gate.open(database, rules, ledger) as gate:
        for sql in ASKED:
            try:
                found.append(rows_told(gate.execute(sql)))
            except QueryRefused:
                found.append((0, 0, len(truth(database, sql))))
    return found


def figures(outcomes: Sequence[Outcome]) -> list[tuple[int, int, int]]:
    return [(each.exact, each.ends, each.withheld) for each in outcomes]


@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_the_counts_are_those_of_a_gate_with_a_ledger(
    database: Path, script: Path, tmp_path: Path, insiders: int
) -> None:
    rules = policy(f"[intruder]\ninsiders = {insiders}")
    expected = really_told(database, rules, tmp_path / "real.ledger")
    found = plan(database, rules, [script], ALONE)
    assert figures(list(found.own.outcomes.values())) == expected
    assert found.own.withheld > 0
    assert found.own.exact > 0


@pytest.mark.slow
def test_another_limit_is_that_of_a_policy_that_states_it(
    database: Path, script: Path, tmp_path: Path
) -> None:
    expected = really_told(database, policy(limit="risk = 0.8"), tmp_path / "real.ledger")
    found = plan(database, policy(), [script], Wanted((0.8,), (1,), ("written",), 0))
    [other] = [each for each in found.results if not each.setting.own]
    assert figures(list(other.outcomes.values())) == expected
    assert (other.setting.risk, other.setting.insiders) == (0.8, 1)


def test_nothing_is_left_behind_and_the_policys_ledger_is_not_touched(
    database: Path, script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    ledger = tmp_path / "real.ledger"
    rules = policy(f'[ledger]\npath = "{ledger}"\nanchor = "{tmp_path / "anchor"}"')
    before = sorted(tmp_path.iterdir())
    plan(database, rules, [script], ALONE)
    assert sorted(tmp_path.iterdir()) == before
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_two_processes_find_what_one_gate_finds(database: Path, tmp_path: Path) -> None:
    asked = [Statement(n, sql, "duckdb", groups=(1,)) for n, sql in enumerate(ASKED, 1)]
    here = list(play(database, policy(), asked, 600, tmp_path))
    with Players(source_of(database), asked, 2) as players:
        runs = [Run(policy(), (1, 2, 3, 4, 5), 600)] * 3
        found = players.play(runs, float("inf"), lambda: False, lambda _: None)
    for each in found.values():
        assert each.error == ""
        assert figures(list(each.outcomes.values())) == figures(here)


def test_a_run_that_is_told_to_stop_begins_no_further_statement(database: Path, tmp_path: Path) -> None:
    asked = [Statement(1, ASKED[0], "duckdb", groups=(1,) * 4)]
    assert list(play(database, policy(), asked, 600, tmp_path, stop=lambda: True)) == []
    assert list(play(database, policy(), asked, 0, tmp_path)) == []


def test_nothing_that_is_understood_is_a_plan_without_runs(database: Path, tmp_path: Path) -> None:
    (tmp_path / "list.sql").write_text("SELECT salary FROM staff;")
    found = plan(database, policy(), [tmp_path / "list.sql"], ALONE)
    assert found.statements == []
    assert "None of the statements" in words.lead(found)


# What follows from runs: of runs that are made up

Say = Callable[[Run], dict[int, tuple[int, int]]]
"""Groups told exactly and withheld by number, as far as a run comes."""


@pytest.fixture
def played(database: Path, script: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Plan]:
    """A plan whose runs say what they are told to say."""

    def made(say: Say, wanted: Wanted = Wanted((), (), ("written",)), begun: int = 99) -> Plan:  # noqa: B008
        class Told(Players):
            def play(self, runs: Sequence[Run], *_: Any) -> dict[int, Played]:
                return {place: Played(_outcomes(say(run))) for place, run in enumerate(runs[:begun])}

        monkeypatch.setattr(planning, "Players", Told)
        return plan(database, policy(), [script], wanted)

    return made


def _outcomes(said: dict[int, tuple[int, int]]) -> dict[int, Outcome]:
    return {
        number: Outcome(number, "partial" if lost else "answered", told, 0, lost, 0.1)
        for number, (told, lost) in said.items()
    }


def costly_second(run: Run) -> dict[int, tuple[int, int]]:
    """Statement 2 takes two groups of each that comes after it."""
    found, taken = {}, 0
    for number in run.numbers:
        found[number] = (5 - taken, taken)
        taken = 2 if number == 2 else taken
    return found


def test_what_a_statement_costs_others_is_what_they_are_told_more_without_it(
    played: Callable[..., Plan],
) -> None:
    found = played(costly_second)
    assert [(each.number, each.exact) for each in found.effects[2]] == [(3, 2), (4, 2), (5, 2)]
    assert found.effects[1] == []
    assert found.net(2) == 6
    assert words.cost_rows(found) == [[2, "+6", "+6", "3 (+2), 4 (+2), 5 (+2)"]]


def test_the_recommended_order_is_a_run_that_told_most(played: Callable[..., Plan]) -> None:
    found = played(costly_second)
    assert found.own.exact == 19
    assert found.best.exact == 25
    assert found.best.numbers == (1, 3, 4, 5, 2)
    assert found.best.setting.order == "costly last"
    assert "6 groups more" in words.recommendation(found)


def test_as_written_is_recommended_where_nothing_tells_more(played: Callable[..., Plan]) -> None:
    found = played(lambda run: dict.fromkeys(run.numbers, (3, 1)), Wanted((), ()))
    assert found.best is found.own
    assert "as written" in words.recommendation(found)


def test_the_last_statement_and_what_is_told_whole_are_not_left_out(played: Callable[..., Plan]) -> None:
    runs: list[Run] = []

    def say(run: Run) -> dict[int, tuple[int, int]]:
        runs.append(run)
        return {number: (3, int(number == 3)) for number in run.numbers}

    found = played(say)
    assert sorted(found.effects) == [1, 2]
    assert [run.numbers for run in runs if len(run.numbers) == 4] == [(2, 3, 4, 5), (1, 3, 4, 5)]


def test_a_list_that_is_too_long_is_cut_for_all_runs_and_said(played: Callable[..., Plan]) -> None:
    found = played(lambda run: {number: (1, 1) for number in run.numbers if number <= 3})
    assert [each.number for each in found.statements] == [1, 2, 3]
    assert found.left_out == 2
    assert found.own.cut is None
    assert any("first 3 statements; 2 later ones" in said for said in words.doubts(found))


def test_a_run_that_was_cut_is_no_recommendation(played: Callable[..., Plan]) -> None:
    def say(run: Run) -> dict[int, tuple[int, int]]:
        if run.numbers == (1, 2, 3, 4, 5):
            return dict.fromkeys(run.numbers, (3, 1))
        return {run.numbers[0]: (99, 0)}

    found = played(say, Wanted((), (), leave_one_out=0))
    assert [each.cut for each in found.orders] == [None, 1]
    assert found.best is found.own
    assert "cut after 1 of 5" in str(words.order_rows(found)[1][-1])


def test_runs_for_which_there_was_no_time_are_said(played: Callable[..., Plan]) -> None:
    found = played(costly_second, Wanted((0.7, 0.8), (1,)), begun=1)
    assert {each.risk for each, _ in found.not_run} >= {0.7, 0.8}
    assert found.unknown == [1, 2, 3, 4]
    said = list(words.doubts(found))
    assert any("Not run: as written, risk 0.7" in each for each in said)
    assert any("What 4 statements cost others was not looked at: 1, 2, 3, 4" in each for each in said)


def test_the_runs_as_written_leave_time_for_those_that_follow(played: Callable[..., Plan]) -> None:
    seconds: list[float] = []

    def say(run: Run) -> dict[int, tuple[int, int]]:
        seconds.append(run.seconds)
        return costly_second(run)

    played(say, Wanted(insiders=(1,), seconds=800.0, workers=2))
    assert max(seconds[:5]) <= 800 / (3 + 3)  # five runs on two processes, and three more
    assert seconds[5] > 500


def test_no_more_are_left_out_one_by_one_than_asked_for(played: Callable[..., Plan]) -> None:
    found = played(costly_second, Wanted((), (), ("written",), leave_one_out=1))
    assert len(found.effects) == 1
    assert set(found.unknown) | set(found.effects) == {1, 2, 3, 4}


def test_without_any_outcome_there_is_no_plan(played: Callable[..., Plan]) -> None:
    with pytest.raises(AuditorError, match="nothing was found out"):
        played(lambda _: {})


def test_json_says_what_the_page_says(played: Callable[..., Plan]) -> None:
    found = played(costly_second, Wanted((0.7,), (0, 1)))
    told = json.loads(as_json(found))
    assert [each["exact"] for each in told["orders"]] == [each.exact for each in found.orders]
    assert told["order"] == list(found.best.numbers)
    assert told["statements"][1]["without_it"] == [
        {"number": number, "exact": 2, "told": 2} for number in (3, 4, 5)
    ]
    assert {each["risk"] for each in told["limits"]} == {0.5, 0.7}
