"""Independent sums are as many as the rank; what contradicts them is noticed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts import rank as rank_module
from cae_sql.inference.facts.rank import components, independent_sums


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
def systems(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Rows of 0, 1 and −1, many of them combinations of others; and a table."""
    width = draw(st.integers(14, 40))
    few = draw(st.lists(st.lists(st.sampled_from([0, 0, 1, -1]), min_size=width, max_size=width), max_size=4))
    rows = [row for row in few if any(row)]
    for _ in range(draw(st.integers(0, 3)) if rows else 0):
        one, two = draw(st.sampled_from(rows)), draw(st.sampled_from(rows))
        both = [x - y for x, y in zip(one, two, strict=True)]
        if any(both) and max(map(abs, both)) == 1:
            rows.append(both)
    table = draw(st.lists(st.integers(0, 9), min_size=width, max_size=width))
    return draw(st.permutations(rows)), table


@given(systems())
def test_as_many_are_kept_as_the_rank_says(case: tuple[list[list[int]], list[int]]) -> None:
    rows, table = case
    matrix = np.array(rows, dtype=np.int8).reshape(len(rows), len(table))
    values = matrix.astype(np.int64) @ np.array(table)
    kept = independent_sums(matrix, values)
    assert len(kept) == rank(rows) == rank([rows[place] for place in kept])


@given(systems(), st.data())
def test_a_sum_that_others_contradict_is_noticed(
    case: tuple[list[list[int]], list[int]], data: st.DataObject
) -> None:
    rows, table = case
    if rank(rows) == len(rows):
        return
    matrix = np.array(rows, dtype=np.int8)
    values = matrix.astype(np.int64) @ np.array(table)
    dependent = [i for i in range(len(rows)) if rank(rows[:i] + rows[i + 1 :]) == rank(rows)]
    values[data.draw(st.sampled_from(dependent))] += 1
    with pytest.raises(InconsistentAnswers):
        independent_sums(matrix, values)


def test_what_adds_up_with_fractions_follows_and_a_wrong_value_of_it_is_noticed() -> None:
    """The last sum is half of the others' together."""
    matrix = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    assert independent_sums(matrix, np.array([3, 5, 4, 6])).tolist() == [0, 1, 2]
    with pytest.raises(InconsistentAnswers):
        independent_sums(matrix, np.array([3, 5, 4, 7]))


def test_a_sum_that_seems_to_follow_modulo_the_prime_alone_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance decides nothing: what is not checked in fractions is no combination."""
    monkeypatch.setattr(rank_module, "drawn_prime", lambda: 2)
    matrix = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]])
    assert independent_sums(matrix, np.array([2, 2, 2])).tolist() == [0, 1, 2]


@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4), max_size=8))
def test_atoms_that_share_a_sum_are_of_one_component(sets: list[list[int]]) -> None:
    found = components(12, [np.array(each) for each in sets])
    names = list(range(12))
    for _ in range(12):
        for each in sets:
            least = min(names[atom] for atom in each)
            for atom in each:
                names[atom] = least
    assert found.tolist() == [sorted(set(names)).index(name) for name in names]
