"""Which ends of intervals real-valued tables certainly reach: for many records at once, without a program.

An *interior point* is a table of reals that agrees with every answer and leaves every box, but those the
answers close, room on both sides; where extremes are answered, with one record at each. The Dikin ellipsoid
around it shows what records reach. Only ends reached with a margin far beyond rounding count.
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
"""Interior points of a system in which somebody must attain an extreme; each with other records that do."""


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """A point inside, at which every extreme is attained. Shapes: c atoms."""

    interior: Interior
    low: Ints
    """(c,) least value of one record of each atom, as narrow as single sums make it ..."""
    high: Ints
    """(c,) ... and greatest."""
    top: Ints
    """(c,) how many records of each atom are at its greatest value to attain a maximum: 0 or 1."""
    bottom: Ints
    """(c,) and at its least to attain a minimum."""

    @property
    def totals(self) -> Floats:
        """(c,) the atoms' totals."""
        return self._with_pinned(self.interior.values)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """(c,) each: between what the totals lie as long as the records that attain extremes stay."""
        return self._with_pinned(self.low), self._with_pinned(self.high)

    def _with_pinned(self, values: Floats | Ints) -> Floats:
        found: Floats = self.interior.sizes * values + self.top * self.high + self.bottom * self.low
        return found

    def reaches(self, columns: Ints) -> NDArray[np.bool_]:
        """(2, some) whether a record of these columns gets to the least, and to the greatest of its box."""
        y, rho = self.interior.values[columns], self.interior.half_widths(columns) / (1 + MARGIN)
        loose = self.interior.sizes[columns] > 0
        least = loose & (y - rho <= self.low[columns]) | (self.bottom[columns] > 0)
        return np.array([least, loose & (y + rho >= self.high[columns]) | (self.top[columns] > 0)])


def interior_points(
    known: Knowledge, atoms: Ints, matrix: scipy.sparse.csc_array, sums: Floats, boxes: tuple[Ints, Ints]
) -> Iterator[InteriorPoint]:
    """Points inside for a component of c atoms (ascending) and r sums; none where none is found."""
    place = np.full(known.count, -1, dtype=np.int64)
    place[atoms] = np.arange(len(atoms))
    extremes = []
    for extreme in known.hardest_first:
        able = place[known.able_atoms[extreme]]
        if place[extreme.atoms[0]] >= 0:
            extremes.append((extreme.top, able[boxes[int(extreme.top)][able] == extreme.value]))
    used, sizes = np.zeros(len(atoms), dtype=np.bool_), known.sizes[atoms]
    for turn in range(TURNS if extremes else 1):
        pins = _pins(extremes, sizes, boxes[0] == boxes[1], used, turn)
        if pins is None:
            return
        top, bottom = pins
        low, high = boxes[0].astype(np.float64), boxes[1].astype(np.float64)
        left = (sizes - top - bottom).astype(np.float64)
        interior = analytic_center(matrix, sums - matrix @ (top * high + bottom * low), low, high, left)
        used |= (top + bottom) > 0
        if interior is not None:
            yield InteriorPoint(interior, *boxes, top, bottom)


def _pins(
    extremes: list[tuple[bool, Ints]],
    sizes: Ints,
    still: NDArray[np.bool_],
    used: NDArray[np.bool_],
    turn: int,
) -> tuple[Ints, Ints] | None:
    """Somebody for every extreme, others than before where possible, and of many records."""
    pins = np.zeros((2, len(used)), dtype=np.int64)
    chance = np.random.default_rng(turn).random(len(used))
    for top, able in extremes:
        mine = pins[0 if top else 1]
        if still[able].any() or mine[able].any():
            continue
        free = able[pins[:, able].sum(axis=0) < sizes[able]]
        if not len(free):
            return None
        score = chance[free] + 2 * np.minimum(sizes[free], 4) - 20 * used[free]
        mine[free[np.argmax(score)]] = 1
    return pins[0], pins[1]
