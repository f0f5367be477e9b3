"""Where sums are no bell: a prior, or tilts, that put values in heaps.

The formula of `bell` takes what the others add to a sum for spread evenly over its lattice. If nearly
everybody has 0 or 10 it is not: the sum of eight others is a multiple of 10, and somebody with 5 in a few
such sums is found. As a Fourier integral the chance of a sum has, besides the main lobe, which is the bell,
one more of about the same shape at each frequency f at which

    Π_{j ≠ i} |φ_j(f)|,   φ_j(f) = E exp(2πi f x_j) under p⁰_j,

is not small: what is known is known modulo 1/f. It is looked at for f = k/d, d = 2 … T (T + 1 values), of
each sum and of each difference of two that share somebody, two records left out: the one that is judged, and
an insider. What a bell has itself at f is no fault of it.

Promise: of the frequencies that are looked at, nobody is left unmarked who is in a sum, or a difference of
two, whose lobes are not small. Up to 28 values these are all; of more, the `MOST` at which the prior, under
whatever tilt, hides least: a choice, no bound. Combinations of three sums and more are not looked at.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.posterior.observations import Observations
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt, Windows

Flags = NDArray[np.bool_]

SMALL = 0.05
"""A lobe, as part of the main one, that is none; of all sums that somebody is in, the root of their squares:
odds change by about twice as much."""
NOTHING = 7.0
"""−log of a lobe that is not looked at: a thousand sums of such ones come to less than `SMALL`."""
HIDDEN = 3.0
"""−log `SMALL`."""
MOST, FINEST = 128, 512
"""Frequencies that are looked at, and the greatest d. All of them up to 28 values of the domain."""
REFERENCES = 17
"""Tilts at which frequencies are chosen: from one end of the domain to the other."""
STEEPEST = 40.0
"""The greatest tilt, over the domain, of which hiding is listed; of steeper ones nobody hides anything."""
LISTED = 401
"""Tilts at which it is listed."""
AT_ONCE = 4_000_000
"""Characters that are worked out at once."""


@dataclass(frozen=True, eq=False)
class Characters:
    """−log |φ| of one record, by frequency. Shapes: f frequencies, q columns."""

    observed: Observations
    theta: Floats
    """(q,)"""
    tilt: Tilt
    top: int
    """Greatest value of a record, in units."""

    @cached_property
    def frequencies(self) -> Floats:
        """(f,) in 1 / units."""
        return _frequencies(_Named(self.tilt))

    @cached_property
    def least(self) -> Floats:
        """(q,) a bound from below over all frequencies; ∞ where there are none."""
        seen, found = self.observed, np.full(len(self.theta), np.inf)
        if not len(self.frequencies):
            return found
        whole = np.zeros(len(found), dtype=np.bool_)
        people = slice(0, seen.people)
        whole[people] = (seen.low[people] == 0) & (seen.high[people] == self.top)
        tilts, hides = _listed(_Named(self.tilt), self.top)
        some = np.flatnonzero(whole)
        place = np.searchsorted(tilts, self.theta[some])
        near = np.clip(np.stack([place - 1, place]), 0, len(tilts) - 1)
        found[some] = np.where((place == 0) | (place == len(tilts)), 0.0, hides[near].min(axis=0))
        for part in _blocks(np.flatnonzero(~whole), len(self.frequencies) * self.tilt.windows.count):
            found[part] = self.costs(part).min(axis=0)
        return found

    def costs(self, columns: Ints) -> Floats:
        """(f, c) of some columns."""
        seen, found = self.observed, np.empty((len(self.frequencies), len(columns)))
        people = columns < seen.people
        mine = columns[people]
        rows = self.tilt.rows(seen.low[mine], seen.high[mine], self.theta[mine])
        found[:, people] = np.abs(waves(self.tilt.windows, self.frequencies) @ rows.T)
        slack = columns[~people]
        found[:, ~people] = _of_boxes(seen.high[slack], self.theta[slack], self.frequencies)
        costs: Floats = -np.log(np.clip(found, np.exp(-NOTHING), 1.0))
        return costs


def waves(windows: Windows, frequencies: Floats) -> np.ndarray:
    """(t, w) E exp(2πi f u) for u spread evenly over each window."""
    within = np.exp(2j * np.pi * np.outer(frequencies, np.arange(windows.width))).mean(axis=1)
    starts = np.arange(windows.count) * windows.width
    found: np.ndarray = np.exp(2j * np.pi * np.outer(frequencies, starts)) * within[:, None]
    return found


def in_heaps(characters: Characters, variances: Floats) -> Flags:
    """(q,) columns of which some sum, or difference of two, is no bell for one of their records.

    Args:
        characters: Of the answered sums.
        variances: (q,) of one record of each column.
    """
    seen = characters.observed
    found = np.zeros(len(variances), dtype=np.bool_)
    if not seen.matrix.nnz or not len(characters.frequencies):
        return found
    lobes = _Lobes(characters, variances)
    squares = np.zeros((len(lobes.frequencies), len(found)))
    for row in lobes.open_rows.tolist():
        columns = lobes.columns_of(row)
        squares[:, columns] += lobes.of(columns)[:, None] ** 2
    found |= (squares > SMALL**2).any(axis=0)
    for one, other in lobes.open_pairs:
        columns = lobes.difference(one, other)
        if len(columns) and not found[columns].all() and (lobes.of(columns) > SMALL).any():
            found[columns] = True
    found[seen.people :] = False
    return found


class _Lobes:
    """What is left of each combination of sums at each frequency, two records left out."""

    def __init__(self, characters: Characters, variances: Floats) -> None:
        """Nothing is worked out but what is hidden at a glance."""
        self._characters, self._variances = characters, variances
        self._seen, self.frequencies = characters.observed, characters.frequencies
        # at so many units from a whole number of turns
        turns = np.abs(self.frequencies - np.rint(self.frequencies))
        self._bell = 0.5 * (2 * np.pi * turns) ** 2
        rows = self._seen.rows
        pattern = scipy.sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
        self._pattern = pattern
        least = np.minimum(characters.least, NOTHING)
        self._hides = self._seen.sizes * least
        self._most = 2.0 * float(least.max(initial=0.0))
        """What two records hide, at most."""
        self._place, self._held = np.full(len(variances), -1), np.empty((len(self.frequencies), 0))

    @cached_property
    def _by_row(self) -> Floats:
        found: Floats = self._pattern @ self._hides
        return found

    @property
    def open_rows(self) -> Ints:
        """Sums that are not hidden at a glance."""
        return np.flatnonzero(self._by_row < NOTHING + self._most)

    @property
    def open_pairs(self) -> list[tuple[int, int]]:
        """Pairs of sums that share somebody, and whose difference is not hidden at a glance."""
        seen, (count, columns) = self._seen, self._pattern.shape
        if count < 2:
            return []
        # of the others: those in only one of the two, by the least that anybody hides
        floor = float(np.min(self._hides / seen.sizes, initial=NOTHING))
        if floor > 0 and _symmetric(seen).min() * floor >= NOTHING + self._most:
            return []
        weighted = self._pattern * self._hides[None, :columns]
        shared = (scipy.sparse.csr_array(weighted) @ self._pattern.T).toarray()
        together = (self._pattern @ self._pattern.T).toarray() > 0
        apart = self._by_row[:, None] + self._by_row - 2 * shared
        open_ = np.triu(together & (apart < NOTHING + self._most), 1)
        return [(int(one), int(other)) for one, other in zip(*np.nonzero(open_), strict=True)]

    def columns_of(self, row: int) -> Ints:
        """Of a sum."""
        rows = self._seen.rows
        found: Ints = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].astype(np.int64)
        return found

    def difference(self, one: int, other: int) -> Ints:
        """Columns that one of two sums has and the other has not, each divided by its size of coefficients.

        Who is in both with opposite signs is in the difference twice, and is taken to hide nothing.
        """
        found: Ints = np.setxor1d(self.columns_of(one), self.columns_of(other))
        return found

    def of(self, columns: Ints) -> Floats:
        """(f,) of the sum over some columns: how much more is there than a bell has."""
        costs = self._cost(columns)
        sizes, people = self._seen.sizes[columns], columns < self._seen.people
        cost, spread = costs @ sizes, self._variances[columns] * sizes
        twice = np.repeat(np.flatnonzero(people), np.minimum(sizes[people], 2))
        most, greatest = costs[:, twice], self._variances[columns][twice]
        if len(twice) > 2:
            most = np.partition(most, len(twice) - 2, axis=1)[:, -2:]
            greatest = np.partition(greatest, len(twice) - 2)[-2:]
        left = np.maximum(cost - most.sum(axis=1), 0.0)
        bell = self._bell * max(float(spread.sum() - greatest.sum()), 0.0)
        found: Floats = np.maximum(np.exp(-left) - np.exp(-bell), 0.0)
        return found

    def _cost(self, columns: Ints) -> Floats:
        missing = columns[self._place[columns] < 0]
        if len(missing):
            self._place[missing] = self._held.shape[1] + np.arange(len(missing))
            parts = [self._characters.costs(part) for part in _blocks(missing, len(self.frequencies) * 64)]
            self._held = np.hstack([self._held, *parts])
        found: Floats = self._held[:, self._place[columns]]
        return found


def _symmetric(seen: Observations) -> Floats:
    """(pairs,) records that one of two sums has and the other has not, of those that share somebody."""
    rows = seen.rows
    ones = scipy.sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
    shared = (scipy.sparse.csr_array(ones * seen.sizes[None, :]) @ ones.T).toarray()
    own = shared.diagonal()
    apart = own[:, None] + own - 2 * shared
    found: Floats = apart[np.triu(shared > 0, 1)]
    return found if len(found) else np.full(1, np.inf)


def _blocks(columns: Ints, each: int) -> list[Ints]:
    step = max(1, AT_ONCE // max(each, 1))
    return [columns[first : first + step] for first in range(0, len(columns), step)]


def _of_boxes(width: Ints, theta: Floats, frequencies: Floats) -> Floats:
    """(f, s) |φ| of p(u) ∝ exp(θ u), 0 ≤ u ≤ width, (s,) each."""
    tilt = -np.abs(theta)  # the same from the other end

    def total(steep: np.ndarray) -> np.ndarray:
        small = np.abs(steep) < 1e-12
        safe = np.where(small, 1.0, steep)
        found: np.ndarray = np.where(small, width + 1.0, np.expm1(safe * (width + 1)) / np.expm1(safe))
        return found

    turned = total(tilt + 2j * np.pi * frequencies[:, None])
    found: Floats = np.abs(turned) / np.abs(total(tilt + 0j))
    return found


@dataclass(frozen=True, eq=False)
class _Named:
    """A tilt by what it says."""

    tilt: Tilt

    def __hash__(self) -> int:
        return hash(self.tilt.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and self.tilt.name == other.tilt.name


@lru_cache(8)
def _frequencies(named: _Named) -> Floats:
    """(f,) k / d in 1 / units, d up to the windows that the domain has less one; those that hide least."""
    windows = named.tilt.windows
    finest = min(windows.count - 1, FINEST)
    if finest < 2:
        return np.empty(0)
    # within a window values are spread, so there is no symmetry
    most = 0.5 if windows.width == 1 else 1.0
    d = np.repeat(np.arange(2, finest + 1), np.arange(1, finest))
    k = np.concatenate([np.arange(1, each) for each in range(2, finest + 1)])
    some = (np.gcd(k, d) == 1) & (k <= most * d)
    if some.sum() > MOST:
        rows = _reference_rows(named.tilt, np.linspace(-STEEPEST / 2, STEEPEST / 2, REFERENCES))
        excess = _excess(rows, finest, d[some], k[some])
        some = np.flatnonzero(some)[np.argsort(-excess, kind="stable")[:MOST]]
    found: Floats = np.unique(k[some] / d[some]) / windows.width
    return found


def _reference_rows(tilt: Tilt, over_domain: Floats) -> Floats:
    """(r, w) of tilts given over the whole domain."""
    top = tilt.windows.width * tilt.windows.count - 1
    nothing = np.zeros(len(over_domain), dtype=np.int64)
    return tilt.rows(nothing, nothing + top, over_domain / top)


def _excess(rows: Floats, finest: int, d: Ints, k: Ints) -> Floats:
    """(f,) how much more than a bell one record has at k / d, the most by tilt; in windows."""
    count = rows.shape[1]
    places = np.arange(count)
    mean = rows @ places
    variance = rows @ places**2.0 - mean**2
    table = np.zeros((finest + 1, finest))
    for each in range(2, finest + 1):
        folded = np.zeros((len(rows), each * -(-count // each)))
        folded[:, :count] = rows
        characters = np.abs(np.fft.fft(folded.reshape(len(rows), -1, each).sum(axis=1), axis=1))
        turns = np.arange(each) / each
        turns = np.minimum(turns, 1 - turns)
        bell = np.exp(-0.5 * variance[:, None] * (2 * np.pi * turns) ** 2)
        table[each, :each] = (characters - bell).max(axis=0)
    found: Floats = table[d, k]
    return found


@lru_cache(8)
def _listed(named: _Named, top: int) -> tuple[Floats, Floats]:
    """Tilts, ascending, and how much a record with the whole domain hides at least, whatever the
    frequency."""
    tilts = np.linspace(-STEEPEST, STEEPEST, LISTED) / top
    nothing = np.zeros(LISTED, dtype=np.int64)
    rows = named.tilt.rows(nothing, nothing + top, tilts)
    characters = np.abs(waves(named.tilt.windows, _frequencies(named)) @ rows.T)
    return tilts, -np.log(np.clip(characters.max(axis=0), np.exp(-NOTHING), 1.0))
