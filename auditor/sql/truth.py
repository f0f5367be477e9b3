"""Conditions on a protected column that is BOOLEAN: of which of its values they hold.

Promises that a condition is read only if its outcome follows from the value of one column and from public
conditions; what is counted of such columns is written as a sum by `rules.sum_truths`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.scopes import conjuncts

IsTruth = Callable[[exp.Expr], bool]
"""Whether a node is a column that is protected and BOOLEAN."""
Outcome = bool | int | None

TYPE = "BOOLEAN"
_INTEGERS = frozenset(["TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "UTINYINT", "USMALLINT", "UINT"])


class NoTruth(Exception):
    """Not a condition on one such column, or not one that is read here."""


@dataclass(frozen=True)
class Truth:
    """A condition that holds where a public one does and the column's value is among some."""

    column: exp.Column
    """The protected column."""
    public: exp.Expr | None
    """The other conditions, joined by AND; None: there are none."""
    true: bool
    """Whether it holds of the value TRUE."""
    false: bool
    """Whether it holds of FALSE."""
    null: bool
    """Whether it holds where the value is NULL."""
    unknown: bool
    """Whether its part on the column is NULL where the value is."""


def truth_of(condition: exp.Expr, is_truth: IsTruth) -> Truth | None:
    """A condition as one on a BOOLEAN column; None if it is none, or reads it in another way."""
    parts = list(conjuncts(condition))
    reading = [part for part in parts if any(is_truth(node) for node in part.walk())]
    columns = [node for part in reading for node in part.find_all(exp.Column) if is_truth(node)]
    if not columns or any(column != columns[0] for column in columns):
        return None
    try:
        outcomes = [[_value(part, value, is_truth) for part in reading] for value in (True, False, None)]
    except NoTruth:
        return None
    # FALSE and NULL alike keep a row from being counted
    true, false, null = (all(each is not None and each != 0 for each in given) for given in outcomes)
    unknown = None in outcomes[2] and all(each is None or each != 0 for each in outcomes[2])
    public = [part.copy() for part in parts if part not in reading]
    return Truth(columns[0], exp.and_(*public) if public else None, true, false, null, unknown)


def is_number(node: exp.Expr, is_truth: IsTruth) -> bool:
    """Whether a node is a BOOLEAN column written as the numbers 1 and 0: `ill::INT`."""
    if not isinstance(node, exp.Cast):
        return False
    inner = node.this.unnest()
    return is_truth(inner) and _type(node) in _INTEGERS | {"DOUBLE", "FLOAT"}


def _type(cast: exp.Cast) -> str:
    kind = cast.to.this
    return kind.value if isinstance(kind, exp.DType) else str(kind)


def _value(node: exp.Expr, value: bool | None, is_truth: IsTruth) -> Outcome:
    """What a condition gives where the column has a value.

    Raises:
        NoTruth: something else is in it.
    """
    if is_truth(node):
        return value
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal) and node.is_int:
        return int(node.name)
    if isinstance(node, exp.Paren):
        return _value(node.this, value, is_truth)
    if isinstance(node, exp.Cast) and _type(node) in _INTEGERS:
        inner = _value(node.this, value, is_truth)
        return None if inner is None else int(inner)
    if isinstance(node, exp.Not):
        inner = _value(node.this, value, is_truth)
        return None if inner is None else not inner
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return _value(node.this, value, is_truth) is None
    if isinstance(node, exp.EQ | exp.NEQ | exp.Is | exp.NullSafeEQ | exp.NullSafeNEQ):
        left, right = (_value(each, value, is_truth) for each in (node.this, node.expression))
        if isinstance(node, exp.EQ | exp.NEQ) and (left is None or right is None):
            return None
        if None not in (left, right) and isinstance(left, bool) is not isinstance(right, bool):
            raise NoTruth  # which of the two is cast is the engine's to say
        return (left == right) is not isinstance(node, exp.NEQ | exp.NullSafeNEQ)
    raise NoTruth
