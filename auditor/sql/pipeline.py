"""The rules in their order, and what becomes of a tree that went through them.

    text --dialects--> DuckDB's SQL --limits--> tree --RULES--> tree --LAST--> tree
      --kinds, linear--> what reads a protected column, and how --lower--> SQL --guard--> Plan

Promises that a statement becomes a `Plan` only if every node of it is understood, that DuckDB reads the text
as the tree that was understood, and that nothing but text generated from the classified tree is in the plan,
with brackets that leave nothing to the rank of operators. Nothing here touches data.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from auditor.sql import agreement, guard
from auditor.sql.beside_answer import beside
from auditor.sql.context import Context, Rule
from auditor.sql.kinds import Kinds
from auditor.sql.lower import lower
from auditor.sql.probes import gives_no_row, probed
from auditor.sql.rules.bind_parameters import bind_parameters
from auditor.sql.rules.canonicalize import canonicalize
from auditor.sql.rules.choose_by_having import choose_by_having
from auditor.sql.rules.classify import classify
from auditor.sql.rules.count_bins import count_bins
from auditor.sql.rules.divide_correlations import divide_correlations
from auditor.sql.rules.drop_offset import drop_offset
from auditor.sql.rules.expand_columns import expand_columns
from auditor.sql.rules.filter_counts import filter_counts
from auditor.sql.rules.fix_clock import fix_clock
from auditor.sql.rules.group_beside_rows import group_beside_rows
from auditor.sql.rules.group_laterals import group_laterals
from auditor.sql.rules.inline_expressions import inline_expressions
from auditor.sql.rules.inline_in_aggregates import inline_in_aggregates
from auditor.sql.rules.limit_size import limit_size
from auditor.sql.rules.mark_each_once import mark_each_once
from auditor.sql.rules.merge_groups import merge_groups
from auditor.sql.rules.qualify import qualify
from auditor.sql.rules.settle_ties import settle_ties
from auditor.sql.rules.split_extremes import split_extremes
from auditor.sql.rules.sum_truths import sum_truths
from auditor.sql.rules.write_rows import write_rows
from auditor.sql.statement import Plan
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import bracketed, generate

WRITTEN: tuple[Rule, ...] = (
    bind_parameters,
    drop_offset,
    write_rows,  # first of all rules that look for queries in FROM
    fix_clock,
    limit_size,  # of what VALUES and series became; before anything takes long
    canonicalize,  # aggregates are aggregates from here on
    mark_each_once,  # while hash() is still there: `classify` knows none
    group_laterals,  # while LATERAL is still there
    classify,
)
"""On the tree as it is written."""

RESOLVED: tuple[Rule, ...] = (
    expand_columns,  # the engine is asked about the names as they are written
    qualify,
    classify,  # resolving names makes new nodes: a table's name in place of a column is a whole row, for one
    inline_expressions,  # what is named before it is aggregated, so that the others see all of an argument
    group_beside_rows,
    choose_by_having,
    split_extremes,
    filter_counts,
    divide_correlations,
    count_bins,
    merge_groups,  # after all that make queries over groups
)
"""Names are resolved, and then the tree is written anew by what is protected."""

RULES = WRITTEN + RESOLVED
"""Every rule that a statement goes through before it is lowered, in order."""

READ: tuple[Rule, ...] = (limit_size, canonicalize, classify, expand_columns, qualify, classify)
"""Those that resolve names and no more: for who reads statements that ran elsewhere."""

LAST: tuple[Rule, ...] = (inline_in_aggregates, sum_truths)
"""For the one tree of two, merged or not, that is lowered."""


def plan_of(tree: exp.Query, context: Context) -> Plan:
    """The plan of a parsed statement; the tree is used up.

    Raises:
        NotUnderstood: with the reason why there is none.
    """
    written = _written(tree)
    tree = rewritten(tree, context, WRITTEN)
    if gives_no_row(tree):
        return replace(probed(generate(tree), context.columns), clock=context.clock)
    try:
        tree = rewritten(tree, context, RESOLVED)
    except NotUnderstood as refusal:
        if refusal.code == "translation":
            # sqlglot could not resolve a name; DuckDB says which, if it cannot either.
            _ = context.columns
        raise
    if context.unmerged is not None:
        with suppress(NotUnderstood):
            plan = _lowered(tree, context, written)
            if not plan.public:
                return plan
        tree = context.unmerged
    return _lowered(tree, context, written)


def rewritten(tree: exp.Query, context: Context, rules: Sequence[Rule]) -> exp.Query:
    """A tree after some rules."""
    for rule in rules:
        tree = rule(tree, context)
    return tree


def _written(tree: exp.Query) -> str:
    """A tree as it was parsed, for DuckDB to compare with the text; "" where it cannot be written."""
    with suppress(NotUnderstood, RecursionError):
        return bracketed(tree)
    return ""


def _lowered(tree: exp.Query, context: Context, written: str) -> Plan:
    """The plan of a tree that went through the rules, and is used up."""
    tree = rewritten(tree, context, LAST)
    kinds = Kinds(tree, context.schema)
    describe = context.shape.describe
    normalised = generate(tree)
    columns = context.columns
    if not agreement.same(context.text, written):
        raise NotUnderstood("translation")
    if [type_ for _, type_ in describe(bracketed(tree))] != [type_ for _, type_ in columns]:
        raise NotUnderstood("translation")
    tree = settle_ties(tree, context)
    blocks = tuple(
        replace(block, grouped=True) if beside(tree, block) is not None else block
        for block in lower(kinds, describe)
    )
    final_sql = bracketed(tree)
    for block in blocks:
        guard.check(block.groups_sql, ())
    guard.check(final_sql, [block.name for block in blocks])
    names, types = zip(*columns, strict=True)
    return Plan(normalised, blocks, final_sql, names, types, clock=context.clock)
