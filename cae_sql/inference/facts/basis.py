"""The tableau: answered sums reduced with pivots of ±1, and the kernel moves it offers, in whole units.

Of the answered sums A s = b over the atoms' totals s, elimination that divides only by ±1 chooses a basic
atom for every independent row; the others are free. Then s_basic + T s_free = β, all entries whole: raising a
free atom by t lowers basic atom i by T_i t and keeps every answer (`mathematics.md`, 2: integer basis). Rows
that offer no ±1 are *stuck*: kept aside, exact, and left to the integer program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.query import Ints

LARGEST = 2**31
"""Entries beyond this end an elimination: moves along them are useless, and products must fit 64 bits."""


class Directions(NamedTuple):
    """The tableau by columns. Shapes: p atoms, k rows, z entries."""

    basic: Ints
    """(k,) basic atom of each row."""
    free: NDArray[np.bool_]
    """(p,) which atoms may be moved: neither basic nor in a stuck row."""
    starts: Ints  # (p + 1,)
    rows: Ints  # (z,)
    entries: Ints  # (z,)


@dataclass(eq=False)
class Tableau:
    """A system of sums in reduced form. Shapes: k independent rows with a pivot, p atoms, q stuck rows."""

    basic: Ints
    """(k,) the basic atom of each row."""
    entries: NDArray[np.int64]
    """(k, p) reduced rows; the columns of basic atoms are unit vectors."""
    stuck: NDArray[np.int64]
    """(q, p) reduced rows without a ±1; 0 in the columns of basic atoms."""

    @classmethod
    def without_pivots(cls, rows: NDArray[np.signedinteger]) -> Tableau:
        """Sums (q, p) of which none is reduced: only atoms that are in none of them can be moved."""
        none = np.zeros((0, rows.shape[1]), dtype=np.int64)
        return cls(np.zeros(0, dtype=np.int64), none, rows.astype(np.int64))

    @cached_property
    def directions(self) -> Directions:
        """The moves that the tableau offers."""
        count = self.entries.shape[1]
        free = np.ones(count, dtype=np.bool_)
        free[self.basic] = False
        free &= ~self.stuck.any(axis=0)
        # strided views would have every kernel compiled a second time
        columns, rows = map(np.ascontiguousarray, np.nonzero(np.where(free, self.entries, 0).T))
        starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))])
        return Directions(self.basic, free, starts, rows, self.entries[rows, columns])


NO_TABLEAU = Tableau.without_pivots(np.zeros((0, 0), dtype=np.int64))
"""Of sums that are not reduced: no moves."""


def tableau_of(
    matrix: NDArray[np.signedinteger], values: Ints, room: NDArray[np.float64]
) -> tuple[Tableau, Ints] | None:
    """Independent sums (k, p) reduced, and the right-hand sides of those with a pivot; rows that vanish are
    left out, InconsistentAnswers if their right-hand side does not. None where entries grow too large.
    `room` (p,) is how far each atom can move.
    """
    rows = len(matrix)
    entries = np.empty((rows, matrix.shape[1] + 1), dtype=np.int64)
    entries[:, :-1], entries[:, -1] = matrix, values
    pending, basic = np.ones(rows, dtype=np.bool_), np.full(rows, -1, dtype=np.int64)
    if rows and not eliminate(entries, pending, room, basic):
        return None
    stuck = pending & entries[:, :-1].any(axis=1)
    if entries[pending & ~stuck, -1].any():
        raise InconsistentAnswers("an answer contradicts the ones before it")
    reduced = entries[~pending]
    return Tableau(basic[~pending], reduced[:, :-1], entries[stuck, :-1]), reduced[:, -1].copy()


@compiled(exact=True)
def eliminate(
    entries: NDArray[np.int64], pending: NDArray[np.bool_], room: NDArray[np.float64], basic: Ints
) -> bool:
    """Gauss–Jordan with ±1 pivots, in place; the row of fewest entries first, its roomiest thin column.

    Of rows (k, p + 1) with their right-hand side; `room` (p,) as in `tableau_of`. `pending` (k,), all True at
    first, stays so for rows without a pivot; the others' are put into `basic` (k,). False where entries grow
    beyond `LARGEST`.
    """
    columns = entries.shape[1] - 1
    row_count = np.count_nonzero(entries[:, :columns], axis=1)
    column_count = np.count_nonzero(entries[:, :columns], axis=0)
    usable = pending.copy()
    while True:
        chosen = -1
        for i in range(len(entries)):
            fewer = chosen < 0 or row_count[i] < row_count[chosen]
            if usable[i] and row_count[i] > 0 and fewer:
                chosen = i
        if chosen < 0:
            return True
        best, pivot, support = 0.0, -1, np.flatnonzero(entries[chosen])
        for j in support:
            if j < columns and abs(entries[chosen, j]) == 1:
                score = (column_count[j] - 0.99) / (room[j] + 0.01)
                if pivot < 0 or score < best:
                    best, pivot = score, int(j)
        usable[chosen] = False
        if pivot < 0:
            continue
        entries[chosen] *= entries[chosen, pivot]
        for i in range(len(entries)):
            weight = entries[i, pivot]
            if i == chosen or weight == 0:
                continue
            usable[i] = pending[i]
            for j in support:
                before = entries[i, j]
                after = before - weight * entries[chosen, j]
                entries[i, j] = after
                if j < columns:
                    if after > LARGEST or after < -LARGEST:
                        return False
                    row_count[i] += int(after != 0) - int(before != 0)
                    column_count[j] += int(after != 0) - int(before != 0)
        pending[chosen] = False
        basic[chosen] = pivot
