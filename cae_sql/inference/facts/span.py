"""Which sums answered ones settle linearly, sum by sum, whatever the number of records.

The answered sums are kept in reduced form modulo a prime: each has a *pivot* record that no other reduced sum
is over. Of the reduced sums themselves only random multiples are kept, and how they come from the sums as
asked. So to look at a sum takes as many steps as it has records; only an independent one costs the square of
the rank. A record that the sums settle is a pivot whose reduced sum is over that record alone.

An independent sum is taken for a settled one with a chance below 2⁻²⁵: prime and multiples are drawn anew by
each process, so nobody can make a sum for it. The other way round it cannot happen. What adds up to a record
is checked in fractions.

Source: linear algebra modulo a prime; random multiples as in Freivalds, "Probabilistic machines can use less
running time", 1977.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import cache
from math import isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints, Query

SAMPLED, CHUNK = 64, 4_096
"""Records among which a pivot is looked for first, and at a time then."""


class Span:
    """All sums that some sums over n records settle; it grows by `take`, which makes new arrays."""

    def __init__(self, size: int) -> None:
        """No sum yet, over so many records."""
        draw = np.random.default_rng(secrets.randbits(128))
        self._prime = drawn_prime()
        self._names: Ints = draw.integers(1, self._prime, (size, 2))
        """(n, 2) the records' random multiples."""
        self.rows: list[Query] = []
        """The independent sums, in order."""
        self._pivots: Ints = np.zeros(0, dtype=np.int64)
        """(k,) pivot record of each reduced sum."""
        self._made: Ints = np.zeros((0, 0), dtype=np.int64)
        """(k, k) how reduced sums come from those as asked."""
        self._reduced: Ints = np.zeros((0, 2), dtype=np.int64)
        """(k, 2) multiples of the reduced sums."""

    @property
    def rank(self) -> int:
        """Independent sums taken."""
        return len(self.rows)

    def copy(self) -> Span:
        """An independent one."""
        twin = copy(self)
        twin.rows = list(self.rows)
        return twin

    def take(self, query: Query) -> bool:
        """Take a sum; False where those before settle it, and then nothing changes."""
        weights, left = self._left(query)
        if not left.any():
            return False
        prime, rank = self._prime, self.rank
        mix = _times(weights, self._made, prime)
        pivot, entry, column = self._pivot(query, mix)
        factors, inverse = _times(column, self._made.T, prime), pow(entry, -1, prime)
        made, reduced = np.pad(self._made, ((0, 1), (0, 1))), np.pad(self._reduced, ((0, 1), (0, 0)))
        made[rank, :rank], made[rank, rank] = -mix * inverse % prime, inverse
        reduced[rank] = left * inverse % prime
        # the new row is taken away from the others as often as they are over its pivot
        some = np.flatnonzero(factors)
        times = (prime - factors[some])[:, None]
        for rows in (made, reduced):
            rows[some] = (rows[some] + times * rows[rank]) % prime
        self._made, self._reduced, self._pivots = made, reduced, np.append(self._pivots, pivot)
        self.rows.append(query)
        return True

    def settled(self) -> Ints:
        """The records that the sums add up to, ascending."""
        alone = (self._reduced == self._names[self._pivots]).all(axis=1)
        found: Ints = np.sort(self._pivots[alone])
        return found

    def combination(self, records: Ints) -> list[tuple[int, Fraction]]:
        """Which of the sums taken, from 0, add up to that of some records, and with which weights, none 0.

        There is no other such combination. Empty where there is none, or of no small fractions.
        """
        weights, left = self._left(Query(kind="sum", members=records))
        if left.any() or not self.rows:
            return []
        residues = _times(weights, self._made, self._prime).tolist()
        fractions = [small_fraction(residue, self._prime) for residue in residues]
        found = [(row, weight) for row, weight in enumerate(fractions) if weight]
        if None in fractions:
            return []
        total, common = added_up([(self.rows[row], weight) for row, weight in found], len(self._names))
        total[records] -= common
        return [] if total.any() else found

    def _left(self, query: Query) -> tuple[Ints, Ints]:
        """A sum's coefficients at the pivots, and the multiples of what is left without these."""
        weights, names = self._coefficients([query], self._pivots)[0], self._names[query.members]
        if query.coefficients is not None:
            names = names * (query.coefficients % self._prime)[:, None] % self._prime
        used = np.flatnonzero(weights)
        left: Ints = names.sum(axis=0) - _times(weights[used], self._reduced[used], self._prime)
        return weights, left % self._prime

    def _pivot(self, query: Query, mix: Ints) -> tuple[int, int, Ints]:
        """A record where what is left of an independent sum is not 0, what it is, and the record's column."""
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
    most = sum(
        abs(int(weight * common)) * (1 if q.coefficients is None else int(np.abs(q.coefficients).max()))
        for q, weight in terms
    )
    total: NDArray[Any] = np.zeros(size, dtype=np.int64 if most < 2**62 else object)
    for query, weight in terms:
        own = 1 if query.coefficients is None else query.coefficients.astype(total.dtype)
        total[query.members] += int(weight * common) * own
    return total, common


def _times(one: Ints, other: Ints, prime: int) -> Ints:
    """A product of residues below 2³¹, by halves of sixteen bits: sums of 2¹⁶ products fit 64 bits."""
    found: Ints = ((one >> 16) @ other % prime * 2**16 + (one & 0xFFFF) @ other) % prime
    return found


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
