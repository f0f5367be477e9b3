"""What can be told of the original table from records that went through randomised response (paper 004,
Section III-B).

π̂ = P⁻¹ λ, unbiased, factor by factor; its covariance, exact and estimated; counts of records that fulfil
conditions, with their variance. Single cells of π̂ may be negative: that is the price of no bias, and
`projected` pays it back.

Two variances. The paper's formula (2) takes the original records for a sample of a population: Σ = (1/N)
P⁻¹ [(Pπ)_δ − Pπ (Pπ)ᵀ] P⁻ᵀ, `about="population"`. Asked about the table itself, whose records are fixed, the
variance that sampling has is left out: Σ = (1/N) (P⁻¹ (Pπ)_δ P⁻ᵀ − π_δ), `about="table"`. Both traces are
least at the same probabilities (Result 2).

Contract: the distortion is taken to be the one that was applied; nothing here can see whether it was.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.releases.distortion import Distortion, Factor, Floats, along, squared

LARGEST_COVARIANCE = 3_000
"""Most cells of a table whose covariances are formed: 72 MB. Variances have no such bound."""

About = Literal["population", "table"]


@dataclass(frozen=True)
class Count:
    """An unbiased estimate of how many records of the original fulfil a condition."""

    value: float
    """May be negative."""
    variance: float
    """Estimated without bias; of counts that are nearly certain it may be negative by little."""

    @property
    def standard_error(self) -> float:
        """Root of the variance, in records."""
        return float(np.sqrt(max(self.variance, 0.0)))


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimates from a released table; axes of all arrays are the attributes, in order."""

    distortion: Distortion
    records: int
    """N."""
    observed: Floats
    """λ: proportions of the released table."""

    @cached_property
    def proportions(self) -> Floats:
        """π̂ = P⁻¹ λ, of sum 1; single ones may be negative."""
        return self.distortion.solved(self.observed)

    @cached_property
    def projected(self) -> Floats:
        """The distribution nearest to π̂ (Euclidean): biased, nowhere negative, no further from π than π̂."""
        return nearest_distribution(self.proportions)

    def variances(self, about: About = "population") -> Floats:
        """Unbiased estimates of the variance of each cell of π̂; see the module for the two kinds.

        Raises:
            InvalidInput: a single record about a population, or another word for `about`.
        """
        return _variances(self.distortion.inverse(), self.observed, self.proportions, *self._scale(about))

    def covariance(self, about: About = "population") -> Floats:
        """(D, D) unbiased estimate of the covariance of π̂, cells in C order.

        Raises:
            InvalidInput: more than `LARGEST_COVARIANCE` cells, or as `variances`.
        """
        return _covariance(self.distortion, self.observed, self.proportions, *self._scale(about))

    def count(self, where: Mapping[str, Collection[Hashable]], about: About = "table") -> Count:
        """SELECT COUNT(*) WHERE column IN (values) AND …, answered for the original table.

        Args:
            where: Column to the values that fulfil the condition; columns that are not named may have any.
            about: Whose variance; see the module.

        Raises:
            InvalidInput: a column without domain, a value outside of its domain, or as `variances`.
        """
        divisor, population = self._scale(about)
        weights = [self._chosen(where, name) for name in where]
        order = [self.distortion.names.index(name) for name in where]
        others = tuple(axis for axis in range(len(self.distortion.names)) if axis not in order)
        seen = np.transpose(self.observed.sum(axis=others), np.argsort(np.argsort(order)))
        inverse = self.distortion.inverse()
        value, square = seen, seen
        for axis, chosen in zip(order, weights, strict=True):
            a, b = inverse[axis]
            each = a * chosen + b * chosen.sum()  # P⁻¹ is symmetric: what each released value counts for
            value, square = each @ value, each**2 @ square
        share = float(value)
        spread = float(square) - (share**2 if population else share)
        return Count(share * self.records, spread / divisor * self.records**2)

    def frame(self, about: About = "population") -> pd.DataFrame:
        """One row per combination of values: the attributes, proportion and standard_error.

        Raises:
            InvalidInput: as `variances`.
        """
        values = pd.MultiIndex.from_product(
            [each.values for each in self.distortion.attributes], names=self.distortion.names
        )
        found = values.to_frame(index=False)
        found["proportion"] = self.proportions.ravel()
        found["standard_error"] = np.sqrt(np.maximum(self.variances(about).ravel(), 0))
        return found

    def _scale(self, about: About) -> tuple[int, bool]:
        """What to divide by so that variances are estimated without bias, and whether of a population."""
        population = _is_population(about)
        if population and self.records < 2:
            raise InvalidInput("one record does not tell how a population varies; ask about the table")
        return self.records - population, population

    def _chosen(self, where: Mapping[str, Collection[Hashable]], name: str) -> Floats:
        """1 for each value of the attribute that fulfils its condition."""
        (attribute,) = self.distortion.only([name]).attributes
        if isinstance(where[name], str | bytes):
            raise InvalidInput(f"the condition on {name!r} must be a list of values, not one text")
        for value in where[name]:
            if value not in attribute.values:
                raise InvalidInput(f"the condition {name} = {value} is outside of the domain of {name!r}")
        return np.array([value in where[name] for value in attribute.values], dtype=np.float64)


