"""The domain of a confidential column: which values are possible, at the resolution risk is judged at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InvalidInput
from cae_sql.numbers import Number, exact


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
        low, step = exact(self.minimum), exact(self.step)
        return np.array([float(low + step * k) for k in range(self.count)])

    @cached_property
    def area(self) -> float:
        """Area of the uninformed intruder, to whom all values are equally likely: bits × units."""
        from cae_sql.measure import uniform_area

        return uniform_area(self.count, float(exact(self.step)))


__all__ = ["Domain", "Number", "exact"]
