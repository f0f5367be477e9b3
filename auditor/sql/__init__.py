"""From a statement's text to lowered SQL, or to the reason why it is not understood.

    text --dialects--> DuckDB's SQL --limits--> tree --parameters, plainer, classify--> allowed tree
      --columns, names--> qualified tree --passing--> the same with groups that are passed on as one query
      --shape--> names and types --kinds, linear--> what reads a protected column, and how --lower--> SQL
      --guard--> Plan

Promises that a statement becomes a `Plan` only if every node of it is understood, that DuckDB reads the text
as the tree that was understood, and that nothing but text generated from the classified tree is in the plan,
with brackets that leave nothing to the rank of operators. Nothing here touches data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from sqlglot import exp

from auditor.sql import agreement, clock, each_once, guard, inside_aggregates, laterals, written_rows
from auditor.sql.beside_answer import beside
from auditor.sql.beside_rows import as_groups
from auditor.sql.bins import as_counts
from auditor.sql.canonical import rewrite
from auditor.sql.catalogue import described, inner, listed
from auditor.sql.chosen_groups import by_having
from auditor.sql.classify import classify
from auditor.sql.columns import write_out
from auditor.sql.correlation import as_quotients
from auditor.sql.dialects import Dialect, translate
from auditor.sql.extremes import apart
from auditor.sql.kinds import Kinds
from auditor.sql.limits import parse
from auditor.sql.lower import groups_all, lower
from auditor.sql.named_first import write_where_read
from auditor.sql.names import qualify, readable
from auditor.sql.offsets import of_nothing_left_out
from auditor.sql.parameters import bind
from auditor.sql.passing import pass_on
from auditor.sql.picked import as_filtered
from auditor.sql.pivots import summarized, written_out
from auditor.sql.previews import with_nulls
from auditor.sql.probes import gives_no_row, probed
from auditor.sql.schema import Column, Protected, Schema, Table, View
from auditor.sql.settled import settle
from auditor.sql.shape import Shape, shape_of
from auditor.sql.sizes import bound
from auditor.sql.statement import Aggregate, Block, Leaf, Plan, Unsupported
from auditor.sql.time_zones import session_zone
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import bracketed, generate

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

Parameters = Sequence[object] | Mapping[str, object] | None


def understand(
    text: str,
    parameters: Parameters,
    schema: Schema,
    dialect: Dialect = "duckdb",
    previews: bool = False,
    arrived: datetime | None = None,
    zone: str = "UTC",
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

    Returns:
        The plan, or the reason; both depend on the arguments alone, never on data.
    """
    arrived = (arrived or datetime.now(UTC)).astimezone(session_zone(zone).clocks)
    try:
        text = translate(text, dialect, schema)
        try:
            return replace(_plan(text, parameters, schema, arrived), zone=zone)
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


def _plan(text: str, parameters: Parameters, schema: Schema, arrived: datetime) -> Plan:
    shape = shape_of(schema)
    listing = listed(text, schema, shape.describe) or summarized(text, schema, shape.describe)
    if listing is not None:
        return listing
    text = written_out(text, shape.describe) or text
    query = inner(text)
    if query is not None:
        asked = _plan(query, parameters, schema, arrived)
        return described(asked.normalised, list(zip(asked.columns, asked.types, strict=True)))
    tree = parse(text)
    bind(tree, parameters)
    of_nothing_left_out(tree)
    written_rows.plainer(tree)
    reads_clock = clock.write_out(tree, arrived, schema)
    return replace(_read(tree, text, parameters, schema), clock=reads_clock)


def _read(tree: exp.Query, text: str, parameters: Parameters, schema: Schema) -> Plan:
    """The plan of a tree with nothing in it that is not written."""
    shape = shape_of(schema)
    bound(tree, schema)
    rewrite(tree)
    each_once.mark(tree)
    laterals.as_groups(tree)
    classify(tree, readable(schema))
    if gives_no_row(tree):
        return probed(generate(tree), _described(shape, text, parameters))
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    write_out(tree, shape.describe)
    try:
        tree = qualify(tree, schema)
    except NotUnderstood as refusal:
        if refusal.reason.code == "translation":
            # sqlglot could not resolve a name; DuckDB says which, if it cannot either.
            _described(shape, text, parameters)
        raise
    # Resolving names makes new nodes: a table's name in place of a column is a whole row, for one.
    classify(tree, readable(schema))
    write_where_read(tree, schema)
    as_groups(tree, schema)
    by_having(tree, schema)
    apart(tree, schema)
    as_filtered(tree, schema)
    as_quotients(tree, schema)
    binned = as_counts(tree, schema, lambda: [each for _, each in _described(shape, text, parameters)])
    if binned is not None:
        return _lowered(binned, text, parameters, schema)
    passed = pass_on(tree, groups_all)
    if passed is not None:
        with suppress(NotUnderstood):
            plan = _lowered(passed, text, parameters, schema)
            if not plan.public:
                return plan
    return _lowered(tree, text, parameters, schema)


def _lowered(tree: exp.Query, text: str, parameters: Parameters, schema: Schema) -> Plan:
    """The plan of a qualified tree, which is used up."""
    inside_aggregates.write_out(tree)
    shape = shape_of(schema)
    kinds = Kinds(tree, schema)
    normalised = generate(tree)
    columns = _described(shape, text, parameters)
    if not agreement.read_alike(text):
        raise NotUnderstood("translation")
    if [type_ for _, type_ in shape.describe(bracketed(tree))] != [type_ for _, type_ in columns]:
        raise NotUnderstood("translation")
    settle(tree)
    blocks = tuple(
        replace(block, grouped=True) if beside(tree, block) is not None else block
        for block in lower(kinds, shape.describe)
    )
    final_sql = bracketed(tree)
    for block in blocks:
        guard.check(block.groups_sql, ())
    guard.check(final_sql, [block.name for block in blocks])
    names, types = zip(*columns, strict=True)
    return Plan(normalised, blocks, final_sql, names, types)


def _described(shape: Shape, text: str, parameters: Parameters) -> list[tuple[str, str]]:
    return shape.describe(text.strip().rstrip(";"), parameters)
