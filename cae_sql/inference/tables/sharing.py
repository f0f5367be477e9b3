"""Tables that nearly agree with the answers are brought to agree: what is missing is shared out.

Everybody gives a little of what each sum lacks, as much as they can move; that is rounded by chance, so some
of it is left, which the basic atoms take, and steps that a basis keeps in balance bring those back into their
boxes. Nothing is taken for granted: totals are added up again in whole numbers.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Floats, gram, inverse_root, sparse_columns
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable

ROUNDS = 12
"""How often what is missing is shared out, at most, before the basis does the rest: rounding leaves some."""


class Sharing:
    """Shares out among p atoms what k sums lack."""

    def __init__(self, roomy_table: RoomyTable, weights: Floats) -> None:
        """Factorise the sums of a roomy table; `weights` (p,) say how much of what is missing each takes."""
        self.roomy_table, self.weights = roomy_table, weights
        self.matrix = sparse_columns(roomy_table.marks[: roomy_table.count, : roomy_table.rank].T)
        self._whole, self.sums = self.matrix.astype(np.int64), np.array(roomy_table.sums, dtype=np.int64)
        self.question_tables = QuestionTables(roomy_table, [])
        root = inverse_root(gram(self.matrix, weights))
        self.inverse = root.T @ root
        square = roomy_table.marks[roomy_table.basis.basic, : roomy_table.rank].T.astype(np.float64)
        self.solve = np.rint(np.linalg.inv(square)).astype(np.int64)

    def missing(self, totals: Ints) -> Ints:
        """(k,) what the sums lack, in whole numbers."""
        found: Ints = self.sums - self._whole @ totals
        return found

    def totals(self, near: Ints, bounds: Bounds, seed: int) -> Ints | None:
        """(p,) totals that agree with every answer, near some that do not; None where none are found."""
        boxes, roomy_table = self.roomy_table.boxes, self.roomy_table
        chance = np.random.default_rng([seed, 5])
        totals = np.clip(near, bounds.least, bounds.most)
        own = (boxes.high - boxes.low)[roomy_table.basis.basic]
        # by how much the basic atoms would have to change for what is missing
        best, change = totals, self.solve @ self.missing(totals)
        for _ in range(ROUNDS):
            if (np.abs(change) <= own).all():
                break
            totals = self._shared_out(totals, bounds, chance.random(boxes.count))
            found = self.solve @ self.missing(totals)
            if np.abs(found).max() < np.abs(change).max():
                best, change = totals, found
        totals = best.copy()
        totals[roomy_table.basis.basic] += change
        if self.missing(totals).any():
            return None
        # every sum is right; the basic atoms may be outside of their boxes
        return self.question_tables.table(bounds, [], seed, totals)

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
