"""The paper's query restriction: overlapping sums along a shuffled table, against naive linear programs."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import AnsweredSystem

from .oracles import Ints, linear_intervals


def windows(n: int, query_set_size: int) -> list[list[int]]:
    """k = ⌊2n/Q⌋ − 1 sums over Q = 2l consecutive records, each l further on than the one before."""
    l = query_set_size // 2  # noqa: E741 - the paper's letter
    return [list(range(k * l, k * l + 2 * l)) for k in range(2 * n // query_set_size - 1)]


def restricted(truth: Ints, query_set_size: int) -> AnsweredSystem:
    system = AnsweredSystem(len(truth), 10, 250, 10)
    for members in windows(len(truth), query_set_size):
        system.add_sum(members, int(truth[members].sum()))
    return system


def test_the_paper_asks_that_many_queries() -> None:
    assert [len(windows(2500, q)) for q in (2, 4, 8)] == [2499, 1249, 624]
    assert windows(6, 2) == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]


@pytest.mark.slow
@pytest.mark.parametrize("query_set_size", [2, 4, 8])
@pytest.mark.parametrize("n", [60, 250])
def test_intervals_under_query_restriction_are_those_of_linear_programs(n: int, query_set_size: int) -> None:
    truth = np.random.default_rng(n + query_set_size).integers(1, 26, n) * 10
    bounds = restricted(truth, query_set_size).bounds()
    sets = windows(n, query_set_size)
    # records that the same sums cover have the same interval: one program for each kind of record
    cover = np.zeros((len(sets), n), dtype=np.int64)
    for number, members in enumerate(sets):
        cover[number, members] = 1
    _, firsts, kinds = np.unique(cover, axis=1, return_index=True, return_inverse=True)
    lower, upper = interval_of_kinds(cover, truth, firsts)
    kinds = kinds.ravel()
    assert bounds.lower == pytest.approx(lower[kinds], abs=1e-6)
    assert bounds.upper == pytest.approx(upper[kinds], abs=1e-6)
    assert ((bounds.lower <= truth) & (truth <= bounds.upper)).all()


def interval_of_kinds(cover: Ints, truth: Ints, firsts: Ints) -> tuple[Ints, Ints]:
    """Intervals of the first record of each kind; the records of a kind make one column."""
    size, rows, low, high = len(truth), [], [], []
    for first in firsts.tolist():
        twins = np.flatnonzero((cover == cover[:, [first]]).all(axis=0))
        rows.append(cover[:, first])
        low.append(10 * len(twins))
        high.append(250 * len(twins))
    assert sum(high) == 250 * size
    found = linear_intervals(np.array(rows).T, cover @ truth, np.array(low), np.array(high))
    assert found is not None
    counts = np.array(high) // 250
    least = np.maximum(10, found[0] - (counts - 1) * 250)
    most = np.minimum(250, found[1] - (counts - 1) * 10)
    return least, most


@pytest.mark.parametrize("query_set_size", [2, 4, 8])
def test_worlds_under_query_restriction_keep_every_sum(query_set_size: int) -> None:
    truth = np.random.default_rng(query_set_size).integers(1, 26, 60) * 10
    system = restricted(truth, query_set_size)
    worlds, bounds, found = np.asarray(system.worlds(10)), system.bounds(), system.certified()
    for members in windows(60, query_set_size):
        assert (worlds[:, members].sum(axis=1) == truth[members].sum()).all()
    assert ((worlds >= bounds.lower) & (worlds <= bounds.upper)).all()
    assert (found.lower >= bounds.lower - 1e-9).all()
    assert (found.upper <= bounds.upper + 1e-9).all()


def test_pairs_in_a_row_leave_one_degree_of_freedom_and_so_one_width_for_all() -> None:
    truth = np.random.default_rng(4).integers(1, 26, 60) * 10
    bounds = restricted(truth, 2).bounds()
    assert len(set((bounds.upper - bounds.lower).tolist())) == 1
