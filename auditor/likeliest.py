"""The likeliest values of a posterior: "most likely 60 to 90".

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARE = 0.8
"""Of a record's probability, how much its likeliest values hold together."""


@dataclass(frozen=True)
class Likeliest:
    """What is possible of one record and what is likely, side by side. Values in units of the column."""

    possible: int
    """Values of the domain that it is shown to be able to have, from the least to the greatest; 0: none is
    shown, and what is not excluded lies between the two."""
    lower: float
    upper: float
    """The least and the greatest of them."""
    likely_lower: float
    likely_upper: float
    """Between which it lies with four chances of five or more: the shortest such range of the domain."""
    risk: float
    """1 − A / A_baseline of the posterior, against the policy's baseline; nobody is an insider."""
    leverage: float
    """The share of its variance that the answers explain, 0 to 1."""
    carried: float
    """How much of the leverage the few statements that are named have alone."""

    def said(self, numbers: Sequence[int]) -> str:
        """In plain words: "could still be any of 25 values, 10 to 250; most likely 60 to 90".

        Args:
            numbers: Of the statements that carry it; none where an extreme or an end makes it likely.
        """
        found = f"is known to be {self.lower:g}"
        if self.possible != 1:
            any_of = f"could still be any of {self.possible} values," if self.possible else "lies within"
            found = f"{any_of} {self.lower:g} to {self.upper:g}; "
            found += f"most likely {self.likely_lower:g} to {self.likely_upper:g}"
        if not numbers:
            return found
        several = "statements" if len(numbers) > 1 else "statement"
        listed = ", ".join(map(str, numbers))
        found += f"; answers explain {self.leverage:.0%} of its variance"
        return f"{found}, {several} {listed} alone {self.carried:.0%}"


def shortest_run(p: NDArray[np.float64]) -> tuple[int, int]:
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
