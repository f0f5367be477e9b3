"""How much noise leaves of a statistic what a range says of it.

A range of width w is an observation with noise of variance

    min( w²/12, (π/2 − 1) · the variance that the statistic has, given earlier ranges ).

The second is what the most telling single limit takes away, one in the middle of what is expected: a wide
range tells by where its ends are, and of its width alone too little would be made.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.posterior.weights import Floats

ONE_LIMIT = float(np.pi / 2 - 1)
"""Of a variance, the noise with which a limit in the middle tells on which side of it a value lies."""
LEAST = 1e-9
"""Variance of noise, in units²: so rows stay independent."""


def noise_of(plain: Floats, covariance: Floats) -> Floats:
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
