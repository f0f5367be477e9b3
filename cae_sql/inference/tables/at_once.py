"""Many answers taken in at once: a roomy table and worlds for a long list of answers, as a ledger holds them.

Answer by answer costs what a decision costs, each time. Here tables are drawn at random with the right
expected sums, what chance makes of the sums is made up for by everybody a little, and the rest by steps that
a basis keeps in balance. Nothing is taken for granted: totals are added up again in whole numbers, and a
world that does not give every answer is none.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.tables.centering import SIZE_THAT_COUNTS
from cae_sql.inference.tables.holding import bounds_of, hold
from cae_sql.inference.tables.mixing import UNIFORM, totals_of
from cae_sql.inference.tables.pool import Pool, settled
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.sharing import Sharing
from cae_sql.inference.tables.start import Tilted
from cae_sql.threads import in_two

NOBODY: Ints = np.zeros(0, dtype=np.int64)


def all_at_once(known: Knowledge, sums: Ints, pool: Pool) -> tuple[RoomyTable, Pool] | None:
    """A roomy table and worlds that agree with all answers; None where none are found this way.

    Args:
        known: What the answers amount to; its sums are independent.
        sums: (k,) their right-hand sides.
        pool: How many worlds there shall be, of which type, and from where values come.
    """
    found = _roomy(known, sums)
    if found is None:
        return None
    roomy_table, matrix, plain = found
    likely = plain
    if pool.prior is not None:
        likely = Tilted.to(roomy_table.boxes, matrix, sums, pool.prior.odds)
    sizes = roomy_table.boxes.sizes
    worlds = _worlds(pool, Sharing(roomy_table, sizes * likely.variances, matrix), likely)
    return None if worlds is None else (roomy_table, worlds)


def _roomy(known: Knowledge, sums: Ints) -> tuple[RoomyTable, scipy.sparse.csc_array, Tilted] | None:
    if known.matrix.dtype != np.int8 or np.abs(known.matrix).max(initial=0) > 1:
        return None
    matrix, marks = sparse_columns(known.matrix), np.ascontiguousarray(known.matrix.T)
    boxes = known.without_sums()
    plain = Tilted.to(boxes, matrix, sums, UNIFORM)
    roomy_table = RoomyTable(boxes, np.rint(boxes.sizes * plain.means).astype(np.int64), marks, sums.tolist())
    room, fixed = (
        np.minimum(boxes.sizes, SIZE_THAT_COUNTS) * (boxes.high - boxes.low),
        boxes.high == boxes.low,
    )
    # where entries grow too large, by atoms in few sums: little hangs on them
    crowded = 1.0 + np.count_nonzero(marks, axis=1)
    basis = roomy_table.further(fixed, room) or roomy_table.further(fixed, room / crowded)
    if basis is None:
        return None
    roomy_table.bases = [basis]
    totals = _totals(Sharing(roomy_table, boxes.sizes * plain.variances, matrix), roomy_table.totals, 0)
    if totals is None:
        return None
    roomy_table.totals = totals
    return roomy_table, matrix, plain


def _world(sharing: Sharing, values: NDArray[np.signedinteger], seed: int) -> bool:
    """Bring one table (n,) there; False where it could not be."""
    boxes = sharing.roomy_table.boxes
    goal = _totals(sharing, totals_of(values, boxes.atoms.labels, boxes.count), seed)
    if goal is None:
        return False
    pins = hold(boxes, goal, 1, NOBODY, seed)
    if pins is None or not settled(values, boxes, goal, pins, seed):
        return False
    return not sharing.missing(totals_of(values, boxes.atoms.labels, boxes.count)).any()


def _totals(sharing: Sharing, near: Ints, seed: int) -> Ints | None:
    boxes = sharing.roomy_table.boxes
    pins = hold(boxes, near, 1, NOBODY, seed)
    return None if pins is None else sharing.totals(near, bounds_of(boxes, pins), seed)


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
    there = np.flatnonzero(found)
    for place in np.flatnonzero(~found):
        values[place] = values[there[place % len(there)]]
    worlds = Pool(values, pool.seed, pool.moved + 1, pool.prior, pool.lumps)
    worlds.mixed = False
    return worlds
