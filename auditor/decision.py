"""The verdict on one statement, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from auditor.told import Foreseen, Withheld

Verdict = Literal["answered", "refused", "unsupported"]


@dataclass(frozen=True)
class Decision:
    """What the gate says to one statement. Text depends on the statement, and on past answers."""

    verdict: Verdict
    """Whether rows follow."""
    code: str
    """Stable short name of the reason: "answered", "public", "known", "risk", or a code of `auditor.sql`."""
    message: str
    """The reason in an analyst's words."""
    hint: str = ""
    """What would do, where something would."""
    risk_before: float | None = None
    """Worst certified risk before the statement; for administrators."""
    risk_after: float | None = None
    """Worst certified risk with its answer released; for administrators."""
    risk_at_least: bool = False
    """Whether `risk_after` is what the answer would leave at least: bounds refused it. For administrators."""
    ends: int = 0
    """How many values are told as an end of where they lie; they are NULL in the rows."""
    withheld: tuple[Withheld, ...] = ()
    """Of which groups, or values, nothing is told, where others are: by public keys."""
    fates: tuple[Foreseen, ...] = field(default=(), compare=False)
    """Of a check or EXPLAIN what would become of each aggregate of each group; else empty."""


IN_ROWS = "NULL in the rows"
"""How a message says where values are that are told as ends; who shows the ends there says something else."""
