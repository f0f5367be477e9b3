"""The measure of many distributions at once: flat lists in, one number for each out, kernels without the GIL.

The results are those of `cae_entropy`, `cae_area` and `cae_curve`, up to the rounding of sums, with one
difference: a distribution of more than `LARGEST_EXACT` values that has no closed form gets its area to
`RELATIVE_ERROR`, certified, not exactly. No Python runs for a row, but for the few that need integers beyond
2⁵³ or have more than 128 irregular values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from cae_sql.errors import InvalidInput
from cae_sql.measure import long, many
from cae_sql.measure.curve import cae_curve, curve_of, entropy_of
from cae_sql.measure.distribution import Distribution, distribution, non_negative
from cae_sql.measure.rows import Flags, Floats, Ints, Lists, Rows, fixed, read_rows

LARGEST_EXACT = 1_000
"""Up to this many values the area is exact: half a second at most."""
RELATIVE_ERROR = long.RELATIVE_ERROR

_KNOWN_AREAS = np.zeros(4096)
"""Areas of equally likely neighbours; threads may write the same figure twice, which harms nobody."""


def rows_of(values: Lists, weights: Lists | None, live: Flags) -> Rows:
    """Check, sort, merge and normalise.

    Args:
        values: (n,) lists of numbers.
        weights: (n,) lists of weights; None: equally likely.
        live: (n,) False: the row is skipped, whatever its lists hold.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    n = live.size
    room = int(np.sum((values.end - values.begin)[live]))
    found = Rows(
        np.empty(room), np.empty(room), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n), np.empty(n), np.empty(n, np.bool_), np.empty(n, np.bool_),
    )  # fmt: skip
    given = weights or values
    bad = read_rows(
        values.items, values.begin, values.end, given.items, given.begin, given.end, weights is not None,
        fixed(live), found.x, found.p, found.at, found.size, found.top, found.bottom, found.even, found.odd,
    )  # fmt: skip
    if bad >= 0:
        _one(values, weights, bad)
        raise InvalidInput(f"row {bad}: neither a distribution nor an error of it", bad)  # pragma: no cover
    return found


def entropies(values: Lists, weights: Lists | None, epsilon: Floats, live: Flags) -> Floats:
    """H(ε) of each row in bits; NaN where it is not live.

    Args:
        values: (n,) lists of numbers.
        weights: (n,) lists of weights; None: equally likely.
        epsilon: (n,) widths of the approximate compromise range.
        live: (n,) which rows are wanted.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    for row in np.flatnonzero(live & ~((epsilon >= 0) & np.isfinite(epsilon))).tolist():
        with _about(row):
            non_negative(epsilon.item(row), "epsilon")
    found = rows_of(values, weights, live)
    out, left = np.full(live.size, np.nan), np.zeros(live.size, np.bool_)
    many.entropies(
        found.x, found.p, found.at, found.size, found.top, found.bottom, found.even, found.odd,
        fixed(epsilon), out, left,
    )  # fmt: skip
    for row in np.flatnonzero(left).tolist():
        candidates = _one(values, weights, row)
        out[row] = entropy_of(candidates, candidates.steps(epsilon.item(row)))
    return out


def areas(values: Lists, weights: Lists | None, live: Flags) -> Floats:
    """The area of each row in bits × units; NaN where it is not live.

    Exact up to `LARGEST_EXACT` values, and for equally likely neighbours on a grid; else right to
    `RELATIVE_ERROR`.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    found = rows_of(values, weights, live)
    out, left = _quick_areas(found)
    for row in np.flatnonzero(left).tolist():
        if found.size[row] > LARGEST_EXACT:
            low, high = _bounds(found, values, weights, row, RELATIVE_ERROR)
            out[row] = low + (high - low) / 2
        else:
            with _about(row):
                out[row] = curve_of(_one(values, weights, row)).area
    return out


