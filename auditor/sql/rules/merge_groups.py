"""Groups that are passed on: a query over the groups of another, written as one query with GROUP BY.

    SELECT d, s FROM (SELECT dept AS d, SUM(pay) AS s FROM t GROUP BY dept) WHERE d < 'x' ORDER BY d
    SELECT dept AS d, SUM(pay) AS s FROM t GROUP BY dept HAVING dept < 'x' ORDER BY d

    SELECT SUM(s) FROM (SELECT dept, SUM(pay) AS s FROM t GROUP BY dept)
    SELECT SUM(pay) AS s FROM t

So groups are rows of the answer, each of which may be withheld, and a total of totals is asked as the one
total that it is. Both read the same tables and give the same rows.

Promise: what cannot be shown to mean the same is left as it is; safety does not rest on this, since what
comes out is read like any other statement. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from auditor.sql.context import Context
from auditor.sql.grouping import SETS, Grouping, grouping
from auditor.sql.names import cte_of, drop_unread
from auditor.sql.ranges import end_of
from auditor.sql.scopes import own_nodes
from auditor.sql.trees import ancestors
from auditor.sql.understood import NotUnderstood

_Outputs = dict[str, exp.Expr]

_SAME = {exp.Sum: exp.Sum, exp.Max: exp.Max, exp.Min: exp.Min}
"""Aggregates of which the same aggregate over groups is that over all of them."""
LARGEST = 1_000
"""Nodes of a query that is written as one: an expression of the inner one stands wherever it is read."""


def merge_groups(tree: exp.Query, context: Context) -> exp.Query:
    """Write queries over groups as one, in a copy; what is there before is kept in the context.

    A histogram is left as it is.
    """
    found = None if context.histogram else _merged(tree)
    context.unmerged = None if found is None else tree
    return tree if found is None else found


def _merged(tree: exp.Query) -> exp.Query | None:
    """A copy with queries over groups written as one; None where there is none."""
    if sum(1 for _ in tree.find_all(exp.Select)) < 2:
        return None
    copy, changed = tree.copy(), False
    # those that are read come before those that read them
    for select in [scope.expression for scope in traverse_scope(copy)]:
        if not isinstance(select, exp.Select) or not _is_plain(select):
            continue
        found = _Passing(select).written()
        if found is None or sum(1 for _ in found.walk()) > LARGEST:
            continue
        changed = True
        if select is copy:
            copy = found
        else:
            select.replace(found)
    if not changed:
        return None
    drop_unread(copy)
    return copy


def _is_plain(select: exp.Select) -> bool:
    """Whether a SELECT reads one query, row by row or in one total, and nothing else."""
    source = select.args.get("from_")
    if source is None or any(
        select.args.get(clause) for clause in ("joins", "distinct", "qualify", "windows")
    ):
        return False
    return not any(isinstance(node, exp.Window) for node in own_nodes(select)) and not _has_queries(select)


def _has_queries(select: exp.Select) -> bool:
    """Whether queries stand in a SELECT's expressions."""
    clauses = ("where", "group", "having", "order", "limit", "offset")
    parts = [*select.expressions, *(select.args.get(clause) for clause in clauses)]
    return any(part is not None and part.find(exp.Query) for part in parts)


