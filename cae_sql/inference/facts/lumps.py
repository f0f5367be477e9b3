"""Lumps: many records that nobody tells apart, as one thing that has the sum of their values.

Of a cell, the records that agree in everything public, a few stand in a system one by one. The others stand
as lumps of 1, 2, 4, 8, … records each, at most one of a size. The values of q records on the grid 0..top add
up to any whole number from 0 to q · top and to no other. So a table of all records that agrees with answered
sums leaves, each lump's values added up, one of records and lumps; and of every table of records and lumps
there is one of all records. What is possible for the records of a system is the same in both: for one of
them, for two together, for all.

As long as every query has all of a cell or nothing of it, a record that went into a lump can change places
with one that stands by itself. So what holds of these holds of all of the cell; of a record and an insider
too where at least two stand by themselves. Lumps are nobody's: none is judged and none is an insider.

Promise: memory and time hang on how many cells there are, not on how many records.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Ints, Name, Query

NO_LUMPS: Ints = np.zeros(0, dtype=np.int64)
FEWEST = 4
"""Records of a cell that stand by themselves at least: one who is judged, an insider, and two more who may
have the cell's least and greatest value in place of somebody who went into a lump."""


def in_lumps(count: int, kept: int) -> tuple[int, Ints]:
    """How many of the records of one cell stand by themselves, and (m,) how many each lump stands for.

    From twice `kept` on there are lumps; then `kept` records, or up to twice as many, stand by themselves, so
    that the lumps are few.

    Raises:
        InvalidInput: fewer than none, or fewer kept than `FEWEST`.
    """
    if count < 0 or kept < FEWEST:
        raise InvalidInput(f"a cell needs a count of at least 0 and {FEWEST} or more kept records")
    if count < 2 * kept:
        return count, NO_LUMPS
    least = 1 << (kept.bit_length() - 1)  # what does not fill a lump of that size stays
    rest = (count - kept) // least * least
    sizes = [1 << place for place in range(rest.bit_length()) if rest >> place & 1]
    return count - rest, np.array(sizes, dtype=np.int64)


def checked(lumps: ArrayLike | None) -> Ints:
    """(m,) how many records each lump stands for.

    Raises:
        InvalidInput: something else than powers of two.
    """
    if lumps is None:
        return NO_LUMPS
    given = np.asarray(lumps)
    if given.shape == (0,):
        return NO_LUMPS
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InvalidInput("lumps must be a list of whole numbers: how many records each stands for")
    wrong = np.flatnonzero((given < 1) | (given & (given - (given > 0)) != 0))
    if len(wrong):
        place = int(wrong[0])
        raise InvalidInput(f"lump {place} stands for {given[place]} records: a power of two is needed", place)
    return given.astype(np.int64)


class Named:
    """Which records answers treat as a lump: those may have its extremes in its place."""

    def __init__(self, size: int, lumps: Ints) -> None:
        """So many records and lumps, which before any answer are all treated alike."""
        self._size, self._lumps = size, lumps
        self._forget()

    def _forget(self) -> None:
        self._answers: list[Query] = []
        self._names = np.zeros(self._size + len(self._lumps), dtype=np.uint64)
        self._extreme = np.zeros(len(self._lumps), dtype=np.bool_)
        self._said: tuple[list[Name], bool] | None = None
        """Of what was asked besides the last time; a gate asks several times on the way to one verdict."""

    def fit(self, answers: Sequence[Query], queries: Sequence[Query]) -> bool:
        """Whether beside each lump in an extreme there are `FEWEST` records that all of these treat as it.

        By names that are drawn at random: where two are alike by chance, of 2^64, it may be mistaken. More
        answers the next time cost no more than what is new.
        """
        if self._answers != list(answers[: len(self._answers)]):
            self._forget()
        for answer in answers[len(self._answers) :]:
            self._take(answer)
            self._said = None
        asked = [query.name for query in queries]
        if self._said is None or self._said[0] != asked:
            self._said = asked, self._fit_with(queries)
        return self._said[1]

    def _fit_with(self, queries: Sequence[Query]) -> bool:
        if not queries:
            return self._all_beside()
        with_queries = copy(self)
        with_queries._answers = list(self._answers)
        with_queries._names, with_queries._extreme = self._names.copy(), self._extreme.copy()
        for query in queries:
            with_queries._take(query)
        return with_queries._all_beside()

    def _all_beside(self) -> bool:
        mine = self._names[self._size :][self._extreme]
        if not len(mine):
            return True
        names, counts = np.unique(self._names[: self._size], return_counts=True)
        place = np.minimum(np.searchsorted(names, mine), len(names) - 1)
        return bool(((names[place] == mine) & (counts[place] >= FEWEST)).all())

    def _take(self, answer: Query) -> None:
        own = int(np.searchsorted(answer.members, len(self._names)))  # without spare records
        members = answer.members[:own]
        name = np.random.default_rng(len(self._answers)).integers(1, 2**64, dtype=np.uint64)
        signs = None if answer.coefficients is None else answer.coefficients[:own].astype(np.uint64)
        self._names[members] += name if signs is None else name * signs
        if answer.kind != "sum":
            lumps = members[members >= self._size] - self._size
            self._extreme[lumps[self._lumps[lumps] > 1]] = True
        self._answers.append(answer)


def weight(query: Query, size: int, lumps: Ints) -> tuple[int, int]:
    """The positive and the negative coefficients of a sum added up, each lump's once for every record in it.

    `size` records stand by themselves; lumps follow; whoever comes behind them counts once.
    """
    signs = np.ones(len(query.members), dtype=np.int64) if query.coefficients is None else query.coefficients
    first, last = np.searchsorted(query.members, [size, size + len(lumps)])
    if first < last:
        signs = signs.copy()
        signs[first:last] *= lumps[query.members[first:last] - size]
    return int(signs[signs > 0].sum()), int(signs[signs < 0].sum())
