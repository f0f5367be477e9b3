"""Who is shown to keep how long a run of values, from one table and its bases: everybody at once.

A record i moves by itself; what it takes is given by others of its atom and, through each basis, by that
basis' basic atoms. With insiders, any other record j may have any value: then j is first moved there, and i
after it, out of rooms that are divided between the two and counted as if both had nothing to give. So what
is shown for i holds whatever j's value turns out to be (`promise.md`; `mathematics.md`, 2: insiders).

Extremes are attained by *held* records, more of them than the two that may be elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.answers import Ints
from cae_sql.inference.center import Basis, Center, Pending, basis_of, columns_in
from cae_sql.inference.columns import SAFETY, combine, loads
from cae_sql.inference.exchange import Bounds, Tables
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.reserves import Reserves
from cae_sql.inference.threads import in_two
from cae_sql.inference.witnesses import Pins, able

SINGLE = 20_000
"""From so many parts on single floats are taken, and rounded down."""
FINE = 10**6
"""Also where a record and an insider have more steps to go: floats do not tell such fractions apart."""
RESERVES = 8
"""That are looked at, for those whom the bases leave open."""
SAMPLED = 2_000
"""Parts by which it is told who does for most."""
FURTHER = 6
"""Bases that may be made for those whom the others leave open."""
MOST_TABLES = 60
"""That are looked at together: a bit each."""
MOST_OPEN = 20_000
"""Of more than this no further bases are made for a question alone."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What one pair of tables shows. Shapes: p' parts."""

    width: int
    """Every record takes a run of so many values less one, whatever an insider has; −1: nothing shown."""
    own: NDArray[np.bool_]
    """(p',) whose records take a run that is long enough, if what the insider has is free ..."""
    free: NDArray[np.bool_]
    """(p',) ... and whose records, as insiders, may have any value of their box meanwhile."""

    @property
    def open(self) -> Ints:
        """Parts of which, in one part or the other, less than what is needed was shown."""
        return np.flatnonzero(~(self.own & self.free))


def all_pairs(those: Sequence[Shown]) -> bool:
    """Whether several tables together show everybody a long enough run, whatever any other's value is.

    A record and an insider must both find theirs around the same table: what one table shows of the one and
    another table of the other says nothing of the two together.
    """
    if any(shown.own.all() and shown.free.all() for shown in those):
        return True
    if not those:
        return False
    own, free = (np.zeros(len(those[0].own), dtype=np.int64) for _ in range(2))
    for number, shown in enumerate(those[-MOST_TABLES:]):
        own |= shown.own.astype(np.int64) << number
        free |= shown.free.astype(np.int64) << number
    return bool((np.unique(own)[:, None] & np.unique(free)[None, :]).all())


def hold(boxes: Knowledge, totals: Ints, copies: int, basic: Ints, seed: int | None = None) -> Pins | None:
    """Hold records at answered extremes, so many for each; None where there are not enough.

    Args:
        boxes: The parts.
        totals: (p',) the table as it is; atoms that already have the room are preferred.
        copies: How many records attain each extreme.
        basic: Parts to hold records of only where nothing else serves.
        seed: At random among those that have the room; by default the roomiest.
    """
    chance = None if seed is None else np.random.default_rng(seed).random(boxes.count)
    top, bottom = np.zeros(boxes.count, dtype=np.int64), np.zeros(boxes.count, dtype=np.int64)
    shunned = np.zeros(boxes.count, dtype=np.bool_)
    shunned[basic] = True
    for extreme in boxes.hardest_first:
        atoms = able(boxes, extreme)
        low, high = boxes.low[atoms], boxes.high[atoms]
        if (low == high).any():
            continue
        mine = top if extreme.top else bottom
        missing = copies - int(mine[atoms].sum())
        while missing > 0:
            loose = boxes.sizes[atoms] - top[atoms] - bottom[atoms]
            rest = (
                totals[atoms] - (top[atoms] + extreme.top) * high - (bottom[atoms] + (not extreme.top)) * low
            )
            spare = np.minimum(rest - (loose - 1) * low, (loose - 1) * high - rest)
            wish = spare if chance is None else np.minimum(spare, 0) + chance[atoms] * loose
            score = wish - 1e6 * (spare < 0) - 1e3 * shunned[atoms] - 1e15 * (loose < 1)
            best = int(np.argmax(score))
            if loose[best] < 1:
                return None
            mine[atoms[best]] += 1
            missing -= 1
    return Pins(top, bottom)


