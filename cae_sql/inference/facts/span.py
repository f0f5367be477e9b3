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

    def take(self, query: Query) -> bool:
        """Take a sum; False where those before settle it, and then nothing changes."""
        weights, left = self._left(query)
        if not left.any():
            return False
        prime, rank = self._prime, self.rank
        mix = _times(weights, self._made[:rank, :rank], prime)
        pivot, entry, column = self._pivot(query, mix)
        if rank == len(self._pivots):
            more = max(FIRST, rank // 2)
            self._pivots = np.pad(self._pivots, (0, more))
            self._made = np.pad(self._made, ((0, more), (0, more)))
            self._reduced = np.pad(self._reduced, ((0, more), (0, 0)))
        factors = _times(column, self._made[:rank, :rank].T, prime)
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
        found = list[tuple[int, Fraction]]()
        for row, residue in enumerate(self._made[place[0], : self.rank].tolist()):
            weight = small_fraction(residue, self._prime)
            if weight is None:
                return []
            if weight:
                found.append((row, weight))
        total, common = added_up([(self.rows[row], weight) for row, weight in found], len(self._names))
        total[record] -= common
        return [] if total.any() else found

    # --- how

    def _left(self, query: Query) -> tuple[Ints, Ints]:
        """A sum's coefficients at the pivots, and what is left of its multiples when these are taken away."""
        prime, members = self._prime, query.members
        self._scratch[members] = 1 if query.coefficients is None else query.coefficients % prime
        weights, names = self._scratch[self._pivots[: self.rank]], self._names[members]
        if query.coefficients is not None:
            names = names * self._scratch[members, None] % prime
        self._scratch[members] = 0
        used = np.flatnonzero(weights)
        left: Ints = (names.sum(axis=0) - _times(weights[used], self._reduced[used], prime)) % prime
        return weights, left

    def _pivot(self, query: Query, mix: Ints) -> tuple[int, int, Ints]:
        """A record where what is left of an independent sum is not 0, what it is there, and its column."""
        prime, size = self._prime, len(self._names)
        some = query.members[:: max(1, len(query.members) // SAMPLED)]
        # where few of its own records do not show it, others do
        for records in (some, *np.array_split(np.arange(size), 1 + size // CHUNK)):
            asked = self._coefficients(self.rows, records)
            left = (self._coefficients([query], records)[0] - _times(mix, asked, prime)) % prime
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


def added_up(terms: Sequence[tuple[Query, Fraction]], size: int) -> tuple[NDArray[Any], int]:
    """Weights times sums: (n,) exact coefficients, times a number, and that number."""
    common = lcm(*(weight.denominator for _, weight in terms))
    largest = [
        1 if query.coefficients is None else int(np.abs(query.coefficients).max()) for query, _ in terms
    ]
    most = sum(abs(int(weight * common)) * each for (_, weight), each in zip(terms, largest, strict=True))
    total: NDArray[Any] = np.zeros(size, dtype=np.int64 if most < 2**62 else object)
    for query, weight in terms:
        own = 1 if query.coefficients is None else query.coefficients.astype(total.dtype)
        total[query.members] += int(weight * common) * own
    return total, common


def _times(one: Ints, other: Ints, prime: int) -> Ints:
    """A matrix product of residues below 2³¹, by halves of sixteen bits: sums of 2¹⁶ products fit 64 bits."""
    found: Ints = ((one >> 16) @ other % prime * 2**16 + (one & 0xFFFF) @ other) % prime
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
