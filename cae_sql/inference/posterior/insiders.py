"""What an insider, who knows the own value, makes of somebody else's: by the formula, or counted.

V = I − D Aᵀ H⁻¹ A D, D = diag(σ), is a projection: what the sums leave of the records' (scaled) differences
from their means. Given that record j has the value u, the share V_ii = 1 − h_i of i's variance that is left
becomes V_ii − V_ij² / V_jj, and the mean moves by regression. In terms of the formula of `bell`:

    h' = h_i + V_ij² / V_jj,    δ = (σ_i / σ_j) (V_ij / V_jj) (u − μ_j),
    p_i(v) ∝ p⁰_i(v) · exp(−½ κ' (v − μ_i − δ / h')²),    κ' = h' / ((1 − h') σ_i²).

Skewness (`bell`) is a shift too, ℓ (1 − h') σ_i², and added to δ. Risks are the greater of those with it and
without (`likely.Likely.both`). What the insider knows better of people like somebody is no disclosure about
that person either: the baseline is that of what he sees, with κ' and θ' = θ + δ / σ².

Who has nearly all of a sum knows that the others have nearly nothing. The formula makes bells of what is
left, and two values are no bell: held against all tables of systems of up to seven people, a risk was 0.22
too low at most. So in small components one record of each atom is put aside with each value that it has in
some table, and the others are counted again.

Source: `mathematics.md`, 7 (insiders; exact counting where components are small).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.domain import Domain
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import STILL, Bells, stiffness
from cae_sql.inference.posterior.components import spares_of
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.members import Baselines, against
from cae_sql.inference.posterior.tabulated import Table
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.threads import alone

SAME = 1e-9
"""V_jj below which j's value was known before he said it: it tells nothing."""
MOST_ROOM = 250
"""Records times values of a component, at most, unless its sums are no bell: of more the formula is near, and
counting costs much."""
ALL_STEPS = 8_000_000
"""For all insiders and values, as `Allowance` counts."""


@dataclass(frozen=True, eq=False)
class Given:
    """What an insider's value makes of one record. Arrays of one shape."""

    leverage: Floats
    """h'."""
    shift: Floats
    """δ, in units."""

    def of(self, some: Ints | Flags) -> Given:
        """The same of some."""
        return Given(self.leverage[some], self.shift[some])


def shared(fit: Fit, columns: Ints) -> Floats:
    """(q, r) V_ij / (σ_i σ_j) of a record of each of some columns i with another one of each column j."""
    matrix = fit.observed.matrix
    with alone():
        turned = fit.factor.solve(matrix[:, columns].toarray())
    found: Floats = -(matrix.T @ turned)
    return found


def telling(fit: Fit) -> Floats:
    """(q,) 1 / V_jj; 0 of whom nothing is told.

    With `shared` T an insider makes h' − h_i = σ_i² T² σ_j² / V_jj, and δ = σ_i² T (u − μ_j) / V_jj.
    """
    left = 1.0 - fit.leverage
    some = (left > SAME) & (fit.variances > STILL)
    return np.where(some, 1.0 / np.where(some, left, 1.0), 0.0)


def given(fit: Fit, column: int, by: Ints, values: Floats | Ints) -> Given:
    """What others' values tell of one of a column, skewness left out.

    Args:
        fit: Means, variances and leverage.
        column: Of somebody.
        by: Columns of the insiders, of a shape that goes with that of `values`.
        values: What they have, in units.
    """
    by, values = np.broadcast_arrays(by, values)
    told, part = shared(fit, np.array([column]))[by, 0], telling(fit)[by]
    variance, h = fit.variances[column], fit.leverage[column]
    gain = np.clip(variance * told**2 * fit.variances[by] * part, 0.0, 1.0 - h)
    return Given(h + gain, variance * told * part * (values - fit.means[by]))


def both(fit: Fit, columns: Ints, told: Given) -> Given:
    """(2 r,) what insiders make of records of some columns, (r,) each, without skewness and then with it."""
    turned = fit.slope[columns] * fit.variances[columns] * (1.0 - told.leverage)
    return Given(np.tile(told.leverage, 2), np.append(told.shift, told.shift + turned))


def narrowed(likely: Likely, columns: Ints, told: Given) -> Floats:
    """(r, w) distributions of records of some columns (r,), each with what an insider makes of it (r,)."""
    fit, seen = likely.fit, likely.fit.observed
    h = np.clip(told.leverage, 0.0, 1.0)
    kappa = stiffness(h, fit.variances[columns])
    moving = kappa > 0
    middle = fit.means[columns] + np.where(moving, told.shift / np.where(moving, h, 1.0), 0.0)
    return Bells(seen.low[columns], seen.high[columns], fit.theta[columns], middle, kappa).rows(likely.tilt)


