"""What somebody who knows their own value, too, makes of everybody else's.

V = I − D Aᵀ H⁻¹ A D, D = diag(σ), is a projection: what the sums leave of the records' (scaled) differences
from their means. Given that record j has the value u, the share V_ii = 1 − h_i of i's variance that is left
becomes V_ii − V_ij² / V_jj, and the mean moves by regression. In terms of the formula of `bell`:

    h' = h_i + V_ij² / V_jj,    δ = (σ_i / σ_j) (V_ij / V_jj) (u − μ_j),
    p_i(v) ∝ p⁰_i(v) · exp(−½ κ' (v − μ_i − δ / h')²),    κ' = h' / ((1 − h') σ_i²).

Since V² = V, Σ_j V_ij² = V_ii, so V_ij² ≤ h_i (1 − h_i) / m for j one of m records alike, none of them i: and
likewise with i and j exchanged. So what an insider adds to somebody's leverage is at most

    min(h_j, h_i (1 − h_i) / (m (1 − h_j)), 1 − h_i),

which spares looking at nearly all pairs.

Source: `mathematics.md`, 7 (insiders).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cae_sql.domain import Domain
from cae_sql.inference.posterior.areas import areas_of_rows
from cae_sql.inference.posterior.bell import STILL, rows_of, stiffness
from cae_sql.inference.posterior.likely import Fit, Likely
from cae_sql.inference.posterior.members import against
from cae_sql.inference.posterior.weights import Floats, Ints

SAME = 1e-9
"""V_jj below which j's value was known before he said it: it tells nothing."""
AT_ONCE = 20_000
"""Distributions that are measured at once."""
FEW = 32
"""Insiders of greatest leverage who are looked at before a bound is taken over the others: who is in many
sums has most, and there is mostly one."""


@dataclass(frozen=True, eq=False)
class Given:
    """What an insider's value makes of one record: for `narrowed`. Arrays of one shape."""

    leverage: Floats
    """h'."""
    shift: Floats
    """δ, in units."""


@dataclass(frozen=True, eq=False)
class WithInsider:
    """Figures by atom, (p,)."""

    risk: Floats
    """The greatest with any insider and value, or a bound of it where that is within what was enough."""
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
    """What each record's value would tell of one of a column.

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


def bounds_of(fit: Fit, values: Floats) -> Given:
    """(a,) each of somebody: bounds of h' and of |δ| over all insiders and values (q, m)."""
    people = fit.observed.people
    h, left = fit.leverage, np.maximum(1.0 - fit.leverage, SAME)
    sizes, variances = fit.observed.sizes[:people], fit.variances[:people]
    away = np.abs(values[:people] - fit.means[:people, None]).max(axis=1)
    moving = variances > STILL
    apart = np.where(moving, away / np.sqrt(np.where(moving, variances, 1.0)), 0.0)
    h, left = np.where(fit.variances > STILL, h, 0.0), np.where(fit.variances > STILL, left, 1.0)
    gain, shift, h = _of_the_greatest(fit, apart, h)
    labels = fit.observed.components[:people]
    # both bounds rise with h_j, and the shift's with how far off j's value is: the greatest of each component
    top, second, place = _two_greatest(labels, h[:people], sizes)
    furthest = np.zeros(int(labels.max(initial=-1)) + 1)
    np.maximum.at(furthest, labels, apart)
    other = np.maximum(np.where(place[labels] == np.arange(people), second[labels], top[labels]), 0.0)
    rest, own = np.maximum(1.0 - other, SAME), np.where(moving, fit.leverage[:people], 0.0)
    fewest = np.full(len(furthest), np.iinfo(np.int64).max)
    np.minimum.at(fewest, labels[h[:people] > 0], sizes[h[:people] > 0])
    mine = own * left[:people] / np.maximum(fewest[labels], 1)
    gain = np.maximum(gain, np.minimum(other, mine / rest))
    # |V_ij| / V_jj = √(gain / V_jj), and V_ij² ≤ h_j (1 − h_j) besides
    steep = np.minimum(np.sqrt(mine) / rest, np.sqrt(other / rest))
    shift = np.maximum(shift, steep * furthest[labels])
    # of others alike V_ij = −h_i
    alike = np.where(moving & (sizes > 1), own, 0.0)
    gain = np.maximum(gain, alike**2 / left[:people])
    shift = np.sqrt(variances) * np.maximum(shift, alike / left[:people] * apart)
    return Given(fit.leverage[:people] + np.minimum(gain, left[:people]), shift)


