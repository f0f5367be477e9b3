"""Which answered sums are independent, whether the others agree with them, and which atoms they connect.

Sums are eliminated modulo a prime that each process draws anew. One that vanishes is left out only if
fractions confirm it, so chance decides nothing: at worst a sum that follows is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.span import drawn_prime, small_fraction


def coefficients_of(atoms: Atoms, sums: Sequence[Query]) -> NDArray[np.signedinteger]:
    """(k, p) the sums over the atoms, in the smallest whole numbers that hold them."""
    largest = max((int(np.abs(s.coefficients).max()) for s in sums if s.coefficients is not None), default=1)
    matrix = np.zeros((len(sums), atoms.count), dtype=np.min_scalar_type(-largest - 1))
    for row, answer in zip(matrix, sums, strict=True):
        row[:] = atoms.row(answer)
    return matrix


def independent_sums(matrix: NDArray[np.signedinteger], values: Ints, slack: int = 0) -> Ints:
    """Rows of sums (k, p) over the atoms that are independent; the others follow from them.

    InconsistentAnswers where a right-hand side (k,) is further than `slack` from what others say it is.
    """
    prime, count = drawn_prime(), matrix.shape[1]
    by_column = scipy.sparse.csc_array(matrix.astype(np.int64, copy=False))
    pivots, weights = eliminated(by_column, np.arange(count), prime)
    kept = pivots < count
    for row in np.flatnonzero(~kept).tolist():
        found = [small_fraction(int(-each % prime), prime) for each in weights[row, :row]]
        terms = {place: each for place, each in enumerate(found) if each != 0}
        if not all(terms.values()) or not _add_up(matrix, row, terms):
            kept[row] = True  # the fractions are too large to tell
            continue
        said = sum((weight * int(values[place]) for place, weight in terms.items() if weight), Fraction(0))
        if abs(said - int(values[row])) > slack:
            raise InconsistentAnswers("an answer contradicts the ones before it")
    return np.flatnonzero(kept)


def _add_up(matrix: NDArray[np.signedinteger], row: int, terms: Mapping[int, Fraction | None]) -> bool:
    """Whether a row is other rows times fractions: exact."""
    weights = {place: weight for place, weight in terms.items() if weight}
    common = lcm(*(each.denominator for each in weights.values()))
    whole = [int(each * common) for each in weights.values()]
    most = int(np.abs(matrix).max(initial=0)) * (common + sum(abs(each) for each in whole))
    kind = np.int64 if most < 2**62 else object
    total = np.array(whole, dtype=kind) @ matrix[list(weights)].astype(kind)
    return bool((total == common * matrix[row].astype(kind)).all())


def eliminated(matrix: scipy.sparse.csc_array, order: Ints, prime: int) -> tuple[Ints, Ints]:
    """Pivots (k,), and rows Y (k, k), of Y A in echelon form modulo a prime below 2³¹, A (k, q) whole.

    A pivot is a place in the order of columns, some or all, and their number where a row vanishes: row i is 0
    before its pivot. Y is lower triangular with ones: a row vanishes that follows from those before it.
    """
    pivots, weights = np.full(matrix.shape[0], len(order)), np.eye(matrix.shape[0], dtype=np.int64)
    entries = np.mod(matrix.data.astype(np.int64), prime)
    _eliminate(matrix.indptr, matrix.indices, entries, order, prime, weights, pivots)
    return pivots, weights


@compiled(exact=True)
def _eliminate(
    starts: Ints, rows: Ints, entries: Ints, order: Ints, prime: int, weights: Ints, pivots: Ints
) -> None:
    """`eliminated`, Y and the pivots in place: of each column as it is stored, by rows without a pivot."""
    none, count = len(order), len(pivots)
    still, values = np.arange(count), np.zeros(count, dtype=np.int64)
    for place in range(none):
        column, chosen = order[place], -1
        for s in range(count):
            line, total = weights[still[s]], 0
            for e in range(starts[column], starts[column + 1]):
                total += line[rows[e]] * entries[e] % prime
            values[s] = total % prime
            if values[s] != 0 and chosen < 0:
                chosen = s
        if chosen < 0:
            continue
        # the inverse, by Euclid
        a, b, x, y = values[chosen], prime, 1, 0
        while b != 0:
            quotient = a // b
            a, b = b, a - quotient * b
            x, y = y, x - quotient * y
        inverse, pivot = x % prime, still[chosen]
        pivots[pivot] = place
        for s in range(chosen + 1, count):
            if values[s] != 0:
                line, factor = weights[still[s]], (prime - values[s]) * inverse % prime
                line[:] = (line + factor * weights[pivot]) % prime
        still[chosen : count - 1] = still[chosen + 1 : count].copy()
        count -= 1
        if count == 0:
            break


def components(count: int, groups: Iterable[Ints]) -> Ints:
    """(count,) the component of each of so many things, where those in a group are of one; by their first."""
    sets = list(groups)
    rows, columns = np.repeat(np.arange(len(sets)), list(map(len, sets))), np.concatenate([[], *sets])
    shape = count + len(sets), count + len(sets)
    graph = scipy.sparse.csr_array((np.ones(len(rows)), (count + rows, columns.astype(np.int64))), shape)
    found: Ints = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:count]
    return found.astype(np.int64)
