"""A public prior as inference needs it: draws in units, and the odds of each unit.

It shapes from which tables hypothetical answers come. It excludes nothing: what it calls impossible remains
possible to certify, and worlds may have it where answers leave nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNLIKELY = -50.0
"""Logarithm of the least odds: what the prior rules out is not impossible."""


@dataclass(frozen=True, eq=False)
class Prior:
    """How values are spread over units 0..top, as far as everybody knows."""

    draw: Callable[[int, int], NDArray[np.int64]]
    """(count, seed) -> units."""
    odds: NDArray[np.float64]
    """(top + 1,) logarithms of the units' probabilities; empty for a grid too fine to list."""

    @classmethod
    def of(
        cls, draw: Callable[[int, int], NDArray[np.int64]], probabilities: NDArray[np.float64] | None
    ) -> Prior:
        """From a sampler and what it draws from; without the latter worlds are mixed as if all were alike."""
        if probabilities is None:
            return cls(draw, np.zeros(0))
        with np.errstate(divide="ignore"):
            return cls(draw, np.maximum(np.log(probabilities), UNLIKELY))
