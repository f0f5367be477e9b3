"""What the decisions of one statement may spend, and the part of it that one of them may."""

from __future__ import annotations

from auditor.deciding.rules import Budget, Rules


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


def test_the_clock_of_the_whole_goes_on_in_its_parts() -> None:
    whole = budget()
    with whole.part(1 / 2) as part, part as allowance:
        allowance.until -= 60.0  # as if so many seconds had passed
    assert part.over
    assert whole.over


def test_a_doubtful_group_costs_the_others_nothing_of_theirs() -> None:
    whole = budget()
    given = 0
    for cost in (10_000, 50, 50):  # one that would take everything, and two that take little
        with whole.part(1 / 16) as part, part as allowance:
            given += allowance.spend(min(cost, 70))
    assert given == 2
    assert not whole.used_up
