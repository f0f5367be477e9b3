"""Answers that are seen to be needed are needed: linear programs that share no code with it say so."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import count
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cae_sql.inference.facts.query import Answer
from cae_sql.inference.intervals.irreducible import Claims, Exact

TOP = 4


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """A table, and who is in each of some sums; record 0 is in the first."""
    size = draw(st.integers(3, 9))
    table = draw(st.lists(st.integers(0, TOP), min_size=size, max_size=size))
    others = st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True)
    rest = draw(st.lists(others, min_size=1, max_size=7))
    return table, [sorted({0, *rest[0]}), *(sorted(each) for each in rest[1:])]


def ends(table: list[int], sums: list[list[int]], record: int = 0) -> tuple[float, float]:
    """Least and greatest value of a record over real tables, by SciPy."""
    rows = np.zeros((len(sums), len(table)))
    for row, members in zip(rows, sums, strict=True):
        row[members] = 1
    found = []
    for sign in (1, -1):
        costs = np.zeros(len(table))
        costs[record] = sign
        solved = linprog(costs, A_eq=rows, b_eq=rows @ table, bounds=(0, TOP)) if sums else None
        found.append(sign * solved.fun if solved is not None else (0.0 if sign > 0 else float(TOP)))
    return found[0], found[1]


def claims_of(table: list[int], sums: list[list[int]]) -> Claims:
    answers = [
        Answer(kind="sum", members=np.array(members), value=Fraction(sum(table[m] for m in members)))
        for members in sums
    ]
    return Claims(len(table), TOP, answers)


@given(systems())
def test_what_is_seen_to_be_needed_cannot_be_spared(system: tuple[list[int], list[list[int]]]) -> None:
    table, sums = system
    claims = claims_of(table, sums)
    low, high = claims.interval(range(len(sums)), 0)

    def within(from_: Exact, to: Exact) -> tuple[bool, bool]:
        return ceil(low) <= ceil(from_), floor(to) <= floor(high)

    for number in claims._needed(range(len(sums)), 0, within):
        least, most = ends(table, [each for place, each in enumerate(sums) if place != number])
        assert ceil(least - 1e-7) < ceil(low) or floor(most + 1e-7) > floor(high)


@given(systems())
def test_a_claim_survives_without_an_answer_where_another_solver_says_so(
    system: tuple[list[int], list[list[int]]],
) -> None:
    """Asked of part after part of the same answers, as certificates ask."""
    table, sums = system
    claims = claims_of(table, sums)
    low, high = claims.interval(range(len(sums)), 0)

    def within(from_: Exact, to: Exact) -> tuple[bool, bool]:
        return ceil(low) <= ceil(from_), floor(to) <= floor(high)

    assert claims._hold(range(len(sums)), 0, within)
    for number in range(len(sums)):
        some = [place for place in range(len(sums)) if place != number]
        least, most = ends(table, [sums[place] for place in some])
        survives = ceil(low) <= ceil(least - 1e-7) and floor(most + 1e-7) <= floor(high)
        assert claims._hold(some, 0, within) == survives


@pytest.mark.slow
@given(systems())
def test_what_was_found_for_one_record_spoils_nothing_for_the_next(
    system: tuple[list[int], list[list[int]]],
) -> None:
    """Tables that break a claim are kept: whoever is asked about later is judged as another solver says."""
    table, sums = system
    claims = claims_of(table, sums)
    for record in range(len(table)):
        low, high = claims.interval(range(len(sums)), record)

        def within(from_: Exact, to: Exact, low: Exact = low, high: Exact = high) -> tuple[bool, bool]:
            return low <= from_, to <= high

        for number in range(len(sums)):
            some = [place for place in range(len(sums)) if place != number]
            least, most = ends(table, [sums[place] for place in some], record)
            survives = low <= least + 1e-5 and most - 1e-5 <= high
            assert claims._hold(some, record, within) == survives
            assert claims._hold(some, record, within, exactly=False) == survives
        proved = claims.by_reals(range(len(sums)), record, low, high)
        assert proved == claims_of(table, sums).by_reals(range(len(sums)), record, low, high)


def test_each_sum_of_a_chain_that_locates_a_record_is_seen_to_be_needed() -> None:
    table, sums = [2, 1, 3, 2], [[0, 1, 2, 3], [1, 2], [2, 3], [2]]
    claims = claims_of(table, sums)
    low, high = claims.interval(range(4), 0)
    assert low == high == 2
    assert claims._needed(range(4), 0, lambda from_, to: (low <= from_, to <= high)) == {0, 1, 2, 3}


def test_a_sum_that_hangs_on_others_says_nothing_of_who_is_needed() -> None:
    table, sums = [2, 1, 3], [[0, 1], [1], [0, 1, 2], [2]]
    claims = claims_of(table, sums)
    assert claims._needed(range(4), 0, lambda from_, to: (from_ >= 2, to <= 2)) == set()


def test_certificates_do_not_hang_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that jumps by weeks at every look changes nothing: work is counted."""
    table, sums = [1, 2, 3, 0], [[0, 1, 2, 3], [1, 2], [3], [0, 1]]
    numbers, others = range(len(sums)), [table[0]]
    calm = claims_of(table, sums).by_integers(numbers, 0, others)
    reals = claims_of(table, sums).by_reals(numbers, 0, table[0], table[0])
    looks = count(1)
    monkeypatch.setattr(time, "monotonic", lambda: 1e6 * next(looks))
    assert calm is not None
    assert calm.irreducible
    assert claims_of(table, sums).by_integers(numbers, 0, others) == calm
    assert claims_of(table, sums).by_reals(numbers, 0, table[0], table[0]) == reals
