"""A public prior: how the values of a column are spread, as far as everybody knows before anything is asked.

Promise: it shapes from which tables hypothetical answers are drawn, and nothing else. What it calls unlikely,
or impossible, is excluded by nobody: certified values, intervals and risk do not know of it.

A prior is written as values with weights, or as a named shape. On the grid of a column it becomes bins of
consecutive units, over each of which its weight is spread evenly; however fine the grid, draws cost what
the bins cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from auditor.policy.numbers import read_exact, written

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SINGLE_UNITS = 1 << 16
"""Up to so many grid values a shape gives each its own weight; a finer grid is cut into bins."""

MOST_LISTED = 1 << 22
"""Up to so many grid values have their probabilities listed one by one."""

PARAMETERS: Mapping[str, tuple[str, str]] = {
    "lognormal": ("median", "sigma"),
    "normal": ("mean", "deviation"),
}
"""Shapes, and what each is given by: where its middle is, and how wide it is."""


@dataclass(frozen=True)
class Listed:
    """Values with weights, as a published table has them."""

    pairs: tuple[tuple[Fraction, Fraction], ...]
    """(value, weight), values ascending, in units of the column. A weight is spread evenly from its value up
    to below the next one listed, the last up to the greatest of the domain; below the first there is none."""


@dataclass(frozen=True)
class Shaped:
    """A named shape, cut off at the ends of the domain."""

    shape: str
    """"lognormal" (log value is normal around log median, sigma its deviation) or "normal"."""
    centre: float
    """Median or mean, in units of the column."""
    spread: float
    """Sigma, or the deviation in units of the column."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Probabilities of the units 0..top of a grid, evenly spread within bins."""

    edges: Ints
    """(m + 1,) where the bins begin, from 0, and top + 1."""
    cumulative: Floats
    """(m + 1,) probability of all units below each edge: from 0 to 1."""

    @classmethod
    def of(cls, stated: Listed | Shaped, minimum: Fraction, unit: Fraction, top: int) -> Prior:
        """The prior on the grid minimum + unit · u, 0 <= u <= top.

        Raises:
            ValueError: a listed value is not on the grid, or nothing in the domain has any weight.
        """
        if isinstance(stated, Listed):
            edges, weights = _listed(stated, minimum, unit, top)
        else:
            edges, weights = _shaped(stated, float(minimum), float(unit), top)
        return cls._from_bins(edges, weights)

    @classmethod
    def _from_bins(cls, edges: Ints, weights: Floats) -> Prior:
        total = float(weights.sum())
        if not total > 0:
            raise ValueError("must give some weight to values of the domain")
        cumulative = np.concatenate([[0.0], np.minimum(np.cumsum(weights) / total, 1.0)])
        # rounding must not leave a gap below 1, into which a draw could fall beyond the last weight
        cumulative[np.flatnonzero(weights)[-1] + 1 :] = 1.0
        return cls(edges, cumulative)

    @property
    def top(self) -> int:
        """The greatest unit."""
        return int(self.edges[-1]) - 1

    def draw(self, count: int, seed: int) -> Ints:
        """Independent units, (count,); the same for the same seed."""
        generator = np.random.default_rng(seed)
        # c_k <= r < c_(k+1) is bin k, and never a bin without weight, where both are the same
        bins = np.searchsorted(self.cumulative[1:], generator.random(count), side="right")
        return generator.integers(self.edges[bins], self.edges[bins + 1])

    @property
    def probabilities(self) -> Floats | None:
        """(top + 1,) probability of each unit; None for a grid so fine that only `draw` is of use."""
        if self.top >= MOST_LISTED:
            return None
        widths = np.diff(self.edges)
        return np.repeat(np.diff(self.cumulative) / widths, widths)


def _listed(stated: Listed, minimum: Fraction, unit: Fraction, top: int) -> tuple[Ints, Floats]:
    starts = [_on_grid(value, minimum, unit, top) for value, _ in stated.pairs]
    whole = sum(weight for _, weight in stated.pairs)
    weights = [float(weight / whole) if whole else 0.0 for _, weight in stated.pairs]
    if starts[0] > 0:
        starts, weights = [0, *starts], [0.0, *weights]
    return np.array([*starts, top + 1], dtype=np.int64), np.array(weights)


