"""Extremes that others attain for them say nothing about possible tables, and are not kept apart."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.extremes import without_ties
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Query

SIZE, TOP = 5, 3
WHOLE = np.array(list(product(range(TOP + 1), repeat=SIZE)))

values = st.lists(st.sampled_from([0, 1, 3, 3]), min_size=SIZE, max_size=SIZE).map(np.array)
sets = st.sets(st.integers(0, SIZE - 1), min_size=1).map(
    lambda found: np.array(sorted(found), dtype=np.int64)
)
asked = st.lists(st.tuples(st.sampled_from(["max", "min"]), sets), min_size=1, max_size=7)


def knowledge(queries: list[Query], truth: np.ndarray, at_once: bool) -> Knowledge:
    known = Knowledge.nothing(SIZE, TOP)
    if at_once:
        known = known.refined(queries)
    for query in queries:
        known = known if at_once else known.refined([query])
        known = known.with_extreme(query, int(query.of(truth)))
    return known


def tables_of(known: Knowledge) -> set[int]:
    labels = known.atoms.labels
    fits = ((known.low[labels] <= WHOLE) & (known.high[labels] >= WHOLE)).all(axis=1)
    for extreme in known.extremes:
        fits &= (WHOLE[:, np.isin(labels, extreme.atoms)] == extreme.value).any(axis=1)
    return set(np.flatnonzero(fits).tolist())


@given(asked, values, st.booleans())
def test_the_tables_are_those_that_agree_with_every_answer(
    asked: list[tuple[str, np.ndarray]], truth: np.ndarray, at_once: bool
) -> None:
    queries = [Query(kind=kind, members=members) for kind, members in asked]  # type: ignore[arg-type]
    agree = np.all([query.of(WHOLE) == query.of(truth) for query in queries], axis=0)
    known = knowledge(queries, truth, at_once)
    assert tables_of(known) == set(np.flatnonzero(agree).tolist())
    for reading in without_ties(known):
        assert tables_of(reading) <= set(np.flatnonzero(agree).tolist())


@given(asked, values)
def test_no_extreme_is_kept_around_an_equal_one_that_was_there_before(
    asked: list[tuple[str, np.ndarray]], truth: np.ndarray
) -> None:
    queries = [Query(kind=kind, members=members) for kind, members in asked]  # type: ignore[arg-type]
    for count in range(1, len(queries) + 1):
        known = knowledge(queries[:count], truth, at_once=True)
        *others, newest = known.extremes
        # boxes that become narrower later may put one inside another: then both are kept, which is true too
        if np.array_equal(newest.atoms, np.unique(known.atoms.labels[queries[count - 1].members])):
            inside = set(known.able(newest).tolist())
            for other in others:
                if (other.top, other.value) == (newest.top, newest.value):
                    assert not set(known.able(other).tolist()) <= inside


def test_nested_equal_extremes_are_one_and_the_innermost_alone_attains_it() -> None:
    truth = np.array([3, 0, 0, 0, 0])
    queries = [Query(kind="max", members=np.arange(size)) for size in (5, 3, 4, 2, 5)]
    known = knowledge(queries, truth, at_once=False)
    assert len(known.extremes) == 1
    (strict, _) = without_ties(known)
    assert strict.high[strict.atoms.labels].tolist() == [3, 3, 2, 2, 2]
