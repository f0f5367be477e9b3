"""What somebody who knows their own value, too, makes of everybody else's.

V = I − D Aᵀ H⁻¹ A D, D = diag(σ), is a projection: what the sums leave of the records' (scaled) differences
from their means. Given that record j has the value u, the share V_ii = 1 − h_i of i's variance that is left
becomes V_ii − V_ij² / V_jj, and the mean moves by regression. In terms of the formula of `bell`:

    h' = h_i + V_ij² / V_jj,    δ = (σ_i / σ_j) (V_ij / V_jj) (u − μ_j),
    p_i(v) ∝ p⁰_i(v) · exp(−½ κ' (v − μ_i − δ / h')²),    κ' = h' / ((1 − h') σ_i²).

Skewness (`bell`) is a shift too, ℓ (1 − h') σ_i², and added to δ. Risks are the greater of those with it and
without (`likely.Likely.both`).

Source: `mathematics.md`, 7 (insiders).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import STILL, SURE, Bells, stiffness
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.likely import Flags, Likely
from cae_sql.inference.posterior.members import Baselines, against
from cae_sql.inference.posterior.pairs import (
    LEVELS,
    SAME,
    Given,
    bounds_of_pairs,
    greatest_given,
    levels_of_pairs,
)
from cae_sql.inference.posterior.tabulated import Table, Tables, least_of_ranges
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone, in_two

ROUNDING = 1e-7
"""Part of the most by which ranges are taken wider than they are."""
AT_ONCE = 4_096
"""Pairs that are measured at once."""
PAIRS = 8_000_000
"""Of records with insiders that are held at once."""
MOST_TELLING = 8
"""One of so many insiders is looked at before all are: those of greatest leverage."""


@dataclass(frozen=True, eq=False)
class WithInsider:
    """Figures by atom, (p,)."""

    risk: Floats
    """The greatest with any insider and value, by `Measure`; or a bound of it where that is within what was
    enough, and where it is not, some that is not either."""
    pairs: int
    """How many pairs of a record and an insider were looked at."""


def covariances(fit: Fit, column: int) -> Floats:
    """(q,) V_ij of one record of a column i with one of each other j; at i, with another one of the same."""
    matrix = fit.observed.matrix
    mine = matrix[:, [column]].toarray()[:, 0]
    turned = fit.factor.solve(mine)
    found: Floats = -np.sqrt(fit.variances[column] * fit.variances) * (matrix.T @ turned)
    return found


def given(fit: Fit, column: int, values: Floats) -> Given:
    """What each record's value would tell of one of a column, skewness left out.

    Args:
        fit: Means, variances and leverage.
        column: Of somebody.
        values: (q, m) the insiders' values, in units.
    """
    between = covariances(fit, column)
    left = 1.0 - fit.leverage
    telling = (left > SAME) & (fit.variances > STILL)
    ratio = np.where(telling, between / np.where(telling, left, 1.0), 0.0)
    gain = np.clip(ratio * between, 0.0, left[column])
    deviation = np.sqrt(np.where(telling, fit.variances[column] / np.where(telling, fit.variances, 1.0), 0.0))
    shift = (deviation * ratio)[:, None] * (values - fit.means[:, None])
    return Given(np.broadcast_to((fit.leverage[column] + gain)[:, None], shift.shape), shift)


def both(fit: Fit, columns: Ints, told: Given) -> Given:
    """(2 r,) what insiders make of records of some columns, (r,) each, without skewness and then with it."""
    turned = fit.slope[columns] * fit.variances[columns] * (1.0 - told.leverage)
    return Given(np.tile(told.leverage, 2), np.append(told.shift, told.shift + turned))


def bounds_of(fit: Fit, values: Floats, among: Ints | None = None) -> Given:
    """(a,) each of somebody: bounds of h' and of |δ| over some insiders and values (q, m), skewness in it.

    V_ij is a product of two vectors of lengths √h_i and √h_j: at most √(h_i h_j), and 0 for j of another
    component. So an insider adds at most h_i h_j / (1 − h_j) to h', and shifts by at most σ_i √(h_i h_j) /
    (1 − h_j) times how far off j's value may be, in terms of σ_j.

    Args:
        fit: Means, variances and leverage.
        values: What insiders may have.
        among: The insiders; by default everybody.
    """
    some = slice(0, fit.observed.people)
    variances, labels = fit.variances[some], fit.observed.components[some]
    h = np.where(variances > STILL, fit.leverage[some], 0.0)
    left, deviation = np.maximum(1.0 - h, SAME), np.sqrt(np.maximum(variances, STILL))
    away = np.abs(values[some] - fit.means[some, None]).max(axis=1, initial=0.0) / deviation
    mine = np.arange(len(h)) if among is None else among
    gain, shift = np.zeros((2, int(labels.max(initial=-1)) + 1))
    np.maximum.at(gain, labels[mine], (h / left)[mine])
    np.maximum.at(shift, labels[mine], (np.sqrt(h) / left * away)[mine])
    told = np.minimum(h * gain[labels], 1.0 - fit.leverage[some])
    moved = np.sqrt(variances * h) * shift[labels]
    return Given(fit.leverage[some] + told, moved + np.abs(fit.shift[some]))


def narrowed(likely: Likely, columns: Ints, told: Given) -> Floats:
    """(r, w) distributions of records of some columns (r,), each with what an insider makes of it (r,)."""
    return bells_of(likely, columns, told).rows(likely.tilt)


def bells_of(likely: Likely, columns: Ints, told: Given) -> Bells:
    """What `narrowed` are distributions of."""
    fit, seen = likely.fit, likely.fit.observed
    h = np.clip(told.leverage, 0.0, 1.0)
    kappa = stiffness(h, fit.variances[columns])
    moving = kappa > 0
    middle = fit.means[columns] + np.where(moving, told.shift / np.where(moving, h, 1.0), 0.0)
    return Bells(seen.low[columns], seen.high[columns], fit.theta[columns], middle, kappa)


def told_tilts(fit: Fit, columns: Ints, told: Given) -> Floats:
    """Tilts θ' of some columns, given what an insider makes of them, (r,) each."""
    variance = fit.variances[columns]
    moving = variance > STILL
    found: Floats = fit.theta[columns] + np.where(moving, told.shift / np.where(moving, variance, 1.0), 0.0)
    return found


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

    @property
    def tables(self) -> Tables:
        """Of what bells leave at least."""
        return self.baselines.tables(self.epsilon, self.left)

    @property
    def margin(self) -> float:
        """By how much posteriors are worse at most than with skewness."""
        return self.baselines.margin if self.epsilon is None else np.inf

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) how bad posteriors are, by how bad without skewness and with it."""
        return self.baselines.judged(without, skewed) if self.epsilon is None else np.maximum(without, skewed)

    def bad(self, left: Floats, base: Floats) -> Floats:
        """(r,) of what is left, beside A_baseline."""
        return against(left, base, self.domain) if self.epsilon is None else -left


def risks_with_insider(
    likely: Likely, values: Floats, measure: Measure, enough: float, spared: Flags | None = None
) -> WithInsider:
    """The greatest risk of everybody's posterior by the formula, alone and whoever the insider is.

    What the insider knows better of people like somebody is no disclosure about that person either: the
    baseline is that of what he sees, with κ' and θ' = θ + δ / σ².

    Args:
        likely: What answers make likely.
        values: (q, m) for each of the fit's columns the values that an insider may have, in units. Those of
            slacks are not looked at.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
        spared: (p,) atoms that are not looked at.
    """
    fit, seen, tables = likely.fit, likely.fit.observed, measure.tables
    worst, some = np.full(seen.people, -np.inf), np.arange(seen.people)
    if spared is not None:
        some = np.flatnonzero(~spared[seen.atoms])
    # of everybody by leverage alone; then those who have most of it looked at, then all
    tells = fit.leverage[: seen.people] * (fit.variances[: seen.people] > STILL)
    order = np.argsort(-tells, kind="stable")
    outer = Given(np.zeros(0), np.zeros(0))
    for count in (0, len(order) // MOST_TELLING, len(order)):
        outer = bounds_of(fit, values, order[count:]).of(some)
        if count:
            near = greatest_given(fit, some, values, order[:count])
            outer = Given(np.maximum(outer.leverage, near.leverage), np.maximum(outer.shift, near.shift))
        worst[some] = _bounded(likely, some, outer, measure, tables.coarse)
        still = ~(worst[some] <= enough)  # what is no number keeps nothing
        some, outer = some[still], outer.of(still)
    step = max(1, PAIRS // max(seen.people, 1))
    for first in range(0, len(some), step):
        part = np.arange(first, min(first + step, len(some)))
        worst[some[part]] = _over_pairs(likely, some[part], outer.of(part), values, measure, enough)
    risk = np.full(likely.known.count, -np.inf)
    risk[seen.atoms] = worst
    return WithInsider(risk, len(some) * seen.people)


def _bounded(likely: Likely, columns: Ints, outer: Given, measure: Measure, table: Table) -> Floats:
    """(r,) of some columns, alone and for all insiders within bounds of h' and |δ|, (r,) each."""
    gain, shift = _most(likely.fit, columns, outer)
    ranges = np.stack([np.zeros(len(columns)), gain]), np.stack([-shift, shift])
    return _of_ranges(likely, columns, *ranges, measure, table)


