"""The domain of a confidential column: which values are possible, at the resolution risk is judged at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.numbers import Number, exact

_WHOLE = 2**53
"""Whole numbers up to here are floats."""


@dataclass(frozen=True)
class Domain:
    """The values minimum, minimum + step, … up to maximum.

    Raises:
        InvalidInput: a bound or step that is not finite, step <= 0, or maximum < minimum.
    """

    minimum: Number
    """Least possible value, in units of the column."""
    maximum: Number
    """Greatest possible value."""
    step: Number
    """Resolution at which risk is judged."""

    def __post_init__(self) -> None:
        low, high = exact(self.minimum, "minimum"), exact(self.maximum, "maximum")
        if exact(self.step, "step") <= 0:
            raise InvalidInput(f"step must be greater than 0, not {self.step}")
        if high < low:
            raise InvalidInput(f"maximum ({self.maximum}) must not be less than minimum ({self.minimum})")

    @property
    def count(self) -> int:
        """How many values the domain has."""
        return int((exact(self.maximum) - exact(self.minimum)) // exact(self.step)) + 1

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """All values in ascending order, each the float nearest to the exact decimal."""
        return grid_values(np.arange(self.count), exact(self.minimum), exact(self.step))

    @cached_property
    def area(self) -> float:
        """Area of the uninformed intruder, to whom all values are equally likely: bits × units."""
        from cae_sql.measure import uniform_area

        return uniform_area(self.count, float(exact(self.step)))


def grid_values(numbers: NDArray[np.int64], origin: Fraction, step: Fraction) -> NDArray[np.float64]:
    """origin + k · step for each k, each the float nearest to the exact decimal."""
    denominator = math.lcm(origin.denominator, step.denominator)
    start = origin.numerator * (denominator // origin.denominator)
    width = step.numerator * (denominator // step.denominator)
    furthest = int(np.abs(numbers).max(initial=1))
    if max(abs(start) + width * furthest, denominator) <= _WHOLE:
        found: NDArray[np.float64] = (start + width * numbers) / denominator  # of exact floats: rounded once
        return found
    return np.array([(start + width * k) / denominator for k in numbers.tolist()])


__all__ = ["Domain", "Number", "exact", "grid_values"]
