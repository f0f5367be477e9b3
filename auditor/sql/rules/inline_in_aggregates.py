"""WITH queries that are read by subqueries inside of aggregates, written out there.

Lowering takes an aggregate out of its SELECT, with the condition of its FILTER or CASE; a name of a WITH
query would mean nothing there.

Promise: the same tree, with queries in place of such names. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.names import cte_of, drop_unread
from auditor.sql.trees import derived
from auditor.sql.understood import NotUnderstood

_MOST = 200


def inline_in_aggregates(tree: exp.Query, _: Context) -> exp.Query:
    """Write such names out.

    Raises:
        NotUnderstood: code "too-large".
    """
    written = 0
    for aggregate in list(tree.find_all(exp.AggFunc, exp.Filter)):
        while found := _named(aggregate):
            written += len(found)
            if written > _MOST:
                raise NotUnderstood("too-large")
            for table, cte in found:
                table.replace(derived(cte.this.copy(), table.alias_or_name))
    if written:
        drop_unread(tree)
    return tree


def _named(aggregate: exp.Expr) -> list[tuple[exp.Table, exp.CTE]]:
    """Tables that are names of WITH queries outside of an aggregate."""
    held = {id(node) for node in aggregate.walk()}
    found = [(table, cte_of(table)) for table in aggregate.find_all(exp.Table)]
    return [(table, cte) for table, cte in found if cte is not None and id(cte) not in held]
