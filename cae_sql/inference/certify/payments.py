"""Many short kernel moves for one record, out of shared rooms: for records that no basis alone shows.

A group of low earners whose sum was answered has little left to give, a unit here and a unit there. A basis
has one of its parts pay, so it shows nobody there. Here one record's move is put together of *moves*: each is
a way of its part (see `kernel_moves`), goes as far as what is left of all rooms allows, and takes what it
uses off them; the next is looked for among what is left. So all of a group's units can be collected.

What is shown, and why it holds. Let T be one of the tables, i a record and j ≠ i, which has any value v.
Every room of a part is divided in whole numbers, a part for the record and one for the insider. Let
z_1, z_2, … be i's moves with steps t_1, t_2, …, and w_1, w_2, … j's.

1. What i's moves together take off a part is no more than the record's room there, whichever of them are
   made and however far: loads are added up by direction, nothing that one gives back is counted. The same of
   j's moves and the insider's rooms. So T + Σ s_l z_l + Σ u_l w_l, with 0 ≤ s_l ≤ t_l and 0 ≤ u_l ≤ the steps
   of the w_l, has every part but those of i and j inside of its bounds; and every sum is kept.
2. Of i's moves so many are left out that the part of j is asked for no more than it has without j, and of
   j's moves so many that the part of i is asked for no more than it has without i (where it has no other
   record: all that touch it). What is shown is what remains whichever part is left out, the worst of all. So
   a move never asks i or j to pay. A step less of a move that touches a part takes one off its load at least.
3. Hence j is moved to v by w's alone, which leave i where it is, and i then takes, step by step by its z's,
   each value of its run, which leave j at v. The exchange inside of i's part is among i's moves: its
   fellows pay, without j where j is one of them (`Rooms.left`, `Rooms.own`); so is that of j's.

Moves that were kept from earlier questions are tried first; others
are looked for among what these leave. The rule asks nothing of where a move came from, only that it keeps
every sum and does not ask its own part to pay.

A share is the room times the record's share of the need, rounded down or up. What parts that pay alone take
(`coverage`) is at most the same, rounded down. So i may be shown by either, and j by either, around one
table.

Sources: `mathematics.md`, 2 (insiders) and 9.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.inference import sizes
from cae_sql.inference.allowance import ENTRIES, LANES, Allowance
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.kernel_moves import (
    NO_MOVES,
    Moves,
    Records,
    joined,
    pay,
    spread_out,
)
from cae_sql.inference.tables.margins import Toll
from cae_sql.inference.tables.payers import NOBODY, Payers, payers
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import columns_in
from cae_sql.threads import in_two

FEW, FEWEST = 100, 12
ALONE = (3, 2, 6)
"""Nobody alone carries more than one part in so many of a way: what is lost with one must be made up for."""
TURNS = (*((part, FEW) for part in ALONE), *((part, FEWEST) for part in (12, 4, 24, 8, 13, 5)))
"""These parts, and how many may be left to be looked at again, each time by other bases. Late in a day a
table leaves one to three of thousands open, and nearly always another basis shows them: without the last six
turns the age groups of the ACS day were all refused, with them nearly all of their middles are shown."""


class Payments:
    """Payments out of the rooms of one judgement. Shapes: p' parts, k sums."""

    def __init__(
        self, question_tables: QuestionTables, rooms: Rooms, toll: Toll, need: int, allowance: Allowance
    ) -> None:
        """Moves may cost the toll; width is needed from everybody. Nothing is worked out yet."""
        self.question_tables, self.rooms, self.toll = question_tables, rooms, toll
        self.need, self.allowance = need, allowance
        self._moves, self._found, self._bases = NO_MOVES, list[Moves](), list[Payers]()
        self._further = self._further_bases()

    @cached_property
    def _marks(self) -> Columns:
        """(p', k) of all parts in all sums."""
        return self.question_tables.marks_of(np.arange(self.rooms.count))

    def show(self, far: Far, keep: bool = False) -> None:
        """Add to `far`, for parts that are still open, what many moves together show.

        So many at a time are looked at. Only where `keep` says so, moves that are found serve later
        judgements.
        """
        left = far.left(self.need)
        if not len(left) or self.allowance.over:
            return
        for divided in np.unique(self.rooms.divisions[left]).tolist():
            some = left[self.rooms.divisions[left] == divided]
            self._shares = _Shares(self.rooms, self.need, self._marks, divided)
            for first in range(0, len(some), sizes.MOST_OPEN):
                if self.allowance.over:
                    return
                self._found, self._moves = [], self.question_tables.moves
                self._show(far, some[first : first + sizes.MOST_OPEN])
                if keep and self._found:
                    self.question_tables.keep(joined(self._found))

    def _show(self, far: Far, left: Ints) -> None:
        """Add what kept moves show of some parts, then what is looked for over bases."""
        if self._moves.count:
            self._reach(far, left, np.zeros((len(left), 0), np.int8), NOBODY, ALONE[0])
        further = self.question_tables.roomy_table.ways.further_bases
        for turn, (part, few) in enumerate(TURNS if further else TURNS[: len(ALONE)]):
            # a basic part needs another basis
            for number in (turn, turn + 1):
                left = left[far.lacking(self.need)[left]]
                self._moves = self._moves.of_those(left)
                if not len(left) or (turn and len(left) > few) or self.allowance.over:
                    return
                if number == len(self._bases):
                    self._bases += [each for each in (next(self._further, None),) if each is not None]
                if number == len(self._bases):
                    return
                basis = self._bases[number]
                parts = left[~np.isin(left, basis.basic)]
                mine = columns_in(self._marks[parts], basis.inverse)
                if len(parts) and mine is not None:
                    self._reach(far, parts, mine, basis, part)

    def _further_bases(self) -> Iterator[Payers]:
        """Bases that share no part, each with its helpers."""
        rooms, rank = self.rooms, self._marks.shape[1]
        able = rooms.whole & ((rooms.down > 0) | (rooms.up > 0))
        taken, nearer = ~able, rooms.nearer(np.arange(rooms.count))
        while self.allowance.spend(rank * rank * np.count_nonzero(able) / LANES):
            found = payers(self._marks, able, taken, nearer, rooms.widest)
            if found is None:
                return
            taken[found.basic] = True
            yield found

    def _reach(self, far: Far, parts: Ints, mine: Columns, basis: Payers, part: int) -> None:
        """Add what one basis and its helpers show of some parts (a,), columns (a, k)."""
        rooms, times = self.rooms, self.rooms.heaviest[parts]
        span, first, last = rooms.ends(parts)
        lacking, kept, need = far.widths[parts] < self.need, far.free[parts], self.need * times
        # a record that falls far need not rise so far
        fall = self._spend(parts, mine, basis, (0, 1, part), np.where(lacking, np.minimum(last, need), 0))
        most = np.minimum(span - first, need - np.minimum(fall, first))
        rise = self._spend(parts, mine, basis, (0, 0, part), np.where(lacking, most, 0))
        width = np.minimum(
            np.minimum(span - first, rise) + np.minimum(first, fall),
            np.minimum(span - last, rise) + np.minimum(last, fall),
        )
        far.widths[parts] = np.maximum(far.widths[parts], width // times)
        if rooms.insiders:
            fall = self._spend(parts, mine, basis, (1, 1, part), np.where(kept, 0, last))
            most = np.where(kept | (fall < last), 0, span - first)
            rise = self._spend(parts, mine, basis, (1, 0, part), most)
            far.free[parts] |= (rise >= span - first) & (fall >= last)
        else:
            far.free[parts] = True

    def _spend(
        self, parts: Ints, mine: Columns, basis: Payers, how: tuple[int, int, int], target: Ints
    ) -> Ints:
        """(a,) how far some parts, with columns (a, k), go towards their targets (a,).

        `how`: whether out of the insider's rooms, whether down, and the part that one alone may carry.
        """
        share, way, part = how
        if not target.any():
            return np.zeros(len(parts), dtype=np.int64)
        shares, rooms, moves = self._shares, self.rooms, self._moves
        own = shares.kept[way, share, parts]
        # rising: what gains takes from what others have below them
        room = np.where(rooms.whole, shares.rooms[[way, 1 - way], share], 0)
        apart = rooms.insiders or len(rooms.units.firsts)
        kept = shares.kept[[way, 1 - way], share] if apart else room
        found, looked = np.zeros((2, len(parts)), dtype=np.int64)
        lost, (firsts, ends) = own - shares.own[way, share, parts], moves.of(parts)
        records = Records(parts, mine, own, lost, target, firsts, ends, found, looked)
        part_of_it = (1 - rooms.share if share else rooms.share) / shares.divided
        toll = self.toll._replace(budget=self.toll.budget * part_of_it)

        def work(start: int, end: int) -> Moves:
            units = rooms.units._replace(inside=shares.inside[share])
            return Moves(
                *pay(records, basis.columns, basis.parts, room, kept, moves, toll, part, units, start, end)
            )

        many = basis.columns.shape[1]
        entries = int((moves.starts[ends] - moves.starts[firsts]).sum())
        these = in_two(work, len(parts), 100 * many + entries // max(len(parts), 1))
        self.allowance.spend(int(looked.sum()) * many / LANES + entries / ENTRIES)
        if more := [each for each in these if each.count]:
            self._found += more
            self._moves = joined([moves, *more])
        return found


class _Shares:
    """Every room in whole numbers: (2, 2, p') down and up, the record's part of it and the insider's."""

    def __init__(self, rooms: Rooms, need: int, marks: Columns, divided: int = 1) -> None:
        """`divided`: among how many parts of a unit its share is divided."""
        whole, self.divided = max(need + (rooms.widest if rooms.insiders else 0), 1), divided
        both = (np.maximum(room, 0) for room in (rooms.down, rooms.up))
        self.rooms = np.array([_divided(room, need, whole, marks) for room in both]) // divided
        self.kept = np.array([_rounded(room, need, whole) for room in rooms.kept]) // divided
        """What is left where one record of a part gives nothing."""
        self.inside = -(-_rounded(rooms.inside, need, whole) // divided)
        """(2, p') what a part keeps from its own units."""
        self.own = np.array([_rounded(room, need, whole) for room in rooms.own]) // divided
        """The same where two do not: what fellows give, one of them aside."""


def _divided(room: Ints, need: int, whole: int, marks: Columns) -> Ints:
    """Shares of need / whole, rounded so that in the sum that has least of them they add up."""
    share, rest = np.divmod(room * need, whole)
    share += spread_out(rest / whole, marks, room)
    return np.array([share, room - share])


def _rounded(room: Ints, need: int, whole: int) -> Ints:
    """Shares of need / whole, the first rounded down."""
    share = room * need // whole
    return np.array([share, room - share])
