"""Sets of records as conditions on public columns: a text of SQL and, beside it, whom it covers.

Promise: whoever holds a `Selection` knows its members without asking, as an intruder does who has the public
columns. Conditions are built from columns without NULL and of types whose literals are exact, so that text
and members agree in SQL's three-valued logic too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from auditor.sql.schema import quoted

EXACT_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "VARCHAR", "BOOLEAN", "DATE", "DECIMAL",
               "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")  # fmt: skip
"""Types whose values can be written as literals that compare equal to them."""


@dataclass(frozen=True, eq=False)
class Selection:
    """A condition and the records that it selects."""

    text: str
    """SQL, safe to stand in brackets."""
    members: NDArray[np.bool_]
    """(n,) by record."""

    @property
    def size(self) -> int:
        """How many records it selects."""
        return int(self.members.sum())

    def __and__(self, other: Selection) -> Selection:
        return Selection(f"({self.text}) AND ({other.text})", self.members & other.members)

    def __or__(self, other: Selection) -> Selection:
        return Selection(f"({self.text}) OR ({other.text})", self.members | other.members)

    def __invert__(self) -> Selection:
        return Selection(f"NOT ({self.text})", ~self.members)


def literal(value: object) -> str:
    """A value as DuckDB reads it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"DATE '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


def conjunction(values: Mapping[str, object]) -> str:
    """The condition that names a record by its values."""
    return " AND ".join(f"{quoted(name)} = {literal(value)}" for name, value in values.items())