def _of_the_greatest(fit: Fit, apart: Floats, h: Floats) -> tuple[Floats, Floats, Floats]:
    """What the few insiders of greatest leverage add, exactly: they would spoil a bound for everybody.

    Returns:
        The greatest gain, and shift in terms of σ, of each of somebody, (a,), and h (q,) without these.
    """
    people, rest = fit.observed.people, h.copy()
    gain, shift = np.zeros((2, people))
    for column in np.argsort(-h[:people], kind="stable")[:FEW].tolist():
        left = 1.0 - fit.leverage[column]
        rest[column] = 0.0
        if left <= SAME or h[column] <= 0:
            continue
        between = covariances(fit, column)[:people]
        if fit.observed.sizes[column] == 1:
            between[column] = 0.0
        gain = np.maximum(gain, between**2 / left)
        shift = np.maximum(shift, np.abs(between) / left * apart[column])
    return gain, shift, rest


def narrowed(likely: Likely, columns: Ints, told: Given) -> Floats:
    """(r, w) distributions of records of some columns (r,), each with what an insider makes of it (r,)."""
    fit, seen = likely.fit, likely.fit.observed
    h = np.clip(told.leverage, 0.0, 1.0)
    kappa = stiffness(h, fit.variances[columns])
    moving = kappa > 0
    middle = fit.means[columns] + np.where(moving, told.shift / np.where(moving, h, 1.0), 0.0)
    return rows_of(likely.tilt, seen.low[columns], seen.high[columns], fit.theta[columns], middle, kappa)


Measure = Callable[[Floats, Floats], Floats]
"""How bad distributions (r, w) are, each beside an area (r,) of its baseline: the greater the worse, (r,)."""


def risks_with_insider(
    likely: Likely,
    values: Floats,
    base: Floats,
    domain: Domain,
    enough: float,
    measure: Measure | None = None,
) -> WithInsider:
    """The greatest risk of everybody's posterior by the formula, whoever the insider is.

    Args:
        likely: What answers make likely.
        values: (q, m) for each of the fit's columns the values that an insider may have, in units: those of
            hypothetical tables and the ends of the interval. Those of slacks are not looked at.
        base: (p,) A_baseline, by atom.
        domain: At whose step values are judged.
        enough: A risk up to which a bound will do.
        measure: What is taken in place of the risk.
    """

    def risk_of(rows: Floats, base: Floats) -> Floats:
        return against(areas_of_rows(rows, domain), base, domain)

    bad = risk_of if measure is None else measure
    fit, seen = likely.fit, likely.fit.observed
    base, risk = base[seen.atoms], np.full(likely.known.count, -np.inf)
    outer, everybody = bounds_of(fit, values), np.arange(seen.people)
    worst = np.full(seen.people, -np.inf)
    for sign in (-1.0, 0.0, 1.0):
        for leverage in (fit.leverage[: seen.people], outer.leverage) if sign == 0 else (outer.leverage,):
            rows = narrowed(likely, everybody, Given(leverage, sign * outer.shift))
            worst = np.maximum(worst, bad(rows, base))
    pairs = 0
    for column in np.flatnonzero(worst > enough).tolist():
        told = given(fit, column, values)
        others = np.arange(len(seen.sizes)) < seen.people
        others[column] = seen.sizes[column] > 1
        some = np.flatnonzero(others)
        # all of its pairs at once, as if one insider had the greatest gain and the greatest shift
        h, furthest = told.leverage[some].max(initial=0.0), np.abs(told.shift[some]).max(initial=0.0)
        corners = Given(np.full(2, max(h, fit.leverage[column])), np.array([-furthest, furthest]))
        worst[column] = bad(narrowed(likely, np.full(2, column), corners), base[[column, column]]).max()
        if worst[column] <= enough:
            continue
        pairs += len(some)
        worst[column] = _greatest(likely, column, told, some, float(base[column]), bad)
    risk[seen.atoms] = worst
    return WithInsider(risk, pairs)


def _greatest(likely: Likely, column: int, told: Given, some: Ints, base: float, bad: Measure) -> float:
    """Of one record, with each insider and value."""
    leverage = np.append(told.leverage[some].ravel(), likely.fit.leverage[column])
    shift = np.append(told.shift[some].ravel(), 0.0)
    # who tells nothing of it tells the same as nobody
    kept = np.unique(np.stack([leverage, shift]).round(12), axis=1)
    worst = -np.inf
    for first in range(0, kept.shape[1], AT_ONCE):
        part = Given(*kept[:, first : first + AT_ONCE])
        rows = narrowed(likely, np.full(len(part.shift), column), part)
        worst = max(worst, float(bad(rows, np.full(len(rows), base)).max()))
    return worst


def _two_greatest(labels: Ints, values: Floats, sizes: Ints) -> tuple[Floats, Floats, Ints]:
    """By component: the greatest value, that of another record, and the column of the greatest."""
    count = int(labels.max(initial=-1)) + 1
    order = np.lexsort((-values, labels))
    first = np.searchsorted(labels[order], np.arange(count))
    top, place = values[order[first]], order[first]
    next_one = np.minimum(first + 1, len(order) - 1)
    alone = (labels[order[next_one]] != np.arange(count)) | (next_one == first)
    second = np.where(alone, 0.0, values[order[next_one]])
    return top, np.where(sizes[place] > 1, top, second), place
