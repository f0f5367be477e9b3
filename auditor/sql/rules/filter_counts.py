"""Counts of rows that WHERE picks by a protected value: the same as counts under FILTER.

    SELECT AT_LEAST(COUNT(*)) FROM t WHERE sex = 1 AND pay >= 100
    SELECT AT_LEAST(COUNT(*) FILTER (WHERE pay >= 100)) FROM t WHERE sex = 1

Promise: both give the same rows, but for groups of which no row is picked: SQL has none for them, and would
tell by it that nobody is, so here **every group is a row**, as every bin of a histogram is: of the statement
itself alone, not of queries inside it. One with any other aggregate is left as it is: a sum of those above
a value is no statistic that a range is told of. BOOLEAN columns are left to `truth`. Works on a tree whose
names are resolved.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.grouping import SETS
from auditor.sql.scopes import conjuncts, own_nodes
from auditor.sql.trees import filters, holder_of, where_of

_REFUSED = ("having", "distinct", "qualify", "windows")


def filter_counts(tree: exp.Query, context: Context) -> exp.Query:
    """Write such counts with FILTER."""
    by_select = context.protected(tree)
    for select in list(tree.find_all(exp.Select)):
        where = select.args.get("where")
        if where is None or any(select.args.get(clause) for clause in _REFUSED):
            continue
        group = select.args.get("group")
        protected = {name for name, each in by_select.get(id(select), {}).items() if each.type != "BOOLEAN"}
        parts = list(conjuncts(where.this))
        picking = [part for part in parts if _reads(part, protected)]
        order = select.args.get("order")
        shown = [*select.expressions, *([] if order is None else [order])]
        nodes = [each for part in shown for each in own_nodes(part)]
        aggregates = [each for each in nodes if isinstance(each, exp.AggFunc)]
        if group is not None and select is not tree:
            continue  # whoever reads it would take a group's row for somebody who is picked
        if group is not None and (_reads(group, protected) or any(True for _ in group.find_all(*SETS))):
            continue
        if not picking or not all(type(each) is exp.Count for each in aggregates):
            continue
        if not any(isinstance(each, exp.Count) for part in select.expressions for each in own_nodes(part)):
            continue  # a row of which no count is shown says that somebody is picked
        if any(isinstance(each, exp.Window) for each in nodes):
            continue
        for aggregate in aggregates:
            holder = holder_of(aggregate)
            every = [each.copy() for each in [*filters(holder), *picking]]
            condition = exp.and_(*(exp.paren(each) for each in every)) if len(every) > 1 else every[0]
            holder.replace(exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition)))
        select.set("where", where_of(part for part in parts if not _reads(part, protected)))
    return tree


def _reads(part: exp.Expr, protected: set[tuple[str, str]]) -> bool:
    """Whether a condition compares a protected column; whether it is NULL is public."""
    return any(
        (each.table, each.name) in protected and not isinstance(each.parent, exp.Is)
        for each in part.find_all(exp.Column)
    )
