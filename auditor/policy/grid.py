"""Bounds and steps that the values of a column suggest. Pure: values in, a grid out.

Promise: bounds are rounded outwards to a coarse unit and never are the least or greatest value itself, but 0
where nothing is negative. Steps follow from quantiles: half of the people do not lie in one or two of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from auditor.errors import DatabaseError
from auditor.policy.policy import MOST_VALUES

STEPS = 64
"""Steps of the whole domain that are suggested at most where values are spread over it."""
MIDDLE = 4
"""Steps that the middle half of the values is to span. Weekly wages up to 18,777 with a median of 522 got
steps of 500 by `STEPS` alone: 94 % of the people were in the first three."""
MOST_STEPS = 200
"""More are never suggested: decisions take several times as long with a hundred as with 25."""
SKEWED = Fraction(1, 10)
"""Part of the domain below which the middle half of the values is said to be crowded."""


@dataclass(frozen=True)
class Grid:
    """Where the values of a column lie."""

    minimum: Fraction
    """Rounded downwards, below the least value (0 where nothing is negative)."""
    maximum: Fraction
    """Rounded upwards, above the greatest."""
    step: Fraction
    """Resolution at which risk is judged."""
    resolution: Fraction
    """Grid of the stored values."""
    cap: Fraction | None = None
    """Where the middle half of the values is crowded: a round figure that hardly anybody passes."""

    @property
    def steps(self) -> int:
        """Values at which risk is judged."""
        return floor((self.maximum - self.minimum) / self.step) + 1


def grid_of(values: Mapping[Fraction, int]) -> Grid:
    """Bounds, step and resolution that values suggest.

    Args:
        values: How many people have each.

    Raises:
        DatabaseError: fewer than two different values, or a grid too fine to be one.
    """
    if len(values) < 2:
        raise DatabaseError("the column has fewer than two different values; there is nothing to protect")
    scale = lcm(*(value.denominator for value in values))
    resolution = Fraction(gcd(*(int(value * scale) for value in values)), scale)
    minimum, maximum = _bounds(min(values), max(values), resolution)
    if (maximum - minimum) / resolution > MOST_VALUES:
        raise DatabaseError(
            "the column's values lie on no grid that can be worked with; protect a rounded copy of it, "
            "for example round(column, 2)"
        )
    low, high, most = (quantile(values, share) for share in (0.25, 0.75, 0.99))
    step = min(
        _at_least((maximum - minimum) / STEPS, resolution), _at_most((high - low) / MIDDLE, resolution)
    )
    step = max(step, _at_least((maximum - minimum) / (MOST_STEPS - 1), resolution))
    crowded = high - low < SKEWED * (maximum - minimum) and (maximum - minimum) / resolution > STEPS
    cap = _round_above(most, resolution) if crowded and most > 0 else None
    return Grid(minimum, maximum, step, resolution, cap if cap is not None and cap < maximum else None)


def quantile(values: Mapping[Fraction, int], share: float) -> Fraction:
    """The least value that this share of the people does not exceed."""
    wanted, seen = ceil(share * sum(values.values())), 0
    for value in sorted(values):
        seen += values[value]
        if seen >= wanted:
            break
    return value


def _bounds(low: Fraction, high: Fraction, resolution: Fraction) -> tuple[Fraction, Fraction]:
    unit = _at_least((high - low) / 20, resolution)
    minimum = floor(low / unit) * unit
    maximum = ceil(high / unit) * unit
    if minimum == low:
        minimum -= unit
    if maximum == high:
        maximum += unit
    return (max(minimum, Fraction(0)) if low >= 0 else minimum), maximum


def _round_above(value: Fraction, resolution: Fraction) -> Fraction:
    unit = _at_least(value / 4, resolution)
    return ceil(value / unit) * unit


def _at_least(least: Fraction, unit: Fraction) -> Fraction:
    """The least of 1, 2, 5, 10, 20, … units that is not below `least`."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if unit * digit * power >= least:
                return unit * digit * power
        power *= 10


def _at_most(most: Fraction, unit: Fraction) -> Fraction:
    """The greatest of 1, 2, 5, 10, 20, … units that is not above `most`; one unit where none is."""
    found, power = unit, 1
    while True:
        for digit in (1, 2, 5):
            if unit * digit * power > most:
                return found
            found = unit * digit * power
        power *= 10
