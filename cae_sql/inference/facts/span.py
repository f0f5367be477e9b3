"""Which sums answered ones settle linearly, sum by sum, whatever the number of records.

The answered sums are kept in reduced form: each has a *pivot* record that no other reduced sum is over. Of
the reduced sums themselves only random multiples are kept, and how they come from the sums as asked, modulo
a prime. So a sum is compared with what its pivots say of it in as many steps as it has records; only an
independent one costs the square of the rank.

A record that the sums settle is a pivot whose reduced sum is over that record alone, in whatever basis.

That an independent sum is taken for one that is settled has a chance below 2⁻²⁵ each time: the prime and the
multiples are drawn anew by each process, so nobody can make a sum for it. The other way round it cannot
happen. What adds up to a record is checked in fractions.

Source: linear algebra modulo a prime; random multiples as in Freivalds, "Probabilistic machines can use less
running time", 1977.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints, Query

FIRST = 64
"""Sums that there is place for at the beginning."""
SAMPLED, CHUNK = 64, 4_096
"""Records among which a pivot is looked for first, and at a time then."""


class Span:
    """All sums that some sums over n records settle; it grows by `take` alone."""

    def __init__(self, size: int) -> None:
        """No sum yet, over so many records."""
        draw = np.random.default_rng(secrets.randbits(128))
        self._prime = drawn_prime()
        self._names: Ints = draw.integers(1, self._prime, (size, 2))
        """(n, 2) the records' random multiples."""
        self.rank = 0
        """Independent sums taken."""
        self.rows: list[Query] = []
        """Them, in order."""
        self._pivots: Ints = np.zeros(FIRST, dtype=np.int64)
        """(k,) pivot record of each reduced sum."""
        self._made: Ints = np.zeros((FIRST, FIRST), dtype=np.int64)
        """(k, k) how reduced sums come from those as asked."""
        self._reduced: Ints = np.zeros((FIRST, 2), dtype=np.int64)
        """(k, 2) multiples of the reduced sums."""
        self._scratch: Ints = np.zeros(size, dtype=np.int64)

    def copy(self) -> Span:
        """An independent one."""
        twin = Span.__new__(Span)
        twin.__dict__.update(self.__dict__)
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                setattr(twin, name, value.copy())
        twin.rows = list(self.rows)
        return twin

    def holds(self, query: Query) -> bool:
        """Whether a sum is settled."""
        return not self._left(query)[1].any()

    def take(self, query: Query) -> bool:
        """Take a sum; False where those before settle it, and then nothing changes."""
        weights, left = self._left(query)
        if not left.any():
            return False
        prime, rank = self._prime, self.rank
        mix = combined(weights, self._made, rank, prime)
        pivot, entry, column = self._pivot(query, mix)
        if rank == len(self._pivots):
            more = max(FIRST, rank // 2)
            self._pivots = np.pad(self._pivots, (0, more))
            self._made = np.pad(self._made, ((0, more), (0, more)))
            self._reduced = np.pad(self._reduced, ((0, more), (0, 0)))
        factors = applied(self._made, column, rank, prime)
        inverse = pow(entry, -1, prime)
        self._made[rank, :rank] = -mix * inverse % prime
        self._made[rank, rank] = inverse
        self._reduced[rank] = left * inverse % prime
        cleared(self._made, self._reduced, factors, rank, prime)
        self._pivots[rank] = pivot
        self.rows.append(query)
        self.rank += 1
        return True

    def settled(self) -> Ints:
        """The records that the sums add up to, ascending."""
        pivots = self._pivots[: self.rank]
        alone = (self._reduced[: self.rank] == self._names[pivots]).all(axis=1)
        found: Ints = np.sort(pivots[alone])
        return found

    def combination(self, record: int) -> list[tuple[int, Fraction]]:
        """Which of the sums taken, from 0, add up to a record, and with which weights, none 0.

        There is one such combination only, so the last of its sums is the one since which it is so. Empty
        where there is none, or weights are no fractions of small numbers; checked in fractions.
        """
        place = np.flatnonzero(self._pivots[: self.rank] == record)
        if len(place) != 1:
            return []
        found = self._fractions(self._made[place[0], : self.rank])
        alone = Query(kind="sum", members=np.array([record]))
        return found if found is not None and self._adds_up(found, alone) else []

    def combination_of(self, query: Query) -> list[tuple[int, Fraction]] | None:
        """The same of a sum that is settled; None where weights are no fractions of small numbers."""
        weights = self._left(query)[0]
        found = self._fractions(combined(weights, self._made, self.rank, self._prime))
        return found if found is not None and self._adds_up(found, query) else None

    def _fractions(self, residues: Ints) -> list[tuple[int, Fraction]] | None:
        """The weights other than 0, by row."""
        found = list[tuple[int, Fraction]]()
        for row in np.flatnonzero(residues).tolist():
            weight = small_fraction(int(residues[row]), self._prime)
            if weight is None:
                return None
            found.append((row, weight))
        return found

    # --- how

    def _weights_of(self, query: Query) -> Ints:
        if query.coefficients is None:
            return np.ones(len(query.members), dtype=np.int64)
        found: Ints = query.coefficients % self._prime
        return found

    def _left(self, query: Query) -> tuple[Ints, Ints]:
        """A sum's coefficients at the pivots, and what is left of its multiples when these are taken away."""
        prime, members, own = self._prime, query.members, self._weights_of(query)
        self._scratch[members] = own
        weights = self._scratch[self._pivots[: self.rank]]
        self._scratch[members] = 0
        names = self._names[members]
        if query.coefficients is not None:
            names = names * own[:, None] % prime
        used = np.flatnonzero(weights)
        known = weights[used, None] * self._reduced[used] % prime
        left: Ints = (names.sum(axis=0) - known.sum(axis=0)) % prime
        return weights, left

    def _pivot(self, query: Query, mix: Ints) -> tuple[int, int, Ints]:
        """A record where what is left of an independent sum is not 0, what it is there, and its column."""
        prime, size = self._prime, len(self._names)
        some = query.members[:: max(1, len(query.members) // SAMPLED)]
        # where few of its own records do not show it, others do
        for records in (some, *np.array_split(np.arange(size), 1 + size // CHUNK)):
            asked = self._coefficients(self.rows, records)
            taken = (mix[:, None] * asked % prime).sum(axis=0)
            left = (self._coefficients([query], records)[0] - taken) % prime
            places = np.flatnonzero(left)
            if len(places):
                return int(records[places[0]]), int(left[places[0]]), asked[:, places[0]].copy()
        raise AssertionError("what is left of an independent sum is somewhere")

    def _coefficients(self, queries: Sequence[Query], records: Ints) -> Ints:
        """(queries, records) coefficients of some records in sums, modulo the prime."""
        found = np.zeros((len(queries), len(records)), dtype=np.int64)
        for row, query in zip(found, queries, strict=True):
            places = np.minimum(np.searchsorted(query.members, records), len(query.members) - 1)
            inside = query.members[places] == records
            weights = query.coefficients
            row[inside] = 1 if weights is None else weights[places[inside]] % self._prime
        return found

    def _adds_up(self, found: list[tuple[int, Fraction]], query: Query) -> bool:
        """Whether weights times the sums taken are another sum: exact."""
        total, common = added_up([(self.rows[row], weight) for row, weight in found], len(self._names))
        own = 1 if query.coefficients is None else query.coefficients.astype(total.dtype)
        total[query.members] -= common * own
        return not total.any()


def added_up(terms: Sequence[tuple[Query, Fraction]], size: int) -> tuple[NDArray[Any], int]:
    """Weights times sums: (n,) exact coefficients, times a number, and that number."""
    common = lcm(*(weight.denominator for _, weight in terms))
    most = sum(abs(int(weight * common)) * _largest(query) for query, weight in terms)
    total: NDArray[Any] = np.zeros(size, dtype=np.int64 if most < 2**62 else object)
    for query, weight in terms:
        own = 1 if query.coefficients is None else query.coefficients.astype(total.dtype)
        total[query.members] += int(weight * common) * own
    return total, common


def _largest(query: Query) -> int:
    return 1 if query.coefficients is None else int(np.abs(query.coefficients).max())


@compiled()
def combined(weights: Ints, rows: Ints, rank: int, prime: int) -> Ints:
    """(k,) Σ weights · rows modulo a prime, over the first `rank` rows."""
    found = np.zeros(rank, np.int64)
    for i in range(rank):
        weight = weights[i]
        if weight == 0:
            continue
        row = rows[i]
        if weight == 1:
            for j in range(rank):
                found[j] += row[j]
        else:
            for j in range(rank):
                found[j] += weight * row[j] % prime
    for j in range(rank):
        found[j] %= prime
    return found


@compiled()
def applied(rows: Ints, column: Ints, rank: int, prime: int) -> Ints:
    """(k,) rows times a column, modulo a prime."""
    found = np.zeros(rank, np.int64)
    used = np.flatnonzero(column)
    for i in range(rank):
        row, total = rows[i], np.int64(0)
        for j in used:
            entry = column[j]
            total += row[j] if entry == 1 else row[j] * entry % prime
        found[i] = total % prime
    return found


@compiled()
def cleared(made: Ints, reduced: Ints, factors: Ints, rank: int, prime: int) -> None:
    """Take the new row, number `rank`, away from the others as often as they are over its pivot."""
    used = np.flatnonzero(made[rank])
    for i in range(rank):
        factor = prime - factors[i]
        if factors[i] == 0:
            continue
        for j in used:
            made[i, j] = (made[i, j] + factor * made[rank, j]) % prime
        for name in range(reduced.shape[1]):
            reduced[i, name] = (reduced[i, name] + factor * reduced[rank, name]) % prime


@cache
def drawn_prime() -> int:
    """A prime between 2³⁰ and 2³¹, drawn anew by each process: products of two residues fit 64 bits."""
    draw = np.random.default_rng(secrets.randbits(128))
    while True:
        found = int(draw.integers(2**30, 2**31)) | 1
        if all(found % each for each in range(3, isqrt(found) + 1, 2)):
            return found


def small_fraction(residue: int, prime: int) -> Fraction | None:
    """The fraction of small numbers that a residue is, by Euclid's algorithm; None where there is none."""
    most = isqrt(prime // 2)
    before, rest, left, right = prime, residue, 0, 1
    while rest > most:
        times = before // rest
        before, rest, left, right = rest, before - times * rest, right, left - times * right
    return Fraction(rest, right) if 0 < abs(right) <= most else None
