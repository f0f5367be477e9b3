"""A system after true answers: worked out beside it, then taken in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.extremes import Pins, bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.search.judging import judge
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.kernel_moves import joined
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable


@dataclass(frozen=True, eq=False)
class Learned:
    """Queries with their answers, ready to be what the system knows."""

    asked_of: QuestionTables
    """The queries over the system's roomy table, as it was."""
    question_tables: QuestionTables
    """The same over the roomy table that takes the answers in: that one, or one with other bases."""
    before: Pool
    """The worlds that this was worked out from."""
    values: tuple[int, ...]
    boxes: Knowledge
    totals: Ints | None
    """(p',) the roomy table; None where none was found."""
    pool: Pool
    guide: Ints | None = None
    """(n,) a table with the answers that keeps what ranges of statistics say."""

    @property
    def current(self) -> bool:
        """Whether the roomy table is still as it was when this was worked out."""
        return self.asked_of.current

    def judge(self, standard: Standard, allowance: Allowance) -> Judgement:
        """A search from worlds that agree with the answers."""
        known = self.pool.knowledge
        assert known is not None
        return judge(known, self.pool.totals(), standard, allowance)

    def take_in(self) -> RoomyTable:
        """The roomy table with the answers, which the system has from now on: the question is of no use."""
        question_tables, roomy_table = self.question_tables, self.question_tables.roomy_table
        if not self.current:
            raise RuntimeError("the roomy table has changed since this was worked out")
        if self.totals is None or not question_tables.usable:
            roomy_table.lose()
            return roomy_table
        answers = [self.values[place] for place in question_tables.fresh]
        roomy_table.apply(
            self.boxes,
            question_tables.parents,
            self.totals,
            question_tables.rows,
            answers,
            question_tables.pending,
            joined([*question_tables.found, question_tables.moves]),
        )
        return roomy_table


def kept(
    tables: QuestionTables, boxes: Knowledge, sums: Sequence[int], allowance: Allowance, guide: Ints | None
) -> Ints | None:
    """(p',) the table that is kept from now on, with answers to the fresh sums; None if none was found.

    Nobody is held in `tables`; a guide is a table (n,) with these answers.
    """
    pins = hold(boxes, tables.totals, 1, np.zeros(0, dtype=np.int64))
    if pins is None:
        return None
    bounds = bounds_of(boxes, pins)
    totals = _kept(tables, bounds, sums, allowance)
    if totals is None and guide is not None:
        own = np.bincount(boxes.atoms.labels, guide, boxes.count).astype(np.int64)
        totals = own if tables.holds(own, tables.totals, bounds, sums) else None
    return totals


def guided(
    tables: QuestionTables, boxes: Knowledge, sums: Sequence[int], allowance: Allowance
) -> Ints | None:
    """(n,) a table with these answers, spare records too, that keeps what ranges say; None if not found."""
    pins = hold(boxes, tables.totals, 1, np.zeros(0, dtype=np.int64))
    totals = None if pins is None else _kept(tables, bounds_of(boxes, pins), sums, allowance)
    if totals is None or pins is None:
        return None
    return spread(boxes, tables.led(bounds_of(boxes, pins), totals), pins)


def spread(boxes: Knowledge, totals: Ints, pins: Pins) -> Ints:
    """(n,) totals over each part's records as evenly as may be, but for those who are held at an extreme."""
    order, firsts = boxes.members
    rest = totals - pins.top * boxes.high - pins.bottom * boxes.low
    each, more = np.divmod(rest, np.maximum(boxes.sizes - pins.count, 1))
    labels, place = boxes.atoms.labels, np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(firsts[:-1], boxes.sizes)
    loose = place - pins.count[labels]
    held = np.where(place < pins.top[labels], boxes.high[labels], boxes.low[labels])
    table: Ints = np.where(loose < 0, held, each[labels] + (loose < more[labels]))
    return table


def _kept(tables: QuestionTables, bounds: Bounds, sums: Sequence[int], allowance: Allowance) -> Ints | None:
    """The table that is kept from now on: in the middle, so that it stays roomy; None if not found."""
    central = Central(tables, bounds, allowance).table(sums)
    if central is not None:
        return central
    for seed in range(3):
        found = tables.table(bounds, sums, seed)
        if found is not None:
            return found
    return None
