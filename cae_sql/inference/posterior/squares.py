"""What ranges of spreads, Σ (x − mean)², tell of one value, in the terms of a bell.

Beside the people's sum, known or not, a range of their spread says how large Σ (x − c)² is, for some c. Of
one of them, i, that is (x_i − c)² known but for noise, of variance

    N = what the range leaves (`noise`) + Σ over others of the variance of (x_j − c)².

Of values v that parabola differs from what it is at the mean μ of what is expected by (v − μ)(v + μ − 2c). So
the likelihood of v against that of μ falls no faster than a bell around μ does with

    κ = s² / N,   s = the greatest |v + μ − 2c| of the values that i may have.

It is counted `TIMES` as much: who has another value v' is seen by differences of up to |v − v'| · 2s, which
is a κ up to four times as great, and some ranges tell more than others, as luck has it.

Two choices of c count, of which for each the more telling one is taken. Where the sum is not known, c is the
mean of the members, but others vary more than they do around the c of which (x − c)² has least to do with x:
that is what remains of them where sums about them are known. So N takes the others around such a c of their
own, and s the greater of the two. What an insider knows is left out of N as well: the two members who vary
most, i or not, count for nothing in it.

Promise: a bell of each record that ranges of spreads narrow at least as much as they would with Gaussian
others, whatever else is known of sums; a person who stands far out among others who vary little is seen by
his own s and their own variance.

Source: `mathematics.md`, 8 (a brake).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.likely import Fit
from cae_sql.inference.posterior.noise import noise_of
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

NEAR = 0.02
"""Standard deviations, as a tilt, over which variances are differentiated."""
TIMES = 10.0
"""How often what spreads tell is counted. Of stars over 3 to 11 values, even, skewed or mostly in the middle,
with 32 to 212 others in each range, as many as kept a limit of 0.3 or 0.5, the exact risk was past it in at
most one of 200 draws; with 7 in up to 7 of a hundred, with 4 in up to 13."""
ALONE = 1e-12
"""Of a range, the part of others' variance and noise below which it is rounding."""


class Parabolas(NamedTuple):
    """Of one record of each column of somebody, (a,)."""

    centers: Floats
    """The c around which (x − c)² has no covariance with x."""
    variances: Floats
    """Of (x − c)², around that: what x does not explain of x²."""


def parabolas(fit: Fit, tilt: Tilt) -> Parabolas:
    """By derivatives of the variance after the tilt: its first is the third cumulant, its second the fourth.

    With m₂, m₃, m₄ of x around its mean: c = μ + m₃ / 2m₂, and m₄ − m₂² − m₃² / m₂ is what is left.
    """
    seen = fit.observed
    some = slice(0, seen.people)
    moments, theta = tilt.moments(seen.low[some], seen.high[some]), fit.theta[some]
    now = moments(theta)
    moving = now.variances > STILL
    two = np.where(moving, now.variances, 1.0)
    step = NEAR / np.sqrt(two)
    up, down = moments(theta + step).variances, moments(theta - step).variances
    three, four = (up - down) / (2 * step), (up - 2 * two + down) / step**2
    left = np.maximum(four + 2 * two**2 - three**2 / two, 0.0)
    return Parabolas(now.means + np.where(moving, three / (2 * two), 0.0), np.where(moving, left, 0.0))


def told_by_spreads(fit: Fit, tilt: Tilt, spreads: Sequence[tuple[Ints, float]]) -> Floats:
    """(a,) κ σ² of one record of each column of somebody, `TIMES`.

    Args:
        fit: Of the answered sums.
        tilt: Prior and windows.
        spreads: Columns of the members of each range, and w²/12.
    """
    seen, found = fit.observed, parabolas(fit, tilt)
    people = seen.people
    sizes, means, variances = seen.sizes[:people], fit.means[:people], fit.variances[:people]
    rows, steep = np.zeros((2, len(spreads), people))
    most = np.zeros(len(spreads))
    for number, (at, _) in enumerate(spreads):
        rows[number, at] = 1.0
        center = float(np.average(means[at], weights=sizes[at]))
        ends = np.stack([seen.low[at], seen.high[at]]) + means[at]
        away = np.stack([ends - 2 * center, ends - 2 * found.centers[at]])
        steep[number, at] = np.abs(away).max(axis=(0, 1))
        most[number] = np.sort(np.repeat(found.variances[at], np.minimum(sizes[at], 2)))[-2:].sum()
    own = (rows * sizes * found.variances) @ rows.T
    noise = noise_of(np.array([plain for _, plain in spreads]), own)
    whole = np.diag(own) + noise
    steep /= np.sqrt(np.maximum(whole - most, ALONE * whole) / whole)[:, None]
    root = Factor.by(own + np.diag(noise)).root
    told, same = root @ steep, root @ rows
    # without the record itself, by Sherman and Morrison
    rest = np.maximum(1.0 - found.variances * (same**2).sum(axis=0), ALONE)
    kappa: Floats = (told**2).sum(axis=0) + found.variances * (told * same).sum(axis=0) ** 2 / rest
    return np.where(variances > STILL, TIMES * variances * kappa, 0.0)
