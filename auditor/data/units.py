"""Cells as units: records that stand for one person each, and lumps that stand for several.

A cell is what is known of the rows that agree in all public columns: how many have a value, the sum of the
values, the least and the greatest. A *unit* is what the inference reckons with. Of a cell of n records
K to 2 K - 1 are units of their own, or all where there are no more; the rest are lumps of powers of two. K is
the same for all cells: the greatest of 32, 16, 8 and 4 with which there are at most `QUICK` units, or where
even 4 leaves more than these, with which there are at most `MOST`. Pure.

**The values of units are made up**, and nobody can tell. All records of a cell have one coefficient in
whatever is asked (`auditor.data.relations` lets nothing else pass), so a sum is Σ coefficient · (sum of the
cell), and an extreme is the extreme of the least, or greatest, of cells. Both are the same for every filling
that agrees with each cell's count, sum, least and greatest. What is not such a sum or extreme (a median, a
count of values) is not asked of cells.

**A filling always exists.** Let a cell have n values on the grid, in whole units of it, with least a,
greatest b and sum t. For n = 1 it is a = b = t. Else one record takes a, one takes b, and R = t - a - b is
left to n - 2 persons. True values exist, and without one that is least and one that is greatest they lie in
[a, b], so (n - 2)·a <= R <= (n - 2)·b. With q = R // (n - 2) and r = R % (n - 2), r persons get q + 1 and the
others q: q >= a by the first inequality; q <= b by the second, and q + 1 <= b where r > 0, as then
q < R / (n - 2) <= b. A lump has the sum of its persons, so it lies between 2^j·a and 2^j·b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MOST = 2_000_000
"""Units of one protected column, at most: what the inference holds in memory."""
QUICK = 20_000
"""Units up to which a decision takes some tenths of a second."""
ALONE: tuple[int | None, ...] = (32, 16, 8, 4)
"""What K is chosen from, the greatest first; None: all records are units of their own. Not below what lumps
ask for (`cae_sql.inference.facts.lumps.FEWEST`): so the least and the greatest of a cell are records."""


@dataclass(frozen=True, eq=False)
class Units:
    """The units of one protected column: records first, then lumps, each in the order of the cells given."""

    of_cell: NDArray[np.int32]
    """By unit: its cell, as a place among those given."""
    records: int
    """How many units stand for one person each; they come first."""
    lumps: Ints | None
    """How many persons each further unit stands for, powers of two; None: there are none."""

    def __len__(self) -> int:
        return len(self.of_cell)

    @property
    def times(self) -> Ints:
        """By unit: how many persons it stands for."""
        ones = np.ones(self.records, np.int64)
        return ones if self.lumps is None else np.concatenate([ones, self.lumps])


def split(
    counts: Ints, most: int = MOST, alone: tuple[int | None, ...] = ALONE, quick: int = QUICK
) -> Units | None:
    """The units of cells; None: there would be more than `most`, however few records are alone.

    Args:
        counts: (cells,) how many values each has, 0 among them.
        most: How many units there may be.
        alone: What K is chosen from.
        quick: With how many it is chosen if it can be.

    >>> units = split(np.array([3, 13]), alone=(4,))
    >>> units.of_cell.tolist(), units.records, units.lumps.tolist()
    ([0, 0, 0, 1, 1, 1, 1, 1, 1], 8, [8])
    """
    for limit in (min(quick, most), most):
        for few in alone:
            found = _with_alone(counts, few, limit)
            if found is not None:
                return found
    return None


def _with_alone(counts: Ints, few: int | None, most: int) -> Units | None:
    """The units with so many records alone, at least; None where there would be too many."""
    cells = np.arange(len(counts), dtype=np.int32)
    # what does not fill a lump that is as great as half of K stays
    least = 1 if few is None else 1 << (few.bit_length() - 1)
    many = np.zeros(len(counts), np.bool_) if few is None else counts >= 2 * few
    rest = np.where(many, (counts - (few or 0)) // least * least, 0)
    singles = counts - rest
    if int(singles.sum()) + sum(int((rest >> bit & 1).sum()) for bit in _bits(rest)) > most:
        return None
    of_cell, lumps = [np.repeat(cells, singles)], list[Ints]()
    if rest.any():
        pairs = [(np.flatnonzero(rest >> bit & 1), bit) for bit in _bits(rest)]
        places = np.concatenate([found for found, _ in pairs])
        sizes = np.concatenate([np.full(len(found), 1 << bit, np.int64) for found, bit in pairs])
        order = np.argsort(places, kind="stable")
        of_cell.append(places[order].astype(np.int32))
        lumps.append(sizes[order])
    whole = np.concatenate(of_cell)
    whole.flags.writeable = False
    return Units(whole, int(singles.sum()), lumps[0] if lumps else None)


def _bits(rest: Ints) -> range:
    return range(int(rest.max(initial=0)).bit_length())


def fill(units: Units, counts: Ints, sums: Ints, least: Ints, greatest: Ints) -> Ints:
    """Values of units that agree with their cells; of a lump the sum of its persons' values.

    Args:
        units: Of these cells.
        counts: (cells,) how many values each has.
        sums: (cells,) the sum of the values, in whole units of the grid.
        least: The least of them.
        greatest: The greatest of them.

    >>> cells = (np.array([5]), np.array([31]), np.array([2]), np.array([9]))
    >>> fill(split(cells[0]), *cells).tolist()
    [2, 9, 7, 7, 6]
    """
    times, cell = units.times, units.of_cell
    # where each unit's persons begin among those of its cell: records first, then lumps
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(times[order])
    starts = np.empty(len(cell), np.int64)
    starts[order] = ends - times[order] - (np.cumsum(counts) - counts)[cell[order]]
    others = np.maximum(counts - 2, 1)
    left = np.where(counts > 2, sums - least - greatest, 0)
    each, more = left // others, left % others
    values = each[cell] * times + np.clip(more[cell] - (starts - 2), 0, times)
    first, second = starts == 0, starts == 1
    values[first] = least[cell[first]]
    values[second] = greatest[cell[second]]
    return values
