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
from auditor.parties.set_aside import Flags, Row, Separation
from auditor.told import exactly
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Name, Query


@dataclass(frozen=True)
class Release:
    """Of one protected column."""

    known: ColumnKnowledge
    """What was known before."""
    rows: tuple[Row, ...]
    """The answers."""
    aside: Flags
    """(n,) who is set aside from then on ..."""
    fresh: Flags
    """... and who was not before."""
    again: bool
    """Whether what was told before has to be taken apart anew."""

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
    values = known.truth(queries)
    new = tuple(Row(query, exactly(value)) for query, value in zip(queries, values, strict=True))
    nobody = np.zeros(known.system.first_spare, dtype=np.bool_)
    before = nobody if known.aside is None else known.aside
    asked = nobody.copy()
    for query in queries:
        asked[query.members] = True
    if not (asked & before).any() and _keeps(known, new, rules):
        return Release(known, new, before, nobody, again=False)
    found, aside = Separation([*known.rows, *new], known.system), before.copy()
    while asked.any():
        first = nobody.copy()
        first[np.argmax(asked)] = True
        block = found.closed(first)
        asked &= ~block
        if (block & before).any() or not _keeps_within(block, known, found, len(new), rules):
            aside |= block
    if aside.any():
        aside = found.closed(aside)
        if known.system.unit_of is not None and not _keeps_within(~aside, known, found, len(new), rules):
            aside = found.closed(aside, units=True)  # sums of rows of several sets were not looked at
    return Release(known, new, aside, aside & ~before, again=bool(aside.any()))


def _keeps_within(block: Flags, known: ColumnKnowledge, found: Separation, new: int, rules: Rules) -> bool:
    """Whether a closed set keeps the limit: what is new of it is judged beside what was told of it before.

    New are the last rows, and what others say of it now that they fall apart.
    """
    old, fresh = list[Row](), dict[Name, Row]()
    for place, row in enumerate(found.rows):
        halves = found.halves(row, block)
        assert halves is not None
        half = halves[0]
        if half is None:
            continue
        if half.told.exact and (half is not row or place >= len(found.rows) - new):
            fresh.setdefault(half.query.name, half)
        else:
            old.append(half)
    inside = ColumnKnowledge(known.column, known.truth)
    inside.system = known.column.new_system(~block)
    inside.take_in(old)
    return _keeps(inside, list(fresh.values()), rules)


def _keeps(known: ColumnKnowledge, rows: Sequence[Row], rules: Rules) -> bool:
    """Whether everybody is shown to keep the limit with true answers known."""
    case = Case(
        known.system,
        [row.query for row in rows],
        known.column.standard,
        known.truth,
        known.effort,
        known.model,
    )
    if not rows or case.derivable:
        return True
    allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
    allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    return told_part(case, [row.told for row in rows], allowance, {}, renew=True).given
