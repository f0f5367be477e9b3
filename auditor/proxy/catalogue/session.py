"""What of a session the catalogue's answers depend on: who asks, and the session's settings."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Context:
    """One client's session, as far as it shows in answers."""

    user: str
    """The name that the client logged in with."""
    administrator: bool = False
    """Whether the tables for administrators, and the names of other users, are shown."""
    pid: int = 0
    """What pg_backend_pid() says, as in BackendKeyData."""
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The session's settings; they go before the defaults of `rows/pg_settings.csv`."""
    server_address: str | None = None
    server_port: int | None = None
    client_address: str | None = None
    client_port: int | None = None
    started: datetime.datetime | None = None
    """When the server started, with its zone."""

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self.settings.get("TimeZone", "UTC")


@dataclass(frozen=True)
class Change:
    """A setting that a statement changed by set_config; the session carries it out."""

    name: str
    value: str | None
    """None: back to the default."""
    local: bool
    """Until the transaction's end."""
