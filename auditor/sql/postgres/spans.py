"""Intervals: their parts, their sums and means, and what brings their parts into one shape.

An interval has months, days and microseconds, which PostgreSQL keeps apart: a difference of two timestamps
has no months, and `avg` passes on what is left of a month as days and what is left of a day as hours.
"""

from __future__ import annotations

from auditor.sql import macros
from auditor.sql.postgres import numbers
from auditor.sql.postgres.values import (
    LONGEST,
    MULTIPLIED,
    Value,
    failing,
    no_operator,
    refuse,
)

KIND = "interval"
_FIELDS = ("year", "month", "day", "hour", "minute")


def extracted(field: str, value: Value) -> Value | None:
    """`EXTRACT(field FROM interval)`: a numeric; None for a field that is not carried over."""
    if field in _FIELDS:
        return Value(f"EXTRACT({field} FROM {value.text})", "numeric", scale=0)
    if field == "epoch":
        return Value(f"CAST(EXTRACT(epoch FROM {value.text}) AS DECIMAL(38, 6))", "numeric", scale=6)
    if field == "second":
        # what the minutes leave: DuckDB's microseconds of an interval are those
        exact = f"CAST(EXTRACT(microsecond FROM {value.text}) AS DECIMAL(18, 0)) * 0.000001"
        return Value(exact, "numeric", MULTIPLIED, scale=6)
    return None


def total(value: Value, opening: str, closing: str) -> Value:
    """`SUM` of intervals: of their months, days and microseconds.

    Args:
        value: What is summed.
        opening: What stands before it: `SUM(`, or `SUM(CASE WHEN … THEN `.
        closing: What stands behind it.
    """
    sums = ", ".join(f"{opening}{part}{closing}" for part in _parts(value))
    return Value(f"{macros.SPAN}({sums})", KIND)


def mean(value: Value, opening: str, closing: str, count: str) -> Value:
    """`AVG` of intervals, by the steps in which PostgreSQL divides."""
    sums = ", ".join(f"{opening}{part}{closing}" for part in _parts(value))
    return Value(f"{macros.SPAN_QUOTIENT}({sums}, NULLIF({count}, 0))", KIND)


def _parts(value: Value) -> tuple[str, str, str]:
    if value.protected:
        raise no_operator(value)
    if len(value.text) > LONGEST:
        raise refuse("the sum of a long expression", "Compute it in a derived table.")
    text = value.text
    return f"{macros.MONTHS}({text})", f"EXTRACT(day FROM {text})", f"{macros.MICROSECONDS}({text})"


def divided(value: Value, divisor: Value) -> Value:
    """An interval divided by a number."""
    if not divisor.is_number or divisor.protected:
        raise no_operator(value, divisor)
    number = numbers.as_double(divisor)
    made = f"{macros.SPAN_QUOTIENT}({', '.join(_parts(value))}, {number})"
    return Value(made if divisor.nonzero else f"CASE {failing(f'{number} = 0')} ELSE {made} END", KIND)


def justified(macro: str, value: Value) -> Value:
    """`justify_hours`, `justify_days` and `justify_interval`."""
    if value.kind != KIND:
        raise no_operator(value)
    return Value(f"{macro}({value.text})", KIND)
