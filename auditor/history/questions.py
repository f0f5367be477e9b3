"""Questions about expressions: whether they read protected columns, and which test a column of 0 and 1.

Promises to say that an expression reads a protected column unless nothing but public data, and whether values
are NULL, has a part in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from auditor.history.forms import Form
from auditor.sql.linear import constant, tests_null

if TYPE_CHECKING:
    from auditor.history.meanings import Grid, Kind

CONDITION = "condition on the protected column"
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)


class NotLinear(Exception):
    """An expression of a protected column that is not modelled."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        """How an audit counts it."""


@dataclass(frozen=True)
class Shown:
    """A number that a statement shows."""

    column: int
    """Position of the protected column."""
    form: Form | None
    """What it is, or None for an extreme."""
    extreme: Literal["max", "min"] = "max"
    text: str = ""
    """SQL of the list of records whose extreme it is."""


@dataclass(frozen=True)
class Indicator:
    """A test of a column of 0 and 1."""

    record: exp.Column
    one: bool
    """Whether it holds for 1, or for 0."""

    @property
    def form(self) -> Form:
        """1 where it holds, up to a public offset."""
        form = Form.of_record(text_of(self.record), whole=True)
        return form if self.one else form.scaled("-1", 0.0, whole=True)


class Questions(ABC):
    """Asks about the expressions of one SELECT."""

    def __init__(
        self,
        kind_of: Callable[[exp.Column], Kind],
        kind_of_query: Callable[[exp.Expr], Kind],
        grid: Callable[[int], Grid],
        named: Callable[[str], None],
    ) -> None:
        self._kind_of, self._kind_of_query, self._grid, self._named = kind_of, kind_of_query, grid, named
        self.indicated: Indicator | None = None
        """The test in WHERE that all aggregates of the SELECT are under; it is taken out there."""
        self._columns: set[int] = set()

    # --- questions

    def reads(self, node: exp.Expr) -> bool:
        """Whether anything but public data has a part in an expression."""
        if isinstance(node, exp.Query):
            return self._kind_of_query(node) is not None
        if isinstance(node, exp.Column):
            return (
                not isinstance(node.this, exp.Star)
                and not tests_null(node)
                and self._kind_of(node) is not None
            )
        if isinstance(node, exp.Exists):
            return self._kind_of_query(node.this) is not None
        if isinstance(node, exp.Count) and self._counts_public(node):
            return False
        return any(self.reads(child) for child in node.iter_expressions())

    def _counts_public(self, node: exp.Count) -> bool:
        """Whether COUNT sees whether values are NULL, and nothing else of them."""
        if isinstance(node.this, exp.Distinct) or not isinstance(node.this, exp.Expr):
            return False
        if not any(self._is_protected(column) for column in node.this.find_all(exp.Column)):
            return False
        try:
            kept, self._columns = self._columns, set()
            return not self._form(node.this).blur and not node.this.find(*COMPARISONS, exp.Case, exp.If)
        except NotLinear:
            return False
        finally:
            self._columns = kept

    def _is_protected(self, column: exp.Column) -> bool:
        return not isinstance(column.this, exp.Star) and self._kind_of(column) is not None

    def indicator(self, node: exp.Expr) -> Indicator | None:
        """A condition as a test of a column of 0 and 1, or None."""
        if isinstance(node, exp.Paren):
            return self.indicator(node.this)
        if isinstance(node, exp.Not):
            inner = self.indicator(node.this)
            return None if inner is None else Indicator(inner.record, not inner.one)
        if isinstance(node, exp.Column):
            return Indicator(node, True) if self._binary(node) else None
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean) and self._binary(node.this):
            return Indicator(node.this, bool(node.expression.this))
        if isinstance(node, COMPARISONS):
            return self._compared(node)
        return None

    def _compared(self, node: Any) -> Indicator | None:
        left, right, kind = node.this, node.expression, type(node)
        if self._value(left) is not None:
            turned: dict[Any, Any] = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE}
            left, right, kind = right, left, turned.get(kind, kind)
        while isinstance(left, exp.Paren | exp.Cast):
            left = left.this
        value = self._value(right)
        if value is None or not self._binary(left):
            return None
        holds = {
            exp.EQ: lambda x: x == value, exp.NEQ: lambda x: x != value, exp.GT: lambda x: x > value,
            exp.GTE: lambda x: x >= value, exp.LT: lambda x: x < value, exp.LTE: lambda x: x <= value,
        }.get(kind)  # fmt: skip
        if holds is None or holds(0) == holds(1):  # type: ignore[no-untyped-call]
            return None
        return Indicator(left, holds(1))  # type: ignore[no-untyped-call]

    def _value(self, node: exp.Expr) -> Fraction | None:
        while isinstance(node, exp.Paren | exp.Cast):
            node = node.this
        if isinstance(node, exp.Boolean):
            return Fraction(int(node.this))
        if isinstance(node, exp.Literal) and node.is_string:
            return {"1": Fraction(1), "0": Fraction(0), "true": Fraction(1), "false": Fraction(0)}.get(
                node.name.lower()
            )
        return constant(node)

    def _binary(self, node: exp.Expr) -> bool:
        kind = self._kind_of(node) if isinstance(node, exp.Column) else None
        return getattr(kind, "what", "") == "record" and self._grid(kind.column).binary  # type: ignore[union-attr]

    @abstractmethod
    def _form(self, node: exp.Expr) -> Form:
        """An expression as a linear form."""

    unique: Callable[[exp.Column], bool] = staticmethod(lambda _: False)
    """Whether a column tells all rows apart; whoever makes a reader says."""

    def _tells_apart(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and self.unique(node)


def text_of(node: exp.Expr) -> str:
    """A node as DuckDB's SQL."""
    return node.sql(dialect="duckdb", identify=True, comments=False)
