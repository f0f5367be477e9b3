"""A tree as text: the short form that people are shown, and the form in which brackets say what binds.

Promises of the second that no operator's rank decides how it is read: each operand that is an operation
itself stands in brackets. Only a chain of AND, of OR, of `+` and `-`, or of `*` is left open to the left.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generators.duckdb import DuckDBGenerator

from auditor.sql.understood import NotUnderstood

_OPERATIONS = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.AtTimeZone)
_ATOMS = (exp.Paren, exp.Dot)
# A thousand brackets would be too deep for DuckDB's parser.
_CHAINS: tuple[tuple[type[exp.Expr], ...], ...] = ((exp.And,), (exp.Or,), (exp.Add, exp.Sub), (exp.Mul,))


def generate(tree: exp.Expr) -> str:
    """A tree as DuckDB's SQL with every name quoted.

    Raises:
        NotUnderstood: code "translation", for a node that DuckDB has no words for.
    """
    try:
        return tree.sql(dialect="duckdb", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError:
        raise NotUnderstood("translation") from None


def bracketed(tree: exp.Expr) -> str:
    """As `generate`, with brackets around every operand that is an operation: what runs is written so.

    Raises:
        NotUnderstood: as `generate`.
    """
    writer = _Bracketing(dialect="duckdb", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    try:
        return writer.generate(tree)
    except UnsupportedError:
        raise NotUnderstood("translation") from None


class _Bracketing(DuckDBGenerator):
    def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:
        text: str = super().sql(expression, key, comment)
        apart = key is None and isinstance(expression, exp.Expr) and _stands_apart(expression)
        return f"({text})" if apart and text else text


def _stands_apart(node: exp.Expr) -> bool:
    holder = node.parent
    if holder is None or not _is_operation(node) or not _is_operation(holder):
        return False
    if isinstance(holder, exp.Escape):
        return False  # LIKE … ESCAPE is one operation
    return node.arg_key != "this" or not any(
        isinstance(node, chain) and isinstance(holder, chain) for chain in _CHAINS
    )


def _is_operation(node: exp.Expr) -> bool:
    return isinstance(node, _OPERATIONS) and not isinstance(node, _ATOMS)
