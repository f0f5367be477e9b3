"""Arithmetic over aggregates inside of AT_LEAST and AT_MOST, as DuckDB's own operations.

Elsewhere arithmetic carries PostgreSQL's digits and errors, in texts that nobody could read ends off. An end
is a DOUBLE on this side or that of the value, so here an operation is written as one operation.

Promise: the value is PostgreSQL's, up to what floats round and to a tie that is rounded; where PostgreSQL
fails because a divisor is 0 it may be NULL or no number. Whole numbers are divided as whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from auditor.sql.postgres import types
from auditor.sql.postgres.values import ADDED, INTEGERS, MULTIPLIED, RANKS, SIGNED, STORED, Value, no_operator

Leaf = Callable[[exp.Expr], Value]
"""Translates an aggregate, and what has none inside."""

_OPERATORS: dict[type[exp.Expr], tuple[str, int]] = {
    exp.Add: ("+", ADDED),
    exp.Sub: ("-", ADDED),
    exp.Mul: ("*", MULTIPLIED),
    exp.Div: ("/", MULTIPLIED),
}
_CALLS = ("round", "coalesce", "nullif")


def plain(node: exp.Expr, leaf: Leaf, has_aggregate: Callable[[exp.Expr], bool]) -> Value:
    """An expression over aggregates.

    Args:
        node: The expression.
        leaf: For what is none of the operations that are written plainly.
        has_aggregate: Whether an aggregate stands below a node, which is then not the aggregate itself.
    """
    if not has_aggregate(node):
        return leaf(node)

    def inner(part: exp.Expr) -> Value:
        return plain(part, leaf, has_aggregate)

    if isinstance(node, exp.Paren):
        return inner(node.this)
    if isinstance(node, exp.Neg):
        value = _number(inner(node.this))
        return Value(f"-{value.at(SIGNED + 1)}", value.kind, SIGNED)
    if type(node) in _OPERATORS:
        return _operation(node, inner(node.this), inner(node.args["expression"]))
    if isinstance(node, exp.Cast):
        return _cast(node, inner(node.this)) or leaf(node)
    if isinstance(node, exp.Anonymous) and str(node.name).lower() in _CALLS:
        values = [_number(inner(each)) for each in node.expressions]
        kind = _wider(values[:1] if node.name.lower() == "round" else values)
        return Value(f"{node.name.upper()}({', '.join(each.text for each in values)})", kind)
    return leaf(node)


def _operation(node: exp.Expr, left: Value, right: Value) -> Value:
    sign, level = _OPERATORS[type(node)]
    left, right = _number(left), _number(right)
    if sign == "/" and left.kind in INTEGERS and right.kind in INTEGERS:
        sign = "//"
    text = f"{left.at(level)} {sign} {right.at(level + 1)}"
    return Value(text, _wider([left, right]), level)


def _wider(values: list[Value]) -> str:
    """The kind to which the others give way."""
    kinds = [each.kind if each.is_number else "numeric" for each in values]
    return max(kinds, key=RANKS.index) if kinds else "numeric"


def _cast(node: exp.Cast, value: Value) -> Value | None:
    kind, parameters = types.type_of(node.args["to"])
    if kind == "numeric":
        if not parameters:
            return Value(value.text, kind, value.level)
        return Value(f"CAST({value.text} AS DECIMAL({', '.join(map(str, parameters))}))", kind)
    if kind not in RANKS:
        return None
    return Value(f"CAST({value.text} AS {STORED[kind]})", kind)


def _number(value: Value) -> Value:
    if not value.is_number and value.kind != "parameter":
        raise no_operator(value)
    return value
