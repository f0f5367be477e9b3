"""Two swaps of one difference, against each other, keep every sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.tables.swaps import FARTHEST, fours
from tests.cae_sql.inference.told import Told


def grid_at_random(rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> Told:
    """A record or two in most cells of a grid, and sums of all below each line: many equal differences."""
    if shape is None:
        axes = int(rng.integers(2, 5))
        shape = tuple(rng.integers(2, {2: 8, 3: 5, 4: 4}[axes], axes).tolist())
    cells: NDArray[np.int64] = np.array(np.unravel_index(np.arange(int(np.prod(shape))), shape))
    times = rng.choice([0, 1, 1, 1, 1, 1, 2], cells.shape[1])
    times[:4] = 1
    cells = np.repeat(cells, times, axis=1)
    size, top = cells.shape[1], int(rng.choice([2, 5, 12, 100]))
    told = Told(rng.integers(1, top, size), top)
    lines = [(axis, line) for axis in range(len(shape)) for line in range(1, shape[axis])]
    for place in rng.permutation(len(lines)).tolist():
        below = cells[lines[place][0]] < lines[place][1]
        if below.sum() > 1 and not below.all():
            if rng.random() < 0.3:
                told.ask("sum", np.arange(size), np.where(below, 1, -1))
            else:
                told.ask("sum", np.flatnonzero(below))
    return told


def test_four_who_can_move_keep_every_sum_and_differ_in_few_sums_two_by_two() -> None:
    rng, looked_at = np.random.default_rng(1), 0
    for _ in range(40):
        roomy_table = grid_at_random(rng).roomy_table()
        if not roomy_table.usable:
            continue
        marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank]
        able = roomy_table.boxes.low < roomy_table.boxes.high
        found = fours(marks, able)
        whole = marks.astype(np.int64)
        effects = whole[found[:, 0]] - whole[found[:, 1]]
        assert (effects == whole[found[:, 3]] - whole[found[:, 2]]).all()
        assert (np.count_nonzero(effects, axis=1) <= FARTHEST).all()
        assert effects.any(axis=1).all()
        assert able[found].all()
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()
        looked_at += len(found)
    assert looked_at > 500
