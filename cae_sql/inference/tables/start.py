"""A roomy table and worlds for a long list of answers at once, as a ledger holds them: draws, made to agree.

Every record is drawn alone, with odds w(u) · exp(θ u) where θ is the sum of one multiplier for each answer
that covers it, and the multipliers are such that the expected sums are the answered ones. Among all
distributions with those expected sums it is the one of greatest entropy (relative to w), and what many
records look like given their sums (Csiszár, *Sanov property, generalized I-projection and a conditional limit
theorem*, 1984). What chance makes of the sums is shared out (`cae_sql.inference.tables.sharing`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Floats, gram, inverse_root, sparse_columns
from cae_sql.inference.tables.mixing import UNIFORM, totals_of
from cae_sql.inference.tables.pool import NOBODY, Pool, settled
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.sharing import Sharing
from cae_sql.threads import in_two

CELLS = 256
"""Values, or stretches of as many, that odds are kept for: of wider boxes a coarse picture will do."""
STEPS = 40
"""Of Newton's method, at most. What is still off then, has to be made up for."""
SIZE_THAT_COUNTS = 8
"""Atoms of more records than this are not preferred for it: entries matter more then."""
NEAR = 0.3
"""How far expected sums may be off: much less than chance moves them, which is 1 for each sum."""
STEEPEST = 60.0
"""Greatest tilt over a box: beyond, everybody is at one end."""


