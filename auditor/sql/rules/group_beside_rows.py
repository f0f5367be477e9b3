"""Aggregates of a group that stand beside rows: windows over PARTITION BY, and correlated subqueries.

    SELECT DISTINCT dept, AVG(pay) OVER (PARTITION BY dept) FROM t
    SELECT dept, AVG(pay) FROM t GROUP BY dept

    SELECT id, AVG(pay) OVER (PARTITION BY dept) FROM t
    SELECT d.dept, (SELECT AVG(pay) FROM t WHERE t.dept = d.dept) FROM d
    SELECT …, g._v0 FROM … LEFT JOIN (SELECT dept AS _k0, AVG(pay) AS _v0 FROM t GROUP BY dept) g ON …

Each is the aggregate of a group of public columns, so it is asked as that, in a derived table.

Promise: what is written anew gives the same rows; what cannot be is left as it is, and refused where
aggregates of rows are. Every group of the derived table is asked: of a subquery those that the query around
it has. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.scopes import conjuncts, own_nodes
from auditor.sql.trees import copied, derived, holder_of, names_of, put, sources, tables_of, where_of
from auditor.sql.where_protected import Names, reads
from auditor.sql.windows import is_windowed

_AGGREGATES = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count)
_CLAUSES = ("group", "having", "distinct", "qualify", "order", "limit", "offset", "with_", "windows")
_Pairs = Sequence[tuple[exp.Expr, exp.Expr]]


def group_beside_rows(tree: exp.Query, context: Context) -> exp.Query:
    """Write such aggregates as groups."""
    protected = context.protected(tree)
    names = _Names({each.name for each in tree.find_all(exp.Identifier)})
    for select in list(tree.find_all(exp.Select)):
        _inline(select)
        windows = [each for each in _windows(select) if reads(each, protected.get(id(select), {}))]
        if windows and not _as_grouped(select, windows):
            _beside(select, windows, names)
    for select in reversed(list(tree.find_all(exp.Select))):
        for query in list(select.find_all(exp.Subquery)):
            inner = query.this
            own = query.find_ancestor(exp.Select) is select and _is_scalar(query)
            if isinstance(inner, exp.Select) and own:
                _correlated(select, query, inner, protected.get(id(inner), {}), names)
    return tree


class _Names:
    """Names for derived tables."""

    def __init__(self, used: set[str]) -> None:
        self._used = used

    def free(self) -> str:
        """One that nothing in the statement has."""
        name = next(name for name in (f"_g{i}" for i in range(len(self._used) + 1)) if name not in self._used)
        self._used.add(name)
        return name


def _is_scalar(query: exp.Subquery) -> bool:
    return not isinstance(
        query.parent, exp.From | exp.Join | exp.In | exp.Exists | exp.CTE | exp.SetOperation
    )


def _windows(select: exp.Select) -> list[exp.Window]:
    return [each for each in own_nodes(select) if isinstance(each, exp.Window) and each.arg_key != "windows"]


def _inline(select: exp.Select) -> None:
    """Write definitions of WINDOW where they are used as they stand."""
    named = {each.this.name: each for each in select.args.get("windows") or []}
    for window in _windows(select) if named else []:
        base = window.args.get("alias")
        own = any(window.args.get(each) for each in ("partition_by", "order", "spec"))
        found = named.get(base.name) if base is not None and not own else None
        if found is None or found.args.get("alias"):
            continue
        window.set("alias", None)
        copied(found, ("partition_by", "order", "spec"), window)
    if named and not any(each.args.get("alias") for each in _windows(select)):
        select.set("windows", None)


def _keys(window: exp.Window) -> list[exp.Expr] | None:
    """What a window's rows have in common; None where their order counts, or another function is over it."""
    if any(window.args.get(each) for each in ("order", "spec", "alias")):
        return None
    call = window.this.this if isinstance(window.this, exp.Filter) else window.this
    if not isinstance(call, _AGGREGATES) or isinstance(call.this, exp.Distinct):
        return None
    keys = list(window.args.get("partition_by") or [])
    return None if any(key.find(exp.Query, exp.AggFunc) for key in keys) else keys


def _is_plain(select: exp.Select) -> bool:
    return not any(select.args.get(each) for each in ("group", "having", "qualify", "windows"))


def _aggregates(select: exp.Expr) -> list[exp.AggFunc]:
    found = [each for each in own_nodes(select) if isinstance(each, exp.AggFunc)]
    return [each for each in found if not is_windowed(each)]


