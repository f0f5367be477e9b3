"""What the range of a statistic says, and which records are held where so that tables keep it.

It is no sum, so moves that keep all sums need not keep it. Tables keep it in two ways.

* *Shares*: "at least k of S have values in R" is what ranges of counts and quantiles say: "the median of S is
  between l and u" is one share of the values from l on and one of those up to u. Some records of S are *held*
  in R: more of them than k by as many as may be elsewhere, the one that is judged and the insider. Records
  that compensate keep to the interval they are held in; the two may leave theirs, and at least k stay.
* *Bounds*: ranges of weighted sums and of the spread (all deviations squared) hang on every member. Tables
  keep them by a margin: they lie inside, and what is moved changes the statistic by less than that
  (`cae_sql.inference.tables.margins`).

Which records are held is no secret: it follows from the question, its range and tables that are drawn.

Source: `mathematics.md`, 8 (soft constraints with a margin; s = 1 for a record, 1 for an insider).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints, Query, Region, within_region

CELLS, REACH = 32, 0.25
"""Members of bounds stay within so much of the domain around the one of so many intervals they are in."""


@dataclass(frozen=True, eq=False)
class Share:
    """At least so many of some records have values in a region."""

    members: Ints
    region: Region
    least: int

    def holds(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which values are in the region."""
        return within_region(values, self.region)

    def inside(self, table: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(m,) whose value in a table (n,) is in the region."""
        return self.holds(table[self.members])


@dataclass(frozen=True, eq=False)
class Bound:
    """A weighted sum or a spread lies between two ends."""

    query: Query
    least: int | None
    most: int | None
    """None: nothing is said of that end."""
    width: int
    """Of the cells that such a statistic is told by: how far inside a table should be led."""


Kept = Share | Bound
"""What the range of a statistic says."""


def kept_of(query: Query, told: tuple[int | None, int | None], top: int, width: int) -> list[Kept]:
    """What it takes for a statistic to lie between two ends, as `Query.of` gives answers; None: no such end.

    `top` is the greatest value of a record, in units, `width` that of the cells that ends are told by.
    """
    (least, most), count = told, len(query.members)
    if query.kind in ("weighted", "spread"):
        return [Bound(query, least, most, width)]
    found = list[tuple[Region, int]]()
    # of a quantile `Query.of` rounds downwards what lies between two values: the first is enough for the
    # lower end, the second for the upper one
    counted = query.kind == "count"
    if least is not None:
        found.append((query.region, least) if counted else (((least, top),), count - query.ranks[0]))
    if most is not None:
        outside = complement(query.region, top), count - most
        found.append(outside if counted else (((0, most),), query.ranks[1] + 1))
    return [Share(query.members, region, count) for region, count in found if count > 0]


def complement(region: Region, top: int) -> Region:
    """The other values from 0 to top."""
    found, start = list[tuple[int, int]](), 0
    for low, high in region:
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    return (*found, (start, top)) if start <= top else tuple(found)


def held_in(
    kept: Sequence[Kept], table: NDArray[np.integer], boxes: tuple[Ints, Ints], spare: int
) -> list[Query] | None:
    """Which records are held so that tables keep the shares, by interval; None where too few are inside.

    They are those furthest inside in a table (n,) that keeps the shares with `spare` to spare; `boxes` (n,)
    are the intervals in which tables keep records already.
    """
    (low, high), top = (each.copy() for each in boxes), int(boxes[1].max())
    for share in (each for each in kept if isinstance(each, Share)):
        inside = np.flatnonzero(share.inside(table))
        wanted = share.least + spare
        if len(inside) < wanted:
            return None
        records = share.members[inside]
        lows, highs = (np.array(each, dtype=np.int64) for each in zip(*share.region, strict=True))
        place = np.searchsorted(lows, table[records], side="right") - 1
        least, most = lows[place], highs[place]
        # an end of the domain is no way out
        down = np.where(least > 0, table[records] - least, np.iinfo(np.int64).max)
        up = np.where(most < top, most - table[records], np.iinfo(np.int64).max)
        chosen = np.argsort(-np.minimum(down, up), kind="stable")[:wanted]
        these = records[chosen]
        low[these], high[these] = np.maximum(low[these], least[chosen]), np.minimum(high[these], most[chosen])
    if (low > high).any() or not _near(kept, table, low, high, top):
        return None
    changed = np.flatnonzero((low > boxes[0]) | (high < boxes[1]))
    found = list[Query]()
    for least, most in np.unique(np.stack([low[changed], high[changed]], axis=1), axis=0).tolist():
        members = changed[(low[changed] == least) & (high[changed] == most)]
        found.append(Query(kind="held", members=members, region=((least, most),)))
    return found


def _near(kept: Sequence[Kept], table: NDArray[np.integer], low: Ints, high: Ints, top: int) -> bool:
    """Keep members of bounds near to where they are, in place; whether they are in their boxes.

    Those with like values come into one part, whose totals say what the statistic is; staying near keeps down
    what a payment of theirs can change.
    """
    bounds = [each.query.members for each in kept if isinstance(each, Bound)]
    if not bounds or ((table < low) | (table > high)).any():
        return not bounds
    members = np.unique(np.concatenate(bounds))
    width, reach = max(1, (top + 1) // CELLS), int(top * REACH)
    first = table[members] - table[members] % width
    low[members] = np.maximum(low[members], first - reach)
    high[members] = np.minimum(high[members], first + width - 1 + reach)
    return True
