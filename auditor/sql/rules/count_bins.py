"""Histograms of a protected column by fixed bins: GROUP BY of a CASE over it, of it divided, or of itself.

    SELECT CASE WHEN pay < 50 THEN 'low' ELSE 'high' END AS bin, AT_LEAST(COUNT(*)) FROM t GROUP BY bin
    SELECT 'low' AS bin, AT_LEAST(COUNT(*) FILTER (WHERE pay < 50)) FROM t UNION ALL
    SELECT 'high' AS bin, AT_LEAST(COUNT(*) FILTER (WHERE NOT pay < 50) + …) FROM t

Which bins there are is fixed by the statement and the column's domain, so each of them is a row, also where
nobody is in it: which bins are empty is not to be seen. People without a value are public, and have a row
where there are any, as in SQL.

Promise: each row is a count, or arithmetic with counts, between the two functions of the people whom SQL
would put into that bin; what shows no count, or is not wholly read, is left as it is, and refused as a group
by the value. Works on a tree whose names are resolved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.grouping import SETS, grouping
from auditor.sql.linear import constant
from auditor.sql.ranges import end_above
from auditor.sql.schema import Protected
from auditor.sql.scopes import own_nodes
from auditor.sql.statistics import FIRST, LAST, Cuts, region
from auditor.sql.trees import filtered, filters, holder_of
from auditor.sql.understood import NotUnderstood

MOST = 60
"""Bins of one statement."""
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_REFUSED = ("distinct", "qualify", "windows", "limit", "offset")


@dataclass(frozen=True)
class _Bin:
    """One bin."""

    value: exp.Expr
    """What stands for it in the answer."""
    condition: exp.Expr
    """Of whose values it holds: compares the protected column with constants."""
    cuts: Cuts
    """These values."""
    nobody: bool
    """Whether those without a value are in it."""


def count_bins(tree: exp.Query, context: Context) -> exp.Query:
    """Write a histogram as one SELECT for each bin.

    Raises:
        NotUnderstood: code "range", for a count that AT_LEAST or AT_MOST does not stand around;
            "protected-group" where no count is shown.
    """
    found = _written(tree, context)
    context.histogram = found is not None
    return tree if found is None else found


def _written(tree: exp.Query, context: Context) -> exp.Query | None:
    """A histogram as one SELECT for each bin; None where the statement is none, or none that is read."""
    if not isinstance(tree, exp.Select) or any(tree.args.get(clause) for clause in _REFUSED):
        return None
    group = tree.args.get("group")
    if group is None or any(True for _ in group.find_all(*SETS)) or _has_queries(tree):
        return None
    protected = context.protected(tree).get(id(tree), {})
    keys = list(grouping(tree, lambda node: node.find(exp.AggFunc) is None).keys)
    binned = [key for key in keys if any(_name(each) in protected for each in key.find_all(exp.Column))]
    if len(binned) != 1:
        return None
    (key,) = binned
    columns = {_name(each) for each in key.find_all(exp.Column)}
    if len(columns) != 1 or not columns <= protected.keys():
        return None
    record = next(key.find_all(exp.Column))
    bins = _bins(key, record, protected[_name(record)])
    if not bins:
        return None
    histogram = _Histogram(tree, key, record, [each for each in keys if each is not key])
    return histogram.written(bins, context)


def _has_queries(select: exp.Select) -> bool:
    """Whether queries stand in a SELECT elsewhere than in FROM."""
    parts = [*select.expressions, *(select.args.get(each) for each in ("where", "group", "having", "order"))]
    return any(part is not None and part.find(exp.Subquery) for part in parts)


def _name(column: exp.Column) -> tuple[str, str]:
    return column.table, column.name


def _bins(key: exp.Expr, record: exp.Column, protected: Protected) -> list[_Bin]:
    key = key.unnest()
    if isinstance(key, exp.Case):
        found = list(_cases(key, record))
    elif key == record:
        found = list(_values(record, protected))
    else:
        found = list(_parts(key, record, protected))
    # a bin that no value and nobody without one is in has no row in SQL either
    kept = [each for each in found if each.cuts or each.nobody]
    return kept if len(kept) <= MOST else []


def _cases(case: exp.Case, record: exp.Column) -> Iterator[_Bin]:
    """By the branches of a CASE: values that are alike are one bin."""
    if case.this is not None:
        return
    before: exp.Expr = exp.false()
    by_value = dict[str, tuple[exp.Expr, list[exp.Expr]]]()
    branches = [(each.this, each.args["true"]) for each in case.args["ifs"]]
    otherwise = case.args.get("default") or exp.null()
    for condition, value in [*branches, (None, otherwise)]:
        if not isinstance(value.unnest(), exp.Literal | exp.Null | exp.Boolean):
            return
        if condition is not None and _cuts(condition, record) is None:
            return
        earlier = isinstance(before, exp.Boolean)
        last = None if condition is None else exp.paren(condition.copy())
        parts = [
            *([] if earlier else [exp.not_(exp.paren(before.copy()))]),
            *([] if last is None else [last]),
        ]
        own = by_value.setdefault(value.unnest().sql(), (value, []))
        own[1].append(exp.paren(exp.and_(*parts)))
        if last is not None:
            before = last if earlier else exp.or_(before, last)
    for text, (value, conditions) in by_value.items():
        condition = exp.or_(*conditions)
        cuts = _cuts(condition, record)
        assert cuts is not None
        yield _Bin(value, condition, cuts, nobody=text == otherwise.unnest().sql())


def _values(record: exp.Column, protected: Protected) -> Iterator[_Bin]:
    """By the value itself: each value of the domain is a bin, where these are few."""
    least, most, step = protected.least, protected.most, protected.grid
    if protected.type not in _WHOLE or least is None or most is None or step is None:
        return  # decimals and floats: which literal equals a value is the engine's own affair
    if least.denominator != 1 or step.denominator != 1 or (most - least) / step >= MOST:
        return
    for value in range(int(least), int(most) + 1, int(step)):
        literal: exp.Expr = exp.Literal.number(abs(value))
        literal = exp.Neg(this=literal) if value < 0 else literal
        condition = exp.EQ(this=record.copy(), expression=literal)
        cuts = _cuts(condition, record)
        assert cuts is not None
        yield _Bin(literal.copy(), condition, cuts, nobody=False)
    yield _Bin(exp.null(), exp.false(), [], nobody=True)


def _parts(key: exp.Expr, record: exp.Column, protected: Protected) -> Iterator[_Bin]:
    """By whole multiples: `x // 50`, `floor(x / 50)`, and these times a constant."""
    times = 1
    remainder = key.expression.unnest() if isinstance(key, exp.Sub) else None
    if isinstance(remainder, exp.Mod) and key.this.unnest() == record == remainder.this.unnest():
        # what is left over is taken off
        width = constant(remainder.expression)
        if width is None or width.denominator != 1 or width <= 0:
            return
        key, times = exp.IntDiv(this=record.copy(), expression=remainder.expression.copy()), int(width)
    if isinstance(key, exp.Mul):
        for inner, factor in ((key.this, key.expression), (key.expression, key.this)):
            number = constant(factor)
            if number is not None and number.denominator == 1:
                key, times = inner.unnest(), int(number)
                break
    if type(key) is exp.Cast and key.is_type("double") and isinstance(key.this.unnest(), exp.IntDiv):
        key = key.this.unnest()  # what another dialect makes of floor(x / 50)
    division = key.this.unnest() if isinstance(key, exp.Floor) else key
    wanted = exp.Div if isinstance(key, exp.Floor) else exp.IntDiv
    least, most = protected.least, protected.most
    if type(division) is not wanted or division.this.unnest() != record or protected.type not in _WHOLE:
        return  # of fractions the engine divides in floats, and may be off at the edge of a bin
    width = constant(division.expression)
    if width is None or width.denominator != 1 or width <= 0 or least is None or most is None or least < 0:
        return
    first, last = math.floor(least / width), math.floor(most / width)
    if last - first >= MOST:
        return
    for part in range(first, last + 1):
        low, high = (exp.Literal.number(each * int(width)) for each in (part, part + 1))
        inside = exp.GTE(this=record.copy(), expression=low), exp.LT(this=record.copy(), expression=high)
        condition = exp.and_(*inside)
        cuts = _cuts(condition, record)
        assert cuts is not None
        yield _Bin(exp.Literal.number(part * times), condition, cuts, nobody=False)
    yield _Bin(exp.null(), exp.false(), [], nobody=True)


def _cuts(condition: exp.Expr, record: exp.Column) -> Cuts | None:
    """The values of which a condition holds; None if it says something else too."""
    return region(condition, lambda column: 0 if column == record else None)


@dataclass(frozen=True)
class _Histogram:
    """A SELECT by bins."""

    select: exp.Select
    key: exp.Expr
    record: exp.Column
    """The protected column."""
    others: list[exp.Expr]
    """Public keys."""

    def written(self, bins: Sequence[_Bin], context: Context) -> exp.Query | None:
        """One SELECT for each bin; None where something else than counts is asked of them."""
        order = self._order()
        if order is None or not self._counts_alone():
            return None
        shown = [type_ for _, type_ in context.columns]
        arms = [self._arm(each, shown) for each in bins]
        found: exp.Query = arms[0]
        for arm in arms[1:]:
            found = exp.Union(this=found, expression=arm, distinct=False)
        if self.select.args.get("with_"):
            if len(arms) == 1:
                return None
            found.set("with_", self.select.args["with_"].copy())
        if order:
            if len(arms) == 1:
                return None
            found.set("order", exp.Order(expressions=order))
        return found

    def _order(self) -> list[exp.Expr] | None:
        """The order, by positions; None where it is by something that is not shown."""
        order = self.select.args.get("order")
        found: list[exp.Expr] = []
        shown = self.select.expressions
        for each in [] if order is None else order.expressions:
            place = next((i for i, one in enumerate(shown) if self._means(each.this, i, one)), None)
            if place is None:
                return None
            copy = each.copy()
            copy.set("this", exp.Literal.number(place + 1))
            found.append(copy)
        return found

    @staticmethod
    def _means(node: exp.Expr, place: int, shown: exp.Expr) -> bool:
        """Whether a term of ORDER BY is a column of the answer."""
        if isinstance(node, exp.Literal):
            return node.name == str(place + 1)
        named = isinstance(node, exp.Column) and not node.table and node.name == shown.alias_or_name
        return named or node == shown.unalias()

    def _counts_alone(self) -> bool:
        """Whether counts are shown, and nothing but counts, keys and constants is read.

        Without a count each SELECT of a bin would have a row for each record.

        Raises:
            NotUnderstood: code "range", for a count that no end is asked of; "protected-group" without any.
        """
        having = self.select.args.get("having")
        for part in [*self.select.expressions, *([] if having is None else [having.this])]:
            value = part.unalias()
            if value == self.key or value in self.others:
                continue
            if any(isinstance(node, exp.Window) for node in own_nodes(value)):
                return False
            if any(column == self.record for column in _outside(value)):
                return False
            for node in value.find_all(exp.AggFunc):
                if not self._is_count(node):
                    return False
                if end_above(node) is None:
                    raise NotUnderstood("range", name="COUNT(*)", column=self.record.name)
        shown = [node for part in self.select.expressions for node in own_nodes(part)]
        if not any(isinstance(node, exp.Count) for node in shown):
            raise NotUnderstood("protected-group", column=self.record.name)
        return True

    def _is_count(self, node: exp.AggFunc) -> bool:
        if type(node) is not exp.Count or node.args.get("expressions"):
            return False
        counted = node.this
        held = node.parent.expression.this if isinstance(node.parent, exp.Filter) else None
        if held is not None and any(column == self.record for column in held.find_all(exp.Column)):
            return False
        return isinstance(counted, exp.Star) or constant(counted) is not None or counted == self.record

    def _arm(self, one: _Bin, types: Sequence[str]) -> exp.Select:
        """The SELECT of one bin."""
        arm = self.select.copy()
        arm.set("order", None)
        arm.set("with_", None)
        others = [each.copy() for each in self.others]
        arm.set("group", exp.Group(expressions=others) if others else None)
        projections = []
        for projection, type_ in zip(arm.expressions, types, strict=True):
            if projection.unalias() == self.key:
                value = exp.cast(one.value.copy(), type_, dialect="duckdb")
                projection = exp.alias_(value, projection.alias_or_name, quoted=True)
            projections.append(projection)
        arm.set("expressions", projections)
        having = arm.args.get("having")
        for part in [*projections, *([] if having is None else [having])]:
            counts = list(part.find_all(exp.Count))
            calls = {id(call): call for call in map(end_above, counts) if call is not None}
            for node in counts:
                self._count(node, one)
            # after all counts: several may stand in one call
            for call in calls.values() if self._is_public(one) else ():
                call.replace(exp.cast(call.expressions[0].copy(), "DOUBLE", dialect="duckdb"))
        if not one.cuts:
            # nobody but those without a value: a row where there is one, as in SQL
            kept = [] if having is None else [having.this]
            some = exp.GT(this=self._of_nobody([]), expression=exp.Literal.number(0))
            arm.set("having", exp.Having(this=exp.and_(*kept, some)))
        return arm

    def _count(self, node: exp.Count, one: _Bin) -> None:
        """Let a count be of one bin, in place."""
        holder = holder_of(node)
        held = filters(holder)
        parts: list[exp.Expr] = []
        if one.cuts == [(FIRST, LAST)]:
            parts.append(
                filtered(exp.Count(this=exp.Star()), [*held, self.record.copy().is_(exp.null()).not_()])
            )
        elif one.cuts:
            parts.append(filtered(exp.Count(this=exp.Star()), [*held, exp.paren(one.condition.copy())]))
        if one.nobody and node.this != self.record:
            parts.append(self._of_nobody(held))
        found = parts[0] if parts else exp.Literal.number(0)
        if len(parts) > 1:
            found = exp.paren(exp.Add(this=parts[0], expression=parts[1]))
        holder.replace(found)

    @staticmethod
    def _is_public(one: _Bin) -> bool:
        """Whether who is in a bin hangs on who has a value alone."""
        return not one.cuts or one.cuts == [(FIRST, LAST)]

    def _of_nobody(self, held: list[exp.Expr]) -> exp.Expr:
        """How many have no value."""
        return filtered(exp.Count(this=exp.Star()), [*held, self.record.copy().is_(exp.null())])


def _outside(node: exp.Expr) -> Iterator[exp.Column]:
    """Columns that no aggregate stands around."""
    return (each for each in node.find_all(exp.Column) if each.find_ancestor(exp.AggFunc, exp.Filter) is None)
