"""What a column of a statement holds of protected columns, as values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

What = Literal["record", "form", "max", "min"]


@dataclass(frozen=True)
class Known:
    """What a column holds of a protected column."""

    column: int
    """The protected column's position."""
    what: What
    """A record number, a form, or the list of records whose extreme is meant."""
    blur: float = 0.0
    """As `Form.blur`."""
    whole: bool = False
    """As `Form.whole`."""
    plain: Literal["", "sum", "avg"] = ""
    """Whether it is SUM or AVG of the column itself, shown as it is."""


@dataclass(frozen=True)
class Hidden:
    """A column that comes from a protected one in a way that is not modelled."""

    kind: str
    reason: str


Kind = Known | Hidden | None


@dataclass(frozen=True)
class Grid:
    """Of a protected column, what decides whether arithmetic loses something."""

    minimum: Fraction
    maximum: Fraction
    unit: Fraction

    @property
    def binary(self) -> bool:
        """Whether the values are 0 and 1."""
        return self.minimum == 0 and self.maximum == 1 == self.unit
