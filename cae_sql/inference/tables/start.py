"""A roomy table and worlds for a long list of answers at once, as a ledger holds them: draws, made to agree.

Records are drawn from the distribution of greatest entropy whose expected sums are the answered ones
(`cae_sql.inference.posterior.tilt`), which is what many records look like given their sums. What chance makes
of the sums is repaired along a basis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Floats, sparse_columns
from cae_sql.inference.posterior.tilt import MOST_WITH_PRIOR, Moments, Tilt, Windows, fitted
from cae_sql.inference.tables.kernel_moves import spread_out
from cae_sql.inference.tables.mixing import totals_of
from cae_sql.inference.tables.pool import NOBODY, Pool, settled
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.threads import in_two

CELLS = 256
"""Windows in which a prior is held: of wider domains a coarse picture will do."""
SIZE_THAT_COUNTS = 8
"""Atoms of more records than this are not preferred for it: entries matter more then."""
NEAR = 0.3
"""Standard deviations that expected sums may be off: chance moves them by 1."""


@dataclass(frozen=True, eq=False)
class Tilted:
    """A product distribution over the records of atoms. Shapes: p atoms."""

    boxes: Knowledge
    tilt: Tilt
    theta: Floats
    """(p,) by unit."""
    moments: Moments
    """(p,) of one record, or lump, in units."""

    @classmethod
    def to(
        cls, boxes: Knowledge, matrix: scipy.sparse.csc_array, sums: Ints, prior: Prior | None = None
    ) -> Tilted:
        """As near to expected sums (k,), of atoms with coefficients (k, p), as Newton's method gets.

        Of more atoms than a model with a prior may have, it is left out.
        """
        # a lump is drawn as so many records are, each from the record's part of its box
        each, odds = boxes.atoms.multiples, 0 if prior is None else len(prior.odds)
        width = max(-(-odds // CELLS), 1)
        count = max(-(-odds // width), 1)
        able = count * boxes.count <= MOST_WITH_PRIOR
        tilt = Tilt(Windows(width, count, np.arange(float(count))), prior if able else None)
        of_one = tilt.moments(boxes.low // each, boxes.high // each)

        def moments(theta: Floats) -> Moments:
            return Moments(*(each * found for found in of_one(theta)))

        point, _ = fitted(matrix.tocsr(), boxes.sizes, sums, moments, close=NEAR)
        theta = matrix.T @ point
        return cls(boxes, tilt, theta, moments(theta))

    def draw(self, seed: int) -> Ints:
        """(n,) a table."""
        boxes, chance, labels = self.boxes, np.random.default_rng(seed), self.boxes.atoms.labels
        low, high, theta = boxes.low[labels], boxes.high[labels], self.theta[labels]
        if self.tilt.logs is not None:
            ends = np.cumsum(self.tilt.rows(boxes.low, boxes.high, self.theta), axis=1)
            among = (ends + np.arange(len(ends))[:, None]).ravel()
            place = np.searchsorted(among, labels + chance.random(len(labels)), side="right")
            first = self.tilt.windows.width * (place - labels * ends.shape[1])
            low, high = np.maximum(low, first), np.minimum(high, first + self.tilt.windows.width - 1)
        # a geometric distribution that is cut off, counted from its greater end
        steep = np.maximum(np.abs(theta), 1e-12)
        off = -np.log1p(chance.random(len(labels)) * np.expm1(-steep * (high - low + 1))) / steep
        values = np.where(theta > 0, high - off.astype(np.int64), low + off.astype(np.int64))
        lumps = np.flatnonzero((boxes.atoms.multiples > 1)[labels])
        of, (_, means, variances) = labels[lumps], self.moments
        # by the normal distribution: worlds need no more than agree
        values[lumps] = np.rint(chance.normal(means[of], np.sqrt(variances[of])))
        found: Ints = np.clip(values, boxes.low[labels], boxes.high[labels])
        return found


def all_at_once(known: Knowledge, sums: Ints, pool: Pool) -> tuple[RoomyTable, Pool] | None:
    """A roomy table and worlds, as many as in a pool, that agree with all answers; None if none are found.

    The sums are independent, their right-hand sides (k,).
    """
    found = _roomy(known, sums)
    if found is None:
        return None
    roomy_table, matrix, plain = found
    boxes = roomy_table.boxes
    likely = plain if pool.prior is None else Tilted.to(boxes, matrix, sums, pool.prior)
    worlds = _worlds(pool, QuestionTables(roomy_table, []), likely)
    return None if worlds is None else (roomy_table, worlds)


def _roomy(known: Knowledge, sums: Ints) -> tuple[RoomyTable, scipy.sparse.csc_array, Tilted] | None:
    if known.matrix.dtype != np.int8 or np.abs(known.matrix).max(initial=0) > 1:
        return None
    matrix, marks = sparse_columns(known.matrix), np.ascontiguousarray(known.matrix.T)
    boxes = known.without_sums()
    plain = Tilted.to(boxes, matrix, sums)
    span, least = boxes.high - boxes.low, boxes.sizes * boxes.low
    inside = np.maximum(boxes.sizes * plain.moments.means - least, 0)
    rounded = spread_out(inside, marks, np.minimum(inside, boxes.sizes * span - inside))
    roomy_table = RoomyTable(boxes, least + rounded, marks, sums.tolist())
    room, fixed = np.minimum(boxes.sizes, SIZE_THAT_COUNTS) * span, span == 0
    # where entries grow too large, by atoms in few sums: little hangs on them
    crowded = 1.0 + np.count_nonzero(marks, axis=1)
    basis = roomy_table.chosen(fixed, room) or roomy_table.chosen(fixed, room / crowded)
    if basis is None:
        return None
    roomy_table.basis = basis
    totals = _totals(QuestionTables(roomy_table, []), roomy_table.totals, 0)
    if totals is None:
        return None
    roomy_table.totals = totals
    return roomy_table, matrix, plain


def _totals(tables: QuestionTables, near: Ints, seed: int) -> Ints | None:
    pins = hold(tables.boxes, near, 1, NOBODY, seed)
    return None if pins is None else tables.repaired(near, bounds_of(tables.boxes, pins), [], seed)


def _world(tables: QuestionTables, values: NDArray[np.signedinteger], seed: int) -> bool:
    """Bring one table (n,) there; False where it could not be."""
    boxes = tables.boxes
    goal = _totals(tables, totals_of(values, boxes.atoms.labels, boxes.count), seed)
    pins = None if goal is None else hold(boxes, goal, 1, NOBODY, seed)
    if goal is None or pins is None or not settled(values, boxes, goal, pins, seed):
        return False
    found = tables.matrix @ totals_of(values, boxes.atoms.labels, boxes.count)
    return bool((found == tables.roomy_table.sums).all())


def _worlds(pool: Pool, tables: QuestionTables, tilted: Tilted) -> Pool | None:
    """Draws, each brought to agree; one that is not found is like another."""
    values = np.empty_like(pool.values)
    found = np.zeros(len(values), dtype=np.bool_)

    def work(first: int, last: int) -> None:
        for place in range(first, last):
            seed = pool.seed * 1_000_003 + place
            values[place] = tilted.draw(seed)
            found[place] = _world(tables, values[place], seed)

    in_two(work, len(values), values.shape[1])
    if not found.any():
        return None
    worlds = pool.moved_to(values, found, tables.boxes, tables.roomy_table.totals)
    return replace(worlds, unsettled=0)
