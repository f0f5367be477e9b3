"""What combinations of sums modulo a small number (`residues`) make likely, besides leverage.

The posterior of record i is p⁰_i(v) times the chance that the others make the sums what they are. As a
Fourier integral that chance has a main lobe, which is the formula of `bell`, and one more of the same shape
at each y / m for which y A is 0 modulo m on all but few records: there the many cancel, and what is left is

    p_i(v | sums) ∝ row_i(v) · Re Σ_t exp(2πi (t·c_i v − t·r) / m) Π_{j ≠ i} φ_j(t·c_j / m)

over all t, with φ_j(f) = E exp(2πi f x_j) by the row that the formula gives j. That is the formula's row
times the chance that the others' combination has the residue that is left, all combinations of one
`Combination` together; different ones are taken for independent given the record. Who knows the value of j
besides leaves j out, and the formula's row is the one that the insider sees.

Combinations in which the others hide too well are left out: where the product of all |φ_j|, two records
left out, is below `HIDDEN`, whatever t, no odds of anybody change by more than twice as much times m.

Promise: fail closed. Where too many combinations hang together to be added up, that is said (`open`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.posterior.heaps import waves
from cae_sql.inference.posterior.observations import Observations
from cae_sql.inference.posterior.residues import LARGEST, PRIMES, Combination, search_of
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Windows

HIDDEN = 1e-3
"""A product of |φ| that tells nothing: a hundred such combinations that all pointed one way would change
odds by a fifth."""
TOLD = -math.log(HIDDEN)
DULL = 40.0
"""−log |φ| at most, so that one record alone never hides a combination."""
LITTLE = 0.05
"""Risk that a residue alone brings about for it to be left out: modulo m of L values it is about m / L, since
for ranges up to m about log2(L / m) bits are left in place of log2(L / ε)."""
MOST_TERMS = 4_096
"""Terms of one sum over t."""
MOST_WORK = 200_000_000
"""Terms times pairs of columns of one combination times both their values, at most."""
LISTED = 128
"""Values of an insider that are gone through, at most."""
MOST_SUMS = 1_000
"""Sums up to which combinations are looked for."""
KNOWN = 1 - 1e-6
"""Probability from which a value is known: who has it hides nothing, and nothing more is told of it."""
BROAD = 0.1
"""Variance in units² from which a bell, or p⁰, leaves no value known: nobody's row is looked at for it."""
MANY = 5_000
"""Columns."""
AT_ONCE = 1_024
"""People's columns up to which all rows are worked out once one is wanted."""
SLACK_LISTED = 4_096
"""Width up to which a slack's distribution is listed; a wider one hides everything."""


