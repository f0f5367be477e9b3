"""Weighted sets of whole numbers and the weighted sets of their sums: positive arithmetic, no cancellation.

Promise: every weight of a sum is the sum of the products that make it, right to a few roundings each; nothing
that is possible is dropped, unless its weight is below what a float holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_PAIRS = 30_000_000
"""Products that are formed for one convolution, at most."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """Whole numbers, each with a weight."""

    positions: Ints
    """(k,) strictly ascending."""
    weights: Floats
    """(k,) positive, in units of exp(scale)."""
    scale: float = 0.0

    @property
    def span(self) -> int:
        """Greatest minus least position."""
        return int(self.positions[-1] - self.positions[0])

    def at(self, wanted: Ints) -> Floats:
        """(…) the weight of each wanted position; 0 where there is none."""
        places = np.minimum(np.searchsorted(self.positions, wanted), len(self.positions) - 1)
        found: Floats = np.where(self.positions[places] == wanted, self.weights[places], 0.0)
        return found

    def times(self, other: Weighted) -> Weighted:
        """The weighted set of sums of one position of each, its greatest weight 1 in the new scale;
        `OutOfTime` beyond `MOST_PAIRS` products."""
        scale, start = self.scale + other.scale, self.positions[0] + other.positions[0]
        pairs = len(self.positions) * len(other.positions)
        dense = (self.span + 1) * (other.span + 1)
        if min(pairs, dense) > MOST_PAIRS:
            raise OutOfTime(f"{pairs:,} pairs of sums are too many to be added up")
        if dense <= 4 * pairs:
            mine, theirs = (np.bincount(w.positions - w.positions[0], w.weights) for w in (self, other))
            weights = np.convolve(mine, theirs)
            positions = start + np.arange(len(weights))
        else:
            positions, at = np.unique(np.add.outer(self.positions, other.positions), return_inverse=True)
            products = np.outer(self.weights, other.weights).ravel()
            weights = np.bincount(at.ravel(), products).astype(np.float64)
        top, kept = float(weights.max()), weights > 0
        return Weighted(positions[kept], weights[kept] / top, scale + math.log(top))

    def power(self, count: int) -> Weighted:
        """The weighted set of sums of `count` positions, each its own choice; of none the sum is 0."""
        found, square = Weighted(np.zeros(1, dtype=np.int64), np.ones(1)), self
        while count:
            if count & 1:
                found = found.times(square)
            count >>= 1
            if count:
                square = square.times(square)
        return found
