"""From many lists of values and weights to checked distributions, one after the other in flat arrays.

What `distribution.py` does for one distribution with exact integers, a compiled kernel does here for all of
them in floats: sorted, equal values merged, those of weight 0 dropped, normalised, and placed on a grid where
the values are decimals of the same few places (by the rules of `distribution.py`). On a grid positions are
whole numbers, which floats hold exactly up to 2⁵³.

Where floats cannot say what the exact rules would (values closer to each other than a few roundings, a spread
beyond the largest float) the row is marked *odd*, and left to `distribution.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_WHOLE = 2.0**52
_NEAR = 2.0**-46
"""Relative distance up to which two values might be one, to the rules of `distribution.py`."""
_LIGHT, _HEAVY = 1e-200, 1e200
"""With the largest weight between these they are added up as they are, else relative to it."""
_FEW = 32
"""Up to this many values insertion is the quickest way to sort."""


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous view that is not written to: Arrow's arrays are like that, and a kernel is compiled anew
    for each mixture of arrays that are and are not."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class Lists:
    """Many lists of floats, flat: list i holds `items[begin[i]:end[i]]`."""

    items: Floats
    """(m,) all items."""
    begin: Ints
    """(n,)"""
    end: Ints
    """(n,)"""

    def __post_init__(self) -> None:
        for name in ("items", "begin", "end"):
            object.__setattr__(self, name, fixed(getattr(self, name)))

    def __getitem__(self, row: int) -> Floats:
        return self.items[self.begin[row] : self.end[row]]


def lists_of(rows: Floats, values: Floats) -> tuple[Lists, Lists]:
    """One list of values, shared by all rows, (r, w), and each row's weights."""
    count, size = rows.shape
    first, zero = np.arange(count, dtype=np.int64) * size, np.zeros(count, dtype=np.int64)
    return Lists(values[:size], zero, zero + size), Lists(rows.ravel(), first, first + size)


@dataclass(frozen=True)
class Rows:
    """Checked distributions; that of row r has `size[r]` values from place `at[r]` on."""

    x: Floats
    """Ascending positions: whole numbers of grid units from 0 where there is a grid, else the values."""
    p: Floats
    """Probabilities, positive, sum 1."""
    at: Ints
    size: Ints
    """0 for a row that is not live."""
    top: Floats
    """A grid unit is top / bottom; top 0: no grid, the unit is 1."""
    bottom: Floats
    even: Flags
    """All equally likely."""
    odd: Flags
    """Floats cannot tell; `x` and `p` are not to be used."""


@compiled()
def beyond(items: Floats, begin: Ints, end: Ints, rows: Ints, low: float, high: float) -> Flags:
    """Which of these rows hold a value outside of low … high; none that holds what is not finite."""
    found = np.zeros(rows.size, np.bool_)
    for i in range(rows.size):
        for k in range(begin[rows[i]], end[rows[i]]):
            if not math.isfinite(items[k]):
                found[i] = False
                break
            found[i] |= items[k] < low or items[k] > high
    return found


@compiled()
def sort(x: Floats, p: Floats, at: int, size: int) -> None:
    """Ascending by x, in place, p along with it: insertion in short stretches, which are then merged.

    NumPy's sorts would do, and take seconds to compile.
    """
    end = at + size
    for first in range(at, end, _FEW):
        for k in range(first + 1, min(first + _FEW, end)):
            value, weight = x[k], p[k]
            i = k
            while i > first and x[i - 1] > value:
                x[i], p[i] = x[i - 1], p[i - 1]
                i -= 1
            x[i], p[i] = value, weight
    if size <= _FEW:
        return
    y, q = np.empty(size), np.empty(size)
    width = _FEW
    while width < size:
        for low in range(at, end, 2 * width):
            middle, high = min(low + width, end), min(low + 2 * width, end)
            i, j = low, middle
            for k in range(low - at, high - at):
                if j == high or (i < middle and x[i] <= x[j]):
                    y[k], q[k] = x[i], p[i]
                    i += 1
                else:
                    y[k], q[k] = x[j], p[j]
                    j += 1
        for k in range(size):
            x[at + k], p[at + k] = y[k], q[k]
        width *= 2


@compiled(error_model="numpy")
def _decimal_places(x: Floats, at: int, size: int) -> int:
    """With how few decimal places all values can be written; −1 where they are not meant as decimals."""
    largest = max(abs(x[at]), abs(x[at + size - 1]))
    if largest < _WHOLE:
        k = at
        while k < at + size and x[k] == np.floor(x[k]):
            k += 1
        if k == at + size:
            return 0
    power = 1.0
    for places in range(1, 16):
        power *= 10.0
        if largest * power >= 1e15:
            break  # a decimal of more than 15 digits is not told by its float alone
        roundings = 4.0 if largest * power < 1e12 else 0.0
        k = at
        while k < at + size:
            whole = np.floor(x[k] * power + 0.5)
            if abs(whole / power - x[k]) > roundings * np.spacing(abs(x[k])):
                break
            k += 1
        if k == at + size:
            return places
    return -1


