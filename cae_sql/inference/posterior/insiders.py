"""Posteriors given one more record's value, which that record, an insider, knows: by the formula, or counted.

V = I − D Aᵀ H⁻¹ A D, D = diag(σ), is a projection: what the sums leave of the scaled differences from the
means. Given that record j has the value u, V_ii = 1 − h_i becomes V_ii − V_ij² / V_jj, and the mean moves by
regression. In terms of the formula of `bell`:

    h' = h_i + V_ij² / V_jj,    δ = (σ_i / σ_j) (V_ij / V_jj) (u − μ_j),
    p_i(v) ∝ p⁰_i(v) · exp(−½ κ' (v − μ_i − δ / h')²),    κ' = h' / ((1 − h') σ_i²).

Skewness adds ℓ (1 − h') σ_i² to δ; risks are the greater of those with it and without. The baseline is that
of an insider as well, with κ' and θ' = θ + δ / σ².

The greatest risk over all pairs is bounded in three steps, each for the records that the one before does not
settle: by leverage alone (Cauchy and Schwarz); by V, with one bound from `tabulated` for all pairs of a
record whose h' and δ are at the same of some levels; then pair by pair, by a table of finer cells and by
measuring, the worst first.

In small components, where a bell is a poor model of two values (risks were up to 0.22 too low in systems of
up to seven people), the posterior is counted anew for each insider and value.

Source: `mathematics.md`, 7 (insiders; exact counting where components are small).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.domain import Domain
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.baselines import Baselines, against, areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import STILL, SURE, Bells, stiffness
from cae_sql.inference.posterior.components import gathered, spares_of
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.tabulated import Table
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.threads import alone, in_two

ROUNDING = 1e-7
"""Part by which bounds are taken greater than they are."""
LEVELS = 8
"""Of √(h' − h), and of |δ|. By 16 of √(h' − h) alone single pairs took two thirds of ACS's day."""
FINER = 4
"""Cells along each axis in the place of one, for single pairs: of a day 32,000 are measured, not 774,000."""
PAIRS = 4_000_000
"""Of records with insiders that are held at once."""
AT_ONCE = 4_096
"""Pairs that are measured at once."""
SAME = 1e-9
"""V_jj below which j's value was known before: it adds nothing."""
MOST_ROOM = 250
"""Records times values up to which bells of a component are counted: beyond, the formula is near."""
ALL_STEPS = 8_000_000
"""For all insiders and values that are counted, as `Allowance` counts."""


class Given(NamedTuple):
    """What an insider's value makes of one record, arrays of one shape: h', and δ in units."""

    leverage: Floats
    shift: Floats


def shared(fit: Fit, columns: Ints) -> Floats:
    """(q, r) V_ij / (σ_i σ_j) of a record of each of some columns i with another one of each column j."""
    matrix = fit.observed.matrix
    with alone():
        turned = fit.factor.solve(matrix[:, columns].toarray())
    found: Floats = -(matrix.T @ turned)
    return found


def telling(fit: Fit) -> Floats:
    """(q,) 1 / V_jj, 0 where V_jj is. With `shared` T, h' − h_i = σ_i² T² σ_j² / V_jj."""
    left = 1.0 - fit.leverage
    some = (left > SAME) & (fit.variances > STILL)
    return np.where(some, 1.0 / np.where(some, left, 1.0), 0.0)


def given(fit: Fit, column: int, by: Ints, values: Floats | Ints) -> Given:
    """What insiders of some columns with some values, in units, make of one of a column, without skewness."""
    by, values = np.broadcast_arrays(by, values)
    told, part = shared(fit, np.array([column]))[by, 0], telling(fit)[by]
    variance, h = fit.variances[column], fit.leverage[column]
    gain = np.clip(variance * told**2 * fit.variances[by] * part, 0.0, 1.0 - h)
    return Given(h + gain, variance * told * part * (values - fit.means[by]))


def both(fit: Fit, columns: Ints, told: Given) -> Given:
    """(2 r,) the same without skewness and then with it, of records of some columns, (r,)."""
    turned = fit.slope[columns] * fit.variances[columns] * (1.0 - told.leverage)
    return Given(np.tile(told.leverage, 2), np.append(told.shift, told.shift + turned))