class _Passing:
    """One SELECT over the groups of another."""

    def __init__(self, outer: exp.Select) -> None:
        self._outer = outer
        source = outer.args["from_"].this
        self._alias = source.alias_or_name
        cte = cte_of(source) if isinstance(source, exp.Table) else None
        inner = cte.this if cte is not None else source.this if isinstance(source, exp.Subquery) else None
        while isinstance(inner, exp.Subquery) and not inner.args.get("with_"):
            inner = inner.this
        self._inner: exp.Select | None = None
        if isinstance(inner, exp.Select) and _is_grouped(inner) and self._sees_the_same(inner):
            self._inner = inner.copy()

    def _sees_the_same(self, inner: exp.Select) -> bool:
        """Whether names of WITH queries mean in the outer query what they mean in the inner one."""
        if inner.args.get("with_"):
            return False
        for table in inner.find_all(exp.Table):
            if not table.db and cte_of(table) is not _cte_from(self._outer, table.name, inner, table):
                return False
        return True

    def written(self) -> exp.Select | None:
        """The two as one; None where that cannot be shown to mean the same."""
        if self._inner is None:
            return None
        outputs = _outputs(self._inner)
        grouped = _grouped(self._inner)
        if outputs is None or grouped is None:
            return None
        try:
            if any(isinstance(node, exp.AggFunc) for node in own_nodes(self._outer)):
                return self._total(self._inner, outputs)
            return self._rows(self._inner, outputs, grouped)
        except _Left:
            return None

    def _rows(self, inner: exp.Select, outputs: _Outputs, grouped: Grouping) -> exp.Select:
        """Rows of the outer query are groups of the inner one."""
        outer = self._outer
        if outer.args.get("group") or outer.args.get("having"):
            raise _Left
        bounded = inner.args.get("limit") or inner.args.get("offset")
        if bounded and any(outer.args.get(clause) for clause in ("where", "order", "limit", "offset")):
            raise _Left
        merged = outer.copy()
        merged.set("expressions", [self._named(each, outputs) for each in outer.expressions])
        group = _group(grouped)
        if group is None and not any(each.find(exp.AggFunc) for each in merged.expressions):
            raise _Left  # without an aggregate there would be as many rows as in the table
        merged.set("from_", inner.args["from_"])
        merged.set("joins", inner.args.get("joins"))
        merged.set("where", inner.args.get("where"))
        merged.set("group", group)
        conditions = [inner.args["having"].this] if inner.args.get("having") else []
        if outer.args.get("where"):
            conditions.append(self._put(outer.args["where"].this, outputs))
        merged.set("having", exp.Having(this=exp.and_(*conditions)) if conditions else None)
        order = outer.args.get("order")
        if order is not None:
            merged.set("order", self._ordered(order, outputs))
        elif inner.args.get("order"):
            merged.set("order", _inner_order(inner, outputs))
        for clause in ("limit", "offset") if bounded else ():
            merged.set(clause, inner.args.get(clause))
        return merged

    def _total(self, inner: exp.Select, outputs: _Outputs) -> exp.Select:
        """Aggregates over groups are aggregates over their rows."""
        outer = self._outer
        group = inner.args.get("group")
        if group is None or any(True for _ in group.find_all(*SETS)):
            raise _Left
        if any(inner.args.get(clause) for clause in ("having", "limit", "offset")):
            raise _Left
        own = {name: node for name, node in outputs.items() if not node.find(exp.AggFunc)}
        merged = outer.copy()
        merged.set("expressions", [self._totalled(each, outputs, own) for each in outer.expressions])
        conditions = [inner.args["where"].this] if inner.args.get("where") else []
        if outer.args.get("where"):
            conditions.append(self._put(outer.args["where"].this, own))
        merged.set("from_", inner.args["from_"])
        merged.set("joins", inner.args.get("joins"))
        merged.set("where", exp.Where(this=exp.and_(*conditions)) if conditions else None)
        if outer.args.get("group"):
            grouped = _grouped(outer)
            if grouped is None:
                raise _Left
            if any(True for _ in outer.args["group"].find_all(*SETS)):
                raise _Left
            written = [self._put(key, own) for key in grouped.keys]
            if not all(key.find(exp.Column) for key in written):
                raise _Left  # a constant would be taken for a position
            merged.set("group", exp.Group(expressions=written))
        for clause in ("having", "order"):
            if outer.args.get(clause):
                merged.set(clause, self._totalled(outer.args[clause], outputs, own))
        return merged

    def _named(self, projection: exp.Expr, outputs: _Outputs) -> exp.Expr:
        name = (
            projection.args["alias"].copy() if isinstance(projection, exp.Alias) else projection.alias_or_name
        )
        value = self._put(projection.unalias(), outputs)
        return exp.Alias(
            this=value, alias=name if isinstance(name, exp.Expr) else exp.to_identifier(name, True)
        )

    def _put(self, node: exp.Expr, outputs: _Outputs) -> exp.Expr:
        """A copy of an expression of the outer query, in words of the inner one."""
        holder = exp.Paren(this=node.copy())
        for column in list(holder.find_all(exp.Column)):
            if column.table != self._alias or column.name not in outputs:
                raise _Left
            inner = outputs[column.name].copy()
            if column.parent is not holder and not inner.find(exp.Column, exp.AggFunc):
                raise _Left  # a constant has another type inside an expression
            column.replace(inner if _is_call(column.parent) or _stands_alone(inner) else exp.paren(inner))
        found: exp.Expr = holder.this
        return found

    def _totalled(self, node: exp.Expr, outputs: _Outputs, own: _Outputs) -> exp.Expr:
        """The same with aggregates of groups as aggregates of their rows."""
        holder = exp.Paren(this=node.copy())
        totals = []
        for call in list(holder.find_all(exp.AggFunc)):
            filtered = call.parent if isinstance(call.parent, exp.Filter) else None
            condition = None if filtered is None else self._put(filtered.expression.this, own)
            total = self._of_rows(call, condition, outputs)
            (filtered or call).replace(total)
            totals.append(total)
        made = {id(inside) for total in totals for inside in total.walk()}
        aliases = set(self._outer.named_selects)
        for column in [each for each in holder.find_all(exp.Column) if id(each) not in made]:
            if not column.table and isinstance(column.parent, exp.Ordered) and column.name in aliases:
                continue
            column.replace(self._put(column, own))
        found: exp.Expr = holder.this
        return found

    def _of_rows(self, call: exp.AggFunc, condition: exp.Expr | None, outputs: _Outputs) -> exp.Expr:
        """An aggregate of the inner query's, over all its rows."""
        column = call.this
        if not isinstance(column, exp.Column) or column.table != self._alias or type(call) not in _SAME:
            raise _Left
        inner = outputs.get(column.name)
        conditions = [] if condition is None else [condition]
        within = None
        if isinstance(inner, exp.Filter):
            within, inner = inner.expression.this.copy(), inner.this
        if isinstance(call, exp.Sum) and isinstance(inner, exp.Count) and not inner.find(exp.Distinct):
            # where FILTER leaves nothing COUNT is 0, and SUM would be NULL
            found: exp.Expr = exp.Sum(this=_counted(inner, within))
            within = None
        elif type(inner) is type(call) and not inner.find(exp.Distinct):
            found = inner.copy()
        else:
            raise _Left
        conditions += [] if within is None else [within]
        if conditions:
            found = exp.Filter(this=found, expression=exp.Where(this=exp.and_(*conditions)))
        return found

    def _ordered(self, order: exp.Order, outputs: _Outputs) -> exp.Order:
        """ORDER BY of the outer query: a bare name is its alias, and inside an expression a column first."""
        aliases = {each.alias_or_name: each.unalias() for each in self._outer.expressions}
        copy = order.copy()
        for ordered in copy.expressions:
            node = ordered.this
            while isinstance(node, exp.Paren):
                node = node.this
            if isinstance(node, exp.Column) and not node.table and node.name in aliases:
                continue
            if isinstance(node, exp.Literal | exp.Var):
                continue
            for column in list(ordered.this.find_all(exp.Column)):
                if not column.table:
                    known = column.name in outputs
                    target = exp.column(column.name, table=self._alias, quoted=True) if known else None
                    target = target or aliases.get(column.name)
                    if target is None:
                        raise _Left
                    column.replace(exp.paren(target.copy()))
            ordered.set("this", self._put(ordered.this, outputs))
            if not ordered.this.find(exp.Column, exp.AggFunc):
                raise _Left  # a constant would be taken for a position
        return copy


