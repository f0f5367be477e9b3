"""H of one short irregular distribution at every width where it can change, the widths side by side.

Between the values stand vertices, as in `kernels.py`. A block u → v is allowed from some width on, its *rank*
among the widths; so it lowers the distances to v from that width on, all of them by the same addition, which
a processor's vector units do several at a time. From the width on that one block takes all before v, nothing
is better than that block.

For n values there are some n²/2 widths and a sixth of n⁴/2 additions: quick for a few dozen values, where
`kernels.growing_entropies` spends its time on finding out what need not be done.

Nothing here checks its input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.measure.lanes import SIMD

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]

MOST_VALUES = 56
"""From here on `kernels.growing_entropies` is quicker."""


@compiled(**SIMD)
def _follow(a: Floats, i: int, b: Floats, j: int, weight: float, count: int) -> None:
    for k in range(count):
        a[np.uint64(i + k)] = b[np.uint64(j + k)] + weight


@compiled(**SIMD)
def _lower(a: Floats, i: int, b: Floats, j: int, weight: float, count: int) -> None:
    for k in range(count):
        a[np.uint64(i + k)] = min(a[np.uint64(i + k)], b[np.uint64(j + k)] + weight)


@compiled()
def entropies(rank: Ranks, table: Floats, widths: int) -> Floats:
    """H at each width.

    Args:
        rank: (n + 1, n + 1) number of the width from which on the block u → v is allowed, u < v; 0 where it
            holds one value.
        table: (n + 1, n + 1) weights of the blocks (`kernels.weight_table`).
        widths: How many widths there are, 0 among them.
    """
    n = table.shape[0] - 1
    distance = np.empty((n + 1) * widths)
    distance[:widths] = 0.0
    for v in range(1, n + 1):
        here = v * widths
        whole = rank[0, v]
        _follow(distance, here, distance, here - widths, table[v, v - 1], whole)
        for u in range(1, v - 1):
            first = rank[u, v]
            _lower(distance, here + first, distance, u * widths + first, table[v, u], whole - first)
        distance[here + whole : here + widths] = table[v, 0]
    return distance[n * widths :]