def _as_grouped(select: exp.Select, windows: Sequence[exp.Window]) -> bool:
    """Write `SELECT DISTINCT key, AVG(x) OVER (PARTITION BY key)` with GROUP BY; whether that was done."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") or not _is_plain(select):
        return False
    keys, every = _keys(windows[0]), _windows(select)
    if keys is None or any(_differ(_keys(each), keys) for each in every):
        return False
    shown = [each.unalias() for each in select.expressions]
    order = select.args.get("order")
    if not all(_is_of_keys(each, keys) for each in shown):
        return False
    if order is not None and not all(_is_of_keys(each.this, keys, True) for each in order.expressions):
        return False
    for window in every:
        window.replace(window.this.copy())
    if keys:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    else:
        # of no rows there is no row
        some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        select.set("having", exp.Having(this=some))
    if all(key in shown for key in keys):
        select.set("distinct", None)
    return True


def _differ(one: list[exp.Expr] | None, other: list[exp.Expr]) -> bool:
    return one is None or set(one) != set(other)


def _is_of_keys(node: exp.Expr, keys: Sequence[exp.Expr], aliases: bool = False) -> bool:
    """Whether an expression reads keys and windows alone."""
    if node in keys or isinstance(node, exp.Window):
        return True
    if isinstance(node, exp.Query | exp.AggFunc):
        return False
    if isinstance(node, exp.Column):
        return aliases and not node.table
    return all(_is_of_keys(each, keys, aliases) for each in node.iter_expressions())


def _beside(select: exp.Select, windows: Sequence[exp.Window], names: _Names) -> None:
    """Join the groups of each window to the rows."""
    if not _is_plain(select) or _aggregates(select) or select.args.get("from_") is None:
        return
    if any(_keys(each) is None for each in windows):
        return
    groups = []
    for window in windows:
        keys, name = _keys(window) or [], names.free()
        shown = [exp.alias_(key.copy(), f"_k{i}", quoted=True) for i, key in enumerate(keys)]
        group = exp.Select(expressions=[*shown, exp.alias_(window.this.copy(), "_v0", quoted=True)])
        copied(select, ("from_", "joins", "where"), group)
        if keys:
            group.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        on: list[exp.Expr] = [
            exp.NullSafeEQ(this=exp.paren(key.copy()), expression=_column(name, f"_k{i}"))
            for i, key in enumerate(keys)
        ]
        groups.append((group, name, on))
        put(window, _column(name, "_v0"))
    for group, name, on in groups:
        _join(select, group, name, on)


def _correlated(
    select: exp.Select, query: exp.Subquery, inner: exp.Select, protected: Names, names: _Names
) -> None:
    """Join the groups of a correlated subquery to the rows that it stands beside."""
    totals = _aggregates(inner)
    held = [holder_of(each) for each in totals]
    if not any(reads(each, protected) for each in held) or len(inner.expressions) != 1:
        return
    if any(inner.args.get(each) for each in _CLAUSES) or inner.args.get("from_") is None:
        return
    if not all(isinstance(each, _AGGREGATES) for each in totals) or _is_grouped(select):
        return
    where, own = inner.args.get("where"), names_of(inner)
    conditions = list(conjuncts(where.this)) if where is not None else []
    split = _split(conditions, own, names_of(select))
    if split is None or not split[0]:
        return
    pairs, rest = split
    if not all(each.table in own for each in inner.expressions[0].find_all(exp.Column)):
        return
    name = names.free()
    shown = [exp.alias_(mine.copy(), f"_k{i}", quoted=True) for i, (mine, _) in enumerate(pairs)]
    group = exp.Select(expressions=shown)
    value = exp.Paren(this=inner.expressions[0].unalias().copy())
    for total in _aggregates(value):
        holder = holder_of(total)
        place = len(group.expressions)
        group.append("expressions", exp.alias_(holder.copy(), f"_v{place}", quoted=True))
        column: exp.Expr = _column(name, f"_v{place}")
        if isinstance(total, exp.Count):
            # of nobody there is no group
            column = exp.Coalesce(this=column, expressions=[exp.Literal.number(0)])
        holder.replace(column)
    copied(inner, ("from_", "joins"), group)
    few = _among_rows(select, pairs)
    group.set("where", where_of([*rest, *([few] if few is not None else [])]))
    group.set("group", exp.Group(expressions=[mine.copy() for mine, _ in pairs]))
    on: list[exp.Expr] = [
        exp.EQ(this=_column(name, f"_k{i}"), expression=exp.paren(theirs.copy()))
        for i, (_, theirs) in enumerate(pairs)
    ]
    _join(select, group, name, on)
    put(query, value)


def _among_rows(select: exp.Select, pairs: _Pairs) -> exp.Expr | None:
    """That a group is one of those that the rows have: others need not be asked."""
    where = select.args.get("where")
    if len(pairs) != 1 or (where is not None and where.find(exp.Query)):
        return None
    if not all(isinstance(each, exp.Table) for each in sources(select)):
        return None
    mine, theirs = pairs[0]
    rows = exp.Select(expressions=[exp.alias_(theirs.copy(), "_k0", quoted=True)])
    copied(select, ("from_", "joins", "where"), rows)
    return exp.In(this=exp.paren(mine.copy()), query=exp.Subquery(this=rows))


def _is_grouped(select: exp.Select) -> bool:
    plain = _is_plain(select) and not select.args.get("distinct") and select.args.get("from_") is not None
    return not plain or bool(_aggregates(select))


def _split(
    conditions: Sequence[exp.Expr], own: set[str], around: set[str]
) -> tuple[_Pairs, list[exp.Expr]] | None:
    """Expressions, of the query itself and of the one around it, that are equal; and other conditions."""
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    rest: list[exp.Expr] = []
    for each in conditions:
        if each.find(exp.Query):
            return None
        if tables_of(each) <= own:
            rest.append(each)
            continue
        if type(each) is not exp.EQ:
            return None
        sides = [(side, tables_of(side)) for side in (each.this, each.expression)]
        mine = [side for side, named in sides if named and named <= own]
        theirs = [side for side, named in sides if named and named <= around and not named & own]
        if len(mine) != 1 or len(theirs) != 1:
            return None
        pairs.append((mine[0], theirs[0]))
    return pairs, rest


def _join(select: exp.Select, group: exp.Select, name: str, on: Sequence[exp.Expr]) -> None:
    condition = exp.and_(*on) if on else exp.true()
    select.append("joins", exp.Join(this=derived(group, name), side="LEFT", on=condition))


def _column(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)
