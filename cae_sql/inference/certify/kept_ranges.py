"""What ranges of statistics say, and who is held where so that tables keep it.

Who is held is chosen around a table (`cae_sql.inference.facts.shares`) and no evidence: what follows is shown
by tables that are looked at anew. But it decides what can be shown. After many answers somebody in a group
with little to give is shown by moves for which many others pay, a little each; who is held may not be able
to. So a choice is looked at, and where it leaves somebody open, those who paid for him in moves that were
kept become *dear*, which means that they are held last, and others are chosen. Some such turns show
everybody, where the first choice left up to a tenth of all atoms open.

Nothing here comes from the true table. What is dear is kept for later questions, but for what was looked at
once a true answer was known.

Source: `mathematics.md`, 8 (soft constraints with a margin: who is free is the margin).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.bounds import Bound
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.shares import Kept, Share, held_in
from cae_sql.inference.search.judging import Judgement, Standard
from cae_sql.inference.tables.guides import guide, shuffled
from cae_sql.inference.tables.leading import led
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.roomy_table import RoomyTable

GUIDES = 8
"""Worlds, at most, from which a table to choose around is made, where none is made of the roomy one."""
TURNS = 12
"""How often others are held around one table ..."""
PATIENCE = 3
"""... and how often in a row without fewer being left open."""
CHOOSING = 10**9
"""Steps for choosing anew who is held where this is not known: some seconds."""
MOST_OPEN = 100
"""Where more atoms are left open no turn helps."""


@dataclass(frozen=True, eq=False)
class Around:
    """The tables of a system at one time."""

    pool: Pool
    roomy_table: RoomyTable
    version: int
    """Grows with whatever becomes known."""

    @property
    def boxes(self) -> tuple[Ints, Ints]:
        """(n,) each: between which values answered extremes leave each record."""
        known = self.roomy_table.boxes
        return known.low[known.atoms.labels], known.high[known.atoms.labels]

    @property
    def members(self) -> tuple[Ints, Ints]:
        """Records by atom of what sums tell apart, and where each atom's start."""
        known = self.pool.knowledge
        return (self.roomy_table.boxes if known is None else known).members

    @property
    def free(self) -> NDArray[np.bool_]:
        """By such atom, whether no sum is about it."""
        known = self.pool.knowledge
        return self.roomy_table.unseen if known is None else np.logical_not(known.matrix.any(axis=0))

    def even(self) -> Ints:
        """(n,) the roomy table, spread as evenly as may be over the records of each atom."""
        boxes, totals = self.roomy_table.boxes, self.roomy_table.totals
        order, firsts = boxes.members
        each, more = np.divmod(totals, np.maximum(boxes.sizes, 1))
        labels, place = boxes.atoms.labels, np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(firsts[:-1], boxes.sizes)
        found: Ints = each[labels] + (place < more[labels])
        return found


@dataclass(frozen=True, eq=False)
class Holding:
    """Who is held where so that tables keep ranges, and what was seen with them held."""

    guide: Ints
    """(n,) the table it was chosen around."""
    held: tuple[Query, ...]
    judgement: Judgement | None
    open: int
    """Atoms of whom somebody was left open."""


