"""Exact marginals of the components of an answered system: sums counted, extremes by inclusion and exclusion.

A component is the atoms that hang together by sums or extremes. Tables in which all extremes are attained are
those inside the boxes, less those in which one is not, plus those in which two are not …: where nobody
attains an extreme, boxes end one unit before it. How tables are counted under sums alone is for `counting`.

Promise: a component's records get the share of the tables that agree, right up to rounding, or `OutOfTime`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.posterior.counting import counted
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted

MOST_EXTREMES = 6
"""Extremes of one component: 64 sets of them are counted."""
MOST_COUNTED = 200_000
"""Values of a box that are counted one by one."""
_CERTAIN = 1e-7
"""Least share of tables that must attain all extremes, so that differences keep their digits."""
MOST_KEPT = 4_096
"""Components whose counts are kept; of 25 values and ten atoms it is 8 MB. Then the oldest go."""
WHOLE = 2.0**50
"""Steps of which none is lost when they are subtracted."""
Aside = tuple[int, int]
"""An atom of a component, and how many units one of its records has."""
Rows = list[Floats]
"""By atom, probabilities over the units of its box."""


class Counts:
    """What was counted of components, by name, under one prior.

    Promise: what is found again costs as many steps as it did first, and what takes more steps than there are
    is not found, whether or not it was counted before. So no verdict hangs on what happens to be kept, and
    answers that were looked at because they are the true ones may be kept as well.
    """

    def __init__(self) -> None:
        # rows; steps that they took, or that did not suffice; whether more steps would change nothing
        self._known = dict[bytes, tuple[Rows | None, float, bool]]()

    def of(self, name: bytes, allowance: Allowance, count: Callable[[Allowance], Rows]) -> Rows:
        """What `count` finds of the component of this name, or `OutOfTime`; what was kept is charged too."""
        most = min(allowance.steps, WHOLE)
        rows, cost, for_good = self._known.get(name, (None, 0.0, False))
        if not for_good and cost < most:
            part, rows = Allowance(most, allowance.until), None
            with suppress(OutOfTime):
                rows = count(part)
            if part.late:
                raise OutOfTime("not counted in time")  # what the clock ended says nothing
            for_good = part.steps > 0 or rows is not None
            cost = most - part.steps if for_good else most
            self._known[name] = rows, cost, for_good
            if len(self._known) > MOST_KEPT:
                for old in list(self._known)[: MOST_KEPT // 2]:
                    self._known.pop(old, None)
        allowance.spend(min(cost, most))
        if rows is None or cost >= most:
            raise OutOfTime("more steps than may be spent")
        return rows


def gathered(known: Knowledge, atoms: Ints, found: Rows, windows: Windows) -> Floats:
    """(a, w) probabilities over the units of some atoms' boxes, by window."""
    boxes = zip(known.low[atoms], known.high[atoms] + 1, found, strict=True)
    return np.stack([windows.gathered(np.arange(low, end), p) for low, end, p in boxes])