def bounds_of(boxes: Knowledge, pins: Pins) -> Bounds:
    """What totals leave the held records where they are."""
    loose = boxes.sizes - pins.count
    held = pins.top * boxes.high + pins.bottom * boxes.low
    return Bounds(held + loose * boxes.low, held + loose * boxes.high)


@dataclass(frozen=True, eq=False)
class _Payers:
    """A basis, or reserves: who pays for what moves."""

    reach: Callable[[Ints], NDArray[np.floating]]
    """How far some parts go: (4, a) rise and fall, then with what two records leave."""
    parts: Ints
    """Who pays."""
    own: Ints
    """Of these, those whose own moves are counted already."""


class Showing:
    """The tables of one judgement, and the rooms they leave. Shapes: p' parts."""

    def __init__(
        self, prospect: Prospect, boxes: Knowledge, pins: Pins, tables: Tables, need: int, insiders: int
    ) -> None:
        """Measure the rooms.

        Args:
            prospect: The queries.
            boxes: Its parts with the boxes of this judgement.
            pins: The held records.
            tables: What is shown is shown for all of them.
            need: Width that everybody should keep.
            insiders: 0 or 1 individuals who know their own value.
        """
        self.prospect, self.boxes, self.need = prospect, boxes, need
        bounds = bounds_of(boxes, pins)
        self.loose = boxes.sizes - pins.count
        self.down, self.up = tables.least - bounds.least, bounds.most - tables.most
        self.insiders = insiders
        self.own = tuple(without(room, self.loose, insiders + 1) for room in (self.down, self.up))
        """What a record's fellows give it, down and up: without itself, and without the insider."""
        self.left = without(self.down, self.loose, 1), without(self.up, self.loose, 1)
        """What a basic atom gives where one of its records gives nothing."""
        span = boxes.high - boxes.low
        loose = np.maximum(self.loose, 1)
        # where in its box a record may be: low + (first ... last)
        first = np.where(self.loose > 0, self.down // loose, span)
        last = np.where(self.loose > 0, span - self.up // loose, 0)
        last = np.where(self.loose > 0, np.maximum(last, first), 0)
        self.first = np.where(pins.bottom > 0, 0, first)
        self.last = np.where(pins.top > 0, span, last)
        self.span = span
        whole = need + (int(span.max()) if insiders else 0)
        self.share = need / max(whole, 1)
        """Part of every room that is for the record itself; the rest is for the insider. The same for all: an
        insider and a record whose boxes differ draw on the same rooms."""
        self.single = boxes.count > SINGLE or whole > FINE
        """Whether single floats are enough: rooms then count a little less than they are."""
        self.slack = 0.0 if self.single else 1e-9

    def exactly(self, need: int, deadline: float) -> Shown:
        """Widths that the bases show, one basis after the other as long as somebody has too little.

        Args:
            need: From which width on nothing more is tried.
            deadline: `time.monotonic()` after which no further bases are made.

        Returns:
            What was shown.
        """
        prospect, everyone = self.prospect, np.arange(self.boxes.count)
        far = _Far(self)
        used = np.zeros(self.boxes.count, dtype=np.bool_)
        first, reserved = self._by_use(need)
        for payers in first:
            used[payers.parts] = True
            left = far.left(need)
            if len(left):
                far.add(left, payers.reach(left), payers.own)
        if not len(prospect.pendings):
            far.add(everyone, self._empty(len(everyone)), everyone[:0])
        for number in range(reserved, RESERVES):
            left = far.left(need)
            reserves = prospect.reserves(number) if len(left) else None
            if reserves is None:
                break
            used[reserves.parts] = True
            far.add(left, self._paid(reserves, left), reserves.single)
        # where reserves were tried others of such atoms do not help
        for _ in range(FURTHER if prospect.center.swaps is None else 0):
            left = far.left(need)
            if not len(left) or len(left) > MOST_OPEN or time.monotonic() > deadline:
                break
            found = self._further(used, left)
            if found is None:
                break
            basic, columns = found
            used[basic] = True
            far.add(left, self._ends(columns, basic), basic)
        width = int(min(need, far.widths.min(initial=need))) if far.free.all() else -1
        return Shown(width, far.widths >= need, far.free)

    def _by_use(self, need: int) -> tuple[list[_Payers], int]:
        """Bases, and the first reserves where bases do for few; who does for most of some parts comes first.

        Also how many reserves are among them.
        """
        found = [
            _Payers(partial(self._reach, basis, pending), pending.basic, pending.basic)
            for basis, pending in zip(self.prospect.center.bases, self.prospect.pendings, strict=True)
            if pending is not None
        ]
        if self.prospect.center.swaps is None or not RESERVES:
            return found, 0
        some = np.arange(0, self.boxes.count, max(1, self.boxes.count // SAMPLED))
        lacking = [self._lacking(payers, some, need) for payers in found]
        first = self.prospect.reserves(0) if 2 * min(lacking, default=len(some)) > len(some) else None
        if first is not None:
            found.append(_Payers(partial(self._paid, first), first.parts, first.single))
            lacking.append(self._lacking(found[-1], some, need))
        return [found[place] for place in np.argsort(lacking, kind="stable")], int(first is not None)

    def _lacking(self, payers: _Payers, some: Ints, need: int) -> int:
        """Of how many of some parts these payers show too little, alone."""
        far = _Far(self)
        far.add(some, payers.reach(some), payers.own)
        return int(np.count_nonzero((far.widths[some] < need) | ~far.free[some]))

    def runs(self) -> tuple[Ints, Ints]:
        """Least and greatest value, (p',) units each, that a record of each part takes: outsiders' view."""
        everyone = np.arange(self.boxes.count)
        rise, fall = self.own[0].copy(), self.own[1].copy()
        for basis, pending in zip(self.prospect.center.bases, self.prospect.pendings, strict=True):
            if pending is None:
                continue
            ends = self._reach(basis, pending, everyone)
            ends[:, pending.basic] = 0
            more = np.minimum(ends[:2] + self.slack, 1e9).astype(np.int64)
            rise, fall = rise + more[0], fall + more[1]
        for number in range(RESERVES):
            reserves = self.prospect.reserves(number)
            if reserves is None:
                break
            ends = self._paid(reserves, everyone)
            ends[:, reserves.single] = 0
            more = np.minimum(ends[:2] + self.slack, 1e9).astype(np.int64)
            rise, fall = rise + more[0], fall + more[1]
        low, high = self.boxes.low, self.boxes.high
        return np.maximum(low + self.first - fall, low), np.minimum(low + self.last + rise, high)

    def _scarce(self, basic: Ints) -> NDArray[np.floating]:
        rooms = np.array([self.down, self.up, *self.left])[:, basic].astype(np.float64)
        return (1.0 / np.maximum(rooms, 1e-25)).astype(np.float32 if self.single else np.float64)

    def _empty(self, count: int) -> NDArray[np.floating]:
        return np.zeros((4, count), dtype=np.float32 if self.single else np.float64)

    def _reach(self, basis: Basis, pending: Pending, parts: Ints) -> NDArray[np.floating]:
        """(4, a) rise and fall with all of the rooms, then with what two records leave."""
        prospect, ends = self.prospect, self._empty(len(parts))
        scarce, safety = self._scarce(pending.basic), SAFETY if self.single else 1.0

        def work(start: int, end: int) -> None:
            loads(
                basis.columns, prospect.center.rank, prospect.parents, pending.ys, pending.pivots,
                len(pending.ys), scarce, parts, safety, start, end, ends,
            )  # fmt: skip

        in_two(work, len(parts), prospect.center.rank + 1)
        return ends

    def _paid(self, reserves: Reserves, parts: Ints) -> NDArray[np.floating]:
        """As `_reach`, where reserves pay."""
        scarce = reserves.scarce(self.down, self.up, self.left, self.insiders)
        kind, safety = (np.float32, SAFETY) if self.single else (np.float64, 1.0)
        return reserves.reach(self.prospect.ground, scarce.astype(kind), parts, safety)

    def _further(self, used: NDArray[np.bool_], parts: Ints) -> tuple[Ints, NDArray[np.int64]] | None:
        """A basis of parts that none has used yet, and the columns of some parts in it."""
        prospect = self.prospect
        room = np.minimum(self.down, self.up)
        room = np.where(self.loose > 1, np.minimum(*self.left), room)
        rank = prospect.center.rank + len(prospect.fresh)
        free = np.flatnonzero(~used & (room > 0) & ((self.loose > 0) & (self.loose == self.boxes.sizes)))
        most = max(3000, 4 * rank)
        if len(free) > most:
            free = free[np.argpartition(-room[free], most - 1)[:most]]
        found = basis_of(prospect.marks_of(free), np.zeros(len(free), dtype=np.bool_), room[free])
        if found is None:
            return None
        basic, inverse = found
        columns = columns_in(prospect.marks_of(parts), inverse)
        return None if columns is None else (free[basic], columns.astype(np.int64))

    def _ends(self, columns: NDArray[np.int64], basic: Ints) -> NDArray[np.floating]:
        """As `_reach`, for columns that are at hand."""
        ends = self._empty(len(columns))
        none, scarce = np.zeros((0, len(columns)), np.int32), self._scarce(basic)
        pivots = np.zeros((0, len(basic)), np.int32)
        rows = np.arange(len(columns))
        safety = SAFETY if self.single else 1.0
        small = columns.astype(np.int8)
        loads(small, len(basic), rows, none, pivots, 0, scarce, rows, safety, 0, len(rows), ends)
        return ends


class _Far:
    """How far the parts go in all, over the bases added so far."""

    def __init__(self, showing: Showing) -> None:
        self.showing, count = showing, showing.boxes.count
        self.widths: Ints = np.full(count, -1, dtype=np.int64)
        """(p',) width shown."""
        self.free = np.zeros(count, dtype=np.bool_)
        """(p',) whether, as an insider, each may have any value meanwhile."""
        self._ends: list[NDArray[np.floating]] = []

    def left(self, need: int) -> Ints:
        """Those who have too little."""
        return np.flatnonzero((self.widths < need) | ~self.free)

    def add(self, parts: Ints, ends: NDArray[np.floating], basic: Ints) -> None:
        """Add a basis for some parts, and see what they have now.

        Args:
            parts: (a,) which; each earlier call had at least these.
            ends: (4, a) of `loads`.
            basic: The basis' basic parts: their columns are the exchange inside of them, counted already.
        """
        showing = self.showing
        member = np.zeros(showing.boxes.count, dtype=np.bool_)
        member[basic] = True
        ends[:, member[parts]] = 0
        whole = np.zeros((4, len(self.widths)), dtype=ends.dtype)
        whole[:, parts] = ends
        self._ends.append(whole)
        widths, free = np.empty(len(parts), dtype=np.int64), np.empty(len(parts), dtype=np.bool_)
        stack = np.array([each[:, parts] for each in self._ends])
        own = np.array([room[parts] for room in showing.own])
        span, first, last = showing.span[parts], showing.first[parts], showing.last[parts]
        share, slack = showing.share, showing.slack

        def work(start: int, end: int) -> None:
            combine(stack, own, share, slack, span, first, last, showing.insiders, start, end, widths, free)

        in_two(work, len(parts), 8 * len(stack))
        self.widths[parts], self.free[parts] = widths, free


def without(room: Ints, loose: Ints, apart: int) -> Ints:
    """What is left of a room when so many records of an atom have none to give, spread evenly as it is."""
    fair = -(-room // np.maximum(loose, 1))
    left: Ints = np.maximum(room - apart * fair - (apart - 1), 0)
    kept: Ints = np.where(loose > apart, left, 0)
    return kept


def show(
    prospect: Prospect,
    boxes: Knowledge,
    pins: Pins,
    tables: Tables,
    need: int,
    insiders: int,
    deadline: float,
) -> Shown:
    """Who keeps a run of width `need` in every one of some tables' neighbourhood.

    Args:
        prospect: The queries.
        boxes: Its parts with the boxes of this judgement.
        pins: The held records.
        tables: Agree with past answers and the new ones.
        need: Greatest minus least value, in units.
        insiders: 0 or 1.
        deadline: `time.monotonic()` after which no further bases are made.
    """
    showing = Showing(prospect, boxes, pins, tables, need, insiders)
    whole = int(showing.span.min())
    if whole < need:
        return Shown(whole, showing.span >= need, np.zeros(boxes.count, dtype=np.bool_))
    shown = showing.exactly(need, deadline)
    if shown.width < need or boxes.count > MOST_OPEN:
        return shown
    # nobody is left open: how far everybody goes is a figure, and worth a second look
    wide = showing.exactly(whole, 0.0)
    return replace(shown, width=max(shown.width, wide.width))


def certified_runs(center: Center) -> tuple[Ints, Ints]:
    """Least and greatest value, (p,) units each, of a run that every record of each atom takes.

    Where no table is at hand a run is the box of an atom in no answer, else empty: low above high.
    """
    boxes = center.boxes
    if not center.usable:
        return boxes.high + 1, boxes.high
    prospect = Prospect(center, [])
    pins = hold(boxes, prospect.totals, 2, np.zeros(0, dtype=np.int64))
    if pins is None or (prospect.totals < bounds_of(boxes, pins).least).any():
        pins = Pins(np.zeros_like(boxes.low), np.zeros_like(boxes.low)) if not boxes.extremes else None
    if pins is None or (prospect.totals > bounds_of(boxes, pins).most).any():
        return boxes.high + 1, boxes.high
    tables = Tables(prospect.totals, prospect.totals)
    showing = Showing(prospect, boxes, pins, tables, int((boxes.high - boxes.low).max()), 0)
    return showing.runs()
