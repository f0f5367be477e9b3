"""Exchange between two parts of one atom: it changes new sums and nothing that was answered before.

Past answers do not tell the records of an atom apart. Where new sums do, what one part gains another can
give, and what stands in no sum at all is free. Most of what new answers ask of a table is done so, without
a basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import Bounds as Bounds
from cae_sql.inference.facts.query import Ints

SPARE = 1
"""Exchange may take 1 / 2**SPARE of a part's room: the rest is left for the records' own moves."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables between two: for every answer in question one lies there. Shapes: p' parts."""

    least: Ints
    """(p',) least total of each part."""
    most: Ints
    """(p',) greatest total."""


@dataclass(frozen=True, eq=False)
class Rooms:
    """How far parts may go from tables, those that are asked for: most questions are about few."""

    tables: Tables
    bounds: Bounds
    spare: int
    """1 / 2**spare of the room."""

    def up(self, parts: Ints) -> Ints:
        """How far some parts may rise."""
        found: Ints = (self.bounds.most[parts] - self.tables.most[parts]) >> self.spare
        return found

    def down(self, parts: Ints) -> Ints:
        """How far they may fall."""
        found: Ints = (self.tables.least[parts] - self.bounds.least[parts]) >> self.spare
        return found

    def along(self, ways: NDArray[np.integer], parts: Ints) -> Ints:
        """How far they may go each its own way: up where that is positive."""
        return np.where(ways > 0, self.up(parts), self.down(parts))


class Exchange:
    """What may be exchanged for some new sums. Shapes: g sums, p' parts."""

    def __init__(self, rows: NDArray[np.int32], parents: Ints, unseen: NDArray[np.bool_]) -> None:
        """What may be exchanged for new sums (g, p') is looked for when it is first needed, and once.

        `parents` (p',) are the parts' atoms, `unseen` (p,) the atoms in no earlier sum.
        """
        self._rows, self.parents, self.unseen = rows, parents, unseen
        self._pairs: dict[int, tuple[Ints, Ints]] = {}
        self._free: dict[int, Ints] = {}
        self._summed: dict[int, tuple[Ints, Ints]] = {}

    def value(self, number: int, totals: Ints) -> int:
        """What a fresh sum is."""
        if number not in self._summed:
            parts = np.flatnonzero(self._rows[number])
            self._summed[number] = parts, self._rows[number, parts].astype(np.int64)
        parts, coefficients = self._summed[number]
        return int(coefficients @ totals[parts])

    def pairs(self, number: int) -> tuple[Ints, Ints]:
        """Parts of one atom, one in a fresh sum and one outside, that agree in all other new sums."""
        if number not in self._pairs:
            self._pairs[number] = self._twins(np.delete(self._rows, number, axis=0), self._rows[number])
        return self._pairs[number]

    def changes(
        self, number: int, goal: int, tables: Tables, bounds: Bounds, spare: int = SPARE
    ) -> list[tuple[Ints, Ints]] | None:
        """Parts and changes of their totals that add `goal` to a sum and nothing to any other.

        Any smaller change of the sum has smaller changes of the same sign.
        """
        if goal == 0:
            return []
        row, others, rooms = (
            self._rows[number],
            np.delete(self._rows, number, axis=0),
            Rooms(tables, bounds, spare),
        )
        way = 1 if goal > 0 else -1
        # first what stands in no other sum at all
        if number not in self._free:
            self._free[number] = np.flatnonzero(self._unseen(others) & (row != 0))
        free = self._free[number]
        taken = _shared(abs(goal), rooms.along(way * row[free], free))
        changes = [(free, way * row[free] * taken)]
        left = abs(goal) - int(taken.sum())
        if left:
            inside, outside = self.pairs(number)
            gain = rooms.along(way * row[inside], inside) - _looked_up(inside, free, taken)
            able = np.minimum(gain, rooms.along(-way * row[inside], outside))
            taken = _shared(left, able)
            by = way * row[inside] * taken
            changes += [(inside, by), (outside, -by)]
            left -= int(taken.sum())
        return None if left else changes

    def _unseen(self, others: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(p',) parts in no earlier sum and in none of some others."""
        return self.unseen[self.parents] & ~others.any(axis=0)

    def _twins(self, others: NDArray[np.int32], row: NDArray[np.int32]) -> tuple[Ints, Ints]:
        """Pairs of parts of one atom, one in a sum and one outside, that agree in all other new sums."""
        cut = np.bincount(self.parents, minlength=len(self.unseen))[self.parents] > 1
        parts = np.flatnonzero(cut)
        keys = np.column_stack([self.parents[parts], others[:, parts].T, np.abs(row[parts])])
        order = np.lexsort(keys.T[::-1])
        parts, keys = parts[order], keys[order]
        same = (keys[1:, :-1] == keys[:-1, :-1]).all(axis=1) & (keys[1:, -1] != keys[:-1, -1])
        first = np.flatnonzero(same)
        return parts[first + 1], parts[first]


def _looked_up(these: Ints, those: Ints, values: Ints) -> Ints:
    """Values of some parts, ascending, for others: 0 for whom there is none."""
    if not len(those):
        return np.zeros(len(these), dtype=np.int64)
    places = np.minimum(np.searchsorted(those, these), len(those) - 1)
    return np.where(those[places] == these, values[places], 0)


def _shared(goal: int, able: Ints) -> Ints:
    """Whole numbers up to `able` that add up to `goal`, in proportion; all where that is too little."""
    whole = int(able.sum())
    if whole <= goal:
        return able
    ends = np.cumsum(able)
    # rounding the running total keeps every share within what it may be, and the sum exact
    marks = (ends.astype(object) * goal // whole).astype(np.int64) if whole > 2**31 else ends * goal // whole
    taken: Ints = np.diff(marks, prepend=0)
    return taken
