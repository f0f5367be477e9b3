"""Distributions of thousands of values: H(ε) for one ε in O(n log n), and the area between certified bounds.

With P the prefix sums, D(v) = min over u of D(u) + f(P_v − P_u), v <= reach(u) (`kernels.py`). As f is
concave, f(P_v − P_u) − f(P_v − P_u') falls in v for u < u': of two starts the *older* one gains on the newer
as v grows, and once ahead stays ahead, as long as it is allowed. Which is why the plain algorithm for concave
least-weight subsequences (Galil and Park, *Dynamic programming with convexity, concavity and sparsity*, 1992)
needs care: the older ones are also the first that are no longer allowed.

So the vertices are cut into stretches c < v <= reach(c). Within one, newer starts (u >= c) are all allowed,
and a stack taken upwards finds the best of them. The older ones (u < c) are already known, the oldest allowed
for the smallest v only; taken downwards from v = reach(c) their number grows, each newly allowed one is
older, and loses as v falls: a stack again. Each vertex is an older start in one stretch at most, so both
passes are O(n log n).
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.measure.kernels import block_weight

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RELATIVE_ERROR = 1e-3
"""Of an area that is not computed exactly, unless another is asked for."""
_FINEST = 2.0**-40
"""Of the spread: stretches shorter than this are not halved."""


@compiled()
def _cost(distance: Floats, p: Floats, total: Floats, u: int, v: int) -> float:
    return float(distance[u] + block_weight(p, total, u, v))


@compiled()
def _overtakes(
    distance: Floats, p: Floats, total: Floats, older: int, newer: int, after: int, last: int
) -> int:
    """The least v in (after, last] at which the older start is no worse than the newer; last + 1: none."""
    low, high = after + 1, last + 1
    while low < high:
        v = (low + high) // 2
        if _cost(distance, p, total, older, v) <= _cost(distance, p, total, newer, v):
            high = v
        else:
            low = v + 1
    return low


@compiled()
def _from_older(
    distance: Floats, p: Floats, total: Floats, leftmost: Ints, c: int, last: int, stack: Ints, until: Ints
) -> None:
    """distance[v] = the least over the starts leftmost(v) <= u < c, for c < v <= last; inf: none.

    `until[k]`: from this v on downwards the start below it in the stack is the better one.
    """
    depth, u = 0, c
    for v in range(last, c, -1):
        while depth > 1 and v <= until[depth - 1]:
            depth -= 1
        while u > leftmost[v]:
            u -= 1
            if depth and _cost(distance, p, total, u, v) >= _cost(distance, p, total, stack[depth - 1], v):
                continue  # the newer one gains as v falls
            turn = c
            while depth:
                top, end = (
                    stack[depth - 1],
                    until[depth - 1] + 1,
                )  # down to here the top would lead those below
                if _cost(distance, p, total, u, end) > _cost(distance, p, total, top, end):
                    turn = _overtakes(distance, p, total, u, top, end, v) - 1
                    break
                depth -= 1
            stack[depth] = u
            until[depth] = turn
            depth += 1
        distance[v] = _cost(distance, p, total, stack[depth - 1], v) if depth else math.inf


@compiled()
def _from_newer(
    distance: Floats, p: Floats, total: Floats, c: int, last: int, stack: Ints, until: Ints
) -> None:
    """Lower distance[v] by the starts c <= u < v, for c < v <= last.

    `until[k]`: from this v on the start below it in the stack is no worse.
    """
    depth = 0
    for v in range(c + 1, last + 1):
        while depth > 1 and v >= until[depth - 1]:
            depth -= 1
        u = v - 1
        if not depth or _cost(distance, p, total, u, v) < _cost(distance, p, total, stack[depth - 1], v):
            turn = last + 1
            while depth:
                top, end = stack[depth - 1], until[depth - 1] - 1  # up to here the top would lead those below
                if end > v and _cost(distance, p, total, top, end) <= _cost(distance, p, total, u, end):
                    turn = _overtakes(distance, p, total, top, u, v, end)
                    break
                depth -= 1
            stack[depth] = u
            until[depth] = turn
            depth += 1
        distance[v] = min(distance[v], _cost(distance, p, total, stack[depth - 1], v))


@compiled()
def least_entropy(x: Floats, p: Floats, total: Floats, width: float) -> float:
    """H for windows of one width in O(n log n).

    Args:
        x: (n,) ascending positions whose differences are exact.
        p: (n,) probabilities, all positive, sum 1.
        total: (n + 1,) their prefix sums, total[0] = 0.
        width: In units of `x`.
    """
    n = x.size
    leftmost = np.zeros(n + 1, np.int64)
    u = 0
    for v in range(1, n + 1):
        while x[v - 1] - x[u] > width:
            u += 1
        leftmost[v] = u
    distance = np.zeros(n + 1)
    stack, until = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    c = 0
    while c < n:
        last = c + 1
        while last < n and leftmost[last + 1] <= c:
            last += 1
        _from_older(distance, p, total, leftmost, c, last, stack, until)
        _from_newer(distance, p, total, c, last, stack, until)
        c = last
    return max(float(distance[n]), 0.0)


def area_bounds(
    x: Floats, p: Floats, whole: bool, relative_error: float = RELATIVE_ERROR
) -> tuple[float, float]:
    """Bounds of the area, in bits × units of `x`: between two widths H lies between its values there.

    The stretch that leaves most open is halved until the middle of the bounds is right to `relative_error`.
    The bounds are certain up to the rounding of H, some 10⁻¹³ of it.

    Args:
        x: (n,) ascending positions.
        p: (n,) probabilities, all positive, sum 1.
        whole: The positions are whole numbers, and H changes at whole widths only.
        relative_error: (upper − lower) / 2 is at most this part of lower.
    """
    if x.size == 1:
        return 0.0, 0.0
    total = np.concatenate([[0.0], np.cumsum(p, dtype=np.longdouble).astype(np.float64)])
    spread = float(x[-1] - x[0])
    # H keeps its value up to the next whole width; off a grid only until the first two values merge.
    step = 1.0 if whole else 0.0
    first = 1.0 if whole else float(np.diff(x).min())
    highest = math.fsum(-q * math.log2(q) for q in p.tolist() if q < 1)
    settled = [highest * first]
    open_part, stretches = 0.0, list[tuple[float, float, float, float, float]]()

    def put(a: float, b: float, above: float, below: float) -> float:
        """A stretch a … b with H between its values at the ends; returns how much it leaves open."""
        settled.append(below * (b - a))
        gap = (above - below) * (b - a)
        if gap > 0 and b - a > step and b - a > spread * _FINEST:
            heapq.heappush(stretches, (-gap, a, b, above, below))
        elif step:
            settled.append(gap)  # one whole width: H is `above` all along
            return 0.0
        return max(gap, 0.0)

    if spread > first:
        open_part = put(first, spread, least_entropy(x, p, total, first), 0.0)
    lower = math.fsum(settled)
    while stretches and open_part > 2 * relative_error * lower:
        gap, a, b, above, below = heapq.heappop(stretches)
        middle = math.floor((a + b) / 2) if whole else (a + b) / 2
        height = min(max(least_entropy(x, p, total, middle), below), above)
        settled.append(-below * (b - a))
        open_part += gap + put(a, middle, above, height) + put(middle, b, height, below)
        lower = math.fsum(settled)
    return lower, lower + max(open_part, 0.0)
