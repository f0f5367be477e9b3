"""From a statement's text to a plan of lowered SQL, or to the reason why it is not understood.

Promises a value either way, which depends on the arguments alone. What happens to a tree in between is
`auditor.sql.pipeline`'s: rules in an order, each in a file of `auditor.sql.rules`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from sqlglot import exp

from auditor.sql.catalogue import described, inner, listed
from auditor.sql.context import Context
from auditor.sql.dialects import Dialect, translate
from auditor.sql.limits import parse
from auditor.sql.pipeline import plan_of
from auditor.sql.pivots import summarized, written_out
from auditor.sql.previews import with_nulls
from auditor.sql.schema import Column, Protected, Schema, Table, View
from auditor.sql.shape import Parameters, shape_of
from auditor.sql.statement import Aggregate, Block, Leaf, Plan, Unsupported
from auditor.sql.time_zones import session_zone
from auditor.sql.understood import NotUnderstood

__all__ = [
    "Aggregate",
    "Block",
    "Column",
    "Dialect",
    "Leaf",
    "Plan",
    "Protected",
    "Schema",
    "Table",
    "Unsupported",
    "View",
    "understand",
]


def understand(
    text: str,
    parameters: Parameters,
    schema: Schema,
    dialect: Dialect = "duckdb",
    previews: bool = False,
    arrived: datetime | None = None,
    zone: str = "UTC",
    tree: exp.Query | None = None,
) -> Plan | Unsupported:
    """Lower a statement, or say why not.

    Args:
        text: One SQL statement.
        parameters: Values for `?` and `$1` (a sequence) or `$name` (a mapping).
        schema: What the statement may name.
        dialect: Whose SQL it is written in; see `auditor.sql.dialects`.
        previews: Whether rows may be shown with NULL in protected columns.
        arrived: When the statement arrived, with its time zone: what CURRENT_DATE and now() are.
        zone: The session's time zone, a name of `auditor.sql.time_zones`.
        tree: What `limits.parse` made of the text, where somebody needed to know before; it is used up.

    Returns:
        The plan, or the reason; both depend on the arguments alone, never on data.
    """
    arrived = (arrived or datetime.now(UTC)).astimezone(session_zone(zone).clocks)
    try:
        text = translate(text, dialect, schema)
        try:
            return replace(_plan(text, parameters, schema, arrived, tree), zone=zone)
        except NotUnderstood as refusal:
            plan = (
                _preview(text, parameters, schema, arrived)
                if previews and refusal.code == "row-level"
                else None
            )
            if plan is None:
                raise
            return replace(plan, zone=zone)
    except NotUnderstood as refusal:
        return refusal.reason_for(dialect)
    except RecursionError:
        return NotUnderstood("too-large").reason


def _preview(text: str, parameters: Parameters, schema: Schema, arrived: datetime) -> Plan | None:
    """The plan of rows with NULL in protected columns, where a statement shows rows and does nothing else."""
    with suppress(NotUnderstood):
        shown = with_nulls(text, schema)
        plan = None if shown is None else _plan(shown, parameters, schema, arrived)
        if plan is not None and plan.public:
            return replace(plan, preview=True)
    return None


def _plan(
    text: str, parameters: Parameters, schema: Schema, arrived: datetime, tree: exp.Query | None = None
) -> Plan:
    shape = shape_of(schema)
    listing = listed(text, schema, shape.describe) or summarized(text, schema, shape.describe)
    if listing is not None:
        return listing
    grouped = written_out(text, shape.describe)
    text, tree = (text, tree) if grouped is None else (grouped, None)
    query = inner(text)
    if query is not None:
        asked = _plan(query, parameters, schema, arrived)
        return described(asked.normalised, list(zip(asked.columns, asked.types, strict=True)))
    return plan_of(parse(text) if tree is None else tree, Context(text, schema, parameters, arrived))
