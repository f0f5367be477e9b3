"""Combinations of answered sums that leave few people modulo a small prime: these people are marked.

The sums over X, A and B, over X, A and C and over X, B and C add up to 3 X + 2 (A + B + C): an even number
and X. No combination of real numbers leaves so few people, so leverage does not see it; but of all columns
except X the sums have a lower rank modulo 2 than over the rational numbers. X is then known modulo 2, unless
the characteristic function (`heaps`) of what is left, two people left out, is small at every k / p.

Sums are eliminated modulo p, and modulo a large prime drawn by each process, which stands for rational
numbers, columns that can hide most first. Where both have the same pivots there is no such combination. Else
each row behind the first pivot that differs is looked at: whether it hides too little, and whether the rank
of the other columns is lower modulo p.

Promise: fail closed. A marked record is counted, or not told. Nothing is promised of what is missed: among
columns of one person each a combination may escape all orders; primes are those of `PRIMES`; of more than
`MOST_SUMS` sums none is looked at.

Source: `mathematics.md`, 10; information-set decoding (Prange 1962) for single columns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.rank import components, eliminated
from cae_sql.inference.facts.span import drawn_prime
from cae_sql.inference.posterior.heaps import Characters
from cae_sql.inference.posterior.leverage import Observations
from cae_sql.inference.posterior.tilt import Windows
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.threads import alone

PRIMES = tuple(p for p in range(2, 100) if all(p % d for d in range(2, p)))
"""That are looked at. Nine plain sums can leave one person modulo a greater one: any bound is one."""
LARGEST = 32
"""What is known modulo a prime may be known modulo powers of it, up to here."""
LITTLE = 0.05
"""Risk of a residue alone below which it is left out: modulo m of L values it is about m / L."""
HIDDEN = 1e-3
"""A product of |φ| that tells nothing: a hundred of them that all pointed one way change odds by a fifth."""
MOST_SUMS = 1_000
"""Sums up to which combinations are looked for."""
GLIMPSE = 64
"""Columns in which a row is looked at first: more of them hide no less."""
ORDERS, MOST_ELIMINATED = 8, 40_000
"""Orders of columns that are alike, and these times sums squared, beyond the first. Among n columns of one
person each, and k sums, one order misses a combination of w people with a chance of about 1 − (1 − k/n)^w."""
MOST_ROUNDS = 8
"""How often rows that vanish modulo p are divided by it."""
MOST_ENTRY = 2**40
NONE = 1e-6
"""Variance in units² that is none: such columns come last."""
WIDE = 4_096
"""Width from which slacks are alike: ends of one sum share a search."""


def left_by_residues(characters: Characters, variances: Floats, rows: Callable[[Ints], Floats]) -> Flags:
    """(q,) columns of somebody about whom a residue is known that the others in it do not hide.

    Args:
        characters: Of the answered sums.
        variances: (a,) of one record of each column of somebody, before answers that are hypothetical.
        rows: (r, w) distributions by the formula of one record of each of some columns.
    """
    seen, primes = characters.observed, _primes(characters.tilt.windows)
    found = np.zeros(len(seen.sizes), dtype=np.bool_)
    if not primes or not 0 < seen.matrix.shape[0] <= MOST_SUMS:
        return found
    width = np.minimum(seen.high[seen.people :], WIDE)
    search = kept(Search.of(seen, seen.sizes * np.append(variances, width * (width + 2) / 12)))
    for prime in primes:
        behind = _behind(search, prime)
        if behind is None:
            found[:] = True
            break
        few = [
            columns for columns, residues in behind[1] if _light(characters, prime, columns, residues, rows)
        ]
        telling = [columns for columns in few if _is_torsion(search, prime, columns.tobytes())]
        # combinations of few people that overlap such a one tell of theirs too
        label, first = components(len(found), few), [columns[0] for columns in telling]
        for columns in few:
            found[columns] |= label[columns[0]] in label[first]
    found[seen.people :] = False
    return found


def _primes(windows: Windows) -> list[int]:
    """Those modulo which, or modulo powers of which, a residue may tell much of a value."""
    most = {p: p ** max(1, int(np.log(LARGEST) / np.log(p) + 1e-9)) for p in PRIMES}
    least = LITTLE * windows.count * windows.width
    return [p for p, power in most.items() if power > windows.width and power >= least]


def _light(
    characters: Characters, prime: int, columns: Ints, residues: Ints, rows: Callable[[Ints], Floats]
) -> bool:
    """Whether records of some columns, with coefficients modulo a prime, (c,) each, hide too little."""
    turns = np.arange(1, prime // 2 + 1)  # the others are their conjugates
    frequencies = tuple((np.arange(prime // 2 + 1) / prime).tolist())
    few = np.linspace(0, len(columns) - 1, min(GLIMPSE, len(columns))).astype(np.int64)
    for some in (few, np.arange(len(columns))):
        costs = characters.costs(columns[some], frequencies, rows)
        at = turns[:, None] * residues[some] % prime
        each = costs[np.minimum(at, prime - at), np.arange(len(some))]
        if (characters.without_two(each, columns[some]) >= -np.log(HIDDEN)).all():
            return False
    return True


@dataclass(frozen=True)
class Search:
    """Combinations of query sets, for one prime after the other; nothing of answers is in it. Shapes: k sums,
    q columns."""

    name: bytes
    """Equal for like searches."""
    sums: scipy.sparse.csc_array = field(compare=False)
    """(k, q) whole coefficients."""
    room: Floats = field(compare=False)
    """(q,) −log of how much each column can hide, rounded: columns with least are eliminated first."""

    @classmethod
    def of(cls, observed: Observations, room: Floats) -> Search:
        """Of what was observed, and how much each column can hide, (q,)."""
        rounded = np.where(room < NONE, 1.0, -np.round(2 * np.log(room + 1.0)))
        matrix, name = observed.matrix, blake2b(rounded.tobytes(), digest_size=20)
        for part in (matrix.indptr, matrix.indices, matrix.data):
            name.update(part.tobytes())
        return cls(name.digest(), matrix, rounded)

    @cached_property
    def orders(self) -> list[Ints]:
        """Of the columns: those that can hide most first."""
        used = np.flatnonzero(np.diff(self.sums.indptr))
        room, chance = self.room[used], np.random.default_rng(len(used))
        count = max(1, min(ORDERS, MOST_ELIMINATED // max(self.sums.shape[0], 1) ** 2))
        # where no two are alike one order is as good as another
        count = 1 if len(np.unique(room)) == len(used) else count
        return [used[np.lexsort((chance.random(len(used)), room))] for _ in range(count)]

    @cached_property
    def matrix(self) -> scipy.sparse.csc_array:
        """Independent ones of the sums."""
        order = self.orders[0]
        pivots = eliminated(self.sums, order, drawn_prime())[0]
        return self.sums.tocsr()[np.flatnonzero(pivots < len(order))].tocsc()

    @cached_property
    def bases(self) -> list[tuple[Ints, Ints, scipy.sparse.csc_array]]:
        """Orders, their pivots over the rational numbers, ascending, and the (k, k) columns of these; only
        such as may be singular modulo a prime."""
        found = []
        for order in self.orders:
            pivots = np.sort(eliminated(self.matrix, order, drawn_prime())[0])
            square = self.matrix[:, order[pivots]]
            if not _is_unimodular(square.toarray().astype(np.float64)):
                found.append((order, pivots, square))
        return found


@lru_cache(4)
def kept(search: Search) -> Search:
    """The same one for like sums, since hypothetical answers share their query sets."""
    return search


@lru_cache(4 * len(PRIMES))
def _behind(search: Search, prime: int) -> tuple[scipy.sparse.csc_array, list[tuple[Ints, Ints]]] | None:
    """Saturated sums, and combinations of them about fewer columns modulo a prime than rational ones, as
    columns and coefficients; None where sums could not be brought into form."""
    rows, whole = dict[bytes, NDArray[np.int8]](), np.arange(search.matrix.shape[0])
    bases = [each for each in search.bases if (eliminated(each[2], whole, prime)[0] > whole[-1]).any()]
    matrix = saturated(search.matrix, prime, search.orders[0]) if bases else search.matrix
    if matrix is None:
        return None
    for order, rational, _ in bases:
        pivots, weights = eliminated(matrix, order, prime)
        places = np.sort(pivots)
        apart = np.flatnonzero(places != rational)
        if len(apart):
            # behind the column that rational numbers gain, and residues do not
            some = np.argsort(pivots)[places > min(places[apart[0]], rational[apart[0]])]
            reduced = _reduced(weights[some], matrix, order[pivots[some]], prime)
            # by their bytes: numpy's own search for unique rows makes a type with a field for each column
            rows.update((row.tobytes(), row) for row in reduced)
    return matrix, [(np.flatnonzero(row), row[row > 0].astype(np.int64)) for row in rows.values()]


@lru_cache(4_096)
def _is_torsion(search: Search, prime: int, columns: bytes) -> bool:
    """Whether the rank of all other columns is lower modulo a prime."""
    behind = _behind(search, prime)
    assert behind is not None
    others = np.setdiff1d(np.arange(search.matrix.shape[1]), np.frombuffer(columns, dtype=np.int64))
    ranks = [
        (eliminated(matrix, others, modulus)[0] < len(others)).sum()
        for matrix, modulus in ((behind[0], prime), (search.matrix, drawn_prime()))
    ]
    return bool(ranks[0] < ranks[1])


def _is_unimodular(square: Floats) -> bool:
    """Whether a whole matrix is shown to have a whole inverse, so that it is singular modulo no prime.

    Floats find the inverse, whole numbers check it.
    """
    with alone(), contextlib.suppress(np.linalg.LinAlgError):
        inverse = np.rint(np.linalg.inv(square))
        most = len(square) * np.abs(square).max(initial=0) * np.abs(inverse).max(initial=0)
        return bool(most < 2**53 and (square @ inverse == np.eye(len(square))).all())
    return False


def saturated(matrix: scipy.sparse.csc_array, prime: int, order: Ints) -> scipy.sparse.csc_array | None:
    """Sums of the same rational span of which no combination vanishes modulo a prime; None where they grow.

    One that does is p times a combination of whole numbers, which takes the place of a sum.
    """
    for _ in range(MOST_ROUNDS):
        pivots, weights = eliminated(matrix, order, prime)
        weights = weights[pivots == len(order)]
        if not len(weights):
            return matrix
        whole = matrix.astype(np.int64).tocsr()
        divided = scipy.sparse.csr_array(np.where(weights > prime // 2, weights - prime, weights)) @ whole
        divided.data //= prime
        if np.abs(divided.data).max(initial=0) > MOST_ENTRY:
            return None
        among = scipy.sparse.csc_array(weights)
        replaced = eliminated(among, np.arange(among.shape[1]), prime)[0]
        kept = np.setdiff1d(np.arange(matrix.shape[0]), replaced)
        matrix = scipy.sparse.vstack([whole[kept], divided]).tocsc()
    return None


def _reduced(weights: Ints, matrix: scipy.sparse.csc_array, pivots: Ints, prime: int) -> NDArray[np.int8]:
    """(r, q) rows Y A modulo a prime in reduced form, Y (r, k), each with a pivot before that of the next."""
    whole, places = matrix.astype(np.int64), np.arange(len(pivots))
    square = weights @ whole[:, pivots].toarray() % prime
    # upper triangular: its transpose, eliminated, is its diagonal, so that its inverse is Tᵀ D⁻¹
    turned = eliminated(scipy.sparse.csc_array(square.T), places, prime)[1]
    scale = [pow(int(each), -1, prime) for each in square[places, places]]
    reduced = (turned.T * np.array(scale, dtype=np.int64)) @ weights % prime
    found: NDArray[np.int8] = ((whole.T @ reduced.T).T % prime).astype(np.int8)
    return found
