"""Counts of a protected column that is BOOLEAN, written as sums of it, and asked as such.

    COUNT(*) FILTER (WHERE ill)         COALESCE(SUM(CASE WHEN ill THEN 1 ELSE 0 END), 0)
    COUNT(CASE WHEN ill THEN 1 END)     the same
    COUNT(*) … WHERE ill                the same; with GROUP BY, HAVING COUNT(*) FILTER (WHERE ill) > 0
    COUNT_IF(ill)                       SUM(CASE WHEN ill THEN 1 ELSE 0 END) FILTER (WHERE ill IS NOT NULL)
    SUM(CASE WHEN ill THEN 1 END)       NULLIF(SUM(CASE WHEN ill THEN 1 ELSE 0 END), 0)

Promise: what is written anew gives the value and the type that it had, NULLs included; what cannot be is left
as it is, and is refused where conditions on a protected column are. One NULL may be the engine's 0: of
COUNT_IF, where its public part is NULL in all rows of a group.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.grouping import SETS
from auditor.sql.ranges import end_of
from auditor.sql.scopes import conjuncts, own_nodes
from auditor.sql.statement import AT_MOST
from auditor.sql.trees import filtered, filters, holder_of, where_of
from auditor.sql.truth import TYPE, IsTruth, Truth, truth_of
from auditor.sql.where_protected import name_of
from auditor.sql.windows import is_windowed


def sum_truths(tree: exp.Query, context: Context) -> exp.Query:
    """Write what is counted of such columns as sums."""
    if all(each.type != TYPE for each in context.schema.protected):
        return tree
    by_select = context.protected(tree)
    for select in list(tree.find_all(exp.Select)):
        truths = {name for name, each in by_select.get(id(select), {}).items() if each.type == TYPE}
        if truths:
            _sum(select, lambda node, truths=truths: name_of(node) in truths)  # type: ignore[misc]
    return tree


def total_of(node: exp.Expr) -> exp.Expr:
    """What stands inside of what `sum_truths` writes around a sum; the node itself where it wrote nothing."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and inner.is_type("bigint"):
        inner = inner.this.unnest()
    written = isinstance(inner, exp.Coalesce) and _are_zero(inner.expressions)
    written |= isinstance(inner, exp.Nullif) and _are_zero([inner.expression])
    total: exp.Expr = inner.this.unnest() if written else node
    return total


def _are_zero(nodes: list[exp.Expr]) -> bool:
    return len(nodes) == 1 and isinstance(nodes[0], exp.Literal) and nodes[0].name == "0"


def _sum(select: exp.Select, is_truth: IsTruth) -> None:
    """Write what a SELECT counts, in place; queries inside it are left alone."""
    _into_filters(select, is_truth)
    for node in list(own_nodes(select)):
        if isinstance(node, exp.AggFunc) and not is_windowed(node):
            _plainer(node, is_truth)


def _into_filters(select: exp.Select, is_truth: IsTruth) -> None:
    """Let what WHERE says of such a column be said by FILTER of each COUNT, where there is nothing else."""
    where, group = select.args.get("where"), select.args.get("group")
    if where is None or (group is not None and any(True for _ in group.find_all(*SETS))):
        return  # a total of nobody is a row all the same
    calls = [node for node in own_nodes(select) if isinstance(node, exp.AggFunc)]
    if not calls or not all(type(node) is exp.Count and not is_windowed(node) for node in calls):
        return
    parts = list(conjuncts(where.this))
    found = [(part, truth_of(part, is_truth)) for part in parts]
    moved = [part for part, truth in found if truth is not None]
    if all(truth is None or truth.true == truth.false for _, truth in found):
        return  # what hangs on NULL alone is public, and stays where it is
    if any(isinstance(node.this, exp.Distinct) for node in calls):
        return
    rest = [part for part in parts if part not in moved]
    select.set("where", where_of(rest))
    ends = all(_end_around(node) is not None for node in calls)
    for node in calls:
        holder = holder_of(node)
        holder.replace(filtered(node.copy(), [*filters(holder), *moved]))
    if group is not None:
        # a group of which nobody is counted is no row
        somebody: exp.Expr = filtered(exp.Count(this=exp.Star()), moved)
        if ends:
            # who asks for ends is shown the groups in which there may be somebody
            somebody = exp.Anonymous(this=AT_MOST, expressions=[somebody])
        having = select.args.get("having")
        kept = [] if having is None else [having.this]
        more = exp.GT(this=somebody, expression=exp.Literal.number(0))
        select.set("having", exp.Having(this=exp.and_(*kept, more)))


