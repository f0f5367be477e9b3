"""The likeliest values of a posterior: "most likely 60 to 90".

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.posterior.weights import Floats

SHARE = 0.8
"""Of a record's probability, how much its likeliest values hold together."""


def shortest_run(p: Floats) -> tuple[int, int]:
    """Places of the first and the last value of the shortest run that holds `SHARE`, the likeliest of equals.

    Args:
        p: (w,) probabilities of the values, ascending.
    """
    sums = np.append(0.0, np.cumsum(p))
    ends = np.searchsorted(sums, sums[:-1] + SHARE * sums[-1] - 1e-12)
    usable = np.flatnonzero(ends < len(sums))
    lengths = ends[usable] - usable
    shortest = usable[lengths == lengths.min()]
    start = max(shortest.tolist(), key=lambda each: sums[ends[each]] - sums[each])
    return start, int(ends[start]) - 1
