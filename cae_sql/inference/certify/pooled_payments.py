"""Those whom nobody who pays alone can show: many short payments for one record, out of shared rooms.

A group of low earners whose sum was answered has little left to give, a unit here and a unit there. A basis
has one of its parts pay, so it shows nobody there. Here one record's move is put together of *moves*: each is
a way of its part (see `shared_moves`), goes as far as what is left of all rooms allows, and takes what it
uses off them; the next is looked for among what is left. So all of a group's units can be collected.

What is shown, and why it holds. Let T be one of the tables, i a record and j ≠ i, who has any value v.
Every room of a part is divided in whole numbers, a part for the record and one for the insider. Let
z_1, z_2, … be i's moves with steps t_1, t_2, …, and w_1, w_2, … j's.

1. What i's moves together take off a part is no more than the record's room there, whichever of them are
   made and however far: loads are added up by direction, nothing that one gives back is counted. The same of
   j's moves and the insider's rooms. So T + Σ s_l z_l + Σ u_l w_l, with 0 ≤ s_l ≤ t_l and 0 ≤ u_l ≤ the steps
   of the w_l, has every part but those of i and j inside of its bounds; and every sum is kept.
2. Of i's moves so many are left out that the part of j is asked for no more than it has without j, and of
   j's moves so many that the part of i is asked for no more than it has without i (where it has no other
   record: all that touch it). What is shown is what remains for whomever is left out, the worst of all. So a
   move never asks i or j to pay. A step less of a move that touches a part takes one off its load at least.
3. Hence j is moved to v by w's alone, which leave i where it is, and i then takes, step by step by its z's,
   each value of its run, which leave j at v. The exchange inside of i's part is among i's moves: its
   fellows pay, without j where j is one of them (`Rooms.left`, `Rooms.own`); so is that of j's.

Moves that were kept from earlier questions (`cae_sql.inference.tables.kept_moves`) are tried first; others
are looked for among what these leave. The rule asks nothing of where a move came from, only that it keeps
every sum and does not ask its own part to pay.

A share is the room times the record's share of the need, rounded down or up. What others who pay alone take
(`coverage`) is at most the same, rounded down. So i may be shown by either, and j by either, around one
table. Only reserves have the rooms of many parts in common: their parts are left alone here.

Sources: `mathematics.md`, 2 (insiders) and 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.allowance import ENTRIES, LANES, Allowance
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.kept_moves import NO_MOVES, Moves, Whole, joined
from cae_sql.inference.tables.margins import Floats, Toll
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import basis_of, columns_in
from cae_sql.inference.tables.shared_moves import (
    STEPS,
    TRIES,
    costs_of,
    helpers_of,
    possible,
    shorten,
    spread_out,
    weigh,
    weighed,
    weight,
)
from cae_sql.threads import in_two

MOST_PARTS = 60_000
"""Of more parts than this nobody is looked at: reserves are what serves there."""
MOST_OPEN = 3_000
"""Of more than this nobody is looked at: then it is not a few who are missing."""
FEW, FEWEST = 100, 12
ALONE = (3, 2, 6)
"""Nobody alone carries more than one part in so many of a way: what is lost with one must be made up for."""
TURNS = (*((part, FEW) for part in ALONE), *((part, FEWEST) for part in (12, 4, 24, 8, 13, 5)))
"""These parts, and how many may be left to be looked at again, each time by other bases. Late in a day a
table leaves one to three of thousands open, and nearly always another basis shows them: without the last six
turns the age groups of the ACS day were all refused, with them nearly all of their middles are shown."""
LED_TURNS = 6
"""Of these where ranges are kept by a margin, and a table that is led elsewhere is looked at next: of 265
looks that showed everybody one took more."""
ENOUGH = 8
"""Whole domains that helpers of one sum shall be able to move together."""
MOVES = 64
"""Of one record to one side, at most."""
SLOTS = 16
"""Of so many numbers what nobody has been asked for yet is kept at once: what it takes to weigh all helpers
was nearly half of what looking for moves took."""


class Pooled:
    """Payments out of the rooms of one judgement. Shapes: p' parts, k sums."""

    def __init__(
        self, question_tables: QuestionTables, rooms: Rooms, toll: Toll, need: int, allowance: Allowance
    ) -> None:
        """Nothing is worked out yet.

        Args:
            question_tables: The queries.
            rooms: Of the judgement.
            toll: What moves may change of statistics of which ranges are known.
            need: Width that is needed.
            allowance: What may be spent; nothing more is tried beyond it.
        """
        self.question_tables, self.rooms, self.toll = question_tables, rooms, toll
        self.need, self.allowance = need, allowance
        self._found: list[Moves] = []
        """Moves that nobody had kept."""

    def show(self, far: Far, reserved: Sequence[Ints] = (), keep: bool = False) -> None:
        """Show of those who are left what many payments together can.

        Args:
            far: What others have shown; added to.
            reserved: Parts of reserves by which others were shown.
            keep: Whether the moves that are found may serve later judgements.
        """
        left = far.left(self.need)
        if not len(left) or len(left) > MOST_OPEN or self.rooms.count > MOST_PARTS:
            return
        self._show(far, reserved)
        if keep and self._found:
            self.question_tables.keep(joined(self._found))

    def _show(self, far: Far, reserved: Sequence[Ints]) -> None:
        rooms = self.rooms
        marks = self.question_tables.marks_of(np.arange(rooms.count))
        shares, bases = _Shares(rooms, self.need, marks), list[_Basis]()
        able = rooms.whole.copy()
        for parts in reserved:
            able[parts] = False
        self._moves = self.question_tables.moves
        # rising: what gains takes from what others have below them
        self._left = dict[tuple[int, int], tuple[Ints, Ints]]()
        for way, share in product(range(2), range(2)):
            both = (way, 1 - way)
            room = np.array([np.where(able, shares.rooms[side, share], 0) for side in both])
            kept = np.array([shares.kept[side, share] for side in both])
            self._left[way, share] = room, kept if rooms.insiders else room
        for part in (*ALONE, 1):
            left = far.left(self.need)
            if self._moves.count and len(left):
                none = np.zeros((0, 0), np.int8)
                nobody = _Basis(left[:0], np.zeros((0, 0), np.float32), left[:0], none)
                self._reach(far, left, np.zeros((len(left), 0), np.int8), nobody, shares, part)
        self._moves = self._moves.of_those(far.left(self.need))
        found = self._bases(marks, reserved)
        self._by_bases(far, marks, shares, bases, found)
        left = far.left(self.need)
        if self._moves.count and len(left) <= FEW:
            # whom kept moves leave nothing that others could be made of
            self._moves = NO_MOVES
            self._by_bases(far, marks, shares, bases, found)

    def _by_bases(
        self, far: Far, marks: Columns, shares: _Shares, bases: list[_Basis], further: Iterator[_Basis]
    ) -> None:
        """Show of those who are left what can be looked for over bases; these are added to."""
        looked = self.rooms.count
        turns = TURNS[:LED_TURNS] if len(self.toll.budget) else TURNS
        if not self.question_tables.roomy_table.ways.further_bases:
            turns = turns[: len(ALONE)]
        for turn, (part, few) in enumerate(turns):
            # who is in a basis needs another
            for number in (turn, turn + 1):
                left = far.left(self.need)
                if not len(left) or (turn and len(left) > few) or self.allowance.over:
                    return
                while len(bases) <= number and (basis := next(further, None)) is not None:
                    bases.append(basis)
                if len(bases) <= number:
                    return
                if 2 * len(left) < looked:
                    # moves of those who are shown by now need not be carried along
                    self._moves, looked = self._moves.of_those(left), len(left)
                whom = left[~np.isin(left, bases[number].basic)]
                mine = columns_in(marks[whom], bases[number].inverse)
                if len(whom) and mine is not None:
                    self._reach(far, whom, mine, bases[number], shares, part)

    def _bases(self, marks: Columns, reserved: Sequence[Ints]) -> Iterator[_Basis]:
        """Bases that share no part, each with those who help it."""
        rooms, rank = self.rooms, marks.shape[1]
        taken = ~rooms.whole | ((rooms.down <= 0) & (rooms.up <= 0))
        for parts in reserved:
            taken[parts] = True
        able, nearer = np.flatnonzero(~taken), rooms.nearer(np.arange(rooms.count))
        while self.allowance.spend(rank * rank * len(able) / LANES):
            found = basis_of(marks, taken, nearer)
            if found is None:
                return
            taken[found[0]] = True
            others = able[~np.isin(able, found[0])]
            helpers = helpers_of(marks, others, nearer[others], ENOUGH * rooms.widest)
            theirs = columns_in(marks[helpers], found[1])
            if theirs is not None:
                payers = np.concatenate([found[0], helpers])
                yield _Basis(found[0], found[1], payers, np.ascontiguousarray(theirs.T))

    def _reach(self, far: Far, whom: Ints, mine: Columns, basis: _Basis, shares: _Shares, part: int) -> None:
        """Show what one basis and those who help it can of some parts (a,), columns (a, k)."""
        rooms, need = self.rooms, self.need
        span, first, last = rooms.span[whom], rooms.first[whom], rooms.last[whom]
        lacking, kept = far.widths[whom] < need, far.free[whom]
        # whoever falls far need not rise so far
        fall = self._spend(
            whom, mine, basis, shares, (0, 1, part), np.where(lacking, np.minimum(last, need), 0)
        )
        most = np.minimum(span - first, need - np.minimum(fall, first))
        rise = self._spend(whom, mine, basis, shares, (0, 0, part), np.where(lacking, most, 0))
        width = np.minimum(
            np.minimum(span - first, rise) + np.minimum(first, fall),
            np.minimum(span - last, rise) + np.minimum(last, fall),
        )
        far.widths[whom] = np.maximum(far.widths[whom], width)
        if rooms.insiders:
            fall = self._spend(whom, mine, basis, shares, (1, 1, part), np.where(kept, 0, last))
            most = np.where(kept | (fall < last), 0, span - first)
            rise = self._spend(whom, mine, basis, shares, (1, 0, part), most)
            far.free[whom] |= (rise >= span - first) & (fall >= last)
        else:
            far.free[whom] = True

    def _spend(
        self, whom: Ints, mine: Columns, basis: _Basis, shares: _Shares, how: tuple[int, int, int],
        target: Ints,
    ) -> Ints:  # fmt: skip
        """(a,) how far some parts go.

        Args:
            whom: (a,) which.
            mine: (a, k) their columns.
            basis: Who pays.
            shares: Of all rooms.
            how: Whether out of the insider's rooms; whether down; part that one alone may carry.
            target: (a,) how far each shall go; no further is tried.
        """
        share, way, part = how
        if not target.any():
            return np.zeros(len(whom), dtype=np.int64)
        own = shares.kept[way, share, whom]
        lost = own - shares.own[way, share, whom]
        room, kept = self._left[way, share]
        found, looked = np.zeros((2, len(whom)), dtype=np.int64)
        moves, (firsts, ends) = self._moves, self._moves.of(whom)
        gradient, cost = self.toll.gradient, self.toll.cost
        budget = self.toll.budget * (1 - self.rooms.share if share else self.rooms.share)

        def work(start: int, end: int) -> tuple[Whole, Ints, Whole, Whole]:
            return _pay(
                mine, basis.theirs, room, kept, basis.payers, whom, own, lost, target, part, start, end,
                firsts, ends, moves.starts, moves.parts, moves.by, gradient, cost, budget, found, looked,
            )  # fmt: skip

        many = basis.theirs.shape[1]
        entries = int((moves.starts[ends] - moves.starts[firsts]).sum())
        these = in_two(work, len(whom), 100 * many + entries // max(len(whom), 1))
        self.allowance.spend(int(looked.sum()) * many / LANES + entries / ENTRIES)
        more = [each for each in (Moves(*one) for one in these) if each.count]
        if more:
            self._found += more
            self._moves = joined([moves, *more])
        return found


@dataclass(frozen=True, eq=False)
class _Basis:
    """A basis, and who helps it."""

    basic: Ints
    inverse: NDArray[np.float32]
    payers: Ints
    """(k + h,) the basic parts, then those who help."""
    theirs: Columns
    """(k, h) columns of those who help."""


class _Shares:
    """Every room in whole numbers: (2, 2, p') down and up, the record's part of it and the insider's."""

    def __init__(self, rooms: Rooms, need: int, marks: Columns) -> None:
        whole = max(need + (rooms.widest if rooms.insiders else 0), 1)
        both = np.maximum(rooms.down, 0), np.maximum(rooms.up, 0)
        self.rooms = np.array([_divided(room, need, whole, marks) for room in both])
        self.kept = np.array([_rounded(room, need, whole) for room in rooms.left])
        """What is left where one record of a part gives nothing."""
        self.own = np.array([_rounded(room, need, whole) for room in rooms.own])
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


class _Asked(NamedTuple):
    """What one record's moves to one side have asked of everybody. Shapes: p' parts."""

    room: Ints
    """(2, p') what each part may lose and gain."""
    kept: Ints
    """(2, p') the same where one of its records does not."""
    free: Ints
    """(2, p') what each may still lose and gain, where it is known; see `seen`."""
    load: Ints
    """(2, p') what they have lost and gained so far."""
    touched: Ints
    """(p',) how many steps have asked them."""
    seen: Ints
    """(p',) for whom, last, the three were filled in: a place, from 1 on."""


@compiled()
def _meet(asked: _Asked, turn: int, who: int, most: int, part: int) -> None:
    """Fill in what a part may lose and gain for one record's moves, before it is asked for the first time."""
    if asked.seen[part] != turn:
        asked.seen[part], asked.touched[part] = turn, 0
        for side in range(2):
            room, kept = asked.room[side, part], asked.kept[side, part]
            asked.free[side, part] = 0 if part == who else min(room, kept + most)
            asked.load[side, part] = 0


@compiled(exact=True)
def _pay(
    columns: Columns, theirs: Columns, room: Ints, kept: Ints, payers: Ints, whom: Ints, own: Ints,
    lost_inside: Ints, target: Ints, part: int, start: int, end: int, firsts: Ints, ends: Ints,
    starts: Ints, parts: Whole, by: Whole, gradient: Floats, cost: Floats, budget: Floats, reached: Ints,
    looked: Ints,
) -> tuple[Whole, Ints, Whole, Whole]:  # fmt: skip
    """How far parts start..end rise, by moves out of shared rooms, whoever else is left out.

    Args:
        columns: (a, k) of the parts.
        theirs: (k, h) of the helpers.
        room: (2, p') what each part may lose and gain.
        kept: (2, p') the same where one of its records does not.
        payers: (k + h,) the basic parts, then the helpers.
        whom: (a,) the parts that rise.
        own: (a,) what a record's fellows give it.
        lost_inside: (a,) how much less they do, one of them aside.
        target: (a,) how far each shall go; no further is tried.
        part: Nobody alone carries more than one part in so many.
        start: The first; `end`: the one after the last.
        firsts: (a,) the first kept move of each; `ends`: the one after its last.
        starts: Of the entries of kept moves, which are `parts` and `by`.
        gradient: (m, p') what the statistics change with a part; `cost`: (m, p') what payments cost besides.
        budget: (m,) what one record's moves to one side may cost in all.
        reached: (a,) filled.
        looked: (a,) how often all helpers were looked at for each; added to.

    Returns:
        The moves that were not among those kept.
    """
    size, many = theirs.shape
    free, load = np.zeros(room.shape, np.int64), np.zeros(room.shape, np.int64)
    touched, seen = np.zeros(room.shape[1], np.int64), np.zeros(room.shape[1], np.int64)
    asked = _Asked(room, kept, free, load, touched, seen)
    kept_here = np.empty((2, size + many), np.int64)
    for i in range(size + many):
        for side in range(2):
            kept_here[side, i] = kept[side, payers[i]]
    # what nobody has been asked for yet is worked out once for all who may ask as much of one
    asks = np.full(SLOTS, -1, np.int64)
    free_at = np.empty((SLOTS, 2, size + many), np.int64)
    weights_at, lengths_at = np.empty((SLOTS, size), np.float32), np.empty((SLOTS, many), np.float32)
    costs_at = np.empty((SLOTS, 2, many), np.float32)
    free_here, load_here = np.empty((2, size + many), np.int64), np.empty((2, size + many), np.int64)
    touched_here = np.empty(size + many, np.int64)
    weights, lengths = np.empty(size, np.float32), np.empty(many, np.float32)
    costs = np.empty((2, many), np.float32)
    their, where = np.empty(1024, np.int32), np.zeros(1025, np.int64)
    their_parts, their_by = np.empty(16384, np.int32), np.empty(16384, np.int32)
    made, left = as_int64(0), np.empty(len(budget))
    for place in range(start, end):
        if target[place] <= 0:
            continue
        left[:] = budget
        who, most = whom[place], max(1, -(-target[place] // part))
        total, worst = _by_kept(
            asked, place + 1, who, most, own[place], lost_inside[place], target[place], firsts[place],
            ends[place], starts, parts, by, gradient, cost, left,
        )  # fmt: skip
        if total - worst >= target[place] or size == 0:
            reached[place] = max(total - worst, 0)
            continue
        slot = most % SLOTS
        if asks[slot] != most:
            asks[slot] = most
            for i in range(size + many):
                for side in range(2):
                    free_at[slot, side, i] = min(room[side, payers[i]], kept_here[side, i] + most)
            weighed(
                theirs, free_at[slot], weights_at[slot], lengths_at[slot], costs_at[slot],
                looked[place : place + 1],
            )  # fmt: skip
        free_here[:], costs[:], load_here[:], touched_here[:] = free_at[slot], costs_at[slot], 0, 0
        weights[:], lengths[:] = weights_at[slot], lengths_at[slot]
        _meet(asked, place + 1, who, most, who)
        for i in range(size + many):
            n = payers[i]
            if seen[n] != place + 1:
                continue
            touched_here[i] = touched[n]
            for side in range(2):
                free_here[side, i], load_here[side, i] = free[side, n], load[side, n]
            if i >= size:
                costs_of(free_here, costs, size, i - size)
                continue
            more = weight(free_here[0, i], free_here[1, i]) - weights[i]
            if more != 0:
                weigh(weights, lengths, theirs, i, more)
                looked[place] += 1
        if made + MOVES >= len(their):
            their, where = _widened(their, 2 * len(their)), _wider_starts(where)
        if where[made] + MOVES * (size + STEPS) > len(their_parts):
            room_for = 2 * len(their_parts) + MOVES * (size + STEPS)
            their_parts, their_by = _widened(their_parts, room_for), _widened(their_by, room_for)
        before = made
        reached[place], made = _paid(
            columns[place], theirs, free_here, load_here, kept_here, touched_here, payers, weights, lengths,
            costs, total, worst, target[place], who, gradient, cost, left, looked[place : place + 1], where,
            their_parts, their_by, made,
        )  # fmt: skip
        for move in range(before, made):
            their[move] = who
    return their[:made], where[: made + 1], their_parts[: where[made]], their_by[: where[made]]


@compiled()
def _by_kept(
    asked: _Asked, turn: int, who: int, most: int, total: int, worst: int, target: int, first: int,
    end: int, starts: Ints, parts: Whole, by: Whole, gradient: Floats, cost: Floats, left: Floats,
) -> tuple[int, int]:  # fmt: skip
    """`_pay` of one part by kept moves, each as far as the ones before leave: steps, and those that are lost.

    Args:
        asked: What its moves have asked; changed.
        turn: Of which record it is, see `_Asked.seen`.
        who: The part.
        most: What one alone may carry beyond what it has without a record.
        total: Steps so far.
        worst: Of which so many are lost with somebody.
        target: How far it shall go.
        first: Its first kept move; `end`: the one after the last. `starts`, `parts` and `by` as in `Moves`.
        gradient: As in `_pay`, as is `cost`.
        left: (m,) what is left of what its moves may cost; changed.
    """
    free = asked.free
    for m in range(first, end):
        if total - worst >= target:
            break
        step = target + worst - total
        for e in range(starts[m], starts[m + 1]):
            _meet(asked, turn, who, most, as_int64(parts[e]))
            step = min(step, free[0 if by[e] < 0 else 1, parts[e]] // abs(by[e]))
            if step <= 0:
                break
        step = _tolled(gradient, cost, left, who, parts, by, starts[m], starts[m + 1], step)
        if step > 0:
            total += step
            for e in range(starts[m], starts[m + 1]):
                side = 0 if by[e] < 0 else 1
                part, entry = as_int64(parts[e]), as_int64(abs(by[e]))
                lost = _load(free, asked.load, asked.kept, asked.touched, side, part, step, entry)
                worst = max(worst, lost)
    return total, worst


@compiled()
def _tolled(
    gradient: Floats, cost: Floats, left: Floats, who: int, parts: Whole, by: Whole, first: int, end: int,
    step: int,
) -> int:  # fmt: skip
    """How far a move goes for what may be spent on it; that is spent."""
    if step <= 0 or len(left) == 0:
        return step
    for m in range(len(left)):
        price = _price(gradient, cost, m, who, parts, by, first, end)
        if price * step > left[m]:
            step = min(step, int(left[m] / price))
    if step > 0:
        for m in range(len(left)):
            left[m] -= step * _price(gradient, cost, m, who, parts, by, first, end)
    return step


@compiled()
def _price(
    gradient: Floats, cost: Floats, m: int, who: int, parts: Whole, by: Whole, first: int, end: int
) -> float:
    """What one step of a move costs."""
    change, paid = gradient[m, who], 0.0
    for e in range(first, end):
        change += by[e] * gradient[m, parts[e]]
        paid += abs(by[e]) * cost[m, parts[e]]
    price: float = abs(change) + paid
    return price


@compiled()
def _widened(entries: Whole, room: int) -> Whole:
    found = np.empty(room, np.int32)
    for place in range(len(entries)):
        found[place] = entries[place]
    return found


@compiled()
def _wider_starts(starts: Ints) -> Ints:
    found = np.zeros(2 * len(starts), np.int64)
    for place in range(len(starts)):
        found[place] = starts[place]
    return found


@compiled()
def _paid(
    column: Columns, theirs: Columns, free: Ints, load: Ints, kept: Ints, touched: Ints, payers: Ints,
    weights: NDArray[np.float32], lengths: NDArray[np.float32], costs: NDArray[np.float32],
    total: int, worst: int, target: int, who: int, gradient: Floats, cost: Floats, budget: Floats,
    looked: Ints, where: Ints, parts: Whole, by: Whole, made: int,
) -> tuple[int, int]:  # fmt: skip
    """`_pay` of one part by moves that are looked for, after those that were kept.

    Args:
        column: (k,) of the part.
        theirs: (k, h) of the helpers.
        free: (2, k + h) what each who pays may still lose and gain; changed, as what follows is.
        load: (2, k + h) what they have lost and gained so far.
        kept: (2, k + h) what they may where one of their records does not.
        touched: (k + h,) how many steps have asked them.
        payers: (k + h,) the parts that they are.
        weights: Of what is free, as of `weighed`; also `lengths` and `costs`. Changed.
        total: Steps so far.
        worst: Of which so many are lost with somebody.
        target: How far it shall go.
        who: The part itself.
        gradient: As in `_pay`, as is `cost`.
        budget: (m,) what is left of what its moves may cost; changed.
        looked: (1,) how often all helpers were looked at; added to.
        where: Of the moves found so far, whose entries are `parts` and `by`; added to.
        made: How many these are.
    """
    size, many = theirs.shape
    tries = 0
    left, used = np.empty(size, np.int64), np.empty(STEPS, np.int64)
    along, gains, signs = np.empty(many, np.float32), np.empty(many, np.float32), np.zeros(many, np.int8)
    for _ in range(MOVES):
        if total - worst >= target:
            break
        for i in range(size):
            left[i] = column[i]
        count = shorten(left, theirs, weights, lengths, costs, along, gains, signs, used, looked)
        step, blocks = possible(left, free, signs, used, count, target + worst - total)
        if step > 0 and len(budget) > 0:
            end = where[made]
            for i in range(size):
                if left[i] != 0:
                    parts[end], by[end] = payers[i], -left[i]
                    end += 1
            for n in range(count):
                parts[end], by[end] = payers[size + used[n]], signs[used[n]]
                end += 1
            step = _tolled(gradient, cost, budget, who, parts, by, where[made], end, step)
            blocks = -1 if step <= 0 else blocks
        if step > 0:
            total += step
            end = where[made]
            for i in range(size):
                if left[i] != 0:
                    lost = _load(free, load, kept, touched, 0 if left[i] > 0 else 1, i, step, abs(left[i]))
                    worst = max(worst, lost)
                    looked[0] += 1
                    weigh(weights, lengths, theirs, i, weight(free[0, i], free[1, i]) - weights[i])
                    parts[end], by[end] = payers[i], -left[i]
                    end += 1
            for n in range(count):
                side = 0 if signs[used[n]] < 0 else 1
                worst = max(worst, _load(free, load, kept, touched, side, size + used[n], step, as_int64(1)))
                parts[end], by[end] = payers[size + used[n]], signs[used[n]]
                end += 1
            made += 1
            where[made] = end
        for n in range(count):
            signs[used[n]] = 0
            costs_of(free, costs, size, used[n])
        if step <= 0:
            tries += 1
            if tries > TRIES or blocks < 0:
                break
            weigh(weights, lengths, theirs, blocks, weights[blocks] * np.float32(15))
    return max(total - worst, 0), made


@compiled()
def _load(
    free: Ints, load: Ints, kept: Ints, touched: Ints, side: int, payer: int, step: int, entry: int
) -> int:
    """Take what a move uses of one who pays; how much is lost in all where one of its records does not."""
    free[side, payer] -= step * entry
    load[side, payer] += step * entry
    touched[payer] += step
    beyond = max(load[0, payer] - kept[0, payer], 0) + max(load[1, payer] - kept[1, payer], 0)
    lost: int = min(beyond, touched[payer])
    return lost
