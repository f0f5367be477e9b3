"""From what is known of records to candidate distributions on the domain's grid (paper 000, Algorithm 2).

Contract: intervals or value sets in, `(values, probabilities)` out, both (m,), values ascending and distinct,
probabilities positive with sum 1. Which records an intruder cannot tell apart is the caller's question; so is
where the bounds come from.

Rounding. Bounds come out of floating-point solvers, so a bound within 10⁻⁹ steps of a grid value (plus the
rounding of the bound itself, 2⁻⁵⁰ of its size) is taken to be that grid value. Nothing else is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput

_SLACK = 1e-9
_ROUNDING = 2.0**-50

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spans:
    """Per record, its candidate values as a run of grid values."""

    first: Ints
    """(n,) number of the least candidate value; value k of the grid is minimum + k · step."""
    count: Ints
    """(n,) how many candidate values, >= 1."""


def candidates(lower: ArrayLike, upper: ArrayLike, domain: Domain) -> tuple[Floats, Floats]:
    """What an intruder believes who cannot tell these records apart and knows an interval for each.

    Each record spreads its probability evenly over its candidate values and the records are averaged
    (Algorithm 2): p_d = 1/n Σ_i [d ∈ C_i] / |C_i|, |C_i| = 1 + ⌊(U_i − L_i) / step⌋.

    C_i are the grid values in [L_i, U_i] where they are that many. They are one fewer where both bounds lie
    off the grid unfavourably (step 10: [53, 107] holds 54, six values 10 apart, but only five grid values):
    C_i are then L_i, L_i + step, …, each reported as the grid value at or below it, so that records of
    different offset are not taken for told apart.

    Args:
        lower: (n,) L_i, in units of the column.
        upper: (n,) U_i >= L_i.
        domain: The grid; every interval lies inside it.

    Returns:
        values (m,) ascending, and probabilities (m,), all positive.

    Raises:
        InvalidInput: no records, different lengths, a bound that is not finite or outside of the domain, L_i
        > U_i;
            `.position` is the record.
    """
    found = spans(lower, upper, domain)
    positions, probabilities = mixture(found.first, found.count, np.ones_like(found.first))
    return grid_values(positions, exact(domain.minimum), exact(domain.step)), probabilities


def grid_candidates(values: ArrayLike, domain: Domain) -> tuple[Floats, Floats]:
    """What an intruder believes who knows exactly which finitely many values are possible, seen at the
    domain's step.

    The set may lie on a finer grid than risk is judged at. It is cut, from its own least value, into windows
    of one step; each window that holds a possible value counts once, as the value at its start. A full run
    from L to U at any finer resolution so gives 1 + ⌊(U − L) / step⌋ values.

    Args:
        values: (n,) possible values in any order, all inside the domain, repetitions ignored.
        domain: Its step is the width of a window.

    Returns:
        values (m,) ascending: least + k · step, and probabilities (m,), all 1/m.

    Raises:
        InvalidInput: none, not finite, or outside of the domain; `.position` is the first offending value.
    """
    x = _column(values, "values")
    check_inside(x, domain, "values")
    k = np.unique(_floor(_in_steps(x, float(x.min()), domain)))
    return grid_values(k, exact(x.min()), exact(domain.step)), np.full(k.size, 1.0 / k.size)


def spans(lower: ArrayLike, upper: ArrayLike, domain: Domain) -> Spans:
    """The candidate values of each record, as `candidates` describes them.

    Raises:
        InvalidInput: as `candidates`.
    """
    low, high = _column(lower, "lower"), _column(upper, "upper")
    if low.size != high.size:
        position = min(low.size, high.size)
        raise InvalidInput(
            f"lower and upper must have the same length, not {low.size} and {high.size}", position
        )
    check_inside(low, domain, "lower")
    check_inside(high, domain, "upper")
    origin = float(exact(domain.minimum))
    a, b = _in_steps(low, origin, domain), _in_steps(high, origin, domain)
    crossed = np.flatnonzero(a.steps > b.steps + a.slack + b.slack)
    if crossed.size:
        i = int(crossed[0])
        raise InvalidInput(f"lower[{i}] = {low[i]} is greater than upper[{i}] = {high[i]}", i)
    width = _Steps(np.maximum(b.steps - a.steps, 0.0), a.slack + b.slack)
    count = _floor(width) + 1
    above, last = _ceil(a), _floor(b)
    first = np.where(last - above + 1 >= count, above, _floor(a))
    return Spans(first, count)


def mixture(first: Ints, count: Ints, weight: Ints) -> tuple[Ints, Floats]:
    """Average of uniform distributions over runs of grid numbers, by differences: O(runs + span).

    Args:
        first: (n,) least number of each run.
        count: (n,) its length.
        weight: (n,) how many records have this run.

    Returns:
        The numbers with positive probability, ascending, and their probabilities.
    """
    origin = int(first.min())
    start, end = first - origin, first - origin + count
    size = int(end.max()) + 1
    # Which numbers are covered is counted in integers: differences of fractions leave crumbs where nothing
    # is.
    cover = np.cumsum(np.bincount(start, minlength=size) - np.bincount(end, minlength=size))
    share = weight / count
    rise = np.bincount(start, share, minlength=size) - np.bincount(end, share, minlength=size)
    covered = np.flatnonzero(cover > 0)
    p = np.cumsum(rise)[covered]
    return covered + origin, p / math.fsum(p)


@dataclass(frozen=True)
class _Steps:
    """Distances from an origin, in steps, and how far each may be off."""

    steps: Floats
    slack: Floats


def _in_steps(x: Floats, origin: float, domain: Domain) -> _Steps:
    step = float(exact(domain.step))
    size = np.maximum(np.abs(x), abs(origin)) / step
    return _Steps((x - origin) / step, _SLACK + _ROUNDING * size)


def _floor(x: _Steps) -> Ints:
    return np.floor(x.steps + x.slack).astype(np.int64)


def _ceil(x: _Steps) -> Ints:
    return np.ceil(x.steps - x.slack).astype(np.int64)


def _column(values: ArrayLike, name: str) -> Floats:
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numbers") from error
    if x.ndim != 1:
        raise InvalidInput(f"{name} must be one-dimensional, but has {x.ndim} dimensions")
    if x.size == 0:
        raise InvalidInput(f"{name} must not be empty")
    bad = np.flatnonzero(~np.isfinite(x))
    if bad.size:
        raise InvalidInput(f"{name}[{bad[0]}] is {x[bad[0]]}; it must be finite", int(bad[0]))
    return x


def check_inside(x: Floats, domain: Domain, name: str) -> None:
    """Refuse values outside of the domain, those apart that rounding has put there.

    Raises:
        InvalidInput: a value below the minimum or above the maximum; `.position` is the first.
    """
    low, high = float(exact(domain.minimum)), float(exact(domain.maximum))
    slack = _in_steps(x, low, domain).slack * float(exact(domain.step))
    outside = np.flatnonzero((x < low - slack) | (x > high + slack))
    if outside.size:
        i = int(outside[0])
        raise InvalidInput(f"{name}[{i}] = {x[i]} is outside of the domain {low} … {high}", i)
