"""Values as literals of a tree, of the types that DuckDB's Python client would bind."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
from sqlglot import exp

from auditor.sql.understood import NotUnderstood

BOUND = frozenset(
    {type(None), bool, int, float, Decimal, str, datetime.datetime, datetime.date, datetime.time}
)
"""Types whose values are bound; no subclasses."""


def literal(value: object) -> exp.Expr:
    """A value as a literal of the type that DuckDB gives it when bound.

    Raises:
        NotUnderstood: code "parameters", for a type that has no literal.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in BOUND:
        # a subclass may write itself in ways of its own
        raise NotUnderstood("parameters", detail=f"a value of type {type(value).__name__} cannot be bound")
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, int):
        return _signed(str(abs(value)), value < 0)
    if isinstance(value, float):
        # repr is the shortest text that reads back as the same double; NaN and infinities have one too.
        text = repr(value) if math.isfinite(value) else str(value)
        return _typed(text, "DOUBLE")
    if isinstance(value, Decimal) and value.is_finite():
        return _decimal(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotUnderstood("parameters", detail="a text is not valid Unicode") from None
        return exp.Literal.string(value)
    if isinstance(value, datetime.datetime):
        return _typed(value.isoformat(" "), "TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP")
    if isinstance(value, datetime.date):
        return _typed(value.isoformat(), "DATE")
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return _typed(value.isoformat(), "TIME")
    raise NotUnderstood("parameters", detail=f"a value of type {type(value).__name__} cannot be bound")


def _decimal(value: Decimal) -> exp.Expr:
    text = format(value, "f")
    whole, _, fraction = text.lstrip("-").partition(".")
    width = max(len(whole.lstrip("0")) + len(fraction), len(fraction) + 1)
    if width > 38:
        raise NotUnderstood("parameters", detail="a decimal of more than 38 digits cannot be bound")
    return _typed(text, f"DECIMAL({width}, {len(fraction)})")


def _typed(text: str, type_: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), type_, dialect="duckdb")


def _signed(digits: str, negative: bool) -> exp.Expr:
    number: exp.Expr = exp.Literal.number(digits)
    return exp.paren(exp.Neg(this=number)) if negative else number
