"""The distribution of one record given sums, by its leverage h:

    p(v) ∝ p⁰(v) · exp(ℓ (v − μ) − ½ κ (v − μ)²),   κ = h / ((1 − h) σ²)

with p⁰(v) ∝ prior(v) exp(θ v) its tilted distribution, of mean μ and variance σ²: p(x_i = v | A x = b) ∝
p⁰_i(v) · P⁰(the others' sums are b − a_i v), where by the central limit theorem the second factor is Gaussian
in v; Sherman and Morrison's formula gives κ. With h = 1 the value of the grid next to μ is left.

ℓ (`fit.Fit.slope`) is for skewness: by the saddle point the density of the others' sums has a factor det H(λ
+ H⁻¹ d)^(−½), d = −a_i (v − μ), which changes with d where third central moments are not 0. Without it a rare
value gets far too little: in 10 sums with 12 others each, of whom 3 in a hundred have it, the one who has it
is given 0.36 in place of 0.91. What is cubic in v is left out, and the others' sums are taken for continuous.

Values are gathered in windows of the domain's step. Units are summed one by one where there are few; else the
bell is integrated over each window, or, where it is nearly flat, read at the window's middle.

Source: `mathematics.md`, 7, except for ℓ; H. E. Daniels, "Saddlepoint approximations in statistics" (1954).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from cae_sql.inference.posterior.tilt import Tilt, normal
from cae_sql.inference.posterior.weights import Floats, Ints

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
    rest = np.maximum(1.0 - leverage, SURE) * np.where(moving, variance, 1.0)
    return np.where(moving, leverage / rest, 0.0)


class Bells(NamedTuple):
    """p⁰ and a bell, (r,) each: box, in units, θ + ℓ, μ, and κ, which is 0 for p⁰ itself."""

    low: Ints
    high: Ints
    theta: Floats
    middle: Floats
    kappa: Floats

    def rows(self, tilt: Tilt) -> Floats:
        """(r, w) distributions over windows."""
        count, units = tilt.windows.count, tilt.windows.width * tilt.windows.count
        listed = np.full(len(self.kappa), units <= LISTED)
        flat = ~listed & (self.kappa * float(units) ** 2 <= FLAT)
        summed = listed | (self.kappa * NARROW**2 > 1.0)
        ways = ((_at_middles, flat), (_summed, summed), (_integrated, ~(flat | summed)))
        each = units if units <= LISTED else 2 * AROUND + count
        found, step = np.empty((len(listed), count)), max(1, AT_ONCE // each)
        for work, chosen in ways:
            at = np.flatnonzero(chosen)
            for first in range(0, len(at), step):
                part = at[first : first + step]
                found[part] = work(tilt, Bells._make(field[part] for field in self))
        return found


def _summed(tilt: Tilt, bells: Bells) -> Floats:
    """Over every unit of the domain, or those around where a narrow bell is highest."""
    windows, many = tilt.windows, tilt.windows.width * tilt.windows.count
    if many <= LISTED:
        units = np.arange(many)
    else:
        turned = bells.theta / bells.kappa if tilt.logs is None else 0.0
        top = np.clip(np.rint(bells.middle + turned), bells.low, bells.high).astype(np.int64)
        units = top[:, None] + np.arange(-AROUND, AROUND + 1)
    away, places = units - bells.middle[:, None], np.clip(units // windows.width, 0, windows.count - 1)
    logs = bells.theta[:, None] * away - 0.5 * bells.kappa[:, None] * away**2
    if tilt.logs is not None:
        logs += tilt.logs[places]
    logs[(units < bells.low[:, None]) | (units > bells.high[:, None])] = -np.inf
    p = normal(logs)
    if units.ndim == 1 and windows.width == 1:
        return p
    found = np.zeros((len(p), windows.count))
    np.add.at(found, (np.arange(len(p))[:, None], places), p)
    return found


def _at_middles(tilt: Tilt, bells: Bells) -> Floats:
    """A bell that hardly bends, over p⁰ in closed form."""
    first, last = tilt.parts(bells.low, bells.high)
    away = (first + last) / 2 - bells.middle[:, None]
    rows = tilt.rows(bells.low, bells.high, bells.theta) * np.exp(-0.5 * bells.kappa[:, None] * away**2)
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found


def _integrated(tilt: Tilt, bells: Bells) -> Floats:
    """exp(θ u) and the bell are one bell, around μ + θ / κ; sums over many units are integrals."""
    first, last = tilt.parts(bells.low, bells.high)
    root, top = np.sqrt(bells.kappa)[:, None], (bells.middle + bells.theta / bells.kappa)[:, None]
    below, above = root * (first - 0.5 - top), root * (last + 0.5 - top)
    # in the upper tail differences would be of numbers near 1
    turned = below > 0
    start, end = np.where(turned, -above, below), np.where(turned, -below, above)
    ends = scipy.special.log_ndtr(end)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # where a box has no part in a window
        logs = ends + np.log1p(-np.exp(scipy.special.log_ndtr(start) - ends))
    logs = np.where(last >= first, logs, -np.inf)
    return normal(logs if tilt.logs is None else logs + tilt.logs)
