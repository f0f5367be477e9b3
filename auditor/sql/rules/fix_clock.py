"""What reads the clock: written as the moment at which the statement arrived.

    WHERE hired > CURRENT_DATE - 30          WHERE hired > CAST('2026-03-01' AS DATE) - 30

A dashboard asks about the last thirty days. Read twice the clock would choose other records each time, so it
is read once, when the statement arrives, for all conditions alike; the date stands in what is recorded, and
the next day's statement is another one. Days begin and end in the session's time zone, wherever the machine
stands.

Promise: what comes out is the same statement with a constant in each of these places, of the type that the
engine gives them.
"""

from __future__ import annotations

from datetime import datetime

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.schema import folded
from auditor.sql.understood import NotUnderstood

_MOMENTS = frozenset({"now", "get_current_timestamp", "transaction_timestamp"})
_LOCAL = frozenset({"current_localtimestamp"})
_DATES = frozenset({"today"})
_NAMES = frozenset({"current_date", "current_timestamp", "localtimestamp"})
"""What is written without parentheses: a column of the name would be meant, were there one."""


def fix_clock(tree: exp.Query, context: Context) -> exp.Query:
    """Replace what reads the clock.

    Raises:
        NotUnderstood: code "volatile", where a column has the name of one of these.
    """
    arrived = context.arrived
    assert arrived is not None
    found = [(node, value) for node in tree.walk() if (value := _value(node, arrived)) is not None]
    for node, value in found:
        node.replace(value)
    schema, context.clock = context.schema, bool(found)
    if found and any(folded(name) in _NAMES for each in schema.tables for name, _ in schema.columns_of(each)):
        raise NotUnderstood("volatile", name="CURRENT_DATE beside a column of such a name")
    return tree


def _value(node: exp.Expr, arrived: datetime) -> exp.Expr | None:
    if isinstance(node, exp.CurrentDate | exp.CurrentTimestamp | exp.Localtimestamp):
        if any(value for value in node.args.values()):
            return None  # of a zone, or of a precision
        kind = {exp.CurrentDate: "DATE", exp.CurrentTimestamp: "TIMESTAMPTZ"}.get(type(node), "TIMESTAMP")
        return moment(arrived, kind)
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, str):
        return None
    name, arguments = node.this.lower(), node.expressions
    if name == "age" and len(arguments) == 1:
        start_of_day = exp.cast(moment(arrived, "DATE"), "TIMESTAMP", dialect="duckdb")
        return exp.Anonymous(this="AGE", expressions=[start_of_day, arguments[0].copy()])
    if arguments:
        return None
    for names, kind in ((_MOMENTS, "TIMESTAMPTZ"), (_LOCAL, "TIMESTAMP"), (_DATES, "DATE")):
        if name in names:
            return moment(arrived, kind)
    return None


def moment(arrived: datetime, kind: str) -> exp.Expr:
    """A moment as a constant of a type, as the clocks of its time zone show it."""
    if kind == "DATE":
        text = arrived.date().isoformat()
    else:
        text = (arrived if kind == "TIMESTAMPTZ" else arrived.replace(tzinfo=None)).isoformat(" ")
    return exp.cast(exp.Literal.string(text), kind, dialect="duckdb")
