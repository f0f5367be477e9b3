"""AT_LEAST and AT_MOST: which calls these are.

To the engine each is a macro that gives its argument as DOUBLE, so names and types are the engine's word.
What runs has none: lowering puts the ends of what is told in their place.

Promise: a call is known by its name alone; what it may stand around is for `around` to say.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.statement import ENDS

QUANTILES = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile)
"""Median and quantiles, as sqlglot calls them."""
MACROS = [f"CREATE MACRO {word.lower()}(x) AS CAST(x AS DOUBLE)" for word in ENDS]
"""For an instance without rows, which says what columns a statement gives."""


def end_of(node: exp.Expr) -> str | None:
    """Which of the two a call is, or None."""
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, str):
        return None
    word = node.this.upper()
    return word if word in ENDS else None


def plainer(tree: exp.Query) -> None:
    """Write each call, and quantiles, in one way, in place."""
    plain_quantiles(tree)
    for call in list(tree.find_all(exp.Anonymous)):
        word = end_of(call)
        if word is not None:
            call.set("this", word)
            call.set("expressions", [each.unnest() for each in call.expressions])
            _extremes(call)


def plain_quantiles(tree: exp.Query) -> None:
    """Write `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)` as QUANTILE_CONT(x, p), in place."""
    for node in list(tree.find_all(exp.WithinGroup)):
        quantile = as_quantile(node)
        if quantile is not None:
            node.replace(quantile)


def as_quantile(node: exp.WithinGroup) -> exp.AggFunc | None:
    """A percentile in ascending order as QUANTILE_CONT(x, p), or QUANTILE_DISC; None where it is no such."""
    inner, order = node.this, node.expression
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or inner.expression is not None:
        return None
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        return None
    (ordered,) = order.expressions
    if not isinstance(ordered, exp.Ordered) or ordered.args.get("desc"):
        return None
    return type(inner)(this=ordered.this.copy(), expression=inner.this.copy())


def _extremes(call: exp.Expr) -> None:
    """Write the quantile 0 inside of a call as MIN, and 1 as MAX: these are told exactly, or as an end."""
    for node in list(call.find_all(exp.PercentileCont, exp.PercentileDisc, exp.Quantile)):
        given = node.args.get("quantile") or node.args.get("expression")
        number = given.name if isinstance(given, exp.Literal) and not given.is_string else ""
        least, most = (number.strip("0.") == each and number != "" for each in ("", "1"))
        if node.this is not None and (least or (most and float(number) == 1)):
            node.replace((exp.Min if least else exp.Max)(this=node.this.copy()))


def end_above(node: exp.Expr) -> exp.Expr | None:
    """The call that stands around an aggregate, and around arithmetic over it, in the same SELECT."""
    above = node.parent
    while above is not None and not isinstance(above, exp.Query | exp.AggFunc | exp.Window):
        if end_of(above) is not None:
            return above
        above = above.parent
    return None
