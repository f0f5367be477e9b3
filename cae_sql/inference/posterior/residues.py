"""Combinations of answered sums in which few people are left modulo a small number.

The sums over X, A and B, over X, A and C and over X, B and C add up to 3 X + 2 (A + B + C): an even number
and X. No combination of real numbers leaves so few, so leverage does not see it. A *combination* is y A
modulo m = pᵉ, p a prime, for whole weights y of the answered sums; its coefficients say what is known of
whom: that Σ c x is y b modulo m.

Sums are eliminated modulo pᴱ, columns in which many people are first, so that what is left over of the sums
in the end is about those in the last columns alone. The same modulo a large prime stands for real numbers.
Where both come to the same columns, no first so many columns are left out by more combinations modulo p than
by real ones, and there is nothing to see; this is one elimination of as many columns as sums. Where they do
not, the rows behind are looked at: those that hide too little, put together where they share somebody, if
fewer real combinations are about the same people.

Promise: every row that is returned is one that the answers imply. Nothing is promised of what is missed: in
columns of one person each a combination may hide from all orders that are gone through; primes are those of
`PRIMES`, their powers those up to `LARGEST`.

Source: elimination over rings of residues, and information-set decoding (Prange 1962) for single columns.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.inference.facts.rank import join, roots
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone

Light = Callable[[Ints, NDArray[np.int64]], NDArray[np.bool_]]

PRIMES = tuple(p for p in range(2, 100) if all(p % d for d in range(2, p)))
"""Primes that are looked at. Nine plain sums can leave one person modulo a greater one: any bound is one."""
LARGEST = 32
"""Powers of a prime up to here are told apart."""
REALS = 2**19, 2**20
"""Between which the prime lies that stands for real numbers: products fit the digits of a float. It is chosen
by the query sets, so that no sums are easily made in which it hides what they leave modulo a small one."""
BLOCK = 256
"""Columns that are eliminated at once."""
FEW = 16
"""Rows that are multiplied entry by entry: blocks are for many."""
GLIMPSE = 64
"""Columns in which all rows are looked at, before each is in its own."""
SAMPLED = 1_024
"""Columns of many that are looked at first."""
ORDERS = 4
"""Orders in which columns that are alike are gone through. A combination of w people in columns of one
person, n such columns and k sums, hides from one order with a probability of about 1 − (1 − k/n)^w."""
MOST_ELIMINATED = 100_000
"""Orders times sums squared, beyond the first order."""
MOST_ROUNDS = 8
"""How often rows that vanish modulo p are divided by it."""
MOST_ENTRY = 2**40
MOST_WHOLE = 2**30
"""Entries up to here have products that fit 64 bits."""


@dataclass(frozen=True, eq=False)
class Combination:
    """Rows modulo powers of one prime that share people. Shapes: d rows, j columns."""

    columns: Ints
    """(j,) in which somebody is left, ascending."""
    coefficients: Ints
    """(d, j) 0 to m − 1."""
    moduli: Ints
    """(d,) m, each a power of the same prime."""
    residues: Ints
    """(d,) what Σ c x is modulo m."""


@dataclass(frozen=True, eq=False)
class _Echelon:
    """Rows Y A in reduced form modulo m, over columns in some order."""

    weights: Ints
    """(k, k) Y."""
    pivots: Ints
    """(k,) place in the order of each row's pivot; the number of columns where a row has none."""


