"""The kernels over columns say what exact arithmetic says, or report that they cannot."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.inference.tables.columns import (
    LARGEST_ENTRY,
    SAFETY,
    apply_pending,
    effective,
    loads,
    relax,
)

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


def test_a_pending_column_is_the_one_that_carrying_out_gives() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        columns, ys, pivots = at_random(rng)
        expected = carried_out(columns, 5, ys, pivots)
        buffer = np.zeros(8, dtype=np.int32)
        for part in range(30):
            effective(columns, 5, part, ys, pivots, 3, part, buffer)
            assert (buffer == expected[part]).all()
        largest = apply_pending(columns, 5, ys, pivots, 3, 0, 30)
        assert (columns == expected).all()
        assert largest <= LARGEST_ENTRY


def test_entries_beyond_a_byte_are_reported_and_not_wrapped() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        columns, ys, pivots = at_random(rng, largest=100)
        expected = carried_out(columns, 5, ys, pivots)
        largest = apply_pending(columns, 5, ys, pivots, 3, 0, 30)
        if np.abs(expected).max() > LARGEST_ENTRY:
            assert largest > LARGEST_ENTRY
        else:
            assert (columns == expected).all()


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
            none, basic = np.zeros((0, 30)), np.arange(8)
            loads(
                columns, 5, np.arange(30), ys, pivots, 3, scarce, np.arange(30), basic, none, none,
                np.zeros(0), safety, 0, 30, ends,
            )  # fmt: skip
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
        still, down, up = rng.random(30) < 0.2, rng.integers(0, 9, 30), rng.integers(0, 9, 30)
        off, moved = rng.integers(-50, 50, 8), np.zeros(30, dtype=np.int64)
        before, rooms = off.copy(), (down.copy(), up.copy())
        everywhere = np.full(8, 10**6)
        relax(
            columns, 5, np.arange(30), ys, pivots, 3, still, down, up, off, np.ones(8), -everywhere,
            everywhere, moved, 2_000, 2_000, 4, seed,
        )  # fmt: skip
        assert (off == before - moved @ exact).all()
        assert not moved[still].any()
        assert (moved >= -rooms[0]).all()
        assert (moved <= rooms[1]).all()
        assert (off**2).sum() <= (before**2).sum()


def test_steps_end_as_soon_as_every_basic_atom_is_where_it_may_be() -> None:
    rng = np.random.default_rng(4)
    columns, ys, pivots = at_random(rng)
    for enough, allowed, moves in ((0, 10**6, False), (500, 10**6, True), (0, 0, True)):
        still, down, up = np.zeros(30, dtype=np.bool_), np.full(30, 9), np.full(30, 9)
        off, moved = np.full(8, 40), np.zeros(30, dtype=np.int64)
        bound = np.full(8, allowed)
        relax(
            columns, 5, np.arange(30), ys, pivots, 3, still, down, up, off, np.ones(8), -bound, bound, moved,
            2_000, enough, 4, 1,
        )  # fmt: skip
        assert moved.any() == moves
