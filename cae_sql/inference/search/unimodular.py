"""Small systems of totally unimodular sums: what each record keeps, beside an insider too, is known exactly.

Sums over nested sets, over a table's rows and columns, over ranges of one column have matrices of which every
square part has determinant 0, 1 or −1. Then the polytope of real tables has whole corners whatever the whole
bounds (Hoffman and Kruskal 1956), also with a record's value given: his own and another's ends are linear
programs, every value between two ends is in a table, and what ends are apart is concave in the insider's
value, so that his least and his greatest value decide. Pivots are 1 or −1: the simplex reckons in whole
numbers.

Source: `mathematics.md`, 4; Ghouila-Houri (1962) for the test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.allowance import ENTRIES, UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.standard import Judgement

MOST_ROWS = 12
"""Sums that hang together, at most: the test takes 3 ** rows steps."""
MOST_PIVOTS = 20_000
"""Exchanges for one component; more were never seen. Nothing is said beyond."""
NO_TABLE, UNKNOWN = -1, -2


def exactly(
    known: Knowledge, values: Ints, table: Ints, need: int, insiders: int, allowance: Allowance = UNLIMITED
) -> Judgement | None:
    """Whether everybody keeps a run of values, and how wide a one; None where that is not known here.

    Where somebody does not, it is certain; the width is what he keeps then, −1 where no table agrees.

    Args:
        known: Sums alone; with extremes nothing is said.
        values: (k,) what the sums come to, in units.
        table: (p,) totals of some table in the boxes, whatever its sums come to.
        need: Width in units that a run must have: greatest minus least value.
        insiders: 0 or 1 individuals who know their own value.
        allowance: What may be spent; nothing more is tried beyond it.
    """
    narrowest = known.narrowest
    if known.extremes or known.implied or known.outer is not None:
        return None
    if narrowest < need:
        return Judgement(False, narrowest, certain=True)
    matrix = known.matrix.astype(np.int64)
    for component in np.unique(known.components).tolist():
        own = np.flatnonzero(known.components == component)
        rows = np.flatnonzero(matrix[:, own].any(axis=1))
        part = np.ascontiguousarray(matrix[np.ix_(rows, own)])
        if not is_unimodular(part):
            return None
        low, high, sizes = (each[own] for each in (known.low, known.high, known.sizes))
        protected = known.protected[own]
        beside, pivots = insiders if sizes[protected].sum() > 1 else 0, np.full(1, MOST_PIVOTS)
        width = _settle(part, values[rows], low, high, sizes, protected, table[own], need, beside, pivots)
        if width == UNKNOWN or not allowance.spend((MOST_PIVOTS - int(pivots[0])) * part.size / ENTRIES):
            return None
        narrowest = min(narrowest, width)
        if narrowest < need:
            return Judgement(False, narrowest, certain=True)
    return Judgement(True, narrowest)


def is_unimodular(matrix: Ints) -> bool:
    """Whether every square part of a matrix has determinant 0, 1 or −1; False where that would take long."""
    if len(matrix) and np.abs(matrix).max(initial=0) > 1:
        return False
    before = (-1, -1)
    while matrix.size and matrix.shape != before:
        before = matrix.shape
        # columns and rows with one entry, and those that are there twice, change nothing
        matrix = matrix[:, np.count_nonzero(matrix, axis=0) > 1]
        matrix = matrix[np.count_nonzero(matrix, axis=1) > 1]
        matrix = _distinct(_distinct(matrix).T).T
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    rows, columns = matrix.shape
    if not matrix.size:
        return True
    # more columns that differ in more than sign are never unimodular (Heller 1957)
    return rows <= MOST_ROWS and columns <= rows * (rows + 1) // 2 and _has_signs(matrix)


def _distinct(matrix: Ints) -> Ints:
    """Without rows that are others, or others with all signs changed."""
    if not matrix.size:
        return matrix
    firsts = np.take_along_axis(matrix, (matrix != 0).argmax(axis=1)[:, None], axis=1)
    found: Ints = np.unique(matrix * firsts, axis=0)
    return found


def _has_signs(matrix: Ints) -> bool:
    """Whether any rows can be given signs so that no column's sum is beyond 1 (Ghouila-Houri)."""
    sums = np.zeros((1, matrix.shape[1]), dtype=np.int8)
    taken = np.zeros(1, dtype=np.int64)
    for place, row in enumerate(matrix.astype(np.int8)):
        # all choices with this row and any before it: all signs changed do as well, so this one's is 1
        with_row, can = sums + row, np.zeros(1 << place, dtype=np.bool_)
        can[taken[(np.abs(with_row) <= 1).all(axis=1)]] = True
        if not can.all():
            return False
        sums = np.concatenate([sums, with_row, sums - row])
        taken = np.concatenate([taken, taken | 1 << place, taken | 1 << place])
    return True


@compiled()
def _exchange(entries: Ints, row: int, column: int) -> None:
    """Exchange a basic variable and another one, at a pivot of 1 or −1."""
    pivot = entries[row, column]
    entries[row] *= -pivot
    entries[row, column] = pivot
    for other in range(len(entries)):
        factor = entries[other, column]
        if other != row and factor != 0:
            entries[other, column] = 0
            entries[other] += factor * entries[row]


