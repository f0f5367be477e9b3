"""Where the protected columns go: which scopes aggregate one or pass it on, and that nothing else reads it.

Promises, for each SELECT of a qualified tree: every reference to a protected column is a bare column of a
derived table or WITH query, a test for NULL, or stands in the argument of SUM, AVG, MIN, MAX or COUNT; and
the rows and groups of a SELECT that aggregates one depend on public data alone. Of the tree it
changes no more than a bare name in ORDER BY, which gets its table, and casts that COUNT reads over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from auditor.sql import around, casts, ranges, statistics, truth
from auditor.sql.grouping import grouping
from auditor.sql.linear import Argument, tests_null
from auditor.sql.names import nearest
from auditor.sql.rules import mark_each_once as each_once
from auditor.sql.schema import Protected, Schema, folded
from auditor.sql.scopes import (
    aggregate_around,
    bare,
    children,
    in_filter_condition,
    in_window,
    own_nodes,
    sources_of,
)
from auditor.sql.shape import DATA
from auditor.sql.spelling import written
from auditor.sql.statistics import StatisticArgument
from auditor.sql.trees import holder_of
from auditor.sql.understood import NotUnderstood
from auditor.sql.windows import breaks_ties, is_windowed

Kind = int | None
"""What a column is: the position of a protected column in the schema, or None: public."""

_SUMMED = (exp.Sum, exp.Avg)
_EXTREMES = (exp.Max, exp.Min)
_CALLED: dict[type[exp.AggFunc], str] = {exp.GroupConcat: "STRING_AGG"}
"""What aggregates are called where sqlglot has a name of its own."""
_CLAUSE_CODES = {
    "where": "protected-condition", "having": "protected-having", "group": "protected-group",
    "order": "protected-order", "joins": "protected-join", "qualify": "protected-condition",
}  # fmt: skip


@dataclass
class Reading:
    """One SELECT and what it reads."""

    select: exp.Select
    """The SELECT."""
    scope: Scope
    """Its scope."""
    outputs: list[tuple[str, Kind]] = field(default_factory=list)
    """Its columns in order, and whether each is a protected column passed on."""
    aggregates: dict[int, Argument | StatisticArgument] = field(default_factory=dict)
    """By id of the aggregate's node: the linear form of its argument."""
    nested: bool = False
    """Whether a query inside it aggregates a protected column."""
    released: bool = False
    """Whether it or anything inside it aggregates a protected column."""
    read_inside: set[int] = field(default_factory=set)
    """Ids of the columns of its sources that queries inside it refer to."""


