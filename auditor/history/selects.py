"""One SELECT of a statement: what chooses its rows, and what its projections show.

Promises that a SELECT whose rows hang on protected values shows nothing that is modelled, and that its
projections, where they are, list records and weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from auditor.history.expressions import Reader
from auditor.history.forms import Form
from auditor.history.meanings import Grid, Hidden, Kind, Known
from auditor.history.questions import NotLinear
from auditor.sql.scopes import own_nodes, sources_of
from auditor.sql.understood import NotUnderstood
from auditor.sql.windows import is_windowed


class Statement(Protocol):
    """The statement around a SELECT, as far as it is read."""

    def grid(self, column: int) -> Grid:
        """The grid of a protected column."""

    def named(self, function: str) -> None:
        """Note an aggregate of a protected column."""

    def note(self, query: exp.Expr, hidden: Hidden) -> None:
        """Note what a SELECT shows that is not modelled."""

    def settle(
        self,
        select: exp.Select,
        outputs: list[tuple[str, Kind]],
        taint: Hidden | None,
        shape: tuple[bool, bool],
    ) -> None:
        """Keep what a SELECT gives."""

    def limited(self, select: exp.Select, limit: int) -> None:
        """Note that a SELECT shows some of its rows, and not which."""

    def taint_of(self, query: exp.Expr) -> Hidden | None:
        """Why a query's rows hang on protected values, or None."""

    def outputs_of(self, query: exp.Expr) -> list[tuple[str, Kind]]:
        """A query's columns."""

    def is_top(self, query: exp.Expr) -> bool:
        """Whether what a query gives is what the statement shows."""

    def columns_of(self, source: exp.Table | Scope) -> dict[str, Kind]:
        """A source's columns."""

    def unique_of(self, source: exp.Table | Scope) -> set[str]:
        """A table's columns that tell all rows apart."""