class _Left(Exception):
    """The two queries are left as they are; never leaves this module."""


def _is_grouped(select: exp.Select) -> bool:
    """Whether a SELECT gives groups, and nothing that is computed from several of them."""
    if any(select.args.get(clause) for clause in ("distinct", "qualify", "windows")) or not select.args.get(
        "from_"
    ):
        return False
    nodes = list(own_nodes(select))
    if any(isinstance(node, exp.Window) for node in nodes):
        return False
    if any(each.find(exp.Query) for each in select.expressions):
        return False
    clauses = (select.args.get(clause) for clause in ("where", "group", "having"))
    if any(not each.table for clause in clauses if clause for each in clause.find_all(exp.Column)):
        return False  # it may be an alias
    return any(isinstance(node, exp.AggFunc) for node in nodes)


def _outputs(select: exp.Select) -> _Outputs | None:
    found: _Outputs = {}
    for projection in select.expressions:
        if projection.alias_or_name in found:
            return None
        found[projection.alias_or_name] = projection.unalias()
    return found


def _grouped(select: exp.Select) -> Grouping | None:
    """What a SELECT groups by; None where that is not plain."""
    try:
        found = grouping(select)
    except NotUnderstood:
        return None
    seen: list[exp.Column] = []
    for key in found.keys:
        columns = list(key.find_all(exp.Column))
        if not columns or not all(column.table for column in columns):
            return None  # a constant, or a name that may be an alias
        if found.sets and any(column in seen for column in columns):
            return None  # what is worked out from one key could be taken for another
        seen += columns
    return found


