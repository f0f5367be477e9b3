"""One message of a PostgreSQL server, whichever of its three formats it was written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Entry:
    """What of a message matters here; "" where the log does not say."""

    line: int
    time: str = ""
    user: str = ""
    database: str = ""
    application: str = ""
    session: str = ""
    """The session's or the process's number: what messages of one connection share."""
    severity: str = ""
    message: str = ""
    detail: str = ""
    context: str = ""
    statement: str = ""
    """What was running when an error occurred."""
    tag: str = ""
    """What the connection was doing: "SELECT", "PARSE", "BIND", …"""
    position: int = 0
    """Where in the statement an error is, from 1; 0 where the log does not say."""
    damaged: bool = False
    """Whether there are bytes before the message that are no text: whose it is may be wrong."""
    serial: int = 0
    """Its number among the messages of its session; 0 where the log does not say."""


SEVERITIES = frozenset(
    {"DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC"}
    | {f"DEBUG{level}" for level in range(1, 6)}
)
