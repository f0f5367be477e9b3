"""Who is shown to keep how long a run of values, from one table and its bases: everybody at once.

A record i moves by itself; what it takes is given by others of its atom and, through each basis, by that
basis' basic atoms. With insiders, any other record j may have any value: then j is first moved there, and i
after it, out of rooms that are divided between the two and counted as if both had nothing to give. So what
is shown for i holds whatever j's value turns out to be (`promise.md`; `mathematics.md`, 2: insiders).

Extremes are attained by *held* records, more of them than the two that may be elsewhere.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.answers import Ints
from cae_sql.inference.center import Basis, Center, Pending, basis_of, columns_in, in_two
from cae_sql.inference.columns import reaches, violating
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.prospect import Bounds, Prospect, Tables
from cae_sql.inference.witnesses import Pins, able

LEVELS = 16
"""Steps in which records are told apart by where in their box they are."""
FURTHER = 16
"""Bases that may be made for those whom the others leave open."""
MOST_OPEN = 20_000
"""Of more than this no further bases are made for a question alone."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What was shown."""

    width: int
    """Everybody takes a run of so many values less one, those left open aside."""
    open: Ints
    """Parts of which less than what is needed was shown."""


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
        apart = insiders + 1
        self.apart, self.insiders = apart, insiders
        self.down_left, self.up_left = (without(room, self.loose, apart) for room in (self.down, self.up))
        span = boxes.high - boxes.low
        loose = np.maximum(self.loose, 1)
        # where in its box a record may be: low + (first ... last)
        first = np.where(self.loose > 0, self.down // loose, span)
        last = np.where(self.loose > 0, span - self.up // loose, 0)
        last = np.where(self.loose > 0, np.maximum(last, first), 0)
        self.first = np.where(pins.bottom > 0, 0, first)
        self.last = np.where(pins.top > 0, span, last)
        self.span = span
        whole = np.where(insiders, span, 0)
        self.share = need / np.maximum(need + whole, 1)
        """(p',) part of every room that is for the record itself; the rest is for the insider."""

    def quick(self, need: int) -> Ints:
        """Parts that the first basis alone does not show to have a run of this width."""
        basis, pending = self.prospect.center.bases[0], self.prospect.pendings[0]
        assert pending is not None
        total = need + (self.span if self.insiders else 0)
        part = np.maximum(self.span, 1)
        rise = np.ceil((self.span - self.first) * LEVELS / part) * total / LEVELS
        fall = np.ceil(self.last * LEVELS / part) * total / LEVELS
        pairs, classes = np.unique(np.column_stack([rise, fall]), axis=0, return_inverse=True)
        down, up = self.down_left[pending.basic], self.up_left[pending.basic]
        above = np.minimum(_over(down, pairs[:, :1]), _over(up, pairs[:, 1:])).astype(np.int16)
        below = np.minimum(_over(up, pairs[:, :1]), _over(down, pairs[:, 1:])).astype(np.int16)
        wrong = np.zeros(self.boxes.count, dtype=np.bool_)
        which = classes.ravel().astype(np.int16)
        prospect = self.prospect

        def work(start: int, end: int) -> None:
            violating(
                basis.columns, prospect.center.rank, prospect.parents, pending.ys, pending.pivots,
                len(pending.ys), above, below, which, start, end, wrong,
            )  # fmt: skip

        in_two(work, len(wrong), prospect.center.rank + 1)
        return np.flatnonzero(wrong & (self.span > 0) | (self.span < need))

    def exactly(self, parts: Ints, deadline: float) -> tuple[NDArray[np.int64], Ints]:
        """Width shown for each of some parts from all bases, and further ones made for those left open.

        Returns:
            (a,) widths, −1 where an insider's value is not shown to be free; the parts left open.
        """
        far = self._far(parts)
        used = np.zeros(self.boxes.count, dtype=np.bool_)
        for pending in self.prospect.pendings:
            if pending is not None:
                used[pending.basic] = True
        widths = far.widths()
        for _ in range(FURTHER):
            left = np.flatnonzero(widths < self.need)
            if not len(left) or len(left) > MOST_OPEN or time.monotonic() > deadline:
                break
            found = self._further(used, parts[left])
            if found is None:
                break
            basic, columns = found
            used[basic] = True
            ends = self._ends(columns, basic)
            far.add_some(left, parts[left], ends, basic)
            widths = far.widths()
        return widths, parts[widths < self.need]

    def widths(self, parts: Ints) -> NDArray[np.int64]:
        """(a,) width shown for each of some parts by the bases there are; −1 where an insider is not free."""
        return self._far(parts).widths()

    def _far(self, parts: Ints) -> _Far:
        far = _Far(self, parts)
        for basis, pending in zip(self.prospect.center.bases, self.prospect.pendings, strict=True):
            if pending is not None:
                far.add(parts, self._reach(basis, pending, parts), pending.basic)
        return far

    def runs(self) -> tuple[Ints, Ints]:
        """Least and greatest value, (p',) units each, that a record of each part takes."""
        far = self._far(np.arange(self.boxes.count))
        rise, fall = (far.sums - far.lost.sum(axis=1))[:2].astype(np.int64)
        low, high = self.boxes.low, self.boxes.high
        return np.maximum(low + self.first - fall, low), np.minimum(low + self.last + rise, high)

    def _reach(self, basis: Basis, pending: Pending, parts: Ints) -> NDArray[np.float64]:
        """Rise and fall with all of the rooms, then with what two records leave."""
        prospect, ends = self.prospect, np.empty((4, len(parts)))
        rooms = np.ascontiguousarray(
            np.array([self.down, self.up, self.down_left, self.up_left])[:, pending.basic].astype(np.float64)
        )

        def work(start: int, end: int) -> None:
            reaches(
                basis.columns, prospect.center.rank, prospect.parents, pending.ys, pending.pivots,
                len(pending.ys), rooms, parts, start, end, ends,
            )  # fmt: skip

        in_two(work, len(parts), 4 * prospect.center.rank + 1)
        return ends

    def _further(self, used: NDArray[np.bool_], parts: Ints) -> tuple[Ints, NDArray[np.int64]] | None:
        """A basis of parts that none has used yet, and the columns of some parts in it."""
        prospect = self.prospect
        room = np.minimum(self.down, self.up)
        room = np.where(self.loose > self.apart, np.minimum(self.down_left, self.up_left), room)
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

    def _ends(self, columns: NDArray[np.int64], basic: Ints) -> NDArray[np.float64]:
        found = []
        for down, up in ((self.down, self.up), (self.down_left, self.up_left)):
            low, high = down[basic].astype(np.float64), up[basic].astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                size = np.abs(columns)
                rise = np.where(columns > 0, low / size, np.where(columns < 0, high / size, np.inf)).min(
                    axis=1
                )
                fall = np.where(columns > 0, high / size, np.where(columns < 0, low / size, np.inf)).min(
                    axis=1
                )
            found += [rise, fall]
        return np.array(found)


class _Far:
    """How far some parts go in all, over bases: for the record itself and for the insider, up and down."""

    def __init__(self, showing: Showing, parts: Ints) -> None:
        self.showing, self.parts = showing, parts
        share = showing.share[parts]
        self.shares = (share, 1 - share)
        count = len(parts)
        self.sums = np.zeros((4, count))
        own = showing.down_left[parts], showing.up_left[parts]
        for place, (part, room) in enumerate([(s, r) for s in self.shares for r in own]):
            self.sums[place] = np.floor(part * room + 1e-9)
        self.lost = np.zeros((4, showing.apart, count))
        """The greatest differences that two records' absence makes, by basis."""

    def add(self, parts: Ints, ends: NDArray[np.float64], basic: Ints) -> None:
        """Add one basis, for all parts."""
        self.add_some(np.arange(len(parts)), parts, ends, basic)

    def add_some(self, places: Ints, parts: Ints, ends: NDArray[np.float64], basic: Ints) -> None:
        """Add one basis, for the parts at some places.

        Args:
            places: (a,) where the parts are among all.
            parts: (a,) the parts.
            ends: (4, a) rise and fall, then both as two absent records leave them.
            basic: The basis' basic parts.
        """
        rise, fall, rise_left, fall_left = ends
        member = np.zeros(self.showing.boxes.count, dtype=np.bool_)
        member[basic] = True
        others = ~member[
            parts
        ]  # a basic part's column is the exchange inside of it, which is counted already
        span = self.showing.span[parts].astype(np.float64)
        for place in range(4):
            share = self.shares[place // 2][places]
            full, left = ((rise, rise_left), (fall, fall_left))[place % 2]
            # more than the whole box is of no use, and must not hide what a loss means
            whole = np.minimum(np.floor(share * np.minimum(full, 1e15) + 1e-9), span) * others
            rest = np.minimum(np.floor(share * np.minimum(left, 1e15) + 1e-9), span) * others
            self.sums[place, places] += whole
            lost = np.vstack([self.lost[place][:, places], whole - rest])
            lost.sort(axis=0)
            self.lost[place][:, places] = lost[1:]

    def widths(self) -> NDArray[np.int64]:
        """(a,) width shown; −1 where the insider is not shown to be free."""
        showing, parts = self.showing, self.parts
        rise, fall, rise_in, fall_in = self.sums - self.lost.sum(axis=1)
        first, last, span = showing.first[parts], showing.last[parts], showing.span[parts]
        ends = [np.minimum(span - x, rise) + np.minimum(x, fall) for x in (first, last)]
        width: Ints = np.minimum(*ends).astype(np.int64)
        if showing.insiders:
            width[(rise_in < span - first) | (fall_in < last)] = -1
        return width


def without(room: Ints, loose: Ints, apart: int) -> Ints:
    """What is left of a room when so many records of an atom have none to give, spread evenly as it is."""
    fair = -(-room // np.maximum(loose, 1))
    left: Ints = np.maximum(room - apart * fair - (apart - 1), 0)
    kept: Ints = np.where(loose > apart, left, 0)
    return kept


def _over(room: Ints, need: NDArray[np.float64]) -> NDArray[np.float64]:
    """(classes, rows) how large entries may be."""
    with np.errstate(divide="ignore"):
        return np.minimum(np.floor(room[None, :] / np.maximum(need, 1e-9) + 1e-9), 127.0)


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
        return Shown(whole, np.flatnonzero(showing.span < need))
    short = showing.quick(need)
    if len(short):
        widths, left = showing.exactly(short, deadline)
        return Shown(int(min(need, widths.min())), left)
    # nobody is left open: how far everybody goes is a figure, and worth a second look only
    short = showing.quick(whole)
    if not len(short):
        return Shown(whole, short)
    widths = showing.widths(short[:MOST_OPEN])
    return Shown(int(max(need, widths.min())) if len(short) <= MOST_OPEN else need, short[:0])


def certified_runs(center: Center) -> tuple[Ints, Ints]:
    """Least and greatest value, (p,) units each, of a run that every record of each atom takes: outsiders' view.

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
