"""What an audit did not read, could not follow or left unjudged: the reservation beside whatever it found.

Promises that what may have told something is counted and said in one phrase; nothing is counted that is known
to have told nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.history.findings import PartyFindings, Unmodelled


@dataclass(frozen=True)
class Unread:
    """Counts; all 0 where everything was read and followed."""

    lines: int
    """Lines and records that could not be read."""
    bytes: int
    """How long those are, as far as that is known."""
    statements: int
    """Statements that were cut, or that are missing."""
    unmodelled: int
    """Statements that told something of a protected column which is not modelled."""
    nothing: bool
    """Whether no statement was read at all."""
    unjudged: int = 0
    """Records whose judging takes more work than an audit spends; of the party with most."""
    totals: int = 0
    """The same of units' totals."""

    def __bool__(self) -> bool:
        known = self.lines or self.statements or self.unmodelled or self.nothing
        return bool(known or self.unjudged or self.totals)

    @property
    def said(self) -> str:
        """In words, without a verb before it: "3 lines (120 bytes) were not read and …"; "" for nothing."""
        size = f" ({self.bytes:,} {'byte' if self.bytes == 1 else 'bytes'})" if self.bytes else ""
        parts = [
            "no statement was read" if self.nothing else "",
            _counted(self.lines, f"line{{}} or record{{}} of the log{size}", "not read"),
            _counted(self.statements, "statement{}", "cut, or missing from the log"),
            _counted(self.unmodelled, "statement{}", "not modelled"),
            _counted(self.unjudged, "record{}", "left unjudged"),
            _counted(self.totals, "total{} of units", "left unjudged"),
        ]
        told = [part for part in parts if part]
        return " and ".join(filter(None, (", ".join(told[:-1]), told[-1] if told else "")))


def _counted(count: int, what: str, how: str) -> str:
    if not count:
        return ""
    one = count == 1
    return f"{count:,} {what.replace('{}', '' if one else 's')} {'was' if one else 'were'} {how}"


def unread(
    reading: Mapping[str, object],
    unmodelled: Sequence[Unmodelled],
    parties: Sequence[PartyFindings] = (),
) -> Unread:
    """What was not read, of `Findings.reading`, `Findings.unmodelled`; who was not judged, of `parties`."""
    size = reading.get("unread_bytes")
    return Unread(
        lines=_sum(reading.get("broken")),
        bytes=size if isinstance(size, int) else 0,
        statements=_sum(reading.get("lost")),
        unmodelled=sum(one.count for one in unmodelled),
        nothing=reading.get("statements") == 0,
        unjudged=max((party.open for party in parties), default=0),
        totals=max((party.totals_open for party in parties), default=0),
    )


def _sum(counts: object) -> int:
    values = counts.values() if isinstance(counts, Mapping) else [counts]
    return sum(count for count in values if isinstance(count, int))