def _most(fit: Fit, columns: Ints, outer: Given) -> tuple[Floats, Floats]:
    """(r,) what is added to h' at most, and the greatest |δ|, skewness left out."""
    gain, shift = outer.leverage - fit.leverage[columns], outer.shift - np.abs(fit.shift[columns])
    return np.maximum(gain, 0.0) * (1.0 + ROUNDING), np.maximum(shift, 0.0) * (1.0 + ROUNDING)


def _of_ranges(
    likely: Likely, columns: Ints, gains: Floats, shifts: Floats, measure: Measure, table: Table
) -> Floats:
    """(r,) bounds of how bad some columns are, with all gains of h' and all δ between two, (2, r) each.

    What is left is the least of all cells with such a bell. The area of the baseline is at most
    `Baselines.greatest` between the tilts at the ends of κ and δ.
    """
    fit, seen, variance = likely.fit, likely.fit.observed, likely.fit.variances[columns]
    if not len(columns):
        return np.zeros(0)
    moving, slope, theta = variance > STILL, fit.slope[columns], fit.theta[columns]
    h = np.clip(fit.leverage[columns] + gains, 0.0, 1.0)
    kappas, rest = stiffness(h, variance), np.maximum(1.0 - h, SURE)
    turns = np.where(moving, shifts, 0.0) / np.where(moving, variance, 1.0)
    steep, push = theta + kappas * (fit.means[columns] - table.centre), turns[:, None] / rest
    low = steep.min(axis=0) + push.min(axis=(0, 1)) + np.minimum(slope, 0.0)
    high = steep.max(axis=0) + push.max(axis=(0, 1)) + np.maximum(slope, 0.0)
    left = np.full(len(columns), np.nan)
    where = seen.low[columns], seen.high[columns]
    table.look(least_of_ranges, *where, np.stack([low, high]), kappas, left)
    skew = slope * rest[0]
    ends = theta + turns[0] + np.minimum(skew, 0.0), theta + turns[1] + np.maximum(skew, 0.0)
    tilts = [np.stack([measure.baselines.tilts(kappa, end) for kappa in kappas]) for end in ends]
    return measure.bad(left, measure.baselines.greatest(tilts[0].min(axis=0), tilts[1].max(axis=0)))