@compiled(error_model="numpy")
def _onto_grid(x: Floats, at: int, size: int, places: int) -> tuple[float, float]:
    """Positions in the largest unit that keeps them whole, counted from the least; the unit as a fraction.

    Rounding by floor, which processors have an instruction for; nothing here lies half way.
    """
    power = 10.0**places
    first = np.floor(x[at] * power + 0.5) if places else x[at]
    least = math.inf
    before = 0.0
    for k in range(at, at + size):
        x[k] = (np.floor(x[k] * power + 0.5) if places else x[k]) - first
        if k > at:
            least = min(least, x[k] - before)
        before = x[k]
    if size == 1 or least <= 0.0:
        return 1.0, power
    divisor = least
    share = 1.0 / divisor  # nearly x / divisor: rounded to a whole number and multiplied it is right or fails
    for k in range(at + 1, at + size):
        if np.floor(x[k] * share + 0.5) * divisor != x[k]:
            a, b = int(divisor), int(x[k])
            while b:
                a, b = b, a % b
            divisor = float(a)
            share = 1.0 / divisor
    if divisor != 1.0:
        for k in range(at + 1, at + size):
            x[k] /= divisor
    return divisor, power


@compiled(error_model="numpy")
def _read(
    items: Floats,
    begin: int,
    end: int,
    weights: Floats,
    weight_begin: int,
    weighted: bool,
    x: Floats,
    p: Floats,
    at: int,
) -> tuple[int, bool, float]:
    """Copy what has weight: how many (−1: something is wrong), whether ascending, the largest weight."""
    size = 0
    ascending = True
    heaviest = 0.0 if weighted else 1.0
    for k in range(end - begin):
        value = items[begin + k]
        if not abs(value) < math.inf:  # NaN is not less than anything
            return -1, False, 0.0
        if weighted:
            weight = weights[weight_begin + k]
            if not (0.0 <= weight < math.inf):
                return -1, False, 0.0
            if weight == 0.0:
                continue
            heaviest = max(heaviest, weight)
            p[at + size] = weight
        if size and value <= x[at + size - 1]:
            ascending = False
        x[at + size] = value
        size += 1
    return (size if size else -1), ascending, heaviest


@compiled(error_model="numpy")
def _merge(x: Floats, p: Floats, at: int, size: int, weighted: bool, heaviest: float) -> int:
    """Equal values become one, weights relative to the largest; how many are left."""
    kept = -1
    for k in range(at, at + size):
        weight = p[k] / heaviest if weighted else 1.0
        if kept >= 0 and x[k] == x[at + kept]:
            p[at + kept] += weight
        else:
            kept += 1
            x[at + kept] = x[k]
            p[at + kept] = weight
    return kept + 1


@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def _normalise(p: Floats, at: int, size: int) -> bool:
    """Sum 1; whether all are equal."""
    total, least, most = 0.0, p[at], p[at]
    for k in range(at, at + size):
        total += p[k]
        least = min(least, p[k])
        most = max(most, p[k])
    for k in range(at, at + size):
        p[k] = max(p[k] / total, 5e-324)  # too small beside the others to be a float, and still possible
    return bool(least == most)


@compiled(error_model="numpy")
def _placed(x: Floats, at: int, size: int) -> tuple[float, float, bool]:
    """On a grid, if there is one: its unit as a fraction (0 / 1: none), and whether the row is odd."""
    top, bottom, least_apart = 0.0, 1.0, 0.0
    places = _decimal_places(x, at, size)
    if places >= 0:
        top, bottom = _onto_grid(x, at, size, places)
    else:
        least_apart = _NEAR * max(abs(x[at]), abs(x[at + size - 1]))
    odd = not math.isfinite(x[at + size - 1] - x[at])
    for k in range(at + 1, at + size):
        odd |= x[k] - x[k - 1] <= least_apart
    return top, bottom, odd


@compiled(error_model="numpy")
def read_rows(
    items: Floats,
    begin: Ints,
    end: Ints,
    weights: Floats,
    weight_begin: Ints,
    weight_end: Ints,
    weighted: bool,
    live: Flags,
    x: Floats,
    p: Floats,
    at: Ints,
    size: Ints,
    top: Floats,
    bottom: Floats,
    even: Flags,
    odd: Flags,
) -> int:
    """Fill what `Rows` holds; returns −1, or the first row with which something is wrong."""
    place = 0
    for r in range(live.size):
        at[r], size[r], top[r], bottom[r], even[r], odd[r] = place, 0, 0.0, 1.0, False, False
        if not live[r]:
            continue
        if weighted and weight_end[r] - weight_begin[r] != end[r] - begin[r]:
            return r
        count, ascending, heaviest = _read(
            items, begin[r], end[r], weights, weight_begin[r] if weighted else 0, weighted, x, p, place
        )
        if count < 0:
            return r
        if not ascending:
            sort(x, p, place, count)
        if weighted or not ascending:
            if not ascending or not _LIGHT < heaviest < _HEAVY:
                count = _merge(x, p, place, count, weighted, heaviest)
            even[r] = _normalise(p, place, count)
        else:
            p[place : place + count] = 1.0 / count
            even[r] = True
        size[r] = count
        top[r], bottom[r], odd[r] = _placed(x, place, count)
        place += count
    return -1