def _on_grid(value: Fraction, minimum: Fraction, unit: Fraction, top: int) -> int:
    place = (value - minimum) / unit
    if not 0 <= place <= top:
        ends = f"{written(minimum)} to {written(minimum + unit * top)}"
        raise ValueError(f"must have values of the domain, {ends}, and {written(value)} is not one of them")
    if place.denominator != 1:
        below = minimum + unit * (place.numerator // place.denominator)
        near = f"{written(below)} and {written(below + unit)} are"
        raise ValueError(f"must have values on the grid of the column: {written(value)} is not, {near}")
    return int(place)


def _shaped(stated: Shaped, minimum: float, unit: float, top: int) -> tuple[Ints, Floats]:
    edges = _edges(stated, minimum, unit, top)
    # a unit holds what lies within half a unit of its value
    scores = _scores_at(stated, minimum + unit * (edges.astype(np.float64) - 0.5))
    below, above = _tail(-scores), _tail(scores)
    return edges, np.where(scores[1:] > 0, -np.diff(above), np.diff(below))


def _edges(stated: Shaped, minimum: float, unit: float, top: int) -> Ints:
    if top < SINGLE_UNITS:
        return np.arange(top + 2, dtype=np.int64)
    normal, half = NormalDist(), SINGLE_UNITS // 2
    scores = np.array([normal.inv_cdf((place + 0.5) / half) for place in range(half)])
    with np.errstate(over="ignore"):  # far out is beyond the domain anyway
        units = (_value_at(stated, scores) - minimum) / unit
    inside = np.clip(units, 0, top).astype(np.int64)
    # where the shape has its weight, and evenly besides, so that no bin is wide
    evenly = np.linspace(0, top, half).astype(np.int64)
    return np.unique(np.concatenate([np.array([0, top + 1]), inside, evenly]))


def _value_at(stated: Shaped, scores: Floats) -> Floats:
    if stated.shape == "normal":
        return stated.centre + stated.spread * scores
    return stated.centre * np.exp(stated.spread * scores)


def _scores_at(stated: Shaped, values: Floats) -> Floats:
    """How many deviations values are above the middle."""
    with np.errstate(divide="ignore", over="ignore"):
        if stated.shape == "normal":
            return (values - stated.centre) / stated.spread
        return (np.log(np.maximum(values, 0.0)) - log(stated.centre)) / stated.spread


def _tail(scores: Floats) -> Floats:
    """Probability that a standard normal is above each score; exact far out, where 1 − Φ would be 0."""
    return np.array([0.5 * erfc(score / sqrt(2)) for score in scores.tolist()])


def stated(given: object) -> Listed | Shaped:
    """A prior as TOML has it: a list of [value, weight] pairs, or a table that names a shape.

    Raises:
        ValueError: it is neither; the text begins with "must".
    """
    if isinstance(given, Mapping):
        return _named(given)
    if isinstance(given, list | tuple) and given:
        return Listed(_pairs(given))
    raise ValueError("must be a list of [value, weight] pairs, or a shape")


def _named(given: Mapping[str, object]) -> Shaped:
    shape = given.get("shape")
    if not isinstance(shape, str) or shape not in PARAMETERS:
        known = " or ".join(f'shape = "{name}"' for name in PARAMETERS)
        raise ValueError(f"must have {known}")
    middle, width = PARAMETERS[shape]
    if set(given) != {"shape", middle, width}:
        raise ValueError(f"must have shape, {middle} and {width}, and nothing else, for a {shape} shape")
    numbers = {}
    for name in (middle, width):
        try:
            numbers[name] = float(read_exact(given[name]))
        except ValueError:
            raise ValueError(f"must have a finite number as {name}") from None
        if numbers[name] <= 0 and name != "mean":
            raise ValueError(f"must have a {name} greater than 0")
    return Shaped(shape, numbers[middle], numbers[width])


def _pairs(given: Sequence[object]) -> tuple[tuple[Fraction, Fraction], ...]:
    found = dict[Fraction, Fraction]()
    for number, pair in enumerate(given, 1):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(f"must be pairs [value, weight], and number {number} is not one")
        try:
            value, weight = read_exact(pair[0]), read_exact(pair[1])
        except ValueError:
            raise ValueError(f"must be pairs of finite numbers, and number {number} is not one") from None
        if weight < 0:
            raise ValueError(f"must have weights of 0 or more, and number {number} has less")
        if value in found:
            raise ValueError(f"must have each value once, and {written(value)} comes twice")
        found[value] = weight
    if not any(found.values()):
        raise ValueError("must have a weight above 0")
    return tuple(sorted(found.items()))
