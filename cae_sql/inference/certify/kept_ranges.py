"""Ranges of statistics as constraints: who is held where, so that all tables that are looked at keep them.

Who is held is chosen around a table (`cae_sql.inference.facts.ranges`) and no evidence: what follows is shown
by tables that are looked at anew. But it decides what can be shown. After many answers somebody in a group
with little to give is shown by moves for which many others pay, a little each; who is held may not be able
to. So a choice is looked at, and where it leaves somebody open, those who paid for him in moves that were
kept become *dear*, which means that they are held last, and others are chosen. Some such turns show
everybody, where the first choice left up to a tenth of all atoms open.

Nothing here comes from the true table. Who is dear is kept for later questions, but for what was looked at
once a true answer was known.

Source: `mathematics.md`, 8 (soft constraints with a margin: who is free is the margin).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.question import Conditions, Question
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound, Kept, Share, held_in
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.tables.lead import Alike, led, with_shares
from cae_sql.inference.tables.margins import Soft
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

Dear = NDArray[np.float64]
"""(n,) how much others' moves hang on each one's being free."""


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
        known = self.pool.knowledge
        if known is None:
            boxes = self.roomy_table.boxes
            return Alike(boxes.atoms.labels, *boxes.members, self.roomy_table.unseen)
        return Alike(known.atoms.labels, *known.members, np.logical_not(known.matrix.any(axis=0)))

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

    guide: Ints | None
    """(n,) a table with all answers that keeps the ranges, with them there; None where none is at hand."""
    held: tuple[Query, ...]
    judgement: Judgement | None
    open: int
    """Atoms of whom somebody was left open."""


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

    def led(self, table: Ints, place: int, dear: Dear | None = None) -> Ints | None:
        """From one table another that keeps the ranges; None where none is found."""
        around = self.around
        found = with_shares(table, around.boxes, around.alike, self.shares, self.spare, dear)
        if found is None or not self.softs:
            return found
        boxes = self._boxes(found, dear)
        if boxes is None:
            return None
        found, well = led(self.softs, np.ones_like(found), found, boxes, around.alike, self.seed + place)
        return found if well else None

    def mixed(self, table: Ints, place: int) -> Ints:
        """From one table that keeps the ranges another at random."""
        boxes = self._boxes(table, None) or self.around.boxes
        seed = self.seed + place
        return led(self.softs, np.ones_like(table), table, boxes, self.around.alike, seed, mixed=True)[0]

    def held(self, table: Ints, dear: Dear | None = None) -> list[Query] | None:
        """Who is held where around a table that keeps the ranges."""
        return held_in(self.kept, table, self.around.boxes, self.spare, dear)

    def _boxes(self, table: Ints, dear: Dear | None) -> tuple[Ints, Ints] | None:
        """(n,) each: the boxes with those held who keep the shares in a table."""
        held = held_in(self.shares, table, self.around.boxes, self.spare, dear)
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
        self._standard: Standard | None = None
        self._holding: Holding | None = None
        self._tables: tuple[int, Ints] | None = None
        self._dear: Dear = np.zeros(0)

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
            self._holding = holding

    def answered(self, guide: Ints | None) -> None:
        """There are more answers; a table with them that keeps all ranges, where one is at hand."""
        if self._holding is not None:
            self._holding = replace(self._holding, guide=guide)

    def held(self, around: Around) -> Sequence[Query] | None:
        """Who is held where, so that tables keep what ranges say; None where no table says it.

        Those with whom everybody was shown to keep the limit, as long as answered extremes let them be there.
        """
        if not self.shares:
            return ()
        if self._holding is None or not _possible(self._holding.held, around.boxes):
            self._holding = self._chosen(around)
        return None if self._holding is None else self._holding.held

    def table(self, size: int, top: int) -> Ints | None:
        """(n,) a table with all answers in which who is held is there; None where none is at hand.

        Args:
            size: Records, with spare ones.
            top: Greatest value, in units: spare records are in the middle.
        """
        guide = None if self._holding is None else self._holding.guide
        if guide is None or len(guide) > size:
            return None
        return np.append(guide, np.full(size - len(guide), top // 2, dtype=np.int64))

    def _chosen(self, around: Around) -> Holding | None:
        """Who is held, where nobody knows any more who was."""
        self._holding = None
        if self._standard is not None:
            return self.holding((), self._spare, self._standard, Allowance(CHOOSING), around, learn=True)
        for table in self.tables(around)[:1]:
            held = self._leading(around).held(table)
            return None if held is None else Holding(table.astype(np.int64), tuple(held), None, 0)
        return None

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
            learn: Whether moves, bases and who is dear may be kept: not where a true answer is known.
        """
        leading = _Leading(around, [*self.shares, *more], max(spare, self._spare), self._seed)

        def look(held: list[Query], guide: Ints) -> tuple[Judgement | None, Ints]:
            conditions = Conditions(held, guide, bounds_in(leading.kept))
            question = Question(around.roomy_table, around.pool, [], conditions)
            return question.look((), standard, allowance, learn), question.left_open

        dear = np.zeros(len(around.boxes[0]))
        dear[: len(self._dear)] += self._dear[: len(dear)]
        if learn:
            self._dear = dear  # added to by the turns
        for place, source in enumerate([around.even(), *self.tables(around)[:GUIDES]]):
            found = _turned(leading, source, place, dear, look, allowance)
            if found is not None or allowance.over:
                return found
        return None

    def tables(self, around: Around) -> NDArray[np.signedinteger]:
        """(w, n) tables that agree with all answers and with what ranges say; worlds, where none is told.

        For hypothetical answers; none where no table was found.
        """
        if not self.shares:
            return around.pool.values
        if self._tables is None or self._tables[0] != around.version:
            self._tables = around.version, self._made(around)
        return self._tables[1]

    def _leading(self, around: Around) -> _Leading:
        return _Leading(around, self.shares, self._spare, self._seed)

    def _made(self, around: Around) -> Ints:
        """Worlds, led to where they keep what ranges say; who cannot be is made from another."""
        worlds, leading = around.pool.values, self._leading(around)
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


def _turned(
    leading: _Leading, source: Ints, place: int, dear: Dear,
    look: Callable[[list[Query], Ints], tuple[Judgement | None, Ints]], allowance: Allowance,
) -> Holding | None:  # fmt: skip
    """Look at who may be held around one table, turn after turn; `dear` is added to."""
    best, worse, roomy_table = None, 0, leading.around.roomy_table
    for _ in range(TURNS):
        guide = leading.led(source, place, dear)
        held = None if guide is None else leading.held(guide, dear)
        if guide is None or held is None:
            break
        judgement, left = look(held, guide)
        safe = judgement is not None and judgement.safe
        open_ = roomy_table.count if judgement is None else len(left)
        worse = 0 if best is None or open_ < best.open else worse + 1
        if best is None or safe or not worse:
            best = Holding(guide, tuple(held), judgement, open_)
        if safe or allowance.over or not 0 < open_ <= MOST_OPEN or worse == PATIENCE:
            break
        paid = payers_of(roomy_table, left) / np.maximum(roomy_table.boxes.sizes, 1)
        dear += paid[roomy_table.boxes.atoms.labels]
    return best


def bounds_in(kept: Sequence[Kept]) -> list[Bound]:
    """Those ranges that tables keep by a margin."""
    return [each for each in kept if isinstance(each, Bound)]


def payers_of(roomy_table: RoomyTable, atoms: Ints) -> NDArray[np.float64]:
    """(p,) who pays for some atoms' moves: by how many of the moves of each that were kept, or by a basis."""
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
