"""CORR of a protected column and a public one, inside of AT_LEAST and AT_MOST: what it is a quotient of.

    AT_LEAST(CORR(age, pay))
    AT_LEAST(COVAR_POP(age, pay) / (STDDEV_POP(pay) * STDDEV_POP(age)))

and REGR_R2, its square, likewise with the square of the covariance and both variances,

each over the rows in which neither is NULL. Ranges of the two are told, and `arithmetic` puts them together:
the ends may lie beyond −1 and 1, where the ranges are wide.

Promise: both give the same number but for rounding, and NULL where the other does, or where a deviation is 0
and DuckDB has NaN. Outside of the two functions it is refused. Works on a tree whose names are resolved.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.ranges import end_above
from auditor.sql.scopes import bare, own_nodes
from auditor.sql.trees import filtered, filters, holder_of
from auditor.sql.understood import NotUnderstood
from auditor.sql.where_protected import Names, name_of, reads
from auditor.sql.windows import is_windowed

_COUNTED = (exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy)
CORRELATIONS = (exp.Corr, exp.RegrR2)


def divide_correlations(tree: exp.Query, context: Context) -> exp.Query:
    """Write such correlations as quotients.

    Raises:
        NotUnderstood: code "range", for one that AT_LEAST or AT_MOST does not stand around.
    """
    by_select = context.protected(tree)
    for select in list(tree.find_all(exp.Select)):
        protected = by_select.get(id(select), {})
        for each in [node for node in own_nodes(select) if isinstance(node, _COUNTED)]:
            _counted(each, protected)
        for node in [each for each in own_nodes(select) if type(each) in CORRELATIONS]:
            sides = node.this.unnest(), node.expression.unnest()
            mine = [each for each in sides if name_of(each) in protected]
            if len(mine) != 1 or any(reads(each, protected) for each in sides if each is not mine[0]):
                continue
            if end_above(node) is None:
                raise NotUnderstood("range", name=bare(node), column=mine[0].name)
            (other,) = (each for each in sides if each is not mine[0])
            holder = holder_of(node)
            squared = type(node) is exp.RegrR2
            spread = exp.VariancePop if squared else exp.StddevPop
            parts = (
                exp.CovarPop(this=mine[0].copy(), expression=other.copy()),
                *(spread(this=each.copy()) for each in (mine[0], other)),
            )
            both, own, theirs = (
                filtered(part, [*filters(holder), *(each.copy().is_(exp.null()).not_() for each in sides)])
                for part in parts
            )
            # what is told of the deviation lies on one side of 0, or nothing is
            product = exp.paren(exp.Mul(this=own, expression=theirs))
            above = exp.paren(exp.Mul(this=both, expression=both.copy())) if squared else both
            holder.replace(exp.paren(exp.Div(this=above, expression=product, typed=False, safe=False)))
    return tree


def _counted(node: exp.AggFunc, protected: Names) -> None:
    """REGR_COUNT, REGR_AVGX and REGR_AVGY: a count and a mean of those who have both values, in place."""
    sides = [_uncast(node.this), _uncast(node.expression)]
    if is_windowed(node) or not any(name_of(each) in protected for each in sides):
        return
    holder = holder_of(node)
    conditions = [*filters(holder), *(exp.paren(each.copy()).is_(exp.null()).not_() for each in sides)]
    if isinstance(node, exp.RegrCount):
        number = exp.Count(this=exp.Star())
        holder.replace(exp.cast(filtered(number, conditions), "UINTEGER", dialect="duckdb"))
    else:
        side = sides[0] if isinstance(node, exp.RegrAvgy) else sides[1]
        holder.replace(filtered(exp.Avg(this=exp.cast(side.copy(), "DOUBLE", dialect="duckdb")), conditions))


def _uncast(node: exp.Expr) -> exp.Expr:
    """What stands inside of a cast to DOUBLE, as another dialect writes it."""
    node = node.unnest()
    while type(node) is exp.Cast and node.is_type("double"):
        node = node.this.unnest()
    return node
