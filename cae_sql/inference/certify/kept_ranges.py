"""Ranges of statistics as constraints: records are held in intervals, so that all tables looked at keep them.

Which records are held is chosen around a table (`cae_sql.inference.facts.ranges`). The choice is no evidence:
what follows is shown by tables that are looked at anew. Nothing here comes from the true table.

Source: `mathematics.md`, 8 (soft constraints with a margin: records that are free are the margin).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.learned import spread
from cae_sql.inference.certify.question import Conditions, Question
from cae_sql.inference.facts.extremes import Pins
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound, Kept, Share, held_in
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.tables.lead import Alike, led, with_shares
from cae_sql.inference.tables.margins import Soft
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.roomy_table import RoomyTable

GUIDES = 8
"""Worlds, at most, from which a table to choose around is made, where none is made of the roomy one."""
CHOOSING = 10**9
"""Steps for choosing the held records anew where they are not known: some seconds."""


@dataclass(frozen=True, eq=False)
class Around:
    """The tables of a system at one time."""

    pool: Pool
    roomy_table: RoomyTable
    version: int
    """Grows with whatever becomes known."""

    @cached_property
    def boxes(self) -> tuple[Ints, Ints]:
        """(n,) each: between which values answered extremes leave each record."""
        known = self.roomy_table.boxes
        return known.low[known.atoms.labels], known.high[known.atoms.labels]

    @cached_property
    def alike(self) -> Alike:
        """Records by atom of what sums tell apart."""
        boxes = self.roomy_table.boxes
        return Alike(boxes.atoms.labels, *boxes.members, self.roomy_table.unseen)

    def even(self) -> Ints:
        """(n,) the roomy table, spread as evenly as may be over the records of each atom."""
        boxes, nobody = self.roomy_table.boxes, np.zeros_like(self.roomy_table.totals)
        return spread(boxes, self.roomy_table.totals, Pins(nobody, nobody))


@dataclass(frozen=True, eq=False)
class Holding:
    """Records held in intervals so that tables keep ranges, and what was seen with them held."""

    guide: Ints | None
    """(n,) a table with all answers that keeps the ranges, with them there; None where none is at hand."""
    held: Sequence[Query]
    judgement: Judgement | None


@dataclass(frozen=True, eq=False)
class _Leading:
    """Tables of one system led to where they keep some ranges."""

    around: Around
    kept: Sequence[Kept]
    spare: int
    """As many records as may be elsewhere."""
    seed: int

    @cached_property
    def shares(self) -> list[Share]:
        return [each for each in self.kept if isinstance(each, Share)]

    @cached_property
    def softs(self) -> list[Soft]:
        """Ranges that are kept by a margin, each record a part."""
        size = len(self.around.boxes[0])
        alone, ones = np.arange(size), np.ones(size, dtype=np.int64)
        return [Soft(each, alone, ones, several=False) for each in bounds_in(self.kept)]

    def led(self, table: Ints, place: int) -> Ints | None:
        """From one table another that keeps the ranges; None where none is found."""
        around = self.around
        if not around.roomy_table.usable:
            return None  # its atoms are not those that all sums tell apart
        found = with_shares(table, around.boxes, around.alike, self.shares, self.spare)
        if found is None or not self.softs:
            return found
        boxes = self._boxes(found)
        if boxes is None:
            return None
        found, well = led(self.softs, np.ones_like(found), found, boxes, around.alike, self.seed + place)
        return found if well else None

    def mixed(self, table: Ints, place: int) -> Ints:
        """From one table that keeps the ranges another at random."""
        boxes = self._boxes(table) or self.around.boxes
        seed = self.seed + place
        return led(self.softs, np.ones_like(table), table, boxes, self.around.alike, seed, mixed=True)[0]

    def held(self, table: Ints) -> list[Query] | None:
        """The held records around a table that keeps the ranges."""
        return held_in(self.kept, table, self.around.boxes, self.spare)

    def _boxes(self, table: Ints) -> tuple[Ints, Ints] | None:
        """(n,) each: the boxes with the records held that keep the shares in a table."""
        held = held_in(self.shares, table, self.around.boxes, self.spare)
        if held is None:
            return None
        low, high = (each.copy() for each in self.around.boxes)
        for query in held:
            low[query.members], high[query.members] = query.region[0]
        return low, high


class KeptRanges:
    """What ranges of other statistics than sums say, of one system."""

    def __init__(self, seed: int) -> None:
        """Nothing yet; the seed is of chance."""
        self.shares: list[Kept] = []
        """All that they say."""
        self._seed, self._spare = seed, 1
        self._standard = Standard(1)
        self._holding: Holding | None = None
        self._tables: tuple[int, Ints] | None = None

    def add(
        self, shares: Sequence[Kept], spare: int, holding: Holding | None, standard: Standard | None
    ) -> None:
        """Keep what a range says, too. As `AnsweredSystem.accept_range`."""
        self.shares += shares
        self._spare, self._standard = max(self._spare, spare), standard or self._standard
        if shares:
            self._holding = holding

    def answered(self, guide: Ints | None) -> None:
        """There are more answers; a table with them that keeps all ranges, where one is at hand."""
        if self._holding is not None:
            self._holding = replace(self._holding, guide=guide)

    def held(self, around: Around) -> Sequence[Query] | None:
        """The records to hold so that tables keep what ranges say; None where no table says it.

        Those with which all records were shown to keep the limit, as long as answered extremes allow it.
        """
        if not self.shares:
            return ()
        if self._holding is None or not _possible(self._holding.held, around.boxes):
            # which records were held is not known any more: they are chosen anew
            self._holding = self.holding((), self._spare, self._standard, Allowance(CHOOSING), around)
        return None if self._holding is None else self._holding.held

    def table(self, size: int, top: int) -> Ints | None:
        """(n,) a table with all answers in which held records are in their intervals, spare records in
        the middle between 0 and the top; None where none is at hand.
        """
        guide = None if self._holding is None else self._holding.guide
        if guide is None or len(guide) > size:
            return None
        return np.append(guide, np.full(size - len(guide), top // 2, dtype=np.int64))

    def holding(
        self, more: Sequence[Kept], spare: int, standard: Standard, allowance: Allowance, around: Around
    ) -> Holding | None:
        """Records that may be held with more ranges known. As `AnsweredSystem.holding`."""
        leading = _Leading(around, [*self.shares, *more], max(spare, self._spare), self._seed)
        for place, source in enumerate([around.even(), *self.tables(around)[:GUIDES]]):
            guide = leading.led(source, place)
            held = None if guide is None else leading.held(guide)
            if guide is not None and held is not None:
                conditions = Conditions(held, guide, bounds_in(leading.kept))
                question = Question(around.roomy_table, around.pool, [], conditions)
                seen = question.judge_around_table((), standard, allowance, keep=False, further=False)
                return Holding(guide, held, seen)
            if allowance.over:
                break
        return None

    def tables(self, around: Around) -> NDArray[np.signedinteger]:
        """(w, n) tables that keep all answers and ranges, if found. As `AnsweredSystem.tables`."""
        if not self.shares:
            return around.pool.values
        if self._tables is None or self._tables[0] != around.version:
            self._tables = around.version, self._made(around)
        return self._tables[1]

    def _made(self, around: Around) -> Ints:
        """Worlds, led to where they keep what ranges say; one that cannot be is made from another."""
        worlds = around.pool.values
        leading = _Leading(around, self.shares, self._spare, self._seed)
        found = [leading.led(world, place) for place, world in enumerate(worlds)]
        good = [each for each in found if each is not None]
        guide = None if self._holding is None else self._holding.guide
        if not good and guide is not None and len(guide) == worlds.shape[1]:
            good = [guide]
        if not good:
            return np.zeros((0, worlds.shape[1]), dtype=np.int64)
        return np.array([
            leading.mixed(good[place % len(good)], place) if each is None else each
            for place, each in enumerate(found)
        ])  # fmt: skip


def bounds_in(kept: Sequence[Kept]) -> list[Bound]:
    """Those ranges that tables keep by a margin."""
    return [each for each in kept if isinstance(each, Bound)]


def _possible(held: Sequence[Query], boxes: tuple[Ints, Ints]) -> bool:
    return all(
        (boxes[0][query.members] <= high).all() and (boxes[1][query.members] >= low).all()
        for query in held
        for low, high in query.region
    )
