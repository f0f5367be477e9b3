"""Tables that nearly agree with the answers are brought to agree: what is missing is shared out.

Everybody gives a little of what each sum lacks, as much as they can move; that is rounded by chance, so some
of it is left, which the basic atoms take, and steps that a basis keeps in balance bring those back into their
boxes. Nothing is taken for granted: totals are added up again in whole numbers.
"""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Floats, gram, inverse_root, sparse_columns
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.threads import in_two

ROUNDS = 12
"""How often what is missing is shared out, at most, before the basis does the rest: rounding leaves some."""


class Sharing:
    """Shares out among p atoms what k sums lack."""

    def __init__(
        self, roomy_table: RoomyTable, weights: Floats, matrix: scipy.sparse.csc_array | None = None
    ) -> None:
        """Factorise.

        Args:
            roomy_table: Its sums, and its first basis.
            weights: (p,) how much of what is missing each atom takes.
            matrix: (k, p) the sums over the atoms; by default the roomy table's.
        """
        self.roomy_table, self.weights = roomy_table, weights
        self.matrix = (
            sparse_columns(roomy_table.marks[: roomy_table.count, : roomy_table.rank].T)
            if matrix is None
            else matrix
        )
        self.sums = np.array(roomy_table.sums, dtype=np.int64)
        self.question_tables = QuestionTables(roomy_table, [])
        root = inverse_root(gram(self.matrix, weights))
        self.inverse = root.T @ root
        square = roomy_table.marks[roomy_table.bases[0].basic, : roomy_table.rank].T.astype(np.float64)
        self.solve = np.rint(np.linalg.inv(square)).astype(np.int64)

    def missing(self, totals: Ints) -> Ints:
        """(k,) what the sums lack, in whole numbers."""
        given = self.matrix.indptr, self.matrix.indices, self.matrix.data, totals
        parts = in_two(
            lambda first, last: added(*given, first, last, len(self.sums)), *self.matrix.shape[::-1]
        )
        found: Ints = self.sums - np.sum(parts, axis=0)
        return found

    def totals(self, near: Ints, bounds: Bounds, seed: int) -> Ints | None:
        """(p,) totals that agree with every answer, near some that do not; None where none are found.

        Args:
            near: (p,) totals.
            bounds: Between what they must lie.
            seed: Of chance.
        """
        boxes, roomy_table = self.roomy_table.boxes, self.roomy_table
        chance = np.random.default_rng([seed, 5])
        totals = np.clip(near, bounds.least, bounds.most)
        own = (boxes.high - boxes.low)[roomy_table.bases[0].basic]
        best, change = totals, self._change(self.missing(totals))
        for _ in range(ROUNDS):
            if (np.abs(change) <= own).all():
                break
            totals = self._shared_out(totals, bounds, chance.random(boxes.count))
            found = self._change(self.missing(totals))
            if np.abs(found).max() < np.abs(change).max():
                best, change = totals, found
        totals = best.copy()
        totals[roomy_table.bases[0].basic] += change
        if self.missing(totals).any():
            return None
        # every sum is right; the basic atoms may be outside of their boxes
        return self.question_tables.table(bounds, [], seed, totals)

    def _change(self, missing: Ints) -> Ints:
        """(k,) by how much the basic atoms would have to change for what is missing."""
        found: Ints = self.solve @ missing
        return found

    def _shared_out(self, totals: Ints, bounds: Bounds, chance: Floats) -> Ints:
        """Nearer to the sums by what everybody can give; rounded by chance, so something is left."""
        # not by the linear algebra library: its threads would wait for each other
        pull = (self.inverse * self.missing(totals)).sum(axis=1)
        shares = self.weights * (self.matrix.T @ pull)
        span = (bounds.most - bounds.least).astype(np.float64)
        moved = totals + np.floor(np.clip(shares, -span, span) + np.where(shares != 0, chance, 0)).astype(
            np.int64
        )
        inside: Ints = np.clip(moved, bounds.least, bounds.most)
        return inside


@compiled()
def added(
    starts: Ints, rows: Ints, entries: Floats, totals: Ints, first: int, last: int, count: int
) -> Ints:  # fmt: skip
    """(k,) what some atoms' totals (p,) make of the sums."""
    found = np.zeros(count, np.int64)
    for atom in range(first, last):
        for place in range(starts[atom], starts[atom + 1]):
            found[rows[place]] += np.int64(entries[place]) * totals[atom]
    return found
