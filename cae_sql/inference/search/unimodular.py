"""Small systems of sums that are totally unimodular: what each record keeps is known exactly.

Sums over nested sets, over a table's rows and columns, over ranges of one column have matrices of which every
square part has determinant 0, 1 or −1. Then the polytope of real tables has whole corners whatever the whole
bounds (Hoffman and Kruskal 1956), also with a record's value given: his own and another's ends are linear
programs, every value between two ends is in a table, and what ends are apart is concave in the insider's
value, so that his least and his greatest value decide. Pivots are 1 or −1, so both "kept" and "lost" are
exact. Of other sums a linear program is no proof that anybody keeps enough; but who keeps too little in it
loses in whatever is searched for.

Atoms that can take up whatever the rest of a sum does are left out first, and with each of them a sum. What
the closed form (`cae_sql.inference.certify.rooms`) shows in the first table needs no linear program.

Source: `mathematics.md`, 4; Ghouila-Houri (1962) for the test.
"""

from __future__ import annotations

import numpy as np
import scipy
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

EXACT = 1e-7
"""Below this a number counts as 0. Of unimodular sums all numbers are whole, so this is never asked."""

LOST, KEPT, NO_TABLE, UNKNOWN = 0, 1, 2, 3

Floats = NDArray[np.float64]


def exactly(
    known: Knowledge, values: Ints, table: Ints, need: int, insiders: int, allowance: Allowance = UNLIMITED
) -> Judgement | None:
    """Whether everybody keeps a run of values, and how wide a one; None where that is not known here.

    Where somebody does not, what he keeps, −1 where no table agrees; if that is not certain, no search can
    show that he keeps more.

    Args:
        known: Sums alone; with extremes nothing is said.
        values: (k,) what the sums come to, in units.
        table: (p,) totals of some table in the boxes, whatever its sums come to.
        need: Width in units that a run must have: greatest minus least value.
        insiders: 0 or 1 individuals who know their own value.
        allowance: What may be spent; nothing more is tried beyond it.
    """
    if known.extremes or known.implied or known.outer is not None:
        return None
    if known.narrowest < need:
        return Judgement(False, known.narrowest, certain=True)
    matrix, rest, atoms = _tight(known, values)
    shared = scipy.sparse.csr_array((matrix != 0).T @ (matrix != 0))
    components = scipy.sparse.csgraph.connected_components(shared, directed=False)[1]
    narrowest = float(known.narrowest)
    low, high, exact = known.low.astype(np.float64), known.high.astype(np.float64), True
    for component in np.unique(components).tolist():
        own = components == component
        rows = np.flatnonzero((matrix[:, own] != 0).any(axis=1))
        part, which = np.ascontiguousarray(matrix[np.ix_(rows, np.flatnonzero(own))]), atoms[own]
        people = int(known.sizes[which][known.protected[which]].sum())
        pivots = np.full(1, MOST_PIVOTS)
        code, width = _settle(
            part, rest[rows], low[which], high[which], known.sizes[which],
            known.protected[which], table[which], need, insiders if people > 1 else 0, pivots,
        )  # fmt: skip
        if not allowance.spend((MOST_PIVOTS - int(pivots[0])) * part.size / ENTRIES) or code == UNKNOWN:
            return None
        if code != KEPT:
            return Judgement(False, int(width), certain=is_unimodular(part))
        exact = exact and is_unimodular(part)
        narrowest = min(narrowest, width)
    return Judgement(True, max(int(narrowest), need)) if exact else None


