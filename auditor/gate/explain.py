"""What would become of each aggregate of each group of a statement, before it is asked: EXPLAIN and checks.

The statement is tried beside what is known (`Party.beside`), on the way that it would go, with hypothetical
answers in place of the true ones. So groups are judged together and one after the other as they would be, in
the same tables. What cannot be known before is where the true answers lie: one far from all hypothetical ones
may be told as an end where an exact value is foreseen, and what is judged after it may fare otherwise.

Promise: all of it is worked out from past answers, public data, the policy and the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from auditor.data.database import Asked, Database
from auditor.decision import Decision
from auditor.gate import verdict
from auditor.gate.answer import Answer
from auditor.gate.ends import aggregate_of, group_of
from auditor.sql import Plan
from auditor.told import Fate, Foreseen, Told

COLUMNS = {
    "group": "VARCHAR",
    "aggregate": "VARCHAR",
    "fate": "VARCHAR",
    "reason": "VARCHAR",
    "left": "DOUBLE",
}
"""Columns of EXPLAIN, with DuckDB's types."""

REASONS = {
    "known": "Earlier answers settle it, or those of the groups before it.",
    "exact": "It can be told exactly.",
    "end": "An end of where it lies can be told: at most, or at least.",
    "range": "Two ends can be told, between which it lies.",
    "risk": "Together with what is told before it could tell too much about somebody's {column}.",
    "time": "It could not be shown in time that every {column} stays uncertain enough.",
    "uncounted": "What it would make likely of somebody's {column} cannot be worked out.",
    "min-size": "It is a group of fewer than the policy's least size.",
    "refused": "The statement would be refused as a whole.",
}
"""By fate, and by why something is withheld."""
TOGETHER = "These are withheld groups together."
"""What is said of them before the reason."""


def foreseen(
    plan: Plan,
    asked: Sequence[Asked],
    fates: Sequence[str],
    told: Sequence[Told[Fraction] | None],
    database: Database,
    left: Sequence[float | None],
    label: str | None = None,
) -> tuple[Foreseen, ...]:
    """What would become of what is asked, in the order in which it is asked.

    Args:
        plan: The statement.
        asked: What it asks.
        fates: By asked: "known", "safe", or why it is withheld, a name of `REASONS`.
        told: By asked, what was told of a hypothetical table.
        database: The public instance.
        left: By asked, the share of the limit that is left.
        label: What names withheld groups together; None: NULL.
    """
    found = []
    for each, fate, ends, share in zip(asked, fates, told, left, strict=True):
        shown: Fate = _told(ends) if fate == "safe" else "known" if fate == "known" else "withheld"
        column = database.schema.protected[each.protected].column
        reason = REASONS[fate if shown == "withheld" else shown].format(column=column)
        if database.keys(plan, each.block, each.group) is None:
            reason = f"{TOGETHER} {reason}"
        group, name = group_of(plan, each, database, label), aggregate_of(plan, each, database)
        found.append(Foreseen(group, name, shown, reason, share))
    return tuple(found)


def _told(ends: Told[Fraction] | None) -> Fate:
    """What is told of something that may be."""
    if ends is None or ends.exact:
        return "exact"
    return "end" if None in (ends.least, ends.most) else "range"


def answered(decision: Decision) -> Answer:
    """A decision that was foreseen, as the rows of EXPLAIN."""
    rows = [each.row for each in decision.fates]
    kinds = [pa.string(), pa.string(), pa.string(), pa.string(), pa.float64()]
    columns = [pa.array([row[place] for row in rows], type=kind) for place, kind in enumerate(kinds)]
    table = pa.table(columns, names=list(COLUMNS))
    return Answer(table, tuple(COLUMNS.values()), _said(decision))


def _said(decision: Decision) -> Decision:
    """In words what would become of the statement."""
    said = f"It would be {decision.verdict} ({decision.code}): {decision.message}"
    message = f"{verdict.EXPLAINED.message} {said}"
    return replace(verdict.EXPLAINED, message=message, hint=decision.hint, fates=decision.fates)