@dataclass(frozen=True, eq=False)
class Telling:
    """What residues tell. Shapes: q columns, w windows."""

    windows: Windows
    observed: Observations
    parts: list[_Part]
    open: Ints
    """Columns of somebody about whom more combinations are than can be added up, or might be."""

    @classmethod
    def of(
        cls,
        observed: Observations,
        theta: Floats,
        variances: Floats,
        leverage: Floats,
        rows: Callable[[Ints], Floats],
        windows: Windows,
        before: Floats | None = None,
    ) -> Telling:
        """Look for combinations.

        Args:
            observed: The sums.
            theta: (q,) tilts.
            variances: (q,) of one record.
            leverage: (q,) of one record.
            rows: Of columns of somebody (a,) the distributions of one record of each by the formula, (a, w).
            windows: In which values are gathered.
            before: (q,) variances before the last answers, if these are hypothetical. By default their own.
        """
        found, too_many = list[_Part](), [np.zeros(0, dtype=np.int64)]
        values, rank = windows.count, observed.matrix.shape[0]
        powers = _powers(windows)
        if not powers or not 0 < rank <= MOST_SUMS:
            return cls(windows, observed, found, too_many[0])
        characters = _Characters(observed, theta, rows, windows)
        moving, sums = _unsettled(observed, (1.0 - leverage) * variances, rows, windows)
        # of many columns those of many people go first whatever was answered: one search serves all answers
        spans = variances if before is None else before
        if len(moving) > MANY:
            spans = (observed.high - observed.low).astype(np.float64) ** 2
        some, hidden = observed.matrix, _hidden(observed)
        if len(hidden):  # so the ends of one sum share a search
            moving = moving[~np.isin(moving, hidden)]
            kept = np.flatnonzero(np.diff(observed.matrix[:, hidden].tocsr().indptr) == 0)
            some, sums = observed.rows[kept].tocsc(), sums[kept]
        if not some.shape[0]:
            return cls(windows, observed, found, too_many[0])
        some = some if len(moving) == len(spans) else some[:, moving]
        search = search_of(some, (observed.sizes * spans)[moving])
        tops = (observed.sizes * (observed.high - observed.low))[moving]
        listed = min(values * windows.width, LISTED)
        for prime, power in powers:

            def light(
                columns: Ints, coefficients: NDArray[np.int64], prime: int = prime
            ) -> NDArray[np.bool_]:
                return characters.hides(moving[columns], coefficients, prime) < TOLD

            said = search.combinations(sums, tops, prime, power, light)
            if said is None:
                too_many.append(moving[moving < observed.people])
            for found_now in said or ():
                each = replace(found_now, columns=moving[found_now.columns])
                terms = int(np.prod(each.moduli.astype(np.float64)))
                people = each.columns[each.columns < observed.people]
                work = terms * len(each.columns) ** 2 * listed * values
                if terms > MOST_TERMS or work > MOST_WORK:
                    too_many.append(people)
                else:
                    found.append(_Part.of(each, characters))
        return cls(windows, observed, found, np.unique(np.concatenate(too_many)))

    @cached_property
    def columns(self) -> Ints:
        """Columns of somebody about whom residues tell, ascending."""
        own = [part.columns for part in self.parts]
        found = np.unique(np.concatenate(own)) if own else np.zeros(0, dtype=np.int64)
        return found[found < self.observed.people]

    def weights(self, column: int) -> Floats:
        """(w,) what the residues multiply the row of one record of a column with."""
        found = np.ones(self.windows.count)
        for part in self.parts:
            place = part.place(column)
            if place is not None:
                found = found * part.alone(place)
        return found

    def sharing(self, column: int) -> Ints:
        """(s,) columns of those who share a combination with a record of a column, others of it too."""
        mine = [part.columns for part in self.parts if part.place(column) is not None]
        shared = np.unique(np.concatenate(mine))
        shared = shared[shared < self.observed.people]
        found: Ints = shared[(shared != column) | (self.observed.sizes[shared] > 1)]
        return found

    def weights_given(self, column: int, insiders: Ints, units: Ints) -> Floats:
        """(s, u, w) what they multiply it with, with the value of somebody else known.

        Args:
            column: The record's.
            insiders: (s,) their columns.
            units: (u,) values that they may have.
        """
        found = np.ones((len(insiders), len(units), self.windows.count))
        for part in self.parts:
            place = part.place(column)
            if place is None:
                continue
            alone = part.alone(place)
            for at, each in enumerate(insiders.tolist()):
                other = part.place(each)
                found[at] *= alone if other is None else part.given(place, other, units)
        return found


def _powers(windows: Windows) -> list[tuple[int, int]]:
    """Primes, and up to which powers of them, modulo which a residue may tell much of a value."""
    found = []
    for prime in PRIMES:
        power = 1
        while prime ** (power + 1) <= LARGEST:
            power += 1
        if prime**power > windows.width and prime**power >= LITTLE * windows.count * windows.width:
            found.append((prime, power))
    return found


def _hidden(observed: Observations) -> Ints:
    """Slacks that hide everything: no residue is told of a sum that one is in."""
    wide = observed.high[observed.people :] >= SLACK_LISTED
    return observed.people + np.flatnonzero(wide)


