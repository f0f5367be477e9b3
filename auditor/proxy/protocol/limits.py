"""How much one client may send, and leave here, before it is told to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.proxy.protocol.states import Frontend

HEADER = 5
"""Bytes of a message before its body: the type and the length."""


@dataclass(frozen=True)
class Limits:
    """What a connection holds for one client, at most. Sizes are bytes."""

    startup: int = 10_000
    """One packet before authentication, without its length; PostgreSQL's own limit."""
    authentication: int = 4_096
    """One message of the authentication."""
    message: int = 1 << 20
    """One Query, Parse, Bind, FunctionCall or CopyData."""
    small: int = 10_000
    """One message of any other type; PostgreSQL's own limit."""
    name: int = 255
    """The name of a statement or portal."""
    statements: int = 1_000
    """Named statements at once."""
    portals: int = 100
    """Named portals at once."""
    memory: int = 8 << 20
    """Texts of all statements and values of all portals together."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} must be positive, not {value}")
        if self.message < self.small:
            raise ValueError(f"message must be at least small ({self.small}), not {self.message}")

    @property
    def by_message(self) -> Mapping[Frontend, int]:
        """The largest body of each type; what is not listed is small."""
        large = (Frontend.QUERY, Frontend.PARSE, Frontend.BIND, Frontend.FUNCTION_CALL, Frontend.COPY_DATA)
        return {
            **dict.fromkeys(Frontend, self.small),
            **dict.fromkeys(large, self.message),
            Frontend.PASSWORD_MESSAGE: self.authentication,
        }