@dataclass(frozen=True, eq=False)
class _Behind:
    """Rows of one prime that leave fewer people than real combinations do; nothing of answers is in it."""

    matrix: scipy.sparse.csc_array
    """(k, q) saturated."""
    steps: list[_Divided]
    weights: Ints
    """(r, k) of which of the matrix's rows they are."""
    prime: int
    modulus: int
    """pᴱ"""

    def rows(self, light: Light) -> list[tuple[Ints, Ints]]:
        """Those to be looked at: each (q,) modulo pᴱ, and its weights (k,).

        Of many columns some are looked at first: what these hide is hidden, and the row is not worked out.
        """
        if self.matrix.shape[1] <= SAMPLED:
            found = self._all
        else:
            some, parts = self._sample
            found = self._worked_out(self.weights[self._may_tell(parts, some, light)])
        told = [each for each in found if (each[0] % self.prime).any()]
        if not told:
            return []
        columns = np.arange(self.matrix.shape[1])
        flags = self._may_tell(np.stack([row for row, _ in told]), columns, light).tolist()
        return [each for each, flag in zip(told, flags, strict=True) if flag]

    def _may_tell(self, rows: NDArray[np.int64], columns: Ints, light: Light) -> NDArray[np.bool_]:
        """(r,) of rows at some columns, (r, s): in a few of these at once, then what is left in all."""
        few = np.linspace(0, len(columns) - 1, min(GLIMPSE, len(columns))).astype(np.int64)
        found = light(columns[few], rows[:, few] % self.prime)
        left = np.flatnonzero(found)
        # of many columns each row touches others
        for some in [left] if len(columns) <= SAMPLED else left[:, None]:
            part = rows[some] % self.prime
            touched = np.flatnonzero(part.any(axis=0))
            found[some] = light(columns[touched], part[:, touched])
        return found

    @cached_property
    def _all(self) -> list[tuple[Ints, Ints]]:
        return self._worked_out(self.weights)

    @cached_property
    def _sample(self) -> tuple[Ints, NDArray[np.int64]]:
        """(s,) some columns, and (r, s) what the rows have there."""
        some = np.linspace(0, self.matrix.shape[1] - 1, SAMPLED).astype(np.int64)
        return some, _product(self.weights, self.matrix[:, some], self.modulus)

    def _worked_out(self, weights: Ints) -> list[tuple[Ints, Ints]]:
        """Each row once, with its weights."""
        if not len(weights):
            return []
        found = dict[bytes, tuple[Ints, Ints]]()
        for row, each in zip(_product(weights, self.matrix, self.modulus), weights, strict=True):
            found.setdefault((row % self.prime).tobytes(), (row, each))
        return list(found.values())


