"""Pieces of statements in the words of whoever asked: what is understood is DuckDB's SQL always.

Promise: a dialect's words for the same; for messages and hints, which nobody runs unseen.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def worded(text: str, dialect: str) -> str:
    """A piece of DuckDB's SQL in a dialect's words; as it is where it cannot be read."""
    if dialect == "duckdb":
        return text
    try:
        return sql_of(sqlglot.parse_one(text, dialect="duckdb"), dialect)
    except (SqlglotError, RecursionError):
        return text


def sql_of(node: exp.Expr, dialect: str) -> str:
    """A piece of a tree of DuckDB's SQL in a dialect's words."""
    if dialect == "duckdb":
        return node.sql(dialect="duckdb")
    held = exp.Paren(this=node.copy())  # so that the piece itself can be replaced
    for quantile in list(held.find_all(exp.PercentileCont, exp.PercentileDisc, exp.Median)):
        if not isinstance(quantile.parent, exp.WithinGroup):
            quantile.replace(_within_group(quantile))
    for whole in list(held.find_all(exp.IntDiv)):
        whole.replace(exp.Div(this=whole.this, expression=whole.expression, typed=True))
    made: str = held.this.sql(dialect="postgres")
    return made


def _within_group(quantile: exp.Expr) -> exp.WithinGroup:
    share = quantile.args.get("expression") or exp.Literal.number("0.5")
    of = exp.PercentileDisc if isinstance(quantile, exp.PercentileDisc) else exp.PercentileCont
    order = exp.Order(expressions=[exp.Ordered(this=quantile.this, nulls_first=False)])
    return exp.WithinGroup(this=of(this=share), expression=order)
