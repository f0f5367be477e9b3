"""Where the protected column goes: which scopes aggregate it or pass it on, and that nothing else reads it.

Promises, for each SELECT of a qualified tree: every reference to the protected column is a bare column of a
derived table or WITH query, a test for NULL, or stands in the argument of SUM, AVG, MIN, MAX or COUNT; and
a SELECT that aggregates it reads one source, which depends on public data alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from auditor.sql.linear import Argument, tests_null
from auditor.sql.names import nearest
from auditor.sql.schema import Schema, folded
from auditor.sql.shape import DATA
from auditor.sql.understood import NotUnderstood

_SUMMED = (exp.Sum, exp.Avg)
_EXTREMES = (exp.Max, exp.Min)


@dataclass
class Reading:
    """One SELECT and what it reads."""

    select: exp.Select
    """The SELECT."""
    scope: Scope
    """Its scope."""
    outputs: dict[str, bool] = field(default_factory=dict)
    """Its columns, and whether each is the protected column passed on."""
    aggregates: dict[int, Argument] = field(default_factory=dict)
    """By id of the aggregate's node: the linear form of its argument."""
    nested: bool = False
    """Whether a query inside it aggregates the protected column."""
    released: bool = False
    """Whether it or anything inside it aggregates the protected column."""


class Kinds:
    """The readings of a tree, inner scopes first."""

    def __init__(self, tree: exp.Query, schema: Schema) -> None:
        self._schema = schema
        self._column = schema.protected_column
        self._outputs: dict[int, dict[str, bool]] = {}
        self._released: dict[int, bool] = {}
        self.readings: list[Reading] = []
        for scope in traverse_scope(tree):
            self._read(scope)
        # A SELECT that no scope stands for would pass unread.
        if len(self.readings) != len(list(tree.find_all(exp.Select))):
            raise NotUnderstood("construct", name="This way of nesting queries")

    @property
    def blocks(self) -> list[Reading]:
        """The SELECTs that aggregate the protected column."""
        return [reading for reading in self.readings if reading.aggregates]

    def _error(self, code: str, name: str = "") -> NotUnderstood:
        return NotUnderstood(code, column=self._column, name=name)

    def _read(self, scope: Scope) -> None:
        node = scope.expression
        released = any(self.is_released(child) for child in _children(scope))
        if isinstance(node, exp.SetOperation):
            if released:
                raise self._error("set-operation")
            self._outputs[id(node)] = dict.fromkeys(node.named_selects, False)
        elif isinstance(node, exp.Select):
            reading = Reading(node, scope, nested=released, released=released)
            _Reader(self, reading).read()
            self.readings.append(reading)
            released = reading.released
            self._outputs[id(node)] = reading.outputs
        elif not isinstance(node, exp.Subquery):
            raise NotUnderstood("construct", name="This way of nesting queries")
        self._released[id(node)] = released

    def is_released(self, scope: Scope) -> bool:
        """Whether a scope, already read, aggregates the protected column anywhere inside."""
        return self._released[id(scope.expression)]

    def source_columns(self, source: exp.Table | Scope) -> dict[str, bool]:
        """The columns of a source, and whether each is the protected one."""
        if isinstance(source, Scope):
            return self._outputs[id(source.expression)]
        if source.db != DATA:
            raise NotUnderstood("construct", name="This source")
        for table in self._schema.tables:
            if folded(table.name) == source.name:
                columns = {folded(column.name): False for column in table.columns}
                if table.name == self._schema.protected_table:
                    columns[folded(self._column)] = True
                return columns
        raise NotUnderstood("unknown-table", name=source.name, near="")


def _children(scope: Scope) -> Iterator[Scope]:
    yield from scope.subquery_scopes
    yield from scope.set_operation_scopes
    for _, source in scope.selected_sources.values():
        if isinstance(source, Scope):
            yield source