@dataclass(frozen=True, eq=False)
class Tilted:
    """A product distribution over the records of atoms. Shapes: p atoms."""

    boxes: Knowledge
    odds: Floats
    """(top + 1,) logarithms of the units' odds before any answer; empty where all are alike."""
    tilts: Floats
    """(p,) θ, by unit."""
    variances: Floats
    """(p,) of one record, or lump."""
    means: Floats
    """(p,) of one record, or lump, in units."""

    @classmethod
    def to(cls, boxes: Knowledge, matrix: scipy.sparse.csc_array, sums: Ints, odds: Floats) -> Tilted:
        """As near to expected sums (k,), of atoms with coefficients (k, p), as Newton's method gets."""
        sizes = boxes.sizes.astype(np.float64)
        steepest = STEEPEST / np.maximum((boxes.high - boxes.low) // boxes.atoms.multiples, 1)
        lines = matrix.T.tocsr()
        multipliers = np.zeros(len(sums))
        # a lump is drawn as so many records are, each from the record's part of its box
        each = boxes.atoms.multiples
        low, high = boxes.low // each, boxes.high // each

        def at(point: Floats) -> tuple[Floats, float, Floats, Floats]:
            tilts, found = np.clip(lines @ point, -steepest, steepest), np.zeros((3, boxes.count))

            def work(first: int, last: int) -> None:
                moments(tilts, low, high, odds, first, last, found)

            in_two(work, boxes.count, CELLS)
            logs, means, variances = found * each
            return tilts, float(sizes @ logs - point @ sums), means, variances

        tilts, value, means, variances = at(multipliers)
        for _ in range(STEPS if len(sums) else 0):
            off = matrix @ (sizes * means) - sums
            root = inverse_root(gram(matrix, sizes * variances))
            scaled = root @ off
            step, decrement = root.T @ scaled, float(np.linalg.norm(scaled))
            if not np.isfinite(decrement) or decrement <= NEAR:
                break
            length, before = 1.0, value
            while length > 1e-3:
                found = at(multipliers - length * step)
                if found[1] <= before - 0.1 * length * decrement**2:
                    break
                length /= 2
            else:
                break
            multipliers = multipliers - length * step
            tilts, value, means, variances = found
        return cls(boxes, odds, tilts, variances, means)

    def draw(self, values: NDArray[np.signedinteger], seed: int) -> None:
        """Fill tables (w, n) with draws."""
        order, firsts = self.boxes.members
        apart = np.flatnonzero(self.boxes.atoms.multiples > 1)
        # the kernel draws single values: of lumps none
        low, high = self.boxes.low.copy(), self.boxes.high.copy()
        low[apart] = high[apart] = 0

        def work(first: int, last: int) -> None:
            draw(
                *(self.tilts, low, high, self.odds, order, firsts, first, last),
                *(values, (seed + 104_729 * first) % 2**31),
            )

        in_two(work, self.boxes.count, CELLS)
        if len(apart):
            self._draw_lumps(values, np.random.default_rng([seed, 1]))

    def _draw_lumps(self, values: NDArray[np.signedinteger], chance: np.random.Generator) -> None:
        """By the normal distribution, rounded: worlds need no more than agree."""
        lumps = np.flatnonzero((self.boxes.atoms.multiples > 1)[self.boxes.atoms.labels])
        atoms = self.boxes.atoms.labels[lumps]
        shape = len(values), len(lumps)
        drawn = np.rint(chance.normal(self.means[atoms], np.sqrt(self.variances[atoms]), shape))
        values[:, lumps] = np.clip(drawn, self.boxes.low[atoms], self.boxes.high[atoms]).astype(values.dtype)


def all_at_once(known: Knowledge, sums: Ints, pool: Pool) -> tuple[RoomyTable, Pool] | None:
    """A roomy table and worlds, as many as in a pool, that agree with all answers; None if none are found.

    The sums are independent, their right-hand sides (k,).
    """
    found = _roomy(known, sums)
    if found is None:
        return None
    roomy_table, matrix, plain = found
    boxes, prior = roomy_table.boxes, pool.prior
    likely = plain if prior is None else Tilted.to(boxes, matrix, sums, prior.odds)
    worlds = _worlds(pool, Sharing(roomy_table, boxes.sizes * likely.variances), likely)
    return None if worlds is None else (roomy_table, worlds)


def _roomy(known: Knowledge, sums: Ints) -> tuple[RoomyTable, scipy.sparse.csc_array, Tilted] | None:
    if known.matrix.dtype != np.int8 or np.abs(known.matrix).max(initial=0) > 1:
        return None
    matrix, marks = sparse_columns(known.matrix), np.ascontiguousarray(known.matrix.T)
    boxes = known.without_sums()
    plain = Tilted.to(boxes, matrix, sums, UNIFORM)
    roomy_table = RoomyTable(boxes, np.rint(boxes.sizes * plain.means).astype(np.int64), marks, sums.tolist())
    span = boxes.high - boxes.low
    room, fixed = np.minimum(boxes.sizes, SIZE_THAT_COUNTS) * span, span == 0
    # where entries grow too large, by atoms in few sums: little hangs on them
    crowded = 1.0 + np.count_nonzero(marks, axis=1)
    basis = roomy_table.chosen(fixed, room) or roomy_table.chosen(fixed, room / crowded)
    if basis is None:
        return None
    roomy_table.basis = basis
    totals = _totals(Sharing(roomy_table, boxes.sizes * plain.variances), roomy_table.totals, 0)
    if totals is None:
        return None
    roomy_table.totals = totals
    return roomy_table, matrix, plain


def _totals(sharing: Sharing, near: Ints, seed: int) -> Ints | None:
    boxes = sharing.roomy_table.boxes
    pins = hold(boxes, near, 1, NOBODY, seed)
    return None if pins is None else sharing.totals(near, bounds_of(boxes, pins), seed)


def _world(sharing: Sharing, values: NDArray[np.signedinteger], seed: int) -> bool:
    """Bring one table (n,) there; False where it could not be."""
    boxes = sharing.roomy_table.boxes
    goal = _totals(sharing, totals_of(values, boxes.atoms.labels, boxes.count), seed)
    pins = None if goal is None else hold(boxes, goal, 1, NOBODY, seed)
    if goal is None or pins is None or not settled(values, boxes, goal, pins, seed):
        return False
    return not sharing.missing(totals_of(values, boxes.atoms.labels, boxes.count)).any()


def _worlds(pool: Pool, sharing: Sharing, tilted: Tilted) -> Pool | None:
    """Draws, each brought to agree; one that is not found is like another."""
    values = np.empty_like(pool.values)
    tilted.draw(values, pool.seed)
    found = np.zeros(len(values), dtype=np.bool_)

    def work(first: int, last: int) -> None:
        for place in range(first, last):
            found[place] = _world(sharing, values[place], pool.seed * 1_000_003 + place)

    in_two(work, len(values), values.shape[1])
    if not found.any():
        return None
    worlds = pool.moved_to(values, found, sharing.roomy_table.boxes, sharing.roomy_table.totals)
    return replace(worlds, unsettled=0)


@compiled()
def weigh(tilt: float, low: int, high: int, odds: Floats, weights: Floats) -> int:
    """Fill weights of the cells of a box, relative to the greatest; how many there are."""
    span = high - low + 1
    cells = min(span, len(weights))
    top = -np.inf
    for c in range(cells):
        middle = low + (span * c // cells + span * (c + 1) // cells - 1) // 2
        weights[c] = tilt * (middle - low) + (odds[middle] if len(odds) else 0.0)
        top = max(top, weights[c])
    for c in range(cells):
        weights[c] = np.exp(weights[c] - top) * (span * (c + 1) // cells - span * c // cells)
    return cells


@compiled()
def moments(
    tilts: Floats, low: Ints, high: Ints, odds: Floats, first: int, last: int, found: Floats
) -> None:  # fmt: skip
    """Fill log Σ odds · exp(θ u), mean and variance (3, p) of one record of the atoms first..last."""
    weights = np.zeros(CELLS)
    for atom in range(first, last):
        span = high[atom] - low[atom] + 1
        cells = weigh(tilts[atom], low[atom], high[atom], odds, weights)
        total, one, two, top = 0.0, 0.0, 0.0, -np.inf
        for c in range(cells):
            at = (span * c // cells + span * (c + 1) // cells - 1) // 2
            total += weights[c]
            one += weights[c] * at
            two += weights[c] * at * at
            top = max(top, tilts[atom] * at + (odds[low[atom] + at] if len(odds) else 0.0))
        mean = one / total
        found[0, atom] = np.log(total) + top + tilts[atom] * low[atom]
        found[1, atom] = low[atom] + mean
        found[2, atom] = max(two / total - mean * mean, 0.0)


@compiled()
def draw(
    tilts: Floats, low: Ints, high: Ints, odds: Floats, order: Ints, firsts: Ints, first: int, last: int,
    values: NDArray[np.signedinteger], seed: int,
) -> None:  # fmt: skip
    """Draw the records of the atoms first..last in every table (w, n)."""
    np.random.seed(seed)
    weights = np.zeros(CELLS)
    for atom in range(first, last):
        span = high[atom] - low[atom] + 1
        cells = weigh(tilts[atom], low[atom], high[atom], odds, weights)
        for c in range(1, cells):
            weights[c] += weights[c - 1]
        for place in range(firsts[atom], firsts[atom + 1]):
            for world in range(values.shape[0]):
                at = np.random.random() * weights[cells - 1]
                c = min(np.searchsorted(weights[:cells], at, side="right"), cells - 1)
                start, end = span * c // cells, span * (c + 1) // cells
                values[world, order[place]] = low[atom] + start + np.random.randint(0, end - start)
