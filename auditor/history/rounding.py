"""How rounding to whole numbers is written by the translation from PostgreSQL, recognised in a tree."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.linear import constant


@dataclass(frozen=True)
class Quotient:
    """factor · value / divisor, rounded half away from 0."""

    value: exp.Expr
    factor: float
    divisor: exp.Expr


def rounded_quotient(node: exp.Expr) -> Quotient | None:
    """SIGN(x) * ((ABS(x) * k + ABS(n)) // (2 * ABS(n))), or None where a node is something else."""
    if not isinstance(node, exp.Mul) or not isinstance(node.this, exp.Sign):
        return None
    quotient = node.expression.unnest()
    if not isinstance(quotient, exp.IntDiv):
        return None
    above, below = quotient.this.unnest(), quotient.expression.unnest()
    if not (isinstance(above, exp.Add) and isinstance(below, exp.Mul)):
        return None
    product, rest = above.this.unnest(), above.expression.unnest()
    if not (isinstance(product, exp.Mul) and isinstance(product.this.unnest(), exp.Abs)):
        return None
    factor = constant(product.expression)
    if factor is None or constant(below.this) != 2:
        return None
    if not isinstance(rest, exp.Abs) or below.expression.unnest() != rest:
        return None
    return Quotient(node.this.this, float(factor) / 2, rest)
