"""Closed forms of the measure for m equally likely, equally spaced values.

Shannon entropy is Schur-concave: of all ways to split m values into windows of at most w values, as many full
windows as fit and one remainder majorise every other, so they have the least entropy. With q = ⌊m / w⌋ and r
= m − q w:

    H = log2 m − (q w log2 w + r log2 r) / m        bits, w = ⌊ε / step⌋ + 1
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import is_number, non_negative
from cae_sql.numbers import exact

_CHUNK = 1 << 20
"""Window widths handled at a time: a domain of 10⁷ values must not need 10⁷ floats several times over."""


def uniform_entropy(count: int, step: float | Fraction, epsilon: float | Fraction) -> float:
    """H(ε) of `count` equally likely values that lie `step` apart.

    Args:
        count: Number of values m >= 1.
        step: Distance of neighbours > 0, in units of the column.
        epsilon: Window width ε >= 0, in units of the column; compared exactly, 0.1 is one tenth.

    Returns:
        Bits; 0.0 when one window holds all.

    Raises:
        InvalidInput: an argument out of range.
    """
    m, width = checked_count(count), checked_step(step)
    window = int(non_negative(epsilon, "epsilon") // width) + 1
    if window >= m:
        return 0.0
    full, rest = divmod(m, window)
    return full * _block(window / m) + _block(rest / m)


def uniform_area(count: int, step: float | Fraction) -> float:
    """A of `count` equally likely values that lie `step` apart: Σ H over the windows of 1 … m − 1 values,
    times step.

    Returns:
        Bits × units of the column; 0.0 for one value.

    Raises:
        InvalidInput: count < 1, or step <= 0.
    """
    m, width = checked_count(count), checked_step(step)
    sums = [
        float(entropies_of_windows(m, np.arange(first, min(first + _CHUNK, m))).sum())
        for first in range(1, m, _CHUNK)
    ]
    return math.fsum(sums) * float(width)


def entropies_of_windows(
    count: int | NDArray[np.int64], window: int | NDArray[np.int64]
) -> NDArray[np.float64]:
    """H of uniform runs of `count` values under windows that hold `window` values; the two broadcast."""
    m, w = np.asarray(count, dtype=np.int64), np.asarray(window, dtype=np.int64)
    rest = m % w
    covered = (m - rest) * np.log2(w) + rest * np.log2(np.maximum(rest, 1))
    return np.where(w >= m, 0.0, np.maximum(np.log2(m) - covered / m, 0.0))


def checked_count(count: int) -> int:
    """A number of values.

    Raises:
        InvalidInput: not a whole number >= 1.
    """
    try:
        m = operator.index(count)
    except TypeError as error:
        raise InvalidInput(f"count must be a whole number, not {count!r}") from error
    if m < 1:
        raise InvalidInput(f"count must be at least 1, not {count}")
    return m


def checked_step(step: object) -> Fraction:
    """A distance, exactly.

    Raises:
        InvalidInput: not a finite number > 0.
    """
    width = exact(step, "step") if is_number(step) else Fraction(0)
    if width <= 0:
        raise InvalidInput(f"step must be a number greater than 0, not {step!r}")
    return width


def _block(q: float) -> float:
    return -q * math.log2(q) if 0.0 < q < 1.0 else 0.0
