"""Comparisons: of values that go together, and that PostgreSQL would find equal where DuckDB does."""

from __future__ import annotations

from auditor.sql.postgres import casts, functions
from auditor.sql.postgres.values import COMPARED, OTHER, Value, no_operator, refuse


def beside(left: Value, right: Value) -> tuple[Value, Value]:
    """Operands of arithmetic, a text without type as PostgreSQL would read it there."""
    for value, other in ((left, right), (right, left)):
        if value.kind == "unknown" and (other.kind in ("unknown", "parameter") or not other.is_number):
            if other.kind in ("date", "timestamp", "interval") and value.literal is not None:
                raise refuse("a text without type beside a date", "Write DATE '…' or INTERVAL '…'.")
            raise no_operator(left, right)
    return casts.typed(left, right.kind), casts.typed(right, left.kind)


def compared(left: Value, operator: str, right: Value) -> Value:
    """A comparison of values of one kind, or of numbers."""
    if "other" in (left.kind, right.kind):
        raise no_operator(left, right)
    if left.kind != "parameter" and right.kind != "parameter":
        _, (left, right) = functions.unify(left, right)
    if operator not in ("<", ">", "<=", ">="):
        _require_equatable(left, right)
    return Value(f"{left.at(OTHER)} {operator} {right.at(OTHER)}", "bool", COMPARED)


def _require_equatable(*values: Value) -> None:
    """Check that values may be tested for equality: PostgreSQL rounds a numeric quotient, its own way.

    An exact number equals a quotient there if and only if it does here. What is computed from quotients,
    roots and deviations ends in digits that differ.
    """
    inexact = [value for value in values if value.kind == "numeric" and value.scale is None]
    if any(value.kind in ("float4", "float8") for value in values):
        inexact = [value for value in inexact if value.ratio is None]
    plain = all(value.ratio is not None and not value.derived for value in inexact)
    if len(inexact) > 1 or not plain:
        raise refuse(
            "whether an inexact numeric equals another number", "Round both, or compare with < and >."
        )