def _over_pairs(
    likely: Likely, columns: Ints, outer: Given, values: Floats, measure: Measure, enough: float
) -> Floats:
    """(r,) of some columns what is enough for all insiders and values, or more than enough for one.

    Pairs at the same levels of h' and δ are bounded together, by the coarse table and by the fine one; those
    that this leaves open each by itself; of those that this leaves open, the worst first, areas are measured.

    Args:
        likely: What answers make likely.
        columns: (r,) whose.
        outer: (r,) what insiders make of them at most.
        values: (q, m) of insiders.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
    """
    fit, seen, told, base = likely.fit, likely.fit.observed, _insiders(likely.fit, values), measure.baselines
    with alone():
        turned = fit.factor.solve(seen.matrix[:, columns].toarray())
    told_of = -(seen.matrix[:, : seen.people].T @ turned)  # (s, r)
    most = _most(fit, columns, outer)
    alone_there = np.where(seen.sizes[columns] == 1, columns, -1)
    marks, everybody = np.zeros((len(columns), LEVELS, 2 * LEVELS), dtype=np.bool_), np.arange(len(columns))
    pairs = told_of, _factors(fit, columns, most), alone_there, told.levels, marks

    def mark(first: int, last: int) -> None:
        levels_of_pairs(*pairs, everybody[first:last], np.empty((1, 0), dtype=np.int64))

    in_two(mark, *told_of.shape[::-1])
    worst = _of_levels(likely, columns, most, marks, measure, enough)
    found, rows = np.empty((0, 3), dtype=np.int64), np.flatnonzero(marks.any(axis=(1, 2)))
    while len(rows) and (count := levels_of_pairs(*pairs, rows, found)) > len(found):
        found = np.empty((count, 3), dtype=np.int64)
    # who tells nothing of it tells the same as nobody
    nobody = np.column_stack([np.arange(len(columns)), np.tile([seen.people, 0], (len(columns), 1))])
    who, by, value = np.ascontiguousarray(np.concatenate([found, nobody]).T)
    between = np.zeros(len(who))
    some = who[: len(found)], by[: len(found)]
    between[: len(found)] = told_of[some[::-1]] * np.sqrt(
        fit.variances[columns[some[0]]] * fit.variances[some[1]]
    )
    figures = [each[columns] for each in (fit.leverage, fit.variances, fit.means, fit.theta, fit.slope)]
    table, bounds = measure.tables.fine, np.full(len(who), np.nan)
    rules = np.array([table.centre, measure.margin, base.nothing, measure.epsilon is not None], dtype=float)
    table.look(
        bounds_of_pairs,
        *(seen.low[columns], seen.high[columns], who, by, value, between, np.column_stack(figures)),
        *(told.each, told.away, *base.listed, rules, bounds),
    )
    within = bounds <= enough
    np.maximum.at(worst, who[within], bounds[within])
    open_ = np.flatnonzero(~within)
    open_ = open_[np.lexsort((-bounds[open_], who[open_]))]
    for place in np.unique(who[open_]).tolist():
        each, column = open_[who[open_] == place], int(columns[place])
        makes = told.given(fit, column, by[each], between[each], value[each])
        worst[place] = _measured(likely, column, makes, bounds[each], measure, enough, worst[place])
    return worst


