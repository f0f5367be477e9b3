"""Interval arithmetic: whatever values lie between the ends, what is worked out from them does too."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.data.spans import NoSpan, Span, span_of
from auditor.sql.statement import Operation, Term

BINARY: list[Operation] = ["add", "subtract", "multiply", "divide", "divide whole"]
NUMBERS = st.fractions(min_value=-40, max_value=40, max_denominator=7)
LEAVES = st.one_of(
    NUMBERS.map(lambda number: Term("constant", number=number)),
    st.integers(0, 2).map(lambda place: Term("told", place=place)),
    st.integers(0, 1).map(lambda place: Term("public", place=place)),
)
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda each: Term(each[0], each[1:])),
        inner.map(lambda each: Term("negate", (each,))),
        st.tuples(inner, st.integers(-1, 2)).map(lambda each: Term("round", (each[0],), place=each[1])),
        inner.map(lambda each: Term("single", (each,))),
        st.tuples(inner, inner).map(lambda each: Term("coalesce", each)),
        st.tuples(inner, NUMBERS).map(
            lambda each: Term("nullif", (each[0], Term("constant", number=each[1])))
        ),
    ),
    max_leaves=6,
)


class _NoNumber(Exception):
    pass


def value(term: Term, told: dict[int, Fraction], public: dict[int, Any]) -> Fraction | None:
    """By its meaning in SQL, for one value of each aggregate."""
    if term.operation == "constant":
        return term.number
    if term.operation == "told":
        return told[term.place]
    if term.operation == "public":
        return None if public[term.place] is None else Fraction(public[term.place])
    parts = [value(part, told, public) for part in term.parts]
    if term.operation == "coalesce":
        return parts[0] if parts[0] is not None else parts[1]
    if None in parts:
        return None
    given = [part for part in parts if part is not None]
    if term.operation == "nullif":
        return None if given[0] == given[1] else given[0]
    if term.operation == "negate":
        return -given[0]
    if term.operation == "single":
        return Fraction(float(np.float32(float(given[0]))))
    if term.operation == "round":
        unit = Fraction(10) ** term.place
        scaled = given[0] * unit
        away = int(abs(scaled) + Fraction(1, 2))
        return away * (1 if scaled >= 0 else -1) / unit
    left, right = given
    if term.operation in ("divide", "divide whole"):
        if right == 0:
            raise _NoNumber
        cut = int(left / right)  # towards zero
        return left / right if term.operation == "divide" else Fraction(cut)
    return {"add": left + right, "subtract": left - right, "multiply": left * right}[term.operation]


@given(
    TERMS,
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=3),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
    st.one_of(st.none(), st.integers(-5, 5), st.just(Decimal("2.5"))),
)
def test_the_value_is_in_the_span(
    term: Term, ends: list[tuple[Fraction, Fraction]], steps: list[int], given_: Any
) -> None:
    told: dict[int, Span] = {i: (min(pair), max(pair)) for i, pair in enumerate(ends)}
    public = {0: 3, 1: given_}
    try:
        span = span_of(term, told, public)
    except NoSpan:
        return
    inside = {
        i: min(pair) + (max(pair) - min(pair)) * step / 6
        for i, (pair, step) in enumerate(zip(ends, steps, strict=True))
    }
    found = value(term, inside, public)
    if span is None:
        assert found is None
    else:
        assert found is not None
        assert span[0] <= found <= span[1]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True, "x"])
def test_of_what_is_no_number_nothing_is_said(number: Any) -> None:
    with pytest.raises(NoSpan):
        span_of(Term("public"), {}, {0: number})


def test_of_a_divisor_that_may_be_zero_nothing_is_said() -> None:
    ratio = Term("divide", (Term("constant", number=Fraction(1)), Term("told")))
    for ends in ((-1, 1), (0, 1), (-1, 0), (0, 0)):
        with pytest.raises(NoSpan):
            span_of(ratio, {0: (Fraction(ends[0]), Fraction(ends[1]))}, {})
    assert span_of(ratio, {0: (Fraction(2), Fraction(4))}, {}) == (Fraction(1, 4), Fraction(1, 2))
    assert span_of(ratio, {0: None}, {}) is None


def test_of_an_aggregate_of_which_nothing_is_told_nothing_is_said() -> None:
    with pytest.raises(NoSpan):
        span_of(Term("coalesce", (Term("told"), Term("constant"))), {}, {})
