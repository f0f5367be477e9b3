"""Which records every shown number of a statement is about, and with which weights: lineage by lowering.

A qualified statement (see `auditor.sql`) is rewritten so that each output that comes from a protected column
lists records and weights instead, through derived tables, WITH queries, joins, windows and aggregates of
aggregates. Promises that an output is listed only if it is a linear form, a MAX or a MIN of protected values
that the statement shows to whoever asked; everything else that reads a protected column is named in `opaque`,
and nothing of a SELECT whose rows a protected value chooses is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from auditor.history.meanings import Grid, Hidden, Kind, Known
from auditor.history.selects import SelectReader
from auditor.sql.schema import Schema, folded
from auditor.sql.shape import DATA
from auditor.sql.understood import NotUnderstood


@dataclass
class Lowered:
    """A statement that lists what it shows."""

    tree: exp.Query
    """With one column per output, those not modelled NULL."""
    outputs: Sequence[tuple[str, Known | None]]
    """Name and meaning of each column; None: public, or not modelled."""
    limit: int | None = None
    """Rows that the statement shows where more than these leave open which they are."""
    grouped: bool = False
    aggregated: bool = False


@dataclass
class Found:
    """What lowering found."""

    lowered: list[Lowered] = field(default_factory=list)
    """One for each branch of a UNION."""
    opaque: list[Hidden] = field(default_factory=list)
    """What reads a protected column and is not modelled."""
    functions: list[str] = field(default_factory=list)
    """Aggregates of protected columns that are, by name."""


def lower(tree: exp.Query, schema: Schema, grids: Sequence[Grid]) -> Found:
    """Lower a qualified, classified tree; the tree is used up."""
    found = Found()
    _Lowering(tree, schema, grids, found).run()
    return found


class _Lowering:
    """Reads the SELECTs of a tree, inner ones first."""

    def __init__(self, tree: exp.Query, schema: Schema, grids: Sequence[Grid], found: Found) -> None:
        self._tree, self._schema, self._grids, self._found = tree, schema, grids, found
        self._outputs: dict[int, list[tuple[str, Kind]]] = {}
        self._tainted: dict[int, Hidden] = {}
        self._limits: dict[int, int] = {}
        self._notes: dict[int, list[Hidden]] = {}
        self._shapes: dict[int, tuple[bool, bool]] = {}

    def run(self) -> None:
        scopes = list(traverse_scope(self._tree))
        seen, there = 0, len(list(self._tree.find_all(exp.Select)))
        for scope in scopes:
            node = scope.expression
            if isinstance(node, exp.Select):
                seen += 1
                SelectReader(self, scope).read()
            elif isinstance(node, exp.SetOperation):
                self._combine(scope)
            elif not isinstance(node, exp.Subquery):
                raise NotUnderstood("construct", name="This way of nesting queries")
        if seen != there:
            raise NotUnderstood("construct", name="This way of nesting queries")
        for branch in self._branches(self._tree):
            self._root(branch)

    # --- what others ask

    def grid(self, column: int) -> Grid:
        """The grid of a protected column."""
        return self._grids[column]

    def named(self, function: str) -> None:
        """Note an aggregate of a protected column."""
        if function not in self._found.functions:
            self._found.functions.append(function)

    def note(self, query: exp.Expr, hidden: Hidden) -> None:
        """Note what a SELECT shows that is not modelled."""
        self._notes.setdefault(id(query), []).append(hidden)

    def settle(
        self,
        select: exp.Select,
        outputs: list[tuple[str, Kind]],
        taint: Hidden | None,
        shape: tuple[bool, bool],
    ) -> None:
        """Keep what a SELECT gives."""
        self._outputs[id(select)], self._shapes[id(select)] = outputs, shape
        if taint is not None:
            self._tainted[id(select)] = taint

    def limited(self, select: exp.Select, limit: int) -> None:
        """Note that a SELECT shows some of its rows, and not which."""
        self._limits[id(select)] = limit

    def taint_of(self, query: exp.Expr) -> Hidden | None:
        """Why a query's rows hang on protected values, or None."""
        while isinstance(query, exp.Subquery):
            query = query.this
        return self._tainted.get(id(query))

    def outputs_of(self, query: exp.Expr) -> list[tuple[str, Kind]]:
        """A query's columns."""
        while isinstance(query, exp.Subquery):
            query = query.this
        return self._outputs[id(query)]

    def is_top(self, query: exp.Expr) -> bool:
        """Whether what a query gives is what the statement shows."""
        return any(branch is query for branch in self._branches(self._tree))

    def columns_of(self, source: exp.Table | Scope) -> dict[str, Kind]:
        """A source's columns."""
        if isinstance(source, Scope):
            return dict(self.outputs_of(source.expression))
        if source.db != DATA:
            raise NotUnderstood("construct", name="This source")
        for table in self._schema.tables:
            if folded(table.name) == source.name:
                columns: dict[str, Kind] = {folded(column.name): None for column in table.columns}
                for position, each in self._schema.protected_of(table):
                    columns[folded(each.column)] = Known(position, "record")
                return columns
        raise NotUnderstood("unknown-table", name=source.name, near="")

    def unique_of(self, source: exp.Table | Scope) -> set[str]:
        """A table's columns that tell all rows apart."""
        if isinstance(source, Scope):
            return set()
        tables = [table for table in self._schema.tables if folded(table.name) == source.name]
        return {folded(column.name) for table in tables for column in table.columns if column.unique}

    # --- set operations

    def _combine(self, scope: Scope) -> None:
        node = scope.expression
        assert isinstance(node, exp.SetOperation)
        sides = [side.expression for side in scope.set_operation_scopes]
        taint = next((found for found in map(self.taint_of, sides) if found), None)
        left, right = (self.outputs_of(side) for side in sides)
        reads = any(kind is not None for _, kind in left + right)
        plain = isinstance(node, exp.Union) and node.args.get("distinct") is False
        cut = bool(node.args.get("limit") or node.args.get("offset"))
        alike = len(left) == len(right) and all(a == b for (_, a), (_, b) in zip(left, right, strict=False))
        self._outputs[id(node)] = left
        if taint is None and reads and not self.is_top_union(node):
            if not plain or node.args.get("by_name"):
                taint = Hidden("set operation", "UNION, INTERSECT or EXCEPT compares protected values")
            elif cut:
                taint = Hidden("LIMIT", "LIMIT chooses among protected values")
            elif not alike:
                taint = Hidden("set operation", "the sides of a UNION hold different things")
        if taint is not None:
            self._tainted[id(node)] = taint

    def is_top_union(self, node: exp.Expr) -> bool:
        """Whether a UNION is what the statement shows, nothing cut off it."""
        top: exp.Expr = self._tree
        while isinstance(top, exp.Subquery):
            top = top.this
        while isinstance(top, exp.Union) and not (top.args.get("limit") or top.args.get("offset")):
            if top is node:
                return True
            left = top.this.unnest() if isinstance(top.this, exp.Subquery) else top.this
            right = top.expression.unnest() if isinstance(top.expression, exp.Subquery) else top.expression
            if isinstance(right, exp.Union) and right is node:
                return True
            top = left
        return False

    def _branches(self, query: exp.Expr) -> list[exp.Expr]:
        """The SELECTs whose rows the statement shows; a set operation that is not taken apart is one."""
        while isinstance(query, exp.Subquery):
            query = query.this
        if self.is_top_union(query):
            assert isinstance(query, exp.Union)
            return self._branches(query.this) + self._branches(query.expression)
        return [query]

    # --- what is shown

    def _root(self, branch: exp.Expr) -> None:
        for hidden in self._notes.get(id(branch), []):
            self._hide(hidden)
        taint = self.taint_of(branch)
        if taint is not None:
            self._hide(taint)
            return
        if not isinstance(branch, exp.Select):
            if any(kind is not None for _, kind in self.outputs_of(branch)):
                self._hide(Hidden("set operation", "INTERSECT or EXCEPT compares what is shown"))
            return
        outputs: list[tuple[str, Known | None]] = []
        for name, kind in self.outputs_of(branch):
            if isinstance(kind, Hidden):
                self._hide(kind)
            outputs.append((name, kind if isinstance(kind, Known) else None))
        if not any(kind for _, kind in outputs):
            return
        grouped, aggregated = self._shapes[id(branch)]
        tree = self._alone(branch)
        self._found.lowered.append(Lowered(tree, outputs, self._limits.get(id(branch)), grouped, aggregated))

    def _alone(self, branch: exp.Select) -> exp.Query:
        """A branch with the WITH queries around it."""
        ctes: list[exp.Expr] = []
        node: exp.Expr | None = branch.parent
        while node is not None:
            with_ = node.args.get("with_")
            if isinstance(with_, exp.With):
                ctes = [each.copy() for each in with_.expressions] + ctes
            node = node.parent
        alone = branch.copy()
        if ctes:
            own = alone.args.get("with_")
            alone.set("with_", exp.With(expressions=ctes + (list(own.expressions) if own else [])))
        return alone

    def _hide(self, hidden: Hidden) -> None:
        if hidden not in self._found.opaque:
            self._found.opaque.append(hidden)