class SelectReader:
    """Reads one SELECT, and rewrites its projections."""

    def __init__(self, whole: Statement, scope: Scope) -> None:
        assert isinstance(scope.expression, exp.Select)
        self._whole, self._scope, self._select = whole, scope, scope.expression
        self._sources = {name: whole.columns_of(source) for name, source in sources_of(scope)}
        self._taint: Hidden | None = None
        for _, source in sources_of(scope):
            if isinstance(source, Scope):
                self._taint = self._taint or whole.taint_of(source.expression)
        nodes = [node for node in own_nodes(self._select) if isinstance(node, exp.AggFunc)]
        self.grouped = self._select.args.get("group") is not None
        self.aggregated = self.grouped or any(not is_windowed(node) for node in nodes)
        self._reader = Reader(self.kind_of, self._query_kind, whole.grid, whole.named)
        self._reader.unique = self._is_unique

    # --- names

    def kind_of(self, column: exp.Column) -> Kind:
        """What a column is, looked for in the queries around this one too."""
        scope: Scope | None = self._scope
        sources: Mapping[str, dict[str, Kind]] = self._sources
        while scope is not None:
            if column.table in sources and column.name in sources[column.table]:
                return sources[column.table][column.name]
            if not column.table and scope is self._scope:
                return self._alias(column)
            scope = scope.parent
            if scope is not None and isinstance(scope.expression, exp.Select):
                sources = {name: self._whole.columns_of(source) for name, source in sources_of(scope)}
        raise NotUnderstood("unknown-column", name=column.name, near="")

    def _alias(self, column: exp.Column) -> Kind:
        for projection in self._select.expressions:
            if projection.alias_or_name == column.name and projection.unalias() is not column:
                return self._shown(projection.unalias())
        found = [columns[column.name] for columns in self._sources.values() if column.name in columns]
        if not found:
            raise NotUnderstood("unknown-column", name=column.name, near="")
        return next((kind for kind in found if kind is not None), None)

    def _shown(self, node: exp.Expr) -> Kind:
        return Hidden("expression", "a computed value") if self._reader.reads(node) else None

    def _query_kind(self, query: exp.Expr) -> Kind:
        """What a scalar subquery gives."""
        taint = self._whole.taint_of(query)
        if taint is not None:
            return taint
        kinds = [kind for _, kind in self._whole.outputs_of(query) if kind is not None]
        return kinds[0] if kinds else None

    # --- reading

    def read(self) -> None:
        """Read the clauses, then the projections."""
        select = self._select
        for node in own_nodes(select):
            if isinstance(node, exp.Join):
                if node.args.get("using") or node.args.get("method"):
                    raise NotUnderstood("translation")
                self._condition(node.args.get("on"), "join on the protected column")
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                self.kind_of(node)
        self._where()
        group = select.args.get("group")
        if group is not None:
            self._condition(group, "GROUP BY the protected column")
        for clause, kind in (
            ("having", "HAVING on the protected column"),
            ("qualify", "QUALIFY on the protected column"),
        ):
            self._condition(select.args.get(clause), kind)
        outputs = self._projections()
        self._order(outputs)
        self._distinct(outputs)
        self._limit(outputs)
        if self._taint is not None:
            outputs = [(name, self._taint) for name, _ in outputs]
        self._whole.settle(select, outputs, self._taint, (self.grouped, self.aggregated))

    def _condition(self, node: exp.Expr | None, kind: str) -> None:
        if node is not None and self._taint is None and self._reader.reads(node):
            self._taint = Hidden(kind, "which rows are shown hangs on protected values")

    def _where(self) -> None:
        where = self._select.args.get("where")
        if where is None or not self._reader.reads(where):
            return
        kept: list[exp.Expr] = []
        for conjunct in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
            if not self._reader.reads(conjunct):
                kept.append(conjunct)
                continue
            indicator = self._reader.indicator(conjunct) if self.aggregated else None
            if indicator is None or self._reader.indicated is not None or self._has_windows():
                self._condition(where, "condition on the protected column")
                return
            self._reader.indicated = indicator
        if kept:
            where.set("this", exp.and_(*kept, copy=False))
        else:
            self._select.set("where", None)

    def _has_windows(self) -> bool:
        return any(isinstance(node, exp.Window | exp.Qualify) for node in own_nodes(self._select))

    def _projections(self) -> list[tuple[str, Kind]]:
        outputs: list[tuple[str, Kind]] = []
        made: list[exp.Expr] = []
        for projection in self._select.expressions:
            name, node = projection.alias_or_name, projection.unalias()
            kind: Kind = None
            if self._taint is not None:
                kind, node = self._taint, exp.null()
            else:
                kind, node = self._projected(node)
            outputs.append((name, kind))
            made.append(exp.alias_(node, name, quoted=True))
        if self._taint is None:
            self._select.set("expressions", made)
        return outputs

    def _projected(self, node: exp.Expr) -> tuple[Kind, exp.Expr]:
        try:
            unread = self._reader.indicated is None or not node.find(exp.AggFunc)
            if unread and not self._reader.reads(node):
                return None, node
            if isinstance(node, exp.Column):
                kind = self.kind_of(node)
                return kind, exp.null() if isinstance(kind, Hidden) else node
            shown = self._reader.shown(node, self._whole.is_top(self._select))
        except NotLinear as reason:
            return Hidden(reason.kind, str(reason)), exp.null()
        if isinstance(shown.form, Form):
            plain = "" if shown.form.blur or self._reader.indicated else self._plain(node)
            return Known(shown.column, "form", shown.form.blur, shown.form.whole, plain), exp.Var(
                this=shown.form.text
            )
        return Known(shown.column, shown.extreme, 0.0), exp.Var(this=shown.text)

    def _plain(self, node: exp.Expr) -> Literal["", "sum", "avg"]:
        while isinstance(node, exp.Paren | exp.Cast):
            node = node.this
        if isinstance(node, exp.Filter):
            node = node.this
        if not isinstance(node, exp.Sum | exp.Avg) or not isinstance(node.this, exp.Column):
            return ""
        kind = self.kind_of(node.this)
        if not isinstance(kind, Known) or kind.what != "record":
            return ""
        return "sum" if isinstance(node, exp.Sum) else "avg"

    def _order(self, outputs: list[tuple[str, Kind]]) -> None:
        order = self._select.args.get("order")
        if order is None or self._taint is not None:
            return
        names = dict(outputs)
        reads = False
        for ordered in order.expressions:
            bare = isinstance(ordered.this, exp.Column) and not ordered.this.table
            kind = names.get(ordered.this.name) if bare else None
            reads = reads or kind is not None or self._reader.reads(ordered.this)
        if self._reader.indicated is not None and order.find(exp.AggFunc):
            reads = True
        if not reads:
            return
        if self._select.args.get("limit") or self._select.args.get("offset"):
            if self.aggregated and not self.grouped:
                return
            kind_name = "ORDER BY the protected column with LIMIT"
            self._taint = Hidden(kind_name, "which rows are shown hangs on protected values")
            return
        self._select.set("order", None)
        if self._whole.is_top(self._select) and not any(isinstance(kind, Known) for _, kind in outputs):
            self._whole.note(
                self._select, Hidden("ORDER BY the protected column", "the order of rows compares values")
            )

    def _distinct(self, outputs: list[tuple[str, Kind]]) -> None:
        distinct = self._select.args.get("distinct")
        if distinct is None or self._taint is not None or not any(kind for _, kind in outputs):
            return
        told_apart = any(name in self._unique() for name, kind in outputs if kind is None)
        if (self.aggregated and self._whole.is_top(self._select) and not distinct.args.get("on")) or (
            told_apart and not distinct.args.get("on")
        ):
            self._select.set("distinct", None)
        else:
            self._taint = Hidden("DISTINCT", "DISTINCT compares protected values")

    def _is_unique(self, column: exp.Column) -> bool:
        sources = dict(sources_of(self._scope))
        if len(sources) != 1 or column.table not in sources:
            return False
        return column.name in self._whole.unique_of(sources[column.table])

    def _unique(self) -> set[str]:
        """Names of projections that tell all rows apart."""
        found: set[str] = set()
        if len(self._sources) != 1 or self._select.args.get("joins"):
            return found
        ((_, source),) = list(sources_of(self._scope))
        unique = self._whole.unique_of(source)
        for projection in self._select.expressions:
            node = projection.unalias()
            if isinstance(node, exp.Column) and node.name in unique:
                found.add(projection.alias_or_name)
        return found

    def _limit(self, outputs: list[tuple[str, Kind]]) -> None:
        limit, offset = self._select.args.get("limit"), self._select.args.get("offset")
        if (limit is None and offset is None) or self._taint is not None:
            return
        if self.aggregated and not self.grouped and offset is None:
            assert limit is not None
            if not (isinstance(limit.expression, exp.Literal) and limit.expression.name == "0"):
                self._select.set("limit", None)
                self._select.set("order", None)
            return
        if not any(kind for _, kind in outputs) or self._total():
            return
        count = limit.expression if limit is not None else None
        if (
            offset is None
            and isinstance(count, exp.Literal)
            and count.is_int
            and self._whole.is_top(self._select)
        ):
            self._select.set("limit", None)
            self._whole.limited(self._select, int(count.name))
        else:
            self._taint = Hidden("LIMIT", "which rows LIMIT leaves is not known")

    def _total(self) -> bool:
        """Whether ORDER BY tells all rows apart."""
        order = self._select.args.get("order")
        if order is None:
            return False
        aliases = {projection.alias_or_name: projection.unalias() for projection in self._select.expressions}
        seen = []
        for ordered in order.expressions:
            node = ordered.this
            if isinstance(node, exp.Column) and not node.table:
                node = aliases.get(node.name, node)
            seen.append(node)
        if self.grouped:
            keys = self._select.args["group"].expressions
            return bool(keys) and all(key in seen for key in keys)
        if len(self._sources) != 1 or self._select.args.get("joins"):
            return False
        ((_, source),) = list(sources_of(self._scope))
        unique = self._whole.unique_of(source)
        return any(isinstance(node, exp.Column) and node.name in unique for node in seen)
