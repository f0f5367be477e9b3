"""Randomised response: how each attribute of a record is distorted before the records are released (paper
004, Section III-A).

An attribute with d values keeps its value with probability p and moves to each of the d − 1 others with
probability (1 − p) / (d − 1), independently of everything else. As a matrix: P = r I + (1 − r) / d · J, with
r = (d p − 1) / (d − 1) the *retention*: with probability r the value is kept, else drawn from the domain.

Contract: the whole table's matrix P₁ ⊗ … ⊗ P_m is never formed. It is applied factor by factor (Lemma 2), and
since each factor, its inverse (r ↦ 1 / r) and the squares of its elements are all of the form a I + b J, a
factor costs one sum along an axis: O(m D) for a table of D cells, where Lemma 2 has O(D Σ d_i).

Other modules say what is learned from the released records (`reconstruction`), and about whom (`disclosure`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import is_number
from cae_sql.releases.arguments import checked_column, checked_mapping, checked_values
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_table

LARGEST_TABLE = 20_000_000
"""Most cells of a contingency table that is held in memory."""
_SLACK = 1e-12
"""A probability this far below 1/d is a rounded 1/d."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Factor = tuple[float, float]
"""(a, b) of the matrix a I + b J."""


@dataclass(frozen=True)
class Attribute:
    """One attribute's domain and distortion.

    Raises:
        InvalidInput: no values, a value twice, or a probability that is not 1/d … 1.
    """

    name: str
    values: tuple[Hashable, ...]
    """The domain, in any order."""
    probability: float = 1.0
    """p, of keeping the value; 1: not distorted."""

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidInput(f"the domain of {self.name!r} has no values")
        if len(set(self.values)) < self.size:
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise InvalidInput(f"the domain of {self.name!r} has {twice!r} twice")
        p = self.probability
        if not is_number(p) or not 1 / self.size - _SLACK <= p <= 1:
            raise InvalidInput(
                f"the probability of {self.name!r} must lie between 1/{self.size} and 1, not {p!r}: "
                f"below 1/{self.size} a value would be the least likely to be reported where it is true"
            )

    @property
    def size(self) -> int:
        """d, how many values there are."""
        return len(self.values)

    @property
    def retention(self) -> float:
        """r = (d p − 1) / (d − 1), 0 … 1: with this probability nothing happens to the value."""
        if self.size == 1:
            return 1.0
        return max(0.0, (self.size * self.probability - 1) / (self.size - 1))

    @property
    def matrix(self) -> Floats:
        """(d, d) P: element (u, v) is the probability that v is released as u."""
        a, b = factor(self.retention, self.size)
        return a * np.eye(self.size) + b


