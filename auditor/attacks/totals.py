"""How likely each total of some people is, each of whose values is as likely as any other: in logarithms.

Promise: every total that is possible has a finite logarithm, right to eight digits or more, however unlikely
the total is: of 1,714 people with 27 values most totals are rarer than the least number that a float holds.

Weights e^(θ·value) shift what is likely without a change of what is possible: near their own mean the totals
of weighted values are counted by Fourier transform, and what the weights did is taken off again.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import logsumexp

Floats = NDArray[np.float64]

KEPT = 1e-4
"""How likely a total must be beside the likeliest to be read off a transform. One that rounds to 4e-13 of the
likeliest, as of 2,000 people, is then right to 4e-9."""
STEEPEST = 800.0
"""Weights e^(θ·value) beyond this are those of a single value, to the last digit."""
HALVINGS = 60
"""Of where θ can lie; more change nothing in a float."""


@lru_cache(maxsize=64)
def log_likely(count: int, top: int, values: int) -> Floats:
    """(count · top + 1,) log P(so many people have each total, and nobody more than `top`).

    Args:
        count: How many people.
        top: The greatest value of each, in steps above the least.
        values: How many values each may have, all alike: at least `top` + 1.
    """
    size = count * top + 1
    found = np.zeros(size)
    done = 0
    while size > 1 and done < size:
        done += _read_off(count, top, done, found)
    found -= count * np.log(values)
    return found


def log_likely_near(count: int, top: int, totals: NDArray[np.int64]) -> Floats:
    """As `log_likely` of some totals next to each other, up to a constant: of thousands, by a saddle point.

    Args:
        count: How many people, so many that these totals are near to each other beside how they spread.
        top: The greatest value of each.
        totals: (k,) ascending, each possible.
    """
    middle = int(totals[len(totals) // 2])
    each = np.arange(top + 1)
    tilt = _tilt(top, min(max(middle, 0.5), count * top - 0.5) / count)
    weights = np.exp(tilt * each - logsumexp(tilt * each))
    variance = count * float(weights @ each**2 - (weights @ each) ** 2)
    away = totals - middle
    return np.asarray(-tilt * away - away**2 / (2 * variance))


def _read_off(count: int, top: int, start: int, found: Floats) -> int:
    """Fill in log(ways) of the totals from `start` on, as many as one choice of weights tells; how many."""
    each = np.arange(top + 1)
    # nobody's mean is an end itself: there the weights would be infinite
    tilt = _tilt(top, min(max(start, 0.5), count * top - 0.5) / count)
    whole = float(logsumexp(tilt * each))
    length = next_fast_len(len(found), real=True)
    likely = irfft(rfft(np.exp(tilt * each - whole), length) ** count, length)[start : len(found)]
    known = likely >= KEPT * likely.max()
    last = len(known) if known.all() else int(np.argmin(known))
    totals = np.arange(start, start + last)
    found[totals] = np.log(likely[:last]) + count * whole - tilt * totals
    return last


def _tilt(top: int, mean: float) -> float:
    """θ for which the mean of 0 … top, weighed by e^(θ·value), is as given."""
    each, low, high = np.arange(top + 1), -STEEPEST, STEEPEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        logs = middle * each
        weights = np.exp(logs - logs.max())
        low, high = (middle, high) if weights @ each < mean * weights.sum() else (low, middle)
    return (low + high) / 2
