"""Cells are split into records and lumps, and every cell of true values has a filling that agrees with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.data.units import Units, fill, split

CELLS = st.lists(
    st.lists(st.integers(-50, 10**6) | st.integers(0, 3), min_size=0, max_size=70), min_size=1, max_size=8
)
FEW = st.sampled_from([None, 2, 4, 8, 32])


def of(cells: list[list[int]]) -> tuple[np.ndarray, ...]:
    """What is known of the values of each cell."""
    known = [(len(c), sum(c), min(c, default=0), max(c, default=0)) for c in cells]
    return tuple(np.array(column, np.int64) for column in zip(*known, strict=True))


def made(cells: list[list[int]], few: int | None) -> tuple[Units, np.ndarray]:
    counts, sums, least, greatest = of(cells)
    units = split(counts, alone=(few,))
    assert units is not None
    return units, fill(units, counts, sums, least, greatest)


@given(CELLS, FEW)
def test_a_filling_agrees_with_the_cell_of_whatever_values(cells: list[list[int]], few: int | None) -> None:
    units, values = made(cells, few)
    times = units.times
    for place, cell in enumerate(cells):
        mine = units.of_cell == place
        assert times[mine].sum() == len(cell)
        if not cell:
            continue
        assert values[mine].sum() == sum(cell)
        lone = values[mine & (np.arange(len(units)) < units.records)]
        assert (lone.min(), lone.max()) == (min(cell), max(cell))
        assert (min(cell) * times[mine] <= values[mine]).all()
        assert (values[mine] <= max(cell) * times[mine]).all()


@given(CELLS)
def test_without_lumps_units_are_the_records(cells: list[list[int]]) -> None:
    units, _ = made(cells, None)
    assert units.lumps is None
    assert len(units) == units.records == sum(map(len, cells))
    assert units.of_cell.tolist() == [place for place, cell in enumerate(cells) for _ in cell]


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=9), st.sampled_from([2, 8, 32]))
def test_lumps_are_powers_of_two_behind_the_records(counts: list[int], few: int) -> None:
    units = split(np.array(counts), alone=(few,))
    assert units is not None
    unit = 1 << (few.bit_length() - 1)
    lumped = [0 if count < 2 * few else (count - few) // unit * unit for count in counts]
    assert units.records == sum(counts) - sum(lumped)
    lumps = np.zeros(0, np.int64) if units.lumps is None else units.lumps
    assert (lumps & (lumps - 1) == 0).all()
    assert (lumps > 0).all()
    for place, count in enumerate(counts):
        mine = lumps[units.of_cell[units.records :] == place]
        assert mine.sum() == lumped[place]
        assert count - lumped[place] >= min(count, few)
        assert len(set(mine.tolist())) == len(mine)


def test_fewer_records_are_alone_where_there_are_many_cells() -> None:
    counts = np.full(1_000, 100)
    kept = {most: split(counts, most, (32, 16, 8, 4), 0) for most in (38_000, 24_000, 8_000)}
    found = {most: None if each is None else each.records // 1_000 for most, each in kept.items()}
    # 100 is 36 and 64; 20 and 64 + 16; 4 and 64 + 32
    assert found == {38_000: 36, 24_000: 20, 8_000: 4}
    assert split(counts, 5_000, (32, 16, 8, 4)) is None
    assert split(counts, 99_999, (None,)) is None


def test_fewer_are_alone_where_that_makes_decisions_quick_and_else_as_many_as_memory_holds() -> None:
    counts = np.full(1_000, 100)
    quick = {wished: split(counts, quick=wished) for wished in (38_000, 20_000, 5_000)}
    found = {wished: None if each is None else each.records // 1_000 for wished, each in quick.items()}
    # 100 is 12 and 64 + 16 + 8; no choice has as few as 5,000
    assert found == {38_000: 36, 20_000: 12, 5_000: 36}


@pytest.mark.parametrize("size", [10**9, 10**12])
def test_a_cell_of_very_many_values_is_a_few_units(size: int) -> None:
    counts = np.array([size])
    units = split(counts, alone=(32,))
    assert units is not None
    assert len(units) < 32 + 40
    values = fill(units, counts, np.array([3 * size + 5]), np.array([0]), np.array([9]))
    assert values.sum() == 3 * size + 5
