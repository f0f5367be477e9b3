"""Everything the façade says about small systems, held against every table and naive linear programs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from cae_sql import AnsweredSystem
from cae_sql.inference.intervals.certificates import Side
from tests.quick import rounds

from .oracles import Asked, Case, cases, cases_at_random, longest_run

SUMS = ("sum", "weighted", "mean")
NEAR = 1e-7
SIDES: tuple[Side, Side] = ("lower", "upper")


@given(cases(SUMS))
def test_intervals_of_sums_are_those_of_two_linear_programs_per_record(case: Case) -> None:
    bounds = case.system().bounds()
    low, high = case.intervals()
    assert bounds.lower == pytest.approx(low, abs=NEAR)
    assert bounds.upper == pytest.approx(high, abs=NEAR)


@pytest.mark.slow
@given(cases())
def test_with_extremes_intervals_are_the_union_over_who_attains_them(case: Case) -> None:
    bounds = case.system().bounds()
    low, high = case.intervals()
    assert bounds.lower == pytest.approx(low, abs=NEAR)
    assert bounds.upper == pytest.approx(high, abs=NEAR)


@given(cases())
def test_no_table_that_agrees_leaves_the_intervals(case: Case) -> None:
    bounds, columns = case.system().bounds(), case.columns(case.tables())
    assert (columns >= bounds.lower - NEAR).all()
    assert (columns <= bounds.upper + NEAR).all()


@given(cases())
def test_an_answer_never_widens_an_interval(case: Case) -> None:
    system = case.empty()
    before = system.bounds()
    for asked in case.asked:
        case.tell(system, asked)
        after = system.bounds()
        assert (after.lower >= before.lower - NEAR).all()
        assert (after.upper <= before.upper + NEAR).all()
        before = after


@given(cases())
def test_the_order_of_answers_does_not_matter_to_intervals(case: Case) -> None:
    one, two = case.system().bounds(), replace(case, asked=case.asked[::-1]).system().bounds()
    assert one.lower.tolist() == two.lower.tolist()
    assert one.upper.tolist() == two.upper.tolist()


@given(cases())
def test_intervals_of_some_records_are_those_of_all(case: Case) -> None:
    system, chosen = case.system(), list(range(0, case.size, 2))
    part, whole = system.bounds(chosen), system.bounds()
    assert part.lower.tolist() == whole.lower[chosen].tolist()
    assert part.upper.tolist() == whole.upper[chosen].tolist()


@given(cases())
def test_worlds_are_tables_that_agree_with_every_answer(case: Case) -> None:
    possible = {tuple(row) for row in case.columns(case.tables()).tolist()}
    worlds = case.system().worlds(12, seed=3)
    assert worlds.shape == (12, case.size)
    assert {tuple(float(x) for x in world) for world in worlds.tolist()} <= possible


@given(cases(answers=3))
def test_worlds_follow_the_seed(case: Case) -> None:
    assert case.system().worlds(5, seed=8).tolist() == case.system().worlds(5, seed=8).tolist()


@given(cases())
def test_certified_runs_are_taken_by_tables_and_lie_inside_the_intervals(case: Case) -> None:
    system = case.system()
    found, bounds, tables = system.certified(), system.bounds(), case.tables()
    for record in range(case.size):
        run = run_of(case, found.lower[record], found.upper[record])
        assert run, "a run has at least one value"
        assert run <= set(np.unique(tables[:, record]).tolist())
    assert (found.lower >= bounds.lower - NEAR).all()
    assert (found.upper <= bounds.upper + NEAR).all()


def run_of(case: Case, lower: float, upper: float) -> set[int]:
    """The steps from one column value to another."""
    first, last = ((Fraction(x) - case.minimum) / case.resolution for x in (lower, upper))
    assert first.denominator == last.denominator == 1
    return set(range(int(first), int(last) + 1))


@pytest.mark.slow
def test_certified_runs_are_the_longest_there_are_for_nearly_all_records() -> None:
    records = best = 0
    for case in cases_at_random(seed=20, count=rounds(120)):
        found, tables = case.system().certified(), case.tables()
        for record in range(case.size):
            records += 1
            run = run_of(case, found.lower[record], found.upper[record])
            best += len(run) == longest_run(tables[:, record])
    assert records > rounds(400)
    assert best >= 0.95 * records


def test_two_records_of_which_one_is_greatest_and_one_is_least_take_both_values() -> None:
    system = AnsweredSystem(2, 0, 4, 1)
    system.add_max([0, 1], 4)
    system.add_min([0, 1], 3)
    found = system.certified()
    assert (found.lower.tolist(), found.upper.tolist()) == ([3, 3], [4, 4])


# --- certificates


@pytest.mark.slow
@given(cases())
def test_a_certificate_states_the_interval_and_its_multipliers_prove_it(case: Case) -> None:
    system = case.system()
    bounds = system.bounds()
    for record in range(case.size):
        for side, ends in zip(SIDES, (bounds.lower, bounds.upper), strict=True):
            found = system.explain(record, side)
            assert (found.record, found.side, found.bound) == (record, side, ends[record])
            if found.kind == "multipliers":
                limits = [case.asked[number] for number in found.boxes]
                assert float(proved(case, record, side, found.terms, limits)) == found.bound


@pytest.mark.slow
@given(cases())
def test_the_answers_a_certificate_names_are_enough_and_none_can_be_spared(case: Case) -> None:
    system = case.system()
    for record in (0, case.size - 1):
        for side in SIDES:
            found = system.explain(record, side)
            named = sorted({*(number for number, _ in found.terms), *found.boxes})
            assert end_under(case, named, record, side) == found.bound
            for number in named:
                fewer = [other for other in named if other != number]
                assert end_under(case, fewer, record, side) != found.bound


def end_under(case: Case, numbers: list[int], record: int, side: Side) -> float:
    """An end of the interval under some of the answers alone."""
    bounds = replace(case, asked=tuple(case.asked[n] for n in numbers)).system().bounds([record])
    return float((bounds.lower if side == "lower" else bounds.upper)[0])


def proved(
    case: Case, record: int, side: Side, terms: tuple[tuple[int, Fraction], ...], limits: list[Asked]
) -> Fraction:
    """What multipliers prove by weak duality: Σ λ b + Σ (e − λA)_i · the box end that its sign picks."""
    left = [Fraction(int(i == record)) for i in range(case.size)]
    total = Fraction(0)
    for number, multiplier in terms:
        asked = case.asked[number]
        row = asked.row(case.size).tolist()
        left = [x - multiplier * w for x, w in zip(left, row, strict=True)]
        count = len(asked.members) if asked.kind == "mean" else 1
        total += multiplier * count * case.value(asked)
    lower, upper = case.boxes(limits)
    for reduced, low, high in zip(left, lower.tolist(), upper.tolist(), strict=True):
        edge = low if (reduced > 0) == (side == "lower") else high
        total += reduced * (case.minimum + case.resolution * edge)
    return total


@given(cases())
def test_a_certificate_reads_as_a_sentence(case: Case) -> None:
    system = case.system()
    for side, relation in zip(SIDES, ("at least", "at most"), strict=True):
        found = system.explain(0, side)
        said = str(found)
        assert said.startswith(f"record 0 is {relation} {found.bound:g}, because ")
        for number in (*(n for n, _ in found.terms), *found.boxes):
            assert f"A{number}" in said
        assert "\n" not in said


def test_the_difference_of_two_sums_is_named_as_such() -> None:
    system = AnsweredSystem(4, 0, 24, 1)
    system.add_sum([0, 1, 2, 3], 50)
    system.add_max([0, 1], 20)
    system.add_mean([1, 2, 3], 13)
    found = system.explain(0, "upper")
    assert (found.bound, found.terms, found.boxes) == (11, [(0, Fraction(1)), (2, Fraction(-1))], ())
    assert "A0 - A2" in str(found)


def test_a_bound_that_holds_because_somebody_attains_the_maximum_says_so() -> None:
    system = AnsweredSystem(2, 0, 250, 1)
    system.add_max([0, 1], 107)
    system.add_mean([0, 1], 78.5)
    found = system.explain(0, "lower")
    assert (found.bound, found.kind) == (50, "multipliers")
    system = AnsweredSystem(3, 0, 10, 1)
    system.add_max([0, 1], 8)
    system.add_max([0], 5)
    found = system.explain(1, "lower")
    assert (found.bound, found.kind, found.boxes) == (8, "attained", (0, 1))
    assert "A0, A1" in str(found)
