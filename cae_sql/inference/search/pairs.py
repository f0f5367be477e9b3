"""An insider beside everybody: whatever value one record turns out to have, each other one keeps a long run.

A claim is that a record has one value while the insider has his. For each insider and each of his values the
claims about all others are those of a smaller system, in which his box is that value: `Runs` shows them from
worlds at hand, by walks and by integer programs, as where nobody is an insider. What no sum or extreme ties
to the insider is the same beside him as without him.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.extremes import choose_witnesses
from cae_sql.inference.search.records import Record, grow
from cae_sql.inference.search.runs import Runs, shown
from cae_sql.inference.search.walks import sparing
from cae_sql.inference.standard import Judgement

ROW = 100_000
"""Steps for stating what an insider's value leaves."""
MOST_ROWS = 10_000
"""Insiders times values: beyond this nothing is tried."""
MOST_WORLDS = 512
"""That are tried for all insiders."""


def keep_beside_insiders(runs: Runs) -> Judgement:
    """Whether all keep a run whatever value any one other has.

    Args:
        runs: Of everybody without an insider, all of them long enough.
    """
    known = runs.knowledge
    somebody = known.protected
    rows = int((known.high - known.low + 1)[somebody].sum())
    if int(known.sizes[somebody].sum()) < 2 or rows > MOST_ROWS:
        return Judgement(False, -1)
    beside, width = _Beside(runs), runs.need
    try:
        for insider, value in beside.by_difficulty():
            width = min(width, beside.width(insider, value))
            if width < runs.need:
                break
    except OutOfTime:
        return Judgement(False, -1)
    return Judgement(width >= runs.need, width)


class _Beside:
    """What is found out beside each insider."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.worlds = np.array(runs.worlds[-MOST_WORLDS:])
        """(w, p) totals of worlds that are tried for all."""

    def by_difficulty(self) -> Iterator[tuple[Record, int]]:
        """Insiders with values, the ones first beside which worlds at hand show least: it fails early."""
        known, rows = self.runs.knowledge, list[tuple[int, int, int]]()
        low, high = shown(known, self.worlds)
        for atom in np.flatnonzero(known.protected).tolist():
            for value in range(int(known.low[atom]), int(known.high[atom]) + 1):
                able = self._admit(atom, value)
                lacking = known.count
                if able.any():
                    width = high[able].max(axis=0) - low[able].min(axis=0)
                    lacking = int(np.count_nonzero(width < self.runs.need))
                rows.append((-lacking, atom, value))
        records: dict[int, Record] = {}
        for _, atom, value in sorted(rows):
            if atom not in records:
                records[atom] = Record(self.runs, atom)
            yield records[atom], value

    def _admit(self, atom: int, value: int) -> NDArray[np.bool_]:
        """(w,) whether the others of an insider's atom can make up a world's total with his value."""
        known, rest = self.runs.knowledge, self.worlds[:, atom] - value
        others = known.sizes[atom] - 1
        found: NDArray[np.bool_] = (rest >= others * known.low[atom]) & (rest <= others * known.high[atom])
        return found

    def _is_shown(self, atom: int, value: int) -> bool:
        """Whether all others have both of their two values in worlds at hand with an insider's: 0/1 columns.

        Of wider boxes worlds may leave gaps, and of an extreme they do not say who attains it.
        """
        known, somebody = self.runs.knowledge, self.runs.knowledge.protected
        if known.extremes or known.sizes[atom] > 1 or int((known.high - known.low)[somebody].max()) > 1:
            return False
        low, high = shown(known, self.worlds[self._admit(atom, value)])
        if not len(low):
            return False
        kept = high.max(axis=0) - low.min(axis=0) >= self.runs.need
        kept[atom] = True
        return bool(kept[somebody].all())

    def width(self, insider: Record, value: int) -> int:
        """Least width of all others' runs while an insider has a value; as needed where he cannot have it.

        Raises:
            OutOfTime: that was not found out with what may be spent.
        """
        runs, label = self.runs, insider.label
        if self._is_shown(insider.atom, value):
            return runs.need
        if not runs.allowance.spend(ROW):
            raise OutOfTime("nothing may be spent on a further insider")
        low, high = insider.alone.low.copy(), insider.alone.high.copy()
        low[label] = high[label] = value
        given = replace(insider.alone, low=low, high=high)
        able = self._admit(insider.atom, value)
        worlds = [insider.apart(world, value) for world in self.worlds[able]]
        if given.extremes:
            worlds = [world for world in worlds if choose_witnesses(given, world) is not None]
        if not worlds:
            found = insider.world_at(value)
            if found is None:
                return runs.need
            self.worlds = np.vstack([self.worlds, found])
            worlds = [insider.apart(found, value)]
        moves = runs.short_ones if insider.others else sparing(runs.short_ones, label)
        beside = Runs(given.rebased(np.array(worlds)), runs.need, runs.allowance, runs.effort, lent=moves)
        beside.accepted |= given.components != given.components[label]
        beside.accepted[label] = True
        beside.absorb_some(np.array(worlds))
        at_hand = len(beside.worlds)
        if at_hand and len(beside.short):
            grow(beside)
        new = [insider.together(world, value) for world in beside.worlds[at_hand:]]
        self.worlds = np.vstack([self.worlds, *new])[-MOST_WORLDS:]
        return int((beside.high - beside.low)[~beside.accepted].min(initial=runs.need))