def reconstruct(
    released: pd.DataFrame, probabilities: Mapping[str, float], domains: Mapping[str, Sequence[Hashable]]
) -> Reconstruction:
    """Estimate the original contingency table over the columns of `domains`.

    Args:
        released: What `randomise` gave.
        probabilities: The same as there.
        domains: The same as there; columns without a probability were released as they are.

    Raises:
        InvalidInput: as `randomise`, or a column with p = 1/d, from which nothing can be reconstructed.
    """
    distortion = Distortion.of(probabilities, domains)
    distortion.inverse()
    distortion.check_room()
    codes = distortion.codes(released)
    return Reconstruction(distortion, codes.shape[1], distortion.table(codes))


def reconstruction_variances(
    proportions: Floats, distortion: Distortion, records: int, about: About = "population"
) -> Floats:
    """The exact variance of each cell of π̂, given the original table; their sum is trace(Σ) of Result 2.

    Args:
        proportions: π, of the original table; axes as the distortion's attributes.
        distortion: Of the release.
        records: N.
        about: Whose variance; see the module.

    Raises:
        InvalidInput: a singular distortion, or another word for `about`.
    """
    expected = distortion.expected(proportions)
    return _variances(distortion.inverse(), expected, proportions, records, _is_population(about))


def reconstruction_covariance(
    proportions: Floats, distortion: Distortion, records: int, about: About = "population"
) -> Floats:
    """(D, D) the exact covariance of π̂, cells in C order; arguments and errors as `reconstruction_variances`,
    and at most `LARGEST_COVARIANCE` cells."""
    expected = distortion.expected(proportions)
    return _covariance(distortion, expected, proportions, records, _is_population(about))


def nearest_distribution(table: Floats) -> Floats:
    """The distribution with the least Euclidean distance: max(x − t, 0) with the t that makes the sum 1."""
    descending = np.sort(table, axis=None)[::-1]
    above = (np.cumsum(descending) - 1) / np.arange(1, descending.size + 1)
    last = int(np.flatnonzero(descending > above)[-1])
    found: Floats = np.maximum(table - above[last], 0)
    return found


def _is_population(about: About) -> bool:
    if about not in ("population", "table"):
        raise InvalidInput(f'about must be "population" or "table", not {about!r}')
    return about == "population"


def _variances(
    inverse: Sequence[Factor], expected: Floats, proportions: Floats, divisor: int, population: bool
) -> Floats:
    """The diagonal of Σ: squares of the elements of P⁻¹, factor by factor, times Pπ, less what is known."""
    found: Floats = along(expected, squared(inverse)) - (proportions**2 if population else proportions)
    return found / divisor


def _covariance(
    distortion: Distortion, expected: Floats, proportions: Floats, divisor: int, population: bool
) -> Floats:
    """Σ as a matrix. P⁻¹ is applied to the columns of (Pπ)_δ, then to those of the result's transpose."""
    cells = distortion.cells
    if cells > LARGEST_COVARIANCE:
        raise InvalidInput(
            f"the covariances of {cells:,} cells are too many to form (at most {LARGEST_COVARIANCE:,}); "
            "take variances, or fewer columns"
        )
    inverse = distortion.inverse()
    half = along(np.diag(expected.ravel()).reshape(*distortion.shape, cells), inverse).reshape(cells, cells)
    whole = along(half.T.reshape(*distortion.shape, cells), inverse).reshape(cells, cells)
    p = proportions.ravel()
    found: Floats = (whole - (np.outer(p, p) if population else np.diag(p))) / divisor
    return found
