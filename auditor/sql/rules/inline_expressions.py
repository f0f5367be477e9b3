"""Expressions of a protected column that an inner query names first, written where they are aggregated.

    WITH y AS (SELECT dept, pay * 12 AS annual FROM t) SELECT dept, AVG(annual) FROM y GROUP BY dept
    WITH y AS (SELECT dept, pay AS _n0 FROM t) SELECT dept, AVG(_n0 * 12) FROM y GROUP BY dept

The inner query passes on the columns that the expression reads, and whoever reads the name reads the
expression. So what may stand inside of an aggregate may be named before it, and nothing else may.

Promise: both give the same rows; what comes out is read like any other statement, so safety does not rest on
it. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from auditor.sql.context import Context
from auditor.sql.schema import Schema, folded
from auditor.sql.scopes import own_nodes, sources_of
from auditor.sql.shape import DATA
from auditor.sql.trees import put, sources
from auditor.sql.where_protected import first_select, name_of

_Names = dict[str, exp.Expr]
"""Of names that an inner query no longer has: what stands for each, over its other columns."""


def inline_expressions(tree: exp.Query, context: Context) -> exp.Query:
    """Move such expressions to where they are read."""
    moving = _Moving(tree, context.schema)
    for scope in traverse_scope(tree):
        if isinstance(scope.expression, exp.Select):
            moving.select(scope, scope.expression)
    return tree


class _Moving:
    """One tree, inner queries first."""

    def __init__(self, tree: exp.Query, schema: Schema) -> None:
        self._protected = {
            folded(table.name): {folded(each.column) for _, each in schema.protected_of(table)}
            for table in schema.tables
        }
        self._moved: dict[int, _Names] = {}
        self._passed: dict[int, set[str]] = {}
        self._used = {each.name for each in tree.find_all(exp.Identifier)}
        self._count = 0

    def select(self, scope: Scope, select: exp.Select) -> None:
        """Read what inner queries named, and note what this one passes on and names."""
        protected: set[tuple[str, str]] = set()
        for alias, source in sources_of(scope):
            if isinstance(source, exp.Table):
                names = self._protected.get(source.name, set()) if source.db == DATA else set()
            else:
                self._read(select, alias, self._moved.get(id(source.expression), {}))
                names = self._passed.get(id(first_select(source.expression)), set())
            protected |= {(alias, name) for name in names}
        if _may_move(scope, select):
            self._move(select, protected)
        self._passed[id(select)] = {
            each.alias_or_name for each in select.expressions if name_of(each.unalias()) in protected
        }

    def _read(self, select: exp.Select, alias: str, moved: _Names) -> None:
        """Put expressions where their names are read, in queries inside as well."""
        for column in list(select.find_all(exp.Column)) if moved else []:
            if column.table != alias or column.name not in moved or _is_other(column, select, alias):
                continue
            value = moved[column.name].copy()
            for each in value.find_all(exp.Column):
                each.set("table", exp.to_identifier(alias, quoted=True))
            shown = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
            put(column, value if shown else exp.paren(value))

    def _move(self, select: exp.Select, protected: set[tuple[str, str]]) -> None:
        """Take expressions of protected columns out of what a query shows."""
        named = [each.alias_or_name for each in select.expressions]
        moved: _Names = {}
        for projection in list(select.expressions):
            value = projection.unalias()
            columns = list(value.find_all(exp.Column))
            reads = any(name_of(each) in protected for each in columns)
            if not reads or isinstance(value, exp.Column) or named.count(projection.alias_or_name) > 1:
                continue
            if value.find(exp.Query, exp.AggFunc, exp.Window) or not all(each.table for each in columns):
                continue
            written = exp.Paren(this=value.copy())
            for column in list(written.find_all(exp.Column)):
                column.replace(exp.column(self._passing(select, column, named), quoted=True))
            moved[projection.alias_or_name] = written.this
            projection.pop()
        if moved:
            self._moved[id(select)] = moved

    def _passing(self, select: exp.Select, column: exp.Column, named: list[str]) -> str:
        """The name by which a query passes a column on: its own, where the query had none of that name."""
        for each in select.expressions:
            if each.unalias() == column:
                return str(each.alias_or_name)
        name, taken = column.name, {*named, *(each.alias_or_name for each in select.expressions)}
        while name in taken:
            name = f"_n{self._count}"
            self._count += 1
            taken |= self._used
        select.append("expressions", exp.alias_(column.copy(), name, quoted=True))
        return name


def _may_move(scope: Scope, select: exp.Select) -> bool:
    """Whether a query's rows are what they are without one of its columns."""
    if (
        not (scope.is_derived_table or scope.is_cte)
        or select.args.get("distinct")
        or select.args.get("group")
    ):
        return False
    if any(isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window) is None for node in _own(select)):
        return False
    order = select.args.get("order")
    return order is None or all(each.table for each in order.find_all(exp.Column))


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    return (node for each in select.expressions for node in own_nodes(each))


def _is_other(column: exp.Column, select: exp.Select, alias: str) -> bool:
    """Whether a query between a column and a SELECT has another source of that name."""
    node = column.find_ancestor(exp.Select)
    while node is not None and node is not select:
        if any(each.alias_or_name == alias for each in sources(node)):
            return True
        node = node.find_ancestor(exp.Select)
    return False