def _plainer(node: exp.AggFunc, is_truth: IsTruth) -> None:
    holder = holder_of(node)
    kept = next(iter(filters(holder)), None)
    counts = isinstance(node, exp.Count)
    number, condition = _counted(node)
    # a query inside has been read where it stands: a copy of it would be read by nobody
    if number is None or isinstance(node.this, exp.Distinct) or holder.find(exp.Query):
        return
    if kept is not None and any(is_truth(each) for each in kept.walk()):
        # a row that FILTER leaves out and one that counts nothing are the same to COUNT, not to COUNT_IF
        if isinstance(node, exp.CountIf):
            return
        condition = kept.copy() if condition is None else exp.and_(kept.copy(), condition)
        kept = None
    elif condition is None:
        return
    found = truth_of(condition, is_truth)
    if found is None or found.true == found.false:
        return  # where it hangs on NULL alone, it is public
    if isinstance(node, exp.CountIf) and found.unknown:
        kept = exp.and_(*([] if kept is None else [kept.copy()]), _is_known(found))
    case = exp.Case().when(condition, number).else_(exp.Literal.number(0))
    total: exp.Expr = exp.Sum(this=case)
    if kept is not None:
        total = filtered(total, [kept])
    place = _end_around(node)
    if place is not None:
        total = exp.Anonymous(this=place.this, expressions=[total])
    if counts:
        total = exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])
        total = total if place is not None else exp.cast(total, "BIGINT", dialect="duckdb")
    elif not isinstance(node, exp.CountIf) and place is None:
        total = exp.Nullif(this=total, expression=exp.Literal.number(0))
    (place or holder).replace(total)


def _end_around(node: exp.AggFunc) -> exp.Expr | None:
    """The AT_LEAST or AT_MOST that stands around an aggregate and its FILTER."""
    call = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return call if call is not None and end_of(call) is not None and len(call.expressions) == 1 else None


def _is_known(condition: Truth) -> exp.Expr:
    """Whether a condition is true or false, as far as that is public: COUNT_IF passes over what is NULL."""
    present = condition.column.copy().is_(exp.null()).not_()
    if condition.public is None:
        return present
    return exp.or_(exp.and_(condition.public.copy(), present), condition.public.copy().not_())


def _counted(node: exp.AggFunc) -> tuple[exp.Expr | None, exp.Expr | None]:
    """What each row adds and the condition under which it does; no number: it is none of these forms."""
    one = exp.Literal.number(1)
    if isinstance(node, exp.CountIf):
        return one, node.this.copy()
    if not isinstance(node, exp.Count | exp.Sum) or getattr(node, "expressions", None):
        return None, None
    inner = node.this.unnest()
    condition, then = _only_branch(inner)
    if isinstance(node, exp.Sum):
        number = then if condition is not None else inner
        return (number.copy(), condition) if number is not None and _is_number(number) else (None, None)
    if condition is not None:
        return (one, condition) if _is_number(then) or isinstance(then, exp.Boolean) else (None, None)
    if isinstance(inner, exp.Star | exp.Literal):
        return one, None
    return one, inner.copy().is_(exp.null()).not_()


def _only_branch(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None]:
    """Condition and value of a CASE or IF that gives NULL otherwise."""
    otherwise: exp.Expr | None
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        branch, otherwise = node.args["ifs"][0], node.args.get("default")
    elif isinstance(node, exp.If):
        branch, otherwise = node, node.args.get("false")
    else:
        return None, None
    if otherwise is not None and not isinstance(otherwise, exp.Null):
        return None, None
    return branch.this.copy(), branch.args["true"].unnest()


def _is_number(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.strip("0.") != ""
