"""Pairs of answers that differ by one record: the differencing that people look for first.

Each sum has a hash that adds up as the sum does, so a pair is found by looking up the hash less the record's.
Answers that earlier ones settle count here too: two that differ by a record say more to a reader than twenty
of which the same follows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditor.history.parties import Source
from cae_sql.inference.facts.query import Ints

MOST_MEMBERS = 20_000_000
"""Records of all sums together that are kept."""


class Differences:
    """The plain sums that somebody was told, by a hash of their records."""

    def __init__(self, size: int) -> None:
        """Of a column of so many records."""
        generator = np.random.default_rng(20130527)
        self._random: NDArray[np.int64] = generator.integers(-(2**62), 2**62, size)
        self._hashes: dict[int, Source] = {}
        self._members = 0
        self._sorted: tuple[int, NDArray[np.int64]] = (0, np.zeros(0, np.int64))

    def add(self, source: Source) -> None:
        """Take a sum, if it is one without weights."""
        fact = source.fact
        if fact.kind not in ("sum", "row") or fact.coefficients is not None or fact.digits:
            return
        if self._members + len(fact.records) > MOST_MEMBERS:
            return
        with np.errstate(over="ignore"):
            name = int(self._random[fact.records].sum())
        if name not in self._hashes:
            self._hashes[name] = source
            self._members += len(fact.records)

    @property
    def sources(self) -> list[Source]:
        """What was taken, in order."""
        return list(self._hashes.values())

    def of(self, records: Ints) -> tuple[Source, Source] | None:
        """The first two that differ by some records: with them, and without them."""
        count = len(self._hashes)
        if self._sorted[0] != count:
            self._sorted = count, np.sort(np.fromiter(self._hashes, np.int64, count))
        names = self._sorted[1]
        with np.errstate(over="ignore"):
            without = names - self._random[records].sum()
        places = np.searchsorted(names, without)
        found = np.flatnonzero((places < count) & (names[np.minimum(places, count - 1)] == without))
        pairs = [
            (self._hashes[int(names[place])], self._hashes[int(without[place])]) for place in found.tolist()
        ]
        pairs = [pair for pair in pairs if _differ_by(pair, records)]
        return min(pairs, key=_age) if pairs else None


def _age(pair: tuple[Source, Source]) -> tuple[int, int]:
    numbers = sorted(source.cited.number for source in pair)
    return numbers[1], numbers[0]


def _differ_by(pair: tuple[Source, Source], records: Ints) -> bool:
    """Checked, since hashes may deceive."""
    larger, smaller = (source.fact.records for source in pair)
    if len(larger) != len(smaller) + len(records):
        return False
    return np.array_equal(np.setdiff1d(larger, smaller, assume_unique=True), records)
