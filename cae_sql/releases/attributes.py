"""In which steps noise is added to an attribute: places 0 … |D| − 1, and what stands outside of them.

The paper adds noise to every attribute, categorical ones as well, in steps of the attribute's domain. Here:

- a column of numbers has the domain that is given for it, or else runs from its least to its greatest
  value in the largest step that reaches every value (ages: years). What noise carries out of the domain
  stays there;
- another column (words, dates) has its distinct values in ascending order, or the order of a pandas
  categorical, numbered from 1 as in the paper's Table 2. A release may hold the values themselves or these
  numbers, which noise can carry below 1 and above their count; `add_noise` writes numbers.

Source: paper 000, Section 5, Noise Addition; Appendix, Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Ints
from cae_sql.releases.matching import numbers

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 1_000_000
"""Values of an attribute's domain."""
MOST_NOISE = 10_000_000
"""Steps that are added at most."""
_SLACK = 1e-6
"""In steps: how far off the grid a number may be for rounding's sake."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute's domain."""

    name: str
    count: int
    """|D|."""
    origin: Fraction = Fraction(1)
    """The number at place 0."""
    step: Fraction = Fraction(1)
    labels: tuple[Any, ...] | None = None
    """What stands at each place, where that is no number."""

    def places(self, column: pd.Series, table: str) -> Ints:
        """Places of a column's values, also outside of 0 … count − 1.

        Raises:
            InvalidInput: a value between two places, or of another kind.
        """
        if self.labels is None or _numeric(column):
            return self._of_numbers(numbers(column.to_frame(self.name), self.name, table), table)
        index = {label: place for place, label in enumerate(self.labels)}
        found = np.empty(len(column), dtype=np.int64)
        for row, value in enumerate(column.tolist()):
            if value in index:
                found[row] = index[value]
            elif isinstance(value, int):
                found[row] = value - 1
            else:
                raise InvalidInput(
                    f"row {row} of {table}: {self.name} = {value!r} is not in the original", row
                )
        return found

    def values(self, places: Ints) -> NDArray[Any]:
        """Numbers at these places; of words their numbers from 1."""
        found = grid_values(places, self.origin, self.step)
        whole = self.origin.denominator == self.step.denominator == 1
        return found.astype(np.int64) if whole else found

    def largest_noise(self, percent: float | Fraction) -> int:
        """M: so many percent of |D| − 1, rounded to the nearest even number, halves up.

        Raises:
            InvalidInput: a percentage that is negative, or more than `MOST_NOISE` steps.
        """
        share = exact(percent, "noise")
        if share < 0:
            raise InvalidInput(f"noise must be 0 percent or more, not {percent}")
        most = 2 * int(share * (self.count - 1) / 200 + Fraction(1, 2))
        if most > MOST_NOISE:
            raise InvalidInput(
                f"noise of {percent:g} percent is more than {MOST_NOISE:,} steps of {self.name}; take less"
            )
        return most

    def _of_numbers(self, values: NDArray[np.float64], table: str) -> Ints:
        steps = (values - float(self.origin)) / float(self.step)
        found = np.rint(steps)
        between = np.flatnonzero(np.abs(found - steps) > _SLACK)
        if between.size:
            row = int(between[0])
            raise InvalidInput(
                f"row {row} of {table}: {self.name} = {values[row]:g} is no whole number of steps of "
                f"{float(self.step):g} from {float(self.origin):g}",
                row,
            )
        return found.astype(np.int64)


def attribute_of(original: pd.DataFrame, name: str, domain: Domain | None = None) -> Attribute:
    """The domain of a column of the original, which has no missing values.

    Raises:
        InvalidInput: a domain that does not hold every value, or a column of too many steps.
    """
    column = original[name]
    if domain is not None:
        found = Attribute(name, domain.count, exact(domain.minimum), exact(domain.step))
        outside = np.flatnonzero(~_inside(found.places(column, "the original"), found.count))
        if outside.size:
            row = int(outside[0])
            raise InvalidInput(
                f"row {row} of the original: {name} = {column.iloc[row]} is outside of its domain "
                f"{domain.minimum} … {domain.maximum}; take a domain that has every value",
                row,
            )
        return found
    return _of_numbers(original, name) if _numeric(column) else _of_words(column, name)


def _inside(places: Ints, count: int) -> NDArray[np.bool_]:
    return (places >= 0) & (places < count)


def _numeric(column: pd.Series) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _of_words(column: pd.Series, name: str) -> Attribute:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return Attribute(name, len(column.cat.categories), labels=tuple(column.cat.categories))
    try:
        labels = sorted(set(column.tolist()))
    except TypeError as error:
        raise InvalidInput(f"{name} mixes values that have no common order; code it as numbers") from error
    return Attribute(name, len(labels), labels=tuple(labels))


def _of_numbers(original: pd.DataFrame, name: str) -> Attribute:
    given = np.unique(numbers(original, name, "the original"))
    values = [exact(value) for value in given.tolist()]
    if len(values) == 1:
        return Attribute(name, 1, values[0])
    denominator = lcm(*(value.denominator for value in values))
    step = Fraction(gcd(*(int((value - values[0]) * denominator) for value in values)), denominator)
    count = int((values[-1] - values[0]) / step) + 1
    if count > MOST_STEPS:
        raise InvalidInput(
            f"{name} has {count:,} steps of {float(step):g} between its least and greatest value; round it, "
            "or give its domain"
        )
    return Attribute(name, count, values[0], step)