def _tight(known: Knowledge, values: Ints) -> tuple[Ints, Ints, Ints]:
    """The sums without atoms that take up whatever the others of a sum do; their values; the atoms left."""
    matrix, rest = known.matrix.astype(np.int64), values.astype(np.int64)
    low, high, sizes = known.low.astype(np.int64), known.high.astype(np.int64), known.sizes
    two = np.where(known.protected, 2, 0)
    # with two records of it at whatever values, a total is anywhere between these
    least = two * high + (sizes - two) * low
    most = two * low + (sizes - two) * high
    atoms = np.arange(known.count)
    while len(matrix):
        bottom, top = sizes[atoms] * low[atoms], sizes[atoms] * high[atoms]
        lows = np.where(matrix > 0, matrix * bottom, matrix * top)
        highs = np.where(matrix > 0, matrix * top, matrix * bottom)
        # what the others leave to each atom of a sum
        left_least = rest[:, None] - (highs.sum(axis=1, keepdims=True) - highs)
        left_most = rest[:, None] - (lows.sum(axis=1, keepdims=True) - lows)
        from_, to = np.where(matrix > 0, left_least, -left_most), np.where(matrix > 0, left_most, -left_least)
        able = (np.abs(matrix) == 1) & (from_ >= least[atoms]) & (to <= most[atoms])
        if not able.any():
            break
        row, column = (int(each) for each in np.argwhere(able)[0])
        factors = matrix[:, column] * matrix[row, column]
        factors[row] = 0
        matrix = matrix - factors[:, None] * matrix[row]
        rest = rest - factors * rest[row]
        matrix = np.delete(np.delete(matrix, row, axis=0), column, axis=1)
        rest, atoms = np.delete(rest, row), np.delete(atoms, column)
    return matrix, rest, atoms


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
def _exchange(entries: Floats, row: int, column: int) -> None:
    """Exchange a basic variable and another one."""
    rows, columns = entries.shape
    pivot = entries[row, column]
    for k in range(columns):
        entries[row, k] = 1.0 / pivot if k == column else -entries[row, k] / pivot
    for other in range(rows):
        factor = entries[other, column]
        if other != row and factor != 0.0:
            entries[other, column] = 0.0
            for k in range(columns):
                entries[other, k] += factor * entries[row, k]


@compiled()
def _push(
    entries: Floats, basic: Ints, free: Ints, values: Floats, low: Floats, high: Floats, which: int, way: int,
    enough: float, pivots: Ints,
) -> bool:  # fmt: skip
    """Move a variable one way, 1 or −1, until it has reached a value or can go no further.

    `values` are all variables' (basic ones are `entries` times the others); `free` are those not basic. The
    variable that enters and the one that leaves are the first that can (Bland), so that no exchange comes
    again.

    Returns:
        False where too many exchanges were made.
    """
    rows, columns = entries.shape
    while way * (enough - values[which]) > EXACT:
        if pivots[0] <= 0:
            return False
        pivots[0] -= 1
        home = -1
        for row in range(rows):
            if basic[row] == which:
                home = row
        column, direction = as_int64(-1), 0
        for k in range(columns):
            wanted = float(way) if free[k] == which else 0.0
            if home >= 0:
                wanted = way * entries[home, k]
            if abs(wanted) <= EXACT or (column >= 0 and free[column] < free[k]):
                continue
            room = high[free[k]] - values[free[k]] if wanted > 0 else values[free[k]] - low[free[k]]
            if room > EXACT:
                column, direction = k, 1 if wanted > 0 else -1
        if column < 0:
            return True  # no further
        moved = free[column]
        step = high[moved] - values[moved] if direction > 0 else values[moved] - low[moved]
        if moved == which:
            step = min(step, way * (enough - values[which]))
        leaving = as_int64(-1)
        for row in range(rows):
            entry = direction * entries[row, column]
            if abs(entry) <= EXACT:
                continue
            one = basic[row]
            room = high[one] - values[one] if entry > 0 else values[one] - low[one]
            if one == which:
                room = min(room, way * (enough - values[which]))
            room = max(room, 0.0) / abs(entry)
            if room < step - EXACT or (room <= step + EXACT and leaving >= 0 and one < basic[leaving]):
                step, leaving = min(room, step), row
        values[moved] += direction * step
        for row in range(rows):
            values[basic[row]] += direction * step * entries[row, column]
        if leaving >= 0:
            _exchange(entries, leaving, column)
            free[column], basic[leaving] = basic[leaving], moved
    return True


