"""Ranges of weighted sums and of spreads, kept by a margin: how far moves may change a statistic is counted.

A move costs a *toll*, a bound of how far the statistic changes. All that is done for a record i and for
an insider j together leaves it inside of its range, so each table that is shown keeps the range.

Records of a part are spread over its total as evenly as whole numbers allow, but for those held at extremes,
i and j. So totals of parts say what a table is up to rounding, and the bounds here what the statistic is.
Shapes: p' parts; all of a part are members, or none.

Proof. Let x be the mean of a part's records in T, τ what its total gains, of which i and j, moved by d and e,
gain so much themselves, and the others p between them, in s steps of p / s each; y is how far a value may be
from x inside of its box, so |p / s| <= y.

* *Weighted sum*, w̄ a part's mean weight, weights in an interval of length r: it changes by Σ w̄ τ, and by at
  most r (|d| + |p / s|) for i's part and as much for j's: the others' weights have the mean w̄ but for i's
  and j's. Rounding: which of a part's records have one unit more is free. Among their sets of one size that
  follow each other by one exchange the sums of w − w̄ go from at most 0 to at least 0 in steps of at most r,
  so one is in [0, r], and one in [−r, 0]. Taken against the sign of what the parts before come to, all come
  to the greatest r at most. For several weighted sums of the same people it is half of all |w − w̄|, and r for
  i and j, without whom the others' mean is another. Somebody held at an extreme has a weight up to r from w̄,
  and is no farther from the others than his box is wide.
* *Spread*, c any number: Σ (v − c)² gains Σ 2 (x − c) τ + d² + e² + Σ p² / s, and p² / s <= |p| y. Rounding
  adds at most a quarter for each record, and which of some tables T is changes 2 x by at most as much as they
  are apart. It bounds the spread from above; from below it is more by the square of Σ (v − c), divided by the
  number of members. That sum is what it is in T, and changes by at most |d| + |e| + Σ |p|, of which Σ |p| is
  kept small by a *least* cost for each unit.

Σ 2 (x − c) τ and Σ w̄ τ are linear, and p is at most what i's moves ask plus what j's do. So the toll of a
step of a move is |Σ gradient · by| + Σ cost · |by|, with `gradient` 2 (x − c) or w̄ over all that move and
`cost` y, or 0, over the parts that pay. Tolls of all moves of one record are added up by their absolute
values, so it does not matter which of them are made and how far.

Source: `mathematics.md`, 8 (soft constraints with a margin).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import Pins
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound
from cae_sql.inference.tables.exchange import Tables

Floats = NDArray[np.float64]
WEIGHTS = 8
"""Into so many intervals weights are cut: what the others of a part cannot make up for is within one."""
SAFETY = 1 - 1e-6
"""Tolls are floats: of what may be spent so much is."""


class Toll(NamedTuple):
    """What moves may change in all. Shapes: m statistics, p' parts."""

    gradient: Floats
    """(m, p') by how much each changes with a unit more of a part."""
    cost: Floats
    """(m, p') what a unit costs besides, of a part that pays."""
    budget: Floats
    """(m,) what all moves together may cost."""


def nothing(count: int) -> Toll:
    """Where no such range is known: nothing costs anything."""
    return Toll(np.zeros((0, count)), np.zeros((0, count)), np.zeros(0))


