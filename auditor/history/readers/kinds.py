"""Messages of a PostgreSQL server that are no statement, by kind."""

from __future__ import annotations

_STARTS = (
    ("connection ", "connection"), ("disconnection", "connection"), ("checkpoint", "checkpoint"),
    ("restartpoint", "checkpoint"), ("automatic ", "autovacuum"), ("autovacuum", "autovacuum"),
    ("temporary file", "temporary file"), ("process ", "lock"), ("unexpected EOF", "connection lost"),
    ("could not receive data", "connection lost"), ("could not send data", "connection lost"),
    ("fastpath function call", "fast path"),
    ("replication", "replication"), ("received replication command", "replication"),
)  # fmt: skip


def of(message: str) -> str:
    """What a message is about; "server" for all the rest."""
    return next((kind for start, kind in _STARTS if message.startswith(start)), "server")