def narrowed(likely: Likely, columns: Ints, told: Given) -> Floats:
    """(r, w) distributions of records of some columns, each with an insider, (r,) both."""
    fit, seen = likely.fit, likely.fit.observed
    h = np.clip(told.leverage, 0.0, 1.0)
    kappa = stiffness(h, fit.variances[columns])
    moving = kappa > 0
    middle = fit.means[columns] + np.where(moving, told.shift / np.where(moving, h, 1.0), 0.0)
    return Bells(seen.low[columns], seen.high[columns], fit.theta[columns], middle, kappa).rows(likely.tilt)


@dataclass(frozen=True)
class Measure:
    """How bad distributions are: their risk, or −H(ε)."""

    domain: Domain
    baselines: Baselines
    epsilon: float | None = None
    """At which −H is taken; None: the risk."""

    def left(self, rows: Floats) -> Floats:
        """(r,) area, or H(ε), of distributions (r, w)."""
        if self.epsilon is None:
            return areas_of_rows(rows, self.domain)
        return entropies_of_rows(rows, self.domain, self.epsilon)

    def table(self, cells: int) -> Table:
        """Lower bounds of `left` of bells, by so many cells in the place of one along each axis."""
        return self.baselines.table(self.epsilon, self.left, cells)

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) how bad, by how bad without skewness and with it."""
        return self.baselines.judged(without, skewed) if self.epsilon is None else np.maximum(without, skewed)

    def bad(self, left: Floats, base: Floats) -> Floats:
        """(r,) how bad, by what is `left` and A_baseline."""
        return against(left, base, self.domain) if self.epsilon is None else -left

    def bases(self, fit: Fit, columns: Ints, told: Given) -> Floats:
        """(r,) A_baseline of records of some columns, each for an insider."""
        variance = fit.variances[columns]
        moving = variance > STILL
        turn = np.where(moving, told.shift / np.where(moving, variance, 1.0), 0.0)
        kappa = stiffness(np.clip(told.leverage, 0.0, 1.0), variance)
        return self.baselines.areas(kappa, fit.theta[columns] + turn)

    def of_pairs(self, likely: Likely, columns: Ints, told: Given) -> Floats:
        """(r,) how bad for records of some columns, each with an insider; skewness is added here."""
        part, twice = both(likely.fit, columns, told), np.tile(columns, 2)
        left = self.left(narrowed(likely, twice, part))
        return self.judged(*self.bad(left, self.bases(likely.fit, twice, part)).reshape(2, -1))


def risks_with_insider(
    likely: Likely, values: Floats, measure: Measure, enough: float, spared: Flags | None = None
) -> tuple[Floats, int]:
    """How bad the formula's posterior of a record of each atom may be, alone and for any insider.

    (p,) where at most what was enough, a bound over all insiders and values; else beyond it, for one. And how
    many pairs of a record and an insider were looked at.

    Args:
        likely: What is likely.
        values: (q, m) of an insider of each column of the fit, in units.
        measure: Risk, or entropy.
        enough: Bounds up to here need not be close.
        spared: (p,) atoms that are not looked at.
    """
    seen = likely.fit.observed
    worst = np.full(seen.people, -np.inf)
    some = np.arange(seen.people) if spared is None else np.flatnonzero(~spared[seen.atoms])
    gain, shift = bounds_of(likely.fit, values)[:, some]
    ranges = np.stack([np.zeros(len(some)), gain]), np.stack([-shift, shift])
    worst[some] = of_ranges(likely, some, *ranges, measure)
    some = some[~(worst[some] <= enough)]  # what is no number keeps nothing
    for part in np.array_split(some, len(some) * seen.people // PAIRS + 1) if len(some) else ():
        worst[part] = _over_pairs(likely, part, values, measure, enough)
    risk = np.full(likely.known.count, -np.inf)
    risk[seen.atoms] = worst
    return risk, len(some) * seen.people


def bounds_of(fit: Fit, values: Floats) -> Floats:
    """(2, a) bounds of h' − h and of |δ| over all insiders and values (q, m).

    |V_ij| is at most √(h_i h_j), and 0 for j of another component. So h' − h is at most h_i h_j / (1 − h_j),
    and |δ| at most σ_i √(h_i h_j) / (1 − h_j) times how far off j's value may be, in terms of σ_j.
    """
    some = slice(0, fit.observed.people)
    variances, labels = fit.variances[some], fit.observed.components[some]
    h = np.where(variances > STILL, fit.leverage[some], 0.0)
    left, deviation = np.maximum(1.0 - h, SAME), np.sqrt(np.maximum(variances, STILL))
    away = np.abs(values[some] - fit.means[some, None]).max(axis=1, initial=0.0) / deviation
    gain, shift = np.zeros((2, int(labels.max(initial=-1)) + 1))
    np.maximum.at(gain, labels, h / left)
    np.maximum.at(shift, labels, np.sqrt(h) / left * away)
    told = np.minimum(h * gain[labels], 1.0 - fit.leverage[some])
    return np.stack([told, np.sqrt(variances * h) * shift[labels]]) * (1.0 + ROUNDING)


def of_ranges(
    likely: Likely, columns: Ints, gains: Floats, shifts: Floats, measure: Measure, cells: int = 1
) -> Floats:
    """(r,) bounds of how bad, for h' − h and δ between two each, (2, r): by the least that bells leave and
    the greatest baseline."""
    fit, seen, variance = likely.fit, likely.fit.observed, likely.fit.variances[columns]
    table = measure.table(cells)
    moving, slope, theta = variance > STILL, fit.slope[columns], fit.theta[columns]
    h = np.clip(fit.leverage[columns] + gains, 0.0, 1.0)
    kappas, rest = stiffness(h, variance), np.maximum(1.0 - h, SURE)
    turns = np.where(moving, shifts, 0.0) / np.where(moving, variance, 1.0)
    steep, push = theta + kappas * (fit.means[columns] - table.centre), turns[:, None] / rest
    low = steep.min(axis=0) + push.min(axis=(0, 1)) + np.minimum(slope, 0.0)
    high = steep.max(axis=0) + push.max(axis=(0, 1)) + np.maximum(slope, 0.0)
    left = table.least(seen.low[columns], seen.high[columns], np.stack([low, high]), kappas)
    skew = slope * rest[0]
    ends = theta + turns[0] + np.minimum(skew, 0.0), theta + turns[1] + np.maximum(skew, 0.0)
    tilts = [np.stack([measure.baselines.tilts(kappa, end) for kappa in kappas]) for end in ends]
    return measure.bad(left, measure.baselines.greatest(tilts[0].min(axis=0), tilts[1].max(axis=0)))


def _over_pairs(likely: Likely, columns: Ints, values: Floats, measure: Measure, enough: float) -> Floats:
    """(r,) of some columns, as `risks_with_insider`."""
    fit, people, h = likely.fit, likely.fit.observed.people, likely.fit.leverage[columns]
    variance, part = fit.variances[columns], telling(fit)[:people]
    between = shared(fit, columns)[:people]
    by_themselves = np.flatnonzero(fit.observed.sizes[columns] == 1)
    between[columns[by_themselves], by_themselves] = 0.0
    roots = np.sqrt(part * fit.variances[:people])
    shifts = part[:, None] * (values[:people] - fit.means[:people, None])
    if not all(np.isfinite(each).all() for each in (between, roots, shifts)):
        return np.full(len(columns), np.nan)
    ranges = np.tile(np.array([[np.inf, -np.inf]]), (len(columns), 2 * LEVELS**2, 2))
    ranges[:, LEVELS] = 0.0  # without an insider
    pairs = between, roots, shifts, np.abs(shifts).max(axis=1, initial=0.0)
    in_two(lambda first, end: ranges_of(*pairs, ranges, first, end), len(columns), shifts.size)
    record, level = np.nonzero(ranges[:, :, 0] <= ranges[:, :, 1])
    gains, moves = (variance[record] * ends for ends in np.split(ranges[record, level].T, 2))
    worst = np.full(len(columns), -np.inf)
    np.maximum.at(
        worst, record, of_ranges(likely, columns[record], np.minimum(gains, 1.0 - h[record]), moves, measure)
    )
    for place in np.flatnonzero(~(worst <= enough)).tolist():
        worst[place] = _measured(likely, int(columns[place]), values, measure, enough)
    return worst


@compiled()
def ranges_of(
    between: Floats, roots: Floats, shifts: Floats, reach: Floats, ranges: Floats, first: int, end: int
) -> None:  # fmt: skip
    """The least and greatest h' − h and δ, over σ_i², of pairs by record and level, (r, 2 l², 4): levels of
    √(h' − h) count in 2 l, those of δ from l, upwards if it is not negative."""
    most = np.zeros((2, end))
    for j in range(len(between)):
        for i in range(first, end):
            size = abs(between[j, i])
            most[0, i], most[1, i] = max(most[0, i], size * roots[j]), max(most[1, i], size * reach[j])
    scale = LEVELS / np.where(most > 0, most, 1.0)
    for j in range(len(between)):
        for i in range(first, end):
            root = abs(between[j, i]) * roots[j]
            row = min(int(root * scale[0, i]), LEVELS - 1)
            for k in range(shifts.shape[1]):
                move = between[j, i] * shifts[j, k]
                place = min(max(math.floor(move * scale[1, i]), -LEVELS), LEVELS - 1)
                found = ranges[i, (2 * row + 1) * LEVELS + place]
                found[0], found[1] = min(found[0], root * root), max(found[1], root * root)
                found[2], found[3] = min(found[2], move), max(found[3], move)


def _measured(likely: Likely, column: int, values: Floats, measure: Measure, enough: float) -> float:
    """As `risks_with_insider` of a column, by single pairs."""
    fit, others = likely.fit, np.arange(likely.fit.observed.people)
    others = others[(others != column) | (fit.observed.sizes[column] > 1)]
    told = given(fit, column, others[:, None], values[others])
    told = Given(np.append(told.leverage, fit.leverage[column]), np.append(told.shift, 0.0))
    alike, gains, shifts = np.full(len(told.shift), column), told.leverage - fit.leverage[column], told.shift
    bounds = of_ranges(likely, alike, np.stack([gains] * 2), np.stack([shifts] * 2), measure, FINER)
    within = bounds <= enough
    most, open_ = float(bounds[within].max(initial=-np.inf)), np.flatnonzero(~within)
    _, once = np.unique(np.stack([gains, shifts])[:, open_].round(12), axis=1, return_index=True)
    open_, first, count = open_[once][np.argsort(-bounds[open_[once]], kind="stable")], 0, 8
    while first < len(open_) and most <= enough:
        some = open_[first : first + count]
        part = Given(told.leverage[some], told.shift[some])
        most = float(np.maximum(most, measure.of_pairs(likely, alike[some], part).max()))
        first, count = first + count, min(2 * count, AT_ONCE)
    return most


class InsidersCounted(NamedTuple):
    """Figures by atom, (p,): whether all insiders and values were counted, and the greatest risk with any,
    −∞ where there is none."""

    atoms: Flags
    risk: Floats


def counted_with_insider(likely: Likely, measure: Measure) -> InsidersCounted:
    """The greatest risk of records in small components over all insiders, where it does not cost too much."""
    known = likely.known
    found = InsidersCounted(np.zeros(known.count, dtype=np.bool_), np.full(known.count, -np.inf))
    left, alike = likely.allowed(ALL_STEPS), dict[bytes, Floats]()
    for atoms in likely.counted_components:
        room = int((known.sizes[atoms] * (known.high - known.low + 1)[atoms]).sum())
        if room > MOST_ROOM and not likely.heaped[atoms].any():
            continue
        name = likely.component(atoms).name  # of 400 groups of 0/1 a dozen are unlike each other
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
    aside, values = (np.array(each, dtype=np.int64) for each in zip(*asides, strict=True))
    # (m, a, w) by insider and value, of each other record its row
    rows = np.zeros((len(asides), len(atoms), windows.count))
    for number, (place, value) in enumerate(asides):
        counted = likely.counted_units(atoms, (int(atoms[place]), value), left)
        rows[number] = gathered(known, atoms, counted, windows)
    columns, risk = np.searchsorted(likely.fit.observed.atoms, atoms), np.full(len(atoms), -np.inf)
    for other in np.flatnonzero(people).tolist():
        some, column = np.flatnonzero((aside != other) | (people[other] > 1)), int(columns[other])
        if len(some):
            told = given(likely.fit, column, columns[aside[some]], values[some])
            base = measure.bases(likely.fit, np.full(len(some), column), told)
            risk[other] = measure.bad(measure.left(rows[some, other]), base).max()
    return risk
