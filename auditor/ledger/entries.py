"""What the ledger remembers, as values. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["sum", "max", "min", "leak"]


@dataclass(frozen=True, eq=False)
class KnownAnswer:
    """One released aggregate that taught something, exactly."""

    kind: Kind
    """Sum (averages too, as the sum that they stand for), maximum or minimum; "leak": a refusal told
    something about these records, and `value` is 0."""
    records: NDArray[np.int64]
    """Numbers of the records it covers, ascending, each once."""
    signs: NDArray[np.int8] | None
    """Coefficient of each record in a sum; None where all are 1, and for maximum and minimum."""
    value: Fraction
    """Σ signs · value, or the extreme, in units of the column."""
    table: str
    """The table of the protected column that it is about, as `Protect.name` has it."""
    column: str
    """That column."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownAnswer):
            return NotImplemented
        if (self.kind, self.value, self.name) != (other.kind, other.value, other.name):
            return False
        if (self.signs is None) != (other.signs is None):
            return False
        signs = self.signs is None or np.array_equal(self.signs, other.signs)  # type: ignore[arg-type]
        return signs and np.array_equal(self.records, other.records)

    def __hash__(self) -> int:
        return hash((self.kind, self.value, self.name, self.records.tobytes()))

    @property
    def name(self) -> tuple[str, str]:
        """Table and column: answers about different columns have nothing to do with each other."""
        return self.table, self.column


@dataclass(frozen=True)
class Binding:
    """What a ledger belongs to: its answers mean something for these data and these [[protect]] only."""

    protect_digest: str
    """`Policy.protect_digest`."""
    fingerprint: str
    """Digest of the contents of all tables, in record order."""
    sizes: tuple[tuple[str, str, int], ...]
    """Table, column and number of records of each protected column, in the order of their names."""
    scope: str = "everyone"
    """Whose answers count together: with another, what others were told would be forgotten."""
    protect: str = ""
    """`Policy.protect_canonical`, to say what differs where the digest does; may be left out."""
    created: datetime | None = None
    """When the ledger was begun; set by the ledger."""
    insiders: int = 0
    """`intruder.insiders`: against whom its answers were judged to be safe."""


@dataclass(frozen=True)
class Entry:
    """One statement and what became of it."""

    number: int
    """From 1, without gaps."""
    time: datetime
    """When it was recorded, UTC."""
    user: str
    """Who asked."""
    sql: str
    """The statement as asked."""
    parameters: str
    """Its parameters, as JSON."""
    normalised: str
    """The statement as understood; empty where it was not."""
    verdict: str
    """"answered", "refused" or "unsupported"."""
    code: str
    """Stable short name of the reason."""
    check: bool
    """Only the verdict was asked for: no answer was released."""
    risk_before: float | None
    """Worst certified risk before the statement, where it was computed."""
    risk_after: float | None
    """Worst certified risk with its answer released, where it was computed."""
    leak: bool
    """The true answer broke the limit after the hypothetical ones had passed: the refusal told something."""
    answers: tuple[KnownAnswer, ...]
    """New knowledge, in the order it was released."""
    hash: str
    """Hex hash of this entry and, through the one before it, of all earlier ones."""