@dataclass(frozen=True)
class Measure:
    """How bad distributions are: the greater the worse."""

    domain: Domain
    baselines: Baselines
    epsilon: float | None = None
    """At which −H is taken; None: the risk is."""

    def left(self, rows: Floats) -> Floats:
        """(r,) of distributions (r, w): their area, or H(ε)."""
        if self.epsilon is None:
            return areas_of_rows(rows, self.domain)
        return entropies_of_rows(rows, self.domain, self.epsilon)

    def table(self) -> Table:
        """Of what bells leave at least."""
        return self.baselines.table(self.epsilon, self.left)

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) how bad posteriors are, by how bad without skewness and with it."""
        return self.baselines.judged(without, skewed) if self.epsilon is None else np.maximum(without, skewed)

    def bad(self, left: Floats, base: Floats) -> Floats:
        """(r,) of what is left, beside A_baseline."""
        return against(left, base, self.domain) if self.epsilon is None else -left

    def bases(self, fit: Fit, columns: Ints, told: Given) -> Floats:
        """(r,) A_baseline of records of some columns (r,), each as an insider (r,) sees people like it."""
        variance = fit.variances[columns]
        moving = variance > STILL
        turn = np.where(moving, told.shift / np.where(moving, variance, 1.0), 0.0)
        kappa = stiffness(np.clip(told.leverage, 0.0, 1.0), variance)
        return self.baselines.areas(kappa, fit.theta[columns] + turn)

    def of_pairs(self, likely: Likely, columns: Ints, told: Given) -> Floats:
        """(r,) how bad the posteriors of records of some columns are, each with an insider, skewness left out
        of what he tells."""
        part, twice = both(likely.fit, columns, told), np.tile(columns, 2)
        left = self.left(narrowed(likely, twice, part))
        return self.judged(*self.bad(left, self.bases(likely.fit, twice, part)).reshape(2, -1))


@dataclass(frozen=True, eq=False)
class InsidersCounted:
    """Figures by atom, (p,)."""

    atoms: Flags
    """Whether every insider and value was counted."""
    risk: Floats
    """The greatest with any of them, by `Measure`; −∞ of the others and where nobody else is."""


def counted_with_insider(likely: Likely, measure: Measure) -> InsidersCounted:
    """The greatest risk of records in small components, whoever the insider is.

    What is not counted with what may be spent is left to the formula.
    """
    known = likely.known
    found = InsidersCounted(np.zeros(known.count, dtype=np.bool_), np.full(known.count, -np.inf))
    left, alike = likely.allowed(ALL_STEPS), dict[bytes, Floats]()
    for atoms in likely.counted_components:
        room = int((known.sizes[atoms] * (known.high - known.low + 1)[atoms]).sum())
        if room > MOST_ROOM and not likely.heaped[atoms].any():
            continue
        name = likely.name_of(atoms)  # of four hundred groups of yes and no a dozen are unlike each other
        try:
            risk = alike[name] if name in alike else _of_component(likely, atoms, measure, left)
        except OutOfTime:
            continue
        found.atoms[atoms], found.risk[atoms], alike[name] = True, risk, risk
    return found


def _of_component(likely: Likely, atoms: Ints, measure: Measure, left: Allowance) -> Floats:
    """(a,) of one; OutOfTime where something cannot be counted."""
    known, windows = likely.known, likely.tilt.windows
    people = (known.sizes - spares_of(known))[atoms]
    alone = likely.counted_units(atoms)
    asides = [
        (place, int(known.low[atom]) + int(unit))
        for place, atom in enumerate(atoms.tolist())
        if people[place]
        for unit in np.flatnonzero(alone[place] > 0)
    ]
    who, values = (np.array(each, dtype=np.int64) for each in zip(*asides, strict=True))
    # by insider and value, of each other record its row
    rows = np.zeros((len(asides), len(atoms), windows.count))
    for number, (place, value) in enumerate(asides):
        counted = likely.counted_units(atoms, (int(atoms[place]), value), left)
        for other, p in enumerate(counted):
            units = np.arange(known.low[atoms[other]], known.high[atoms[other]] + 1)
            rows[number, other] = windows.gathered(units, p)
    columns, risk = np.searchsorted(likely.fit.observed.atoms, atoms), np.full(len(atoms), -np.inf)
    for other in np.flatnonzero(people).tolist():
        some, column = np.flatnonzero((who != other) | (people[other] > 1)), int(columns[other])
        if len(some):
            told = given(likely.fit, column, columns[who[some]], values[some])
            base = measure.bases(likely.fit, np.full(len(some), column), told)
            risk[other] = measure.bad(measure.left(rows[some, other]), base).max()
    return risk