def _factors(fit: Fit, columns: Ints, most: tuple[Floats, Floats]) -> Floats:
    """(r, 2) what `levels_of_pairs` takes of records of some columns."""
    with np.errstate(divide="ignore"):
        found = np.stack(
            [np.sqrt(fit.variances[columns] / most[0]), fit.variances[columns] / most[1]], axis=1
        )
    factors: Floats = LEVELS * np.where(np.stack(most, axis=1) > 0, found, 0.0)
    return factors


def ranges_of_levels(gain: Floats, shift: Floats, level: Ints, place: Ints) -> tuple[Floats, Floats]:
    """(2, r) what is added to h' at some levels of `levels_of_pairs`, and δ, by the most of each, (r,)."""
    # which level a number is at is rounded
    around = np.array([[-ROUNDING], [ROUNDING]])
    gains = (np.stack([level, level + 1]) / LEVELS) ** 2 + around
    shifts = np.stack([place - LEVELS, place - LEVELS + 1]) / LEVELS + around
    return np.maximum(gains, 0.0) * gain, shifts * shift


def _of_levels(
    likely: Likely,
    columns: Ints,
    most: tuple[Floats, Floats],
    marks: NDArray[np.bool_],
    measure: Measure,
    enough: float,
) -> Floats:
    """(r,) the greatest bound of marked levels, of those that are enough; their marks are taken off."""
    worst = np.full(len(columns), -np.inf)
    for table in (measure.tables.coarse, measure.tables.fine):
        who, level, place = np.nonzero(marks)
        gains, shifts = ranges_of_levels(most[0][who], most[1][who], level, place)
        bad = _of_ranges(likely, columns[who], gains, shifts, measure, table)
        within = bad <= enough
        np.maximum.at(worst, who[within], bad[within])
        marks[who[within], level[within], place[within]] = False
    return worst


