"""Equal extremes of overlapping sets: the judge reads them without ties as well."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import judge
from cae_sql.inference.standard import Judgement, Standard

NEED = 10
"""Units, of 24, that everybody must keep."""


def system_of(kind: str, sets: Sequence[Sequence[int]], value: int, size: int = 8) -> AnsweredSystem:
    system = AnsweredSystem(size, 10, 250, 10)
    for members in sets:
        (system.add_max if kind == "max" else system.add_min)(members, value)
    return system


def judged(system: AnsweredSystem, need: int = NEED) -> Judgement:
    pool = system.pool()
    return judge(pool.knowledge, pool.totals(), Standard(need), Allowance())


EXTREMES = pytest.mark.parametrize(("kind", "value"), [("max", 250), ("min", 10), ("max", 200), ("min", 50)])


@EXTREMES
def test_three_equal_extremes_that_share_a_record_are_unsafe_although_worlds_are_many(
    kind: str, value: int
) -> None:
    system = system_of(kind, [[0, 1], [0, 2], [0, 3]], value)
    found = system.certified()
    assert found.upper[0] - found.lower[0] >= NEED * 10, "in some worlds the others all have the value"
    assert not judged(system).safe


@EXTREMES
def test_two_equal_extremes_that_share_a_record_are_unsafe(kind: str, value: int) -> None:
    assert not judged(system_of(kind, [[0, 1, 2], [0, 3, 4]], value)).safe


@EXTREMES
def test_equal_extremes_of_disjoint_sets_stay_safe(kind: str, value: int) -> None:
    assert judged(system_of(kind, [[0, 1], [2, 3], [4, 5, 6]], value)).safe


@EXTREMES
def test_equal_extremes_that_share_several_records_stay_safe(kind: str, value: int) -> None:
    assert judged(system_of(kind, [[0, 1, 2, 3], [0, 1, 4, 5]], value), need=NEED).safe


@EXTREMES
def test_one_extreme_asked_twice_says_nothing_new(kind: str, value: int) -> None:
    assert judged(system_of(kind, [[0, 1], [1, 0]], value)).safe


def test_an_extreme_of_a_set_and_of_its_superset_lies_in_the_set() -> None:
    system = system_of("max", [[0, 1], [0, 1, 2, 3, 4]], 250)
    assert judged(system).safe
    assert not judged(system_of("max", [[0], [0, 1, 2, 3, 4]], 250)).safe


def test_a_maximum_and_a_minimum_do_not_count_as_equal() -> None:
    system = AnsweredSystem(6, 10, 250, 10)
    system.add_max([0, 1, 2], 250)
    system.add_min([0, 3, 4], 10)
    assert judged(system).safe


def test_different_maxima_that_share_a_record_leave_one_who_must_have_the_greater() -> None:
    system = AnsweredSystem(4, 10, 250, 10)
    system.add_max([0, 1], 250)
    system.add_max([0, 2], 200)
    assert system.bounds().lower[1] == 250
    assert not judged(system).safe


def test_whatever_a_second_maximum_of_a_shared_record_says_is_unsafe() -> None:
    """Equal to the first it points at who is in both, smaller at who is in the first alone."""
    shared = system_of("max", [[0, 1]], 250)
    again = system_of("max", [[0, 2]], 250).answers[0]
    answers = {value for (value,) in shared.question([shared.query("max", again.members)]).hypothetical(24)}
    assert 24 in answers
    for value in answers:
        system = system_of("max", [[0, 1]], 250)
        system.add_max([0, 2], 10 + 10 * value)
        assert not judged(system).safe


def test_without_extremes_the_judge_only_asks_for_long_enough_runs() -> None:
    system = AnsweredSystem(4, 10, 250, 10)
    system.add_sum([0, 1, 2, 3], 520)
    assert judged(system, need=24).safe
    system.add_sum([0, 1], 100)
    assert judged(system, need=8).safe
    assert not judged(system, need=9).safe
