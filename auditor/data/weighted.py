"""Aggregates that are a sum with public weights: which weights, and what the aggregate is of that sum.

SUM and AVG of the column times a public expression, COVAR with one, and the line that REGR_SLOPE and
REGR_INTERCEPT lay through it are all linear in the protected values. Weights are taken for exactly the
numbers that they are, as coprime integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditor.sql import Aggregate

GREATEST = 2**40
"""No weight is greater than that times the least step between them: sums stay far from 2**63."""
ROOT_DIGITS = 80
"""Binary digits after the point of a square root."""


class Uneven(Exception):
    """Records that count with different weights in one aggregate, where that is not understood."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """An aggregate as `coefficient` · Σ weight · value."""

    places: NDArray[np.int64]
    """Of those whose weight is not 0, among all."""
    weights: NDArray[np.int64]
    """Coprime integers, none 0, the first one positive."""
    coefficient: Fraction


def weighted(aggregate: Aggregate, weights: Sequence[Any]) -> Weighted | Fraction | None:
    """An aggregate of a group as such a sum; its value where it hangs on nobody's, None where it is NULL.

    Args:
        aggregate: SUM, AVG, COVAR, REGR_SLOPE or REGR_INTERCEPT.
        weights: Of each record, as the engine gives numbers; at least one.

    Raises:
        Uneven: weights that are no whole multiples, below `GREATEST`, of one step; one by 0.
    """
    if not all(isinstance(each, int) or isfinite(each) for each in weights):
        raise Uneven
    exact = [Fraction(each) for each in weights]
    assert aggregate.statistic is not None
    if aggregate.statistic.inverse:
        if not all(exact):
            raise Uneven
        exact = [1 / each for each in exact]
    size, total = len(exact), sum(exact, start=Fraction(0))
    if aggregate.function in ("sum", "avg"):
        divisor = Fraction(size if aggregate.function == "avg" else 1)
    else:
        exact, squares = [size * each - total for each in exact], sum(each * each for each in exact)
        spread = size * squares - total**2  # n² times the weights' variance
        if aggregate.function == "covar":
            divisor = Fraction(size * (size - aggregate.statistic.sample))
        elif aggregate.function == "regr_slope":
            divisor = spread
        else:
            exact, divisor = [spread - total * each for each in exact], size * spread
        if not divisor:
            return None
    return _whole(exact, divisor)


def _whole(exact: Sequence[Fraction], divisor: Fraction) -> Weighted | Fraction:
    scale = lcm(*(each.denominator for each in exact))
    whole = [int(each * scale) for each in exact]
    common = gcd(*whole)
    if not common:
        return Fraction(0)
    places = [place for place, each in enumerate(whole) if each]
    common *= 1 if whole[places[0]] > 0 else -1
    found = [whole[place] // common for place in places]
    if max(map(abs, found)) > GREATEST:
        raise Uneven
    return Weighted(np.array(places), np.array(found, dtype=np.int64), Fraction(common, scale) / divisor)


def root_of(value: Fraction) -> Fraction:
    """The square root, rounded downwards.

    >>> root_of(Fraction(9, 4))
    Fraction(3, 2)
    """
    scale = 1 << ROOT_DIGITS
    return Fraction(isqrt(value.numerator * scale**2 // value.denominator), scale)
