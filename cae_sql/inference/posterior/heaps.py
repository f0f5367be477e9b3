"""Where sums are no bell: the characteristic function of what the others add, at frequencies other than 0.

The formula of `bell` takes the sum of the others for spread evenly over its lattice. If nearly everybody has
0 or 10 it is not: the sum of eight others is a multiple of 10, and somebody with 5 in a few such sums is
found. As a Fourier integral the chance of a sum has, besides the main lobe, which is the bell, one more of
about the same shape at each frequency f at which

    Π_{j ≠ i} |φ_j(f)|,   φ_j(f) = E exp(2πi f x_j) under p⁰_j,

is not small: what is known is known modulo 1/f. It is looked at for f = k/d, d = 2 … T (T + 1 values), of
each sum and of each difference of two that share somebody, two records left out: the one that is judged, and
an insider. What a bell has itself at f is no fault of it. Combinations modulo primes are those of `residues`.

Promise: of the frequencies that are looked at, nobody is left unmarked who is in a sum, or a difference of
two, whose lobes are not small. Up to 28 values these are all; of more, the `MOST` at which the prior, under
whatever tilt, hides least: a choice, no bound.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from collections.abc import Callable
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
MOST, FINEST = 128, 512
"""Frequencies that are looked at, and the greatest d. All of them up to 28 values of the domain."""
REFERENCES = 17
"""Tilts at which frequencies are chosen: from one end of the domain to the other."""
STEEPEST = 40.0
"""The greatest tilt, over the domain, of which hiding is listed; of steeper ones nobody hides anything."""
LISTED = 401
"""Tilts at which it is listed."""
MANY = 20_000
"""Columns that are looked at at once."""
TINY = 1e-12


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
        whole = (seen.low == 0) & (seen.high == self.top)
        whole[seen.people :] = False
        tilts, hides = _listed(_Named(self.tilt), self.top)
        some, others = np.flatnonzero(whole), np.flatnonzero(~whole)
        place = np.searchsorted(tilts, self.theta[some])
        near = np.clip(np.stack([place - 1, place]), 0, len(tilts) - 1)
        found[some] = np.where((place == 0) | (place == len(tilts)), 0.0, hides[near].min(axis=0))
        for part in np.array_split(others, len(others) // MANY + 1):
            found[part] = self.costs(part).min(axis=0)
        return found

    def costs(self, columns: Ints) -> Floats:
        """(f, c) of some columns under p⁰."""
        return self.costs_at(self.frequencies, columns, self._rows)

    def costs_at(self, frequencies: Floats, columns: Ints, rows: Callable[[Ints], Floats]) -> Floats:
        """(f, c) of some columns at some frequencies, slacks under p⁰.

        Args:
            frequencies: (f,) in 1 / units.
            columns: (c,)
            rows: Of people's columns (r,) the distributions of one record of each, (r, w).
        """
        seen, windows = self.observed, self.tilt.windows
        found, people = np.empty((len(frequencies), len(columns))), np.flatnonzero(columns < seen.people)
        turned = waves(windows, frequencies)
        for part in np.array_split(people, len(people) // MANY + 1):
            found[:, part] = np.abs(turned @ rows(columns[part]).T)
        slack = columns >= seen.people
        found[:, slack] = _of_boxes(seen.high[columns[slack]], self.theta[columns[slack]], frequencies)
        costs: Floats = -np.log(np.clip(found, np.exp(-NOTHING), 1.0))
        return costs

    def without_two(self, each: Floats, columns: Ints) -> Floats:
        """(f,) what the records of some columns have together, but for the two that have most.

        Args:
            each: (f, c) what one record of each column has.
            columns: (c,)
        """
        sizes, people = self.observed.sizes[columns], np.flatnonzero(columns < self.observed.people)
        twice = np.repeat(people, np.minimum(sizes[people], 2))
        most = each[:, twice]
        if len(twice) > 2:
            most = np.partition(most, len(twice) - 2, axis=1)[:, -2:]
        found: Floats = np.maximum(each @ sizes - most.sum(axis=1), 0.0)
        return found

    def _rows(self, columns: Ints) -> Floats:
        """(r, w) p⁰."""
        return self.tilt.rows(self.observed.low[columns], self.observed.high[columns], self.theta[columns])


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
    seen, found = characters.observed, np.zeros(len(variances), dtype=np.bool_)
    if not seen.matrix.nnz or not len(characters.frequencies):
        return found
    members = np.split(seen.rows.indices.astype(np.int64), seen.rows.indptr[1:-1])
    sums, pairs = _open(characters)
    differences = [np.setxor1d(members[one], members[other]) for one, other in pairs]
    some = [members[row] for row in sums]
    if not some and not differences:
        return found
    lobes = _Lobes(characters, variances, np.unique(np.concatenate([*some, *differences])))
    squares = np.zeros((len(characters.frequencies), len(found)))
    for columns in some:
        squares[:, columns] += lobes.of(columns)[:, None] ** 2
    found |= (squares > SMALL**2).any(axis=0)
    for columns in differences:
        if not found[columns].all() and (lobes.of(columns) > SMALL).any():
            found[columns] = True
    found[seen.people :] = False
    return found


def _open(characters: Characters) -> tuple[list[int], list[list[int]]]:
    """Sums, and pairs of sums that share somebody, that are not hidden at a glance.

    Coefficients count by whether they are 0. Who is in both of two sums with opposite signs is in their
    difference twice, and is taken to hide nothing.
    """
    seen, least = characters.observed, np.minimum(characters.least, NOTHING)
    rows, most = seen.rows, 2.0 * float(least.max(initial=0.0))  # two records hide no more
    pattern = scipy.sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
    # so that two sums that share nobody but those who hide nothing share somebody
    hides = seen.sizes * np.maximum(least, TINY)
    shared = (scipy.sparse.csr_array(pattern * hides[None, :]) @ pattern.T).toarray()
    own = shared.diagonal()
    apart = own[:, None] + own - 2 * shared
    pairs = np.argwhere(np.triu((shared > 0) & (apart < NOTHING + most), 1))
    return np.flatnonzero(own < NOTHING + most).tolist(), pairs.tolist()


class _Lobes:
    """What is left of combinations of sums at each frequency, two records left out."""

    def __init__(self, characters: Characters, variances: Floats, columns: Ints) -> None:
        """Of combinations over some columns, ascending."""
        self._characters, self._variances, self._columns = characters, variances, columns
        self._costs = characters.costs(columns)
        # at so many units from a whole number of turns
        turns = np.abs(characters.frequencies - np.rint(characters.frequencies))
        self._bell = 0.5 * (2 * np.pi * turns) ** 2

    def of(self, columns: Ints) -> Floats:
        """(f,) of the sum over some columns: how much more is there than a bell has."""
        left = self._characters.without_two(self._costs[:, np.searchsorted(self._columns, columns)], columns)
        spread = self._characters.without_two(self._variances[None, columns], columns)
        found: Floats = np.maximum(np.exp(-left) - np.exp(-self._bell * spread), 0.0)
        return found


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
        top = windows.width * windows.count - 1
        rows = _whole(named.tilt, top, np.linspace(-STEEPEST / 2, STEEPEST / 2, REFERENCES) / top)
        excess = _excess(rows, finest, d[some], k[some])
        some = np.flatnonzero(some)[np.argsort(-excess, kind="stable")[:MOST]]
    found: Floats = np.unique(k[some] / d[some]) / windows.width
    return found


def _whole(tilt: Tilt, top: int, theta: Floats) -> Floats:
    """(r, w) of records with the whole domain, by θ (r,)."""
    nothing = np.zeros(len(theta), dtype=np.int64)
    return tilt.rows(nothing, nothing + top, theta)


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
    rows = _whole(named.tilt, top, tilts)
    characters = np.abs(waves(named.tilt.windows, _frequencies(named)) @ rows.T)
    return tilts, -np.log(np.clip(characters.max(axis=0), np.exp(-NOTHING), 1.0))