def area_bounds(
    values: Lists, weights: Lists | None, relative_error: Floats, live: Flags
) -> tuple[Floats, Floats]:
    """Bounds of the area of each row, in bits × units; equal where the area is computed exactly.

    Args:
        values: (n,) lists of numbers.
        weights: (n,) lists of weights; None: equally likely.
        relative_error: (n,) > 0: half of what may lie between the bounds, as a part of the lower one.
        live: (n,) which rows are wanted; the others are NaN.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    for row in np.flatnonzero(live & ~((relative_error > 0) & np.isfinite(relative_error))).tolist():
        raise InvalidInput(
            f"row {row}: relative_error must be a number greater than 0, not {relative_error[row]}", row
        )
    found = rows_of(values, weights, live)
    lower, left = _quick_areas(found)
    upper = lower.copy()
    for row in np.flatnonzero(left).tolist():
        if found.size[row] > LARGEST_EXACT:
            lower[row], upper[row] = _bounds(found, values, weights, row, relative_error.item(row))
        else:
            with _about(row):
                lower[row] = upper[row] = curve_of(_one(values, weights, row)).area
    return lower, upper


def curves(values: Lists, weights: Lists | None, live: Flags) -> tuple[Floats, Floats, Ints]:
    """The steps of H(ε) of each row.

    Returns:
        epsilon and entropy, flat, and (n + 1,) where each row's steps begin; a row that is not live has none.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    found = rows_of(values, weights, live)
    left = found.odd | (found.size > many.MOST_IRREGULAR)
    counts = np.zeros(live.size, np.int64)
    epsilon, entropy = many.curves(
        found.x, found.p, found.at, found.size, found.top, found.bottom, left, counts
    )
    apart = {}
    for row in np.flatnonzero(left & live).tolist():
        with _about(row):
            apart[row] = cae_curve(values[row], None if weights is None else weights[row])
    if apart:
        place = np.concatenate([[0], np.cumsum(counts)])
        for row, steps in sorted(apart.items(), reverse=True):
            epsilon = np.insert(epsilon, place[row], steps.epsilon)
            entropy = np.insert(entropy, place[row], steps.entropy)
            counts[row] = steps.epsilon.size
    return epsilon, entropy, np.concatenate([[0], np.cumsum(counts)])


@contextmanager
def _about(row: int) -> Iterator[None]:
    """An error inside is about this row, and says so."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"row {row}: {error}", row) from error


def _one(values: Lists, weights: Lists | None, row: int) -> Distribution:
    """One row, exactly, by the rules for single distributions: the source of every error's words."""
    with _about(row):
        return distribution(values[row], None if weights is None else weights[row])


def _quick_areas(found: Rows) -> tuple[Floats, Flags]:
    out, left = np.full(found.size.size, np.nan), np.zeros(found.size.size, np.bool_)
    many.areas(
        found.x, found.p, found.at, found.size, found.top, found.bottom, found.even, found.odd,
        _KNOWN_AREAS, out, left,
    )  # fmt: skip
    return out, left


def _bounds(
    found: Rows, values: Lists, weights: Lists | None, row: int, relative_error: float
) -> tuple[float, float]:
    """Bounds of one long row."""
    unit = Fraction(1)
    if found.odd[row]:
        candidates = _one(values, weights, row)
        with _about(row):
            if candidates.spread * candidates.unit > sys.float_info.max:
                raise InvalidInput("the values lie further apart than a float can tell")
        places = np.array([float(place * candidates.unit) for place in candidates.positions.tolist()])
        low, high = long.area_bounds(places, candidates.probabilities, False, relative_error)
    else:
        part = slice(found.at[row], found.at[row] + found.size[row])
        grid = bool(found.top[row] > 0)
        low, high = long.area_bounds(found.x[part], found.p[part], grid, relative_error)
        if grid:
            unit = Fraction(int(found.top[row]), int(found.bottom[row]))
    return low * float(unit), high * float(unit)
