"""The measure written plainly: Algorithm 1 of paper 000, and what it needs, in pure Python.

Slow on purpose. Tests hold the compiled kernels against it, the benchmark measures against it, and it is the
place to read what the kernels compute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def entropy(x: Sequence[int], p: Sequence[float], epsilon: int) -> float:
    """H(ε), one row of the table of Algorithm 1 (paper 000, Section 4).

    The printed algorithm also starts each cell from the row above, H(ε − 1, i); that changes no value, since
    every partition allowed there is tried here too.

    Args:
        x: Positions in grid units, strictly ascending.
        p: Their probabilities, all positive, sum 1.
        epsilon: Window width in grid units.

    Returns:
        The least entropy in bits over partitions into consecutive blocks of spread <= ε.
    """
    n = len(x)
    H = [0.0] * (n + 1)
    for i in range(1, n + 1):
        j = i
        p_partial = 0.0
        least = math.inf
        while j != 0 and x[i - 1] - x[j - 1] <= epsilon:
            p_partial += p[j - 1]
            H_temp = -p_partial * math.log2(p_partial) + H[j - 1]
            if H_temp < least:
                least = H_temp
            j -= 1
        H[i] = least
    return max(H[n], 0.0)


def breakpoints(x: Sequence[int]) -> list[int]:
    """Every width at which H can change: 0 and the distinct differences x_j − x_i, ascending, in grid
    units."""
    return sorted({b - a for i, a in enumerate(x) for b in x[i:]})


def curve(x: Sequence[int], p: Sequence[float]) -> tuple[list[int], list[float]]:
    """H at every breakpoint, by one run of Algorithm 1 each."""
    widths = breakpoints(x)
    return widths, [entropy(x, p, width) for width in widths]


def area(x: Sequence[int], p: Sequence[float]) -> float:
    """∫ H dε, in bits × grid units: the exact finite sum over the steps of the curve."""
    widths, heights = curve(x, p)
    return math.fsum(h * (b - a) for h, a, b in zip(heights, widths, widths[1:], strict=False))
