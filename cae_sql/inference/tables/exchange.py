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


class Exchange:
    """What may be exchanged for some new sums. Shapes: g sums, p' parts."""

    def __init__(self, rows: NDArray[np.int32], parents: Ints, unseen: NDArray[np.bool_]) -> None:
        """What may be exchanged for new sums (g, p').

        `parents` (p',) are the parts' atoms, `unseen` (p,) the atoms in no earlier sum.
        """
        self._rows, self._parents = rows, parents
        self._parts = [np.flatnonzero(row) for row in rows]
        alone = unseen[parents] & (np.count_nonzero(rows, axis=0) == 1)
        self._free = [parts[alone[parts]] for parts in self._parts]
        """Of each sum the parts that stand in no other sum at all, earlier or new."""
        self._pairs: dict[int, tuple[Ints, Ints]] = {}

    def value(self, number: int, totals: Ints) -> int:
        """What a fresh sum is."""
        parts = self._parts[number]
        return int(self._rows[number, parts] @ totals[parts])

    def pairs(self, number: int) -> tuple[Ints, Ints]:
        """Parts of one atom, one in a fresh sum and one outside, that agree in all other new sums."""
        if number not in self._pairs:
            row, others = self._rows[number], np.delete(self._rows, number, axis=0)
            parts = np.flatnonzero((np.bincount(self._parents) > 1)[self._parents])
            keys = np.column_stack([self._parents[parts], others[:, parts].T, np.abs(row[parts])])
            order = np.lexsort(keys.T[::-1])
            parts, keys = parts[order], keys[order]
            same = (keys[1:, :-1] == keys[:-1, :-1]).all(axis=1) & (keys[1:, -1] != keys[:-1, -1])
            first = np.flatnonzero(same)
            self._pairs[number] = parts[first + 1], parts[first]
        return self._pairs[number]

    def changes(
        self, number: int, goal: int, tables: Tables, bounds: Bounds, spare: int = SPARE
    ) -> list[tuple[Ints, Ints]] | None:
        """Parts and changes of their totals that add `goal` to a sum and nothing to any other.

        They take 1 / 2**spare of what tables leave inside of bounds; None where that is too little. Any
        smaller change of the sum has smaller changes of the same sign.
        """
        if goal == 0:
            return []
        way = (1 if goal > 0 else -1) * self._rows[number]

        def room(parts: Ints, ways: NDArray[np.integer]) -> Ints:
            up, down = bounds.most[parts] - tables.most[parts], tables.least[parts] - bounds.least[parts]
            found: Ints = np.where(ways > 0, up, down) >> spare
            return found

        free = self._free[number]
        taken = _shared(abs(goal), room(free, way[free]))
        changes = [(free, way[free] * taken)]
        left = abs(goal) - int(taken.sum())
        if left:
            inside, outside = self.pairs(number)
            gain = room(inside, way[inside]) - _looked_up(inside, free, taken)
            taken = _shared(left, np.minimum(gain, room(outside, -way[inside])))
            changes += [(inside, way[inside] * taken), (outside, -way[inside] * taken)]
            left -= int(taken.sum())
        return None if left else changes


def _looked_up(these: Ints, those: Ints, values: Ints) -> Ints:
    """Values of some parts, ascending, for others: 0 where there is none."""
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
