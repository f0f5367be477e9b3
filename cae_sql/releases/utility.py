"""What a release is still good for: distance of distributions, error of counts, association of attributes
(paper 004, Section V).

Contract: contingency tables as proportions in, an axis for each attribute; the original's first, then what a
user of the release takes it to be. Estimates of randomised response may have negative cells: sums of squares
and counts take them as they are, measures that need a distribution say so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cae_sql.errors import InvalidInput
from cae_sql.releases.distortion import Floats

_SUM = 1e-9
"""How far a sum of proportions may be from 1 by rounding."""
_NOTHING = 1e-12
"""Entropy in nats that is rounding's: one record in 10¹² that differs has more."""


@dataclass(frozen=True)
class Distances:
    """How far an estimate is from the original, π̂ from π; 0: not at all."""

    euclidean: float
    """√ Σ (π − π̂)²."""
    total_variation: float
    """½ Σ |π − π̂|, 0 … 1 for distributions."""
    kullback_leibler: float
    """Σ π ln(π / π̂) in nats, of the estimate made a distribution with no empty cell; see `distances`."""
    chi_squared: float
    """Σ (π − π̂)² / π̂, of the same."""


def distances(original: Floats, estimate: Floats, records: int) -> Distances:
    """Four distances of an estimate from the original.

    The last two are infinite where the estimate has an empty cell and the original does not. So that they
    tell estimates apart, half a record is added to each cell of the estimate for them, whatever made it;
    negative cells count as empty. For a table of D cells: (N max(π̂, 0) + ½) / (N Σ max(π̂, 0) + D / 2).

    Args:
        original: π >= 0, of sum 1.
        estimate: π̂ of the same shape, of sum 1.
        records: N >= 1.

    Raises:
        InvalidInput: shapes that differ, sums that are not 1, a negative cell of the original, no records.
    """
    _check(original, estimate)
    if (original < 0).any():
        raise InvalidInput("the original has a negative proportion")
    if records < 1:
        raise InvalidInput(f"records must be at least 1, not {records}")
    difference = original - estimate
    filled = np.maximum(estimate, 0) + 0.5 / records
    filled = filled / filled.sum()
    there = original > 0
    return Distances(
        float(np.sqrt((difference**2).sum())),
        float(np.abs(difference).sum() / 2),
        float((original[there] * np.log(original[there] / filled[there])).sum()),
        float(((original - filled) ** 2 / filled).sum()),
    )


def group_by_error(original: Floats, estimate: Floats) -> float:
    """Mean of |actual − estimated| / actual over the groups of all attributes that occur (Section V-B2).

    Raises:
        InvalidInput: shapes that differ, or sums that are not 1.
    """
    _check(original, estimate)
    return float(_relative(original, estimate).mean())


def cube_error(original: Floats, estimate: Floats) -> float:
    """The same over all groups of GROUP BY CUBE: every set of attributes, the empty one included.

    Raises:
        InvalidInput: as `group_by_error`.
    """
    _check(original, estimate)
    errors = [_relative(original.sum(axis=axes), estimate.sum(axis=axes)) for axes in _subsets(original.ndim)]
    return float(np.concatenate(errors).mean())


def uncertainty_coefficient(table: Floats) -> float:
    """How much of the second attribute's entropy the first one explains: I(A; B) / H(B), 0 … 1.

    Args:
        table: (a, b) proportions or counts; negative cells count as 0.

    Returns:
        0 for independent attributes, 1 where the first decides the second; 0 where the second has one value.

    Raises:
        InvalidInput: a table that is not two-dimensional, or has nothing in it.
    """
    if table.ndim != 2:
        raise InvalidInput(f"the table must have two attributes, not {table.ndim}")
    joint = np.maximum(table, 0)
    if not joint.sum() > 0:
        raise InvalidInput("the table has nothing in it")
    joint = joint / joint.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    there = joint > 0
    shared = float((joint[there] * np.log(joint[there] / np.outer(rows, columns)[there])).sum())
    entropy = -float((columns[columns > 0] * np.log(columns[columns > 0])).sum())
    return min(1.0, max(0.0, shared) / entropy) if entropy > _NOTHING else 0.0


def pair(table: Floats, first: int, second: int) -> Floats:
    """The table of two of the attributes, in this order."""
    others = tuple(axis for axis in range(table.ndim) if axis not in (first, second))
    found: Floats = table.sum(axis=others)
    return found if first < second else found.T


def _relative(original: Floats, estimate: Floats) -> Floats:
    there = np.atleast_1d(original) > 0
    act, est = np.atleast_1d(original)[there], np.atleast_1d(estimate)[there]
    return np.abs(act - est) / act


def _subsets(axes: int) -> Iterator[tuple[int, ...]]:
    """Every set of axes that may be summed over."""
    for count in range(axes + 1):
        yield from itertools.combinations(range(axes), count)


def _check(original: Floats, estimate: Floats) -> None:
    if original.shape != estimate.shape:
        raise InvalidInput(f"the tables must have the same shape, not {original.shape} and {estimate.shape}")
    for name, table in (("original", original), ("estimate", estimate)):
        if not abs(float(table.sum()) - 1) <= _SUM * max(1.0, float(np.abs(table).sum())):
            raise InvalidInput(f"the proportions of the {name} add up to {float(table.sum()):.6g}, not 1")