class Kinds:
    """The readings of a tree, inner scopes first."""

    def __init__(self, tree: exp.Query, schema: Schema) -> None:
        self._schema = schema
        self._outputs: dict[int, list[tuple[str, Kind]]] = {}
        self._released: dict[int, bool] = {}
        self._dependent: set[int] = set()
        self._inside: dict[int, set[int]] = {}
        self.readings: list[Reading] = []
        for scope in traverse_scope(tree):
            self._read(scope)
        # A SELECT that no scope stands for would pass unread.
        if len(self.readings) != len(list(tree.find_all(exp.Select))):
            raise NotUnderstood("construct", name="This way of nesting queries")

    @property
    def blocks(self) -> list[Reading]:
        """The SELECTs that aggregate a protected column."""
        return [reading for reading in self.readings if reading.aggregates]

    def name(self, kind: int) -> str:
        """The name of a protected column."""
        return self._schema.protected[kind].column

    def type(self, kind: int) -> str:
        """DuckDB's text of the type of a protected column."""
        return self._schema.protected[kind].type

    def protected(self, kind: int) -> Protected:
        """A protected column."""
        return self._schema.protected[kind]

    def _read(self, scope: Scope) -> None:
        node = scope.expression
        released = any(self.is_released(child) for child in children(scope))
        if isinstance(node, exp.SetOperation):
            self._outputs[id(node)] = self._combined(scope)
        elif isinstance(node, exp.Select):
            inside = self._inside.setdefault(id(node), set())
            reading = Reading(node, scope, nested=released, released=released, read_inside=inside)
            _Reader(self, reading).read()
            self.readings.append(reading)
            released = reading.released
            self._outputs[id(node)] = reading.outputs
        elif not isinstance(node, exp.Subquery):
            raise NotUnderstood("construct", name="This way of nesting queries")
        if released and id(node) in self._dependent:
            raise NotUnderstood("correlated")
        self._released[id(node)] = released

    def _combined(self, scope: Scope) -> list[tuple[str, Kind]]:
        """The columns of a set operation; a protected column must stand in one place on both sides."""
        left, right = (self._outputs[id(side.expression)] for side in scope.set_operation_scopes)
        if len(left) != len(right):
            # a BY NAME operation, or columns that DuckDB would not match either
            if any(kind is not None for _, kind in left + right):
                raise NotUnderstood("set-operation", column=self._schema.protected[0].column)
            assert isinstance(scope.expression, exp.SetOperation)
            return [(name, None) for name in scope.expression.named_selects]
        for (_, one), (_, other) in zip(left, right, strict=True):
            if one != other:
                raise NotUnderstood(
                    "set-operation", column=self.name(next(k for k in (one, other) if k is not None))
                )
        return left

    def is_released(self, scope: Scope) -> bool:
        """Whether a scope, already read, aggregates a protected column anywhere inside."""
        return self._released[id(scope.expression)]

    def source_columns(self, source: exp.Table | Scope) -> dict[str, Kind]:
        """The columns of a source, and what each is."""
        if isinstance(source, Scope):
            return _by_name(self._outputs[id(source.expression)])
        if source.db != DATA:
            raise NotUnderstood("construct", name="This source")
        for table in self._schema.tables:
            if folded(table.name) == source.name:
                columns: dict[str, Kind] = {folded(column.name): None for column in table.columns}
                for position, each in self._schema.protected_of(table):
                    columns[folded(each.column)] = position
                return columns
        raise NotUnderstood("unknown-table", name=source.name, near="")

    def unique_columns(self, source: exp.Table | Scope) -> set[str]:
        """The columns of a table that tell all its rows apart."""
        if isinstance(source, Scope):
            return set()
        return {
            folded(column.name)
            for table in self._schema.tables
            if folded(table.name) == source.name
            for column in table.columns
            if column.unique
        }

    def refer_outside(self, column: exp.Column, scope: Scope) -> Kind:
        """Note that a query refers to a source of a query around it; what that column is.

        Raises:
            NotUnderstood: no query around it has that source.
        """
        inner: Scope = scope
        while inner.parent is not None:
            self._dependent.add(id(inner.expression))
            outer = inner.parent
            if column.table in outer.selected_sources and isinstance(outer.expression, exp.Select):
                if inner.is_derived_table or inner.is_cte:
                    # DuckDB lets a derived table read its neighbours
                    raise NotUnderstood("lateral")
                columns = self.source_columns(outer.selected_sources[column.table][1])
                if column.name not in columns:
                    break
                self._inside.setdefault(id(outer.expression), set()).add(id(column))
                return columns[column.name]
            inner = outer
        name = f"{column.table}.{column.name}"
        raise NotUnderstood("unknown-column", name=name, near=f"There is no table {column.table} here.")


def _by_name(outputs: list[tuple[str, Kind]]) -> dict[str, Kind]:
    """The columns of a query that another reads.

    Raises:
        NotUnderstood: two have one name: a public column could be taken for a record's number.
    """
    columns = dict(outputs)
    if len(columns) < len(outputs):
        names = [name for name, _ in outputs]
        raise NotUnderstood("duplicate-column", name=next(name for name in names if names.count(name) > 1))
    return columns


