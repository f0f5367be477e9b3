"""A count by a value that a subquery gives: the value is a question of its own, and the count the next one.

    SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > (SELECT AVG(salary) FROM staff)

Promises: the subquery goes the whole way, is recorded and told before the statement around it is understood;
what is written into the condition is a cell of that answer, so it is what could have been pasted; where
there is none the statement is refused, by what was told of the subquery alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from auditor.decision import Decision
from auditor.gate.answer import Answer
from auditor.gate.request import Ask
from auditor.sql import Plan, Schema, Unsupported
from auditor.sql.asked_first import UNTOLD, First, asked_first, with_values, written
from auditor.sql.dialects import translate
from auditor.sql.shape import shape_of
from auditor.sql.understood import NotUnderstood

CODES = frozenset(["protected-condition", "protected-aggregate", "range-argument"])
"""Of counts by the protected value that are not understood as they stand: under WHERE or FILTER, in COUNT_IF,
and by an end."""

Read = Callable[[Ask, str], Plan | Unsupported]
"""A statement's text as it is understood."""

_RANGE = Unsupported(
    "range",
    "A count by the values of a protected column is told as a range alone.",
    "Ask for its ends: AT_LEAST(COUNT(*)) and AT_MOST(COUNT(*)).",
)
_NOT_EXACT = Decision(
    "refused",
    "range",
    "The condition compares with a value that is asked first, and that is not told exactly.",
    "Ask for it by itself, with AT_LEAST(…) and AT_MOST(…) around it, and write one of them there.",
)
_NOT_YET = Decision(
    "refused",
    "range",
    "It has not been told yet, and the verdict hangs on it.",
    "Ask for that value first. Then this statement can be checked.",
)


def firsts_of(ask: Ask, read: Read) -> tuple[First, ...]:
    """What is to be asked first: each of one column, and understood by itself."""
    firsts = asked_first(ask.sql, ask.dialect)
    plans = [read(replace(ask, parameters=None), first.sql) for first in firsts]
    alone = all(
        isinstance(plan, Plan) and len(plan.columns) == 1 and not (plan.probe or plan.preview)
        for plan in plans
    )
    return firsts if alone else ()


def untold(ask: Ask, read: Read, schema: Schema) -> Plan | Unsupported | None:
    """The statement as it would be understood with a constant in each place; None where that is no help."""
    firsts = firsts_of(ask, read)
    if not firsts:
        return None
    found = read(ask, with_values(ask.sql, firsts, [UNTOLD] * len(firsts)))
    if isinstance(found, Unsupported):
        return _RANGE if found.code == "range" else None
    with suppress(NotUnderstood):
        text = translate(ask.sql, ask.dialect, schema).strip().rstrip(";")
        columns = shape_of(schema).describe(text, ask.parameters)
        if tuple(type_ for _, type_ in columns) == found.types:
            return replace(found, columns=tuple(name for name, _ in columns), untold=True, clock=True)
    return None


def as_named(plan: Plan, first: Plan) -> Plan | Unsupported:
    """The plan with what was told in it, its columns named as the statement's are."""
    if plan.types != first.types:
        return NotUnderstood("translation").reason
    return replace(plan, columns=first.columns, clock=plan.clock or first.clock)


def with_told(ask: Ask, firsts: Iterable[First], answers: Iterable[Answer]) -> str | None:
    """The statement with what was told; None where something is not told exactly."""
    values = [_cell(answer) for answer in answers]
    told = [value for value in values if value is not None]
    return with_values(ask.sql, tuple(firsts), told) if len(told) == len(values) else None


def _cell(answer: Answer) -> str | None:
    rows = answer.fetchall()
    return written(rows[0][0]) if len(rows) == 1 else None


def refused(first: Decision) -> Decision:
    """The verdict on a statement of which what is asked first is not answered."""
    said = f"The condition compares with a value that is asked first. {first.message}"
    return Decision(first.verdict, first.code, said, first.hint)


def not_exact() -> Decision:
    """The verdict where the value is told as an end, or not at all."""
    return _NOT_EXACT


def not_yet() -> Decision:
    """The verdict of a check where the value has not been told."""
    return _NOT_YET
