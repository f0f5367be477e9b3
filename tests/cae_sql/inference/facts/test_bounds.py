"""Bounds of weighted sums and spreads over boxes, held against all tables of small boxes."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.bounds import Bound, between, narrowed
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.shares import held_in

TOP = 3
Boxes = list[tuple[int, int]]

boxes = st.lists(
    st.tuples(st.integers(0, TOP), st.integers(0, TOP)).map(lambda pair: (min(pair), max(pair))),
    min_size=1,
    max_size=4,
)
weights = st.lists(st.integers(-5, 7).filter(bool), min_size=4, max_size=4)


def exactly(query: Query, table: tuple[int, ...]) -> int:
    """The statistic by its definition, in fractions."""
    if query.kind == "weighted":
        assert query.coefficients is not None
        return sum(int(w) * x for w, x in zip(query.coefficients, table, strict=True))
    mean = Fraction(sum(table), len(table))
    return floor(sum((x - mean) ** 2 for x in table))


def values(query: Query, inside: Boxes, spare: int) -> list[int]:
    """Of all tables with all but `spare` members inside of their boxes."""
    found = []
    for free in combinations(range(len(inside)), min(spare, len(inside))):
        ranges = [
            range(TOP + 1) if place in free else range(low, high + 1)
            for place, (low, high) in enumerate(inside)
        ]
        found += [exactly(query, table) for table in product(*ranges)]
    return found


def query_of(kind: str, size: int, some: list[int]) -> Query:
    coefficients = np.array(some[:size]) if kind == "weighted" else None
    return Query(kind=kind, members=np.arange(size), coefficients=coefficients)  # type: ignore[arg-type]


@given(boxes, weights, st.sampled_from(["weighted", "spread"]), st.integers(0, 2))
def test_no_table_in_the_boxes_is_outside_of_the_bounds_whoever_is_free(
    inside: Boxes, some: list[int], kind: str, spare: int
) -> None:
    query = query_of(kind, len(inside), some)
    low, high = (np.array(each) for each in zip(*inside, strict=True))
    least, most = between(query, low, high, TOP, spare)
    found = values(query, inside, spare)
    assert least <= min(found)
    assert max(found) <= most
    if kind == "weighted":
        assert (least, most) == (min(found), max(found)), "nothing is lost"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), weights)
def test_answers_are_the_statistics(table: list[int], some: list[int]) -> None:
    for kind in ("weighted", "spread"):
        members = table[:4] if kind == "weighted" else table
        query = query_of(kind, len(members), some)
        assert query.of(np.array(table)) == exactly(query, tuple(members))
        assert query.of(np.array([table, table])).tolist() == [exactly(query, tuple(members))] * 2


@given(
    st.lists(st.integers(0, TOP), min_size=3, max_size=4),
    weights,
    st.sampled_from(["weighted", "spread"]),
    st.integers(0, 2),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_who_is_held_keeps_the_bound_whatever_they_have_there(
    table: list[int], some: list[int], kind: str, spare: int, below: int, above: int
) -> None:
    size, here = len(table), np.array(table)
    query = query_of(kind, size, some)
    answer = int(query.of(here))
    bound = Bound(query, answer - below, answer + above, below + above + 1)
    whole = np.zeros(size, dtype=np.int64), np.full(size, TOP)
    held = held_in([bound], here, whole, spare)
    if held is None:
        return
    low, high = (each.copy() for each in whole)
    for each in held:
        low[each.members], high[each.members] = each.region[0]
    assert ((low <= here) & (here <= high)).all()
    inside = list(zip(low.tolist(), high.tolist(), strict=True))
    assert all(answer - below <= each <= answer + above for each in values(query, inside, spare))


@pytest.mark.parametrize("kind", ["weighted", "spread"])
def test_a_wide_bound_leaves_somebody_loose_and_one_without_room_is_not_held(kind: str) -> None:
    chance = np.random.default_rng(1)
    size, top = 40, 24
    table = chance.integers(0, top + 1, size)
    query = Query(
        kind=kind,  # type: ignore[arg-type]
        members=np.arange(size),
        coefficients=chance.integers(1, 9, size) if kind == "weighted" else None,
    )
    answer, whole = int(query.of(table)), (np.zeros(size, dtype=np.int64), np.full(size, top))
    turns = np.arange(size)
    off = 2000 if kind == "weighted" else 3000
    found = narrowed(Bound(query, answer - off, answer + off, 2 * off), table, *whole, turns, top, 2)
    assert found is not None
    assert (found[1] - found[0]).max() >= top // 4
    assert narrowed(Bound(query, answer, answer, 1), table, *whole, turns, top, 1) is None
