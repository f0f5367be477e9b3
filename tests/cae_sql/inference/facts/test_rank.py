"""Independent sums are found on few columns and hold on all; what contradicts them is noticed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts import rank as sums_module
from cae_sql.inference.facts.rank import independent_sums, join, roots

FEW = 3
"""Columns looked at to begin with in these tests: fewer than there are."""


@pytest.fixture(autouse=True)
def few_columns_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums_module, "FIRST", FEW)
    monkeypatch.setattr(sums_module, "CHUNK", 4)


def rank(rows: list[list[int]]) -> int:
    """By fractions, with no code of the package."""
    work, found = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(work)) if work[i][column]), None)
        if pivot is None:
            continue
        work[found], work[pivot] = work[pivot], work[found]
        for i in range(found + 1, len(work)):
            by = work[i][column] / work[found][column]
            work[i] = [x - by * y for x, y in zip(work[i], work[found], strict=True)]
        found += 1
    return found


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int]]:
    """Rows of 0, 1 and −1, many of them combinations of others; a table; weights of the columns."""
    width = draw(st.integers(14, 40))
    few = draw(st.lists(st.lists(st.sampled_from([0, 0, 1, -1]), min_size=width, max_size=width), max_size=4))
    rows = [row for row in few if any(row)]
    for _ in range(draw(st.integers(0, 3)) if rows else 0):
        one, two = draw(st.sampled_from(rows)), draw(st.sampled_from(rows))
        both = [x - y for x, y in zip(one, two, strict=True)]
        if any(both) and max(map(abs, both)) == 1:
            rows.append(both)
    table = draw(st.lists(st.integers(0, 9), min_size=width, max_size=width))
    room = draw(st.lists(st.integers(0, 9), min_size=width, max_size=width))
    return draw(st.permutations(rows)), table, room


@given(systems())
def test_as_many_are_kept_as_the_rank_says(case: tuple[list[list[int]], list[int], list[int]]) -> None:
    rows, table, room = case
    matrix = np.array(rows, dtype=np.int8).reshape(len(rows), len(table))
    values = matrix.astype(np.int64) @ np.array(table)
    kept = independent_sums(matrix, values, np.array(room, dtype=np.float64))
    assert len(kept) == rank(rows) == rank([rows[place] for place in kept])


@given(systems(), st.data())
def test_a_sum_that_others_contradict_is_noticed(
    case: tuple[list[list[int]], list[int], list[int]], data: st.DataObject
) -> None:
    rows, table, room = case
    if rank(rows) == len(rows):
        return
    matrix = np.array(rows, dtype=np.int8)
    values = matrix.astype(np.int64) @ np.array(table)
    dependent = [i for i in range(len(rows)) if rank(rows[:i] + rows[i + 1 :]) == rank(rows)]
    values[data.draw(st.sampled_from(dependent))] += 1
    with pytest.raises(InconsistentAnswers):
        independent_sums(matrix, values, np.array(room, dtype=np.float64))


def test_sums_over_records_that_are_not_looked_at_first_are_told_apart() -> None:
    """The roomiest columns are in none of the last two sums."""
    matrix = np.zeros((3, 60), dtype=np.int8)
    matrix[0], matrix[1, 50:55], matrix[2, 50:56] = 1, 1, 1
    room = np.where(np.arange(60) < 30, 100.0, 1.0)
    assert independent_sums(matrix, np.array([9, 4, 5]), room).tolist() == [0, 1, 2]


@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4), max_size=8))
def test_atoms_that_share_a_sum_are_of_one_component(sets: list[list[int]]) -> None:
    root = np.arange(12)
    for each in sets:
        join(root, np.array(each))
    found = roots(root)
    names = list(range(12))
    for _ in range(12):
        for each in sets:
            least = min(names[atom] for atom in each)
            for atom in each:
                names[atom] = least
    assert found.tolist() == names
