"""Exact intervals under the paper's overlapping query sets, in linear time.

The records stand in a row; blocks of l of them; query k is the sum over the blocks k and k + 1. So the sum of
block k + 1 is the answer less the sum of block k, and everything hangs on the sum t of the first block:
B_k = a_k + s_k t with s_k = ±1. Each block's sum lies between l · low and l · high, which bounds t from both
sides; t bounds every block, and a block's sum each of its records. All in whole numbers: nothing is rounded.
The system of one query set is totally unimodular in this form, so the ends are whole numbers that real tables
attain.

Source: paper 000, Section 5 (query restriction): Q = 2l, k = ⌊2n/Q⌋ − 1 queries.
"""

from __future__ import annotations

import numpy as np

from cae_sql.releases.beliefs import Ints


def intervals(values: Ints, half: int, top: int) -> tuple[Ints, Ints]:
    """Feasibility intervals of records in the order of the queries.

    Args:
        values: (n,) confidential values in whole units, 0 … top.
        half: l >= 1: query k is the sum over the records k·l … (k + 2)·l − 1.
        top: Greatest possible value; n · top < 2⁶².

    Returns:
        Least and greatest value of each record, (n,) each.
    """
    n = values.size
    blocks = n // half
    lower, upper = np.zeros(n, dtype=np.int64), np.full(n, top, dtype=np.int64)
    if blocks < 2:  # no query fits
        return lower, upper
    sums = values[: blocks * half].reshape(blocks, half).sum(axis=1)
    # With t = B_0: B_k = sums_k + s_k (t − sums_0). The answers decide a_k = sums_k − s_k sums_0 alone.
    sign = np.where(np.arange(blocks) % 2 == 0, 1, -1)
    known = sums - sign * sums[0]
    most = half * top
    t_low = max(int((-known[::2]).max()), int((known[1::2] - most).max()))
    t_high = min(int((most - known[::2]).min()), int(known[1::2].min()))
    ends = known + sign * t_low, known + sign * t_high
    least, greatest = np.minimum(*ends), np.maximum(*ends)
    lower[: blocks * half] = np.repeat(np.maximum(least - (half - 1) * top, 0), half)
    upper[: blocks * half] = np.repeat(np.minimum(greatest, top), half)
    return lower, upper
