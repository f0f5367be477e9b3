"""Combinations of answered sums that leave few people modulo a small prime: these are marked.

The sums over X, A and B, over X, A and C and over X, B and C add up to 3 X + 2 (A + B + C): an even number
and X. No combination of real numbers leaves so few people, so leverage does not see it. In terms of rank:
of all columns but X the sums have a lower rank modulo 2 than over the rational numbers. What is known then is
known modulo 2, unless the people who are left hide it: unless the characteristic function of what they add
(`heaps`) is small at every k / p, two of them left out.

Sums are eliminated modulo p, columns in which many people are first, so that what is left over of the sums in
the end is about those in the last columns alone. The same modulo a large prime, drawn by each process, stands
for rational numbers. Where both come to the same columns there is nothing to see. Where they do not, each row
behind is looked at: whether it hides too little, and whether the rank of the others is lower modulo p.

Promise: fail closed. Nothing is reckoned of a residue: who is marked is counted, or not told. Nothing is
promised of what is missed: in columns of one person each a combination may hide from all orders that are gone
through; primes are those of `PRIMES`, and of more than `MOST_SUMS` sums none is looked at.

Source: `mathematics.md`, 10; elimination over finite fields, and information-set decoding (Prange 1962) for
single columns.
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
from cae_sql.inference.posterior.observations import Observations
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Windows
from cae_sql.threads import alone

Flags = NDArray[np.bool_]
Light = Callable[[Ints, Ints], bool]
"""Whether people in some columns (c,), with coefficients modulo p (c,), hide too little of a residue."""
_Behind = tuple["scipy.sparse.csc_array", list[NDArray[np.int8]]]  # quoted: loaded where it is used
"""Saturated sums, (k, q), and rows modulo a prime that are about fewer columns than rational ones."""

PRIMES = tuple(p for p in range(2, 100) if all(p % d for d in range(2, p)))
"""Primes that are looked at. Nine plain sums can leave one person modulo a greater one: any bound is one."""
LARGEST = 32
"""What is known modulo a prime may be known modulo powers of it, up to here."""
LITTLE = 0.05
"""Risk that a residue alone brings about for it to be left out: modulo m of L values it is about m / L, since
for ranges up to m about log2(L / m) bits are left in place of log2(L / ε)."""
HIDDEN = 1e-3
"""A product of |φ| that tells nothing: a hundred such combinations that all pointed one way would change
odds by a fifth."""
MOST_SUMS = 1_000
"""Sums up to which combinations are looked for."""
GLIMPSE = 64
"""Columns in which a row is looked at first: more of them hide no less."""
ORDERS, MOST_ELIMINATED = 8, 40_000
"""Orders in which columns that are alike are gone through, and these times sums squared, beyond the first
order. A combination of w people in columns of one person, n such columns and k sums, hides from one order
with a probability of about 1 − (1 − k/n)^w."""
MOST_ROUNDS = 8
"""How often rows that vanish modulo p are divided by it."""
MOST_ENTRY = 2**40
NONE = 1e-6
"""Variance in units² that is none: who has so little comes last."""
WIDE = 4_096
"""Width from which slacks are alike: ends of one sum share a search."""


def left_by_residues(characters: Characters, variances: Floats, rows: Callable[[Ints], Floats]) -> Flags:
    """(q,) columns of somebody about whom a residue is known that the others in it do not hide.

    By the variances of one record of each column of somebody, (a,), before the last answers where these are
    hypothetical. `rows` are distributions by the formula of one record of each of some columns, (r, w).
    """
    seen, primes = characters.observed, _primes(characters.tilt.windows)
    found = np.zeros(len(seen.sizes), dtype=np.bool_)
    if not primes or not 0 < seen.matrix.shape[0] <= MOST_SUMS:
        return found
    width = np.minimum(seen.high[seen.people :], WIDE)
    room = seen.sizes * np.append(variances, width * (width + 2) / 12)
    same = kept(Search.of(seen, room))
    for prime in primes:
        torsion = same.torsion(prime, _light(characters, prime, rows))
        found |= True if torsion is None else torsion
    found[seen.people :] = False
    return found


def _primes(windows: Windows) -> list[int]:
    """Those modulo which, or modulo powers of which, a residue may tell much of a value."""
    most = {p: p ** max(1, int(np.log(LARGEST) / np.log(p) + 1e-9)) for p in PRIMES}
    least = LITTLE * windows.count * windows.width
    return [p for p, power in most.items() if power > windows.width and power >= least]


def _light(characters: Characters, prime: int, rows: Callable[[Ints], Floats]) -> Light:
    turns = np.arange(1, prime // 2 + 1)  # the others are their conjugates
    frequencies = tuple((np.arange(prime // 2 + 1) / prime).tolist())

    def light(columns: Ints, coefficients: Ints) -> bool:
        few = np.linspace(0, len(columns) - 1, min(GLIMPSE, len(columns))).astype(np.int64)
        for some in (few, np.arange(len(columns))):
            costs = characters.costs_at(frequencies, columns[some], rows)
            at = turns[:, None] * coefficients[some] % prime
            each = costs[np.minimum(at, prime - at), np.arange(len(some))]
            if (characters.without_two(each, columns[some]) >= -np.log(HIDDEN)).all():
                return False
        return True

    return light


@dataclass(frozen=True)
class Search:
    """Combinations of query sets, for one prime after the other; nothing of answers is in it. Shapes: k sums,
    q columns."""

    name: bytes
    """Of like searches."""
    sums: scipy.sparse.csc_array = field(compare=False)
    """(k, q) whole coefficients."""
    room: Floats = field(compare=False)
    """(q,) −log of how much each column can hide, rounded: columns with least are eliminated first."""
    _behind: dict[int, _Behind | None] = field(default_factory=dict, compare=False)
    """By prime; None where sums could not be brought into form."""
    _torsion: dict[tuple[int, bytes], bool] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, observed: Observations, room: Floats) -> Search:
        """Of what was observed, and how much each column can hide, (q,)."""
        rounded = np.where(room < NONE, 1.0, -np.round(2 * np.log(room + 1.0)))
        name = blake2b(observed.name + rounded.tobytes(), digest_size=20).digest()
        return cls(name, observed.matrix, rounded)

    @cached_property
    def _orders(self) -> list[Ints]:
        """Of the columns: those that can hide most first."""
        used = np.flatnonzero(np.diff(self.sums.indptr))
        room, chance = self.room[used], np.random.default_rng(len(used))
        count = max(1, min(ORDERS, MOST_ELIMINATED // max(self.sums.shape[0], 1) ** 2))
        # where no two are alike one order is as good as another
        count = 1 if len(np.unique(room)) == len(used) else count
        return [used[np.lexsort((chance.random(len(used)), room))] for _ in range(count)]

    @cached_property
    def _matrix(self) -> scipy.sparse.csc_array:
        """Independent ones of the sums."""
        order = self._orders[0]
        pivots = eliminated(self.sums, order, drawn_prime())[0]
        return self.sums.tocsr()[np.flatnonzero(pivots < len(order))].tocsc()

    def torsion(self, prime: int, light: Light) -> Flags | None:
        """(q,) who is in a combination modulo a prime of few people, or hangs together with who is by others
        of few people; None where that cannot be told."""
        if prime not in self._behind:
            self._behind[prime] = self._looked_for(prime)
        behind = self._behind[prime]
        if behind is None:
            return None
        few, torsion, (matrix, rows) = list[Ints](), list[bool](), behind
        for row in rows:
            columns = np.flatnonzero(row)
            if light(columns, row[columns].astype(np.int64)):
                few.append(columns)
                torsion.append(self._is_torsion(prime, matrix, columns))
        found = np.zeros(self._matrix.shape[1], dtype=np.bool_)
        if any(torsion):
            label = components(len(found), few)
            leading = [label[columns[0]] for columns, each in zip(few, torsion, strict=True) if each]
            for columns in few:
                found[columns] = label[columns[0]] in leading
        return found

    @cached_property
    def _rational(self) -> list[Ints]:
        """By order, the pivots of the rational numbers, ascending."""
        return [np.sort(eliminated(self._matrix, each, drawn_prime())[0]) for each in self._orders]

    @cached_property
    def _squares(self) -> dict[int, scipy.sparse.csc_array]:
        """(k, k) columns of these pivots, by order, but for those that are dependent modulo no prime."""
        found = dict[int, scipy.sparse.csc_array]()
        for number, pivots in enumerate(self._rational):
            square = self._matrix[:, self._orders[number][pivots]]
            if not _is_unimodular(square.toarray().astype(np.float64)):
                found[number] = square
        return found

    def _looked_for(self, prime: int) -> _Behind | None:
        found = dict[bytes, NDArray[np.int8]]()
        whole = np.arange(self._matrix.shape[0])
        some = [
            n for n, each in self._squares.items() if (eliminated(each, whole, prime)[0] > whole[-1]).any()
        ]
        matrix = saturated(self._matrix, prime, self._orders[0]) if some else self._matrix
        if matrix is None:
            return None
        for number in some:
            order, rational = self._orders[number], self._rational[number]
            pivots, weights = eliminated(matrix, order, prime)
            places = np.sort(pivots)
            apart = np.flatnonzero(places != rational)
            if len(apart):
                # behind the column that rational numbers gain, and residues do not
                rows = np.argsort(pivots)[places > min(places[apart[0]], rational[apart[0]])]
                reduced = _reduced(weights[rows], matrix, order[pivots[rows]], prime)
                # by their bytes: numpy's own search for unique rows makes a type with a field for each column
                found.update((row.tobytes(), row) for row in reduced)
        return matrix, list(found.values())

    def _is_torsion(self, prime: int, saturated: scipy.sparse.csc_array, columns: Ints) -> bool:
        """Whether the rank of all other columns is lower modulo a prime."""
        name = prime, columns.tobytes()
        if name not in self._torsion:
            others = np.setdiff1d(np.arange(self._matrix.shape[1]), columns)
            mine = eliminated(saturated, others, prime)[0] < len(others)
            rational = eliminated(self._matrix, others, drawn_prime())[0] < len(others)
            self._torsion[name] = bool(mine.sum() < rational.sum())
        return self._torsion[name]


@lru_cache(4)
def kept(search: Search) -> Search:
    """The same one for like sums, since hypothetical answers share their query sets."""
    return search


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
    whole = matrix.astype(np.int64)
    square = weights @ whole[:, pivots].toarray() % prime
    for row in range(len(weights) - 1, -1, -1):
        inverse = pow(int(square[row, row]), -1, prime)
        square[row], weights[row] = square[row] * inverse % prime, weights[row] * inverse % prime
        factors = square[:row, row].copy()
        square[:row] = (square[:row] - factors[:, None] * square[row]) % prime
        weights[:row] = (weights[:row] - factors[:, None] * weights[row]) % prime
    found: NDArray[np.int8] = ((whole.T @ weights.T).T % prime).astype(np.int8)
    return found