class KeptRanges:
    """What ranges of other statistics than sums say, of one system."""

    def __init__(self, seed: int) -> None:
        """Nothing yet.

        Args:
            seed: Of chance.
        """
        self.shares: list[Kept] = []
        """All that they say."""
        self._seed, self._spare = seed, 1
        self._guide: Ints | None = None
        self._held: tuple[Query, ...] | None = None
        self._standard: Standard | None = None
        self._dear: NDArray[np.float64] | None = None
        self._tables: tuple[int, Ints] | None = None

    def add(
        self, shares: Sequence[Kept], spare: int, holding: Holding | None, standard: Standard | None
    ) -> None:
        """Keep what a range says, too.

        Args:
            shares: That.
            spare: As many records as may be elsewhere where a table is looked at: a record and an insider.
            holding: Who was held where when everybody was shown to keep the limit with it, if it is known.
            standard: What everybody keeps.
        """
        self.shares += shares
        self._spare, self._standard = max(self._spare, spare), standard
        if shares:
            self._guide, self._held = (None, None) if holding is None else (holding.guide, holding.held)

    def answered(self, guide: Ints | None) -> None:
        """There are more answers; a table with them that keeps all ranges, where one is at hand."""
        self._guide = guide

    def held(self, around: Around) -> Sequence[Query] | None:
        """Who is held where, so that tables keep what ranges say; None where no table says it.

        Those with whom everybody was shown to keep the limit, as long as answered extremes let them be there.
        """
        if not self.shares:
            return ()
        if self._held is None or not _possible(self._held, around.boxes):
            self._choose(around)
        return self._held

    def table(self, size: int, top: int) -> Ints | None:
        """(n,) a table with all answers in which who is held is there; None where none is at hand.

        Args:
            size: Records, with spare ones.
            top: Greatest value, in units: spare records are in the middle.
        """
        if self._guide is None or len(self._guide) > size:
            return None
        return np.append(self._guide, np.full(size - len(self._guide), top // 2, dtype=np.int64))

    def _choose(self, around: Around) -> None:
        """Who is held, where nobody knows any more who was."""
        self._held = self._guide = None
        if self._standard is not None:
            allowance = Allowance(CHOOSING)
            found = self.holding((), self._spare, self._standard, allowance, around, learn=True)
            if found is not None:
                self._held, self._guide = found.held, found.guide
            return
        for table in self.tables(around)[:1]:
            held = held_in(self.shares, table, around.boxes, self._spare)
            if held is not None:
                self._held, self._guide = tuple(held), table.astype(np.int64)

    def holding(
        self, more: Sequence[Kept], spare: int, standard: Standard, allowance: Allowance, around: Around,
        learn: bool,
    ) -> Holding | None:  # fmt: skip
        """Who may be held where with more ranges known, so that everybody keeps a standard if that is found.

        None where no table was found to choose them around.

        Args:
            more: What further ranges say.
            spare: As many records as may be elsewhere.
            standard: What everybody should keep.
            allowance: What may be spent.
            around: The system's tables.
            learn: Whether what is dear, moves and bases may be kept: not where a true answer is known.
        """
        spare, kept = max(spare, self._spare), [*self.shares, *more]
        sources, best = [around.even(), *self.tables(around)[:GUIDES]], None
        dear = self._dearness(len(sources[0])).copy()
        for place, source in enumerate(sources):
            best = self._turned(source, place, kept, spare, dear, standard, allowance, around, learn)
            if best is not None or allowance.over:
                break
        if learn:
            self._dear = dear
        return best

    def _turned(
        self, source: Ints, place: int, kept: Sequence[Kept], spare: int, dear: NDArray[np.float64],
        standard: Standard, allowance: Allowance, around: Around, learn: bool,
    ) -> Holding | None:  # fmt: skip
        """Look at who may be held around one table, turn after turn; `dear` (n,) is added to."""
        best, boxes, worse = None, around.roomy_table.boxes, 0
        for _ in range(TURNS):
            guide = self._guided(source, kept, spare, place, around, dear)
            held = None if guide is None else held_in(kept, guide, around.boxes, spare, dear)
            if guide is None or held is None:
                break
            question = Question(around.roomy_table, around.pool, [], held, guide, bounds_in(kept))
            judgement = question.look((), standard, allowance, learn)
            open_ = boxes.count if judgement is None else len(question.left_open)
            worse = 0 if best is None or open_ < best.open else worse + 1
            if best is None or _safe(judgement) or not worse:
                best = Holding(guide, tuple(held), judgement, open_)
            if _safe(judgement) or allowance.over or not 0 < open_ <= MOST_OPEN or worse == PATIENCE:
                break
            paid = payers_of(around.roomy_table, question.left_open) / np.maximum(boxes.sizes, 1)
            dear += paid[boxes.atoms.labels]
        return best

    def tables(self, around: Around) -> NDArray[np.signedinteger]:
        """(w, n) tables that agree with all answers and with what ranges say; worlds, where none is told.

        For hypothetical answers; none where no table was found.
        """
        if not self.shares:
            return around.pool.values
        if self._tables is None or self._tables[0] != around.version:
            self._tables = around.version, self._made(around)
        return self._tables[1]

    def _made(self, around: Around) -> Ints:
        """Worlds, led to where they keep what ranges say; who cannot be is made from another."""
        worlds = around.pool.values
        found = [
            self._guided(world, self.shares, self._spare, place, around) for place, world in enumerate(worlds)
        ]
        kept = self._guide is not None and len(self._guide) == worlds.shape[1]
        if kept and all(each is None for each in found):
            found[0] = self._guide
        good = [each for each in found if each is not None]
        if not good:
            return np.zeros((0, worlds.shape[1]), dtype=np.int64)
        for place, each in enumerate(found):
            if each is None:
                source = good[place % len(good)]
                boxes = self._boxes_with(self.shares, source, self._spare, around) or around.boxes
                mixed = shuffled(source, around.members, boxes, self._seed + place)
                # near to where they were is not yet inside of a range that is kept by a margin
                kept_by_all = led(
                    mixed, around.members, boxes, bounds_in(self.shares), self._seed + place, around.free
                )
                found[place] = source if kept_by_all is None else kept_by_all
        return np.array(found)

    def _guided(
        self, table: NDArray[np.integer], kept: Sequence[Kept], spare: int, place: int, around: Around,
        dear: NDArray[np.float64] | None = None,
    ) -> Ints | None:  # fmt: skip
        shares = [each for each in kept if isinstance(each, Share)]
        found = guide(table, around.members, around.boxes, shares, spare, around.free, dear)
        bounds = bounds_in(kept)
        if found is None or not bounds:
            return found
        boxes = self._boxes_with(shares, found, spare, around, dear)
        if boxes is None:
            return None
        return led(found, around.members, boxes, bounds, self._seed + place, around.free)

    def _boxes_with(
        self, kept: Sequence[Kept], table: Ints, spare: int, around: Around,
        dear: NDArray[np.float64] | None = None,
    ) -> tuple[Ints, Ints] | None:  # fmt: skip
        """(n,) each: the boxes with those held that keep what ranges say in a table."""
        low, high = (each.copy() for each in around.boxes)
        held = held_in(kept, table, around.boxes, spare, dear)
        if held is None:
            return None
        for query in held:
            low[query.members], high[query.members] = query.region[0]
        return low, high

    def _dearness(self, size: int) -> NDArray[np.float64]:
        """(n,) how many pay with a record; spare records come and go."""
        if self._dear is None:
            self._dear = np.zeros(size)
        return np.resize(np.append(self._dear, np.zeros(max(size - len(self._dear), 0))), size)


def bounds_in(kept: Sequence[Kept]) -> list[Bound]:
    """Those ranges that tables keep by a margin."""
    return [each for each in kept if isinstance(each, Bound)]


def payers_of(roomy_table: RoomyTable, atoms: Ints) -> NDArray[np.float64]:
    """(p,) who pays for some atoms' moves: by how many of the moves of each that were kept, or by a basis.

    Args:
        roomy_table: Atoms, moves and bases.
        atoms: Whose moves.
    """
    moves, found = roomy_table.kept_moves(), np.zeros(roomy_table.count)
    for atom, first, last in zip(atoms.tolist(), *(each.tolist() for each in moves.of(atoms)), strict=True):
        if last > first:
            np.add.at(found, moves.parts[moves.starts[first] : moves.starts[last]], 1 / (last - first))
        elif roomy_table.bases:
            basis = roomy_table.bases[0]
            found[basis.basic[basis.columns[atom, : roomy_table.rank] != 0]] += 1
    return found


def _possible(held: Sequence[Query], boxes: tuple[Ints, Ints]) -> bool:
    return all(
        (boxes[0][query.members] <= high).all() and (boxes[1][query.members] >= low).all()
        for query in held
        for low, high in query.region
    )


def _safe(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.safe
