"""COLUMNS(…): DuckDB's way to write an expression once for several columns, written out.

Which columns are meant, and how the results are named, is asked of the engine on tables without rows.
Promises a tree without COLUMNS; what is not a projection is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from auditor.sql.understood import NotUnderstood

Describe = Callable[[str], list[tuple[str, str]]]


def write_out(tree: exp.Query, describe: Describe) -> None:
    """Replace each projection with COLUMNS by one per column, in place.

    Raises:
        NotUnderstood: code "star": COLUMNS stands elsewhere, or several differ in one expression.
    """
    # inner queries first: what they show is what outer ones see
    for select in reversed(list(tree.find_all(exp.Select))):
        projections = []
        for projection in select.expressions:
            if not isinstance(projection, exp.Query) and _own_columns(projection):
                projections += _expanded(projection, select, describe)
            else:
                projections.append(projection)
        select.set("expressions", projections)
    if tree.find(exp.Columns):
        raise NotUnderstood("star")


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
                if any(each is cte for each in _ancestors(select)):
                    break
                visible.append(cte.copy())
            ctes = visible + ctes
        node = node.parent
    query = exp.Select(expressions=[projection.copy()])
    for clause in ("from_", "joins"):
        part = select.args.get(clause)
        if part:
            query.set(clause, [each.copy() for each in part] if isinstance(part, list) else part.copy())
    if ctes:
        query.set("with_", exp.With(expressions=ctes))
    return query.sql(dialect="duckdb", identify=True, comments=False)


def _ancestors(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    parent = node.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found