class _Reader:
    """Reads one SELECT."""

    def __init__(self, kinds: Kinds, reading: Reading) -> None:
        self._kinds = kinds
        self._reading = reading
        self._select = reading.select
        self._sources = {name: kinds.source_columns(source) for name, source in sources_of(reading.scope)}
        self._passes = False

    def read(self) -> None:
        calls = [node for node in own_nodes(self._select) if ranges.end_of(node) is not None]
        example = self._kinds.name(0) if calls else ""
        for call in calls:
            around.require_argument(call, example)
        for node in own_nodes(self._select):
            if isinstance(node, exp.Column):
                self._resolve(node)
            elif isinstance(node, exp.Join) and (node.args.get("using") or node.args.get("method")):
                # names that are not columns of the tree would be read unseen
                raise NotUnderstood("translation")
        self._mark_casts()
        read = set(self._statistics())
        for node in own_nodes(self._select):
            if isinstance(node, exp.Column) and not tests_null(node) and id(node) not in read:
                kind = self._kind(node)
                if kind is not None:
                    self._check(node, kind)
        for node in own_nodes(self._select):
            if each_once.is_marked(node) and id(node) not in self._reading.aggregates:
                raise NotUnderstood(
                    "function", name="hash"
                )  # of public values it is a sum of what is different
        for call in calls:
            around.require_protected(call, example, self._reading.aggregates)
        if self._select.args.get("group"):
            grouping(self._select, lambda _: False)
        self._outputs()
        if self._passes:
            self._require_fixed_rows()
        if self._reading.aggregates:
            self._require_public_rows()
            self._reading.released = True

    def _mark_casts(self) -> None:
        """Note which casts and ROUND of protected columns change no value; inner ones first."""
        for node in reversed(list(own_nodes(self._select))):
            inner = casts.uncast(node.this) if isinstance(node, exp.Cast | exp.Round) else None
            kind = self._kind(inner) if isinstance(inner, exp.Column) else None
            if isinstance(node, exp.Cast) and kind is not None:
                casts.mark(node, self._kinds.protected(kind))
            elif isinstance(node, exp.Round) and kind is not None:
                casts.mark_rounding(node, self._kinds.protected(kind))

    def _statistics(self) -> Iterator[int]:
        """Note the statistics of which ranges are told; the protected columns in them, by id.

        Raises:
            NotUnderstood: code "range", for one that AT_LEAST or AT_MOST does not stand around.
        """
        for node in own_nodes(self._select):
            if not isinstance(node, exp.AggFunc) or is_windowed(node):
                continue
            found = statistics.read(node, self._kind)
            if found is None or self._kinds.type(found.kind) == truth.TYPE:
                continue
            holder = holder_of(node)
            if ranges.end_above(holder) is None:
                raise self._error("range", found.kind, name=bare(holder))
            self._reading.aggregates[id(node)] = found
            yield from (id(column) for column in holder.find_all(exp.Column))

    def _require_fixed_rows(self) -> None:
        """Check that which rows pass a protected value on does not hang on the order of equal rows."""
        joined = bool(self._select.args.get("joins"))
        unique = {
            (name, column)
            for name, source in sources_of(self._reading.scope)
            for column in self._kinds.unique_columns(source)
            if not joined
        }
        for node in own_nodes(self._select):
            if isinstance(node, exp.Window) and breaks_ties(node, self._select, unique):
                raise NotUnderstood("window-ties")

    def _require_public_rows(self) -> None:
        """Check that rows, groups and public aggregates depend on public data; what comes after may not."""
        scope = self._reading.scope
        for _, source in sources_of(scope):
            if isinstance(source, Scope) and self._kinds.is_released(source):
                raise self._released()
        for child in scope.subquery_scopes:
            if not self._kinds.is_released(child):
                continue
            node: exp.Expr = child.expression
            while node.parent is not None and node.parent is not self._select:
                node = node.parent
                if isinstance(node, exp.AggFunc | exp.Filter) and not is_windowed(node):
                    raise NotUnderstood("subquery-in-aggregate")
            if node.arg_key not in ("expressions", "having", "order", "qualify", "windows"):
                raise self._released()

    def _released(self) -> NotUnderstood:
        kind = next(iter(self._reading.aggregates.values())).kind
        return self._error("released-condition", kind)

    def _error(self, code: str, kind: int, name: str = "") -> NotUnderstood:
        return NotUnderstood(code, column=self._kinds.name(kind), name=name)

    def _kind(self, column: exp.Column) -> Kind:
        return self._sources.get(column.table, {}).get(column.name)

    def _is_truth(self, node: exp.Expr) -> bool:
        kind = self._kind(node) if isinstance(node, exp.Column) else None
        return kind is not None and self._kinds.type(kind) == truth.TYPE

    def _resolve(self, column: exp.Column) -> None:
        if column.table in self._sources:
            if column.name in self._sources[column.table]:
                return
            raise self._unknown(column)
        if column.table:
            kind = self._kinds.refer_outside(column, self._reading.scope)
            if kind is not None and not tests_null(column):
                raise self._error("protected-correlated", kind)
            return
        ordered_by = isinstance(column.parent, exp.Ordered) and column.name in self._select.named_selects
        if column.name in self._sources and not ordered_by:
            raise NotUnderstood("row-reference", name=column.name)
        ordered = column.find_ancestor(exp.Order, exp.Distinct, exp.Select)
        matches = [name for name, columns in self._sources.items() if column.name in columns]
        inside = not isinstance(column.parent, exp.Ordered | exp.Paren)
        if matches and (isinstance(ordered, exp.Distinct) or (isinstance(ordered, exp.Order) and inside)):
            # ORDER BY reads a bare name as an alias, a name inside an expression as a column first, and so
            # does DISTINCT ON with any name.
            if len(matches) > 1:
                raise NotUnderstood("translation")
            column.set("table", exp.to_identifier(matches[0], quoted=True))
            return
        if not isinstance(ordered, exp.Order) or column.name not in self._select.named_selects:
            raise self._unknown(column)

    def _unknown(self, column: exp.Column) -> NotUnderstood:
        known = [name for columns in self._sources.values() for name in columns]
        if not column.table and column.name in known:
            return NotUnderstood("engine", detail=f"{column.name} stands in several tables: say whose it is.")
        near = nearest(column.name, known, written) if known else "This query reads no table."
        return NotUnderstood("unknown-column", name=column.name, near=near)

    def _check(self, column: exp.Column, kind: int) -> None:
        if column.find_ancestor(exp.Filter, exp.Select) and in_filter_condition(column):
            raise self._error("protected-condition", kind)
        if in_window(column, self._select):
            raise self._error("protected-window", kind)
        aggregate = aggregate_around(column, self._select)
        if aggregate is not None:
            self._aggregate(aggregate, kind)
            return
        clause: exp.Expr = column
        while clause.parent is not self._select and clause.parent is not None:
            clause = clause.parent
        if clause.arg_key != "expressions":
            raise self._error(_CLAUSE_CODES.get(str(clause.arg_key), "protected-expression"), kind)
        if clause.unalias() is not column:
            raise self._error("protected-expression", kind)
        self._passed_on(kind)

    def _passed_on(self, kind: int) -> None:
        scope = self._reading.scope
        while scope.is_set_operation and scope.parent is not None:
            scope = scope.parent
            operation = scope.expression
            if not isinstance(operation, exp.Union) or operation.args.get("distinct") is not False:
                raise self._error("set-operation", kind)
            if operation.args.get("by_name"):
                raise self._error("set-operation", kind)
            if operation.args.get("limit") or operation.args.get("offset"):
                raise self._error("protected-limit", kind)
        if not (scope.is_derived_table or scope.is_cte):
            raise self._error("row-level", kind)
        if self._select.args.get("distinct"):
            raise self._error("protected-distinct", kind)
        if self._select.args.get("group"):
            # GROUP BY ALL, else DuckDB had rejected it
            raise self._error("protected-group", kind)
        limited = self._select.args.get("limit") or self._select.args.get("offset")
        if limited and not self._is_ordered():
            raise self._error("protected-limit", kind)
        self._passes = True

    def _is_ordered(self) -> bool:
        """Whether a public order tells all rows apart: which ones LIMIT leaves is public then."""
        order = self._select.args.get("order")
        if order is None or self._select.args.get("joins"):
            return False
        keys = [self._ordered_by(each.this.unnest()) for each in order.expressions]
        if any(key is None for key in keys):
            return False
        return any(
            isinstance(key, exp.Column)
            and key.table == name
            and key.name in self._kinds.unique_columns(source)
            for name, source in sources_of(self._reading.scope)
            for key in keys
        )

    def _ordered_by(self, key: exp.Expr) -> exp.Expr | None:
        """What a term of ORDER BY stands for; None where that is not public, or not known."""
        shown = self._select.expressions
        if isinstance(key, exp.Literal):
            place = int(key.name) if key.is_int else 0
            return self._ordered_by(shown[place - 1].unalias()) if 1 <= place <= len(shown) else None
        if isinstance(key, exp.Column) and not key.table:
            named = [each.unalias() for each in shown if each.alias_or_name == key.name]
            return self._ordered_by(named[0]) if len(named) == 1 and named[0] != key else None
        if isinstance(key, exp.Var) or key.find(exp.Query, exp.Window):
            return None
        columns = list(key.find_all(exp.Column))
        public = all(column.table and self._kind(column) is None for column in columns)
        return key if public else None

    def _aggregate(self, aggregate: exp.AggFunc, kind: int) -> None:
        if id(aggregate) in self._reading.aggregates:
            return
        named = isinstance(aggregate, exp.AnonymousAggFunc)
        name = aggregate.name.upper() if named else _CALLED.get(type(aggregate), aggregate.sql_name())
        once = each_once.is_marked(aggregate)
        if isinstance(aggregate.this, exp.Distinct) and not once:
            code = "count-distinct" if isinstance(aggregate, exp.Count) else "distinct-aggregate"
            raise self._error(code, kind)
        if isinstance(aggregate, ranges.QUANTILES):
            self._quantiles(aggregate)
        if not isinstance(aggregate, (*_SUMMED, *_EXTREMES, exp.Count)):
            raise self._error("protected-aggregate", kind, name=name)
        argued = aggregate.this.expressions[0] if once else aggregate.this
        argument = Argument(argued, self._kind, kind, self._kinds.name, self._is_truth)
        if once:
            self._require_key(aggregate, argument)
        if isinstance(aggregate, _SUMMED):
            argument.require_sum()
        elif isinstance(aggregate, _EXTREMES):
            argument.require_extreme()
        else:
            # COUNT sees NULL where the protected value is NULL, record number or not: public.
            # A cast that no value fails might fail for a record's number.
            for cast in [each for each in aggregate.walk() if casts.is_marked(each)]:
                cast.replace(cast.this)
            return
        self._reading.aggregates[id(aggregate)] = argument

    def _require_key(self, aggregate: exp.AggFunc, argument: Argument) -> None:
        """Check that a symmetric aggregate tells records apart by a key of their own table.

        Raises:
            NotUnderstood: code "each-once".
        """
        key, record = each_once.key_of(aggregate), argument.record
        protected = self._kinds.protected(argument.kind)
        keys = {
            (name, column)
            for name, source in sources_of(self._reading.scope)
            for column in self._kinds.unique_columns(source)
        }
        same = key is not None and record is not None and key.table == record.table
        if key is None or not same or (key.table, key.name) not in keys:
            raise self._error("each-once", argument.kind, name="a column" if key is None else key.name)
        if not each_once.keeps(aggregate, argument.leaves, casts.grid_of(protected)):
            raise self._error("argument", argument.kind)
        argument.once = key

    def _quantiles(self, aggregate: exp.AggFunc) -> None:
        """Say how several quantiles in one list are asked for one by one."""
        given = aggregate.args.get("quantile") or aggregate.args.get("expression")
        if isinstance(given, exp.Array):
            each = [aggregate.copy() for _ in given.expressions]
            for one, part in zip(each, given.expressions, strict=True):
                one.set("quantile" if "quantile" in one.args else "expression", part.copy())
            listed = ", ".join(bare(one) for one in each[:4])
            raise NotUnderstood("quantile-list", name=listed)

    def _outputs(self) -> None:
        for projection in self._select.expressions:
            column = projection.unalias()
            kind = self._kind(column) if isinstance(column, exp.Column) else None
            self._reading.outputs.append((projection.alias_or_name, kind))
