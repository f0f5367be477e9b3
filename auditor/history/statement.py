"""One statement as a log has it, and what of a log could not be read.

Pure values: readers make them, the replay takes them. Nothing here knows a format or a database.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Logged:
    """One statement that was sent to a database."""

    number: int
    """Its place among the statements of all logs, from 1, in the order of reading."""
    sql: str
    """The text, as logged."""
    parameters: tuple[str | None, ...] | None = None
    """Values of $1, $2, … as the log writes them, NULL as None; None where the log has none."""
    user: str = ""
    """Who asked; "" where the log does not say."""
    time: datetime | None = None
    """When, with its zone; None where the log does not say."""
    application: str = ""
    """Which program asked."""
    database: str = ""
    """Of which database."""
    answered: bool | None = None
    """Whether it was answered; None where the log does not say: it is then taken as answered."""
    dialect: str = ""
    """Whose SQL it is, by sqlglot's names; "" where only the user can tell."""
    zone: str = ""
    """The session's time zone, a name of `auditor.sql.time_zones`; "" where the log does not say."""
    source: str = ""
    """File and line, for a person who looks it up."""


@dataclass
class Reading:
    """What reading has come to so far; filled while statements are drawn."""

    bytes_in_all: int = 0
    """Of all logs; 0 where it is not known (a pipe)."""
    bytes_read: int = 0
    entries: int = 0
    """Log entries of any kind."""
    statements: int = 0
    """Those that became `Logged`."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Entries that are no statement, by kind: "connection", "checkpoint", …"""
    broken: Counter[str] = field(default_factory=Counter)
    """Lines and records that could not be read, by reason."""
    unread_bytes: int = 0
    """How long those are, as far as their length is known."""
    lost: Counter[str] = field(default_factory=Counter)
    """Statements that were read in part or not at all though their lines were read, by reason: a text that
    ends in its middle, a record that is missing by the server's own count."""
    examples: list[str] = field(default_factory=list)
    """Of what is broken or lost: "file, line 12: reason", some few."""
    odd: Counter[str] = field(default_factory=Counter)
    """What was read all the same: bytes replaced, times out of order, by what was odd."""
    formats: dict[str, str] = field(default_factory=dict)
    """What each file, as it was named, was read as."""
    earliest: datetime | None = None
    latest: datetime | None = None
    """First and last time of the statements."""