def _group(grouped: Grouping) -> exp.Group | None:
    """GROUP BY in words that do not hang on what is selected."""
    elements = grouped.sets or grouped.keys
    return exp.Group(expressions=[element.copy() for element in elements]) if elements else None


def _inner_order(select: exp.Select, outputs: _Outputs) -> exp.Order:
    """ORDER BY of the inner query, without its aliases and positions."""
    copy: exp.Order = select.args["order"].copy()
    names = list(outputs)
    for ordered in copy.expressions:
        node = ordered.this
        if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(names):
            ordered.set("this", exp.paren(outputs[names[int(node.name) - 1]].copy()))
        elif isinstance(node, exp.Column) and not node.table and node.name in outputs:
            ordered.set("this", exp.paren(outputs[node.name].copy()))
        elif isinstance(node, exp.Literal | exp.Var) or any(
            not each.table for each in node.find_all(exp.Column)
        ):
            raise _Left
    return copy


def _counted(call: exp.Count, within: exp.Expr | None) -> exp.Expr:
    """What COUNT adds up, with the condition of its FILTER."""
    if call.expressions:
        raise _Left
    conditions = [] if within is None else [within]
    if not isinstance(call.this, exp.Star) and call.this is not None:
        conditions.append(exp.paren(call.this.copy()).is_(exp.null()).not_())
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    return exp.Case(ifs=[exp.If(this=exp.and_(*conditions), true=one)], default=none) if conditions else one


def _cte_from(outer: exp.Select, name: str, inner: exp.Expr, table: exp.Table) -> exp.CTE | None:
    """The WITH query that a name in the inner query would stand for, were it read in the outer one."""
    own = cte_of(table)
    if own is not None and any(node is inner for node in ancestors(own)):
        return own  # defined inside
    probe = exp.to_table(name)
    probe.set("parent", None)
    source = outer.args["from_"]
    held = source.this
    source.set("this", probe)
    try:
        return cte_of(probe)
    finally:
        source.set("this", held)


def _is_call(node: exp.Expr | None) -> bool:
    return node is not None and end_of(node) is not None


def _stands_alone(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column | exp.Func | exp.Literal | exp.Paren) and not isinstance(
        node, exp.Binary
    )
