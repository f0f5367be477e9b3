"""How cells are split into records and lumps, and partitions in which lumps count as their records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.extremes import without_ties
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import FEWEST, in_lumps, weight
from cae_sql.inference.facts.query import Query


@given(st.integers(0, 10**10), st.integers(FEWEST, 100))
def test_a_cell_has_all_its_records_one_by_one_or_in_few_lumps(count: int, kept: int) -> None:
    alone, lumps = in_lumps(count, kept)
    assert alone + lumps.sum() == count
    assert alone == count if count < kept else kept <= alone < 2 * kept
    assert len(np.unique(lumps)) == len(lumps) <= max(0, count.bit_length() - kept.bit_length() + 1)
    assert (lumps >= 1 << (kept.bit_length() - 1)).all()
    assert AnsweredSystem(max(alone, 1), 0, 9, 1, lumps=lumps).people.sum() == max(count, 1)


@pytest.mark.parametrize(("count", "kept"), [(-1, 8), (100, FEWEST - 1)])
def test_too_few_who_stand_one_by_one_are_turned_away(count: int, kept: int) -> None:
    with pytest.raises(InvalidInput, match="kept"):
        in_lumps(count, kept)


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 3))
def test_a_partition_counts_a_lump_as_its_records_and_has_it_apart_as_one(
    seed: int, answers: int, spares: int
) -> None:
    chance = np.random.default_rng(seed)
    size, lumps = 60, 1 << chance.integers(0, 5, 40)
    stands_for = np.concatenate([np.ones(size, dtype=np.int64), lumps, np.ones(spares, dtype=np.int64)])
    unit = np.repeat(np.arange(len(stands_for)), stands_for)
    counted, apart = Atoms(len(stands_for), size + len(lumps), lumps), Atoms.apart(size, lumps, spares)
    whole = Atoms(len(unit), len(unit) - spares)
    np.testing.assert_array_equal(apart.multiples[apart.labels], stands_for)
    for _ in range(answers):
        # a few of them, or many: labels are then told apart in another way
        chosen = chance.random(len(stands_for)) < chance.choice([0.03, 0.5])
        members = np.flatnonzero(chosen)
        signs = chance.choice([1, -1], len(members)) if chance.random() < 0.5 else None
        inside = np.flatnonzero(chosen[unit])
        each = None if signs is None else signs[np.searchsorted(members, unit[inside])]
        if len(members):
            counted.refine(Query(kind="sum", members=members, coefficients=signs))
            apart.refine(Query(kind="sum", members=members, coefficients=signs))
            whole.refine(Query(kind="sum", members=inside, coefficients=each))
    np.testing.assert_array_equal(counted.labels[unit], whole.labels)
    for mine in (counted, counted.copy()):
        np.testing.assert_array_equal(mine.sizes, whole.sizes)
    np.testing.assert_array_equal(counted.protected, whole.protected)
    np.testing.assert_array_equal(apart.multiples[apart.labels], stands_for)
    np.testing.assert_array_equal(apart.sizes, np.bincount(apart.labels))
    assert not apart.protected[apart.labels[size : size + len(lumps)]].any()
    for some in (counted, apart):
        order, firsts = some.by_atom
        np.testing.assert_array_equal(some.labels[order], np.repeat(np.arange(some.count), np.diff(firsts)))
        grown = some.grown(2)
        assert grown.sizes[-1] == 2 == len(grown.labels) - len(some.labels)
        assert grown.multiples[-1] == 1


def test_a_lumps_coefficient_counts_for_each_of_its_records() -> None:
    signs = np.array([1, -1, -1, 1])
    query = Query(kind="sum", members=np.array([0, 2, 3, 5]), coefficients=signs)
    assert weight(query, 2, np.array([4, 8, 2])) == (2, -12)
    assert weight(Query(kind="sum", members=np.arange(6)), 2, np.array([4, 8, 2])) == (17, 0)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_where_one_attains_two_equal_extremes_lumps_of_others_keep_away_from_them(kind: str) -> None:
    lumps = np.array([4, 8, 4, 4])
    known = Knowledge.nothing(16, 9, lumps)
    cells = np.append(np.repeat([0, 1, 2, 3], 4), [0, 1, 2, 3])
    queries = [
        Query(kind=kind, members=np.flatnonzero(np.isin(cells, some)))  # type: ignore[arg-type]
        for some in ([0, 1, 3], [1, 2])
    ]
    # a sum that tells two cells apart before or afterwards: what was known holds of the parts
    part = Query(kind="sum", members=np.flatnonzero(cells == 0))
    for known_first in (True, False):
        found = known if known_first else known.refined([part])
        found = found.refined(queries)
        for query in queries:
            found = found.with_extreme(query, 5)
        found = found.refined([part])
        strictest = without_ties(found)[0]
        labels, times = found.atoms.labels, np.append(np.ones(16, dtype=np.int64), lumps)
        if kind == "max":
            ends, expected = strictest.high[labels], np.where(cells == 1, 5, 4) * times
        else:
            ends, expected = strictest.low[labels], np.where(cells == 1, 5, 6) * times
        np.testing.assert_array_equal(ends, expected)
