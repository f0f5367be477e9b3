"""Answers of a certificate suffice and are needed: linear programs that share no code with it say so."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import count
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cae_sql.inference.facts.query import Answer
from cae_sql.inference.intervals.bounds import Exact
from cae_sql.inference.intervals.irreducible import Claims

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


@pytest.mark.slow
@given(systems())
@example(([0, 1, 0, 0, 0, 0, 0, 1, 0], [[0, 1], [0, 1], [1, 2], [0, 2, 3, 7]]))  # from 1/2 to 1: one value
def test_certificates_hold_and_none_of_their_answers_can_be_spared(
    system: tuple[list[int], list[list[int]]],
) -> None:
    """Asked of one record after the other: what was stated for one spoils nothing for the next."""
    table, sums = system
    claims = claims_of(table, sums)
    for record in range(len(table)):
        low, high = claims.interval(range(len(sums)), record)
        proved = claims.by_reals(range(len(sums)), record, low, high)
        assert proved is not None
        assert proved == claims_of(table, sums).by_reals(range(len(sums)), record, low, high)
        # one value is claimed over the reals, others to the grid
        claimed = (low, high) if low == high else (ceil(low), floor(high))

        def survives(
            numbers: list[int], record: int = record, claimed: tuple[Exact, Exact] = claimed,
            to_the_grid: bool = low != high,
        ) -> bool:  # fmt: skip
            least, most = ends(table, [sums[number] for number in numbers], record)
            if to_the_grid:
                least, most = ceil(least - 1e-5), floor(most + 1e-5)
            return claimed[0] <= least + 1e-5 and most - 1e-5 <= claimed[1]

        assert survives(list(proved.numbers))
        for number in proved.numbers:
            assert not survives([each for each in proved.numbers if each != number])


def test_each_sum_of_a_chain_that_locates_a_record_is_needed() -> None:
    table, sums = [2, 1, 3, 2], [[0, 1, 2, 3], [1, 2], [2, 3], [2]]
    claims = claims_of(table, sums)
    low, high = claims.interval(range(4), 0)
    assert low == high == 2
    proved = claims.by_reals(range(4), 0, low, high)
    assert proved is not None
    assert proved.numbers == (0, 1, 2, 3)


def test_of_sums_that_hang_on_others_no_more_are_named_than_needed() -> None:
    table, sums = [2, 1, 3], [[0, 1], [1], [0, 1, 2], [2]]
    proved = claims_of(table, sums).by_reals(range(4), 0, 2, 2)
    assert proved is not None
    assert len(proved.numbers) == 2


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
