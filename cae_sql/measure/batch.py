"""The measure of many distributions at once: flat lists in, one number for each out, kernels without the GIL.

The results are those of `cae_entropy`, `cae_area` and `cae_curve`, up to the rounding of sums, with one
difference: a distribution of more than `LARGEST_EXACT` values that has no closed form gets its area to
`RELATIVE_ERROR`, certified, not exactly; or to a tolerance that is asked for, as all do then that have more
than 128 irregular values. No Python runs for a row, but for those and the few that need integers beyond 2⁵³.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from cae_sql.errors import InvalidInput
from cae_sql.measure import bounds, many
from cae_sql.measure.curve import cae_curve, entropy_of
from cae_sql.measure.distribution import Distribution, distribution, non_negative
from cae_sql.measure.rows import Flags, Floats, Ints, Lists, Rows, fixed, read_rows
from cae_sql.threads import in_two

LARGEST_EXACT = 1_000
"""Up to this many values the area is exact if no tolerance is given: a tenth of a second at most."""
RELATIVE_ERROR = bounds.RELATIVE_ERROR

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


def areas(values: Lists, weights: Lists | None, live: Flags, tolerance: Floats | None = None) -> Floats:
    """The area of each row in bits × units; NaN where it is not live.

    Exact up to `LARGEST_EXACT` values, and for equally likely neighbours on a grid; else right to
    `RELATIVE_ERROR`.

    Args:
        values: (n,) lists of numbers.
        weights: (n,) lists of weights; None: equally likely.
        live: (n,) which rows are wanted.
        tolerance: (n,) >= 0, what the error may be as a part of the area, where more than 128 irregular
            values make it slow to be exact; 0 or None: as above.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    asked = np.zeros(live.size) if tolerance is None else tolerance
    for row in np.flatnonzero(live & ~((asked >= 0) & np.isfinite(asked))).tolist():
        raise InvalidInput(f"row {row}: tolerance must be a number from 0, not {asked[row]}", row)
    lower, upper = _bounds_of_all(values, weights, live, asked)
    return lower + (upper - lower) / 2


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
    return _bounds_of_all(values, weights, live, relative_error, exact=True)


def exact_work(values: Lists, live: Flags) -> float:
    """How much work exact areas of these rows may be: about how many have a thousand irregular values."""
    sizes = (values.end - values.begin)[live]
    return float(np.sum((np.where(sizes > LARGEST_EXACT, 0, sizes) / 1_000) ** 2))


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


def _bounds_of_all(
    values: Lists, weights: Lists | None, live: Flags, relative_error: Floats, exact: bool = False
) -> tuple[Floats, Floats]:
    """Bounds of each row's area; equal where it is quick to be exact, where `exact` asks for it or no error
    is allowed, up to `LARGEST_EXACT` values."""
    found = rows_of(values, weights, live)
    lower, left = _quick_areas(found)
    upper = lower.copy()
    rows = np.flatnonzero(left)

    def some(first: int, last: int) -> None:
        for row in rows[first:last].tolist():
            error = relative_error.item(row)
            short = found.size[row] <= LARGEST_EXACT and (exact or error == 0.0)
            low, high = _bounds(found, values, weights, row, 0.0 if short else error or RELATIVE_ERROR)
            lower[row], upper[row] = (low + (high - low) / 2,) * 2 if short else (low, high)

    in_two(some, rows.size, int(found.size[rows].max(initial=0)) ** 2)
    return lower, upper


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
        low, high = bounds.area_bounds(places, candidates.probabilities, relative_error)
    else:
        part = slice(found.at[row], found.at[row] + found.size[row])
        low, high = bounds.area_bounds(found.x[part], found.p[part], relative_error)
        if found.top[row] > 0:
            unit = Fraction(int(found.top[row]), int(found.bottom[row]))
    return low * float(unit), high * float(unit)