def _unsettled(
    observed: Observations, left: Floats, rows: Callable[[Ints], Floats], windows: Windows
) -> tuple[Ints, Ints]:
    """Columns whose value is not known anyhow, (m,), and what the others leave of the sums, (k,)."""
    moving = np.ones(len(observed.sizes), dtype=np.bool_)
    units = np.zeros(len(moving), dtype=np.int64)
    settled = observed.low == observed.high
    units[settled] = observed.low[settled]
    if windows.width == 1:
        narrow = np.flatnonzero(left[: observed.people] < BROAD)
        theirs = rows(narrow)
        sure = theirs.max(axis=1, initial=0.0) > KNOWN
        units[narrow[sure]] = theirs[sure].argmax(axis=1)
        settled[narrow[sure]] = True
    moving[settled] = False
    told = observed.matrix @ np.where(settled, observed.sizes * units, 0)
    return np.flatnonzero(moving), observed.sums - np.rint(told).astype(np.int64)


class _Characters:
    """φ of every column's record."""

    def __init__(
        self, observed: Observations, theta: Floats, rows: Callable[[Ints], Floats], windows: Windows
    ) -> None:
        self.observed, self.windows, self._theta, self._rows_of = observed, windows, theta, rows
        # of many columns few are looked at
        self._places, self._held = np.full(len(observed.sizes), -1), np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, windows.count))
        """(h, w) of those that were looked at; of slacks nothing."""
        self._known = dict[int, Floats]()
        """(p − 1, h) by prime."""

    def _at(self, columns: Ints) -> Ints:
        """(c,) where the rows of some columns are."""
        missing = np.unique(columns[self._places[columns] < 0])
        if len(missing) and not len(self._held) and self.observed.people <= AT_ONCE:
            missing = np.union1d(missing, np.arange(self.observed.people))
        if len(missing):
            self._places[missing] = len(self._held) + np.arange(len(missing))
            self._held = np.append(self._held, missing)
            rows, people = np.zeros((len(missing), self.windows.count)), missing < self.observed.people
            rows[people] = self._rows_of(missing[people])
            self._rows = np.vstack([self._rows, rows])
        found: Ints = self._places[columns]
        return found

    def of(self, column: int, frequencies: Floats) -> np.ndarray:
        """(t,) φ of one record of a column at frequencies (t,)."""
        if column < self.observed.people:
            (at,) = self._at(np.array([column]))
            turned: np.ndarray = waves(self.windows, frequencies) @ self._rows[at]
            return turned
        width = int(self.observed.high[column])
        if width >= SLACK_LISTED:
            found: np.ndarray = np.where(frequencies % 1.0 == 0.0, 1.0, 0.0).astype(np.complex128)
            return found
        units = np.arange(width + 1)
        logs = self._theta[column] * units
        p = np.exp(logs - logs.max())
        listed: np.ndarray = np.exp(2j * np.pi * np.outer(frequencies, units)) @ (p / p.sum())
        return listed

    def _costs(self, prime: int, columns: Ints) -> Floats:
        """(p − 1, c) −log |φ| of some columns."""
        at, known = self._at(columns), self._known.get(prime, np.empty((prime - 1, 0)))
        if known.shape[1] < len(self._held):
            frequencies, fresh = np.arange(1, prime) / prime, self._held[known.shape[1] :]
            found = np.abs(waves(self.windows, frequencies) @ self._rows[known.shape[1] :].T)
            for place in np.flatnonzero(fresh >= self.observed.people).tolist():
                found[:, place] = np.abs(self.of(int(fresh[place]), frequencies))
            known = self._known[prime] = np.hstack([known, -np.log(np.maximum(found, np.exp(-DULL)))])
        costs: Floats = known[:, at]
        return costs

    def hides(self, columns: Ints, coefficients: NDArray[np.int64], prime: int) -> Floats:
        """(r,) of rows (r, c) −log of the product of |φ|, two people left out: the least by t.

        Of more columns it is no less.
        """
        costs, place = self._costs(prime, columns), np.arange(len(columns))
        sizes, people = self.observed.sizes[columns], np.flatnonzero(columns < self.observed.people)
        twice, least = np.repeat(people, np.minimum(sizes[people], 2)), np.full(len(coefficients), np.inf)
        for t in range(1, prime):
            turned = t * coefficients % prime
            each = np.where(turned > 0, costs[turned - 1, place], 0.0)
            most = each[:, twice]
            if len(twice) > 2:
                most = np.partition(most, len(twice) - 2, axis=1)[:, -2:]
            least = np.minimum(least, each @ sizes - most.sum(axis=1))
        return least


