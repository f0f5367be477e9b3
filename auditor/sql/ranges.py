"""AT_LEAST and AT_MOST: what they may stand around.

To the engine each is a macro that gives its argument as DOUBLE, so names and types are the engine's word.
What runs has none: lowering puts the ends of what is told in their place.

Promise: what passes stands around one aggregate of a protected column, with its FILTER; everything else has
one code.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from auditor.sql.statement import ENDS
from auditor.sql.understood import NotUnderstood

MACROS = [f"CREATE MACRO {word.lower()}(x) AS CAST(x AS DOUBLE)" for word in ENDS]
"""For an instance without rows, which says what columns a statement gives."""


def end_of(node: exp.Expr) -> str | None:
    """Which of the two a call is, or None."""
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, str):
        return None
    word = node.this.upper()
    return word if word in ENDS else None


def plainer(tree: exp.Query) -> None:
    """Write each call in one way, in place."""
    for call in list(tree.find_all(exp.Anonymous)):
        word = end_of(call)
        if word is not None:
            call.set("this", word)
            call.set("expressions", [each.unnest() for each in call.expressions])
            _within_group(call)


def _within_group(call: exp.Expr) -> None:
    """Write `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)` inside of a call as QUANTILE_CONT(x, p)."""
    for node in list(call.find_all(exp.WithinGroup)):
        inner, order = node.this, node.expression
        if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or inner.expression is not None:
            continue
        if not isinstance(order, exp.Order) or len(order.expressions) != 1:
            continue
        (ordered,) = order.expressions
        if isinstance(ordered, exp.Ordered) and not ordered.args.get("desc"):
            node.replace(type(inner)(this=ordered.this.copy(), expression=inner.this.copy()))


def require_aggregate(call: exp.Expr, column: str) -> None:
    """Check that a call stands around an aggregate, and alone.

    Raises:
        NotUnderstood: code "range-argument".
    """
    arguments = call.expressions
    holder = arguments[0] if len(arguments) == 1 else None
    inner = holder.this if isinstance(holder, exp.Filter) else holder
    parent = call.parent
    if isinstance(parent, exp.Filter | exp.Window) and call.arg_key == "this":
        raise _misplaced(call, column, "what FILTER or OVER is written after")
    if len(arguments) != 1:
        raise _misplaced(call, column, f"{len(arguments) or 'no'} arguments")
    if inner is not None and end_of(inner) is not None:
        raise _misplaced(call, column, f"another {end_of(inner)}")
    if not isinstance(inner, exp.AggFunc):
        raise _misplaced(call, column, "what is no aggregate")


def require_protected(call: exp.Expr, column: str, protected: Collection[int]) -> None:
    """Check that the aggregate is among those of protected columns, by id.

    Raises:
        NotUnderstood: code "range-argument".
    """
    holder = call.expressions[0]
    if id(holder.this if isinstance(holder, exp.Filter) else holder) not in protected:
        raise _misplaced(call, column, "what is public and always exact")


def _misplaced(call: exp.Expr, column: str, what: str) -> NotUnderstood:
    return NotUnderstood("range-argument", name=str(end_of(call)), what=what, column=column)
