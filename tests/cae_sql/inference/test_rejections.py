"""What a system does not take: contradictions, which leave it as it was, and input that means nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.errors import CaeSqlError, InconsistentAnswers, InvalidInput

from .oracles import Case, cases

Step = Callable[[AnsweredSystem], object]


def staff() -> AnsweredSystem:
    return AnsweredSystem(4, 0, 24, 1)


def bits() -> AnsweredSystem:
    return AnsweredSystem(4, 0, 1, 1)


def reals() -> AnsweredSystem:
    return AnsweredSystem(4, 0, 24)


CONTRADICTIONS: dict[str, tuple[Callable[[], AnsweredSystem], list[Step], Step]] = {
    "the same sum with another value": (
        staff,
        [lambda s: s.add_sum([0, 1], 10)],
        lambda s: s.add_sum([1, 0], 11),
    ),
    "a sum of sums with another value": (
        staff,
        [lambda s: s.add_sum([0, 1], 10), lambda s: s.add_sum([2, 3], 5)],
        lambda s: s.add_sum([0, 1, 2, 3], 16),
    ),
    "a multiple of a sum with another value": (
        staff,
        [lambda s: s.add_sum([0, 1], 10)],
        lambda s: s.add_sum([0, 1], 31, [3, 3]),
    ),
    "a mean against its sum": (
        staff,
        [lambda s: s.add_sum([0, 1], 10)],
        lambda s: s.add_mean([0, 1], 5.5),
    ),
    "three sums whose parity nothing on the grid has": (
        bits,
        [lambda s: s.add_sum([0, 1], 1), lambda s: s.add_sum([0, 2], 1)],
        lambda s: s.add_sum([1, 2], 1),
    ),
    "a difference and a sum that only halves satisfy": (
        staff,
        [lambda s: s.add_sum([0, 1], 1, [1, -1])],
        lambda s: s.add_sum([0, 1], 10),
    ),
    "a sum that its coefficients cannot give": (staff, [], lambda s: s.add_sum([0, 1], 11, [2, 4])),
    "a sum off the grid": (staff, [], lambda s: s.add_sum([0, 1], 10.5)),
    "a mean off the grid": (staff, [], lambda s: s.add_mean([0, 1, 2], 3.4)),
    "a sum above the domain": (staff, [], lambda s: s.add_sum([0, 1], 49)),
    "a sum below the domain": (staff, [], lambda s: s.add_sum([0, 1], -1)),
    "a difference outside of the domain": (staff, [], lambda s: s.add_sum([0, 1], 25, [1, -1])),
    "a maximum below a minimum": (staff, [lambda s: s.add_min([0, 1], 9)], lambda s: s.add_max([0, 1], 8)),
    "a maximum of some below a minimum of others": (
        staff,
        [lambda s: s.add_min([0, 1], 9)],
        lambda s: s.add_max([1, 2], 8),
    ),
    "a maximum above the domain": (staff, [], lambda s: s.add_max([0, 1], 25)),
    "a minimum below the domain": (staff, [], lambda s: s.add_min([0, 1], -1)),
    "a maximum off the grid": (staff, [], lambda s: s.add_max([0, 1], 7.5)),
    "a maximum that nobody can attain for a sum": (
        staff,
        [lambda s: s.add_sum([0, 1], 3)],
        lambda s: s.add_max([0, 1], 5),
    ),
    "a maximum that nobody is left to attain": (
        staff,
        [lambda s: s.add_max([0, 1], 5), lambda s: s.add_max([0], 4)],
        lambda s: s.add_max([1], 4),
    ),
    "a sum too great for a maximum": (
        staff,
        [lambda s: s.add_max([0, 1, 2], 5)],
        lambda s: s.add_sum([0, 1, 2], 16),
    ),
    "decimals that differ, among reals": (
        reals,
        [lambda s: s.add_sum([0, 1], 1.5)],
        lambda s: s.add_sum([0, 1], 1.25),
    ),
    "a maximum above a sum, among reals": (
        reals,
        [lambda s: s.add_sum([0, 1], 1.5)],
        lambda s: s.add_max([0, 1], 1.6),
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refused_when_it_comes_and_the_system_stays_as_it_was(name: str) -> None:
    start, before, wrong = CONTRADICTIONS[name]
    system, untouched = start(), start()
    for step in before:
        step(system)
        step(untouched)
    with pytest.raises(InconsistentAnswers):
        wrong(system)
    assert system.bounds().lower.tolist() == untouched.bounds().lower.tolist()
    assert system.bounds().upper.tolist() == untouched.bounds().upper.tolist()
    assert system.add_max([3], 1) == len(before), "numbers go on where the refused answer was"
    assert system.bounds().upper[3] <= 1
    if system.grid.whole:
        assert (np.asarray(system.worlds(3))[:, 3] == 1).all()
        assert (system.certified().lower <= system.certified().upper).all()


@pytest.mark.parametrize("start", [staff, reals])
def test_a_contradiction_within_an_odd_circle_of_pairs_is_refused(
    start: Callable[[], AnsweredSystem],
) -> None:
    system = start()
    for pair, total in (([0, 1], 5), ([0, 2], 6), ([1, 2], 7)):
        system.add_sum(pair, total)
    assert system.add_sum([1, 2], 7) == 3, "again, as it was"
    for total in (6, 8):
        with pytest.raises(InconsistentAnswers):
            system.add_sum([1, 2], total)


@pytest.mark.parametrize("coefficients", [[2, 3], [2, 3, 4], [6, 10, 15], [24, 25]])
def test_a_contradiction_among_sums_without_a_coefficient_of_one_is_refused(coefficients: list[int]) -> None:
    members = list(range(len(coefficients)))
    total = 4 * sum(coefficients)
    for start in (staff, reals):
        system = start()
        system.add_sum(members, total, coefficients)
        assert system.add_sum(members, total, coefficients) == 1, "again, as it was"
        for wrong in (total - 1, total + 1, 2 * total):
            with pytest.raises(InconsistentAnswers):
                system.add_sum(members, wrong, coefficients)


def test_halves_may_satisfy_reals_where_the_grid_has_nothing() -> None:
    system = reals()
    system.add_sum([0, 1], 1, [1, -1])
    system.add_sum([0, 1], 10)
    assert system.bounds().lower[:2].tolist() == [5.5, 4.5]


@given(cases(), st.integers(0, 5), st.integers(-2, 12))
def test_a_sum_is_refused_exactly_where_no_table_has_it(case: Case, record: int, value: int) -> None:
    members = sorted({0, record % case.size, case.size - 1})
    tables = case.tables()
    possible = set(tables[:, members].sum(axis=1).tolist())
    system = case.system()
    total = case.minimum * len(members) + case.resolution * value
    if value in possible:
        assert system.add_sum(members, total) == len(case.asked)
    else:
        with pytest.raises(InconsistentAnswers):
            system.add_sum(members, total)


@given(cases(), st.integers(0, 5), st.integers(0, 4), st.booleans())
def test_an_extreme_is_refused_exactly_where_no_table_has_it(
    case: Case, record: int, value: int, top: bool
) -> None:
    members = sorted({0, record % case.size})
    picked = case.tables()[:, members]
    possible = set((picked.max(axis=1) if top else picked.min(axis=1)).tolist())
    system = case.system()
    add = system.add_max if top else system.add_min
    extreme = case.minimum + case.resolution * value
    if value in possible:
        assert add(members, extreme) == len(case.asked)
    else:
        with pytest.raises(InconsistentAnswers):
            add(members, extreme)


def test_inconsistent_answers_are_no_value_error_but_one_of_ours() -> None:
    assert issubclass(InconsistentAnswers, CaeSqlError)
    assert not issubclass(InconsistentAnswers, ValueError)


BAD: dict[str, Callable[[], object]] = {
    "no members": lambda: staff().add_sum([], 0),
    "an empty mask": lambda: staff().add_max(np.zeros(4, dtype=bool), 0),
    "a negative index": lambda: staff().add_sum([0, -1], 3),
    "an index too large": lambda: staff().add_mean([4], 3),
    "an index beyond 64 bits": lambda: staff().add_sum(np.array([2**63], dtype=np.uint64), 3),
    "a duplicate member": lambda: staff().add_min([1, 2, 1], 3),
    "a mask too short": lambda: staff().add_sum(np.ones(3, dtype=bool), 3),
    "a mask too long": lambda: staff().add_sum(np.ones(5, dtype=bool), 3),
    "float indices": lambda: staff().add_sum(np.array([0.0, 1.0]), 3),
    "names for indices": lambda: staff().add_sum(np.array(["a"]), 3),
    "a number for members": lambda: staff().add_sum(0, 3),
    "members in two dimensions": lambda: staff().add_sum([[0, 1]], 3),
    "NaN for a sum": lambda: staff().add_sum([0], math.nan),
    "NaN for a mean": lambda: staff().add_mean([0], math.nan),
    "NaN for a maximum": lambda: staff().add_max([0], math.nan),
    "an infinite minimum": lambda: staff().add_min([0], -math.inf),
    "text for a value": lambda: staff().add_sum([0], "many"),  # type: ignore[arg-type]
    "too few coefficients": lambda: staff().add_sum([0, 1], 3, [1]),
    "too many coefficients": lambda: staff().add_sum([0, 1], 3, [1, 1, 1]),
    "coefficients that are all 0": lambda: staff().add_sum([0, 1], 0, [0, 0]),
    "a coefficient that is NaN": lambda: staff().add_sum([0, 1], 3, [1, math.nan]),
    "a coefficient that is infinite": lambda: staff().add_sum([0, 1], 3, [1, math.inf]),
    "no records": lambda: AnsweredSystem(0, 0, 1, 1),
    "a negative number of records": lambda: AnsweredSystem(-1, 0, 1, 1),
    "half a record": lambda: AnsweredSystem(1.5, 0, 1, 1),  # type: ignore[arg-type]
    "a resolution of 0": lambda: AnsweredSystem(1, 0, 1, 0),
    "a negative resolution": lambda: AnsweredSystem(1, 0, 1, -1),
    "a resolution that is NaN": lambda: AnsweredSystem(1, 0, 1, math.nan),
    "a maximum below the minimum": lambda: AnsweredSystem(1, 1, 0, 1),
    "an infinite domain": lambda: AnsweredSystem(1, 0, math.inf, 1),
    "a domain that starts at NaN": lambda: AnsweredSystem(1, math.nan, 1, 1),
    "no worlds": lambda: staff().worlds(0),
    "worlds of reals": lambda: reals().worlds(1),
    "certified reals": lambda: reals().certified(),
    "a third side": lambda: staff().explain(0, "left"),  # type: ignore[arg-type]
    "an explanation of nobody": lambda: staff().explain(4, "upper"),
    "an explanation of the record before the first": lambda: staff().explain(-1, "upper"),
    "intervals of nobody": lambda: staff().bounds([4]),
    "intervals of half a record": lambda: staff().bounds([0.5]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_invalid_input_and_a_value_error(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BAD[name]()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, CaeSqlError)
    assert str(caught.value)


@pytest.mark.parametrize(("members", "position"), [([0, 9, 1], 1), ([2, 0, 2], 2), ([-5], 0)])
def test_bad_members_are_pointed_at(members: list[int], position: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        staff().add_sum(members, 1)
    assert caught.value.position == position


def test_bad_input_leaves_the_system_as_it_was() -> None:
    system = staff()
    system.add_sum([0, 1], 10)
    with pytest.raises(InvalidInput):
        system.add_sum([9], 1)
    with pytest.raises(InvalidInput):
        system.add_max([0], math.nan)
    assert system.add_sum([1], 3) == 1
    assert system.bounds().lower[0] == 7


@pytest.mark.parametrize(
    "wrong",
    [lambda: staff().add_sum([[0], [1, 2]], 3), lambda: staff().worlds(2.5)],  # type: ignore[arg-type]
    ids=["ragged members", "two and a half worlds"],
)
def test_bad_shapes_and_counts_are_invalid_input_too(wrong: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput):
        wrong()


@pytest.mark.parametrize(("size", "maximum"), [(3, 10**30), (1000, 2**60)])
def test_a_domain_too_large_to_count_is_refused_or_handled(size: int, maximum: int) -> None:
    try:
        system = AnsweredSystem(size, 0, maximum, 1)
        upper = system.bounds().upper
    except InvalidInput:
        return
    assert (upper == maximum).all()


def test_an_answer_that_could_not_be_checked_in_time_is_kept_unchecked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from cae_sql.errors import OutOfTime
    from cae_sql.inference import system as module

    def too_slow(*_: object) -> None:
        raise OutOfTime("not settled")

    system = staff()
    system.add_sum([0, 1], 10)
    monkeypatch.setattr(module, "any_world", too_slow)
    assert system.add_sum([1, 2], 7) == 1
    monkeypatch.undo()
    assert system.add_sum([2], Fraction(3)) == 2