@compiled()
def _note(
    atoms: int, given: int, value: float, values: Floats, low: Floats, high: Floats, sizes: Ints,
    least: Floats, most: Floats,
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


@compiled()
def _to_sums(
    entries: Floats, basic: Ints, free: Ints, values: Floats, bottom: Floats, top: Floats, rest: Ints,
    pivots: Ints,
) -> int:  # fmt: skip
    """Lead a table to one with the sums: each is a variable, from what it comes to, to what it should."""
    rows, atoms = entries.shape
    for row in range(rows):
        name = atoms + row
        bottom[name], top[name] = min(values[name], rest[row]), max(values[name], rest[row])
    for row in range(rows):
        name = atoms + row
        way = 1 if rest[row] >= values[name] else -1
        if not _push(entries, basic, free, values, bottom, top, name, way, float(rest[row]), pivots):
            return UNKNOWN
        if abs(values[name] - rest[row]) > EXACT:
            return NO_TABLE
        values[name] = bottom[name] = top[name] = rest[row]
    return KEPT


@compiled(exact=True)
def _settle(
    matrix: Ints, rest: Ints, low: Floats, high: Floats, sizes: Ints, protected: NDArray[np.bool_],
    table: Ints, need: int, insiders: int, pivots: Ints,
) -> tuple[int, float]:  # fmt: skip
    """Of one component: whether everybody keeps a run, and how much somebody keeps who does not."""
    rows, atoms = matrix.shape
    values, bottom, top = np.zeros(atoms + rows), np.zeros(atoms + rows), np.zeros(atoms + rows)
    entries, basic, free = matrix.astype(np.float64), np.arange(atoms, atoms + rows), np.arange(atoms)
    values[:atoms], values[atoms:] = table, (matrix * table).sum(axis=1)
    bottom[:atoms], top[:atoms] = sizes * low, sizes * high
    code = _to_sums(entries, basic, free, values, bottom, top, rest, pivots)
    if code != KEPT:
        return code, -1.0
    # this table is enough for whoever is in a rich atom, beside an insider of another one or the same
    room, span = np.minimum(values[:atoms] - bottom[:atoms], top[:atoms] - values[:atoms]), high - low
    widths = np.minimum(room - insiders * span, span)
    rich = (widths >= need) & (sizes >= insiders + 2)
    narrowest, poor = np.inf, (protected & ~rich).any()
    for width in widths[protected & rich]:
        narrowest = min(narrowest, width)
    least, most = np.zeros(atoms), np.zeros(atoms)
    for insider in range(atoms if insiders else 1):
        if insiders and (not protected[insider] or (rich[insider] and not poor)):
            continue
        for way in (1, -1):
            if way < 0 and not insiders:
                break
            given, value = -1, 0.0
            if insiders:
                given = insider
                end = top[given] if way > 0 else bottom[given]
                if not _push(entries, basic, free, values, bottom, top, given, way, end, pivots):
                    return UNKNOWN, -1.0
                others = sizes[given] - 1
                if way > 0:
                    value = np.floor(min(high[given], values[given] - others * low[given]) + EXACT)
                else:
                    value = np.ceil(max(low[given], values[given] - others * high[given]) - EXACT)
                end = value + others * (low[given] if way > 0 else high[given])
                # alone in his atom he goes from a fraction to a whole number; elsewhere there is room for it
                if others == 0 and not _push(
                    entries, basic, free, values, bottom, top, given, -way, end, pivots
                ):
                    return UNKNOWN, -1.0
                bottom[given] = value + others * low[given]
                top[given] = value + others * high[given]
            least[:], most[:] = high, low
            _note(atoms, given, value, values, low, high, sizes, least, most)
            for atom in range(atoms):
                if not protected[atom] or (atom == given and sizes[atom] == 1):
                    continue
                if rich[atom] and (given < 0 or rich[given]):
                    continue
                for turn in (1, -1):
                    if most[atom] - least[atom] >= need:
                        break
                    end = top[atom] if turn > 0 else bottom[atom]
                    if not _push(entries, basic, free, values, bottom, top, atom, turn, end, pivots):
                        return UNKNOWN, -1.0
                    _note(atoms, given, value, values, low, high, sizes, least, most)
                # values are whole numbers between the two; where there are none, the insider has another one
                width = np.floor(most[atom] + EXACT) - np.ceil(least[atom] - EXACT)
                if 0 <= width < need:
                    return LOST, width
                narrowest = min(narrowest, width)
            if insiders:
                bottom[given], top[given] = sizes[given] * low[given], sizes[given] * high[given]
    return KEPT, narrowest
