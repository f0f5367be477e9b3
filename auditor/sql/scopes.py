"""Questions about places in a tree: what a SELECT reads, what is its own, what stands around a node.

Pure; nothing here knows which columns are protected.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from auditor.sql.windows import is_windowed


def children(scope: Scope) -> Iterator[Scope]:
    """The scopes that a scope reads or holds."""
    yield from scope.subquery_scopes
    yield from scope.set_operation_scopes
    for _, source in sources_of(scope):
        if isinstance(source, Scope):
            yield source


def sources_of(scope: Scope) -> Iterator[tuple[str, exp.Table | Scope]]:
    """What a SELECT reads, by alias; tables of semi-joins, whose columns only ON can name, as well."""
    for name, (_, source) in scope.selected_sources.items():
        yield name, source
    if isinstance(scope.expression, exp.Select):
        for join in scope.expression.args.get("joins") or []:
            name = join.alias_or_name
            if name not in scope.selected_sources and name in scope.sources:
                yield name, scope.sources[name]


def own_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a SELECT without those of the queries inside it."""
    return (
        node
        for node in root.walk(prune=lambda node: node is not root and isinstance(node, exp.Query | exp.With))
        if node is root or not isinstance(node, exp.Query | exp.With)
    )


def aggregate_around(column: exp.Expr, select: exp.Select) -> exp.AggFunc | None:
    """The innermost aggregate or window function whose argument a node belongs to, or None."""
    node: exp.Expr | None = column
    while node is not None and node is not select:
        if isinstance(node, exp.AggFunc):
            return node
        node = node.parent
    return None


def in_window(column: exp.Column, select: exp.Select) -> bool:
    """Whether a window function reads a column row by row: no aggregate stands between the two."""
    node: exp.Expr | None = column
    while node is not None and node is not select:
        if isinstance(node, exp.Window):
            return True
        if isinstance(node, exp.AggFunc) and not is_windowed(node):
            return False
        node = node.parent
    return False


def in_filter_condition(column: exp.Column) -> bool:
    """Whether a column stands in the condition of FILTER, not in what is filtered."""
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node, exp.Select):
        if isinstance(node.parent, exp.Filter):
            return node.arg_key == "expression"
        node = node.parent
    return False


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins, without the parentheses around them."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


def bare(node: exp.Expr) -> str:
    """As SQL, columns without their tables."""
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
        column.this.set("quoted", not column.name.isidentifier())
    return copy.sql(dialect="duckdb")
