"""What a user of a release takes the original to be, technique by technique, and how far off that is.

Contract: two-way tables of a public column and the confidential one, as proportions of sum 1: the original's,
and the one that a user of the release would work with. A sample: its own proportions. Noise: the released
values as they are, those beyond a domain put at its end. Randomised response: the reconstruction, as a
distribution. Coarse values and groups, which tell no record's value: each record's probability spread as the
release leaves it (`Beliefs`), and added up. Answers to sums: likewise, with the total that was answered. All
techniques so have one scale; a cleverer user may do better with any of them.

Source of the measures: paper 004, Section V (distance, relative error of GROUP BY, uncertainty coefficient).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.releases.attributes import attribute_of
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.matching import Classes, classes_of, numbers, positions
from cae_sql.releases.reconstruction import reconstruct
from cae_sql.releases.restriction import query_sets, restricted_beliefs
from cae_sql.releases.utility import distances, uncertainty_coefficient

if TYPE_CHECKING:
    import pandas as pd


_STEEPEST = 500.0
"""Slope of the weights' logarithms over the domain."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table of the original and what a user of the release takes it to be."""

    original: Floats
    """(k, |D|) proportions, a row for each value of the public column; one row without a public column."""
    estimate: Floats
    """(k, |D|) of the same."""
    records: int
    """Of the original."""


@dataclass(frozen=True)
class Utility:
    """How far off a user of a release is; 0 everywhere: not at all."""

    distance: float
    """Total variation, 0 … 1: the share of records that would have to change their place in the table."""
    query_error: float
    """Of SELECT SUM(confidential) … GROUP BY public: Σ |actual − estimated| / Σ |actual|; NaN where all sums
    are 0."""
    association_error: float
    """|U − Û|, U the uncertainty coefficient: how much of the confidential column's entropy the public one
    explains, 0 … 1."""


def utility(comparisons: Sequence[Comparison], domain: Domain) -> Utility:
    """The mean of each measure over the tables.

    Args:
        comparisons: One for each public column, say.
        domain: Of the confidential column.

    Raises:
        InvalidInput: no tables.
    """
    if not comparisons:
        raise InvalidInput("there are no tables to compare")
    found = [
        (
            distances(each.original, each.estimate, each.records).total_variation,
            _sum_error(each, domain),
            abs(uncertainty_coefficient(each.original) - uncertainty_coefficient(each.estimate)),
        )
        for each in comparisons
    ]
    distance, error, association = (float(np.mean(column)) for column in zip(*found, strict=True))
    return Utility(distance, error, association)


def of_sample(
    original: pd.DataFrame, sample: pd.DataFrame, column: str, by: str | None, domain: Domain
) -> Comparison:
    """A sample's own proportions; tables as `sampled` takes them.

    Raises:
        InvalidInput: an empty sample, from which nothing can be estimated, or a table that cannot be used.
    """
    if not len(sample):
        raise InvalidInput("the sample has no records: nothing can be estimated from it")
    classes = classes_of(original, _names(by))
    there = _proportions(original, classes.labels, classes.count, column, domain, "the original")
    labels = classes.of(sample, "the sample")
    return Comparison(
        there, _proportions(sample, labels, classes.count, column, domain, "the sample"), len(original)
    )


def of_noise(
    original: pd.DataFrame, released: pd.DataFrame, column: str, by: str | None, domain: Domain
) -> Comparison:
    """Noisy values as they are; tables as `perturbed` takes them.

    Values beyond the ends of a domain are put at its ends. Values of the public column that only one of the
    tables has are rows of both.

    Raises:
        InvalidInput: a table that cannot be used.
    """
    there = positions(original, column, domain, "the original")
    seen = _nearest(released, column, domain, "the release")
    own, other = np.zeros(len(original), dtype=np.int64), np.zeros(len(released), dtype=np.int64)
    if by is not None:
        attribute = attribute_of(original, by)
        own = attribute.places(original[by], "the original")
        other = np.clip(attribute.places(released[by], "the release"), 0, attribute.count - 1)
    values, labels = np.unique(np.concatenate([own, other]), return_inverse=True)
    check_room(values.size, domain)
    return Comparison(
        _table(labels[: own.size], there, values.size, domain),
        _table(labels[own.size :], seen, values.size, domain),
        len(original),
    )


