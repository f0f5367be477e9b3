"""What sums lack is shared out: the table found agrees with every answer and is where it may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.tables.sharing import Sharing
from tests.cae_sql.inference.told import Told, told_at_random, values_at_random


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


@pytest.mark.parametrize("spared", [0.0, 0.01, 1.0])
def test_tables_near_some_that_disagree_agree_and_stay_in_their_bounds(spared: float) -> None:
    rng, found = np.random.default_rng(1), 0
    for turn in range(60):
        if turn % 2:
            told = grid_at_random(rng)
        else:
            top = int(rng.choice([1, 5, 100, 10**9]))
            told = told_at_random(rng, int(rng.integers(10, 200)), top, int(rng.integers(1, 9)))
        roomy_table = told.roomy_table()
        pins = (
            hold(roomy_table.boxes, roomy_table.totals, 1, np.zeros(0, dtype=np.int64))
            if roomy_table.usable
            else None
        )
        if pins is None or not roomy_table.rank:
            continue
        bounds = bounds_of(roomy_table.boxes, pins)
        if (roomy_table.totals < bounds.least).any() or (roomy_table.totals > bounds.most).any():
            continue
        near = values_at_random(rng, roomy_table.count, told.top) * roomy_table.boxes.sizes
        weights = (bounds.most - bounds.least) * np.where(rng.random(roomy_table.count) < 0.5, spared, 1.0)
        totals = Sharing(roomy_table, weights).totals(near, bounds, turn)
        if totals is None:
            continue
        found += 1
        assert (totals >= bounds.least).all()
        assert (totals <= bounds.most).all()
        marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank].astype(np.int64)
        assert (totals @ marks == np.array(roomy_table.sums)).all()
        roomy_table.totals = totals
        assert not told.impossible(roomy_table)
    assert found > 25


def test_where_nobody_can_give_nothing_is_found_and_nothing_breaks() -> None:
    rng = np.random.default_rng(2)
    told = told_at_random(rng, 40, 1, 6, ("sum",))
    roomy_table = told.roomy_table()
    pins = hold(roomy_table.boxes, roomy_table.totals, 1, np.zeros(0, dtype=np.int64))
    assert pins is not None
    totals = Sharing(roomy_table, np.zeros(roomy_table.count)).totals(
        0 * roomy_table.totals, bounds_of(roomy_table.boxes, pins), 0
    )
    if totals is not None:
        roomy_table.totals = totals
        assert not told.impossible(roomy_table)
