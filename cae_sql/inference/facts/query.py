"""One answered aggregate, as exact knowledge about records on a grid.

Values are counted in *units*: c = minimum + unit · u with 0 <= u <= top. On a grid the unit is the data's
resolution and u an integer; for real-valued tables the unit is 1 and u any real number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Number, exact
from cae_sql.errors import InconsistentAnswers, InvalidInput

Kind = Literal["sum", "max", "min", "count", "quantile", "weighted", "spread", "held", "about", "squares"]
Region = tuple[tuple[int, int], ...]
"""Values in units: disjoint intervals, ascending, ends included."""
Ints = NDArray[np.int64]
Name = tuple[str, bytes, bytes]
"""Of a query, as `Query.name`."""

LARGEST_TOTAL = 2**61
"""Sums in units must stay below this, so that they and their differences fit 64 bits."""
MOST_RECORDS = 2**52
"""Records, those in lumps too: floats count them."""
SNAP = Fraction(1, 10**6)
"""A sum this near to the grid, in units, is taken to be on it: means arrive as rounded quotients."""


def within_region(values: NDArray[np.integer], region: Region) -> NDArray[np.bool_]:
    """Which values are in a region."""
    found = np.zeros(values.shape, dtype=np.bool_)
    for low, high in region:
        found |= (low <= values) & (values <= high)
    return found


@dataclass(frozen=True)
class Grid:
    """How column values and units translate."""

    minimum: Fraction
    unit: Fraction
    top: Fraction
    """Greatest value of the domain, in units; whole on a grid."""
    whole: bool
    """Whether values lie on the grid, or anywhere between minimum and maximum."""

    @classmethod
    def of(cls, minimum: Number, maximum: Number, resolution: Number | None, records: int) -> Grid:
        """The values minimum + k · resolution that so many records may have; None: any between.

        InvalidInput of an empty or infinite domain, a resolution <= 0, or sums of all that do not fit.
        """
        low, high = exact(minimum, "minimum"), exact(maximum, "maximum")
        if high < low:
            raise InvalidInput(f"maximum ({maximum}) must not be less than minimum ({minimum})")
        if resolution is None:
            return cls(low, Fraction(1), high - low, whole=False)
        unit = exact(resolution, "resolution")
        if unit <= 0:
            raise InvalidInput(f"resolution must be greater than 0, not {resolution}")
        grid = cls(low, unit, Fraction((high - low) // unit), whole=True)
        if grid.top * records > LARGEST_TOTAL or records > MOST_RECORDS:
            raise InvalidInput(
                f"{records} records of up to {grid.top + 1} values: sums must stay below 2**61 "
                "steps of the resolution; take a coarser resolution or a narrower domain"
            )
        return grid

    def to_units(self, value: Fraction) -> Fraction:
        """The inverse of `to_value`."""
        return (value - self.minimum) / self.unit

    def to_value(self, units: Fraction | int) -> Fraction:
        """Units as a column value."""
        return self.minimum + self.unit * units


@dataclass(frozen=True, eq=False, kw_only=True)
class Query:
    """What is asked: Σ coefficients · u over the members, an extreme of them, or another statistic."""

    kind: Kind
    """"sum" (means included), "max" or "min"; "count", "quantile", "weighted" (a sum with any weights) and
    "spread" (squared deviations from the mean), of which ranges alone are told; "held", "about" and "squares"
    are kept of a range (`cae_sql.inference.facts.ranges`)."""
    members: Ints
    """(m,) record numbers, ascending, each once."""
    coefficients: Ints | None = None
    """(m,) coprime integers, none 0, for a sum, weighted or not; None where all are 1, and for extremes.
    Of "about", where not None: the sum that is observed, and `part` is the variance of the noise itself."""
    factor: Fraction = Fraction(1)
    """The coefficients above are those of the asked sum times this factor."""
    region: Region = ()
    """Of "count": which values count. Of "held": the interval in which tables keep the members."""
    ranks: tuple[int, int] = (0, 0)
    """Of "quantile": which two of the members' values in ascending order, from 0, it lies between ..."""
    part: Fraction = Fraction(0)
    """... and how far along the way from the first to the second. Of "about": the variance of the noise, in
    terms of that of one record's value; of "squares" of the spread itself."""

    @property
    def name(self) -> Name:
        """Equal for queries that ask the same."""
        further = b"" if self.coefficients is None else self.coefficients.tobytes()
        if self.kind not in ("sum", "max", "min"):
            further += repr((self.region, self.ranks, self.part)).encode()
        return self.kind, self.members.tobytes(), further

    @property
    def signs(self) -> Ints:
        """(m,) the coefficients, ones where there are none."""
        return np.ones(len(self.members), dtype=np.int64) if self.coefficients is None else self.coefficients

    def of(self, values: NDArray[np.integer]) -> NDArray[np.int64]:
        """The answer in units to tables (…, n) in units; of what is no unit the one below."""
        picked = values[..., self.members].astype(np.int64)
        found: NDArray[np.int64]
        if self.kind == "count":
            found = within_region(picked, self.region).sum(axis=-1)
        elif self.kind == "quantile":
            lower, upper = (np.sort(picked, axis=-1)[..., rank] for rank in self.ranks)
            found = lower + self.part.numerator * (upper - lower) // self.part.denominator
        elif self.kind == "spread":
            # near the mean, so that squares of large numbers are not subtracted from each other
            away = picked - np.rint(picked.mean(axis=-1, keepdims=True)).astype(np.int64)
            size = len(self.members)
            found = (away**2).sum(axis=-1) - -(-(away.sum(axis=-1) ** 2) // size)
        elif self.kind in ("sum", "weighted"):
            found = (picked if self.coefficients is None else picked * self.coefficients).sum(axis=-1)
        else:
            found = picked.max(axis=-1) if self.kind == "max" else picked.min(axis=-1)
        return found

    def answered(self, value: Fraction | int) -> Answer:
        """The query with its answer in units."""
        return Answer(**{**vars(self), "value": Fraction(value)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Query):
    """What one answer says."""

    value: Fraction
    """Right-hand side in units, for the coefficients above; whole on a grid."""


def sum_answer(
    members: Ints, people: Ints, coefficients: list[Fraction] | None, total: Fraction, grid: Grid
) -> Answer:
    """The sum Σ coefficient · value = total, in units of the column, as a row of coprime integers.

    Members (m,) ascend, each once, and are so many people (m,); coefficients are in their order, None where
    all are 1. InvalidInput where all are 0, InconsistentAnswers where no table on the grid has this sum.
    """
    if coefficients is None or (len({*coefficients}) == 1 and coefficients[0] != 0):
        common = Fraction(1) if coefficients is None else coefficients[0]
        row, factor, least = None, 1 / common, common * int(people.sum()) * grid.minimum
    else:
        kept = [place for place, weight in enumerate(coefficients) if weight != 0]
        if not kept:
            raise InvalidInput("a sum needs at least one member with a coefficient other than 0")
        given = [coefficients[place] for place in kept]
        scale = lcm(*(weight.denominator for weight in given))
        factor = Fraction(scale, gcd(*(int(weight * scale) for weight in given)))
        whole = [int(weight * factor) for weight in given]
        if max(map(abs, whole)) > 2**31:
            raise InvalidInput("coefficients must not differ by a factor of more than 2**31")
        members, row = members[kept], np.array(whole, dtype=np.int64)
        times = zip(given, people[kept].tolist(), strict=True)
        least = sum((weight * each for weight, each in times), Fraction(0)) * grid.minimum
    value = (total - least) / grid.unit * factor
    if grid.whole:
        value = _near(value, SNAP * max(factor, Fraction(1)), f"the sum {total}", grid)
    return Answer(kind="sum", members=members, coefficients=row, value=value, factor=factor)


def _near(value: Fraction, snap: Fraction, noun: str, grid: Grid) -> Fraction:
    """The whole number that near to a value in units."""
    found = Fraction(round(value))
    if abs(found - value) > snap:
        raise InconsistentAnswers(f"no table on the grid of resolution {grid.unit} has {noun}")
    return found


def extreme_answer(kind: Kind, members: Ints, extreme: Fraction, grid: Grid) -> Answer:
    """A maximum or minimum over the members; InconsistentAnswers if outside the domain or off the grid."""
    value = grid.to_units(extreme)
    if not 0 <= value <= grid.top:
        raise InconsistentAnswers(f"a {kind} of {float(extreme):g} lies outside the domain")
    if grid.whole:
        value = _near(value, SNAP, f"the {kind} {float(extreme):g}", grid)
    return Answer(kind=kind, members=members, value=value)