@compiled()
def _push(
    entries: Ints, basic: Ints, free: Ints, values: Ints, low: Ints, high: Ints, which: int, way: int,
    pivots: Ints,
) -> bool:  # fmt: skip
    """Move a variable one way, 1 or −1, to its bound or as far as it can go.

    `values` are all variables' (basic ones are `entries` times the `free` others). The variables that enter
    and leave are the first that can (Bland), so that no exchange comes again. False after too many exchanges.
    """
    while values[which] != (high[which] if way > 0 else low[which]):
        if pivots[0] <= 0:
            return False
        pivots[0] -= 1
        home = np.flatnonzero(basic == which)
        column, direction = as_int64(-1), 0
        for k in range(len(free)):
            wanted = way * entries[home[0], k] if len(home) else way * (free[k] == which)
            if wanted == 0 or (column >= 0 and free[column] < free[k]):
                continue
            room = high[free[k]] - values[free[k]] if wanted > 0 else values[free[k]] - low[free[k]]
            if room > 0:
                column, direction = k, 1 if wanted > 0 else -1
        if column < 0:
            return True  # no further
        moved = free[column]
        step = high[moved] - values[moved] if direction > 0 else values[moved] - low[moved]
        leaving = as_int64(-1)
        for row in range(len(basic)):
            entry, one = direction * entries[row, column], basic[row]
            if entry == 0:
                continue
            room = high[one] - values[one] if entry > 0 else values[one] - low[one]
            if room < step or (room == step and leaving >= 0 and one < basic[leaving]):
                step, leaving = room, row
        values[moved] += direction * step
        values[basic] += direction * step * entries[:, column]
        if leaving >= 0:
            _exchange(entries, leaving, column)
            free[column], basic[leaving] = basic[leaving], moved
    return True


@compiled()
def _note(
    atoms: int, given: int, value: int, values: Ints, low: Ints, high: Ints, sizes: Ints, least: Ints,
    most: Ints,
) -> None:  # fmt: skip
    """Note which values a record of each atom can have in a table; of the atom `given` one has a value."""
    for atom in range(atoms):
        total, others = values[atom], sizes[atom] - 1
        if atom == given:
            total, others = total - value, others - 1
            if others < 0:
                continue
        least[atom] = min(least[atom], max(low[atom], total - others * high[atom]))
        most[atom] = max(most[atom], min(high[atom], total - others * low[atom]))


@compiled(exact=True)
def _settle(
    matrix: Ints, rest: Ints, low: Ints, high: Ints, sizes: Ints, protected: NDArray[np.bool_],
    table: Ints, need: int, insiders: int, pivots: Ints,
) -> int:  # fmt: skip
    """How wide a run everybody of one component keeps, or somebody who keeps less than is needed."""
    rows, atoms = matrix.shape
    entries, basic, free = matrix.copy(), np.arange(atoms, atoms + rows), np.arange(atoms)
    values = np.concatenate((table, (matrix * table).sum(axis=1)))
    bottom, top = np.concatenate((sizes * low, rest)), np.concatenate((sizes * high, rest))
    # each sum is a variable, led from what it comes to in the table to what it should
    for name in range(atoms, atoms + rows):
        bottom[name], top[name] = min(values[name], bottom[name]), max(values[name], top[name])
    for name in range(atoms, atoms + rows):
        end = rest[name - atoms]
        way = 1 if end == top[name] else -1  # others' turns may have led it there already
        if not _push(entries, basic, free, values, bottom, top, name, way, pivots):
            return UNKNOWN
        if values[name] != end:
            return NO_TABLE
        bottom[name] = top[name] = end
    narrowest: int = (high - low).max()
    least, most = np.zeros(atoms, np.int64), np.zeros(atoms, np.int64)
    for given in range(0 if insiders else -1, atoms if insiders else 0):
        if given >= 0 and not protected[given]:
            continue
        for way in (1, -1):
            value = as_int64(0)
            if given >= 0:  # the insider's greatest value, then the least
                if not _push(entries, basic, free, values, bottom, top, given, way, pivots):
                    return UNKNOWN
                others = sizes[given] - 1
                if way > 0:
                    value = min(high[given], values[given] - others * low[given])
                else:
                    value = max(low[given], values[given] - others * high[given])
                bottom[given] = value + others * low[given]
                top[given] = value + others * high[given]
            least[:], most[:] = high, low
            _note(atoms, given, value, values, low, high, sizes, least, most)
            for atom in range(atoms):
                if not protected[atom] or (atom == given and sizes[atom] == 1):
                    continue
                for turn in (1, -1):
                    if most[atom] - least[atom] >= need:
                        break
                    if not _push(entries, basic, free, values, bottom, top, atom, turn, pivots):
                        return UNKNOWN
                    _note(atoms, given, value, values, low, high, sizes, least, most)
                narrowest = min(narrowest, most[atom] - least[atom])
                if narrowest < need:
                    return narrowest
            if given >= 0:
                bottom[given], top[given] = sizes[given] * low[given], sizes[given] * high[given]
    return narrowest
