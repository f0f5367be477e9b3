"""Comparisons: of values that go together, and that PostgreSQL would find equal where DuckDB does."""

from __future__ import annotations

from dataclasses import replace

from auditor.sql.postgres import casts, functions, numbers
from auditor.sql.postgres.values import ADDED, AND, ATOM, COMPARED, NOT, OR, OTHER, Value, no_operator, refuse


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
    if left.is_number and right.is_number:
        left, right = _numbers(left, right)
    elif "parameter" not in (left.kind, right.kind) or "bpchar" in (left.kind, right.kind):
        _, (left, right) = functions.unify(left, right)
    if operator not in ("<", ">", "<=", ">="):
        functions.require_equatable(left, right)
    return Value(f"{left.at(OTHER)} {operator} {right.at(OTHER)}", "bool", COMPARED)


def _numbers(left: Value, right: Value) -> tuple[Value, Value]:
    """Two numbers as PostgreSQL compares them: a real and another number as double precision."""
    if "float4" in (left.kind, right.kind) and left.kind != right.kind:
        left, right = (
            each if each.protected else replace(each, text=numbers.as_double(each), kind="float8", level=ATOM)
            for each in (left, right)
        )
    return left, right


def of_rows(left: list[Value], right: list[Value], operator: str) -> Value:
    """A comparison of rows: the first values that are not equal decide."""
    if len(left) != len(right):
        raise refuse("rows of different lengths are compared", "Write as many values on either side.")
    if operator not in ("=", "<>", "<", ">", "<=", ">="):
        raise refuse(f"{operator} of rows", "Compare the values one by one.")
    pairs = list(zip(left, right, strict=True))
    if operator in ("=", "<>"):
        word, level = ("AND", AND) if operator == "=" else ("OR", OR)
        tests = [compared(a, operator, b).at(level + 1) for a, b in pairs]
        return Value(f" {word} ".join(tests), "bool", level if len(tests) > 1 else COMPARED)
    test = compared(pairs[-1][0], operator, pairs[-1][1])
    for a, b in reversed(pairs[:-1]):
        equal = f"{compared(a, '=', b).at(AND + 1)} AND {test.at(AND + 1)}"
        test = Value(f"{compared(a, operator[0], b).at(AND)} OR {equal}", "bool", OR)
    return test


def between(value: Value, low: Value, high: Value, negate: bool) -> Value:
    """BETWEEN: two comparisons, each with its own types."""
    if value.kind == low.kind == high.kind:
        word = "NOT BETWEEN" if negate else "BETWEEN"
        text = f"{value.at(ADDED)} {word} {low.at(ADDED)} AND {high.at(ADDED)}"
        return Value(text, "bool", COMPARED) if value.kind != "other" else compared(value, ">=", low)
    first, second = compared(value, ">=", low), compared(value, "<=", high)
    text = f"{first.at(COMPARED)} AND {second.at(COMPARED)}"
    return Value(f"NOT ({text})", "bool", NOT) if negate else Value(text, "bool", AND)


def listed(left: Value, items: list[Value], negate: bool) -> Value:
    """IN with a list."""
    kinds = {each.kind for each in (left, *items) if each.is_number}
    if "float4" in kinds and len(kinds) > 1:
        raise refuse("real and other numbers in one IN", "Cast to double precision: x::float8 IN (…).")
    _, (left, *items) = functions.unify(left, *items)
    for item in items:
        compared(left, "=", item)
    word = "NOT IN" if negate else "IN"
    return Value(f"{left.at(OTHER)} {word} ({', '.join(item.text for item in items)})", "bool", COMPARED)
