"""What is likely of one record given sums, when its leverage is known:

    p(v) ∝ p⁰(v) · exp(ℓ (v − μ) − ½ κ (v − μ)²),   κ = h / ((1 − h) σ²)

with p⁰(v) ∝ prior(v) exp(θ v) the record's tilted distribution, μ and σ² its mean and variance, and h its
leverage. Why: p(x_i = v | A x = b) ∝ p⁰_i(v) · P⁰(the others' sums are b − a_i v), and by the central limit
theorem the second factor is Gaussian in v; Sherman and Morrison's formula gives κ. With h = 1 the value is
determined: what is left is the value of the grid next to μ.

ℓ is for skewness (`likely.Fit.slope`). By the saddle point the others' sums have the density

    log P⁰(c + d) ≈ const − ½ dᵀ H⁻¹ d − ½ log det H(λ + H⁻¹ d),   d = −a_i (v − μ),

and the determinant changes with d, since variances do where third moments are not 0. To first order, with q_j
= a_jᵀ H⁻¹ a_j and third central moments τ_j,

    ℓ_i = ½ Σ_{j ≠ i} τ_j q_j a_jᵀ H⁻¹ a_i / (1 − h_i),

one more solution of the equations for everybody. Without it what is expected of all does not add up to the
sums, and of a rare value under a prior far too little is made: in 10 sums with 12 others each, of whom 3 in a
hundred have it, the one who has it is given 0.36 in place of 0.91. What is cubic in v is left out.

It takes the others' sums for continuous. What it neglects is listed, with figures, in `docs/measure.md`.

Values are gathered in windows of the domain's step. Within them units are summed one by one where there are
few, else the bell is integrated over each window, or, where it is nearly flat, read at the window's middle.

Source: `mathematics.md`, 7, but for ℓ; H. E. Daniels, "Saddlepoint approximations in statistics" (1954).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

LISTED = 4_096
"""Units of a domain that are summed one by one."""
AT_ONCE = 2_000_000
"""Weights that are held at once."""
SURE = 1e-12
"""1 − h below which is rounding: κ stops there."""
STILL = 1e-9
"""σ² below which, in units², p⁰ is one value and a bell around it says nothing."""
FLAT = 1e-3
"""κ times the domain's width squared below which a bell is read at the windows' middles: it is off by less
than its square root of a window's share."""
NARROW, AROUND = 2.0, 40
"""A bell of less than so many units is summed over so many to either side of where it is highest."""


def stiffness(leverage: Floats, variance: Floats) -> Floats:
    """κ in 1 / units², of whatever shape."""
    moving = variance > STILL
    found: Floats = np.where(
        moving, leverage / (np.maximum(1.0 - leverage, SURE) * np.where(moving, variance, 1.0)), 0.0
    )
    return found


def rows_of(tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats) -> Floats:
    """(p, w) a distribution over windows for each record.

    Args:
        tilt: Prior and windows.
        low: (p,) least unit of each one's box.
        high: (p,) greatest.
        theta: (p,) tilt, ℓ added.
        middle: (p,) μ, in units.
        kappa: (p,) as `stiffness`; 0 for p⁰ itself.
    """
    windows = tilt.windows
    if windows.width * windows.count <= LISTED:
        return _in_blocks(_one_by_one, tilt, low, high, theta, middle, kappa, windows.width * windows.count)
    flat = kappa * float(windows.width * windows.count) ** 2 <= FLAT
    narrow = kappa * NARROW**2 > 1.0
    found = np.empty((len(low), windows.count))
    for work, chosen, each in (
        (_at_middles, flat, windows.count),
        (_around, narrow & ~flat, 2 * AROUND + windows.count),
        (_integrated, ~(flat | narrow), windows.count),
    ):
        at = np.flatnonzero(chosen)
        if len(at):
            given = low[at], high[at], theta[at], middle[at], kappa[at]
            found[at] = _in_blocks(work, tilt, *given, each)
    return found


@dataclass(frozen=True, eq=False)
class Bells:
    """Distributions as `rows_of` takes them, (r,) each."""

    low: Ints
    high: Ints
    theta: Floats
    middle: Floats
    kappa: Floats

    def rows(self, tilt: Tilt) -> Floats:
        """(r, w)"""
        return rows_of(tilt, self.low, self.high, self.theta, self.middle, self.kappa)


_Work = Callable[[Tilt, Ints, Ints, Floats, Floats, Floats], Floats]


def _in_blocks(
    work: _Work, tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats, each: int
) -> Floats:
    found, step = np.empty((len(low), tilt.windows.count)), max(1, AT_ONCE // each)
    for first in range(0, len(low), step):
        part = slice(first, first + step)
        found[part] = work(tilt, low[part], high[part], theta[part], middle[part], kappa[part])
    return found


def _one_by_one(tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats) -> Floats:
    """Every unit of the domain."""
    windows = tilt.windows
    units = np.arange(windows.width * windows.count)
    away = units - middle[:, None]
    logs = theta[:, None] * away - 0.5 * kappa[:, None] * away**2
    if tilt.logs is not None:
        logs += tilt.logs[units // windows.width]
    logs[(units < low[:, None]) | (units > high[:, None])] = -np.inf
    p = _normal(logs)
    if windows.width == 1:
        return p
    gathered: Floats = p.reshape(len(low), windows.count, windows.width).sum(axis=2)
    return gathered


def _at_middles(tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats) -> Floats:
    """A bell that hardly bends, over p⁰ in closed form."""
    first, last = tilt.parts(low, high)
    away = (first + last) / 2 - middle[:, None]
    rows = tilt.rows(low, high, theta) * np.exp(-0.5 * kappa[:, None] * away**2)
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found


def _around(tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats) -> Floats:
    """The units around where a narrow bell is highest."""
    windows = tilt.windows
    top = np.clip(np.rint(middle + theta / kappa), low, high)
    if tilt.logs is not None:
        top = np.clip(np.rint(middle), low, high)
    units = top.astype(np.int64)[:, None] + np.arange(-AROUND, AROUND + 1)
    inside = (units >= low[:, None]) & (units <= high[:, None])
    away = units - middle[:, None]
    logs = theta[:, None] * away - 0.5 * kappa[:, None] * away**2
    places = np.clip(units // windows.width, 0, windows.count - 1)
    if tilt.logs is not None:
        logs += tilt.logs[places]
    p = _normal(np.where(inside, logs, -np.inf))
    found = np.zeros((len(low), windows.count))
    np.add.at(found, (np.arange(len(low))[:, None], places), p)
    return found


def _integrated(tilt: Tilt, low: Ints, high: Ints, theta: Floats, middle: Floats, kappa: Floats) -> Floats:
    """exp(θ u) and the bell are one bell, around μ + θ / κ; sums over many units are integrals."""
    first, last = tilt.parts(low, high)
    root, top = np.sqrt(kappa)[:, None], (middle + theta / kappa)[:, None]
    below, above = root * (first - 0.5 - top), root * (last + 0.5 - top)
    # in the upper tail differences would be of numbers near 1
    turned = below > 0
    start = np.where(turned, -above, below)
    end = np.where(turned, -below, above)
    ends = scipy.special.log_ndtr(end)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # where a box has no part in a window
        logs = ends + np.log1p(-np.exp(scipy.special.log_ndtr(start) - ends))
    logs = np.where(last >= first, logs, -np.inf)
    if tilt.logs is not None:
        logs = logs + tilt.logs
    return _normal(logs)


def _normal(logs: Floats) -> Floats:
    """Rows of logarithms as rows of sum 1, whatever their scale."""
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = p / p.sum(axis=1, keepdims=True)
    return found