@dataclass(frozen=True, eq=False)
class _Insiders:
    """Who may be an insider, and behind them nobody. Shapes: s of them, m values."""

    each: Floats
    """(s, 2) V_jj, or 0 of whom nothing is told, and σ_j."""
    away: Floats
    """(s, m) how far each value is from what is expected."""

    @property
    def levels(self) -> Floats:
        """(s, 1 + m) as `levels_of_pairs` takes them, nobody left out."""
        left, deviation = self.each[:-1].T
        part = np.where(left > 0, 1.0 / np.where(left > 0, left, 1.0), 0.0)
        return np.column_stack([deviation * np.sqrt(part), self.away[:-1] * part[:, None]])

    def given(self, fit: Fit, column: int, by: Ints, between: Floats, value: Ints) -> Given:
        """(r,) what some pairs of insiders and values make of one record, V_ij being known."""
        left, deviation = self.each[by].T
        ratio = np.where(left > 0, between / np.where(left > 0, left, 1.0), 0.0)
        gain = np.clip(ratio * between, 0.0, 1.0 - fit.leverage[column])
        shift = np.sqrt(fit.variances[column]) / deviation * ratio * self.away[by, value]
        return Given(fit.leverage[column] + gain, shift)


def _insiders(fit: Fit, values: Floats) -> _Insiders:
    people = fit.observed.people
    left, variances = 1.0 - fit.leverage[:people], fit.variances[:people]
    telling = (left > SAME) & (variances > STILL)
    each, away = np.tile([0.0, 1.0], (people + 1, 1)), np.zeros((people + 1, values.shape[1]))
    each[:people] = np.column_stack(
        [np.where(telling, left, 0.0), np.sqrt(np.where(telling, variances, 1.0))]
    )
    away[:people] = values[:people] - fit.means[:people, None]
    return _Insiders(each, away)


def _measured(
    likely: Likely, column: int, told: Given, bounds: Floats, measure: Measure, enough: float, settled: float
) -> float:
    """Of a record with some pairs, the worst bound first: the first that is more than enough, or a bound that
    is enough.

    Args:
        likely: What answers make likely.
        column: The record's.
        told: (r,) what the pairs make of it.
        bounds: (r,) how bad each is at most, descending.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
        settled: The greatest bound of the other pairs.
    """
    most, first, count = -np.inf, 0, 8
    _, at = np.unique(np.stack([told.leverage, told.shift]).round(12), axis=1, return_index=True)
    at = np.sort(at)  # the worst first, each pair that is like others once
    while first < len(at) and not most > enough and not bounds[at[first]] <= enough:
        some = at[first : first + count]
        bad = _of_pairs(likely, np.full(len(some), column), told, some, measure)
        most = float(np.maximum(most, bad.max()))  # what is no number stays
        if np.isnan(most):
            return most
        first, count = first + count, min(2 * count, AT_ONCE)
    if most > enough:
        return most
    rest = bounds[at[first]] if first < len(at) else -np.inf
    return max(most, settled, rest)


def _of_pairs(likely: Likely, columns: Ints, told: Given, pairs: Ints, measure: Measure) -> Floats:
    """(r,) how bad the posteriors of some records are, with a pair each."""
    part = both(likely.fit, columns, Given(told.leverage[pairs], told.shift[pairs]))
    twice = np.tile(columns, 2)
    left = measure.left(narrowed(likely, twice, part))
    base = measure.baselines.areas(
        stiffness(part.leverage, likely.fit.variances[twice]), told_tilts(likely.fit, twice, part)
    )
    return measure.judged(*measure.bad(left, base).reshape(2, -1))