@dataclass(frozen=True, eq=False)
class _Divided:
    """Rows in the place of others."""

    kept: Ints
    """(s,) rows that stay, before the new ones."""
    weights: Ints
    """(r, k) of which the new ones are."""
    by: int
    """The new ones are divided by this."""

    def of(self, sums: Ints) -> Ints:
        """(k,) right-hand sides after it."""
        found: Ints = np.append(sums[self.kept], self.weights @ sums // self.by)
        return found


class Search:
    """Query sets, and orders of their columns, for one prime after the other; nothing of answers is in it."""

    def __init__(self, matrix: scipy.sparse.csc_array, orders: list[Ints], stand_in: int) -> None:
        """Find the independent sums.

        Args:
            matrix: (k, q) whole coefficients.
            orders: Of the columns: those that can hide most first.
            stand_in: A prime for real numbers.
        """
        self._orders, self._stand_in = orders, stand_in
        real = self._over_reals(matrix, orders[0])
        self._independent = np.flatnonzero(real < len(orders[0]))
        whole = len(self._independent) == matrix.shape[0]
        self._matrix = matrix if whole else matrix.tocsr()[self._independent].tocsc()
        self._real = {0: real[self._independent]}
        """Pivots of the real numbers, by order."""
        self._squares: dict[int, Floats | None] = {}
        """(k, k) columns of these pivots, by order; None where they are dependent modulo no prime."""
        self._behind: dict[tuple[int, int], _Behind | None] = {}
        self._unseen = set[int]()
        """Primes modulo which the sums could not be brought into form."""
        self._torsion: dict[tuple[int, bytes], bool] = {}

    def combinations(
        self, sums: Ints, tops: Ints, prime: int, power: int, light: Light
    ) -> list[Combination] | None:
        """What the sums say of few people modulo a prime and its powers; None where that cannot be told.

        Args:
            sums: (k,) right-hand sides.
            tops: (q,) by how much the total of each column can differ.
            prime: p.
            power: E, up to which powers of it are told apart.
            light: Whether rows, (columns (s,), coefficients modulo p (r, s)), are to be looked at, (r,).
        """
        if (prime, power) not in self._behind:
            self._behind[prime, power] = self._rows_behind(prime, power)
        behind = self._behind[prime, power]
        if behind is None:
            return None if prime in self._unseen else []
        sums, rows = sums[self._independent], behind.rows(light)
        if not rows:
            return []
        for step in behind.steps:
            sums = step.of(sums)
        return self._together(behind.matrix, sums, prime, power, rows, tops)

    def _rows_behind(self, prime: int, power: int) -> _Behind | None:
        some = [number for number in range(len(self._orders)) if self._singular(number, prime)]
        if not some:
            return None
        found = saturated(self._matrix, prime, self._orders[0])
        if found is None:
            self._unseen.add(prime)
            return None
        matrix, steps = found
        modulus, weights = prime**power, list[Ints]()
        for number in some:
            mine = _echelon(matrix, self._orders[number], prime, modulus)
            first = _parted(mine.pivots, self._pivots(number))
            if first is not None:
                weights.append(mine.weights[mine.pivots >= first])
        behind = np.concatenate(weights) if weights else np.zeros((0, 0), dtype=np.int64)
        # a matrix of its own for each prime is much to keep of a large table, and mostly nothing is behind
        return _Behind(matrix, steps, behind, prime, modulus) if len(behind) else None

    def _singular(self, number: int, prime: int) -> bool:
        """Whether the columns that real numbers come to are dependent modulo a prime: else both agree."""
        if number not in self._squares:
            columns = self._orders[number][np.sort(self._pivots(number))]
            # by rows: for another order the kernel would be compiled a second time
            square = self._matrix[:, columns].toarray(order="C")
            # a determinant of 1 or −1 is none of 0 modulo any prime, and most are
            self._squares[number] = None if _is_unimodular(square.astype(np.int64, order="C")) else square
        whole = self._squares[number]
        if whole is None:
            return False
        square = np.mod(whole, prime).astype(np.float64)
        pivots = np.full(len(square), len(square), dtype=np.int64)
        _reduce(square, np.zeros((len(square), 0)), pivots, 0, len(square), prime, prime)
        return bool((pivots == len(square)).any())

    def _pivots(self, number: int) -> Ints:
        """Of the real numbers, in one of the orders."""
        if number not in self._real:
            self._real[number] = self._over_reals(self._matrix, self._orders[number])
        return self._real[number]

    def _over_reals(self, matrix: scipy.sparse.csc_array, order: Ints) -> Ints:
        return pivots_of(matrix, order, self._stand_in)

    def _together(
        self,
        matrix: scipy.sparse.csc_array,
        sums: Ints,
        prime: int,
        power: int,
        rows: list[tuple[Ints, Ints]],
        tops: Ints,
    ) -> list[Combination]:
        """Rows that share people, independent ones, where real combinations of these people are fewer."""
        values, weights = np.stack([row for row, _ in rows]), np.stack([each for _, each in rows])
        root = np.arange(values.shape[1])
        supports = [np.flatnonzero(row % prime) for row in values]
        for support in supports:
            join(root, support.astype(np.int64))
        label = roots(root)[[int(support[0]) for support in supports]]
        found = []
        for one in np.unique(label).tolist():
            some = np.flatnonzero(label == one)
            columns = np.unique(np.concatenate([supports[place] for place in some.tolist()]))
            name = prime, columns.tobytes()
            if name not in self._torsion:
                others = np.setdiff1d(np.arange(matrix.shape[1]), columns)
                mine = pivots_of(matrix, others, prime)
                real = self._over_reals(matrix, others)
                self._torsion[name] = int((mine < len(others)).sum()) < int((real < len(others)).sum())
            if self._torsion[name]:
                found += _lifted(values[some], weights[some] @ sums, columns, prime, power, tops[columns])
        return found


KEPT = 4
"""Searches that are remembered."""
_searches: OrderedDict[bytes, Search] = OrderedDict()
_latest: deque[tuple[weakref.ref[scipy.sparse.csc_array], Floats, Search]] = deque(maxlen=KEPT)
"""The same by the very matrix, which need not be read through then: hypothetical answers share it."""
_lock = threading.Lock()


def search_of(matrix: scipy.sparse.csc_array, room: Floats) -> Search:
    """The search of some sums: the same one for like sums, since hypothetical answers share their query sets.

    Args:
        matrix: (k, q) whole coefficients.
        room: (q,) how much each column can hide: those that can most are eliminated first.
    """
    used = np.flatnonzero(np.diff(matrix.indptr))
    rounded = np.round(2 * np.log(room[used] + 1.0))
    with _lock:
        for known, order, search in _latest:
            if known() is matrix and np.array_equal(order, rounded):
                return search
    name = blake2b(digest_size=20)
    small = np.abs(matrix.data).max(initial=0) < 2**7
    coefficients = matrix.data.astype(np.int8) if small else matrix.data
    for part in (matrix.indptr, matrix.indices, coefficients, rounded):
        name.update(b"%d " % len(part) + np.ascontiguousarray(part).tobytes())
    with _lock:
        found = _searches.pop(name.digest(), None)
    if found is None:
        chance = np.random.default_rng(len(used))
        count = max(1, min(ORDERS, MOST_ELIMINATED // max(matrix.shape[0], 1) ** 2))
        # where no two are alike one order is as good as another
        count = 1 if len(np.unique(rounded)) == len(used) else count
        orders = [used[np.lexsort((chance.random(len(used)), -rounded))] for _ in range(count)]
        found = Search(matrix, orders, _prime_by(name.digest()))
    with _lock:
        _searches[name.digest()] = found
        while len(_searches) > KEPT:
            _searches.popitem(last=False)
        _latest.append((weakref.ref(matrix), rounded, found))
    return found


def _prime_by(name: bytes) -> int:
    """One of the primes between `REALS`."""
    low, high = REALS
    found: int = low + int.from_bytes(name[:8], "big") % (high - low - 1000)
    while any(found % each == 0 for each in range(2, 1 << 10)):
        found += 1
    return found


def saturated(
    matrix: scipy.sparse.csc_array, prime: int, order: Ints
) -> tuple[scipy.sparse.csc_array, list[_Divided]] | None:
    """Sums of the same rational span of which no combination vanishes modulo a prime; None where they grow.

    One that does is p times a combination of whole numbers, which takes the place of a sum.
    """
    steps = list[_Divided]()
    for _ in range(MOST_ROUNDS):
        found = _echelon(matrix, order, prime, prime)
        idle = np.flatnonzero(found.pivots == len(order))
        if not len(idle):
            return matrix, steps
        weights = found.weights[idle]
        weights = np.where(weights > prime // 2, weights - prime, weights)
        whole = matrix.astype(np.int64)
        divided = (scipy.sparse.csr_array(weights) @ whole).toarray() // prime
        if np.abs(divided).max(initial=0) > MOST_ENTRY:
            return None
        among = scipy.sparse.csc_array(weights % prime)
        replaced = pivots_of(among, np.arange(among.shape[1]), prime)
        steps.append(_Divided(np.setdiff1d(np.arange(matrix.shape[0]), replaced), weights, prime))
        matrix = scipy.sparse.vstack([whole.tocsr()[steps[-1].kept], scipy.sparse.csr_array(divided)]).tocsc()
    return None


def _parted(mine: Ints, real: Ints) -> int | None:
    """From which place on there are combinations that real numbers do not have; None where there are none."""
    here, there = np.sort(mine), np.sort(real)
    apart = np.flatnonzero(here != there)
    # behind the column that real numbers gain, and residues do not
    return int(min(here[apart[0]], there[apart[0]])) + 1 if len(apart) else None


def _echelon(matrix: scipy.sparse.csc_array, order: Ints, prime: int, modulus: int) -> _Echelon:
    """Gauss–Jordan with pivots that have an inverse, column by column."""
    rows = matrix.shape[0]
    weights, pivots = np.eye(rows), np.full(rows, len(order), dtype=np.int64)
    for first in range(0, len(order), BLOCK):
        some, open_ = matrix[:, order[first : first + BLOCK]], pivots == len(order)
        if not (_block(weights[open_], some, modulus) % prime).any():
            continue
        entries = _block(weights, some, modulus)
        _reduce(entries, weights, pivots, first, len(order), prime, modulus)
        if (pivots < len(order)).all():
            break
    return _Echelon(weights.astype(np.int64), pivots)


def pivots_of(matrix: scipy.sparse.csc_array, order: Ints, prime: int) -> Ints:
    """(k,) the pivots of `_echelon` modulo a prime, where nobody asks for its rows.

    Column by column as they are stored, by the rows alone that have none yet.
    """
    rows = matrix.shape[0]
    pivots = np.full(rows, len(order), dtype=np.int64)
    entries = np.mod(matrix.data, prime).astype(np.int64)
    _find(matrix.indptr, matrix.indices, entries, order, prime, np.eye(rows, dtype=np.int64), pivots)
    return pivots


def _product(weights: Ints, matrix: scipy.sparse.csc_array, modulus: int) -> NDArray[np.int64]:
    """(r, q) Y A modulo m."""
    if len(weights) <= FEW:
        whole = scipy.sparse.csc_array(
            (matrix.data.astype(np.int64), matrix.indices, matrix.indptr), matrix.shape
        )
        by_entries: NDArray[np.int64] = (whole.T @ weights.T).T % modulus
        return by_entries
    found, turned = np.empty((len(weights), matrix.shape[1]), dtype=np.int64), weights.astype(np.float64)
    for first in range(0, matrix.shape[1], BLOCK):
        found[:, first : first + BLOCK] = _block(turned, matrix[:, first : first + BLOCK], modulus)
    return found


def _block(weights: Floats, matrix: scipy.sparse.csc_array, modulus: int) -> Floats:
    """(r, q) Y A modulo m; exact, since the digits of floats suffice for up to 2¹³ rows."""
    with alone():
        found: Floats = np.mod(weights @ np.mod(matrix.toarray(), modulus).astype(np.float64), modulus)
    return found


@compiled()
def _reduce(
    entries: Floats, weights: Floats, pivots: Ints, first: int, none: int, prime: int, modulus: int
) -> None:
    """Eliminate in the columns of a block, and note it in the weights, in place: whole numbers in floats,
    whose remainders many are found of at once."""
    (rows, columns), width = entries.shape, weights.shape[1]
    m, part = float(modulus), 1.0 / modulus
    for j in range(columns):
        chosen = -1
        for i in range(rows):
            if pivots[i] == none and int(entries[i, j]) % prime != 0:
                chosen = i
                break
        if chosen < 0:
            continue
        # the inverse, by Euclid
        a, b, x, y = int(entries[chosen, j]), modulus, 1, 0
        while b != 0:
            quotient = a // b
            a, b = b, a - quotient * b
            x, y = y, x - quotient * y
        inverse = float(x % modulus)
        for c in range(columns):
            entries[chosen, c] = entries[chosen, c] * inverse % m
        for c in range(width):
            weights[chosen, c] = weights[chosen, c] * inverse % m
        for i in range(rows):
            if i == chosen or entries[i, j] == 0.0:
                continue
            factor = m - entries[i, j]
            for c in range(columns):
                one = entries[i, c] + factor * entries[chosen, c]
                one -= np.floor(one * part) * m
                entries[i, c] = one + m if one < 0.0 else (one - m if one >= m else one)
            for c in range(width):
                one = weights[i, c] + factor * weights[chosen, c]
                one -= np.floor(one * part) * m
                weights[i, c] = one + m if one < 0.0 else (one - m if one >= m else one)
        pivots[chosen] = first + j


@compiled(exact=True)
def _find(
    starts: Ints, rows: Ints, entries: Ints, order: Ints, prime: int, weights: Ints, pivots: Ints
) -> None:
    """Find pivots of rows Y A modulo a prime, Y (k, k) being changed: those without one are eliminated."""
    none, count = len(order), len(pivots)
    still, values = np.arange(count), np.zeros(count, dtype=np.int64)
    for place in range(none):
        column, chosen = order[place], -1
        for s in range(count):
            line, total = weights[still[s]], 0
            for e in range(starts[column], starts[column + 1]):
                total += line[rows[e]] * entries[e]
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
                for c in range(len(pivots)):
                    line[c] = (line[c] + factor * weights[pivot, c]) % prime
        for s in range(chosen + 1, count):
            still[s - 1] = still[s]
        count -= 1
        if count == 0:
            break


@compiled(exact=True)
def _is_unimodular(square: Ints) -> bool:
    """Whether elimination in whole numbers finds nothing but pivots of ±1; what was there is overwritten."""
    count = len(square)
    for j in range(count):
        chosen = -1
        for i in range(j, count):
            if abs(square[i, j]) == 1:
                chosen = i
                break
        if chosen < 0:
            return False
        for c in range(j, count):
            square[j, c], square[chosen, c] = square[chosen, c], square[j, c]
        for i in range(j + 1, count):
            factor = square[i, j] * square[j, j]
            if factor == 0:
                continue
            for c in range(j, count):
                square[i, c] -= factor * square[j, c]
                if abs(square[i, c]) > MOST_WHOLE:
                    return False
    return True


def _lifted(
    values: NDArray[np.int64], sides: Ints, columns: Ints, prime: int, power: int, tops: Ints
) -> list[Combination]:
    """A basis of some rows, each modulo the highest power of p at which it leaves nobody outside.

    Outside of the columns all rows are multiples of p. Where these multiples are independent, a row is one
    modulo p; the others are made multiples of p², and so on.
    """
    modulus = prime**power
    values, sides = _basis(values, sides % modulus, columns, prime, modulus)
    outside = np.setdiff1d(np.arange(values.shape[1]), columns)
    left, rows, right, moduli = values, list[Ints](), list[int](), list[int]()
    for level in range(1, power + 1):
        if not len(left):
            break
        parts = left[:, outside] // prime**level
        if level == power:
            done, done_sides, left = left, sides, left[:0]
        else:
            done, done_sides, left, sides = _split(left, sides, parts, outside, prime, modulus)
        for row, side in zip(done[:, columns], done_sides.tolist(), strict=True):
            modulus = _enough(row % prime**level, prime, level, tops)
            rows.append(row % modulus)
            right.append(side % modulus)
            moduli.append(modulus)
    if not rows:
        return []
    return [Combination(columns, np.stack(rows), np.array(moduli), np.array(right))]


def _enough(row: Ints, prime: int, level: int, tops: Ints) -> int:
    """The least power of p that tells all values of a combination apart, or the given one."""
    most = prime**level
    room, modulus = int(np.minimum(row, most - row) @ tops), prime
    while modulus < most and modulus <= room:
        modulus *= prime
    return modulus


def _basis(
    values: NDArray[np.int64], sides: Ints, columns: Ints, prime: int, modulus: int
) -> tuple[NDArray[np.int64], Ints]:
    """Rows that are independent modulo p on some columns: several orders may have found the same."""
    echelon = _echelon(scipy.sparse.csc_array(values[:, columns]), np.arange(len(columns)), prime, modulus)
    kept = np.flatnonzero(echelon.pivots < len(columns))
    weights = echelon.weights[kept]
    return weights @ values % modulus, weights @ sides % modulus


def _split(
    left: NDArray[np.int64],
    sides: Ints,
    parts: NDArray[np.int64],
    outside: Ints,
    prime: int,
    modulus: int,
) -> tuple[NDArray[np.int64], Ints, NDArray[np.int64], Ints]:
    """Rows that are no multiples of the next power outside, and combinations that are."""
    echelon = _echelon(scipy.sparse.csc_array(parts % prime), np.arange(len(outside)), prime, prime)
    weights = echelon.weights
    mixed, turned = weights @ left % modulus, weights @ sides % modulus
    pivoted = echelon.pivots < len(outside)
    return mixed[pivoted], turned[pivoted], mixed[~pivoted], turned[~pivoted]
