"""Distributions of many values: H(ε) for one ε in O(n log n).

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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.measure.kernels import block_weight

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Blocks(NamedTuple):
    """What blocks weigh: the one of the values u + 1 … v is `table[base + v * stride + u * along]`, or, where
    there is no table, is worked out."""

    p: Floats
    """(n,) probabilities, all positive, sum 1."""
    total: Floats
    """(n + 1,) their prefix sums, total[0] = 0."""
    table: Floats
    """Flat; may be empty."""
    base: int
    stride: int
    along: int


@compiled(error_model="numpy")
def weight(blocks: Blocks, u: int, v: int) -> float:
    """Of one block."""
    if blocks.table.size:
        return float(blocks.table[blocks.base + v * blocks.stride + u * blocks.along])
    return float(block_weight(blocks.p, blocks.total, u, v))


@compiled(error_model="numpy")
def _cost(distance: Floats, blocks: Blocks, vertex: Ints, u: int, v: int) -> float:
    return float(distance[u] + weight(blocks, vertex[u], vertex[v]))


@compiled(error_model="numpy")
def _overtakes(
    distance: Floats, blocks: Blocks, vertex: Ints, older: int, newer: int, after: int, last: int
) -> int:
    """The least v in (after, last] at which the older start is no worse than the newer; last + 1: none."""
    low, high = after + 1, last + 1
    while low < high:
        v = (low + high) // 2
        if _cost(distance, blocks, vertex, older, v) <= _cost(distance, blocks, vertex, newer, v):
            high = v
        else:
            low = v + 1
    return low


@compiled(error_model="numpy")
def _from_older(
    distance: Floats,
    blocks: Blocks,
    vertex: Ints,
    leftmost: Ints,
    c: int,
    last: int,
    stack: Ints,
    until: Ints,
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
            if depth and _cost(distance, blocks, vertex, u, v) >= _cost(
                distance, blocks, vertex, stack[depth - 1], v
            ):
                continue  # the newer one gains as v falls
            turn = c
            while depth:
                # down to here the top would lead those below
                top, end = stack[depth - 1], until[depth - 1] + 1
                if _cost(distance, blocks, vertex, u, end) > _cost(distance, blocks, vertex, top, end):
                    turn = _overtakes(distance, blocks, vertex, u, top, end, v) - 1
                    break
                depth -= 1
            stack[depth] = u
            until[depth] = turn
            depth += 1
        distance[v] = _cost(distance, blocks, vertex, stack[depth - 1], v) if depth else math.inf


@compiled(error_model="numpy")
def _from_newer(
    distance: Floats, blocks: Blocks, vertex: Ints, c: int, last: int, stack: Ints, until: Ints
) -> None:
    """Lower distance[v] by the starts c <= u < v, for c < v <= last.

    `until[k]`: from this v on the start below it in the stack is no worse.
    """
    depth = 0
    for v in range(c + 1, last + 1):
        while depth > 1 and v >= until[depth - 1]:
            depth -= 1
        u = v - 1
        if not depth or _cost(distance, blocks, vertex, u, v) < _cost(
            distance, blocks, vertex, stack[depth - 1], v
        ):
            turn = last + 1
            while depth:
                top, end = stack[depth - 1], until[depth - 1] - 1  # up to here the top would lead those below
                if end > v and _cost(distance, blocks, vertex, top, end) <= _cost(
                    distance, blocks, vertex, u, end
                ):
                    turn = _overtakes(distance, blocks, vertex, top, u, v, end)
                    break
                depth -= 1
            stack[depth] = u
            until[depth] = turn
            depth += 1
        distance[v] = min(distance[v], _cost(distance, blocks, vertex, stack[depth - 1], v))


@compiled(error_model="numpy")
def by_stacks(
    distance: Floats, blocks: Blocks, vertex: Ints, leftmost: Ints, stack: Ints, until: Ints
) -> None:
    """The distance of each vertex from the first; each can be reached from the one before it."""
    n = leftmost.size - 1
    distance[0] = 0.0
    c = 0
    while c < n:
        last = c + 1
        while last < n and leftmost[last + 1] <= c:
            last += 1
        _from_older(distance, blocks, vertex, leftmost, c, last, stack, until)
        _from_newer(distance, blocks, vertex, c, last, stack, until)
        c = last


@compiled(error_model="numpy")
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
    blocks = Blocks(p, total, np.empty(0), as_int64(0), as_int64(0), as_int64(0))
    stack, until = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    by_stacks(distance, blocks, np.arange(n + 1), leftmost, stack, until)
    return max(float(distance[n]), 0.0)
