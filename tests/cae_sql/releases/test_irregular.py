"""The ways for values on no coarse common step, against all tables and against each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.posterior.counting import given_sum
from cae_sql.inference.posterior.weights import Weighted
from cae_sql.releases.irregular import by_counts, by_halves, cases_by_counts, pairs_by_halves


@given(st.integers(0, 10**9))
def test_both_ways_give_the_share_of_all_tables_with_the_sum(seed: int) -> None:
    chance = np.random.default_rng(seed)
    count, size = int(chance.integers(2, 6)), int(chance.integers(1, 5))
    positions = np.concatenate([[0], 1 + np.sort(chance.choice(10**6, count - 1, replace=False))])
    weights = chance.random(count) + 0.1
    total = int(chance.choice(positions, size).sum()) + int(chance.random() < 0.2)
    tables = np.array(list(itertools.product(range(count), repeat=size)))
    agree = positions[tables].sum(axis=1) == total
    weighed = weights[tables].prod(axis=1) * agree
    for way in (by_counts, by_halves):
        found = way(positions, weights, size, total)
        if not agree.any():
            assert found is None
            continue
        expected = np.bincount(tables[:, 0], weighed, count) / weighed.sum()
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("positions", [(0, 3), (0, 2, 7), (0, 1, 5, 6), (0, 2, 3, 9, 14)])
def test_counts_agree_with_the_transform_where_both_can_be_used(positions: tuple[int, ...]) -> None:
    chance, size = np.random.default_rng(1), 60
    x, weights = np.array(positions), chance.random(len(positions)) + 0.1
    total = int(chance.choice(x, size).sum())
    transformed = given_sum([Weighted(x, weights)], np.array([size]), total)
    assert transformed is not None
    assert by_counts(x, weights, size, total) == pytest.approx(transformed.probabilities[0], abs=1e-11)


def test_how_much_there_is_to_do_is_known_beforehand() -> None:
    assert cases_by_counts(2, 10**6) == 1
    assert cases_by_counts(3, 1000) == 1001
    assert cases_by_counts(4, 10) == math.comb(12, 2)
    assert pairs_by_halves(5, 3) == 5 * 5
