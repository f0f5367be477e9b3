"""The kernels over columns say what exact arithmetic says, or report that they cannot."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.inference.tables.columns import (
    LARGEST_ENTRY,
    SAFETY,
    Pivoted,
    columns_of,
    loads,
    multiplied,
    relax,
)
from cae_sql.inference.tables.margins import Toll
from cae_sql.inference.tables.roomy_table import Basis, Pending

Generator = np.random.Generator


def at_random(
    rng: Generator, size: int = 30, width: int = 5, count: int = 3, largest: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns with place for more rows, what pending pivots do to them, and the pivots."""
    columns = np.zeros((size, width + count), dtype=np.int8)
    columns[:, :width] = rng.integers(-largest, largest + 1, (size, width))
    ys = rng.integers(-1, 2, (count, size)).astype(np.int32)
    return columns, ys, rng.integers(-largest, largest + 1, (count, width + count)).astype(np.int32)


def carried_out(columns: np.ndarray, width: int, ys: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """The same in plain numpy, with as many digits as it takes."""
    found = columns.astype(np.int64)
    for h, y in enumerate(ys.astype(np.int64)):
        found[:, : width + h] -= y[:, None] * pivots[h, : width + h]
        found[:, width + h] = y
    return found


def form_of(columns: np.ndarray, ys: np.ndarray, pivots: np.ndarray) -> Pivoted:
    return Pivoted(columns, np.arange(len(columns)), ys, pivots)


def test_a_pending_column_is_the_one_that_carrying_out_gives() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        columns, ys, pivots = at_random(rng)
        expected = carried_out(columns, 5, ys, pivots)
        parts = rng.permutation(30)
        assert (columns_of(form_of(columns, ys, pivots), parts) == expected[parts]).all()
        basis = Basis(np.arange(5), columns)
        assert basis.extended(Pending(np.arange(8), form_of(columns, ys, pivots), [0, 1, 2]), 30)
        assert (basis.columns == expected).all()
        assert len(basis.basic) == 8


def test_entries_beyond_a_byte_are_reported_and_not_wrapped() -> None:
    rng, beyond = np.random.default_rng(1), 0
    for turn in range(50):
        columns, ys, pivots = at_random(rng, size=4, largest=40 + turn)
        expected = carried_out(columns, 5, ys, pivots)
        basis = Basis(np.arange(5), columns)
        if basis.extended(Pending(np.arange(8), form_of(columns, ys, pivots), [0, 1, 2]), 4):
            assert (basis.columns == expected).all()
        else:
            beyond += 1
            assert np.abs(expected).max() > LARGEST_ENTRY
    assert 5 < beyond < 45


def test_products_are_exact_or_it_is_said_that_they_are_too_large() -> None:
    rng, exact = np.random.default_rng(5), 0
    for turn in range(40):
        rows = rng.integers(-127, 128, (50, 6)).astype(np.int8)
        weights = rng.integers(-(8**turn), 8**turn + 1, (3, 6)) if turn < 12 else rng.integers(-1, 2, (3, 6))
        into = np.zeros((50, 3), dtype=np.int32)
        if multiplied(rows, weights, into):
            exact += 1
            assert (into == rows.astype(np.int64) @ weights.T).all()
        else:
            assert np.abs(weights).sum(axis=1).max() * 127 >= 2**24
    assert 30 < exact < 40


@pytest.mark.slow
def test_no_load_says_that_somebody_goes_further_than_rooms_allow() -> None:
    rng = np.random.default_rng(2)
    for kind, safety in ((np.float32, SAFETY), (np.float64, 1.0)):
        for _ in range(20):
            columns, ys, pivots = at_random(rng)
            exact = carried_out(columns, 5, ys, pivots)
            rooms = rng.integers(0, 10**6, (4, 8))
            scarce = (1.0 / np.maximum(rooms, 1e-25)).astype(kind)
            ends = np.empty((4, 30), dtype=kind)
            none = np.zeros((0, 30))
            form, toll = form_of(columns, ys, pivots), Toll(none, none, np.zeros(0))
            loads(form, scarce, np.arange(30), np.arange(8), toll, safety, 0, 30, ends)
            for row, (down, up) in enumerate(((0, 1), (1, 0), (2, 3), (3, 2))):
                for part in range(30):
                    # rising takes from basic atoms whose entry is above 0 and gives to the others
                    allowed = [
                        rooms[down if entry > 0 else up, i] / abs(entry)
                        for i, entry in enumerate(exact[part])
                        if entry
                    ]
                    assert ends[row, part] <= min(allowed, default=np.inf) * (1 + 1e-9) + 1e-9
                    if allowed:
                        assert ends[row, part] >= min(allowed) * (1 - 1e-4) - 1e-9


def test_steps_that_bring_basic_atoms_nearer_keep_every_sum_and_every_box() -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        columns, ys, pivots = at_random(rng)
        exact = carried_out(columns, 5, ys, pivots)
        rooms = rng.integers(0, 9, (2, 30)) * (rng.random(30) < 0.8)
        now, moved = rng.integers(-50, 50, 8), np.zeros(30, dtype=np.int64)
        before, left, nowhere = now.copy(), rooms.copy(), np.zeros((2, 8), dtype=np.int64)
        relax(
            form_of(columns, ys, pivots), left, now, nowhere, np.zeros(8, dtype=np.int64), moved, 2_000,
            2_000, 4, seed,
        )  # fmt: skip
        assert (now == before - moved @ exact).all()
        assert (moved >= -rooms[0]).all()
        assert (moved <= rooms[1]).all()
        assert (left == rooms + np.array([moved, -moved])).all()
        assert (now**2).sum() <= (before**2).sum()


def test_steps_end_as_soon_as_every_basic_atom_is_where_it_may_be() -> None:
    rng = np.random.default_rng(4)
    columns, ys, pivots = at_random(rng)
    for enough, allowed, moves in ((0, 100, False), (500, 100, True), (0, 10, True)):
        now, moved = np.full(8, 40), np.zeros(30, dtype=np.int64)
        within, near = np.array([np.full(8, -allowed), np.full(8, allowed)]), np.full(8, allowed)
        relax(
            form_of(columns, ys, pivots), np.full((2, 30), 9), now, within, near, moved, 2_000, enough, 4, 1
        )
        assert moved.any() == moves
