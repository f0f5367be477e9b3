"""What an insider unit, which knows all of its records, adds to what is likely of others' records and totals.

With Z = D^½ Aᵀ Rᵀ, H⁻¹ = Rᵀ R, and B_u the rows of Z of unit u's records, u's E_u = B_u B_uᵀ becomes
B_u (I − B_vᵀ B_v)⁻¹ B_uᵀ once v is known. The norm of what is added is at most F_uv / (1 − ρ_v), F_uv =
|B_u B_vᵀ|² summed over all pairs of records: for all units N (G ∘ G) Nᵀ, G = Z Zᵀ by columns and N the units'
records in them, or the product of the greatest sum of a row's sizes and of a column's, where that is less.
With y how far values of v may be from their means, each over its own deviation, that of a record of a column
d moves by B_d B_vᵀ (I − E_v)⁻¹ y, at most Σ |G_dc| |y_c| over v's records and |B_d B_vᵀ| |y| ρ_v / (1 − ρ_v);
that of a total as its records' do, each by its share of the deviation.

The most over all v is bounded by leverage alone first, which is enough where units are many; then by columns:
u has at most the sum of what its records' columns have. Of records and totals that this leaves open it is
found v by v: the most of what moves the mean at each of some levels of what is added to leverage.

Source: `mathematics.md`, 11; the bounds are Cauchy and Schwarz.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.bell import STILL, SURE
from cae_sql.inference.posterior.insiders import FINER, Measure, of_ranges
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.noisy import braked
from cae_sql.inference.posterior.together import AT_ONCE, SMALL, Shapes, Totals, blocks
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone

LEVELS = 8
"""Of the square root of what is added to leverage."""
PIECES = 8
"""Of how far the mean moves, to either side."""
PAIR = 1
"""Steps for a record or a unit with an insider."""


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of all units by answers, and by other units. Shapes: u shapes, q columns of somebody."""

    likely: Likely
    shapes: Shapes
    reach: Floats | None
    """(q,) how far a record of each column may be from its mean, over its deviation; None: nobody is an
    insider."""

    @classmethod
    def of(cls, likely: Likely, values: Floats | None) -> Told:
        """`values` (q, m) are what an insider may have in a record of each column; None: there is none."""
        fit, count, reach = likely.fit, likely.fit.observed.people, None
        if values is not None:
            variances = fit.variances[:count]
            away = np.abs(values[:count] - fit.means[:count, None]).max(axis=1, initial=0.0)
            moving = variances > STILL
            reach = np.where(moving, away / np.sqrt(np.where(moving, variances, 1.0)), 0.0)
        return cls(likely, Shapes.of(likely), reach)

    @cached_property
    def mine(self) -> scipy.sparse.csr_array:
        """(u, q) records."""
        return self.shapes.records(self.likely.fit.observed.people)

    @cached_property
    def turned(self) -> list[Floats]:
        """Z by columns, (q, m), by each factor."""
        fit, count = self.likely.fit, self.likely.fit.observed.people
        deviations = np.sqrt(np.maximum(fit.variances[:count], 0.0))
        matrix, factors = fit.observed.matrix[:, :count].toarray(), [fit.factor]
        if fit.beside is not None:
            factors.append(fit.beside[1])
        with alone():
            return [(each.root @ matrix * deviations).T for each in factors]

    @cached_property
    def square(self) -> Floats:
        """(q, q) G ∘ G."""
        with alone():
            found: Floats = np.maximum.reduce([(each @ each.T) ** 2 for each in self.turned])
        return found

    @cached_property
    def leverage(self) -> Floats:
        """(u,) ρ."""
        rho, fit = self.shapes.leverage(self.turned, self.square), self.likely.fit
        if fit.apart is None:
            return rho
        own, spreads = fit.apart
        return braked(rho, self.shapes.leverage([own.T], (own.T @ own) ** 2), self.mine @ spreads)

    def by_leverage(self) -> tuple[Floats, Floats, Floats] | None:
        """(u,) bounds of ρ, and (q,) each of what any unit adds to the leverage of a record of each column,
        and to its mean over its deviation: as |G_dc| ≤ √(h_d h_c). None where that says little."""
        fit = self.likely.fit
        h = fit.leverage[: fit.observed.people]
        rho = self.mine @ h
        if fit.beside is not None or fit.apart is not None or rho.max(initial=0.0) > SMALL:
            return None
        if self.reach is None:
            return rho, np.zeros(len(h)), np.zeros(len(h))
        left = 1.0 - rho
        moved = self.mine @ (np.sqrt(h) * self.reach) + rho / left * np.sqrt(
            rho * (self.mine @ self.reach**2)
        )
        return rho, h * (rho / left).max(), np.sqrt(h) * moved.max()

    # --- by columns

    def by_columns(self) -> Floats:
        """(2, q) the most that any unit's values add to the leverage of a record of each column, and to its
        mean over its deviation."""
        found = np.zeros((2, len(self.square)))
        for _, gain, shift in self._of_columns(np.arange(len(self.square))):
            np.maximum(found[0], gain.max(axis=1), out=found[0])
            np.maximum(found[1], shift.max(axis=1), out=found[1])
        return found

    def _of_columns(self, columns: Ints) -> Iterator[tuple[Ints, Floats, Floats]]:
        """Of some columns with all units, so many of these at once: which, and what they add, (r, v) each."""
        assert self.reach is not None
        fit = self.likely.fit
        only = self.likely.known.atoms.occupied.numbers[fit.observed.atoms] == 1
        mine, size = self.mine, np.sqrt(self.square[:, columns])
        left = np.maximum(1.0 - self.leverage, SURE)
        again = self.leverage / left * np.sqrt(mine @ self.reach**2)
        for units in blocks(self.shapes.count, len(columns)):
            part = mine[units]
            added = np.asarray(part @ self.square[:, columns]).T
            moved = np.asarray(part.multiply(self.reach).tocsr() @ size).T + np.sqrt(added) * again[units]
            # who is the only unit of a column tells nothing of it to somebody else
            own = (only[columns] & (part[:, columns].toarray() > 0)).T
            added[own], moved[own] = 0.0, 0.0
            yield units, added / left[units], moved

    def _of_units(self, some: Ints) -> Iterator[tuple[Ints, Floats, Floats]]:
        """The same of some shapes."""
        mine, left = self.mine, np.maximum(1.0 - self.leverage, SURE)
        toward, size, weights = np.asarray(mine[some] @ self.square), np.sqrt(self.square), self.weights[some]
        of_rows, those = np.asarray(mine[some] @ size), self.shapes.some(some)
        for units, _, moved in self._of_columns(np.arange(len(self.square))):
            for part in np.array_split(np.arange(len(units)), len(units) * len(some) // AT_ONCE + 1):
                which = units[part]
                added = np.asarray(mine[which] @ toward.T).T
                by_row = those.greatest(np.asarray(mine[which] @ size).T)
                added = np.minimum(added, by_row * self.shapes.some(which).greatest(of_rows.T).T)
                shift = np.asarray(weights @ moved[:, part])
                own = (some[:, None] == which) & (self.shapes.units[some] == 1)[:, None]
                added[own], shift[own] = 0.0, 0.0
                yield which, added / left[which], shift

    @cached_property
    def weights(self) -> scipy.sparse.csr_array:
        """(u, q) how far a total moves, over its deviation, if the mean of each column does over its own."""
        deviations = np.sqrt(np.maximum(self.likely.fit.variances[: self.mine.shape[1]], 0.0))
        whole = np.sqrt(np.maximum(self.mine @ deviations**2, STILL))
        found: scipy.sparse.csr_array = self.mine.multiply(deviations).multiply(1.0 / whole[:, None]).tocsr()
        return found

    def levels(self, some: Ints, of_units: bool) -> Floats:
        """(2, r, LEVELS) of columns, or of shapes, by levels of what is added to leverage: the most of it,
        and of what is added to the mean; where no unit has that, nothing."""
        work = self._of_units if of_units else self._of_columns
        most = np.zeros(len(some))
        for _, gain, _ in work(some):
            np.maximum(most, gain.max(axis=1), out=most)
        found, scale = np.zeros((2, len(some), LEVELS)), np.where(most > 0, most, 1.0)[:, None]
        for _, gain, shift in work(some):
            level = np.minimum(LEVELS * np.sqrt(gain / scale), LEVELS - 1).astype(np.int64)
            for place in range(LEVELS):
                here = level == place
                for at_most, each in zip(found, (gain, shift), strict=True):
                    at_most[:, place] = np.maximum(at_most[:, place], np.where(here, each, 0.0).max(axis=1))
        return found


def with_units(
    likely: Likely,
    measure: Measure,
    values: Floats | None,
    worst: Floats,
    enough: float,
    allowance: Allowance,
) -> bool:
    """Raise how bad records of atoms are, (p,), to how bad each unit's sums are, and with insiders both.

    Args:
        likely: What is likely.
        measure: Of risk.
        values: (q, m) what an insider may have in a record of each column, in units; None: there is none.
        worst: (p,) is changed.
        enough: Bounds up to here need not be close.
        allowance: What may be spent.

    Returns:
        Whether all is worked out: not where too many extremes share records.
    """
    told = Told.of(likely, values)
    totals = Totals.of(likely, measure.baselines, None if values is None else told.shapes)
    if not totals.known:
        return False
    found = None if totals.linked else _by_leverage(told, totals, measure)
    if found is None or not all(each.max(initial=-np.inf) <= enough for each in found):
        found = _by_units(told, totals, measure, enough, allowance)
    atoms, (unit, place) = likely.fit.observed.atoms, np.nonzero(told.shapes.rows)
    np.maximum.at(worst, atoms, found[0])
    np.maximum.at(worst, atoms[told.shapes.columns[unit, place]], found[1][unit])
    # a record of whom an extreme says something, to whom an insider's records do not attain it
    for linked, _ in totals.linked:
        each = Shapes.of_records(linked.columns)
        risk = totals.risks(each, likely.fit.leverage[linked.columns], np.zeros(each.count))
        np.maximum.at(worst, likely.fit.observed.atoms[linked.columns], risk)
    return True


def _by_leverage(told: Told, totals: Totals, measure: Measure) -> tuple[Floats, Floats] | None:
    """How bad at most, (q,) for a record of each column and (u,) for totals, by leverage alone."""
    found = told.by_leverage()
    if found is None:
        return None
    rho, gain, shift = found
    bad = _of_columns(told.likely, measure, np.arange(len(gain)), gain[:, None], shift[:, None])
    return bad, totals.risks(told.shapes, np.minimum(rho + told.mine @ gain, 1.0), told.weights @ shift)


def _by_units(
    told: Told, totals: Totals, measure: Measure, enough: float, allowance: Allowance
) -> tuple[Floats, Floats]:
    """The same by what units have in common; of records without an insider nothing is said."""
    bad = np.full(told.mine.shape[1], -np.inf)
    by_units = totals.risks(told.shapes, told.leverage, np.zeros(told.shapes.count))
    if told.reach is None:
        return bad, by_units
    gain, shift = told.by_columns()
    bad = _of_columns(told.likely, measure, np.arange(len(gain)), gain[:, None], shift[:, None])
    open_ = np.flatnonzero(~(bad <= enough))
    if len(open_) and allowance.spend(PAIR * len(open_) * told.shapes.count):
        levels = told.levels(open_, of_units=False)
        bad[open_] = _of_columns(told.likely, measure, open_, levels[0], levels[1], FINER)
    _raise_with_insiders(told, totals, by_units, (gain, shift), enough, allowance)
    return bad, by_units


def _raise_with_insiders(
    told: Told, totals: Totals, by_units: Floats, most: tuple[Floats, Floats], enough: float,
    allowance: Allowance,
) -> None:  # fmt: skip
    """Raise risks of totals, (u,), to those with an insider; `most` is `Told.by_columns`."""
    rho, mine = told.leverage, told.mine
    some = np.flatnonzero(by_units <= enough)
    bounds = np.minimum(rho + mine @ most[0], 1.0)[some], (told.weights @ most[1])[some]
    by_units[some] = np.maximum(by_units[some], totals.risks(told.shapes.some(some), *bounds))
    open_ = some[~(by_units[some] <= enough)]
    if len(open_) and allowance.spend(PAIR * len(open_) * told.shapes.count):
        those, levels = told.shapes.some(open_), told.levels(open_, of_units=True).transpose(2, 0, 1)
        each = [totals.risks(those, np.minimum(rho[open_] + gain, 1.0), shift) for gain, shift in levels]
        by_units[open_] = np.max(each, axis=0)


def _of_columns(
    likely: Likely, measure: Measure, columns: Ints, gain: Floats, shift: Floats, cells: int = 1
) -> Floats:
    """(r,) how bad for a record of each column, by what is added at most, (r, levels) each. The mean moves by
    so much at most to either side: bounds are taken piece by piece, since far to one side less is left, and
    baselines are greater to the other."""
    deviation, worst = np.sqrt(np.maximum(likely.fit.variances[columns], 0.0)), np.full(len(columns), -np.inf)
    ends = np.linspace(-1.0, 1.0, 2 * PIECES + 1)
    for more, move in zip(gain.T, (shift * deviation[:, None]).T, strict=True):
        gains = np.stack([0.0 * more, more])
        for low, high in itertools.pairwise(ends if move.any() else ends[[0, -1]]):
            bad = of_ranges(likely, columns, gains, np.stack([low * move, high * move]), measure, cells)
            worst = np.maximum(worst, bad)
    return worst
