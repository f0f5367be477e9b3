"""Groups that are chosen by an aggregate of a protected column: by HAVING, in place of WHERE or a join.

    SELECT dept, AVG(pay) FROM t JOIN (SELECT dept FROM t GROUP BY dept ORDER BY SUM(pay) DESC LIMIT 3) g
        USING (dept) GROUP BY dept
    SELECT dept, AVG(pay) FROM t GROUP BY dept HAVING dept IN (SELECT dept FROM (… LIMIT 3) g)

BI tools write the first for "the top three". A condition on what is grouped by holds of all rows of a group
or of none, so it may as well choose groups; then every group is asked, and what was told of them chooses.

Promise: both give the same rows. Where records are chosen that are no whole groups, nothing is changed, and
the statement is refused. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.grouping import SETS, grouping
from auditor.sql.names import cte_of
from auditor.sql.scopes import conjuncts, own_nodes
from auditor.sql.trees import put, where_of
from auditor.sql.understood import NotUnderstood
from auditor.sql.where_protected import Names, reads


def choose_by_having(tree: exp.Query, context: Context) -> exp.Query:
    """Write such choices as HAVING."""
    choosing = _Choosing(context.protected(tree))
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        if group is None or any(True for _ in group.find_all(*SETS)):
            continue
        try:
            keys = list(grouping(select).keys)
        except NotUnderstood:
            continue
        if all(key.find(exp.Column) for key in keys):
            choosing.joins(select, keys)
            choosing.conditions(select, keys)
    return tree


class _Choosing:
    """One tree."""

    def __init__(self, protected: dict[int, Names]) -> None:
        self._protected = protected

    def conditions(self, select: exp.Select, keys: Sequence[exp.Expr]) -> None:
        """Conjuncts of WHERE."""
        where = select.args.get("where")
        parts = list(conjuncts(where.this)) if where is not None else []
        moved = [each for each in parts if self._chooses(each) and _is_of(each, keys)]
        if moved:
            select.set("where", where_of(e for e in parts if not any(e is other for other in moved)))
            _having(select, moved)

    def _chooses(self, condition: exp.Expr) -> bool:
        return any(self._releases(query) for query in condition.find_all(exp.Select))

    def _releases(self, select: exp.Expr) -> bool:
        """Whether a query aggregates a protected column, itself or in what it reads."""
        for each in select.find_all(exp.Select):
            names = self._protected.get(id(each), {})
            if any(isinstance(node, exp.AggFunc) and reads(node, names) for node in own_nodes(each)):
                return True
        ctes = [cte_of(table) for table in select.find_all(exp.Table)]
        return any(cte is not None and self._releases(cte.this) for cte in ctes)

    def joins(self, select: exp.Select, keys: list[exp.Expr]) -> None:
        """Inner joins with groups of which each stands for one row."""
        for join in list(select.args.get("joins") or []):
            source, on = join.this, join.args.get("on")
            if join.side or str(join.args.get("kind") or "").upper() not in ("", "INNER") or on is None:
                continue
            query = _query(source)
            if not isinstance(query, exp.Select) or not self._releases(query):
                continue
            alias = source.alias_or_name
            found = _joined(on, alias)
            if found is None or not _is_unique(query, found[1].name):
                continue
            mine, theirs = found
            keys[:] = _merged(select, mine, theirs, keys)
            others = [c for c in select.find_all(exp.Column) if c.table == alias and c is not theirs]
            if any(column.name != theirs.name for column in others):
                continue
            own = [_with(key, alias, mine) for key in keys]
            if mine not in own:
                continue
            condition = _member(mine, on, source, theirs)
            join.pop()
            for column in others:
                put(column, mine.copy())
            keys[:] = own
            _having(select, [condition])


def _merged(select: exp.Select, mine: exp.Expr, theirs: exp.Expr, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Write what USING merges by one of its sides, in place: an inner join has both equal; the keys then."""

    def plain(node: exp.Expr) -> exp.Expr:
        both = exp.Paren(this=node.copy())
        for each in list(both.find_all(exp.Coalesce)):
            if {each.this, *each.expressions} == {mine, theirs}:
                each.replace(mine.copy())
        found: exp.Expr = both.this
        return found

    for each in list(select.find_all(exp.Coalesce)):
        if {each.this, *each.expressions} == {mine, theirs}:
            each.replace(mine.copy())
    return [plain(key) for key in keys]


def _query(source: exp.Expr) -> exp.Expr | None:
    cte = cte_of(source) if isinstance(source, exp.Table) else None
    return cte.this if cte is not None else source.this if isinstance(source, exp.Subquery) else None


def _joined(on: exp.Expr, alias: str) -> tuple[exp.Expr, exp.Column] | None:
    """The two sides of ON: an expression of other tables, and a column of this one."""
    on = on.unnest()
    if type(on) not in (exp.EQ, exp.NullSafeEQ):
        return None
    for theirs, mine in (
        (on.this.unnest(), on.expression.unnest()),
        (on.expression.unnest(), on.this.unnest()),
    ):
        if isinstance(theirs, exp.Column) and theirs.table == alias and not mine.find(exp.Query):
            columns = list(mine.find_all(exp.Column))
            if columns and all(column.table not in ("", alias) for column in columns):
                return mine, theirs
    return None


def _is_unique(query: exp.Select, name: str) -> bool:
    """Whether a query has each value of a column once."""
    shown = {each.alias_or_name: each.unalias() for each in query.expressions}
    if name not in shown or query.args.get("qualify") or query.args.get("distinct"):
        return False
    group = query.args.get("group")
    if group is None or any(True for _ in group.find_all(*SETS)):
        return False
    try:
        return list(grouping(query).keys) == [shown[name]]
    except NotUnderstood:
        return False


def _with(key: exp.Expr, alias: str, mine: exp.Expr) -> exp.Expr:
    """A key in words of the other tables."""
    return mine if isinstance(key, exp.Column) and key.table == alias else key


def _member(mine: exp.Expr, on: exp.Expr, source: exp.Expr, theirs: exp.Column) -> exp.Expr:
    """That an expression is among the values of a column."""
    rows = exp.Select(expressions=[theirs.copy()])
    rows.set("from_", exp.From(this=source.copy()))
    member: exp.Expr = exp.In(this=exp.paren(mine.copy()), query=exp.Subquery(this=rows))
    if type(on.unnest()) is exp.NullSafeEQ:
        none = exp.Select(expressions=[exp.Literal.number(1)])
        none.set("from_", exp.From(this=source.copy()))
        none.set("where", exp.Where(this=theirs.copy().is_(exp.null())))
        both = exp.and_(exp.paren(mine.copy()).is_(exp.null()), exp.Exists(this=none))
        member = exp.paren(exp.or_(member, both))
    return member


def _is_of(condition: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Whether a condition reads keys, and queries that read nothing around them."""
    if condition in keys:
        return True
    if isinstance(condition, exp.Query):
        own = {each.alias_or_name for each in condition.find_all(exp.Table, exp.Subquery)}
        return all(not column.table or column.table in own for column in condition.find_all(exp.Column))
    if isinstance(condition, exp.Column | exp.AggFunc):
        return False
    return all(_is_of(each, keys) for each in condition.iter_expressions())


def _having(select: exp.Select, conditions: Sequence[exp.Expr]) -> None:
    having = select.args.get("having")
    every = [*([] if having is None else [having.this]), *conditions]
    select.set("having", exp.Having(this=exp.and_(*(each.copy() for each in every))))