def own_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a SELECT without those of the queries inside it."""
    return (
        node
        for node in root.walk(prune=lambda node: node is not root and isinstance(node, exp.Query | exp.With))
        if node is root or not isinstance(node, exp.Query | exp.With)
    )


def aggregate_around(column: exp.Expr, select: exp.Select) -> exp.AggFunc | None:
    """The aggregate whose argument a node belongs to, or None."""
    node: exp.Expr | None = column
    while node is not None and node is not select:
        if isinstance(node, exp.AggFunc):
            return node
        node = node.parent
    return None


class _Reader:
    """Reads one SELECT."""

    def __init__(self, kinds: Kinds, reading: Reading) -> None:
        self._kinds = kinds
        self._reading = reading
        self._select = reading.select
        self._column = kinds._column
        self._sources = {
            name: kinds.source_columns(source) for name, (_, source) in reading.scope.selected_sources.items()
        }
        self._reads_protected = False

    def read(self) -> None:
        for node in own_nodes(self._select):
            if isinstance(node, exp.Column):
                self._resolve(node)
        for node in own_nodes(self._select):
            if isinstance(node, exp.Column) and self._is_protected(node) and not tests_null(node):
                self._check(node)
        self._outputs()
        if self._reads_protected and (len(self._sources) != 1 or self._select.args.get("joins")):
            raise self._error("join")
        if self._reading.aggregates:
            self._require_public_rows()
            self._reading.released = True

    def _require_public_rows(self) -> None:
        """Check that rows, groups and public aggregates depend on public data; what comes after may not."""
        scope = self._reading.scope
        for _, source in scope.selected_sources.values():
            if isinstance(source, Scope) and self._kinds.is_released(source):
                raise self._error("released-condition")
        for child in scope.subquery_scopes:
            if not self._kinds.is_released(child):
                continue
            node: exp.Expr = child.expression
            while node.parent is not None and node.parent is not self._select:
                node = node.parent
                if isinstance(node, exp.AggFunc | exp.Filter):
                    raise NotUnderstood("subquery-in-aggregate")
            if node.arg_key not in ("expressions", "having", "order"):
                raise self._error("released-condition")

    def _error(self, code: str, name: str = "") -> NotUnderstood:
        return NotUnderstood(code, column=self._column, name=name)

    def _is_protected(self, column: exp.Column) -> bool:
        return self._sources.get(column.table, {}).get(column.name, False)

    def _resolve(self, column: exp.Column) -> None:
        if column.table in self._sources:
            if column.name in self._sources[column.table]:
                return
            raise self._unknown(column)
        if column.table:
            outer = self._reading.scope.parent
            while outer is not None:
                if column.table in outer.selected_sources:
                    raise NotUnderstood("correlated")
                outer = outer.parent
            raise self._unknown(column)
        if column.name in self._sources:
            raise NotUnderstood("row-reference", name=column.name)
        ordered = column.find_ancestor(exp.Order, exp.Select)
        matches = [name for name, columns in self._sources.items() if column.name in columns]
        if (
            isinstance(ordered, exp.Order)
            and matches
            and not isinstance(column.parent, exp.Ordered | exp.Paren)
        ):
            # ORDER BY reads a bare name as an alias, a name inside an expression as a column first.
            if len(matches) > 1:
                raise NotUnderstood("translation")
            column.set("table", exp.to_identifier(matches[0], quoted=True))
            return
        if not isinstance(ordered, exp.Order) or column.name not in self._select.named_selects:
            raise self._unknown(column)

    def _unknown(self, column: exp.Column) -> NotUnderstood:
        known = [name for columns in self._sources.values() for name in columns]
        return NotUnderstood("unknown-column", name=column.name, near=nearest(column.name, known))

    def _check(self, column: exp.Column) -> None:
        if column.find_ancestor(exp.Filter, exp.Select) and _in_filter_condition(column):
            raise self._error("protected-condition")
        aggregate = aggregate_around(column, self._select)
        if aggregate is not None:
            self._reads_protected = self._reads_protected or not isinstance(aggregate, exp.Count)
            self._aggregate(aggregate)
            return
        clause: exp.Expr = column
        while clause.parent is not self._select and clause.parent is not None:
            clause = clause.parent
        codes = {"where": "protected-condition", "having": "protected-having", "group": "protected-group",
                 "order": "protected-order", "joins": "join"}  # fmt: skip
        if clause.arg_key != "expressions":
            raise self._error(codes.get(str(clause.arg_key), "protected-expression"))
        if clause.unalias() is not column:
            raise self._error("protected-expression")
        self._passed_on()

    def _passed_on(self) -> None:
        scope = self._reading.scope
        if scope.is_set_operation:
            raise self._error("set-operation")
        if not (scope.is_derived_table or scope.is_cte):
            raise self._error("row-level")
        if self._select.args.get("distinct"):
            raise self._error("protected-distinct")
        if self._select.args.get("limit") or self._select.args.get("offset"):
            raise self._error("protected-limit")
        self._reads_protected = True

    def _aggregate(self, aggregate: exp.AggFunc) -> None:
        if id(aggregate) in self._reading.aggregates:
            return
        name = aggregate.sql_name()
        if isinstance(aggregate.this, exp.Distinct):
            raise self._error("count-distinct" if isinstance(aggregate, exp.Count) else "distinct-aggregate")
        if not isinstance(aggregate, (*_SUMMED, *_EXTREMES, exp.Count)):
            raise self._error("protected-aggregate", name=name)
        holder = aggregate.parent if isinstance(aggregate.parent, exp.Filter) else aggregate
        if holder.find(exp.Query):
            raise NotUnderstood("subquery-in-aggregate")
        argument = Argument(aggregate.this, self._is_protected, self._column)
        if isinstance(aggregate, _SUMMED):
            argument.require_sum()
        elif isinstance(aggregate, _EXTREMES):
            argument.require_extreme()
        else:
            # COUNT sees NULL where the protected value is NULL, record number or not: public.
            return
        self._reading.aggregates[id(aggregate)] = argument

    def _outputs(self) -> None:
        for projection in self._select.expressions:
            column = projection.unalias()
            name = projection.alias_or_name
            protected = isinstance(column, exp.Column) and self._is_protected(column)
            if name in self._reading.outputs and not self._reading.scope.is_root:
                # A reader could take one for the other, a public column for the record's number.
                raise NotUnderstood("duplicate-column", name=name)
            self._reading.outputs[name] = protected


def _in_filter_condition(column: exp.Column) -> bool:
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node, exp.Select):
        if isinstance(node.parent, exp.Filter):
            return node.arg_key == "expression"
        node = node.parent
    return False