@dataclass(frozen=True)
class Distortion:
    """How a table is distorted: its attributes in order, which is also the order of a table's axes.

    Raises:
        InvalidInput: no attributes.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InvalidInput("domains must name at least one column")

    def check_room(self) -> None:
        """Refuse a contingency table that would not fit into memory.

        Raises:
            InvalidInput: more cells than `LARGEST_TABLE`.
        """
        if self.cells > LARGEST_TABLE:
            raise InvalidInput(
                f"the domains have {self.cells:,} combinations of values, more than {LARGEST_TABLE:,}; "
                "leave out columns or coarsen their values"
            )

    @classmethod
    def of(cls, probabilities: Mapping[str, float], domains: Mapping[str, Sequence[Hashable]]) -> Distortion:
        """From a probability for each distorted column and a domain for each column of the table.

        Raises:
            InvalidInput: a probability for a column without a domain, or as `Attribute` and the class say.
        """
        checked_mapping(probabilities, "probabilities", "{'salary': 0.8}")
        checked_mapping(domains, "domains", "{'salary': [10, 20, 30]}")
        for name in probabilities:
            if name not in domains:
                raise InvalidInput(f"there is a probability for {name!r} but no domain of that name")
        return cls(
            tuple(
                Attribute(
                    name, checked_values(values, f"the domain of {name!r}"), probabilities.get(name, 1.0)
                )
                for name, values in domains.items()
            )
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the contingency table."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def cells(self) -> int:
        """D, how many combinations of values there are."""
        return math.prod(attribute.size for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def retentions(self) -> tuple[float, ...]:
        """r of each attribute."""
        return tuple(attribute.retention for attribute in self.attributes)

    def only(self, names: Iterable[str]) -> Distortion:
        """The distortion of some of the columns, in this order.

        Raises:
            InvalidInput: a column that has no domain.
        """
        found = {attribute.name: attribute for attribute in self.attributes}
        for name in names:
            if name not in found:
                raise InvalidInput(f"there is no domain for {name!r}")
        return Distortion(tuple(found[name] for name in names))

    def codes(self, frame: pd.DataFrame) -> Ints:
        """(m, n) the place of each record's values in their domains, one row for each attribute.

        Raises:
            InvalidInput: no records, a column that is not there, a missing value, a value outside of the
                domain; `.position` is the record.
        """
        check_table(frame, self.names, "the table")
        found = np.empty((len(self.attributes), len(frame)), dtype=np.int64)
        for attribute, row in zip(self.attributes, found, strict=True):
            row[:] = _codes(frame, attribute)
        return found

    def table(self, codes: Ints) -> Floats:
        """The contingency table of coded records, as proportions; its axes are the attributes.

        Raises:
            InvalidInput: as `check_room`.
        """
        self.check_room()
        places = np.ravel_multi_index(tuple(codes), self.shape)
        counted = np.bincount(places, minlength=self.cells)
        found: Floats = counted.reshape(self.shape) / codes.shape[1]
        return found

    def expected(self, proportions: Floats) -> Floats:
        """P π: what the released table is on average, given the original one."""
        return along(proportions, factors(self.retentions, self.shape))

    def solved(self, proportions: Floats) -> Floats:
        """P⁻¹ λ.

        Raises:
            InvalidInput: an attribute with probability 1/d, which tells nothing, so P has no inverse.
        """
        return along(proportions, self.inverse())

    def inverse(self) -> list[Factor]:
        """The factors of P⁻¹.

        Raises:
            InvalidInput: as `solved`.
        """
        for attribute in self.attributes:
            if attribute.retention <= _SLACK:
                raise InvalidInput(
                    f"with probability 1/{attribute.size} every value of {attribute.name!r} is equally "
                    "likely whatever was true: its matrix is singular, and nothing can be reconstructed"
                )
        return factors([1 / r for r in self.retentions], self.shape)


def randomise(
    frame: pd.DataFrame,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]],
    seed: int,
) -> pd.DataFrame:
    """Distort the columns that have a probability: randomised response, record by record.

    Args:
        frame: The original records.
        probabilities: Column to p, of keeping a value: of the sensitive column alone (RR-S), of the
            quasi-identifiers (RR-QI), or of both (RR-Both).
        domains: Column to its possible values. A domain that is read off the data tells that each of its
            values occurs.
        seed: The draws depend on it and on the order of `probabilities`. Whoever knows it knows the original
            values: keep it, or draw it.

    Returns:
        A new frame with the same index and columns, and the same types where these hold all of the domain;
        other columns are untouched. The order of the records is untouched too, and so tells who is who to
        those who know it: shuffle where that matters.

    Raises:
        InvalidInput: as `Distortion.of` and `Distortion.codes`, for the columns that are distorted; a seed
            that is no whole number >= 0.
    """
    if not checked_mapping(probabilities, "probabilities", "{'salary': 0.8}"):
        raise InvalidInput("probabilities must name at least one column")
    distortion = Distortion.of(probabilities, domains).only(probabilities)
    return distorted(frame, distortion, distortion.codes(frame), generator(seed))


def distorted(
    frame: pd.DataFrame, distortion: Distortion, codes: Ints, random: np.random.Generator
) -> pd.DataFrame:
    """`randomise` of a table whose codes are at hand, which are changed."""
    released = frame.copy()
    for attribute, code in zip(distortion.attributes, codes, strict=True):
        if attribute.retention < 1:
            moved = np.flatnonzero(random.random(code.size) >= attribute.probability)
            other = random.integers(0, attribute.size - 1, moved.size)
            code[moved] = other + (other >= code[moved])
            released[attribute.name] = _values(frame[attribute.name], attribute, code)
    return released


def check_one(sensitive: Hashable) -> None:
    """Refuse several sensitive columns at once, and what is no column.

    Raises:
        InvalidInput: says what would do.
    """
    if isinstance(sensitive, list | set | frozenset | dict | pd.Index | np.ndarray):
        raise InvalidInput(
            f"sensitive must be one column, not {sensitive!r}; take each by itself: with the lowest of the "
            "probabilities that they ask for, randomised response keeps the limits of all"
        )
    checked_column(sensitive, "sensitive")


def factor(retention: float, size: int) -> Factor:
    """P = a I + b J of an attribute, or with 1 / r its inverse."""
    return retention, (1 - retention) / size


def factors(retentions: Iterable[float], shape: Iterable[int]) -> list[Factor]:
    """`factor` for each axis."""
    return [factor(r, d) for r, d in zip(retentions, shape, strict=True)]


def squared(each: Iterable[Factor]) -> list[Factor]:
    """The matrices of squared elements: (a + b)² on the diagonal, b² elsewhere."""
    return [((a + b) ** 2 - b * b, b * b) for a, b in each]


def along(table: Floats, each: Iterable[Factor]) -> Floats:
    """(⊗ (a_i I + b_i J)) x: each factor along its axis; axes without a factor are left alone."""
    for axis, (a, b) in enumerate(each):
        if (a, b) != (1, 0):
            table = a * table + b * table.sum(axis=axis, keepdims=True)
    return table


def _codes(frame: pd.DataFrame, attribute: Attribute) -> Ints:
    """The place of each value in the domain."""
    column = frame[attribute.name]
    words = all(type(value) is str for value in attribute.values)
    if words and isinstance(column.array, pd.arrays.ArrowStringArray):
        place = _places_of_words(column.array, attribute.values)
    else:
        code, found = pd.factorize(column)
        place = _places(found, attribute.values)[code]
    outside = np.flatnonzero(place < 0)
    if outside.size:
        row = int(outside[0])
        raise InvalidInput(
            f"row {row} of the table: {attribute.name} = {frame[attribute.name].iloc[row]} is outside of its "
            "domain; take a domain that has every value",
            row,
        )
    return place


def _places(found: pd.Index, values: Sequence[Hashable]) -> Ints:
    """Where each of some distinct values stands in a domain; −1: it does not."""
    index = pd.Index(values, tupleize_cols=False)
    return np.asarray(index.get_indexer(pd.Index(found)), dtype=np.int64)


def _places_of_words(column: Any, values: Sequence[Hashable]) -> Ints:
    """The same of each word of an Arrow array, in half the time."""
    import pyarrow
    import pyarrow.compute

    words = column.__arrow_array__()
    found = pyarrow.compute.index_in(words, value_set=pyarrow.array(values, type=words.type))
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def _values(column: pd.Series, attribute: Attribute, code: Ints) -> pd.Series:
    """Coded values in the column's own type, or in the domain's where that one cannot hold all of them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = list(attribute.values)
        ordered = bool(column.dtype.ordered)
        return pd.Series(pd.Categorical.from_codes(code, values, ordered), index=column.index)
    values = pd.Index(attribute.values, tupleize_cols=False)
    try:
        own = values.astype(column.dtype)
    except (TypeError, ValueError, OverflowError):
        own = values
    if (own == values).all():  # a cast may cut off decimals, or go round at a small type's end
        values = own
    return pd.Series(values.take(code), index=column.index)
