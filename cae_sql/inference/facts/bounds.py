"""Ranges of statistics that hang on every member: weighted sums, and the spread (all deviations squared).

A table keeps such a range if every member is *held* in an interval and the statistic stays inside whatever
values the members have there, and whatever values some have that are free: the one who is looked at and the
insider. `between` bounds a statistic over such boxes, `narrowed` chooses boxes around a table. Most members
are held closely, as many as the range leaves room for loosely, so that somebody can make up for a change: of
several ways to hold them that with the most room is taken.

Promise: what `narrowed` returns keeps the bound, with any `spare` members anywhere between 0 and the top.

Source: `mathematics.md`, 8 (any statistic can be a range).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints, Query

CELLS = 128
"""Into so many intervals of one width, or fewer, the domain is cut where members are held most closely."""
REACHES = (1.0, 0.25)
"""How far around where they are members are left, as parts of the domain."""
COARSER = 4
"""How many times as wide the next wider intervals are."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A weighted sum or a spread lies between two ends."""

    query: Query
    least: int | None
    """None: nothing is said of that end."""
    most: int | None
    width: int
    """Of the cells that such a statistic is told by: how far inside a table should be led."""

    def holds(self, low: int, high: int) -> bool:
        """Whether it is true of everything between two values."""
        return (self.least is None or self.least <= low) and (self.most is None or high <= self.most)

    @property
    def goal(self) -> tuple[float, float]:
        """Between which values a table leaves room on both sides."""
        off = 3 * self.width / 8
        low = -np.inf if self.least is None else self.least + off
        return low, np.inf if self.most is None else self.most - off


def between(query: Query, low: Ints, high: Ints, top: int, spare: int) -> tuple[int, int]:
    """Between which values a statistic lies, its members in intervals but for some that are free.

    Args:
        query: A weighted sum or a spread.
        low: (m,) least value of each member, in units.
        high: (m,) greatest value.
        top: Greatest value of the domain: where those who are free may be.
        spare: How many may be free, whoever they are.
    """
    if query.kind == "weighted":
        assert query.coefficients is not None
        return _weighted(query.coefficients, low, high, top, spare)
    return _spread(low, high, top, spare)


def _weighted(weights: Ints, low: Ints, high: Ints, top: int, spare: int) -> tuple[int, int]:
    """Each term is least or greatest at an end of its interval; who is free adds at most what a term gains.

    Proof. Whoever F of at most `spare` members are free, the sum is at least Σ least terms over intervals
    less Σ_F (that − the least over the domain); each of these gains is 0 or more, so no F takes away more
    than those with the `spare` greatest gains. Upwards it is the same.
    """
    rises = weights > 0
    first, last = (
        np.where(rises, weights * low, weights * high),
        np.where(rises, weights * high, weights * low),
    )
    down, up = first - np.minimum(weights * top, 0), np.maximum(weights * top, 0) - last
    return int(first.sum()) - _greatest(down, spare), int(last.sum()) + _greatest(up, spare)


def _spread(low: Ints, high: Ints, top: int, spare: int) -> tuple[int, int]:
    """Of ⌊Σ (x − mean)²⌋, by Σ (x − mean)² = Σ (x − c)² − (Σ (x − c))² / m for any c.

    Proof. The identity holds for each table and each c. Both sums are sums of terms that hang on one member
    each, so each lies between the ends that `_weighted` proves for such sums, and the difference between
    the least first less the greatest square of the second, and the greatest first less the least square. To
    round downwards is monotone. With c near the mean the second sum is small, so little is lost.
    """
    size = len(low)
    center = round(float((low + high).sum()) / (2 * size))
    a, b = low - center, high - center
    nearest = np.where((a <= 0) & (b >= 0), 0, np.minimum(a**2, b**2))
    farthest, anywhere = np.maximum(a**2, b**2), max(center**2, (top - center) ** 2)
    least = int(nearest.sum()) - _greatest(nearest, spare)
    most = int(farthest.sum()) + _greatest(anywhere - farthest, spare)
    first = int(a.sum()) - _greatest(a + center, spare)
    last = int(b.sum()) + _greatest(top - center - b, spare)
    smallest = 0 if first <= 0 <= last else min(first**2, last**2)
    # a spread is never negative
    return max(least - -(-max(first**2, last**2) // size), 0), (size * most - smallest) // size


def _greatest(gains: Ints, spare: int) -> int:
    if not spare:
        return 0
    chosen = gains if spare >= len(gains) else np.partition(gains, len(gains) - spare)[-spare:]
    return int(np.maximum(chosen, 0).sum())


def narrowed(
    bound: Bound, table: NDArray[np.integer], low: Ints, high: Ints, turns: Ints, top: int, spare: int
) -> tuple[Ints, Ints] | None:
    """(m,) each: intervals around a table in which members keep a bound; None where none is found.

    Args:
        bound: To be kept.
        table: (m,) values of the members, each in its interval.
        low: (m,) least value of each member so far.
        high: (m,) greatest value.
        turns: (m,) in which order members are left as they are, from 0 on.
        top: Greatest value of the domain.
        spare: How many may be free.
    """
    if bound.holds(*between(bound.query, low, high, top, spare)):
        return low, high
    best, most = None, -1
    width = 1 << max(-(-(top + 1) // CELLS) - 1, 0).bit_length()
    while width <= top // 2:
        first = table - table % width
        near = np.maximum(low, first), np.minimum(high, first + width - 1)
        for reach in REACHES:
            around = int(top * reach)
            far = np.maximum(low, first - around), np.minimum(high, first + width - 1 + around)
            found = _most_left(bound, far, near, turns, top, spare)
            room = -1 if found is None else int((found[1] - found[0]).sum())
            if room > most:
                best, most = found, room
        width *= COARSER
    return best


def _most_left(
    bound: Bound, far: tuple[Ints, Ints], near: tuple[Ints, Ints], turns: Ints, top: int, spare: int
) -> tuple[Ints, Ints] | None:
    """Near intervals, but far ones of as many members, the first in turn, as keep the bound."""

    def of(count: int) -> tuple[Ints, Ints]:
        left = turns < count
        return np.where(left, far[0], near[0]), np.where(left, far[1], near[1])

    def kept(count: int) -> bool:
        return bound.holds(*between(bound.query, *of(count), top, spare))

    if not kept(0):
        return None
    good, bad = 0, len(turns)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return of(good)
