"""Which ends of intervals real-valued tables certainly reach: for many records at once, without a program.

An *interior point* is a table of reals that agrees with every answer and leaves every box, but those the
answers close, room on both sides; where extremes are answered, with one record at each. The Dikin ellipsoid
around it shows what all records reach. Only ends reached with a margin count, which is far more than
rounding: the rest is for linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Interior, analytic_center
from cae_sql.inference.solver import Floats

MARGIN = 1e-3
"""How much farther than an end a record must get, as a part of the way."""
TURNS = 3
"""Interior points of a system in which somebody must attain an extreme; each with others who do."""


@dataclass(frozen=True, eq=False)
class Records:
    """Boxes of one record of each of some atoms, as narrow as single sums make them."""

    sizes: Ints
    """(c,) records of each atom."""
    low: Ints
    """(c,) least value."""
    high: Ints
    """(c,) greatest value."""

    @classmethod
    def within(cls, known: Knowledge, atoms: Ints, low: Ints, high: Ints) -> Records:
        """Those of atoms whose totals lie between `low` and `high`."""
        sizes, least, most = known.sizes[atoms], known.low[atoms], known.high[atoms]
        return cls(
            sizes,
            np.maximum(least, low - (sizes - 1) * most),
            np.minimum(most, high - (sizes - 1) * least),
        )


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """A point inside, at which every extreme is attained."""

    interior: Interior
    records: Records
    top: Ints
    """(c,) how many records of each atom are at its greatest value to attain a maximum: 0 or 1."""
    bottom: Ints
    """(c,) and at its least to attain a minimum."""

    @property
    def pinned(self) -> Floats:
        """(c,) what the records that attain extremes add to the totals."""
        found: Floats = (self.top * self.records.high + self.bottom * self.records.low).astype(np.float64)
        return found

    @property
    def totals(self) -> Floats:
        """(c,) the atoms' totals."""
        found: Floats = self.interior.sizes * self.interior.values + self.pinned
        return found

    @property
    def box(self) -> tuple[Floats, Floats]:
        """(c,) each: between what the totals lie as long as those records stay."""
        sizes = self.interior.sizes
        return sizes * self.records.low + self.pinned, sizes * self.records.high + self.pinned

    def reaches(self, columns: Ints) -> NDArray[np.bool_]:
        """(2, some) whether a record of these columns gets to the least, and to the greatest of its box."""
        y, rho = self.interior.values[columns], self.interior.half_widths(columns) / (1 + MARGIN)
        low, high = self.records.low[columns], self.records.high[columns]
        loose = self.interior.sizes[columns] > 0
        return np.array(
            [
                (loose & (y - rho <= low)) | (self.bottom[columns] > 0),
                (loose & (y + rho >= high)) | (self.top[columns] > 0),
            ]
        )


def interior_points(
    known: Knowledge, atoms: Ints, matrix: scipy.sparse.csc_array, sums: Floats, records: Records
) -> Iterator[InteriorPoint]:
    """Points inside for a component of c atoms (ascending) and r sums; none where none is found."""
    place = np.full(known.count, -1, dtype=np.int64)
    place[atoms] = np.arange(len(atoms))
    extremes = []
    for extreme in known.hardest_first:
        able = place[known.able_atoms[extreme]]
        if place[extreme.atoms[0]] >= 0:
            edge = records.high if extreme.top else records.low
            extremes.append((extreme.top, able[edge[able] == extreme.value]))
    used = np.zeros(len(atoms), dtype=np.bool_)
    for turn in range(TURNS if extremes else 1):
        pins = _pins(extremes, records, used, turn)
        if pins is None:
            return
        top, bottom = pins
        low, high = records.low.astype(np.float64), records.high.astype(np.float64)
        left = (records.sizes - top - bottom).astype(np.float64)
        interior = analytic_center(matrix, sums - matrix @ (top * high + bottom * low), low, high, left)
        used |= (top + bottom) > 0
        if interior is not None:
            yield InteriorPoint(interior, records, top, bottom)


def _pins(
    extremes: list[tuple[bool, Ints]], records: Records, used: NDArray[np.bool_], turn: int
) -> tuple[Ints, Ints] | None:
    """Somebody for every extreme, others than before where possible, and of many records."""
    pins = np.zeros((2, len(used)), dtype=np.int64)
    chance = np.random.default_rng(turn).random(len(used))
    still = records.low == records.high
    for top, able in extremes:
        mine = pins[0 if top else 1]
        if still[able].any() or mine[able].any():
            continue
        free = able[pins[:, able].sum(axis=0) < records.sizes[able]]
        if not len(free):
            return None
        score = chance[free] + 2 * np.minimum(records.sizes[free], 4) - 20 * used[free]
        mine[free[np.argmax(score)]] = 1
    return pins[0], pins[1]
