"""All pairs of a record and an insider: the greatest that any tells, and how bad each may be at most.

With z_i = √σ_i² R a_i, H⁻¹ = Rᵀ R, an insider j adds V_ij² / V_jj = (z_i z_j)² / V_jj to somebody's
leverage, and shifts the mean by |V_ij| / V_jj times how far off j's value may be (`insiders`). The greatest
of both over all j takes a product of two matrices. What each pair leaves open is looked up (`tabulated`).

Source: `mathematics.md`, 7 (insiders).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.posterior.bell import STILL, SURE
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.members import area_at
from cae_sql.inference.posterior.tabulated import State, at_point
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone as on_one_thread
from cae_sql.threads import in_two

Singles = NDArray[np.float32]

SAME = 1e-9
"""V_jj below which j's value was known before he said it: it tells nothing."""
HALF_AS_LONG = 2.0**-23
"""What rounding to floats of 32 bits may add to 1, twice."""
HELD = 4_000_000
"""Numbers of insiders' rows that are held at once."""
BLOCK = 100_000
"""Pairs that are looked at at once: what the processor holds near."""

LEVELS = 8
"""Into which what is added to h', and |δ|, are cut: pairs at the same levels are bounded together."""


@dataclass(frozen=True, eq=False)
class Given:
    """What an insider's value makes of one record: for `insiders.narrowed`. Arrays of one shape."""

    leverage: Floats
    """h'."""
    shift: Floats
    """δ, in units."""

    def of(self, some: Ints | NDArray[np.bool_]) -> Given:
        """The same of some."""
        return Given(self.leverage[some], self.shift[some])


@dataclass(frozen=True, eq=False)
class _Telling:
    """What insiders' values tell. Shapes: a columns of somebody."""

    part: Floats
    """(a,) 1 / √V_jj; 0 of whom nothing is told."""
    apart: Floats
    """(a,) how far off j's value may be, in terms of σ_j √V_jj."""

    @classmethod
    def of(cls, fit: Fit, values: Floats) -> _Telling:
        count = fit.observed.people
        left, variances = 1.0 - fit.leverage[:count], fit.variances[:count]
        telling = (left > SAME) & (variances > STILL)
        part = np.where(telling, 1.0 / np.sqrt(np.where(telling, left, 1.0)), 0.0)
        deviation = np.sqrt(np.where(telling, variances, 1.0))
        away = np.abs(values[:count] - fit.means[:count, None]).max(axis=1, initial=0.0)
        return cls(part, part * away / deviation)


