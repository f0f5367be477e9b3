"""Leak events: the attack that works, as far as docs/decisions.md says it does.

Asked: MAX and MIN of sets for which `check` says yes. A refusal then comes from the true answer, and says
that it is one of those that break the limit: everybody in the set is on the near side of a known bound.
Twenty hypothetical answers do not surely see a break that one table in seven has (MAX of three, 13 of 25
values each); where values are unlike random tables they do not see it at all, however large the set. What
holds is that such refusals are counted, that they are few, and that nothing new is answered over the same
persons.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate

from .arena import Outcome, Row, attacked, build, people, policy, verdict


def low_paid(count: int) -> list[Row]:
    """Everybody earns 10 to 100 of a possible 250, as nobody would think who thinks all tables alike."""
    return [(*row[:-1], 10 + int(str(row[-1])) % 100) for row in people(count, 20)]


@pytest.fixture(scope="module")
def lucky(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Small sets of persons whose salaries are as random as the gate's own tables."""
    # on a busy machine a second is too short for what shall be seen here
    patient = policy("[decision]\ntimeout = 5\n")
    return attacked(tmp_path_factory.mktemp("lucky"), "lucky-checks", people(24, 21), patient)


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True,
    reason="a leak event locates everybody in its set; 20 hypothetical answers often let a MAX of three pass",
)
def test_choosing_sets_by_check_locates_nobody(lucky: Outcome) -> None:
    assert lucky.report.gate is not None
    assert lucky.report.gate.located == 0


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True,
    reason="where all values are low, the refusal of one MAX over everybody says so of everybody",
)
def test_a_refused_maximum_over_everybody_locates_nobody_where_values_are_skewed(tmp_path: Path) -> None:
    outcome = attacked(tmp_path, "leak-events", low_paid(40))
    assert outcome.report.gate is not None
    assert outcome.report.gate.located == 0


@pytest.mark.slow
def test_leak_events_are_few_and_close_the_table_for_those_they_were_about(lucky: Outcome) -> None:
    """`leaks` of them and one more; what the answers on record tell is safe all the same."""
    outcome = lucky
    assert outcome.report.gate is not None
    assert 1 <= outcome.report.gate.leaks <= policy().decision.leaks + 1
    assert outcome.onlooker.everybody_keeps(14) == []
    told = [a for entry in outcome.entries for a in entry.answers if a.kind == "leak"]
    spent = {record for answer in told for record in answer.records.tolist()}
    assert outcome.report.gate.located <= len(spent)
    first = next(entry.number for entry in outcome.entries if entry.leak)
    later = [
        a for entry in outcome.entries if entry.number > first for a in entry.answers if a.kind != "leak"
    ]
    gone = set(next(a for e in outcome.entries if e.leak for a in e.answers).records.tolist())
    assert not any(gone & set(answer.records.tolist()) for answer in later)


def test_after_a_leak_event_about_everybody_nothing_new_is_answered(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", low_paid(40))
    with Gate.open(database, policy()) as gate:
        assert gate.check("SELECT max(salary) FROM staff").verdict == "answered"
        assert verdict(gate, "SELECT max(salary) FROM staff").code == "risk"
        assert gate.history()["leak"].sum() == 1
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "leaks"
        assert verdict(gate, "SELECT avg(salary) FROM staff WHERE id < 20").code == "leaks"


@pytest.mark.slow
def test_no_delta_and_more_hypothetical_answers_make_leak_events_rare(tmp_path: Path) -> None:
    rules = policy("[decision]\ntimeout = 5\nworlds = 200\ndelta = 0")
    outcome = attacked(tmp_path, "lucky-checks", people(24, 21), rules)
    assert outcome.report.gate is not None
    assert outcome.report.gate.leaks == 0
