"""Lower bounds of the runs of values that all records keep, from one table and its basis.

A record i moves by itself; what it takes is given by others of its atom and, through the basis, by basic
atoms. With insiders, any other record j may have any value: then j is first moved there, and i
after it, out of rooms that are divided between the two and counted as if both had nothing to give. So what
is shown for i holds whatever j's value turns out to be (`promise.md`; `mathematics.md`, 2: insiders).

Extremes are attained by *held* records, more of them than the two that may be elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference import sizes
from cae_sql.inference.allowance import ENTRIES, REPORT, Allowance
from cae_sql.inference.certify.payments import Payments
from cae_sql.inference.certify.rooms import Far, Judged, Rooms, Wanted
from cae_sql.inference.certify.sharing import ROUNDS, Sharing
from cae_sql.inference.facts.extremes import Pins, bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.columns import SAFETY, loads
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.margins import nothing, toll
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.threads import in_two

MOST_TABLES = 60
"""That are looked at together: a bit each."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What one pair of tables shows. Shapes: u parts, or units where these have several records."""

    width: int
    """Every record takes a run of so many values less one, whatever an insider has; −1: nothing shown."""
    own: NDArray[np.bool_]
    """(u,) whose records take a run that is long enough, if what the insider has is free ..."""
    free: NDArray[np.bool_]
    """(u,) ... and whose records, as insiders, may have any value of their box meanwhile."""
    open: Ints
    """Parts of which, in one way or the other, less than what is needed was shown."""

    @classmethod
    def of(cls, width: int, own: NDArray[np.bool_], free: NDArray[np.bool_], boxes: Knowledge) -> Shown:
        """By part: all records of a unit must be shown around one table."""
        whole = boxes.atoms.occupied.whole
        return cls(width, whole(own), whole(free), np.flatnonzero(~(own & free)))


def all_pairs(those: Sequence[Shown]) -> bool:
    """Whether several tables together show everybody a long enough run, whatever any other's value is."""
    if any(shown.own.all() and shown.free.all() for shown in those):
        return True
    return bool(those) and not left_open(those).own.any()


def left_open(those: Sequence[Shown]) -> Wanted:
    """The parts, or units, for which several tables together do not show a run, and not as insiders.

    A record and an insider must both find theirs around the same table: what one table shows of the one and
    another table of the other says nothing of the two together.
    """
    own, free = (np.zeros(len(those[0].own), dtype=np.int64) for _ in range(2))
    for number, shown in enumerate(those[-MOST_TABLES:]):
        own |= shown.own.astype(np.int64) << number
        free |= shown.free.astype(np.int64) << number
    # there are few kinds, though many parts
    owns, own_of = np.unique(own, return_inverse=True)
    frees, free_of = np.unique(free, return_inverse=True)
    apart = (owns[:, None] & frees[None, :]) == 0
    return Wanted(apart.any(axis=1)[own_of], apart.any(axis=0)[free_of])


