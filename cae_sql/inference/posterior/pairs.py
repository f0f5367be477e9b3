"""The greatest risk of everybody's posterior, whoever the insider is, over all pairs of record and insider.

Three steps, each for what the one before leaves open:

1. Leverage alone bounds what any insider tells of a record (Cauchy and Schwarz): no pair is looked at.
2. V_ij of all pairs is a product of matrices. Pairs whose h' and δ are at the same of some levels have one
   bound, from the table of bells (`tabulated`).
3. Pairs of a record one by one: by the table, and those that it leaves open are measured, the worst first.

Source: `mathematics.md`, 7 (insiders).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.posterior.bell import STILL, SURE, stiffness
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.insiders import SAME, Given, Measure, shared, telling
from cae_sql.inference.posterior.likely import Flags, Likely
from cae_sql.inference.posterior.weights import Floats, Ints

ROUNDING = 1e-7
"""Part of the most by which ranges are taken wider than they are."""
LEVELS = 8
"""Into which √(h' − h), and |δ|, are cut: most pairs tell little. Of 23,338 rows of a day of wages, each with
3,200 insiders, 35 went on to single pairs."""
PAIRS = 4_000_000
"""Of records with insiders that are held at once."""
AT_ONCE = 4_096
"""Pairs that are measured at once."""


@dataclass(frozen=True, eq=False)
class WithInsider:
    """What `risks_with_insider` finds."""

    risk: Floats
    """(p,) the greatest with any insider and value, by `Measure`; or a bound of it where that is within what
    was enough, and where it is not, some that is not either."""
    pairs: int
    """How many pairs of a record and an insider were looked at."""


def risks_with_insider(
    likely: Likely, values: Floats, measure: Measure, enough: float, spared: Flags | None = None
) -> WithInsider:
    """The greatest risk of everybody's posterior by the formula, alone and whoever the insider is.

    Args:
        likely: What answers make likely.
        values: (q, m) for each of the fit's columns the values that an insider may have, in units.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
        spared: (p,) atoms that are not looked at.
    """
    seen = likely.fit.observed
    worst, some = np.full(seen.people, -np.inf), np.arange(seen.people)
    if spared is not None:
        some = np.flatnonzero(~spared[seen.atoms])
    gain, shift = bounds_of(likely.fit, values)[:, some]
    ranges = np.stack([np.zeros(len(some)), gain]), np.stack([-shift, shift])
    worst[some] = _of_ranges(likely, some, *ranges, measure)
    some = some[~(worst[some] <= enough)]  # what is no number keeps nothing
    step = max(1, PAIRS // max(seen.people, 1))
    for first in range(0, len(some), step):
        part = some[first : first + step]
        worst[part] = _over_pairs(likely, part, values, measure, enough)
    risk = np.full(likely.known.count, -np.inf)
    risk[seen.atoms] = worst
    return WithInsider(risk, len(some) * seen.people)


def bounds_of(fit: Fit, values: Floats) -> Floats:
    """(2, a) each of somebody: bounds of h' − h and of |δ| over all insiders and values (q, m).

    V_ij is a product of two vectors of lengths √h_i and √h_j: at most √(h_i h_j), and 0 for j of another
    component. So an insider adds at most h_i h_j / (1 − h_j) to h', and shifts by at most σ_i √(h_i h_j) /
    (1 − h_j) times how far off j's value may be, in terms of σ_j.
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


def _of_ranges(likely: Likely, columns: Ints, gains: Floats, shifts: Floats, measure: Measure) -> Floats:
    """(r,) bounds of how bad some columns are, with all gains of h' and all δ between two, (2, r) each.

    What is left is the least of all cells with such a bell. The area of the baseline is at most
    `Baselines.greatest` between the tilts at the ends of κ and δ.
    """
    fit, seen, variance = likely.fit, likely.fit.observed, likely.fit.variances[columns]
    table = measure.table()
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


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of some records and insiders. Shapes: r records; s insiders, the last of whom is nobody; m
    values."""

    between: Floats
    """(s, r) V_ij / σ_j; 0 of a record with itself, and with nobody."""
    gains: Floats
    """(s,) σ_j² / V_jj: times the square of `between` it is what is added to h'."""
    shifts: Floats
    """(s, m) (u − μ_j) / V_jj: times `between` and σ_i it is δ."""
    deviation: Floats
    """(r,) σ_i."""
    most: Floats
    """(2, r) the greatest h' − h and |δ|, or some more."""

    @classmethod
    def of(cls, fit: Fit, columns: Ints, values: Floats) -> Pairs:
        """Of records of some columns (r,), whoever the insider, and whatever value he has (q, m)."""
        people, deviation = fit.observed.people, np.sqrt(fit.variances[columns])
        part = np.append(telling(fit)[:people], 0.0)
        gains = part * np.append(fit.variances[:people], 0.0)
        shifts = part[:, None] * np.pad(values[:people] - fit.means[:people, None], ((0, 1), (0, 0)))
        between = np.zeros((people + 1, len(columns)))
        np.multiply(shared(fit, columns)[:people], deviation, out=between[:people])
        by_themselves = np.flatnonzero(fit.observed.sizes[columns] == 1)
        between[columns[by_themselves], by_themselves] = 0.0
        size = np.abs(between)
        gain = (size * np.sqrt(gains)[:, None]).max(axis=0) ** 2
        shift = deviation * (size * np.abs(shifts).max(axis=1, initial=0.0)[:, None]).max(axis=0)
        most = np.stack([np.minimum(gain, 1.0 - fit.leverage[columns]), shift])
        return cls(between, gains, shifts, deviation, np.maximum(most, 0.0) * (1.0 + ROUNDING))

    def levels(self) -> tuple[NDArray[np.uint8], Flags]:
        """(s, r, m) at which level each pair is, and (r, 2 LEVELS²) at which ones a record has pairs."""
        scale = np.zeros_like(self.most)
        some = self.most > 0
        scale[some] = LEVELS / self.most[some]
        scale[0] = np.sqrt(LEVELS * scale[0])
        scale[1] *= self.deviation
        levels = np.empty((*self.between.shape, self.shifts.shape[1]), dtype=np.uint8)
        marks = np.zeros((len(self.deviation), 2 * LEVELS**2), dtype=np.bool_)
        levels_of(self.between, np.sqrt(self.gains), self.shifts, scale, levels, marks)
        return levels, marks

    def ranges(self, who: Ints, level: Ints) -> tuple[Floats, Floats]:
        """(2, n) between which h' − h, and δ, of some records' pairs are that are at some levels, (n,)."""
        row, place = np.divmod(level, 2 * LEVELS)
        around = np.array([[-ROUNDING], [ROUNDING]])  # which level a number is at is rounded
        gains = (np.stack([row, row + 1]) / LEVELS) ** 2 + around
        shifts = np.stack([place - LEVELS, place - LEVELS + 1]) / LEVELS + around
        return np.maximum(gains, 0.0) * self.most[0, who], shifts * self.most[1, who]

    def given(self, who: int, leverage: float, by: Ints, value: Ints) -> Given:
        """(n,) what some insiders with some values make of one record, of leverage h."""
        between = self.between[by, who]
        gain = np.clip(between**2 * self.gains[by], 0.0, 1.0 - leverage)
        return Given(leverage + gain, self.deviation[who] * between * self.shifts[by, value])


@compiled()
def levels_of(
    between: Floats, gains: Floats, shifts: Floats, scale: Floats, levels: NDArray[np.uint8], marks: Flags
) -> None:
    """Levels of √(h' − h) count in `2 LEVELS`; those of δ from `LEVELS`, upwards where it is not negative."""
    for j in range(len(between)):
        for i in range(between.shape[1]):
            row = min(int(abs(between[j, i]) * scale[0, i] * gains[j]), LEVELS - 1)
            for k in range(shifts.shape[1]):
                place = math.floor(between[j, i] * scale[1, i] * shifts[j, k])
                level = row * 2 * LEVELS + min(max(place, -LEVELS), LEVELS - 1) + LEVELS
                levels[j, i, k] = level
                marks[i, level] = True


def _over_pairs(likely: Likely, columns: Ints, values: Floats, measure: Measure, enough: float) -> Floats:
    """(r,) of some columns what is enough for all insiders and values, or more than enough for one."""
    pairs, worst = Pairs.of(likely.fit, columns, values), np.full(len(columns), -np.inf)
    if not np.isfinite(pairs.most).all():
        return np.full(len(columns), np.nan)
    levels, marks = pairs.levels()
    who, level = np.nonzero(marks)
    bad = _of_ranges(likely, columns[who], *pairs.ranges(who, level), measure)
    within = bad <= enough
    np.maximum.at(worst, who[within], bad[within])
    marks[who[within], level[within]] = False
    for place in np.flatnonzero(marks.any(axis=1)).tolist():
        by, value = np.nonzero(marks[place][levels[:, place]])
        told = pairs.given(place, float(likely.fit.leverage[columns[place]]), by, value)
        worst[place] = _measured(likely, int(columns[place]), told, measure, enough, worst[place])
    return worst


def _measured(
    likely: Likely, column: int, told: Given, measure: Measure, enough: float, settled: float
) -> float:
    """Of a record of a column with some pairs (r,), one that is more than enough, or a bound of all that is;
    `settled` is the greatest bound of the other pairs."""
    _, once = np.unique(np.stack([told.leverage, told.shift]).round(12), axis=1, return_index=True)
    told, alike = told.of(once), np.full(len(once), column)
    gains, shifts = told.leverage - likely.fit.leverage[column], told.shift
    bounds = _of_ranges(likely, alike, np.stack([gains, gains]), np.stack([shifts, shifts]), measure)
    within = bounds <= enough
    most, open_ = float(bounds[within].max(initial=settled)), np.flatnonzero(~within)
    open_, first, count = open_[np.argsort(-bounds[open_], kind="stable")], 0, 8
    while first < len(open_) and most <= enough:
        some = open_[first : first + count]
        most = float(np.maximum(most, measure.of_pairs(likely, alike[some], told.of(some)).max()))
        first, count = first + count, min(2 * count, AT_ONCE)
    return most
