"""What a logged statement teaches: SQL that lists records behind what it shows, and what is not modelled."""

from __future__ import annotations

from dataclasses import dataclass

from auditor.history.meanings import Known

COSTLY = "not understood: too costly"
"""By which statements are counted that were not read since that would have cost too much."""


@dataclass(frozen=True)
class Work:
    """One SELECT that shows something of a protected column."""

    sql: str
    """Lists records, in the public instance."""
    outputs: tuple[tuple[str, Known | None], ...]
    limit: int | None
    shown: str
    """The statement as the database has it: its tables, its names, its parameters written in."""


@dataclass(frozen=True)
class Lesson:
    """What a statement teaches."""

    kind: str
    """By which it is counted; see `docs/audit.md`."""
    works: tuple[Work, ...] = ()
    unmodelled: tuple[tuple[str, str], ...] = ()
    """Kind and reason of what it shows besides."""
    zone: str = "UTC"
    """The time zone in which it reckons."""

    @classmethod
    def too_costly(cls, reason: str) -> Lesson:
        """Of a statement that is not read: it may show anything."""
        return cls("unmodelled", (), ((COSTLY, reason),))

    @property
    def characters(self) -> int:
        """Of the SQL that is run in place of the statement."""
        return sum(len(work.sql) for work in self.works)
