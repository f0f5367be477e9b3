"""What multipliers of sums prove is exact, and where an optimum is whole it is not missed by rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.rank import independent_sums
from cae_sql.inference.intervals.irreducible import Claims
from cae_sql.inference.intervals.proof import solved_exactly

Square = list[list[int]]


@st.composite
def squares(draw: st.DrawFn) -> tuple[Square, list[int]]:
    size = draw(st.integers(1, 6))
    entries = st.lists(st.integers(-9, 9), min_size=size, max_size=size)
    return draw(st.lists(entries, min_size=size, max_size=size)), draw(entries)


def determinant(square: Square) -> int:
    """By cofactors."""
    if not square:
        return 1
    first, rest = square[0], square[1:]
    return sum(
        (-1) ** place * each * determinant([line[:place] + line[place + 1 :] for line in rest])
        for place, each in enumerate(first)
        if each
    )


@given(squares())
def test_equations_in_whole_numbers_are_solved_exactly_or_have_no_single_solution(
    equations: tuple[Square, list[int]],
) -> None:
    square, right = equations
    found = solved_exactly(square, right)
    if not determinant(square):
        assert found == []
        return
    assert all(isinstance(each, Fraction) for each in found)
    for line, end in zip(square, right, strict=True):
        assert sum(a * x for a, x in zip(line, found, strict=True)) == end


def test_a_value_that_answers_add_up_to_is_proved_to_the_last_digit() -> None:
    """Random sets of ones among zeros: multipliers have denominators that no rounding to millions meets."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 60)
    answers = []
    while len(answers) < 44:
        members = np.flatnonzero(rng.random(60) < 0.5)
        answers.append(Query(kind="sum", members=members).answered(int(truth[members].sum())))
    claims = Claims(60, 1, answers)
    for record in range(0, 60, 12):
        assert claims.interval(range(44), record) == (truth[record], truth[record])


def test_rows_without_a_pivot_of_one_are_taken_in_as_quickly_as_others() -> None:
    """Numbers doubled their length with each such row: 44 random sets of 60 records did not end."""
    rng = np.random.default_rng(3)
    rows = (rng.random((60, 70)) < 0.5).astype(np.int64) * 2
    matrix = np.vstack([rows, rows[:5].sum(axis=0)])
    assert independent_sums(matrix, matrix.sum(axis=1)).tolist() == list(range(60))
