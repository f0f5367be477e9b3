"""Compiled kernels of the measure: H(ε) for one ε, and for every breakpoint of the curve.

Vertices 0..n stand between the values: vertex v is "the first v values are covered". A block of the values
u+1..v is an edge u → v of weight f(p_{u+1} + … + p_v), f(q) = −q log2 q, allowed when its spread is at most
ε. H(ε) is the length of the shortest path from 0 to n (recurrence of paper 000, Section 4). The *reach* of
vertex u is the last v with u → v allowed.

Two kernels give the same numbers:

- `least_entropies` solves each ε anew. f is strictly concave, so in an optimal partition with fewest blocks
  every boundary is pushed as far right as the block before it reaches, or as far left as the block after it
  reaches (anything between is a strict mix of the two, hence worse). Edges with a boundary that is neither
  are left out: on equally spaced values that is 7 of 8.
- `growing_entropies` starts at ε = 0 and lets the allowed edges in one by one as ε passes their spread. All
  shortest paths are kept; only those that a new edge shortens are touched.

Importing this module imports numba; everything else in the package imports it late. Nothing here checks its
input.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.measure.lanes import to_entropies

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TABLE_LIMIT = 4096
"""Up to this many values all block weights are tabulated: (n + 1)² floats, 134 MB at the limit."""


@compiled()
def block_entropy(mass: float) -> float:
    """f(q) = −q log2 q; 0 at q = 0, and where rounding has carried a mass past 1."""
    return -mass * math.log2(mass) if 0.0 < mass < 1.0 else 0.0


@compiled(error_model="numpy")
def weight_table(p: Floats) -> Floats:
    """Weights of all blocks, shape (n + 1, n + 1), symmetric, so that edges out of and into a vertex are both
    a row."""
    n = p.size
    table = np.zeros((n + 1, n + 1))
    for v in range(1, n + 1):
        mass = 0.0
        for u in range(v - 1, -1, -1):
            mass += p[u]
            table[v, u] = mass
    to_entropies(table.reshape(-1), table.size)
    for v in range(1, n + 1):
        for u in range(v):
            table[u, v] = table[v, u]
    table[n, 0] = table[0, n] = 0.0  # everything in one block: certainty, whatever the sum was rounded to
    return table


@compiled()
def block_weight(p: Floats, total: Floats, u: int, v: int) -> float:
    """Weight of one block where there is no table; `total` are the prefix sums, total[0] = 0."""
    if v == u + 1:
        return block_entropy(p[u])  # a tiny probability would drown in the difference of prefix sums
    return 0.0 if v - u == p.size else block_entropy(total[v] - total[u])


# Reordering a minimum changes no digit of it; without leave to reorder the loop is not vectorised.
@compiled(fastmath={"nnan", "nsz", "reassoc"})
def least_sum(a: Floats, b: Floats, first: int, last: int, least: float) -> float:
    """min(least, min over first <= k < last of a[k] + b[k])."""
    for k in range(first, last):
        least = min(least, a[k] + b[k])
    return least


@compiled()
def least_entropy(reach: Ints, p: Floats, total: Floats, table: Floats) -> float:
    """H for one ε, given the reach of every vertex 0..n; `table` may be empty (0, 0)."""
    n = p.size
    tabled = table.shape[0] > 0
    row = np.empty(n + 1)
    ends = np.zeros(n + 1, np.bool_)  # where some block that reaches as far right as it can ends
    leftmost = np.zeros(n + 1, np.int64)  # least u with u -> v allowed
    starts = np.zeros(n + 1, np.bool_)  # where some block that reaches as far left as it can starts
    starts[n] = True
    u = 0
    for v in range(1, n + 1):
        ends[reach[v - 1]] = True
        while reach[u] < v:
            u += 1
        leftmost[v] = u
        starts[u] = True
    distance = np.zeros(n + 1)
    from_end = np.full(n + 1, np.inf)  # distance, where a block that is itself not pushed left may start
    exact_reach = 0
    for v in range(1, n + 1):
        left = leftmost[v]
        if tabled:
            row = table[v]
        else:
            row[left] = block_weight(p, total, left, v)
        best = distance[left] + row[left]
        if starts[v]:
            first = max(left + 1, reach[0])
            if not tabled:
                for u in range(first, v):
                    row[u] = block_weight(p, total, u, v)
            best = least_sum(from_end, row, first, v, best)
        else:
            while reach[exact_reach] < v:
                exact_reach += 1
            u = exact_reach
            while reach[u] == v:
                weight = row[u] if tabled else block_weight(p, total, u, v)
                best = min(best, from_end[u] + weight)
                u += 1
        distance[v] = best
        if ends[v]:
            from_end[v] = best
    return float(distance[n])


@compiled()
def least_entropies(x: Ints, breakpoints: Ints, p: Floats, total: Floats, table: Floats) -> Floats:
    """H at each of the ascending breakpoints, each solved anew; x (n,) ascending grid positions."""
    n = x.size
    reach = np.arange(1, n + 2)
    reach[n] = n + 1  # past everything, so that no loop runs off the end
    entropy = np.empty(breakpoints.size)
    for k in range(breakpoints.size):
        for u in range(n):
            v = reach[u]
            while v < n and x[v] - x[u] <= breakpoints[k]:
                v += 1
            reach[u] = v
        entropy[k] = least_entropy(reach, p, total, table)
    return entropy


@compiled()
def relax(
    distance: Floats, before: Ints, shorter: NDArray[np.bool_], row: Floats, u: int, reach: Ints, last: int
) -> int:
    """Follow the edges out of u, weights in `row`; returns the last vertex brought nearer, or `last`.

    An edge to where the block before u reaches as well leads nowhere: one block in place of the two is no
    worse, and that edge has been followed.
    """
    start = distance[u]  # in a variable: the compiler cannot know that the loop does not write to it
    for v in range(max(u, reach[before[u]]) + 1, reach[u] + 1):
        length = start + row[v]
        if length < distance[v]:
            distance[v] = length
            before[v] = u
            shorter[v] = True
            last = max(last, v)
    return last


@compiled()
def growing_entropies(
    edge_start: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    bounds: Ints,
    p: Floats,
    total: Floats,
    table: Floats,
) -> Floats:
    """H at 0 and after each group of edges has been let in; edges of group k are bounds[k]..bounds[k + 1]."""
    n = p.size
    tabled = table.shape[0] > 0
    row = np.empty(n + 1)
    distance = np.zeros(n + 1)
    reach = np.arange(1, n + 2)
    shorter = np.zeros(n + 1, np.bool_)
    for v in range(1, n + 1):
        distance[v] = distance[v - 1] + block_weight(p, total, v - 1, v)
    before = np.arange(-1, n)  # the vertex from which the shortest path comes
    before[0] = 0
    entropy = np.empty(bounds.size)
    entropy[0] = distance[n]
    for k in range(bounds.size - 1):
        first, last = n + 1, 0
        for e in range(bounds[k], bounds[k + 1]):
            u, v = edge_start[e], edge_end[e]
            reach[u] = max(reach[u], v)
            length = distance[u] + (table[u, v] if tabled else block_weight(p, total, u, v))
            if length < distance[v]:
                distance[v] = length
                before[v] = u
                shorter[v] = True
                first, last = min(first, v), max(last, v)
        u = first
        while u <= last and u < n:  # ascending, so that each vertex is settled before its edges are followed
            if shorter[u]:
                shorter[u] = False
                if tabled:
                    last = relax(distance, before, shorter, table[u], u, reach, last)
                else:
                    for v in range(max(u, reach[before[u]]) + 1, reach[u] + 1):
                        row[v] = block_weight(p, total, u, v)
                    last = relax(distance, before, shorter, row, u, reach, last)
            u += 1
        shorter[n] = False
        entropy[k + 1] = distance[n]
    return entropy
