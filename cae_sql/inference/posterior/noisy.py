"""Ranges of statistics as observations with noise: the leverage of counts, weighted sums and spreads.

A range of width w of a count over S is taken for the sum over S, known but for a noise of variance

    min( (w²/12) · Var(x) / Var(g),  (π/2 − 1) · Var(Σ x given earlier answers and observations) ),

g being 1 for those who are counted: as if to know g were to know x. The second is the noise of the most
telling single limit. A range of a weighted sum is that very observation with noise w²/12.

A record's precision is κ_all + `LUCK` κ_observations: that of sums and observations together, and that of the
observations alone. It is a brake, not an estimate. Expected sums stay where the answered sums put them.

**Spreads**, Σ (x − mean)². A range of one says how large Σ (x − c)² is, for some c. Of one member i it is
(x_i − c)² known but for noise N: what the range leaves, and the variance of the others' (x_j − c)². So the
likelihood of v falls no faster than a bell around μ with κ = s² / N, s the greatest |v + μ − 2c| of the
values that i may have; it counts `TIMES`. Where the sum is not known, c is the mean of the members, and N
takes the others around the c of which (x − c)² has least to do with x, and s the greater of the two. The two
members who vary most count for nothing in N: one may be i, one an insider.

Promise: a bell of each record that ranges narrow at least as much as they would with Gaussian others. Under
which priors no bell around the mean sees any of this is for `range_checks`.

Source: `mathematics.md`, 8 (a brake).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.tilt import cumulants
from cae_sql.inference.posterior.weights import Floats, Ints

LUCK = 20.0
"""How often what observations tell alone is counted. Of stars of ranges, over 3 to 26 values, as many as kept
a limit of 0.5, the exact risk was past it in up to 32 of a hundred draws with 6, 9 with 12, and 2 with 20."""
TIMES = 10.0
"""How often what spreads tell is counted. Of like stars the exact risk was past the limit in at most one of
200 draws; with 7 in up to 7 of a hundred, with 4 in up to 13."""
ONE_LIMIT = float(np.pi / 2 - 1)
"""Of a variance, the noise with which a limit in the middle tells on which side of it a value lies."""
LEAST = 1e-9
"""Variance of noise, in units²: so rows stay independent."""
ALONE = 1e-12
"""Part of others' variance and noise below which it is rounding."""


def with_observed(fit: Fit, known: Knowledge) -> Fit:
    """The same tilted model of the answered sums, its leverage with what is observed besides."""
    if not known.observed:
        return fit
    seen, place = fit.observed, np.full(known.count, -1, dtype=np.int64)
    place[seen.atoms] = np.arange(seen.people)
    sums = [each for each in known.observed if not each.squares]
    count = len(sums)
    rows, plain = np.zeros((count, len(seen.sizes))), np.zeros(count)
    for number, each in enumerate(sums):
        at, weights = place[each.atoms], np.ones(1) if each.weights is None else each.weights
        greatest = float(np.abs(weights).max())
        rows[number, at], plain[number] = weights / greatest, each.noise / greatest**2
        if each.weights is None:  # as if to know which records are counted were to know x
            plain[number] *= max(float(np.average(fit.variances[at], weights=seen.sizes[at])), STILL)
    own = (rows * (seen.sizes * fit.variances)) @ rows.T
    cross = seen.matrix @ (rows * (seen.sizes * fit.variances)).T
    noise = _noise_of(plain, own - cross.T @ fit.factor.solve(cross) if len(cross) else own)
    apart = _noise_of(plain, own)
    found = _bordered(fit, rows, noise)
    image = Factor.by(own + np.diag(apart)).root @ np.hstack([rows, np.eye(count)])
    alone = np.clip(np.append(fit.variances, apart) * (image**2).sum(axis=0), 0.0, 1.0)
    # one may be the record itself, one an insider
    spreads = [
        (place[each.atoms], each.noise, known.atoms.occupied.of_two(each.atoms))
        for each in known.observed
        if each.squares
    ]
    by_spreads = _told_by_spreads(fit, spreads) if spreads else np.zeros(seen.people)
    more = np.append(by_spreads, np.zeros(len(alone) - seen.people))
    turned = image[:, : seen.people] * np.sqrt(np.maximum(fit.variances[: seen.people], 0.0))
    return replace(found, worked_out=braked(found.leverage, alone, more), apart=(turned, by_spreads))


