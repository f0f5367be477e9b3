"""Arithmetic over aggregates inside of AT_LEAST and AT_MOST: `AT_LEAST(100.0 * SUM(x) / COUNT(*))`.

Read from a tree as a `Term`, of which `auditor.data.spans` works out the ends from those of each aggregate.

Promise: what is read is made of constants, of what a caller takes for a leaf, and of the operations that a
`Term` names; everything else is not read. A leaf is the caller's to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from sqlglot import exp

from auditor.sql.linear import constant
from auditor.sql.statement import Operation, Term
from auditor.sql.windows import is_windowed

Leaf = Callable[[exp.Expr], Term | None]
"""What a node is if it is an aggregate, or something public; else None."""

_BINARY: dict[type[exp.Expr], Operation] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "divide whole",
}
_WHOLE = frozenset([
    "TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "UINT128",
])  # fmt: skip
_MOST_DIGITS = 30
_DEFAULT_SCALE = 3
"""DECIMAL is DECIMAL(18, 3) to DuckDB."""


def read(node: exp.Expr, leaf: Leaf) -> Term | None:
    """An expression as a term; None where something else is in it."""
    node = node.unnest()
    number = constant(node)
    if number is not None:
        return Term("constant", number=number)
    found = leaf(node)
    if found is not None:
        return found
    if isinstance(node, exp.Neg):
        return _made("negate", [node.this], leaf)
    if type(node) in _BINARY:
        return _made(_BINARY[type(node)], [node.this, node.expression], leaf)
    if isinstance(node, exp.Coalesce):
        return _made("coalesce", [node.this, *node.expressions], leaf)
    if isinstance(node, exp.Nullif):
        made = _made("nullif", [node.this, node.expression], leaf)
        return made if made is not None and made.parts[1].operation == "constant" else None
    if isinstance(node, exp.Round):
        digits = _digits(node)
        return None if digits is None else _made("round", [node.this], leaf, digits)
    return _cast(node, leaf) if type(node) is exp.Cast else None


def of_aggregates(node: exp.Expr) -> Term | None:
    """An expression over aggregates and columns, whatever they are; None where something else is in it."""
    return read(node, _any_leaf)


def aggregates(node: exp.Expr) -> Iterator[exp.AggFunc]:
    """The aggregates in an expression."""
    return (each for each in node.find_all(exp.AggFunc) if each.find_ancestor(exp.AggFunc) is None)


def _any_leaf(node: exp.Expr) -> Term | None:
    inner = node.this if isinstance(node, exp.Filter) else node
    aggregate = isinstance(inner, exp.AggFunc | exp.WithinGroup) and not is_windowed(inner)
    return Term("public") if aggregate or isinstance(node, exp.Column) else None


def _made(operation: Operation, nodes: list[exp.Expr], leaf: Leaf, place: int = 0) -> Term | None:
    parts = [read(each, leaf) for each in nodes]
    found = tuple(each for each in parts if each is not None)
    return Term(operation, found, place=place) if len(found) == len(parts) else None


def _digits(node: exp.Round) -> int | None:
    """How many digits after the point are kept; None where that is no constant."""
    if any(node.args.get(name) for name in node.args if name not in ("this", "decimals")):
        return None
    given = node.args.get("decimals")
    digits = Fraction(0) if given is None else constant(given)
    return (
        int(digits)
        if digits is not None and digits.denominator == 1 and abs(digits) <= _MOST_DIGITS
        else None
    )


def _cast(node: exp.Cast, leaf: Leaf) -> Term | None:
    kind = node.to.this
    name = kind.value if isinstance(kind, exp.DType) else str(kind)
    if name in _WHOLE:
        return _made("round", [node.this], leaf)
    if name == "DECIMAL":
        given = [each.name for each in node.to.expressions]
        scale = int(given[1]) if len(given) > 1 else 0 if given else _DEFAULT_SCALE
        return _made("round", [node.this], leaf, scale)
    if name == "FLOAT":
        return _made("single", [node.this], leaf)
    return read(node.this, leaf) if name == "DOUBLE" else None
