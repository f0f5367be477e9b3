"""What a release comes to: the true answers, and who has to be set aside because of them.

Promise: who is set aside follows from all that was answered before and from the answers released. With these
known, everybody else is shown to keep the limit as before any answer that alone decides, insiders and what is
made likely included. Nothing is recorded or learned here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from auditor.deciding.cases import Case
from auditor.deciding.looks import told_part
from auditor.deciding.rules import TRUE_ANSWER_FACTOR, Rules
from auditor.parties.column import ColumnKnowledge
from auditor.parties.set_aside import Flags, Halves, Row, Separation, part_of
from auditor.told import exactly
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Name, Query


@dataclass(frozen=True)
class Release:
    """Of one protected column."""

    known: ColumnKnowledge
    """What was known before."""
    rows: tuple[Row, ...]
    """The answers, and behind them extremes of all others, where it would hang on those who has them."""
    aside: Flags
    """(n,) who is set aside from then on ..."""
    fresh: Flags
    """... and who was not before."""

    def whole(self) -> ColumnKnowledge:
        """What is known then of everybody."""
        found = ColumnKnowledge(self.known.column, self.known.truth, whole=True)
        found.take_in([*self.known.rows, *self.rows])
        return found


def release_of(known: ColumnKnowledge, queries: Sequence[Query], rules: Rules) -> Release:
    """What the true answers to some queries come to.

    Args:
        known: What is on record of the column, read from the ledger.
        queries: What is asked, whoever is set aside (`ColumnKnowledge.whole_query`).
        rules: What may be spent on one look.
    """
    new = _told(known, queries)
    nobody = np.zeros(known.system.first_spare, dtype=np.bool_)
    before = nobody if known.aside is None else known.aside
    asked = nobody.copy()
    for query in queries:
        asked[query.members] = True
    if not (asked & before).any() and _keeps(known, new, rules):
        return Release(known, new, before, nobody)
    found, aside = Separation([*known.rows, *new], known.system), before.copy()
    left, hang = asked.copy(), known.system.unit_of is not None
    while left.any():
        first = nobody.copy()
        first[np.argmax(left)] = True
        block = found.closed(first, loosely=True)
        left &= ~block
        halves = [found.halves(row, block, loosely=True) for row in found.rows]
        if (block & before).any() or not _keeps_half(0, halves, known, ~block, found, len(new), rules):
            aside |= block
        else:
            hang = hang or any(found.halves(row, block) is None for row in found.rows)
    rows = new
    for wider in (aside, aside | asked):
        besides = _told(known, _had_by(found, found.closed(wider, loosely=True)))
        rows = (*rows, *besides)
        found = Separation([*known.rows, *rows], known.system)
        aside = found.closed(wider)
        halves = [found.halves(row, aside) for row in found.rows]
        # extremes that hang on both sides, and sums of rows in several sets, were not looked at yet
        looked = not hang and len(rows) == len(new)
        if looked or _keeps_half(1, halves, known, aside, found, len(rows), rules):
            return Release(known, rows, aside, aside & ~before)
    for row in rows:
        aside[row.query.members] = True
    aside = found.closed(aside, units=True)
    return Release(known, rows, aside, aside & ~before)


def _told(known: ColumnKnowledge, queries: Sequence[Query]) -> tuple[Row, ...]:
    """True answers."""
    values = zip(queries, known.truth(queries), strict=True)
    return tuple(Row(query, exactly(value)) for query, value in values)


def _had_by(found: Separation, aside: Flags) -> list[Query]:
    """Of extremes that were told and that somebody on either side may have: the others' own.

    Told with the release, they say on which side it is had; else all whom they are about would be set aside.
    What is set aside in the end may hang on them, so they are told whatever comes of it.
    """
    hang = [
        row for row in found.rows if row.query.kind in ("max", "min") and found.halves(row, aside) is None
    ]
    return [part_of(row.query, ~aside[row.query.members]) for row in hang]


def _keeps_half(
    side: int,
    halves: Sequence[Halves | None],
    known: ColumnKnowledge,
    others: Flags,
    found: Separation,
    new: int,
    rules: Rules,
) -> bool:
    """Whether one side keeps the limit with all known that falls to it.

    Args:
        side: Which: 0 or 1.
        halves: Of what was told.
        known: What was known before.
        others: (n,) who is on the other side.
        found: What was told, new things last.
        new: How many these are.
        rules: What may be spent.
    """
    old, changed, last = list[Row](), dict[Name, Row](), dict[Name, Row]()
    for place, (row, both) in enumerate(zip(found.rows, halves, strict=True)):
        assert both is not None
        half = both[side]
        if half is None:
            continue
        if half.told.exact and place >= len(halves) - new:
            last.setdefault(half.query.name, half)
        elif half.told.exact and half is not row:
            changed.setdefault(half.query.name, half)
        else:
            old.append(half)
    # what is new is judged beside the rest; where it follows from that, all that came apart is judged
    for beside, fresh in (([*changed.values()], [*last.values()]), ([], [*changed.values(), *last.values()])):
        inside = ColumnKnowledge(known.column, known.truth)
        inside.system = known.column.new_system(others)
        inside.take_in([*old, *beside])
        if fresh and not _case(inside, fresh).derivable:
            return _keeps(inside, fresh, rules)
    return True


def _keeps(known: ColumnKnowledge, rows: Sequence[Row], rules: Rules) -> bool:
    """Whether everybody is shown to keep the limit with true answers known."""
    case = _case(known, rows)
    if case.derivable:
        return True
    allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
    allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    return told_part(case, [row.told for row in rows], allowance, {}, renew=True).given


def _case(known: ColumnKnowledge, rows: Sequence[Row]) -> Case:
    standard = known.column.standard
    queries = [row.query for row in rows]
    return Case(known.system, queries, standard, known.truth, known.effort, known.model)
