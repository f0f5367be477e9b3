"""Aggregates of public values beside those that are sums: lists, texts put together, quantiles, correlations.

Their order is what ORDER BY in them says. Without it PostgreSQL gives them in the order in which it meets its
rows; here that is another, since rows are kept in an order that public columns decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from sqlglot import exp

from auditor.sql.postgres import casts, numbers
from auditor.sql.postgres.values import FLOATS, NULL, Value, no_operator, refuse
from auditor.sql.understood import NotUnderstood


class Translator(Protocol):
    """Translates what stands inside of an aggregate."""

    def value(self, node: exp.Expr) -> Value:
        """Any expression."""

    def condition(self, node: exp.Expr) -> Value:
        """An expression that must be boolean."""


Ordered = Callable[[exp.Expr, Value], str]

NAMES = frozenset({"string_agg", "array_agg", "any_value"})
FLOATING = frozenset({
    "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy",
    "regr_sxx", "regr_sxy", "regr_syy", "regr_count",
})  # fmt: skip
"""Aggregates of two numbers."""


def collected(
    translator: Translator, name: str, arguments: list[exp.Expr], tail: str, ordered: Ordered
) -> Value:
    """STRING_AGG, ARRAY_AGG or ANY_VALUE, with DISTINCT and ORDER BY in it."""
    distinct, order = "", ""
    arguments = list(arguments)
    if arguments and isinstance(arguments[-1], exp.Order):
        held = arguments[-1]
        order = _by((ordered, each, translator.value(each.this)) for each in held.expressions)
        arguments[-1] = held.this
    if arguments and isinstance(arguments[0], exp.Distinct):
        distinct = "DISTINCT "
        arguments = [*arguments[0].expressions, *arguments[1:]]
    wanted = 2 if name == "string_agg" else 1
    if len(arguments) != wanted:
        raise NotUnderstood("aggregate-arguments", name=name.upper())
    given = [translator.value(each) for each in arguments]
    if any(value.kind == "parameter" for value in given) or (name == "array_agg" and given[0].is_null):
        raise no_operator(*given)
    values = [casts.typed(value, "text") for value in given]
    if name == "string_agg" and any(value.kind != "text" for value in values):
        raise no_operator(*values)
    if name == "array_agg" and values[0].kind == "numeric" and values[0].scale is None:
        raise refuse("an array of inexact numbers", "Round them: round(x, 2).")
    if distinct and not order:
        # PostgreSQL sorts to find what is distinct
        order = f" ORDER BY {values[0].text} NULLS LAST"
    texts = ", ".join([values[0].text, *(_between(value) for value in values[1:])])
    kind = {"string_agg": "text", "array_agg": "other"}.get(name, values[0].kind)
    scale = values[0].scale if name == "any_value" else None
    return Value(f"{name.upper()}({distinct}{texts}{order}){tail}", kind, scale=scale)


def _by(keys: Iterable[tuple[Ordered, exp.Expr, Value]]) -> str:
    """ORDER BY in an aggregate; a constant orders nothing."""
    texts = [
        ordered(node, value) for ordered, node, value in keys
        if value.kind not in ("unknown", "parameter") and value.constant is None
    ]  # fmt: skip
    return f" ORDER BY {', '.join(texts)}" if texts else ""


def _between(delimiter: Value) -> str:
    """What STRING_AGG puts between texts: NULL is nothing there, and here makes NULL of all."""
    if delimiter.text == casts.typed(NULL, "text").text:
        return "''"
    if delimiter.literal is None:
        raise refuse("string_agg by a delimiter that is not written out", "Write it: string_agg(x, ', ').")
    return delimiter.text


def paired(translator: Translator, name: str, arguments: list[exp.Expr], tail: str) -> Value:
    """An aggregate of two public numbers, as double precision."""
    if len(arguments) != 2:
        raise NotUnderstood("aggregate-arguments", name=name.upper())
    sides = [translator.value(each) for each in arguments]
    if not all(side.is_number for side in sides):
        raise no_operator(*sides)
    texts = ", ".join(side.text if side.protected else numbers.as_double(side) for side in sides)
    text = f"{name.upper()}({texts}){tail}"
    return Value(f"CAST({text} AS BIGINT)", "int8") if name == "regr_count" else Value(text, "float8")


def require_one(name: str, share: exp.Expr, key: exp.Expr) -> None:
    """Check that one quantile is asked for, and not a list of them.

    Raises:
        NotUnderstood: code "quantile-list".
    """
    listed = share.unnest()
    if isinstance(listed, exp.Array):
        shares = [each.sql("postgres") for each in listed.expressions[:4]]
        order = key.sql("postgres", comments=False)
        each = (f"{name.upper()}({share}) WITHIN GROUP (ORDER BY {order})" for share in shares)
        raise NotUnderstood("quantile-list", name=", ".join(each))


def within(translator: Translator, name: str, arguments: list[exp.Expr], key: exp.Expr, tail: str) -> Value:
    """A quantile of public values, or MODE: `name(arguments) WITHIN GROUP (ORDER BY key)`."""
    value = translator.value(key.this if isinstance(key, exp.Ordered) else key)
    if name == "mode" and not arguments and value.kind not in ("unknown", "parameter", "other"):
        # of several that are as frequent the first in order
        down = " DESC" if isinstance(key, exp.Ordered) and key.args.get("desc") else ""
        return Value(f"MODE({value.text} ORDER BY {value.text}{down}){tail}", value.kind, scale=value.scale)
    if name not in ("percentile_cont", "percentile_disc") or len(arguments) != 1:
        raise NotUnderstood("aggregate", name=name.upper())
    if isinstance(key, exp.Ordered) and key.args.get("desc"):
        raise refuse(f"{name} in descending order", "Leave DESC out.")
    require_one(name, arguments[0], key)
    share = casts.typed(translator.value(arguments[0]), "float8")
    if share.constant is None or not 0 <= share.constant <= 1:
        raise refuse(f"{name} of a share that is not written out", "Write a number from 0 to 1.")
    if value.is_null:
        raise no_operator(value)
    if name == "percentile_disc":
        return Value(f"QUANTILE_DISC({value.text}, {share.text}){tail}", value.kind, scale=value.scale)
    if not value.is_number:
        raise no_operator(value)
    inner = value.text if value.kind in FLOATS else numbers.as_double(value)
    return Value(f"QUANTILE_CONT({inner}, {share.text}){tail}", "float8")
