"""Where sums are no bell: the characteristic function of what the others add, at frequencies other than 0.

The formula of `bell` takes the sum of the others for spread evenly over its lattice. If nearly everybody has
0 or 10 it is not, and somebody with 5 in a few sums is found. As a Fourier integral the chance of a sum has,
besides the main lobe, which is the bell, one more at each frequency f at which

    Π_{j ≠ i} |φ_j(f)|,   φ_j(f) = E exp(2πi f x_j) under p⁰_j,

is not small: what is known is known modulo 1/f. It is looked at for f = k/d, d = 2 … T (T + 1 values), of
each sum and of each difference of two that overlap, two records left out: the one that is judged, and an
insider. What a bell has itself at f is subtracted. Combinations modulo primes are those of `residues`.

Promise: of the frequencies that are looked at, every record in a sum, or a difference of two, whose lobes are
not small is marked. Up to 28 values these are all; of more, the `MOST` at which the prior, under
whatever tilt, hides least: a choice, no bound.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.inference.posterior.leverage import Observations
from cae_sql.inference.posterior.tilt import Tilt, Windows, log_geometric
from cae_sql.inference.posterior.weights import Flags, Floats, Ints

Frequencies = tuple[float, ...]

SMALL = 0.05
"""The root of the squares of all lobes of a record, as parts of the main ones, that is none: odds change by
about twice as much."""
NOTHING = 7.0
"""−log of a lobe that is not looked at: a thousand sums of such ones come to less than `SMALL`."""
MOST, FINEST = 128, 128
"""Frequencies that are looked at, and the greatest d. Of heaps that are further apart a multiple of their
frequency is near one of these."""
REFERENCES = 17
"""Tilts at which frequencies are chosen: from one end of the domain to the other."""
STEEPEST, LISTED = 40.0, 401
"""The greatest tilt, over the domain, at which hiding is listed, and how many are; steeper, nothing hides."""
MANY = 20_000
"""Columns that are looked at at once."""
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Characters:
    """−log |φ| of one record, by frequency. Shapes: f frequencies, q columns."""

    observed: Observations
    theta: Floats
    tilt: Tilt
    top: int
    """Greatest value of a record, in units."""

    @property
    def frequencies(self) -> Frequencies:
        """(f,) in 1 / units."""
        return _frequencies(self.tilt)

    @cached_property
    def least(self) -> Floats:
        """(q,) a lower bound over all frequencies; ∞ where there are none."""
        seen, found = self.observed, np.full(len(self.theta), np.inf)
        if not len(self.frequencies):
            return found
        whole = (seen.low == 0) & (seen.high == self.top)
        whole[seen.people :] = False
        tilts, hides = _listed(self.tilt, self.top)
        some, others = np.flatnonzero(whole), np.flatnonzero(~whole)
        place = np.searchsorted(tilts, self.theta[some])
        near = np.clip(np.stack([place - 1, place]), 0, len(tilts) - 1)
        found[some] = np.where((place == 0) | (place == len(tilts)), 0.0, hides[near].min(axis=0))
        for part in np.array_split(others, len(others) // MANY + 1):
            found[part] = self.costs(part).min(axis=0)
        return found

    def costs(
        self,
        columns: Ints,
        frequencies: Frequencies | None = None,
        rows: Callable[[Ints], Floats] | None = None,
    ) -> Floats:
        """(f, c) of some columns, at `frequencies` or some others: under p⁰, or of people's columns (r,) by
        other distributions of one record of each, `rows` (r, w)."""
        frequencies = self.frequencies if frequencies is None else frequencies
        rows = self._plain if rows is None else rows
        seen, windows = self.observed, self.tilt.windows
        found, people = np.empty((len(frequencies), len(columns))), np.flatnonzero(columns < seen.people)
        turned = waves(windows.width, windows.count, frequencies)
        for part in np.array_split(people, len(people) // MANY + 1):
            found[:, part] = np.abs(turned @ rows(columns[part]).T)
        slack = columns >= seen.people
        found[:, slack] = _of_boxes(seen.high[columns[slack]], self.theta[columns[slack]], frequencies)
        costs: Floats = -np.log(np.clip(found, np.exp(-NOTHING), 1.0))
        return costs

    def _plain(self, columns: Ints) -> Floats:
        """(r, w) p⁰ of some columns of somebody."""
        return self.tilt.rows(self.observed.low[columns], self.observed.high[columns], self.theta[columns])

    def without_two(self, each: Floats, columns: Ints) -> Floats:
        """(f,) sums over the records of some columns (c,), except the two that have most, by what one record
        of each has, `each` (f, c)."""
        sizes, people = self.observed.sizes[columns], np.flatnonzero(columns < self.observed.people)
        twice = np.repeat(people, np.minimum(sizes[people], 2))
        most = each[:, twice]
        if len(twice) > 2:
            most = np.partition(most, len(twice) - 2, axis=1)[:, -2:]
        found: Floats = np.maximum(each @ sizes - most.sum(axis=1), 0.0)
        return found


@lru_cache(64)
def waves(width: int, count: int, frequencies: Frequencies) -> np.ndarray:
    """(f, w) E exp(2πi f u) for u spread evenly over each of `count` windows."""
    within = np.exp(2j * np.pi * np.outer(frequencies, np.arange(width))).mean(axis=1)
    found: np.ndarray = np.exp(2j * np.pi * np.outer(frequencies, np.arange(count) * width)) * within[:, None]
    return found


def in_heaps(characters: Characters, variances: Floats) -> Flags:
    """(q,) columns with some sum, or difference of two, that is no bell, for one of their records, whose
    `variances` are (q,)."""
    seen, found = characters.observed, np.zeros(len(variances), dtype=np.bool_)
    if not seen.matrix.nnz or not len(characters.frequencies):
        return found
    some = _open(characters)
    looked_at = np.unique(np.concatenate([*some, np.zeros(0, dtype=np.int64)]))
    costs, turns = characters.costs(looked_at), np.array(characters.frequencies)
    turns -= np.rint(turns)  # at so many units from a whole number of turns
    squares = np.zeros((len(turns), len(found)))
    for columns in some:
        left = characters.without_two(costs[:, np.searchsorted(looked_at, columns)], columns)
        spread = characters.without_two(variances[None, columns], columns)
        lobes = np.maximum(np.exp(-left) - np.exp(-0.5 * (2 * np.pi * turns) ** 2 * spread), 0.0)
        squares[:, columns] += lobes[:, None] ** 2
    found |= (squares > SMALL**2).any(axis=0)
    found[seen.people :] = False
    return found


def _open(characters: Characters) -> list[Ints]:
    """Columns of sums, and of differences of two that overlap, whose lobes are not bounded to be small.

    Coefficients count by whether they are 0. A column that is in both of two sums with opposite signs is in
    their difference twice, and is taken to hide nothing.
    """
    seen, least = characters.observed, np.minimum(characters.least, NOTHING)
    rows, most = seen.rows, 2.0 * float(least.max(initial=0.0))  # two records hide no more
    pattern = scipy.sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
    # so that two sums that share only records of no variance share somebody
    hides = seen.sizes * np.maximum(least, TINY)
    shared = (scipy.sparse.csr_array(pattern * hides[None, :]) @ pattern.T).toarray()
    own = shared.diagonal()
    apart = own[:, None] + own - 2 * shared
    pairs = np.argwhere(np.triu((shared > 0) & (apart < NOTHING + most), 1))
    members = np.split(rows.indices.astype(np.int64), rows.indptr[1:-1])
    sums = [members[row] for row in np.flatnonzero(own < NOTHING + most)]
    return sums + [np.setxor1d(members[one], members[other]) for one, other in pairs]


def _of_boxes(width: Ints, theta: Floats, frequencies: Frequencies) -> Floats:
    """(f, s) |φ| of p(u) ∝ exp(θ u), 0 ≤ u ≤ width, (s,) each."""
    turn, count = 2j * np.pi * np.array(frequencies)[:, None], (width + 1).astype(np.float64)
    steps = turn - np.abs(theta)
    sums = np.expm1(steps * count) / np.expm1(np.where(turn == 0, -1.0, steps))
    found: Floats = np.abs(sums) / np.exp(log_geometric(-np.abs(theta), count))
    return np.where(turn == 0, 1.0, found)


@lru_cache(8)
def _frequencies(tilt: Tilt) -> Frequencies:
    """k / d in 1 / units, d up to the windows that the domain has less one: those that hide least."""
    windows = tilt.windows
    finest = min(windows.count - 1, FINEST)
    found = np.unique([k / d for d in range(2, finest + 1) for k in range(1, d)])
    if windows.width == 1:
        found = found[found <= 0.5]  # the others are their conjugates; within a window values are spread
    found = found / windows.width
    if len(found) > MOST:
        top = windows.width * windows.count - 1
        rows = _whole(tilt, top, np.linspace(-STEEPEST / 2, STEEPEST / 2, REFERENCES) / top)
        places = (np.arange(windows.count) + 0.5) * windows.width
        variance = rows @ places**2 - (rows @ places) ** 2
        bell = np.exp(-0.5 * variance * (2 * np.pi * found[:, None]) ** 2)
        pieces = np.array_split(found, len(found) // MOST)
        excess = np.vstack([_sizes(windows, tuple(part.tolist()), rows) for part in pieces]) - bell
        found = np.sort(found[np.argsort(-excess.max(axis=1), kind="stable")[:MOST]])
    return tuple(found.tolist())


def _sizes(windows: Windows, frequencies: Frequencies, rows: Floats) -> Floats:
    """(f, r) |φ| of distributions (r, w)."""
    return np.abs(waves.__wrapped__(windows.width, windows.count, frequencies) @ rows.T)


def _whole(tilt: Tilt, top: int, theta: Floats) -> Floats:
    """(r, w) of records with the whole domain, by θ."""
    nothing = np.zeros(len(theta), dtype=np.int64)
    return tilt.rows(nothing, nothing + top, theta)


@lru_cache(8)
def _listed(tilt: Tilt, top: int) -> tuple[Floats, Floats]:
    """Tilts, ascending, and how much a record with the whole domain hides at least, at any frequency."""
    tilts = np.linspace(-STEEPEST, STEEPEST, LISTED) / top
    most = _sizes(tilt.windows, _frequencies(tilt), _whole(tilt, top, tilts)).max(axis=0)
    return tilts, -np.log(np.clip(most, np.exp(-NOTHING), 1.0))
