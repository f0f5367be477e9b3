"""Between which values arithmetic over aggregates lies, from the ends of each: interval arithmetic, outward.

Pure, in fractions: nothing is rounded on the way, but where the statement rounds. An aggregate that stands
twice is taken for two, so a span may be wider than it needs to be, and never too narrow.

Promise: whatever values the aggregates have between their ends, the value of the term lies in the span, both
ends included, and is NULL where the span is. Where that cannot be said, there is no span.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from auditor.sql.statement import Operation, Term

Span = tuple[Fraction, Fraction] | None
"""Both ends included; None: NULL."""

_SLACK = Fraction(1, 2**40)
"""Part of a value by which the engine's own, in floats, may be beside it where both are rounded."""


class NoSpan(Exception):
    """Nothing can be said: an aggregate of which nothing is told, a divisor that may be 0, no number."""


def span_of(term: Term, told: Mapping[int, Span], public: Mapping[int, Any]) -> Span:
    """The span of a term in one group.

    Args:
        term: What is worked out.
        told: By position of the aggregate, between what it is told to lie; those of which nothing is told
            are missing.
        public: By position of the public column, its value.

    Raises:
        NoSpan: nothing can be said of it.
    """
    if term.operation == "constant":
        return term.number, term.number
    if term.operation == "told":
        if term.place not in told:
            raise NoSpan
        return told[term.place]
    if term.operation == "public":
        return _of_public(public[term.place])
    spans = [span_of(part, told, public) for part in term.parts]
    if term.operation == "coalesce":
        return next((each for each in spans if each is not None), None)
    given = [each for each in spans if each is not None]
    if len(given) < len(spans):
        return None
    return _RULES[term.operation](given, term.place)


def _of_public(value: Any) -> Span:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not math.isfinite(value):
        raise NoSpan
    return Fraction(value), Fraction(value)


Given = Sequence[tuple[Fraction, Fraction]]


def _add(given: Given, _: int) -> Span:
    (a, b), (c, d) = given
    return a + c, b + d


def _subtract(given: Given, _: int) -> Span:
    (a, b), (c, d) = given
    return a - d, b - c


def _negate(given: Given, _: int) -> Span:
    ((a, b),) = given
    return -b, -a


def _multiply(given: Given, _: int) -> Span:
    left, right = given
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _divide(given: Given, _: int) -> Span:
    left, right = given
    if right[0] <= 0 <= right[1]:
        raise NoSpan
    corners = [a / b for a in left for b in right]
    return min(corners), max(corners)


def _divide_whole(given: Given, _: int) -> Span:
    """Whether it cuts towards zero or leaves fractions, as of DECIMALs, is the types' to say: both are in."""
    found = _divide(given, 0)
    assert found is not None
    return Fraction(math.floor(found[0])), Fraction(math.ceil(found[1]))


def _round(given: Given, digits: int) -> Span:
    """To the nearest; a tie, and what may be one in floats, may go either way."""
    ((low, high),) = given
    unit = Fraction(10) ** digits
    low, high = (low - abs(low) * _SLACK) * unit, (high + abs(high) * _SLACK) * unit
    half = Fraction(1, 2)
    return math.ceil(low - half) / unit, math.floor(high + half) / unit


def _single(given: Given, _: int) -> Span:
    """As a number of 32 bits, and one further, since the engine may have rounded to 64 bits before."""
    ((low, high),) = given
    ends = []
    for value, way in ((low, -np.inf), (high, np.inf)):
        found = np.nextafter(np.float32(float(value)), np.float32(way))
        if not np.isfinite(found):
            raise NoSpan
        ends.append(Fraction(float(found)))
    return ends[0], ends[1]


def _nullif(given: Given, _: int) -> Span:
    found, (number, _number) = given
    if found == (number, number):
        return None
    if found[0] <= number <= found[1]:
        raise NoSpan
    return found


_RULES: dict[Operation, Callable[[Given, int], Span]] = {
    "add": _add,
    "subtract": _subtract,
    "negate": _negate,
    "multiply": _multiply,
    "divide": _divide,
    "divide whole": _divide_whole,
    "round": _round,
    "single": _single,
    "nullif": _nullif,
}
