"""Symmetric aggregates: a sum over a join that repeats records, in which each record counts once.

    SUM(DISTINCT salary * 1000000 + hash(id)) - SUM(DISTINCT hash(id))

Looker writes it so, with a hash so large that no two records have the same sum. Where the hash is of a column
that no two rows of the record's table share, it is the sum over the records that the group has, each once.
Of any other column it would compare values: two people of one team with one salary would be one.

Promise: what is marked is such a difference, in which the same hash of one column is added and taken away.
Whether that column is unique, and of the record's own table, is for `kinds` to say. A mark that is lost
leaves SUM(DISTINCT …), which is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.statement import Leaf

_MARK = "each once"
_WIDE = 30
"""Digits of a DECIMAL that holds what is summed."""

HashOf = Callable[[list[exp.Expr]], exp.Column | None]
"""The column that terms are a hash of, or None."""


def mark_each_once(tree: exp.Query, _: Context) -> exp.Query:
    """Write such differences as SUM(DISTINCT x) FILTER (WHERE key IS NOT NULL), marked."""
    for node in list(tree.find_all(exp.Sub)):
        sides = [_summed(side) for side in (node.this, node.expression)]
        if sides[0] is None or sides[1] is None:
            continue
        found = apart(sides[0], sides[1], _hashed)
        if found is None:
            continue
        value, key = found
        total = exp.Sum(this=exp.Distinct(expressions=[whole(value) or value.copy()]))
        total.meta[_MARK] = "floor" if whole(value) is not None else "plain"
        there = exp.Where(this=key.copy().is_(exp.null()).not_())
        made: exp.Expr = exp.Filter(this=total, expression=there)
        if whole(value) is not None:
            made = exp.cast(made, "DECIMAL(38, 0)", dialect="duckdb")  # as the difference is
        node.replace(made)
    return tree


def is_marked(aggregate: exp.Expr) -> bool:
    """Whether an aggregate stands for such a difference."""
    return isinstance(aggregate, exp.Sum) and bool(aggregate.meta.get(_MARK))


def key_of(aggregate: exp.Expr) -> exp.Column | None:
    """The column that tells the records of a marked aggregate apart."""
    holder = aggregate.parent
    condition = holder.expression.this if isinstance(holder, exp.Filter) else None
    inner = condition.this.unnest() if isinstance(condition, exp.Not) else None
    column = inner.this if isinstance(inner, exp.Is) else None
    return column if isinstance(column, exp.Column) else None


def keeps(aggregate: exp.Expr, leaves: tuple[Leaf, ...], grid: Fraction | None) -> bool:
    """Whether FLOOR, if it stood around the value, changed none: all are whole then.

    Args:
        aggregate: A marked one.
        leaves: The outcomes of its argument.
        grid: Of the column: all values are whole multiples of it; None: unknown.
    """
    if aggregate.meta.get(_MARK) != "floor":
        return True
    parts = [leaf.offset for leaf in leaves] + [leaf.coefficient * (grid or 0) for leaf in leaves]
    return grid is not None and all(part.denominator == 1 for part in parts)


def apart(added: exp.Expr, taken: exp.Expr, hashed: HashOf) -> tuple[exp.Expr, exp.Column] | None:
    """What is left of a sum of terms where the terms of a hash are taken away, and the hash's column."""
    terms, others = list(_terms(added)), list(_terms(taken))
    for other in others:
        if other not in terms:
            return None
        terms.remove(other)
    key = hashed(others)
    return (terms[0], key) if len(terms) == 1 and key is not None else None


def whole(value: exp.Expr) -> exp.Expr | None:
    """What stands in CAST(FLOOR(…) AS DECIMAL(p, 0)) of many digits; None of anything else."""
    cast = value.unnest()
    inner = cast.this.unnest() if isinstance(cast, exp.Cast) else None
    if not isinstance(cast, exp.Cast) or not isinstance(inner, exp.Floor):
        return None
    if any(value for name, value in inner.args.items() if name != "this"):
        return None
    digits = [each.name for each in cast.to.expressions]
    wide = cast.is_type("decimal") and digits[:1] and digits[0].isdecimal() and int(digits[0]) >= _WIDE
    plain = all(each == "0" for each in digits[1:])
    inside: exp.Expr = inner.this
    return inside.copy() if wide and plain else None


def _terms(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.Add):
        yield from _terms(node.this)
        yield from _terms(node.expression)
    else:
        yield node


def _summed(node: exp.Expr) -> exp.Expr | None:
    """What stands in SUM(DISTINCT …)."""
    total = node.unnest()
    distinct = total.this if isinstance(total, exp.Sum) else None
    if not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1 or distinct.args.get("on"):
        return None
    found: exp.Expr = distinct.expressions[0]
    return found


def _hashed(terms: list[exp.Expr]) -> exp.Column | None:
    """CAST(HASH(key) AS HUGEINT), or AS DECIMAL(38, 0)."""
    cast = terms[0] if len(terms) == 1 else None
    if not isinstance(cast, exp.Cast) or cast.sql("duckdb").rpartition(" AS ")[2] not in (
        "INT128)",
        "DECIMAL(38, 0))",
    ):
        return None
    call = cast.this.unnest()
    named = isinstance(call, exp.Anonymous) and str(call.this).lower() == "hash"
    column = call.expressions[0].unnest() if named and len(call.expressions) == 1 else None
    return column if isinstance(column, exp.Column) else None