@dataclass(frozen=True, eq=False)
class Component:
    """All that counting one needs. Shapes: c atoms, k sums."""

    low: Ints
    """(c,) ends of the boxes."""
    high: Ints
    people: Ints
    """(c,) records that are somebody's, but for the one put aside."""
    spares: Ints
    """(c,) spare records: they say how far an answer is known, and no more."""
    matrix: NDArray[np.signedinteger]
    """(k, c) of the sums, besides the record put aside."""
    sums: Ints
    """(k,) right-hand sides."""
    extremes: list[tuple[bool, int, Ints]]
    """Whether it is a maximum, its value, and the places of the atoms that may attain it."""
    tilts: Floats
    """(c,) log odds by unit, besides the prior."""

    @classmethod
    def of(
        cls,
        known: Knowledge,
        sums: Ints,
        atoms: Ints,
        tilts: Floats | None = None,
        aside: Aside | None = None,
    ) -> Component:
        """Of all its atoms; by all sums' right-hand sides, all atoms' tilts, and what somebody has."""
        rows, spares = np.flatnonzero(known.matrix[:, atoms].any(axis=1)), spares_of(known)[atoms]
        matrix, sides, people = known.matrix[np.ix_(rows, atoms)], sums[rows], known.sizes[atoms] - spares
        extremes = [each for each in attained(known) if np.isin(each.atoms, atoms).any()]
        if aside is not None:
            atom, units = aside
            place = int(np.searchsorted(atoms, atom))
            people[place] -= 1
            sides = sides - matrix[:, place] * units
            # the record put aside may be the one that attains it
            extremes = [each for each in extremes if units != each.value or atom not in each.atoms]
        able = [(each.top, each.value, np.searchsorted(atoms, known.able_atoms[each])) for each in extremes]
        turned = np.zeros(len(atoms)) if tilts is None else tilts[atoms]
        return cls(known.low[atoms], known.high[atoms], people, spares, matrix, sides, able, turned)

    @property
    def name(self) -> bytes:
        """Equal where the same is counted, under one prior."""
        parts = [
            self.low,
            self.high,
            self.people,
            self.spares,
            self.sums,
            self.matrix.astype(np.int64).ravel(),
        ]
        parts += [np.array([top, value, *places], dtype=np.int64) for top, value, places in self.extremes]
        text = b"".join(b"%d " % len(part) + part.tobytes() for part in parts)
        return blake2b(text + self.tilts.tobytes(), digest_size=20).digest()

    def rows(self, prior: Tilt, allowance: Allowance) -> Rows:
        """By atom, probabilities over the units of its box; `OutOfTime` where it is too much to be counted,
        or differences lose their digits."""
        if len(self.extremes) > MOST_EXTREMES or int((self.high - self.low).max()) >= MOST_COUNTED:
            raise OutOfTime("too much to be counted")
        real, slack = np.flatnonzero(self.people), np.flatnonzero((self.spares > 0) & self.matrix.any(axis=0))
        sizes = np.append(self.people[real], np.ones(len(slack), dtype=np.int64))
        matrix = np.hstack([self.matrix[:, real], self.matrix[:, slack]])
        # each total of spare records is as likely as any other: each table of the others counts once
        ends = np.stack([self.spares * self.low, self.spares * self.high + 1], axis=1)[slack]
        totals = [Weighted(np.arange(a, b), np.ones(b - a)) for a, b in ends]
        found, total, most = [np.zeros(width) for width in self.high - self.low + 1], 0.0, -math.inf
        sets = (itertools.combinations(self.extremes, n) for n in range(len(self.extremes) + 1))
        for missing in itertools.chain(*sets):
            low, high = self._without(missing)
            if (low > high).any():
                continue
            boxes = self._boxes(real, low, high, prior)
            part = counted(boxes + totals, sizes, matrix, self.sums, allowance)
            most = max(most, part.log_weight)  # of the boxes themselves, which are first
            share = (-1.0) ** len(missing) * math.exp(part.log_weight - most) if most > -math.inf else 0.0
            total += share
            for place, first, p in zip(real, (low - self.low)[real], part.probabilities, strict=False):
                found[place][first : first + len(p)] += share * p
        if total < _CERTAIN:
            raise OutOfTime("no table, or the extremes are attained too seldom to be counted by differences")
        for place in np.flatnonzero(self.people == 0):
            found[place][0] = total  # spare records alone have one value
        kept = [np.where(each > 1e-12 * total, each, 0.0) for each in found]  # differences leave crumbs
        return [each / each.sum() for each in kept]

    def _boxes(self, real: Ints, low: Ints, high: Ints, prior: Tilt) -> list[Weighted]:
        """What one record of some atoms can be between ends (c,), weighed by prior and tilt."""
        found = []
        for place in real.tolist():
            units = np.arange(low[place], high[place] + 1)
            logs = self.tilts[place] * units
            if prior.logs is not None:
                logs = logs + prior.logs[units // prior.windows.width]
            found.append(Weighted(units, np.exp(logs - logs.max()), float(logs.max())))
        return found

    def _without(self, missing: Sequence[tuple[bool, int, Ints]]) -> tuple[Ints, Ints]:
        """Boxes in which nobody attains any of these extremes."""
        low, high = self.low.copy(), self.high.copy()
        for top, value, able in missing:
            if top:
                high[able] = np.minimum(high[able], value - 1)
            else:
                low[able] = np.maximum(low[able], value + 1)
        return low, high


def spares_of(known: Knowledge) -> Ints:
    """(p,) spare records in each atom: an atom may hold somebody's too."""
    return np.bincount(known.atoms.labels[known.atoms.real :], minlength=known.count)


def attained(known: Knowledge) -> list[Extreme]:
    """Extremes that somebody must have: one that a spare record may have is said by boxes."""
    spares = spares_of(known)
    return [each for each in known.extremes if not spares[each.atoms].any()]
