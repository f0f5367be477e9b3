"""Many answers taken in at once: a center and a crowd for a long list of answers, as a ledger holds them.

Answer by answer costs what a decision costs, each time. Here tables are drawn at random with the right
expected sums, what chance makes of the sums is made up for by everybody a little, and the rest by steps that
a basis keeps in balance. Nothing is taken for granted: totals are added up again in whole numbers, and a
world that does not give every answer is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cae_sql.compiled import compiled
from cae_sql.inference.answers import Ints
from cae_sql.inference.center import Center, in_two
from cae_sql.inference.centering import SIZE_THAT_COUNTS
from cae_sql.inference.crowd import Crowd, settled, totals_of
from cae_sql.inference.exchange import Bounds
from cae_sql.inference.interior import Floats, gram, inverse_root, sparse_columns
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.mixing import UNIFORM
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.shown import bounds_of, hold
from cae_sql.inference.tilted import Tilted

ROUNDS = 12
"""How often what is missing is shared out, at most, before the basis does the rest: rounding leaves some."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)


def all_at_once(known: Knowledge, sums: Ints, crowd: Crowd) -> tuple[Center, Crowd] | None:
    """A center and worlds that agree with all answers; None where none are found this way.

    Args:
        known: What the answers amount to; its sums are independent.
        sums: (k,) their right-hand sides.
        crowd: How many worlds there shall be, of which type, and from where values come.
    """
    if known.matrix.dtype != np.int8 or np.abs(known.matrix).max(initial=0) > 1:
        return None
    matrix, marks = sparse_columns(known.matrix), np.ascontiguousarray(known.matrix.T)
    boxes = known.without_sums()
    plain = Tilted.to(boxes, matrix, sums, UNIFORM)
    center = Center(boxes, np.rint(boxes.sizes * plain.means).astype(np.int64), marks, sums.tolist())
    room, fixed = (
        np.minimum(boxes.sizes, SIZE_THAT_COUNTS) * (boxes.high - boxes.low),
        boxes.high == boxes.low,
    )
    # where entries grow too large, by atoms in few sums: little hangs on them
    crowded = 1.0 + np.count_nonzero(marks, axis=1)
    basis = center.further(fixed, room) or center.further(fixed, room / crowded)
    if basis is None:
        return None
    center.bases = [basis]
    repair = _Repair(center, matrix, sums, plain)
    totals = repair.totals(center.totals, 0)
    if totals is None:
        return None
    center.totals = totals
    likely = plain if crowd.prior is None else Tilted.to(boxes, matrix, sums, crowd.prior.odds)
    worlds = _worlds(crowd, _Repair(center, matrix, sums, likely))
    return None if worlds is None else (center, worlds)


class _Repair:
    """Brings tables that nearly agree with the answers to agree."""

    def __init__(self, center: Center, matrix: sparse.csc_array, sums: Ints, tilted: Tilted) -> None:
        self.center, self.matrix, self.sums, self.tilted = center, matrix, sums, tilted
        self.prospect = Prospect(center, [])
        self.weights: Floats = center.boxes.sizes * tilted.variances
        root = inverse_root(gram(matrix, self.weights))
        self.inverse = root.T @ root
        square = center.marks[center.bases[0].basic, : center.rank].T.astype(np.float64)
        self.solve = np.rint(np.linalg.inv(square)).astype(np.int64)

    def missing(self, totals: Ints) -> Ints:
        """(k,) what the sums lack, in whole numbers."""
        found = self.sums.copy()
        subtract(self.matrix.indptr, self.matrix.indices, self.matrix.data, totals, found)
        return found

    def totals(self, near: Ints, seed: int) -> Ints | None:
        """Totals that agree with every answer, not far from some that do not; None where none are found."""
        boxes, center = self.center.boxes, self.center
        pins = hold(boxes, near, 1, NOBODY, seed)
        if pins is None:
            return None
        bounds = bounds_of(boxes, pins)
        chance = np.random.default_rng([seed, 5])
        totals = np.clip(near, bounds.least, bounds.most)
        own = (boxes.high - boxes.low)[center.bases[0].basic]
        best, change = totals, self.change(self.missing(totals))
        for _ in range(ROUNDS):
            if (np.abs(change) <= own).all():
                break
            totals = self._shared_out(totals, bounds, chance.random(boxes.count))
            found = self.change(self.missing(totals))
            if np.abs(found).max() < np.abs(change).max():
                best, change = totals, found
        totals = best.copy()
        totals[center.bases[0].basic] += change
        if self.missing(totals).any():
            return None
        # every sum is right; the basic atoms may be outside of their boxes
        return self.prospect.table(bounds, [], seed, totals)

    def change(self, missing: Ints) -> Ints:
        """(k,) by how much the basic atoms would have to change for what is missing."""
        found: Ints = self.solve @ missing
        return found

    def _shared_out(self, totals: Ints, bounds: Bounds, chance: Floats) -> Ints:
        """Nearer to the sums by what everybody can give; rounded by chance, so something is left."""
        # not by the linear algebra library: its threads would wait for each other
        pull = (self.inverse * self.missing(totals)).sum(axis=1)
        shares = self.weights * (self.matrix.T @ pull) + chance
        span = (bounds.most - bounds.least).astype(np.float64)
        moved = totals + np.floor(np.clip(shares, -span, span)).astype(np.int64)
        inside: Ints = np.clip(moved, bounds.least, bounds.most)
        return inside

    def world(self, values: NDArray[np.signedinteger], seed: int) -> bool:
        """Bring one table (n,) there; False where it could not be."""
        boxes = self.center.boxes
        before = totals_of(values, boxes.atoms.labels, boxes.count)
        goal = self.totals(before, seed)
        if goal is None:
            return False
        pins = hold(boxes, goal, 1, NOBODY, seed)
        if pins is None or not settled(values, boxes, goal, pins, seed):
            return False
        return not self.missing(totals_of(values, boxes.atoms.labels, boxes.count)).any()


def _worlds(crowd: Crowd, repair: _Repair) -> Crowd | None:
    """Draws, each brought to agree; one that is not found is like another."""
    values = np.empty_like(crowd.values)
    repair.tilted.draw(values, crowd.seed)
    found = np.zeros(len(values), dtype=np.bool_)

    def work(first: int, last: int) -> None:
        for place in range(first, last):
            found[place] = repair.world(values[place], crowd.seed * 1_000_003 + place)

    in_two(work, len(values), values.shape[1])
    if not found.any():
        return None
    there = np.flatnonzero(found)
    for place in np.flatnonzero(~found):
        values[place] = values[there[place % len(there)]]
    worlds = Crowd(values, crowd.seed, crowd.moved + 1, crowd.prior)
    worlds.mixed = False
    return worlds


@compiled()
def subtract(starts: Ints, rows: Ints, entries: Floats, totals: Ints, left: Ints) -> None:
    """Take the sums of some totals (p,) off `left` (k,)."""
    for atom in range(len(totals)):
        for place in range(starts[atom], starts[atom + 1]):
            left[rows[place]] -= np.int64(entries[place]) * totals[atom]