class Coverage:
    """The tables of one judgement, and what their rooms show. Shapes: p' parts."""

    def __init__(self, question_tables: QuestionTables, judged: Judged, tables: Tables) -> None:
        """Measure the rooms that all of the tables leave."""
        self.question_tables, self.judged, softs = question_tables, judged, question_tables.softs
        drawing: NDArray[np.bool_] | None = None
        if judged.boxes.atoms.units is not None:
            drawing = np.asarray(question_tables.marks_of(np.arange(judged.boxes.count)).any(axis=1))
        self.rooms, self.ways = Rooms(judged, tables, drawing), question_tables.roomy_table.ways
        self.soft = bool(softs)
        """Whether ranges of statistics are kept by a margin."""
        found = toll(softs, judged.boxes, judged.pins, tables, judged.need, judged.insiders)
        self.inside = found is not None
        """Whether tables are well inside of such ranges."""
        self.toll = nothing(self.rooms.count) if found is None else found

    def exactly(self, need: int, allowance: Allowance, keep: bool = False) -> Shown:
        """Widths that are shown: in closed form, by the basis, then by payments out of shared rooms.

        Each is asked about the parts that the ones before left open. Nothing more is tried from the width on
        that is needed, or beyond the allowance. Moves that are found may serve later judgements if `keep`
        says so: not where answers are true ones.
        """
        rooms, basic = self.rooms, self.question_tables.pending.basic
        if not self.inside:
            none = np.zeros(rooms.count, dtype=np.bool_)
            return Shown.of(-1, none, none, self.judged.boxes)
        allowance.spend(2 * rooms.count * (1 + self.question_tables.roomy_table.rank) / ENTRIES)
        far = Far(rooms)
        # moves inside of a part change what ranges of statistics say
        closed = rooms.rich(need) & (not self.soft and self.ways.closed_form)
        far.show(np.flatnonzero(closed), need)
        payments, sharing = Payments(self.question_tables, rooms, self.toll, need, allowance), None
        if rooms.several.any() and len(far.left(need)):
            rooms.keep_inside(closed, need)
            sharing = Sharing(rooms.occupied, rooms.drawing)
        for part_of in (1.0,) if sharing is None else ROUNDS:
            left, lacking = far.left(need), far.lacking(need)
            if sharing is not None:
                if not len(left) or (allowance.over and part_of > ROUNDS[0]):
                    break
                rooms.divisions = sharing.divisions(lacking, part_of)
            if len(left):
                far.add(left, self._reach(left), basic)
            if self.ways.payments:
                payments.show(far, keep)
            if sharing is not None:
                sharing.take(lacking & ~far.lacking(need))
        # parts that were not asked about are not shown, unless they have no protected record
        asked, nobody = rooms.asked, ~self.judged.boxes.protected
        widths, free = np.where(asked.own | nobody, far.widths, -1), far.free & (asked.free | nobody)
        width = int(min(need, widths.min(initial=need))) if free.all() else -1
        return Shown.of(width, widths >= need, free, self.judged.boxes)

    def runs(self) -> tuple[Ints, Ints]:
        """Least and greatest value, (p',) units each, that a record of each part takes: outsiders' view."""
        rooms = self.rooms
        ends = self._reach(np.arange(rooms.count))
        ends[:, self.question_tables.pending.basic] = 0
        rise, fall = rooms.own + np.minimum(ends[:2] + rooms.slack, 1e9).astype(np.int64)
        low, high = self.judged.boxes.own
        return np.maximum(low + rooms.first - fall, low), np.minimum(low + rooms.last + rise, high)

    def _reach(self, parts: Ints) -> NDArray[np.floating]:
        """(4, a) rise and fall with all of the rooms, then with what two records leave."""
        pending, toll = self.question_tables.pending, self.toll
        scarce, ends = self.rooms.scarce(pending.basic), np.zeros((4, len(parts)), dtype=self.rooms.kind)
        safety = SAFETY if self.rooms.single or self.soft else 1.0

        def work(start: int, end: int) -> None:
            loads(pending.form, scarce, parts, pending.basic, toll, safety, start, end, ends)

        if self.ways.bases:
            in_two(work, len(parts), self.question_tables.roomy_table.rank + 1)
        return ends


def show(
    question_tables: QuestionTables, judged: Judged, tables: Tables, allowance: Allowance, keep: bool = False
) -> Shown:
    """What is shown around every one of some tables, which agree with all answers.

    Nothing more is tried beyond the allowance; `keep` as in `Coverage.exactly`.
    """
    boxes, need, wanted = judged.boxes, judged.need, judged.wanted
    showing = Coverage(question_tables, judged, tables)
    span, whole = showing.rooms.span, boxes.narrowest
    if whole < need:
        return Shown.of(whole, span >= need, np.zeros(boxes.count, dtype=np.bool_), boxes)
    shown = showing.exactly(need, allowance, keep)
    if shown.width < need or boxes.count > sizes.MEASURED or wanted is not None or showing.soft:
        return shown
    # nobody is left open: how far everybody goes is a figure, and worth a second look
    wide = showing.exactly(whole, Allowance(0))
    return replace(shown, width=max(shown.width, wide.width))


def certified_runs(
    roomy_table: RoomyTable, held: Sequence[Query] | None = (), bounds: Sequence[Bound] = ()
) -> tuple[Ints, Ints]:
    """Least and greatest value, (n,) units each, of a run that each record takes.

    Where no table is at hand a run is the box of an atom in no answer, else empty: low above high. Tables
    keep what ranges of statistics say of the held records (None: not known where), and bounds by a
    margin.
    """
    boxes = roomy_table.boxes
    nobody = (boxes.high + 1)[boxes.atoms.labels], boxes.high[boxes.atoms.labels]
    if not roomy_table.usable or held is None:
        return nobody
    question_tables = QuestionTables(roomy_table, [], held, bounds=bounds)
    boxes, totals = question_tables.boxes, question_tables.totals
    pins = hold(boxes, totals, 2, np.zeros(0, dtype=np.int64))
    if (held or bounds) and pins is not None:
        found = Central(question_tables, bounds_of(boxes, pins), Allowance(REPORT)).table([])
        if found is None:
            return nobody
        totals = found
    if pins is None or (totals < bounds_of(boxes, pins).least).any():
        pins = Pins(np.zeros_like(boxes.low), np.zeros_like(boxes.low)) if not boxes.extremes else None
    if pins is None or (totals > bounds_of(boxes, pins).most).any():
        return nobody
    showing = Coverage(question_tables, Judged(boxes, pins, boxes.widest, 0), Tables(totals, totals))
    if not showing.inside:
        return nobody
    low, high = showing.runs()
    return low[boxes.atoms.labels], high[boxes.atoms.labels]
