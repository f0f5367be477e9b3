"""What the ledger remembers, as values. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from auditor.ledger.people import Edition
from auditor.told import Told

Aggregate = Literal["sum", "max", "min", "count", "quantile", "weighted", "spread"]
Kind = Literal[
    "sum", "max", "min", "sum at most", "sum at least", "sum between", "max at most", "min at least", "leak",
    "count at most", "count at least", "count between",
    "quantile at most", "quantile at least", "quantile between",
    "weighted at most", "weighted at least", "weighted between",
    "spread at most", "spread at least", "spread between", "aside",
]  # fmt: skip
AGGREGATES: Mapping[str, Aggregate] = {each: each for each in get_args(Aggregate)}
"""By name, those that there are answers of."""
KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
"""By name, those that a ledger may have."""


@dataclass(frozen=True, eq=False)
class KnownAnswer:
    """One released aggregate that taught something: exactly, or an end of where it lies."""

    kind: Kind
    """Sum (averages too, as the sum that they stand for), maximum or minimum, or what end of it was told; or
    the range of another statistic.
    "leak", of version 0.1 alone: a refusal told something about these records, and `value` is 0.
    "aside": with a release, who is set aside from then on (`auditor.parties.set_aside`); `value` is 0."""
    records: NDArray[np.int64]
    """Numbers of the records it covers, ascending, each once."""
    signs: NDArray[np.int8] | None
    """Coefficient of each record in a sum; None where all are 1, and for maximum and minimum."""
    value: Fraction
    """Σ signs · value, or the extreme, in units of the column; of "between" the lower end."""
    table: str
    """The table of the protected column that it is about, as `Protect.name` has it."""
    column: str
    """That column."""
    most: Fraction | None = None
    """Of "between" the upper end."""
    detail: str = ""
    """Of "count" which values count, "101..200 250..250"; of "quantile" between which two of the values in
    ascending order, from 0, and how far along the way, "14 15 1/2". In steps of the resolution.
    Of "weighted" the weights of the records, "3 -1 2"."""

    @classmethod
    def told(
        cls,
        aggregate: Aggregate,
        records: NDArray[np.int64],
        signs: NDArray[np.int8] | None,
        ends: Told[Fraction],
        name: tuple[str, str],
        detail: str = "",
    ) -> KnownAnswer:
        """What was told of an aggregate, in units of the column."""
        how, value, most = "", ends.least, None
        if ends.least is None:
            how, value = " at most", ends.most
        elif ends.most is None:
            how = " at least"
        elif ends.least < ends.most:
            how, most = " between", ends.most
        assert value is not None
        return cls(KINDS[f"{aggregate}{how}"], records, signs, value, *name, most, detail)

    @property
    def tells(self) -> bool:
        """Whether it says something of values: the kinds "leak" and "aside" do not."""
        return self.kind not in ("leak", "aside")

    @property
    def asked(self) -> Aggregate:
        """The aggregate that it is about."""
        return cast(Aggregate, self.kind.partition(" ")[0])

    @property
    def ends(self) -> Told[Fraction]:
        """Where that lies, in units of the column."""
        how = self.kind.partition(" ")[2]
        least = None if how == "at most" else self.value
        return Told(least, self.most if how == "between" else None if how == "at least" else self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownAnswer):
            return NotImplemented
        mine, others = ((each.kind, each.value, each.most, each.name, each.detail) for each in (self, other))
        if mine != others:
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
    """Table, column and number of records of each protected column, in the order of their names; of cells
    how many units they are."""
    scope: str = "everyone"
    """Whose answers count together: with another, what others were told would be forgotten."""
    protect: str = ""
    """`Policy.protect_canonical`, to say what differs where the digest does; may be left out."""
    created: datetime | None = None
    """When the ledger was begun; set by the ledger."""
    insiders: int = 0
    """`intruder.insiders`: against whom its answers were judged to be safe."""
    cells: bool = False
    """Whether cells are held to the ledger, to say what differs; not kept there."""


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
    """"answered", "refused" or "unsupported"; "edition" where new data were opened, "request" where somebody
    has asked the owner for an answer, or was told no."""
    code: str
    """Stable short name of the reason."""
    check: bool
    """Only the verdict was asked for: no answer was released."""
    risk_before: float | None
    """Worst certified risk before the statement, where it was computed."""
    risk_after: float | None
    """Worst certified risk with its answer released, where it was computed."""
    surprises: int
    """Values that were not shown to be safe, or true answers that broke the limit in version 0.1, after the
    hypothetical ones had passed."""
    answers: tuple[KnownAnswer, ...]
    """New knowledge, in the order it was released."""
    hash: str
    """Hex hash of this entry and, through the one before it, of all earlier ones."""
    edition: Edition | None = None
    """What it opens, where it is no statement: the verdict is "edition" then."""
    zone: str = "UTC"
    """The session's time zone, in which the statement reckoned: it is part of what was asked."""
    because: str = ""
    """Of a release and of a request: why."""
    by: str = ""
    """Who released it, or said no to a request."""
