"""What AT_LEAST and AT_MOST may stand around.

Promise: what passes is one aggregate of a protected column, with its FILTER, or arithmetic that reads such
an aggregate; everything else has one code.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from auditor.sql import arithmetic
from auditor.sql.ranges import end_of
from auditor.sql.understood import NotUnderstood


def argument_of(call: exp.Expr) -> exp.Expr:
    """What a call that passed `require_argument` stands around."""
    (found,) = call.expressions
    assert isinstance(found, exp.Expr)
    return found


def is_aggregate(argument: exp.Expr) -> bool:
    """Whether an argument is one aggregate, with its FILTER."""
    return isinstance(argument.this if isinstance(argument, exp.Filter) else argument, exp.AggFunc)


def require_argument(call: exp.Expr, column: str) -> None:
    """Check that a call stands around an aggregate or arithmetic over aggregates, and alone.

    Raises:
        NotUnderstood: code "range-argument".
    """
    parent = call.parent
    if isinstance(parent, exp.Filter | exp.Window) and call.arg_key == "this":
        raise _misplaced(call, column, "what FILTER or OVER is written after")
    if len(call.expressions) != 1:
        raise _misplaced(call, column, f"{len(call.expressions) or 'no'} arguments")
    argument = argument_of(call)
    for each in argument.walk():
        if end_of(each) is not None:
            raise _misplaced(call, column, f"another {end_of(each)}")
    if is_aggregate(argument):
        return
    if isinstance(argument, exp.Window) or not any(True for _ in arithmetic.aggregates(argument)):
        raise _misplaced(call, column, "what is no aggregate")
    if arithmetic.of_aggregates(argument) is None:
        raise _misplaced(call, column, "something else made of aggregates")


def require_protected(call: exp.Expr, column: str, protected: Collection[int]) -> None:
    """Check that some aggregate is among those of protected columns, by id.

    Raises:
        NotUnderstood: code "range-argument".
    """
    if not any(id(each) in protected for each in arithmetic.aggregates(argument_of(call))):
        raise _misplaced(call, column, "what is public and always exact")


def _misplaced(call: exp.Expr, column: str, what: str) -> NotUnderstood:
    return NotUnderstood("range-argument", name=str(end_of(call)), what=what, column=column)
