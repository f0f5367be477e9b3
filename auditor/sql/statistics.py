"""Statistics of a protected column that ranges alone are told of: counts of values in a region, quantiles,
deviations, sums with public weights and what is one (covariances, regressions on a public column).

They stand inside of AT_LEAST and AT_MOST, for ranges alone are told of them. A count is over rows that public
conditions choose, and counts those whose value a condition compares with constants: the first go to the
groups query, the second are read here, as a region of values, and are never run in SQL, where record numbers
stand in place of values.

Promise: what is not wholly read is not understood. NULL is in no region, whatever a NOT stands before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from auditor.sql.casts import uncast
from auditor.sql.linear import constant, tests_null
from auditor.sql.ranges import QUANTILES
from auditor.sql.scopes import conjuncts
from auditor.sql.statement import Function, Interval, Leaf, Statistic
from auditor.sql.trees import filters, holder_of

KindOf = Callable[[exp.Column], int | None]
"""The position of the protected column that a column is, or None."""
Cut = tuple[Fraction | float, int]
"""Between values: just before one, 0, or just after, 1."""
Cuts = list[tuple[Cut, Cut]]
"""Disjoint intervals between cuts, ascending."""

FIRST: Cut = (float("-inf"), 0)
LAST: Cut = (float("inf"), 1)
_SPREADS: dict[type[exp.Expr], tuple[Function, bool]] = {
    exp.Stddev: ("stddev", True),
    exp.StddevSamp: ("stddev", True),
    exp.StddevPop: ("stddev", False),
    exp.Variance: ("var", True),
    exp.VariancePop: ("var", False),
}
"""Which function each is, and whether of a sample."""
_PAIRED: dict[type[exp.Expr], tuple[Function, bool]] = {
    exp.CovarSamp: ("covar", True),
    exp.CovarPop: ("covar", False),
    exp.RegrSlope: ("regr_slope", False),
    exp.RegrIntercept: ("regr_intercept", False),
}
_COMPARED: dict[type[exp.Expr], Callable[[Fraction], Cuts]] = {
    exp.GT: lambda value: [((value, 1), LAST)],
    exp.GTE: lambda value: [((value, 0), LAST)],
    exp.LT: lambda value: [(FIRST, (value, 0))],
    exp.LTE: lambda value: [(FIRST, (value, 1))],
    exp.EQ: lambda value: [((value, 0), (value, 1))],
    exp.NEQ: lambda value: [(FIRST, (value, 0)), ((value, 1), LAST)],
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


@dataclass(frozen=True)
class StatisticArgument:
    """What one such aggregate reads; for lowering, in place of `linear.Argument`."""

    kind: int
    """Position of the protected column in the schema."""
    record: exp.Column
    """The reference to it."""
    function: Function
    statistic: Statistic
    leaves: tuple[Leaf, ...]
    rows: tuple[exp.Expr, ...] = ()
    """Public conditions of the rows that it is about."""
    chosen: tuple[exp.Expr, ...] = field(default=())
    """Further ones of those that may count."""
    weight: exp.Expr | None = None
    """Of "weighted": the public expression; rows where it is NULL do not count."""
    decided: bool = False
    """Whether other rows are those alone for which these conditions are FALSE, not NULL."""

    def condition(self, leaf: Leaf) -> exp.Expr:
        """The public condition under which a row takes a leaf."""
        present = self.record.copy().is_(exp.null()).not_()
        may_count = exp.and_(*(each.copy() for each in self.chosen), present)
        if not leaf.coefficient and self.decided:
            known = exp.Case().when(present.copy(), exp.true())
            may_count = exp.not_(exp.paren(exp.and_(*(each.copy() for each in self.chosen), known)))
        elif not leaf.coefficient:
            no = exp.Coalesce(this=exp.paren(may_count), expressions=[exp.false()])
            may_count = exp.not_(no)
        return exp.and_(*(each.copy() for each in self.rows), may_count)


_Conditions = Sequence[exp.Expr]
_Found = StatisticArgument | None
_EACH = (Leaf(Fraction(1), Fraction(0)),)
"""Leaves where each row has its value."""


def read(aggregate: exp.AggFunc, kind_of: KindOf) -> _Found:
    """An aggregate as such a statistic; None where it is none, or not wholly read."""
    holder = holder_of(aggregate)
    if isinstance(aggregate.this, exp.Distinct):
        return None
    filtered = [part for each in filters(holder) for part in conjuncts(each)]
    if isinstance(aggregate, QUANTILES):
        return _quantile(aggregate, filtered, kind_of)
    if type(aggregate) in _SPREADS:
        return _spread(aggregate, filtered, kind_of)
    if type(aggregate) in _PAIRED:
        return _paired(aggregate, filtered, kind_of)
    if isinstance(aggregate, exp.CountIf):
        return _count_if(aggregate, filtered, kind_of)
    if isinstance(aggregate, exp.Count):
        return _counted(aggregate, filtered, kind_of)
    if isinstance(aggregate, exp.Sum | exp.Avg):
        inner = aggregate.this.unnest()
        if isinstance(inner, exp.Div) and constant(inner.expression) is None:
            return _divided(aggregate, filtered, kind_of)
        weighted = isinstance(inner, exp.Mul)
        return (_weighted if weighted else _summed)(aggregate, filtered, kind_of)
    return None


def _spread(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    function, sample = _SPREADS[type(aggregate)]
    own = _own(aggregate.this, filtered, kind_of)
    found = Statistic("spread", sample=sample)
    return own and StatisticArgument(*own, function, found, _EACH, tuple(filtered))


def _own(node: exp.Expr | None, others: _Conditions, kind_of: KindOf) -> tuple[int, exp.Column] | None:
    """A protected column that stands alone, beside what does not read its value."""
    record = None if node is None else uncast(node)
    if not isinstance(record, exp.Column) or any(_reads(each, kind_of) for each in others):
        return None
    kind = kind_of(record)
    return None if kind is None else (kind, record)


def _paired(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    """COVAR of the column and a public expression; regressions *of* the column *on* one."""
    function, sample = _PAIRED[type(aggregate)]
    sides = [aggregate.this, aggregate.expression]
    if function == "covar" and not _reads(sides[0], kind_of):
        sides.reverse()
    return _with_weight(sides[0], sides[1], function, sample, filtered, kind_of)


def _weighted(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    """SUM or AVG of the column times something public that is no constant."""
    factors = list(_factors(aggregate.this))
    protected = [each for each in factors if _reads(each, kind_of)]
    public = [each for each in factors if not _reads(each, kind_of)]
    if len(protected) != 1 or not any(constant(each) is None for each in public):
        return None
    weight = public[0].copy()
    for each in public[1:]:
        weight = exp.Mul(this=exp.paren(weight), expression=exp.paren(each.copy()))
    function: Function = "avg" if isinstance(aggregate, exp.Avg) else "sum"
    return _with_weight(protected[0], weight, function, False, filtered, kind_of)


def _divided(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    """SUM or AVG of the column by something public that is no constant: exact numbers are one by it."""
    inner = aggregate.this.unnest()
    function: Function = "avg" if isinstance(aggregate, exp.Avg) else "sum"
    found = _with_weight(inner.this, inner.expression, function, False, filtered, kind_of)
    return None if found is None else replace(found, statistic=Statistic("weighted", inverse=True))


def _factors(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.Mul):
        yield from _factors(node.this)
        yield from _factors(node.expression)
    else:
        yield node


def _with_weight(
    column: exp.Expr,
    weight: exp.Expr,
    function: Function,
    sample: bool,
    filtered: _Conditions,
    kind_of: KindOf,
) -> _Found:
    own = _own(column, (weight, *filtered), kind_of)
    if own is None or any(kind_of(each) is not None for each in weight.find_all(exp.Column)):
        return None  # not even whether it is NULL
    there = exp.paren(weight.copy()).is_(exp.null()).not_()
    statistic = Statistic("weighted", sample=sample)
    return StatisticArgument(*own, function, statistic, _EACH, (*filtered, there), weight=weight)


def _quantile(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    own = _own(aggregate.this, filtered, kind_of)
    given = aggregate.args.get("quantile") or aggregate.args.get("expression")
    part = Fraction(1, 2) if isinstance(aggregate, exp.Median) else constant(given) if given else None
    if own is None or part is None or not 0 <= part <= 1:
        return None
    name: Function = "median" if isinstance(aggregate, exp.Median) else "quantile"
    continuous = isinstance(aggregate, exp.Median | exp.PercentileCont)
    found = Statistic("quantile", fraction=part, continuous=continuous)
    return StatisticArgument(*own, name, found, _EACH, tuple(filtered))


def _counted(aggregate: exp.Count, filtered: _Conditions, kind_of: KindOf) -> _Found:
    counted = None if aggregate.this is None else uncast(aggregate.this)
    if aggregate.args.get("expressions"):
        return None
    if isinstance(counted, exp.Case | exp.If):
        found = _case(counted)
        if found is None or found[1] is None or found[2] is not None:
            return None
        return _count(filtered, list(conjuncts(found[0])), kind_of)
    if isinstance(counted, exp.Star) or (counted is not None and constant(counted) is not None):
        return _count(filtered, [], kind_of)
    if isinstance(counted, exp.Column):
        if kind_of(counted) is not None:
            return _count(filtered, [], kind_of, counted)
        return _count(filtered, [counted.copy().is_(exp.null()).not_()], kind_of)
    return None


def _count(
    filtered: _Conditions, others: _Conditions, kind_of: KindOf, own: exp.Column | None = None
) -> _Found:
    """Rows of which all conditions hold; the column itself is never NULL where its value is compared."""
    found = _split([*filtered, *others], kind_of)
    if found is None or (own is not None and own != found[1]):
        return None
    public, record, cuts = found
    statistic, kind = _of_region(cuts), kind_of(record)
    if statistic is None or kind is None:
        return None
    return StatisticArgument(kind, record, "count", statistic, _EACH, tuple(public))


def _count_if(aggregate: exp.CountIf, filtered: _Conditions, kind_of: KindOf) -> _Found:
    """It is NULL where its condition is for nobody TRUE or FALSE.

    Where a public part of the condition is NULL, that is read as NULL whatever the value is.
    """
    found = _count([], list(conjuncts(aggregate.this)), kind_of)
    if found is None or any(_reads(each, kind_of) for each in filtered):
        return None
    leaves = (*found.leaves, Leaf(Fraction(0), Fraction(0)))
    return replace(found, leaves=leaves, rows=tuple(filtered), chosen=found.rows, decided=True)


def _summed(aggregate: exp.AggFunc, filtered: _Conditions, kind_of: KindOf) -> _Found:
    """SUM(CASE WHEN … THEN k ELSE 0 END), and its AVG: other rows count as 0."""
    inner = aggregate.this.unnest()
    found = _case(inner) if isinstance(inner, exp.Case | exp.If) else None
    if found is None or any(_reads(each, kind_of) for each in filtered):
        return None
    condition, value, other = found
    if not value or other != 0:
        return None  # without ELSE 0 it is of the counted alone, and NULL where nobody is
    split = _split(list(conjuncts(condition)), kind_of)
    if split is None:
        return None
    public, record, cuts = split
    statistic, kind = _of_region(cuts), kind_of(record)
    if statistic is None or kind is None:
        return None
    leaves = Leaf(value, Fraction(0)), Leaf(Fraction(0), Fraction(0))
    function: Function = "avg" if isinstance(aggregate, exp.Avg) else "sum"
    return StatisticArgument(kind, record, function, statistic, leaves, tuple(filtered), tuple(public))


def _case(node: exp.Expr) -> tuple[exp.Expr, Fraction | None, Fraction | None] | None:
    """Condition, value and value otherwise of a CASE of one branch; a value of None is NULL."""
    if isinstance(node, exp.If):
        condition, then, otherwise = node.this, node.args["true"], node.args.get("false")
    else:
        if node.this is not None or len(node.args["ifs"]) != 1:
            return None
        (branch,) = node.args["ifs"]
        condition, then, otherwise = branch.this, branch.args["true"], node.args.get("default")
    values = list[Fraction | None]()
    for each in (then, otherwise):
        if each is None or isinstance(each.unnest(), exp.Null):
            values.append(None)
            continue
        shown = each.unnest()
        number = Fraction(bool(shown.this)) if isinstance(shown, exp.Boolean) else constant(shown)
        if number is None:
            return None
        values.append(number)
    return condition, values[0], values[1]


def _split(conditions: Sequence[exp.Expr], kind_of: KindOf) -> tuple[list[exp.Expr], exp.Column, Cuts] | None:
    """Public conditions, and the values for which the others hold: of one protected column."""
    public, records, cuts = list[exp.Expr](), list[exp.Column](), [(FIRST, LAST)]
    for each in conditions:
        if not _reads(each, kind_of):
            public.append(each)
            continue
        found = _region(each, kind_of, records)
        if found is None:
            return None
        cuts = _both(cuts, found)
    if not records or any(record != records[0] for record in records):
        return None
    return public, records[0], cuts


def _reads(node: exp.Expr, kind_of: KindOf) -> bool:
    """Whether a value is read, and not only whether there is one."""
    columns = node.find_all(exp.Column)
    return any(kind_of(column) is not None and not tests_null(column) for column in columns)


def _region(node: exp.Expr, kind_of: KindOf, records: list[exp.Column]) -> Cuts | None:
    """The values for which a condition on a protected column holds, of those that are not NULL."""
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        sides = [_region(each, kind_of, records) for each in (node.left, node.right)]
        left, right = sides
        if left is None or right is None:
            return None
        return _both(left, right) if isinstance(node, exp.And) else _other(_both(_other(left), _other(right)))
    if isinstance(node, exp.Not):
        inner = _region(node.this, kind_of, records)
        return None if inner is None else _other(inner)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        ends = constant(node.args["low"]), constant(node.args["high"])
        if _noted(node.this, kind_of, records) and ends[0] is not None and ends[1] is not None:
            return [((ends[0], 0), (ends[1], 1))] if ends[0] <= ends[1] else []
    if isinstance(node, exp.In) and _noted(node.this, kind_of, records):
        values = [constant(each) for each in node.expressions]
        if not values or node.args.get("query") or node.args.get("unnest") or None in values:
            return None
        return [((value, 0), (value, 1)) for value in sorted({each for each in values if each is not None})]
    return _compared(node, kind_of, records)


def _compared(node: exp.Expr, kind_of: KindOf, records: list[exp.Column]) -> Cuts | None:
    if type(node) not in _COMPARED:
        return None
    for column, other, kind in (
        (node.this, node.expression, type(node)),
        (node.expression, node.this, _TURNED.get(type(node), type(node))),
    ):
        value = constant(other)
        if value is not None and _noted(column, kind_of, records):
            return _COMPARED[kind](value)
    return None


def _noted(node: exp.Expr, kind_of: KindOf, records: list[exp.Column]) -> bool:
    """Whether it is a protected column; which is noted."""
    column = uncast(node)
    if not isinstance(column, exp.Column) or kind_of(column) is None:
        return False
    records.append(column)
    return True


def region(condition: exp.Expr, kind_of: KindOf) -> Cuts | None:
    """The values for which a condition holds that is on one protected column alone; None: it is none."""
    records = list[exp.Column]()
    found = _region(condition, kind_of, records)
    return found if records and all(each == records[0] for each in records) else None


def _both(one: Cuts, other: Cuts) -> Cuts:
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return sorted((a, b) for a, b in found if a < b)


def _other(cuts: Cuts) -> Cuts:
    found, start = [], FIRST
    for a, b in sorted(cuts):
        if start < a:
            found.append((start, a))
        start = max(start, b)
    return [*found, (start, LAST)] if start < LAST else found


def _of_region(cuts: Cuts) -> Statistic | None:
    """None of no values and of all: that is public."""
    if not cuts or cuts == [(FIRST, LAST)]:
        return None
    return Statistic("count", region=tuple(_intervals(cuts)))


def _intervals(cuts: Cuts) -> Iterator[Interval]:
    for (low, after), (high, beyond) in cuts:
        least = low if isinstance(low, Fraction) else None
        most = high if isinstance(high, Fraction) else None
        yield Interval(least, least is not None and not after, most, most is not None and bool(beyond))