@dataclass(frozen=True, eq=False)
class _Part:
    """One combination, ready to be added up. Shapes: T terms, j columns."""

    columns: Ints
    """(j,) ascending."""
    frequencies: Floats
    """(T, j) t·c / m."""
    phases: np.ndarray
    """(T,) exp(−2πi t·r / m)."""
    characters: np.ndarray
    """(T, j) φ of one record."""
    rest: np.ndarray
    """(T, j) product over all records but one of the column."""
    sizes: Ints
    windows: Windows

    @classmethod
    def of(cls, told: Combination, characters: _Characters) -> _Part:
        grid = np.indices(tuple(told.moduli.tolist())).reshape(len(told.moduli), -1).T / told.moduli
        frequencies = grid @ told.coefficients
        phases = np.exp(-2j * np.pi * (grid @ told.residues))
        each = np.stack(
            [characters.of(c, frequencies[:, at]) for at, c in enumerate(told.columns.tolist())], 1
        )
        sizes = characters.observed.sizes[told.columns]
        rest = _without_one(each, sizes)
        return cls(told.columns, frequencies, phases, each, rest, sizes, characters.windows)

    def place(self, column: int) -> int | None:
        at = int(np.searchsorted(self.columns, column))
        return at if at < len(self.columns) and self.columns[at] == column else None

    def alone(self, place: int) -> Floats:
        """(w,) how likely the others' residue is, by value of a record."""
        return _real((self.phases * self.rest[:, place]) @ waves(self.windows, self.frequencies[:, place]))

    def given(self, place: int, insider: int, units: Ints) -> Floats:
        """(u, w) the same with somebody else's value known, (u,)."""
        fewer = self.sizes.copy()
        fewer[place] -= 1
        fewer[insider] -= 1
        terms = self.phases * np.prod(self.characters**fewer, axis=1)
        known = np.exp(2j * np.pi * np.outer(units, self.frequencies[:, insider])) * terms
        return _real(known @ waves(self.windows, self.frequencies[:, place]))


def _without_one(each: np.ndarray, sizes: Ints) -> np.ndarray:
    """(T, j) products of powers, each column in turn with one record less."""
    powers = each**sizes
    ones = np.ones((len(each), 1))
    before = np.cumprod(np.hstack([ones, powers[:, :-1]]), axis=1)
    behind = np.cumprod(np.hstack([ones, powers[:, :0:-1]]), axis=1)[:, ::-1]
    found: np.ndarray = before * behind * each ** (sizes - 1)
    return found


NOTHING = 1e-12
"""What is left of a distribution where residues exclude it all."""
CRUMB = 1e-9
"""Chances below this part of a sum's terms are rounding."""


def _real(sums: np.ndarray) -> Floats:
    found: Floats = np.where(sums.real > CRUMB, sums.real, 0.0)
    return found


def weighed(rows: Floats, weights: Floats) -> Floats:
    """(r, w) distributions times weights; the distribution where nothing would be left, which is rounding."""
    found = rows * weights
    total = found.sum(axis=1, keepdims=True)
    whole: Floats = np.where(total > NOTHING, found / np.maximum(total, NOTHING), rows)
    return whole
