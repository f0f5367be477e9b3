"""All tables of crowds: people of one class are told apart by nothing that is asked, so they are counted.

What is asked hangs on how many of each class have each value, whoever they are. So a *world* here is one
histogram for each class, and stands for as many tables as there are ways to deal its values out. Tables of 60
people and three values are some hundred thousand worlds, all of which are looked at. A class of one is a
single person. Shares no code with what it judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import combinations_with_replacement, pairwise
from math import ceil, comb, floor, lgamma

import numpy as np
from numpy.typing import NDArray

from .oracle import area, weighted_curve

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@lru_cache(64)
def histograms(size: int, values: int) -> Ints:
    """(h, values) how many of so many people may have each value."""
    dividers = combinations_with_replacement(range(values), size)
    if values == 1:
        return np.array([[size]])
    found = np.zeros((comb(size + values - 1, values - 1), values), dtype=np.int64)
    for row, chosen in enumerate(dividers):
        found[row] = np.bincount(chosen, minlength=values)
    return found


@dataclass(frozen=True)
class Fact:
    """What was told of one statistic of some classes, in units of the column; ends included."""

    kind: str
    """"sum", "weighted", "max", "min", "count", "quantile" or "spread"."""
    weights: tuple[int, ...]
    """By class: 0 for those it is not about; else of a weighted sum that of each member, of others 1."""
    least: Fraction | None
    most: Fraction | None
    values: tuple[int, ...] = ()
    """Of "count", which places of `Crowds.values` count."""
    ranks: tuple[int, int, Fraction] = (0, 0, Fraction(0))
    """Of "quantile" the two ranks, from 0, and how far along the way from the first to the second."""

    @property
    def members(self) -> tuple[int, ...]:
        """The classes that it is about."""
        return tuple(place for place, weight in enumerate(self.weights) if weight)


@dataclass
class Crowds:
    """Classes of people, and which worlds are left."""

    sizes: tuple[int, ...]
    """Of each class."""
    values: tuple[int, ...]
    """What anybody may have, ascending, evenly spaced."""
    left: Bools = field(init=False)
    """By histogram of each class, whether that world agrees with everything told."""

    def __post_init__(self) -> None:
        self.left = np.ones([len(each) for each in self.histograms], dtype=np.bool_)

    @property
    def step(self) -> int:
        """Between neighbouring values."""
        return self.values[1] - self.values[0]

    @cached_property
    def histograms(self) -> list[Ints]:
        """By class."""
        return [histograms(size, len(self.values)) for size in self.sizes]

    @cached_property
    def ways(self) -> list[Floats]:
        """By class, the share of all its tables that each histogram stands for."""
        factorials = np.array([lgamma(each + 1) for each in range(max(self.sizes) + 1)])
        found = []
        for size, each in zip(self.sizes, self.histograms, strict=True):
            logs = factorials[size] - factorials[each].sum(axis=1) - size * np.log(len(self.values))
            found.append(np.exp(logs))
        return found

    def _along(self, place: int, numbers: Ints) -> Ints:
        """Numbers by histogram of one class, to be added to others'."""
        shape = [1] * len(self.sizes)
        shape[place] = len(numbers)
        return numbers.reshape(shape)

    def _total(self, weights: Sequence[int], each: Sequence[int]) -> Ints:
        """Over worlds, Σ over people of weight · each[value]."""
        parts = [
            self._along(place, weight * (self.histograms[place] @ np.array(each, dtype=np.int64)))
            for place, weight in enumerate(weights)
            if weight
        ]
        found: Ints = reduce(np.add, parts)
        return found

    def count(self, weights: Sequence[int]) -> int:
        """How many people are in the classes that have a weight."""
        return sum(size for size, weight in zip(self.sizes, weights, strict=True) if weight)

    def ranked(self, weights: Sequence[int], rank: int) -> Ints:
        """Over worlds, the value of that rank, from 0, among some classes."""
        places = range(len(self.values))
        upto = [self._total(weights, [int(other <= place) for other in places]) for place in places]
        passed: Ints = reduce(np.add, [(each <= rank).astype(np.int64) for each in upto])
        return np.array(self.values, dtype=np.int64)[passed]

    def sums(self, weights: Sequence[int]) -> Ints:
        """Over worlds, a sum with these weights."""
        return self._total(weights, self.values)

    def spreads(self, weights: Sequence[int]) -> Ints:
        """Over worlds, the number of members times their Σ (x − mean)²."""
        squares = self._total(weights, [value**2 for value in self.values])
        found: Ints = self.count(weights) * squares - self.sums(weights) ** 2
        return found

    def agree(self, fact: Fact) -> Bools:
        """Which worlds agree with a fact: of what is rounded downwards to steps, those that round so."""
        if fact.kind == "spread":
            size, square = self.count(fact.weights), self.step**2
            found = self.spreads(fact.weights) // (size * square) * square
        elif fact.kind == "quantile":
            first, second, part = fact.ranks
            low, high = self.ranked(fact.weights, first), self.ranked(fact.weights, second)
            away = low - self.values[0] + part.numerator * (high - low) // part.denominator
            if part and self.step > 1:
                away = (
                    ((low - self.values[0]) * part.denominator + part.numerator * (high - low))
                    // (part.denominator * self.step)
                    * self.step
                )
            found = away + self.values[0]
        elif fact.kind == "count":
            found = self._total(
                fact.weights, [int(place in fact.values) for place in range(len(self.values))]
            )
        elif fact.kind in ("max", "min"):
            found = self.ranked(fact.weights, self.count(fact.weights) - 1 if fact.kind == "max" else 0)
        else:
            found = self.sums(fact.weights)
        kept = np.ones(found.shape, dtype=np.bool_)
        if fact.least is not None:
            kept &= found >= ceil(fact.least)
        if fact.most is not None:
            kept &= found <= floor(fact.most)
        return kept

    def told(self, fact: Fact) -> None:
        """Know one more fact."""
        self.left = self.left & self.agree(fact)

    @cached_property
    def _prior(self) -> Floats:
        return reduce(np.multiply.outer, self.ways)  # type: ignore[arg-type]

    def excluded(self) -> Iterator[Left]:
        """Which values are left to one person of each class, as `likely` has it."""
        axes = range(len(self.sizes))
        some = [each > 0 for each in self.histograms]
        for place in axes:
            rest = tuple(other for other in axes if other != place)
            yield Left(place, _places(some[place][self.left.any(axis=rest)].any(axis=0)))
        for insider, place in self._pairs():
            rest = tuple(other for other in axes if other not in (place, insider))
            there = self.left.any(axis=rest)
            if place == insider:
                had = some[place][there].astype(np.int64)
                joint = had.T @ had > 0
                joint[np.diag_indices(len(self.values))] = (self.histograms[place][there] > 1).any(axis=0)
            else:
                there = there if insider < place else there.T
                joint = some[insider].T.astype(np.float64) @ there @ some[place].astype(np.float64) > 0
            for known, row in enumerate(joint):
                if row.any():
                    yield Left(place, _places(row), insider, known)

    def likely(self, besides: Floats | float = 1.0) -> Iterator[Likely]:
        """What one person of each class has, if all tables that are left are equally likely: to somebody who
        knows nobody's value, then to an insider of each class, whatever he may have.

        Args:
            besides: By world, how likely else something makes it.
        """
        axes, chances = range(len(self.sizes)), self._prior * self.left * besides
        for place in axes:
            alone = chances.sum(axis=tuple(other for other in axes if other != place))
            yield Likely.of(place, alone @ self.histograms[place])
        for insider, place in self._pairs():
            both = chances.sum(axis=tuple(other for other in axes if other not in (place, insider)))
            if place == insider:
                had = self.histograms[place]
                joint = (had * both[:, None]).T @ had
                joint[np.diag_indices(len(self.values))] = both @ (had * (had - 1))
            else:
                both = both if insider < place else both.T
                joint = self.histograms[insider].T @ both @ self.histograms[place]
            for known, row in enumerate(joint):
                if row.sum() > 0:
                    yield Likely.of(place, row, insider, known)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Classes of an insider and another person."""
        for insider in range(len(self.sizes)):
            for place in range(len(self.sizes)):
                if place != insider or self.sizes[place] > 1:
                    yield insider, place

    def one(self, rng: np.random.Generator, left: Bools) -> list[int]:
        """A table at random among those of some worlds, class by class."""
        chances = (self._prior * left).ravel()
        place = int(rng.choice(len(chances), p=chances / chances.sum()))
        found = list[int]()
        for each, row in zip(self.histograms, np.unravel_index(place, left.shape), strict=True):
            found += rng.permutation(np.repeat(self.values, each[int(row)])).tolist()
        return found


@dataclass(frozen=True)
class Left:
    """What is left of one person of a class."""

    place: int
    values: tuple[int, ...]
    """Places of the values."""
    insider: int | None = None
    """Class of somebody who knows their own value; None: to nobody in particular."""
    known: int | None = None
    """That value's place."""

    def __str__(self) -> str:
        whom = "" if self.insider is None else f" to one of class {self.insider} with value {self.known}"
        return f"one of class {self.place} has one of {list(self.values)}{whom}"


@dataclass(frozen=True)
class Likely:
    """How likely one person of a class has each value."""

    place: int
    chances: tuple[float, ...]
    insider: int | None = None
    known: int | None = None

    @classmethod
    def of(cls, place: int, row: Floats, insider: int | None = None, known: int | None = None) -> Likely:
        """From what is not normalised."""
        return cls(place, tuple((row / row.sum()).tolist()), insider, known)


def _places(there: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(there).tolist())


@lru_cache(1 << 14)
def area_of(chances: tuple[float, ...]) -> float:
    """Area under H(ε), values at distance 1."""
    if len([each for each in chances if each > 0]) < 2:
        return 0.0
    steps = list(weighted_curve(chances).items())
    return sum(h * (after - here) for (here, h), (after, _) in pairwise(steps))


def risk(chances: Sequence[float], base: float | None = None) -> float:
    """1 − A / A of a baseline: by default of all values alike."""
    base = area(range(len(chances))) if base is None else base
    return 1 - area_of(tuple(chances)) / base if base > 0 else 1.0
