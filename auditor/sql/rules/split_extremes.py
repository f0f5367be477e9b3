"""MAX and MIN of one of several expressions, by public conditions: the extreme of the extremes of each.

    MAX(COALESCE(pay, 0))                       GREATEST(MAX(pay), MAX(CASE WHEN pay IS NULL THEN 0 END))
    MAX(CASE WHEN old THEN pay ELSE 0 END)      GREATEST(MAX(CASE WHEN old THEN pay END),
                                                         MAX(CASE WHEN old THEN NULL ELSE 0 END))

So each aggregate reads the column in one way, which is asked; what is public is computed beside it.

Promise: both give the same value: GREATEST and LEAST leave NULL out. What is not of this form is left. Works
on a tree whose names are resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.linear import constant
from auditor.sql.ranges import end_above
from auditor.sql.scopes import own_nodes
from auditor.sql.trees import holder_of
from auditor.sql.where_protected import name_of
from auditor.sql.windows import is_windowed

_OUTER: dict[type[exp.Expr], type[exp.Func]] = {exp.Max: exp.Greatest, exp.Min: exp.Least}
IsProtected = Callable[[exp.Column], bool]


def split_extremes(tree: exp.Query, context: Context) -> exp.Query:
    """Write such extremes as several."""
    by_select = context.protected(tree)
    for select in list(tree.find_all(exp.Select)):
        names = by_select.get(id(select), {})
        if names:
            _plainer(select, lambda column, names=names: name_of(column) in names)  # type: ignore[misc]
    return tree


def _plainer(select: exp.Select, is_protected: IsProtected) -> None:
    for node in list(own_nodes(select)):
        if type(node) not in _OUTER or is_windowed(node) or not _reads(node, is_protected):
            continue
        holder = holder_of(node)
        if end_above(holder) is not None:
            continue
        parts = list(_parts(node.this.unnest(), is_protected))
        if len(parts) < 2:
            continue
        made = []
        for part in parts:
            extreme = type(node)(this=part)
            if isinstance(holder, exp.Filter):
                extreme = exp.Filter(this=extreme, expression=holder.expression.copy())
            made.append(extreme)
        outer = _OUTER[type(node)](this=made[0], expressions=made[1:], ignore_nulls=True)
        holder.replace(outer)


def _parts(argument: exp.Expr, is_protected: IsProtected) -> Iterator[exp.Expr]:
    """Expressions of which each row has at most one that is not NULL."""
    if isinstance(argument, exp.Coalesce) and len(argument.expressions) == 1:
        column, other = argument.this.unnest(), argument.expressions[0]
        if isinstance(column, exp.Column) and is_protected(column) and constant(other) is not None:
            yield column.copy()
            yield exp.Case(ifs=[exp.If(this=column.copy().is_(exp.null()), true=other.copy())])
    elif isinstance(argument, exp.Case) and argument.this is None:
        branches = [(each.this, each.args["true"]) for each in argument.args["ifs"]]
        if any(_reads(condition, is_protected) for condition, _ in branches):
            return
        for place, (_, value) in enumerate(branches):
            before = [exp.If(this=each.copy(), true=exp.null()) for each, _ in branches[:place]]
            own = exp.If(this=branches[place][0].copy(), true=value.copy())
            if not isinstance(value.unnest(), exp.Null):
                yield exp.Case(ifs=[*before, own])
        default = argument.args.get("default")
        if default is not None and not isinstance(default.unnest(), exp.Null):
            ifs = [exp.If(this=each.copy(), true=exp.null()) for each, _ in branches]
            yield exp.Case(ifs=ifs, default=default.copy())


def _reads(node: exp.Expr, is_protected: IsProtected) -> bool:
    return any(is_protected(column) for column in node.find_all(exp.Column))
