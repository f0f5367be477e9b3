"""What ranges of statistics make likely: observations with noise, beside the answered sums.

A range of width w of a count over S is taken as if the sum over S were known but for a noise, of variance

    min( (w²/12) · Var(x) / Var(g),  (π/2 − 1) · Var(Σ x given earlier answers and observations) ),

g being 1 for those who are counted and 0 for others: as if to know g were to know x. The second is what the
most telling single limit takes away, one in the middle of what is expected: a wide range tells by where its
ends are, and of its width alone too little would be made. A record's leverage is that of all sums and
observations together, and besides it that of the observations alone, six times, as if they were about
something else: κ = κ_all + 6 κ_observations. So neither what counts say of x besides sums over the same
people is missed, nor what both say together; and of who is above a limit one range may tell more than
another of the same width, as luck has it, where leverage knows the mean alone. It is more than they say, for
certain where g and x have little to do with each other: a brake, not an estimate.

A range of a weighted sum, Σ a x, is that very observation with noise w²/12. One of the spread,
Σ (x − mean)², is taken for the sum of x known within w / L, L being the most by which one unit of a value
can change the spread: again as if to know g(x) were to know x, where g is nowhere steeper than L.

Expected sums are left where the answered sums put them: what a count says of a group is no disclosure about
one person, and a baseline of members sees the same.

Source: `mathematics.md`, 8 (a brake).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.attaining import Attaining
from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.likely import Fit, Likely, Start
from cae_sql.inference.posterior.observations import Observations, observations
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

ONE_LIMIT = float(np.pi / 2 - 1)
"""Of a variance, the noise with which a limit in the middle tells on which side of it a value lies."""
LUCK = 6.0
"""How often what observations tell alone is counted. With 3, one person in 20 ranges of counts, each over 12
others, was past a limit of 0.5 in 3 runs of 20 that this had at 0.44; with 6 in none of 240 runs, with 5 to
400 ranges over 12 to 100 others."""
LEAST = 1e-9
"""Variance of noise, in units²: so rows stay independent."""
SURE = 1e-9
"""1 − h below which nothing is left."""


def likely_of(known: Knowledge, sums: Ints, tilt: Tilt, top: int, start: Start | None = None) -> Likely:
    """What answers make likely, with what is observed besides. As `Likely`."""
    if not known.observed:
        return Likely(known, sums, tilt, top, start=start)
    seen = observations(known, sums)
    begun = None if start is None else start.of(seen)
    fit = Fit.of(seen, tilt, begun, ends=Attaining.of(known, seen, tilt))
    return Likely(known, sums, tilt, top, with_observed(fit, known))


def with_observed(fit: Fit, known: Knowledge) -> Fit:
    """The same tilted model, its leverage with what is observed besides.

    Args:
        fit: Of the answered sums.
        known: What it is a fit of, with what is observed.
    """
    if not known.observed:
        return fit
    seen, count = fit.observed, len(known.observed)
    place = np.full(known.count, -1, dtype=np.int64)
    place[seen.atoms] = np.arange(seen.people)
    rows = np.zeros((count, len(seen.sizes)))
    plain = np.zeros(count)
    for number, (atoms, heavy, noise_of) in enumerate(known.observed):
        at = place[atoms]
        if heavy is None:  # in terms of the variance that one of them has
            rows[number, at] = 1.0
            plain[number] = noise_of * max(np.average(fit.variances[at], weights=seen.sizes[at]), STILL)
        else:
            greatest = float(np.abs(heavy).max())
            rows[number, at] = heavy / greatest
            plain[number] = noise_of / greatest**2
    weights = seen.sizes * fit.variances
    own = (rows * weights) @ rows.T
    cross = seen.matrix @ (rows * weights).T
    given = own - cross.T @ fit.factor.solve(cross) if len(cross) else own
    noise, apart = _noise(plain, given), _noise(plain, own)
    matrix = scipy.sparse.vstack([
        scipy.sparse.hstack([seen.matrix, scipy.sparse.csc_array((seen.matrix.shape[0], count))]),
        _beside(rows),
    ]).tocsc()  # fmt: skip
    # of noise nothing but its variance matters
    width = np.maximum(np.sqrt(12.0 * noise), 1.0)
    sizes = np.append(seen.sizes, np.ones(count, dtype=np.int64))
    variances, means = np.append(fit.variances, noise), np.append(fit.means, width / 2)
    expected = np.rint(_beside(rows) @ (sizes * means)).astype(np.int64)
    whole = np.rint(width).astype(np.int64)
    observed = Observations(
        matrix, np.append(seen.sums, expected), sizes, np.append(seen.low, np.zeros(count, dtype=np.int64)),
        np.append(seen.high, whole), seen.atoms,
    )  # fmt: skip
    factor = Factor.of(matrix, sizes * variances)
    kappa = _stiffness(factor.leverages(matrix, variances))
    variances_apart = np.append(fit.variances, apart)
    alone = Factor.of(_beside(rows), sizes * variances_apart)
    kappa += LUCK * _stiffness(alone.leverages(_beside(rows), variances_apart))
    return replace(
        fit,
        observed=observed,
        point=np.append(fit.point, np.zeros(count)),
        theta=np.append(fit.theta, np.zeros(count)),
        means=means,
        variances=variances,
        logs=np.append(fit.logs, np.log(width + 1)),
        factor=factor,
        worked_out=kappa / (1.0 + kappa),
        of_sums=fit,
    )


def _beside(rows: Floats) -> scipy.sparse.csc_array:
    """Rows with a column of noise for each."""
    return scipy.sparse.hstack([scipy.sparse.csc_array(rows), scipy.sparse.eye_array(len(rows))]).tocsc()


def _noise(plain: Floats, covariance: Floats) -> Floats:
    """(r,) variances of the noise of observations, each given those before it.

    Args:
        plain: (r,) by their widths.
        covariance: (r, r) of what is observed, before anything of it is.
    """
    left, found = covariance.copy(), plain.copy()
    for number in range(len(plain)):
        open_ = max(float(left[number, number]), 0.0)
        found[number] = min(found[number], ONE_LIMIT * open_)
        if open_ > 0:
            told = left[:, number] / (open_ + found[number])
            left -= np.outer(told, left[number])
    return np.maximum(found, LEAST)


def _stiffness(leverage: Floats) -> Floats:
    found: Floats = leverage / np.maximum(1.0 - leverage, SURE)
    return found
