"""The integer basis and its tableau: every direction that keeps the answered sums, in whole units.

The answered sums are A s = b over the atoms' totals s. Elimination that divides only by ±1 chooses a basic
atom for every independent row; the others are free. In tableau form s_basic + T s_free = β, all entries
whole, so raising a free atom by t lowers basic atom i by T_i t and keeps every answer (`mathematics.md`, 2:
integer basis). Rows in the span of others vanish exactly: no float, no modulus is involved. Rows that offer
no ±1 are *stuck*: kept aside, exact, and left to the integer program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.query import Ints

LARGEST = 2**31
"""Entries beyond this make a row stuck: moves along them are useless, and products must fit 64 bits."""
PRIME = 2**31 - 1
"""Products of two residues fit 64 bits."""


class Directions(NamedTuple):
    """The tableau by columns. Shapes: p atoms, k rows, z entries."""

    basic: Ints
    """(k,) basic atom of each row."""
    free: NDArray[np.bool_]
    """(p,) which atoms may be moved: neither basic nor in a stuck row."""
    starts: Ints
    """(p + 1,)"""
    rows: Ints
    """(z,)"""
    entries: Ints
    """(z,)"""


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
    def empty(cls, atoms: int) -> Tableau:
        """No answered sum yet."""
        none = np.zeros((0, atoms), dtype=np.int64)
        return cls(np.zeros(0, dtype=np.int64), none, none.copy())

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

    def split(self, parents: Ints, room: NDArray[np.float64]) -> Tableau:
        """The same sums over a finer partition.

        Args:
            parents: (p',) the atom that each finer atom was part of.
            room: (p',) how far each finer atom can move; of a split basic atom the roomiest part stays basic.
        """
        entries, stuck = self.entries[:, parents], self.stuck[:, parents]
        row_of = np.full(self.entries.shape[1], -1, dtype=np.int64)
        row_of[self.basic] = np.arange(len(self.basic))
        mine = np.flatnonzero(row_of[parents] >= 0)
        order = mine[np.lexsort((room[mine], row_of[parents[mine]]))]
        last = np.flatnonzero(np.diff(row_of[parents[order]], append=-1))
        # the other parts of a basic atom become free: they move against the part that stays basic
        return Tableau(order[last].copy(), np.ascontiguousarray(entries), np.ascontiguousarray(stuck))

    def reduced(self, row: Ints) -> NDArray[np.int64] | None:
        """The row less its basic part: all 0 in the span of the pivoted rows; None on overflow."""
        weights = row[self.basic]
        used = np.flatnonzero(weights)
        if not len(used):
            return row.copy()
        largest = np.abs(self.entries[used]).max(axis=1).astype(float)
        if np.abs(weights[used]).astype(float) @ largest > 2**62:
            return None
        left: NDArray[np.int64] = row - weights[used] @ self.entries[used]
        return left

    def with_row(self, row: Ints, room: NDArray[np.float64]) -> tuple[Tableau, bool]:
        """The tableau with one more sum, and whether the sum was independent of those before."""
        left = self.reduced(row)
        if left is not None and not left.any():
            return self, False
        if left is None:
            return self._keep_stuck(row), True
        if len(self.stuck) and not independent(self.stuck, left):
            return self, False
        ones = np.flatnonzero(np.abs(left) == 1)
        if not len(ones):
            return self._keep_stuck(left), True
        # of least fill for its room
        fill = np.count_nonzero(self.entries[:, ones], axis=0)
        pivot = int(ones[np.argmin((fill + 0.01) / (room[ones] + 0.01))])
        left = left * left[pivot]
        column = self.entries[:, pivot].copy()
        touched = np.flatnonzero(column)
        entries = np.vstack([self.entries, left[None]])
        support = np.flatnonzero(left)
        if len(touched):
            block = entries[np.ix_(touched, support)] - np.outer(column[touched], left[support])
            if np.abs(block).max() > LARGEST:
                return self._keep_stuck(left), True
            entries[np.ix_(touched, support)] = block
        stuck = self.stuck - np.outer(self.stuck[:, pivot], left)
        return Tableau(np.append(self.basic, pivot), entries, stuck), True

    def _keep_stuck(self, left: Ints) -> Tableau:
        return Tableau(self.basic, self.entries, np.vstack([self.stuck, left[None]]))


def independent(rows: NDArray[np.int64], row: Ints) -> bool:
    """Whether an integer row lies outside the rational span of some others; exact."""
    made: list[tuple[int, NDArray[np.int64]]] = []
    for each in (*rows, row):
        # what is no combination modulo a prime is none
        left = each % PRIME
        for pivot, other in made:
            left = (left - left[pivot] * other) % PRIME
        if left.any():
            pivot = int(np.flatnonzero(left)[0])
            made.append((pivot, left * pow(int(left[pivot]), -1, PRIME) % PRIME))
    return bool(left.any()) or bool(remainder(rows, row)[:-1].any())


def remainder(rows: NDArray[np.int64], row: Ints, values: Ints | None = None, value: int = 0) -> NDArray[Any]:
    """What fraction-free elimination by some rows leaves of another one, right-hand side last.

    The rows are independent. Columns that are equal in all rows are taken as one, which keeps this small.

    Args:
        rows: (k, p) integers.
        row: (p,) integers.
        values: (k,) right-hand sides; 0 where there are none.
        value: That of `row`.
    """
    table = np.unique(np.vstack([rows, row[None]]), axis=1)
    sides = np.append(np.zeros(len(rows), dtype=np.int64) if values is None else values, value)
    work = np.column_stack([table, sides]).astype(object)
    done, last, before = 0, len(rows), 1
    for place in range(table.shape[1]):
        rest = [i for i in range(done, last) if work[i, place]]
        if not rest:
            if work[last, place]:
                break
            continue
        work[[done, rest[0]]] = work[[rest[0], done]]
        pivot = work[done]
        for i in range(done + 1, last + 1):
            # every quotient is whole (Bareiss 1968); without it the numbers double their length at each step
            work[i] = (work[i] * pivot[place] - pivot * work[i, place]) // before
        done, before = done + 1, pivot[place]
    left: NDArray[Any] = work[last]
    return left


@compiled(exact=True)
def eliminate(
    entries: NDArray[np.int64], pending: NDArray[np.bool_], room: NDArray[np.float64], basic: Ints
) -> bool:
    """Gauss–Jordan with ±1 pivots, in place; the row of fewest entries first, its roomiest thin column.

    Args:
        entries: (k, p + 1) int64 rows with their right-hand side.
        pending: (k,) bool, all True at first; afterwards True for rows without a pivot.
        room: (p,) how far each atom can move.
        basic: (k,) int64, filled with pivots, -1 where none.

    Returns:
        False where entries grow beyond `LARGEST`.
    """
    rows, width = entries.shape
    columns = width - 1
    row_count, column_count = np.zeros(rows, np.int64), np.zeros(columns, np.int64)
    for i in range(rows):
        for j in range(columns):
            row_count[i] += entries[i, j] != 0
            column_count[j] += entries[i, j] != 0
    usable, support = np.ones(rows, np.bool_), np.empty(width, np.int64)
    while True:
        chosen = -1
        for i in range(rows):
            fewer = chosen < 0 or row_count[i] < row_count[chosen]
            if pending[i] and usable[i] and row_count[i] > 0 and fewer:
                chosen = i
        if chosen < 0:
            return True
        best, pivot, filled = 0.0, -1, 0
        for j in range(width):
            if entries[chosen, j] != 0:
                support[filled] = j
                filled += 1
            if j < columns and (entries[chosen, j] == 1 or entries[chosen, j] == -1):
                score = (column_count[j] - 0.99) / (room[j] + 0.01)
                if pivot < 0 or score < best:
                    best, pivot = score, j
        if pivot < 0:
            usable[chosen] = False
            continue
        sign = entries[chosen, pivot]
        for place in range(filled):
            entries[chosen, support[place]] *= sign
        for i in range(rows):
            weight = entries[i, pivot]
            if i == chosen or weight == 0:
                continue
            usable[i] = True
            for place in range(filled):
                j = support[place]
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


def tableau_of(
    matrix: NDArray[np.signedinteger], values: Ints, room: NDArray[np.float64], slack: int = 0
) -> tuple[Tableau, Ints, Ints] | None:
    """Reduce a whole system at once, the pivots chosen over all of it.

    Args:
        matrix: (k, p) the sums over the atoms.
        values: (k,) their right-hand sides.
        room: (p,) how far each atom can move.
        slack: How far the right-hand side of a row that vanishes may be from 0.

    Returns:
        The tableau, the right-hand sides of its pivoted rows, and which of the given rows are independent;
        or None where entries grow too large.

    Raises:
        InconsistentAnswers: a row that vanishes has a right-hand side that does not.
    """
    rows = len(matrix)
    entries = np.empty((rows, matrix.shape[1] + 1), dtype=np.int64)
    entries[:, :-1], entries[:, -1] = matrix, values
    pending, basic = np.ones(rows, dtype=np.bool_), np.full(rows, -1, dtype=np.int64)
    if rows and not eliminate(entries, pending, room, basic):
        return None
    vanished = pending & ~entries[:, :-1].any(axis=1)
    if (np.abs(entries[vanished, -1]) > slack).any():
        raise InconsistentAnswers("an answer contradicts the ones before it")
    kept = ~pending
    stuck = np.zeros((0, matrix.shape[1]), dtype=np.int64)
    sides: Ints = np.zeros(0, dtype=np.int64)
    chosen = kept.copy()
    for place in np.flatnonzero(pending & ~vanished):
        row, value = entries[place, :-1], int(entries[place, -1])
        left = remainder(stuck, row, sides, value)
        if left[:-1].any():
            stuck, sides = np.vstack([stuck, row[None]]), np.append(sides, value)
            chosen[place] = True
        elif left[-1] and not slack:
            raise InconsistentAnswers("an answer contradicts the ones before it")
    if not kept.all():
        entries, basic = entries[kept], basic[kept]
    tableau = Tableau(basic, entries[:, :-1], stuck)
    return tableau, entries[:, -1].copy(), np.flatnonzero(chosen)
