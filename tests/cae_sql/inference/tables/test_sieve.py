"""Many short moves: each keeps every sum, and they are more and shorter than those of a reduced basis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.tables.short_moves import Moves, short_moves
from cae_sql.inference.tables.sieve import Sieve, many_moves, packed, unpacked


def dense(moves: Moves, count: int) -> Ints:
    vectors = np.zeros((len(moves.starts) - 1, count), dtype=np.int64)
    vectors[np.repeat(np.arange(len(vectors)), np.diff(moves.starts)), moves.atoms] = moves.signs
    return vectors


def told(size: int, sums: int, seed: int) -> Knowledge:
    """Random sums over records of which each is an atom."""
    rng = np.random.default_rng(seed)
    known = Knowledge.nothing(size, 1).refined(
        [Query(kind="sum", members=np.array([record])) for record in range(size)]
    )
    for _ in range(sums):
        members = np.flatnonzero(rng.random(size) < 0.5)
        known = known.with_sum(Query(kind="sum", members=members), np.ones(size))[0]
    return known


@pytest.mark.slow
@pytest.mark.parametrize(("size", "sums"), [(20, 3), (64, 8), (73, 12), (100, 10)])
def test_moves_keep_every_sum_and_are_shorter_than_those_of_the_basis(size: int, sums: int) -> None:
    known = told(size, sums, seed=1)
    vectors, before = dense(many_moves(known.tableau), size), dense(short_moves(known.tableau), size)
    assert np.abs(vectors).max() == 1
    assert not (known.matrix.astype(np.int64) @ vectors.T).any()
    assert len(np.unique(np.vstack([vectors, -vectors]), axis=0)) == 2 * len(vectors)
    longest = np.sort(np.abs(before).sum(axis=1))
    assert len(vectors) > len(before)
    assert (np.sort(np.abs(vectors).sum(axis=1))[: len(longest)] <= longest).all()


@given(st.lists(st.lists(st.sampled_from((-1, 0, 0, 1)), min_size=128, max_size=128).filter(any), min_size=1))
def test_bits_are_the_moves(rows: list[list[int]]) -> None:
    vectors = np.array(rows)
    places, atoms = np.nonzero(vectors)
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(vectors)))])
    moves = Moves(starts, atoms, vectors[places, atoms])
    assert (dense(unpacked(packed(moves)), 128) == vectors).all()


@pytest.mark.slow
def test_without_time_nothing_is_kept_for_later() -> None:
    known, sieve = told(40, 5, seed=2), Sieve()
    fewer = sieve.of(known.tableau, allowance=Allowance(0))
    assert sieve.moves is None
    assert len(sieve.of(known.tableau, allowance=Allowance()).starts) > len(fewer.starts)
    assert sieve.moves is not None


def test_large_systems_have_none() -> None:
    assert len(many_moves(told(130, 2, seed=3).tableau).starts) == 1