def greatest_given(fit: Fit, columns: Ints, values: Floats, among: Ints | None = None) -> Given:
    """(r,) each of some columns: the greatest h' and the greatest |δ| over some insiders and values (q, m).

    As `insiders.given` has them pair by pair, but the two may be of different insiders. In floats of 32 bits,
    which take half the time, and greater by as much as these may be off.

    Args:
        fit: Means, variances and leverage.
        columns: (r,) whose.
        values: What insiders may have.
        among: Columns of the insiders; by default of everybody.
    """
    found, telling = np.zeros((2, len(columns))), _Telling.of(fit, values)
    seen, height = fit.observed, len(fit.factor.root)
    insiders = np.arange(seen.people) if among is None else among
    people, place = len(insiders), np.full(len(seen.sizes), -1)
    place[insiders] = np.arange(people)
    wide = max(1, HELD // max(height, 1))
    step = max(1, BLOCK // max(min(people, wide), 1))
    mine, longest = np.empty((height, len(columns)), dtype=np.float32), 0.0
    off, own = np.empty(len(columns)), np.where(seen.sizes[columns] == 1, place[columns], -1)

    def images(some: Ints) -> Floats:
        """(k, s) what a_i H⁻¹ a_j is a product of two of."""
        held: Floats = fit.factor.root @ seen.matrix[:, some].toarray()
        return held

    def compare(begin: int, told: Singles, far: Singles, start: int, end: int) -> None:
        for first in range(start, end, step):
            each = slice(first, min(first + step, end))
            # |V_ij| / √V_jj but for σ_i
            greatest_of(mine[:, each].T @ told, far, own[each] - begin, found[0, each], found[1, each])

    with on_one_thread():
        for first in range(0, len(columns), wide):
            held = images(columns[first : first + wide])
            mine[:, first : first + wide] = held
            off[first : first + wide] = np.sqrt((held**2).sum(axis=0))
        for start in range(0, people, wide):
            block = insiders[start : start + wide]
            told = images(block) * (np.sqrt(fit.variances[block]) * telling.part[block])
            longest = max(longest, float((told**2).sum(axis=0).max(initial=0.0)))
            work = partial(compare, start, told.astype(np.float32), telling.apart[block].astype(np.float32))
            in_two(work, len(columns), told.shape[1])
    off *= (height + 4) * HALF_AS_LONG * np.sqrt(longest)
    between, shift = found[0] + off, found[1] + 2 * off * telling.apart.max(initial=0.0)
    gain = np.minimum(fit.variances[columns] * between**2, 1.0 - fit.leverage[columns])
    return Given(fit.leverage[columns] + gain, fit.variances[columns] * shift + np.abs(fit.shift[columns]))


@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def greatest_of(between: Singles, far: Singles, own: Ints, greatest: Floats, furthest: Floats) -> None:
    """Of each row the greatest number, and the greatest times how far, but at its own place, if it is less.

    Args:
        between: (r, s)
        far: (s,)
        own: (r,) places that are left out; those outside are none.
        greatest: (r,) raised to what is found.
        furthest: (r,) likewise.
    """
    for i in range(len(between)):
        if 0 <= own[i] < len(far):
            between[i, own[i]] = 0.0
        most, most_far = np.float32(greatest[i]), np.float32(furthest[i])
        for j in range(len(far)):
            each = abs(between[i, j])
            most = max(most, each)
            most_far = max(most_far, each * far[j])
        greatest[i], furthest[i] = most, most_far


@compiled()
def levels_of_pairs(
    told_of: Floats,
    mine: Floats,
    own: Ints,
    theirs: Floats,
    marks: NDArray[np.bool_],
    rows: Ints,
    found: Ints,
) -> int:
    """Mark which levels of h' and δ pairs are at; or list those whose levels are marked, and count them.

    Levels of what is added to h' are of its square root, since most pairs tell little; those of δ count from
    `LEVELS`, upwards where it is not negative.

    Args:
        told_of: (s, r) V_ij / (σ_i σ_j).
        mine: (r, 2) factors of each record: with `told_of` and the insider's they make levels of h' and δ.
        own: (r,) which insider is the record itself; −1: none.
        theirs: (s, 1 + m) factors of each insider: for h', and for δ with each value.
        marks: (r, LEVELS, 2 LEVELS)
        rows: Places of the records that are looked at.
        found: (n, 3) where places of records, insiders and values go, as far as there is room; (1, 0):
            nothing is listed, and levels are marked.
    """
    count, mark = 0, found.shape[1] == 0
    for j in range(len(told_of)):
        for i in rows:
            if own[i] == j:
                continue
            told = told_of[j, i]
            level = min(int(abs(told) * mine[i, 0] * theirs[j, 0]), LEVELS - 1)
            for k in range(1, theirs.shape[1]):
                part = told * mine[i, 1] * theirs[j, k]
                place = LEVELS + min(int(part), LEVELS - 1)
                if part < 0:
                    place = LEVELS - 1 - min(int(-part), LEVELS - 1)
                if mark:
                    marks[i, level, place] = True
                elif marks[i, level, place]:
                    if count < len(found):
                        found[count, 0], found[count, 1], found[count, 2] = i, j, k - 1
                    count += 1
    return count


@compiled()
def bounds_of_pairs(
    keys: Ints,
    values: Floats,
    state: State,
    step: Floats,
    boxes: Ints,
    who: Ints,
    by: Ints,
    value: Ints,
    between: Floats,
    mine: Floats,
    theirs: Floats,
    away: Floats,
    tilts: Floats,
    turns: Floats,
    areas: Floats,
    rules: Floats,
    found: Floats,
) -> None:
    """How bad records' posteriors are at most with an insider and a value, where `found` is no number.

    Args:
        keys: As the other arrays up to `step` of `tabulated.at_point`.
        values: ...
        state: ...
        step: ...
        boxes: (r,) number of each record's box.
        who: (n,) places of records, of each pair.
        by: (n,) of insiders.
        value: (n,) of their values.
        between: (n,) V_ij.
        mine: (r, 5) leverage, variance, mean, tilt and slope of each record.
        theirs: (s, 2) of each insider V_jj, or 0 of whom nothing is told, and the deviation.
        away: (s, m) how far each value is from what is expected.
        tilts: As the other two `members.Listed`.
        turns: ...
        areas: ...
        rules: The domain's centre; by how much more the risk is at most than with skewness; below which area
            a baseline leaves nothing; whether it is entropies that are looked up.
        found: (n,) which is written to.
    """
    centre, margin, nothing, of_entropy = rules[0], rules[1], rules[2], rules[3] > 0
    for pair in range(len(found)):
        if not math.isnan(found[pair]):
            continue
        i, j = who[pair], by[pair]
        h, variance, mean, theta, slope = mine[i, 0], mine[i, 1], mine[i, 2], mine[i, 3], mine[i, 4]
        moving, left, deviation = variance > STILL, theirs[j, 0], math.sqrt(variance)
        ratio = between[pair] / left if left > 0 else 0.0
        told = min(h + min(max(ratio * between[pair], 0.0), 1.0 - h), 1.0)
        rest = max(1.0 - told, SURE)
        kappa = told / (rest * variance) if moving else 0.0
        shift = deviation / theirs[j, 1] * ratio * away[j, value[pair]] if moving else 0.0
        plain, skewed = 0.0, 0.0
        for form in range(2):
            total = shift + (slope * variance * (1.0 - told) if form == 1 else 0.0)
            steep = theta + kappa * (mean - centre)
            if kappa > 0:
                steep += total / (rest * variance)
            least = at_point(keys, values, state, step, boxes[i], steep, kappa)
            bad = -least
            if not of_entropy:
                base = area_at(tilts, turns, areas, kappa, theta + total / variance if moving else theta)
                bad = 1.0 - least / base if base > nothing else 1.0
            if form == 0:
                plain = bad
            skewed = bad
            if slope == 0.0:
                break
        if not (math.isnan(plain) or math.isnan(skewed)):
            found[pair] = max(skewed, min(plain, skewed + margin))