def of_randomised(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    by: str | None,
    domain: Domain,
    probabilities: Mapping[str, float],
) -> Comparison:
    """The reconstruction of randomised response, as the nearest distribution; tables as for `randomised`.

    The domain of the public column is the values that it has in the original.

    Raises:
        InvalidInput: a table that cannot be used, or a probability of 1/d, from which nothing can be
            reconstructed.
    """
    classes = classes_of(original, _names(by))
    there = _proportions(original, classes.labels, classes.count, column, domain, "the original")
    domains: dict[str, Sequence[Hashable]] = {}
    if by is not None:
        domains[by] = tuple(classes.values[by].tolist())
    domains[column] = tuple(domain.values.tolist())
    used = {name: p for name, p in probabilities.items() if name in domains}
    found = reconstruct(released, used, domains).projected
    return Comparison(there, found.reshape(there.shape), len(original))


def of_beliefs(original: pd.DataFrame, beliefs: Beliefs, column: str) -> Comparison:
    """Each record's probability as a release leaves it, added up.

    Args:
        original: All records.
        beliefs: Of the classes of one public column, or of none.
        column: The confidential column; for this its values are put at the nearest of the domain.

    Raises:
        InvalidInput: a table that cannot be used.
    """
    classes: Classes = classes_of(original, [str(name) for name in beliefs.known.columns])
    domain = beliefs.domain
    there = _table(classes.labels, _nearest(original, column, domain), classes.count, domain)
    share = beliefs.matches / beliefs.matches.sum()
    return Comparison(there, beliefs.probabilities * share[:, None], len(original))


def of_answers(
    original: pd.DataFrame, column: str, by: str | None, domain: Domain, query_set_size: int, seed: int
) -> Comparison:
    """Each record spread over what the sums of `restricted` leave of it, all with the answered total.

    Spread evenly, records would have the middles of their intervals as means, and together a total that the
    answers contradict. So the weights are q^k at the k-th value, with the one q for all records at which the
    records in query sets have their total: of all such tables the one of greatest entropy. Single answers are
    not made use of.

    Args:
        original: All records.
        column: The confidential column; for the original's table its values are put at the nearest of the
            domain.
        by: The public column.
        domain: Which values are possible.
        query_set_size: As for `restricted`.
        seed: As for `restricted`.

    Raises:
        InvalidInput: as `restricted`.
    """
    classes = classes_of(original, _names(by))
    row = "row" if column != "row" else "record"
    rows = original[[column]].assign(**{row: np.arange(len(original))})
    alone = restricted_beliefs(rows, column, [row], domain, query_set_size, seed)
    asked = np.unique(np.concatenate(query_sets(len(original), query_set_size, seed)))
    values = numbers(original, column, "the original")
    spread = _tilted(alone.probabilities, asked, float(values[asked].mean()), domain)
    estimate: Floats = np.zeros((classes.count, domain.count))
    np.add.at(estimate, classes.labels, spread)
    there = _table(classes.labels, _nearest(original, column, domain), classes.count, domain)
    return Comparison(there, estimate / len(original), len(original))


def _tilted(spread: Floats, asked: Ints, mean: float, domain: Domain) -> Floats:
    """(n, |D|) rows times q^k, of sum 1, so that those that were asked about have this mean."""
    ranks = np.arange(domain.count) / domain.count
    with np.errstate(divide="ignore"):
        logs = np.log(spread)

    def tilted(slope: float) -> Floats:
        powers = logs + slope * ranks
        found: Floats = np.exp(powers - powers.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        return found

    def excess(slope: float) -> float:
        return float((tilted(slope)[asked] @ domain.values).mean()) - mean

    low, high = -_STEEPEST, _STEEPEST
    if excess(low) >= 0:  # all at their least values, or as near as weights go
        return tilted(low)
    if excess(high) <= 0:
        return tilted(high)
    return tilted(brentq(excess, low, high))


def _nearest(table: pd.DataFrame, column: str, domain: Domain, name: str = "the original") -> Ints:
    """(n,) the place of the domain nearest to each value, beyond its ends the end."""
    found = np.rint((numbers(table, column, name) - domain.values[0]) / float(exact(domain.step)))
    places: Ints = np.clip(found.astype(np.int64), 0, domain.count - 1)
    return places


def _names(by: str | None) -> list[str]:
    return [] if by is None else [by]


def _proportions(
    table: pd.DataFrame, labels: Ints, classes: int, column: str, domain: Domain, name: str
) -> Floats:
    check_room(classes, domain)
    return _table(labels, positions(table, column, domain, name), classes, domain)


def _table(labels: Ints, place: Ints, classes: int, domain: Domain) -> Floats:
    flat = np.bincount(labels * domain.count + place, minlength=classes * domain.count)
    found: Floats = flat.reshape(classes, domain.count) / place.size
    return found


def _sum_error(each: Comparison, domain: Domain) -> float:
    actual, estimated = each.original @ domain.values, each.estimate @ domain.values
    total = float(np.abs(actual).sum())
    return float(np.abs(actual - estimated).sum()) / total if total else nan
