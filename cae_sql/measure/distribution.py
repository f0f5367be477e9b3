"""From what a caller hands in to a checked candidate distribution on an exact grid.

Positions become integers: floats are read through their decimal text (0.1 is one tenth), brought to a common
denominator and divided by their greatest common divisor. All comparisons of spreads with ε are then
comparisons of integers. They are int64 wherever the spread allows (2⁶² grid units), Python integers beyond:
slower, no less exact.

Floats that are all within four roundings of decimals of at most twelve digits are taken to be these decimals:
`arange(11) * 0.1` is meant to be equally spaced, and 0.30000000000000004 in it to be 0.3.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.errors import InvalidInput
from cae_sql.numbers import exact

_LARGEST = 2**62
_EXACT_FLOAT = 2**53
_ROUNDINGS = 4
_TINIEST = 5e-324


@dataclass(frozen=True)
class Distribution:
    """A candidate distribution: what an intruder believes about one confidential value."""

    positions: NDArray[Any]
    """(n,) strictly ascending whole numbers of grid units, the first 0; int64, or Python integers where too
    large."""
    probabilities: NDArray[np.float64]
    """(n,) all positive, sum 1."""
    unit: Fraction
    """One grid unit, in units of the column."""

    @property
    def spread(self) -> int:
        """x_n − x_1 in grid units."""
        return int(self.positions[-1])

    def steps(self, epsilon: object) -> int:
        """⌊ε⌋ in grid units, at most the spread: what a window of width ε can hold.

        Raises:
            InvalidInput: ε is not a finite number, or negative.
        """
        return min(int(non_negative(epsilon, "epsilon") // self.unit), self.spread)


def non_negative(number: object, name: str) -> Fraction:
    """The number, exactly.

    Raises:
        InvalidInput: not a finite number, or negative.
    """
    if not is_number(number):
        raise InvalidInput(f"{name} must be a number, not {number!r}")
    result = exact(number, name)
    if result < 0:
        raise InvalidInput(f"{name} must not be negative, but is {number}")
    return result


def is_number(value: object) -> bool:
    """Whether the value is a real number of some kind; text that reads as one is not."""
    return isinstance(value, (numbers.Real, Decimal, np.bool_))


def distribution(values: ArrayLike, probabilities: ArrayLike | None = None) -> Distribution:
    """Check, normalise, merge equal values, drop those of zero probability, and place the rest on an exact
    grid.

    Args:
        values: (n,) numbers in any order.
        probabilities: (n,) weights >= 0, not all 0, any sum; None: equally likely.

    Raises:
        InvalidInput: anything else; `.position` is the first offending element where there is one.
    """
    x = _numbers(values, "values")
    if probabilities is None:
        weights = np.ones(x.size)
    else:
        weights = _weights(probabilities)
        if weights.size != x.size:
            raise InvalidInput(
                f"values and probabilities must have the same length, not {x.size} and {weights.size}",
                min(x.size, weights.size),
            )
    x, weights = x[weights > 0], weights[weights > 0]
    positions, unit = _grid(x)
    order = np.argsort(positions, kind="stable")
    positions, weights = positions[order], weights[order]
    first = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    # The largest weight becomes 1 before anything is added: neither 1e308 + 1e308 nor 1e-320 / 3 goes astray.
    merged = np.add.reduceat(weights / weights.max(), first)
    positions, unit = _reduced(positions[first], unit)
    # A weight too small beside the others to be a float still makes its value possible.
    return Distribution(positions, np.maximum(merged / math.fsum(merged), _TINIEST), unit)


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """One-dimensional, not empty, every element a finite number."""
    try:
        x = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a flat list of numbers") from error
    if x.ndim != 1:
        raise InvalidInput(f"{name} must be one-dimensional, but has {x.ndim} dimensions")
    if x.size == 0:
        raise InvalidInput(f"{name} must not be empty")
    if x.dtype.kind == "f" and not hasattr(values, "dtype") and np.any(np.abs(x) >= _EXACT_FLOAT):
        x = np.array(values, dtype=object)  # a list may mix floats with integers that no float holds
    if x.dtype.kind not in "biuf":
        _refuse_other_things(values if isinstance(values, (list, tuple)) else x, name)
        x = np.array(list(x), dtype=object)
    bad = (
        [k for k, v in enumerate(x) if not _finite(v)]
        if x.dtype.kind == "O"
        else np.flatnonzero(~np.isfinite(x))
    )
    if len(bad):
        raise InvalidInput(f"{name}[{bad[0]}] is {x[bad[0]]}; every value must be finite", int(bad[0]))
    return x


def _refuse_other_things(values: Any, name: str) -> None:
    for position, value in enumerate(values):
        if not is_number(value):
            raise InvalidInput(f"{name}[{position}] must be a number, not {value!r}", position)


def _finite(value: Any) -> bool:
    return (
        value.is_finite()
        if isinstance(value, Decimal)
        else isinstance(value, numbers.Rational) or math.isfinite(value)
    )


def _weights(probabilities: ArrayLike) -> NDArray[np.float64]:
    raw = _numbers(probabilities, "probabilities")
    try:
        weights = raw.astype(np.float64)
    except OverflowError as error:
        raise InvalidInput("probabilities must fit into floats") from error
    negative = np.flatnonzero(weights < 0)
    if negative.size:
        position = int(negative[0])
        raise InvalidInput(f"probabilities[{position}] is negative: {raw[position]}", position)
    if not np.any(weights > 0):
        raise InvalidInput("probabilities must not all be 0")
    return weights


def _grid(x: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Whole numbers k and a unit with x = k · unit exactly, floats taken as the decimals they print as."""
    if x.dtype.kind in "biu":
        return _whole(x), Fraction(1)
    if x.dtype == np.float64:
        decimals = _decimals(x)
        if decimals is not None:
            return decimals
    fractions = [exact(value) for value in x]
    denominator = math.lcm(*(value.denominator for value in fractions))
    whole = [value.numerator * (denominator // value.denominator) for value in fractions]
    return _whole(np.array(whole, dtype=object)), Fraction(1, denominator)


def _decimals(x: NDArray[np.float64]) -> tuple[NDArray[np.int64], Fraction] | None:
    """The floats as decimals of at most 15 digits, all with the same number of places; None if they are
    not."""
    largest = float(np.abs(x).max())
    for places in range(16):
        power = 10.0**places
        if largest * power >= 1e15:
            return None  # a decimal of more than 15 digits is not told by its float alone
        whole = np.rint(x * power)
        # arange(11) * 0.1 holds 0.30000000000000004, and means 0.3: computed grids are a few roundings off.
        allowed = _ROUNDINGS * np.spacing(np.abs(x)) if largest * power < 1e12 else 0.0
        if np.all(np.abs(whole / power - x) <= allowed):
            return whole.astype(np.int64), Fraction(1, 10**places)
    return None


def _whole(x: NDArray[Any]) -> NDArray[Any]:
    """int64 where every value and difference fits, else Python integers."""
    if -_LARGEST < int(x.min()) <= int(x.max()) < _LARGEST and int(x.max()) - int(x.min()) < _LARGEST:
        return x.astype(np.int64)
    return np.array([int(value) for value in x], dtype=object)


def _reduced(positions: NDArray[Any], unit: Fraction) -> tuple[NDArray[Any], Fraction]:
    """Counted from the least, in the largest unit that keeps them whole."""
    shifted = positions - positions[0]
    if shifted.size == 1:
        return np.zeros(1, dtype=np.int64), unit
    divisor = math.gcd(*shifted.tolist())
    return _whole(shifted // divisor), unit * divisor
