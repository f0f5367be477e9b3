"""COLUMNS(…): DuckDB's way to write an expression once for several columns, written out.

Which columns are meant, and how the results are named, is asked of the engine on tables without rows.
Promise: no COLUMNS is left, and no bracket around the statement; what is not a projection is refused.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.shape import Describe
from auditor.sql.trees import ancestors, copied
from auditor.sql.understood import NotUnderstood


def expand_columns(tree: exp.Query, context: Context) -> exp.Query:
    """Replace each projection with COLUMNS by one per column.

    Raises:
        NotUnderstood: code "star": COLUMNS stands elsewhere, or several differ in one expression.
    """
    while isinstance(tree, exp.Subquery):
        tree = tree.this  # a statement in brackets
    # inner queries first: what they show is what outer ones see
    for select in reversed(list(tree.find_all(exp.Select))):
        projections = []
        for projection in select.expressions:
            if not isinstance(projection, exp.Query) and _own_columns(projection):
                projections += _expanded(projection, select, context.shape.describe)
            else:
                projections.append(projection)
        select.set("expressions", projections)
    if tree.find(exp.Columns):
        raise NotUnderstood("star")
    return tree


def _own_columns(projection: exp.Expr) -> list[exp.Columns]:
    return [node for node in projection.find_all(exp.Columns) if node.find_ancestor(exp.Select) is not None]


def _expanded(projection: exp.Expr, select: exp.Select, describe: Describe) -> list[exp.Expr]:
    held = _own_columns(projection)
    if len({node.sql(dialect="duckdb") for node in held}) != 1 or isinstance(projection, exp.Alias):
        raise NotUnderstood("star")
    if any(node.find_ancestor(exp.Select) is not select for node in held):
        raise NotUnderstood("star")
    names = [name for name, _ in describe(_probe(held[0], select))]
    labels = [name for name, _ in describe(_probe(projection, select))]
    if len(names) != len(labels):
        raise NotUnderstood("star")
    result: list[exp.Expr] = []
    for name, label in zip(names, labels, strict=True):
        holder = exp.Paren(this=projection.copy())
        for node in list(holder.find_all(exp.Columns)):
            node.replace(exp.column(name, quoted=True))
        result.append(exp.alias_(holder.this.copy(), label, quoted=True))
    return result


def _probe(projection: exp.Expr, select: exp.Select) -> str:
    """A query of one projection over a SELECT's FROM, WITH queries in sight included."""
    ctes: list[exp.Expr] = []
    node: exp.Expr | None = select
    while node is not None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            visible = []
            for cte in with_.expressions:
                if any(each is cte for each in ancestors(select)):
                    break
                visible.append(cte.copy())
            ctes = visible + ctes
        node = node.parent
    query = exp.Select(expressions=[projection.copy()])
    copied(select, ("from_", "joins"), query)
    if ctes:
        query.set("with_", exp.With(expressions=ctes))
    return query.sql(dialect="duckdb", identify=True, comments=False)