def braked(rho: Floats, alone: Floats, by_spreads: Floats) -> Floats:
    """Leverage of all, by that of sums and observations together, that of the observations alone, and κ σ² of
    spreads."""
    once = np.ones(len(rho))  # κ σ²
    kappa = stiffness(rho, once) + LUCK * stiffness(alone, once) + by_spreads
    found: Floats = kappa / (1.0 + kappa)
    return found


def _bordered(fit: Fit, rows: Floats, noise: Floats) -> Fit:
    """With rows more, (r, q), and a column for the noise of each, of variances (r,)."""
    seen, count = fit.observed, len(rows)
    width = np.maximum(np.sqrt(12.0 * noise), 1.0)
    expected = np.rint(rows @ (seen.sizes * fit.means) + width / 2).astype(np.int64)
    matrix = scipy.sparse.vstack([seen.matrix, sparse_columns(rows)]).tocsc()
    observed = replace(seen, matrix=matrix, sums=np.append(seen.sums, expected))
    observed = observed.with_slacks(len(seen.sums) + np.arange(count), np.rint(width).astype(np.int64))
    variances = np.append(fit.variances, noise)
    return replace(
        fit,
        observed=observed,
        point=np.append(fit.point, np.zeros(count)),
        theta=np.append(fit.theta, np.zeros(count)),
        logs=np.append(fit.logs, np.log(np.rint(width) + 1)),
        means=np.append(fit.means, width / 2),
        variances=variances,
        factor=Factor.of(observed.matrix, observed.sizes * variances),
        worked_out=None,
        of_sums=fit,
    )


def _noise_of(plain: Floats, covariance: Floats) -> Floats:
    """(r,) variances of the noise of observations, each given those before: by those of their widths, (r,),
    and the covariances of what is observed, (r, r)."""
    left, found = covariance.copy(), plain.copy()
    for number in range(len(plain)):
        open_ = max(float(left[number, number]), 0.0)
        found[number] = min(found[number], ONE_LIMIT * open_)
        if open_ > 0:
            told = left[:, number] / (open_ + found[number])
            left -= np.outer(told, left[number])
    return np.maximum(found, LEAST)


def parabolas(fit: Fit) -> tuple[Floats, Floats]:
    """(a,) of one record of each column of somebody the c around which (x − c)² has no covariance with x, and
    the variance of (x − c)² there.

    With m₂, m₃, m₄ of x around its mean: c = μ + m₃ / 2m₂, and m₄ − m₂² − m₃² / m₂ is that variance.
    """
    seen, some = fit.observed, slice(0, fit.observed.people)
    now, three, four = cumulants(fit.tilt.moments(seen.low[some], seen.high[some]), fit.theta[some])
    moving = now.variances > STILL
    two = np.where(moving, now.variances, 1.0)
    left = np.maximum(four + 2 * two**2 - three**2 / two, 0.0)
    return now.means + np.where(moving, three / (2 * two), 0.0), np.where(moving, left, 0.0)


def _told_by_spreads(fit: Fit, spreads: Sequence[tuple[Ints, float, int]]) -> Floats:
    """(a,) κ σ² of one record of each column of somebody, `TIMES`, by each range's columns and w²/12, and how
    many members count for nothing in the noise."""
    seen, (centers, unexplained) = fit.observed, parabolas(fit)
    people = seen.people
    sizes, means, variances = seen.sizes[:people], fit.means[:people], fit.variances[:people]
    rows, steep = np.zeros((2, len(spreads), people))
    most = np.zeros(len(spreads))
    for number, (at, _, left_out) in enumerate(spreads):
        rows[number, at] = 1.0
        center = float(np.average(means[at], weights=sizes[at]))
        ends = np.stack([seen.low[at], seen.high[at]]) + means[at]
        away = np.stack([ends - 2 * center, ends - 2 * centers[at]])
        steep[number, at] = np.abs(away).max(axis=(0, 1))
        most[number] = np.sort(np.repeat(unexplained[at], np.minimum(sizes[at], left_out)))[-left_out:].sum()
    own = (rows * sizes * unexplained) @ rows.T
    noise = _noise_of(np.array([plain for _, plain, _ in spreads]), own)
    whole = np.diag(own) + noise
    steep /= np.sqrt(np.maximum(whole - most, ALONE * whole) / whole)[:, None]
    root = Factor.by(own + np.diag(noise)).root
    told, same = root @ steep, root @ rows
    # without the record itself, by Sherman and Morrison
    rest = np.maximum(1.0 - unexplained * (same**2).sum(axis=0), ALONE)
    kappa: Floats = (told**2).sum(axis=0) + unexplained * (told * same).sum(axis=0) ** 2 / rest
    return np.where(variances > STILL, TIMES * variances * kappa, 0.0)