class Soft:
    """One such range, over the parts of a question."""

    def __init__(self, bound: Bound, labels: Ints, sizes: Ints, several: bool) -> None:
        """See whose weights are where: (n,) part of each record, (p',) sizes; of `several` weighted sums."""
        members, count = bound.query.members, len(sizes)
        parts, given = labels[members], bound.query.coefficients
        weights = np.ones(len(members)) if given is None else given.astype(np.float64)
        self.bound = bound
        self.sizes = np.bincount(parts, minlength=count)
        self.whole = bool(((self.sizes == 0) | (self.sizes == sizes)).all())
        """Whether members are whole parts."""
        self.mean = np.bincount(parts, weights, count) / np.maximum(self.sizes, 1)
        least, most = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(least, parts, weights)
        np.maximum.at(most, parts, weights)
        self.apart = np.where(self.sizes > 0, most - least, 0.0)
        """(p',) how far apart weights are."""
        off = np.abs(weights - self.mean[parts])
        self.rounding = float(off.sum() / 2 * several + self.apart.max(initial=0.0))
        """What it may cost that values are whole."""

    def over(
        self, boxes: Knowledge, pins: Pins, tables: Tables, need: int, insiders: int
    ) -> tuple[Floats, Floats, float] | None:
        """Gradient and cost (p',) and what may be spent, in all of some tables; None: there is no room."""
        here, loose = self.sizes > 0, boxes.sizes - pins.count
        held = pins.top * boxes.high + pins.bottom * boxes.low
        all_held = here & (loose == 0)
        if not self.whole or (all_held & (pins.top > 0) & (pins.bottom > 0)).any():
            return None
        at = np.where(pins.top > 0, boxes.high, boxes.low)
        first, last = (
            np.where(all_held, at, (totals - held) / np.maximum(loose, 1))
            for totals in (tables.least, tables.most)
        )
        span = (boxes.own[1] - boxes.own[0]).astype(np.float64)
        near = np.maximum(np.maximum(boxes.high - first, last - boxes.low), 0.0)
        # a held record may be anywhere in between, if another is held in its place
        mine = np.where(pins.count > 0, span, np.minimum(span, need + (last - first) + 1)) * here
        theirs = span * here * (insiders > 0)
        # all records of a unit are moved
        if self.bound.query.kind == "weighted":
            far = [mine, theirs] if insiders else [mine]
            return self._weighted(boxes, pins, tables, near, far)
        return self._spread(boxes, pins, tables, (first, last), near, [mine, theirs])

    def _weighted(
        self, boxes: Knowledge, pins: Pins, tables: Tables, near: Floats, far: list[Floats]
    ) -> tuple[Floats, Floats, float] | None:
        """By how far others may be from their part's mean, and how far the two that are judged, (p',)."""
        lost = self.rounding + float((pins.count * self.apart * (boxes.high - boxes.low + 1)).sum())
        lost += sum(boxes.atoms.occupied.most(self.apart * (each + near)) for each in far)
        ends = self.mean * tables.least, self.mean * tables.most
        left = self._left(float(np.minimum(*ends).sum()) - lost, float(np.maximum(*ends).sum()) + lost)
        return None if left <= 0 else (self.mean, np.zeros_like(self.mean), left)

    def _spread(
        self, boxes: Knowledge, pins: Pins, tables: Tables, at: tuple[Floats, Floats], near: Floats,
        far: list[Floats],
    ) -> tuple[Floats, Floats, float] | None:  # fmt: skip
        """As `_weighted`; `at` (p',): between which values a part's mean is."""
        here, members, most_of = self.sizes > 0, int(self.sizes.sum()), boxes.atoms.occupied.most
        least, most = int(tables.least[here].sum()), int(tables.most[here].sum())
        center = round((least + most) / (2 * members))
        low, high, loose = at[0] - center, at[1] - center, (boxes.sizes - pins.count).astype(np.float64)
        held = pins.top * (boxes.high - center) ** 2.0 + pins.bottom * (boxes.low - center) ** 2.0
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
        smallest = float((loose * nearest + held)[here].sum())
        greatest = float((loose * np.maximum(low**2, high**2) + held)[here].sum()) + members / 4
        for each in far:
            # by their own records and, inside of their part, by what others give them
            greatest += most_of(each**2 + each * near)
            # which of the tables it is decides where the part's mean is
            unknown = most_of(each * (high - low))
            greatest, smallest = greatest + unknown, smallest - unknown
        room = self._left(smallest, greatest)
        if room <= 0:
            return None
        # how far the mean may go: as far as a least cost for each unit lets it
        shift = max(abs(least - members * center), abs(most - members * center))
        shift += sum(map(most_of, far)) + np.sqrt(room * members) / 4
        left = self._left(smallest - shift**2 / members, greatest)
        if left <= 0:
            return None
        cost = np.maximum(near + (high - low), 4 * np.sqrt(room / members))
        return np.where(here, low + high, 0.0), np.where(here, cost, 0.0), left

    def _left(self, low: float, high: float) -> float:
        """How far a statistic that lies between two values is from the nearer end of its range."""
        least, most = self.bound.least, self.bound.most
        down = np.inf if least is None else low - least
        up = np.inf if most is None else most - high
        return float(min(down, up, 1e15)) * SAFETY


def alike_in(query: Query) -> list[Query]:
    """Sets of members such that in each of them weights are alike."""
    members, weights = query.members, query.coefficients
    if weights is None:
        return [Query(kind="held", members=members)]
    least, most = int(weights.min()), int(weights.max())
    bins = (weights - least) * WEIGHTS // (most - least + 1)
    return [Query(kind="held", members=members[bins == each]) for each in np.unique(bins)]


def toll(
    softs: Sequence[Soft], boxes: Knowledge, pins: Pins, tables: Tables, need: int, insiders: int
) -> Toll | None:
    """What moves may change around all of some tables; None where a range may be missed without any."""
    found = [soft.over(boxes, pins, tables, need, insiders) for soft in softs]
    good = [each for each in found if each is not None]
    if len(good) < len(found):
        return None
    return Toll(*(np.array(each) for each in zip(*good, strict=True))) if good else nothing(boxes.count)
