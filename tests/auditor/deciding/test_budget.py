"""What the decisions of one statement may spend, and the part of it that one of them may."""

from __future__ import annotations

import pytest

from auditor.deciding.rules import SEVERAL, Budget, Rules


def budget(steps: float = 1_000.0) -> Budget:
    return Budget(Rules(True, 10, 0.1, 60.0, steps))


def test_a_part_may_spend_so_much_of_all_and_the_whole_is_less_by_what_it_spent() -> None:
    whole = budget()
    with whole.part(1 / 4) as part, part as allowance:
        assert allowance.spend(200)
        assert not part.used_up
        assert not allowance.spend(100)
        assert part.used_up
    with whole as allowance:
        assert allowance.steps == 700
    assert not whole.used_up


def test_a_part_is_no_more_than_what_is_left() -> None:
    whole = budget()
    with whole as allowance:
        allowance.spend(900)
    with whole.part(1 / 2) as part, part as allowance:
        assert allowance.steps == 100


def test_each_decision_of_a_statement_has_the_seconds_of_one_and_all_together_several_times_as_many() -> None:
    whole = budget()
    for n in range(int(SEVERAL)):
        assert not whole.over
        with whole.part(1 / 16) as part, part as allowance:
            assert not allowance.late, n
            allowance.until -= 60.0  # as if so many seconds had passed
            assert allowance.late
    assert part.over
    assert whole.over
    with whole as allowance:
        assert allowance.late


def test_one_decision_alone_has_no_more_seconds_than_the_policy_says() -> None:
    whole = budget()
    with whole as allowance:
        assert allowance.seconds <= 60.0
        allowance.until -= 60.0
        assert allowance.late


def test_a_doubtful_group_costs_the_others_nothing_of_theirs() -> None:
    whole = budget()
    given = 0
    for cost in (10_000, 50, 50):  # one that would take everything, and two that take little
        with whole.part(1 / 16) as part, part as allowance:
            given += allowance.spend(min(cost, 70))
    assert given == 2
    assert not whole.used_up


def test_what_calls_waited_for_the_compiler_is_no_time_of_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = [0.0]
    monkeypatch.setattr("cae_sql.inference.allowance.waited", waited)
    whole = budget()
    with whole as allowance:
        before = allowance.seconds
        waited[0] += 3_600.0
        assert not allowance.late
        assert allowance.seconds > before
    assert not whole.over


def test_what_the_whole_spends_while_a_part_is_open_stays_spent() -> None:
    whole = budget()
    with whole.part(1 / 4) as part:
        with whole as allowance:
            allowance.until -= 100.0
        with part as allowance:
            allowance.until -= 141.0
    assert whole.over
