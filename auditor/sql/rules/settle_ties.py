"""Aggregates that pick one of several values pick the same at every run: MODE, ANY_VALUE, ARG_MAX, FIRST.

    ARG_MAX(name, age)  ->  ARG_MAX(name, age ORDER BY name, HEX(CAST(name AS VARCHAR)))

Which row DuckDB meets first hangs on its threads. Promise: where several values would do, the least is
taken, and of values that compare equal ('Ann' and 'ANN' under NOCASE, 0.0 and -0.0) the one whose text is
least; what an ORDER BY in the aggregate says comes before. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context

_PICKING = (exp.Mode, exp.ArgMax, exp.ArgMin, exp.First, exp.Last)
_NAMED = frozenset({"any_value", "arg_max_null", "arg_min_null"})


def settle_ties(tree: exp.Query, _: Context) -> exp.Query:
    """Write an order into such aggregates."""
    for call in list(tree.find_all(*_PICKING, exp.AnonymousAggFunc, exp.GroupConcat, exp.ArrayAgg)):
        if isinstance(call.parent, exp.Window) or (
            isinstance(call.parent, exp.Filter) and isinstance(call.parent.parent, exp.Window)
        ):
            continue
        if isinstance(call, exp.GroupConcat | exp.ArrayAgg):
            _of_distinct(call)
        elif isinstance(call, _PICKING) or str(call.this).lower() in _NAMED:
            _ordered(call)
    return tree


def _ordered(call: exp.Expr) -> None:
    named = isinstance(call, exp.AnonymousAggFunc)
    arguments = list(call.expressions) if named else [call.this, call.args.get("expression")]
    given = [each for each in arguments if each is not None]
    if not given or call.args.get("count") is not None:
        return
    last = given[-1]
    order = last if isinstance(last, exp.Order) else exp.Order(this=last.copy(), expressions=[])
    picked = given[0].this if isinstance(given[0], exp.Order) else given[0]
    for key in (picked.copy(), _text(picked)):
        order.append("expressions", exp.Ordered(this=key, nulls_first=False))
    if order is not last:
        last.replace(order)


def _of_distinct(call: exp.Expr) -> None:
    """STRING_AGG(DISTINCT x) without an order: that of its values."""
    distinct = call.this
    if isinstance(distinct, exp.Distinct) and len(distinct.expressions) == 1:
        (value,) = distinct.expressions
        key = exp.Ordered(this=value.copy(), nulls_first=False)
        distinct.replace(exp.Order(this=distinct.copy(), expressions=[key]))


def _text(value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="HEX", expressions=[exp.cast(value.copy(), "VARCHAR", dialect="duckdb")])
