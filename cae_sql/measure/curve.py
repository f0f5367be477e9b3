"""Confidential Attribute Equivocation (paper 000, Sections 3 and 4): entropy H(ε), its curve, and the area
under it.

H(ε) is the least Shannon entropy, in bits, over all partitions of the candidate values into consecutive
blocks of spread at most ε. The results are exact up to the rounding of the logarithms: widths are compared as
integers (`distribution.py`), and the curve is computed at every width where it can change.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.errors import ExactIsSlow, InvalidInput
from cae_sql.measure.distribution import Distribution, distribution, is_number
from cae_sql.measure.uniform import entropies_of_windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DENSE = 4
"""With a spread of at most this many grid units per value each width is solved anew; the incremental kernel
takes over beyond, where most widths bring in few blocks. Both are exact; this is where their times cross
(measured at n = 1,000)."""


LARGEST_IRREGULAR = 8_000
"""Beyond this many irregular values their pairs would take more than a gigabyte, and the curve minutes."""
_SLOW = 3_000
"""Irregular values whose exact curve takes seconds."""
_QUICK = 128
"""Up to this many values the exact area is as quick as one with a tolerance."""
_SAME = 16 * sys.float_info.epsilon
"""Relative difference below which two entropies are one, summed in another order."""
_LIMB = 61
"""Bits of a machine word that positions too large for one are cut into."""


@dataclass(frozen=True, eq=False)
class EntropyCurve:
    """H as a function of ε: a right-continuous step function that never rises."""

    epsilon: NDArray[np.float64]
    """(m,) widths at which H changes, in units of the column, ascending; the first is 0."""
    entropy: NDArray[np.float64]
    """(m,) H from this width up to the next, in bits; the last is 0."""
    area: float
    """A = ∫ H dε from 0 to `epsilon_max`, in bits × units of the column."""

    @property
    def initial_entropy(self) -> float:
        """H0 = H(0) in bits: uncertainty against exact compromise."""
        return float(self.entropy[0])

    @property
    def epsilon_max(self) -> float:
        """The least ε with H(ε) = 0: the spread of the possible values, 0 for a single one."""
        return float(self.epsilon[-1])

    def at(self, epsilon: ArrayLike) -> Any:
        """H(ε) in bits: a float for a single ε, an array of the same shape for several.

        Raises:
            InvalidInput: an ε that is negative or not a finite number.
        """
        try:
            widths = np.asarray(epsilon, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput("epsilon must be a number or an array of numbers") from error
        bad = np.flatnonzero(~(np.isfinite(widths) & (widths >= 0)))
        if bad.size:
            position = int(bad[0]) if widths.ndim else None
            raise InvalidInput("epsilon must be finite and not negative", position)
        # Decimals are in the order of the floats nearest to them: comparing floats compares decimals (to 15
        # digits).
        found = self.entropy[np.searchsorted(self.epsilon, widths, side="right") - 1]
        return found if widths.ndim else float(found)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the steps, the area under them shaded, on `ax` or on new axes; needs matplotlib.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError("plotting needs matplotlib: pip install 'cae-sql[plot]'") from error
            ax = pyplot.subplots()[1]
        width = np.append(self.epsilon, self.epsilon_max * 1.05 or 1.0)
        height = np.append(self.entropy, 0.0)
        ax.step(width, height, where="post")
        ax.fill_between(width, height, step="post", alpha=0.2)
        ax.set_xlabel("ε (units of the column)")
        ax.set_ylabel("H(ε) in bits")
        ax.set_title(f"H0 = {self.initial_entropy:.4g} bits, area = {self.area:.6g}")
        return ax


def cae_entropy(
    values: ArrayLike, probabilities: ArrayLike | None = None, epsilon: float | Fraction = 0.0
) -> float:
    """H(ε): what an intruder content with ±ε/2 still does not know, in bits (paper 000, Section 4).

    H(ε, i) = min over j with x_i − x_j <= ε of H(ε, j − 1) + f(p_j + … + p_i), f(q) = −q log2 q.

    Args:
        values: (n,) candidate values in any order; equal ones are merged.
        probabilities: (n,) weights, normalised to sum 1; None: equally likely.
        epsilon: Width of the approximate compromise range, in units of the column.

    Returns:
        Bits, >= 0. `cae_entropy([1, 3, 8, 9], [.15, .1, .7, .05], 2)` is 0.811.

    Raises:
        InvalidInput: bad values, weights or ε; `.position` where one element is at fault.
    """
    candidates = distribution(values, probabilities)
    return entropy_of(candidates, candidates.steps(epsilon))


def cae_area(values: ArrayLike, probabilities: ArrayLike | None = None, tolerance: float = 0.0) -> float:
    """A: the area under H(ε), in bits × units of the column (paper 000, Section 3).

    `cae_area([50, 107])` is 57 and `cae_area([77, 80])` is 3, though both are one bit.

    Args:
        values: (n,) candidate values in any order; equal ones are merged.
        probabilities: (n,) weights, normalised to sum 1; None: equally likely.
        tolerance: What the error may be, as a part of the area; 0: exact. With it the area of more than 128
            irregular values is the middle of certified bounds (`bounds.area_bounds` has the proof).

    Raises:
        InvalidInput: bad values, weights or tolerance, `.position` where one element is at fault; or more
            than 8,000 values at irregular distances and no tolerance.

    Warns:
        ExactIsSlow: some thousand irregular values and no tolerance.
    """
    if not (is_number(tolerance) and 0 <= tolerance < math.inf):
        raise InvalidInput(f"tolerance must be a number from 0, not {tolerance!r}")
    candidates = distribution(values, probabilities)
    if tolerance and not _has_closed_form(candidates) and candidates.positions.size > _QUICK:
        return _roughly(candidates, float(tolerance))
    if _SLOW < candidates.positions.size <= LARGEST_IRREGULAR and not _is_dense(candidates):
        warn(
            f"the exact area of {candidates.positions.size:,} irregular values takes long; "
            "tolerance=0.001 is quicker, and certainly right to a thousandth",
            ExactIsSlow,
            stacklevel=2,
        )
    return curve_of(candidates).area


def _roughly(candidates: Distribution, tolerance: float) -> float:
    """The area to a tolerance."""
    from cae_sql.measure import bounds

    _check_spread(candidates)
    places = candidates.positions.astype(np.float64)
    low, high = bounds.area_bounds(places, candidates.probabilities, tolerance)
    return (low + (high - low) / 2) * candidates.unit.numerator / candidates.unit.denominator


def cae_curve(values: ArrayLike, probabilities: ArrayLike | None = None) -> EntropyCurve:
    """H(ε) for every ε at once.

    Args:
        values: (n,) candidate values in any order; equal ones are merged.
        probabilities: (n,) weights, normalised to sum 1; None: equally likely.

    Raises:
        InvalidInput: bad values or weights, `.position` where one element is at fault; or more than 8,000
            values at irregular distances.
    """
    return curve_of(distribution(values, probabilities))


def entropy_of(candidates: Distribution, steps: int) -> float:
    """H in bits for windows of `steps` grid units."""
    n = candidates.positions.size
    if steps >= candidates.spread:
        return 0.0
    p = candidates.probabilities
    if steps == 0:
        return math.fsum(-q * math.log2(q) for q in p.tolist() if q < 1.0)
    from cae_sql.measure import kernels

    x = candidates.positions
    if x.dtype == np.int64:
        reach = np.searchsorted(x, x + steps, side="right")
    else:
        ordered = x.tolist()
        reach = np.array([bisect_right(ordered, value + steps) for value in ordered])
    reach = np.append(reach, n + 1).astype(np.int64)
    return float(kernels.least_entropy(reach, p, _prefix_sums(p), np.empty((0, 0))))


def curve_of(candidates: Distribution) -> EntropyCurve:
    """The curve of a distribution that is already checked and on its grid.

    Raises:
        InvalidInput: values further apart than a float can tell, or too many of them (`LARGEST_IRREGULAR`).
    """
    if candidates.positions.size == 1:
        return EntropyCurve(np.zeros(1), np.zeros(1), 0.0)
    width_of, heights = _steps(candidates)
    # Two partitions of equal entropy may differ in the last digits: that is neither a rise nor a change.
    heights = np.minimum.accumulate(heights)
    heights[-1] = 0.0
    changes = np.flatnonzero(np.concatenate([[True], heights[1:] < heights[:-1] * (1 - _SAME)]))
    entropy = np.ascontiguousarray(heights[changes])
    kept = width_of(changes)
    _check_spread(candidates)
    top, bottom = candidates.unit.numerator, candidates.unit.denominator
    epsilon = np.array([width * top / bottom for width in kept])  # division of integers: correctly rounded
    terms = (h * ((b - a) * top / bottom) for h, a, b in zip(entropy.tolist(), kept, kept[1:], strict=False))
    return EntropyCurve(epsilon, entropy, math.fsum(terms))


def _steps(candidates: Distribution) -> tuple[Callable[[NDArray[np.int64]], list[int]], NDArray[np.float64]]:
    """Widths, every one where H can change among them, and H at each.

    Returns:
        The widths in grid units, ascending, as a function of their numbers, and (m,) H.

    Raises:
        InvalidInput: more irregular values than the pairs of which can be held.
    """
    x, p = candidates.positions, candidates.probabilities
    n = x.size
    if _has_closed_form(candidates):
        return lambda k: k.tolist(), entropies_of_windows(n, np.arange(1, n + 1))
    if not _is_dense(candidates) and n > LARGEST_IRREGULAR:
        raise InvalidInput(
            f"a curve of {n:,} values at irregular distances has too many breakpoints; "
            f"round to at most {LARGEST_IRREGULAR:,} distinct values, or to a coarser step; "
            "an area alone takes a tolerance"
        )
    from cae_sql.measure import kernels

    total = _prefix_sums(p)
    table = kernels.weight_table(p) if n <= kernels.TABLE_LIMIT else np.empty((0, 0))
    if _is_dense(candidates):
        widths = np.arange(candidates.spread + 1)
        return lambda k: widths[k].tolist(), kernels.least_entropies(x, widths, p, total, table)
    start, end, bounds = _blocks_by_spread(x)
    heights = kernels.growing_entropies(start, end, bounds, p, total, table)
    pair = np.concatenate([[0], bounds[:-1]])  # one block of each spread; number 0 is the width 0

    def width_of(k: NDArray[np.int64]) -> list[int]:
        ordered: list[int] = x.tolist()
        ends = zip(start[pair[k]].tolist(), end[pair[k]].tolist(), k.tolist(), strict=True)
        return [ordered[v - 1] - ordered[u] if number else 0 for u, v, number in ends]

    return width_of, heights


def _has_closed_form(candidates: Distribution) -> bool:
    p = candidates.probabilities
    return bool(candidates.spread == p.size - 1 and p.min() == p.max())


def _is_dense(candidates: Distribution) -> bool:
    return candidates.spread <= _DENSE * candidates.positions.size


def _check_spread(candidates: Distribution) -> None:
    if candidates.spread * candidates.unit > sys.float_info.max:
        raise InvalidInput("the values lie further apart than a float can tell")


def _blocks_by_spread(x: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """All blocks of two or more values as edges u -> v, ascending by spread, and where each distinct spread
    begins."""
    start, end = np.triu_indices(x.size, 1)
    if x.dtype == np.int64 or int(x[-1]).bit_length() >= 2 * _LIMB:
        spread = x[end] - x[start]
        order = np.argsort(spread, kind="stable")
        new = spread[order][1:] != spread[order][:-1]
    else:
        # Two machine words sort ten times faster than Python integers; random floats end up here.
        high, low = (x >> _LIMB).astype(np.int64), (x & ((1 << _LIMB) - 1)).astype(np.int64)
        low_spread = low[end] - low[start]
        borrow = low_spread < 0
        high_spread = high[end] - high[start] - borrow
        low_spread += borrow * np.int64(1 << _LIMB)
        order = np.lexsort((low_spread, high_spread))
        new = (np.diff(high_spread[order]) != 0) | (np.diff(low_spread[order]) != 0)
    bounds = np.concatenate([[0], np.flatnonzero(new) + 1, [order.size]]).astype(np.int64)
    return start[order].astype(np.int32), (end[order] + 1).astype(np.int32), bounds


def _prefix_sums(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n + 1,) 0, p_1, p_1 + p_2, …; summed in extended precision where the platform has it."""
    return np.concatenate([[0.0], np.cumsum(p, dtype=np.longdouble).astype(np.float64)])
