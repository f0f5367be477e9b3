"""What answered sums settle linearly, held against elimination with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.span import Span

Row = tuple[int, ...]


def query(row: Row) -> Query:
    members = np.flatnonzero(row)
    weights = np.array([row[place] for place in members], dtype=np.int64)
    return Query(kind="sum", members=members, coefficients=None if (weights == 1).all() else weights)


def rank(rows: list[Row]) -> int:
    """By elimination with fractions."""
    left = [[Fraction(each) for each in row] for row in rows]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((place for place in range(found, len(left)) if left[place][column]), None)
        if pivot is None:
            continue
        left[found], left[pivot] = left[pivot], left[found]
        for place in range(found + 1, len(left)):
            factor = left[place][column] / left[found][column]
            left[place] = [a - factor * b for a, b in zip(left[place], left[found], strict=True)]
        found += 1
    return found


def unit(size: int, place: int) -> Row:
    return tuple(int(place == each) for each in range(size))


systems = st.integers(2, 7).flatmap(
    lambda size: st.lists(
        st.one_of(
            st.tuples(*[st.integers(0, 1)] * size),
            st.tuples(*[st.sampled_from([0, 0, 1, -1, 2, 3, -5, 2**31 - 1])] * size),
        ).filter(any),
        min_size=1,
        max_size=9,
    )
)


@given(rows=systems)
def test_a_sum_is_taken_where_it_is_independent_of_those_before(rows: list[Row]) -> None:
    span = Span(len(rows[0]))
    for place, row in enumerate(rows):
        new = rank(rows[: place + 1]) > rank(rows[:place])
        assert span.take(query(row)) == new
        assert span.rank == rank(rows[: place + 1])


@given(rows=systems)
def test_a_record_is_settled_as_soon_as_sums_add_up_to_it_and_by_those_sums(rows: list[Row]) -> None:
    size = len(rows[0])
    span, taken = Span(size), list[Row]()
    for row in rows:
        if span.take(query(row)):
            taken.append(row)
        settled = {record for record in range(size) if rank([*taken, unit(size, record)]) == len(taken)}
        assert set(span.settled().tolist()) == settled
        for record in settled:
            found = span.combination(np.array([record]))
            if not found:
                assert any(2**31 - 1 in each for each in taken)  # no fractions of small numbers
                continue
            assert all(weight for _, weight in found)
            made = [
                sum((weight * taken[place][each] for place, weight in found), start=Fraction(0))
                for each in range(size)
            ]
            assert made == list(unit(size, record))


def test_a_copy_goes_its_own_way() -> None:
    span = Span(3)
    span.take(query((1, 1, 0)))
    twin = span.copy()
    twin.take(query((0, 1, 0)))
    assert (span.rank, twin.rank) == (1, 2)
    assert not len(span.settled())
    assert twin.settled().tolist() == [0, 1]


def test_many_sums_over_many_records_are_told_apart_as_floats_tell_them() -> None:
    """Ranges over three columns, each statement so often that most are settled; singular values agree."""
    chance = np.random.default_rng(3)
    columns = chance.integers(0, 12, (3, 900))
    span, dense = Span(900), []
    for _ in range(700):
        column = columns[chance.integers(0, 3)]
        low = chance.integers(0, 12)
        row = (
            (column >= low) & (column <= low + chance.integers(0, 6)) & (columns[0] < chance.integers(3, 12))
        )
        if row.any():
            span.take(Query(kind="sum", members=np.flatnonzero(row)))
            dense.append(row.astype(float))
    matrix = np.array(dense)
    assert span.rank == np.linalg.matrix_rank(matrix)
    assert span.rank > 100
    _, s, v = np.linalg.svd(matrix, full_matrices=False)
    inside = (v[s > 1e-8 * s[0]] ** 2).sum(axis=0)
    assert set(span.settled().tolist()) == set(np.flatnonzero(inside > 1 - 1e-7).tolist())
