"""One sum over records that are alike, whose values lie on no coarse common step: without a transform.

Two ways, each positive arithmetic only, and each of no use where the other is quick:

- by counts, for few values: a table is its counts of each value; all but two of them are gone through, and
  the number of records and the sum say what the last two are. C(n + k − 2, k − 2) cases of k values.
- by halves, for few records: the sums of one half and of the other, by sparse convolution, are brought
  together. C(n/2 + k − 1, k − 1) sums at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy

from cae_sql.inference.posterior.weights import MOST_PAIRS, Floats, Ints, Weighted

MOST_CASES = 100_000_000
"""Combinations of counts that are gone through, at most: some ten seconds."""


def cases_by_counts(values: int, size: int) -> int:
    """How many combinations of counts there are to go through."""
    return math.comb(size + max(values - 2, 0), max(values - 2, 0))


def pairs_by_halves(values: int, size: int) -> int:
    """How many pairs of a sum of one half and a value there are, at most."""
    half = (size - 1) // 2
    return values * math.comb(half + values - 1, half)


def by_counts(positions: Ints, weights: Floats, size: int, total: int) -> Floats | None:
    """The marginal of a record given the sum, (k,); None where no table has it.

    Args:
        positions: (k,) whole numbers from 0, ascending; k >= 2.
        weights: (k,) positive.
        size: Number of records.
        total: The sum.
    """
    second, rest = int(positions[1]), positions[2:].astype(np.int64)
    if not len(rest):
        greater, left_over = divmod(total, second)
        return None if left_over or not 0 <= greater <= size else np.array([size - greater, greater]) / size
    logs = np.log(weights)
    factorials = scipy.special.gammaln(np.arange(size + 1) + 1.0)
    top, expected = -math.inf, np.zeros(len(positions))
    for fixed, free in _all_but_two(len(rest), size):
        left = total - sum(c * int(x) for c, x in zip(fixed, rest, strict=False)) - free * int(rest[-1])
        ones, off = np.divmod(left, second)
        zeros = size - sum(fixed) - free - ones
        possible = (off == 0) & (ones >= 0) & (zeros >= 0)
        if not possible.any():
            continue
        counts = np.stack([zeros[possible], ones[possible], free[possible]])
        # log of how many tables have these counts, each weighed; n! is left out
        weight = logs[[0, 1, -1]] @ counts - factorials[counts].sum(axis=0)
        weight += sum(c * log - factorials[c] for c, log in zip(fixed, logs[2:], strict=False))
        best = float(weight.max())
        if best > top:
            expected *= math.exp(top - best)
            top = best
        shares = np.exp(weight - top)
        expected[[0, 1, -1]] += counts @ shares
        expected[2:-1] += np.array(fixed) * shares.sum()
    return None if top == -math.inf else expected / expected.sum()


def _all_but_two(free: int, size: int) -> Iterator[tuple[tuple[int, ...], Ints]]:
    """Counts of the values but the first two: of all but the last of them, and every count of that one."""
    if free == 1:
        yield (), np.arange(size + 1, dtype=np.int64)
        return
    counts = [0] * (free - 1)
    while True:
        used = sum(counts)
        yield tuple(counts), np.arange(size - used + 1, dtype=np.int64)
        place = 0
        while place < free - 1:
            if sum(counts) < size:
                counts[place] += 1
                break
            counts[place] = 0
            place += 1
        else:
            return


def by_halves(positions: Ints, weights: Floats, size: int, total: int) -> Floats | None:
    """As `by_counts`.

    Raises:
        OutOfTime: too many sums.
    """
    each = Weighted(positions, weights / weights.max())
    some = each.power((size - 1) // 2)
    others = some if (size - 1) % 2 == 0 else some.times(each)
    ways = np.array(
        [weight * float(some.weights @ others.at(total - x - some.positions)) for x, weight in
         zip(positions.tolist(), each.weights.tolist(), strict=True)]
    )  # fmt: skip
    return None if not ways.any() else ways / ways.sum()


__all__ = ["MOST_CASES", "MOST_PAIRS", "by_counts", "by_halves", "cases_by_counts", "pairs_by_halves"]
