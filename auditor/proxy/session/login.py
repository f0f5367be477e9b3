"""Who a client is: SCRAM, then whether there is room and a database of that name.

Promises that an unknown user and a wrong password are answered alike, and that nothing is said of databases
and limits to who has not shown the password.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from auditor.proxy.protocol import Connection, events
from auditor.proxy.protocol.sqlstate import TOO_MANY_CONNECTIONS, ErrorFields, SqlState, wrong_password
from auditor.proxy.scram import Exchange, ScramError
from auditor.proxy.users import User, Users

_OPTION = re.compile(r"(?:-c\s*|--)([A-Za-z_][\w.]*)=((?:\\.|\S)*)")


@dataclass(frozen=True)
class Door:
    """What the server decides about who comes in."""

    users: Callable[[], Users]
    """The users file as it is now."""
    admit: Callable[[str], bool]
    """Whether there is room for one more connection of a user, whose place is taken then."""
    database: str
    """The one database."""
    binding: bytes | None = None
    """Channel binding of the server's certificate."""


class Login:
    """One client on its way in."""

    def __init__(self, connection: Connection, door: Door) -> None:
        self._connection, self._door = connection, door
        self._exchange: Exchange | None = None
        self._user: User | None = None
        self.startup: events.Startup | None = None
        """What the client asked for."""

    def begin(self, startup: events.Startup) -> None:
        """Ask for proof."""
        users = self._door.users()
        self.startup, self._user = startup, users.get(startup.user)
        binding = self._door.binding if startup.encrypted else None
        self._exchange = Exchange(users.verifier(startup.user), binding)
        self._connection.authentication_sasl(self._exchange.mechanisms)

    def answer(self, event: events.SASLInitialResponse | events.SASLResponse) -> User | ErrorFields | None:
        """Judge a response. The user once it is shown, the error that ends it, or None: it goes on."""
        assert self._exchange is not None
        assert self.startup is not None
        wrong = wrong_password(self.startup.user)
        try:
            if isinstance(event, events.SASLInitialResponse):
                first = self._exchange.begin(event.mechanism, event.data or b"")
                self._connection.authentication_sasl_continue(first)
                return None
            final = self._exchange.finish(event.data)
        except ScramError:
            return wrong
        if self._user is None or self._door.users().get(self._user.name) != self._user:
            return wrong  # who was removed meanwhile has nothing to show any more
        self._connection.authentication_sasl_final(final)
        if self.startup.database != self._door.database:
            return ErrorFields(
                SqlState.INVALID_CATALOG_NAME,
                f'database "{self.startup.database[:63]}" does not exist',
                hint=f"There is one here: {self._door.database}",
                severity="FATAL",
            )
        return self._user if self._door.admit(self._user.name) else TOO_MANY_CONNECTIONS

    def settings(self) -> dict[str, str]:
        """The settings of the startup message, those in `options` among them."""
        assert self.startup is not None
        given = dict(self.startup.parameters)
        options = given.pop("options", "")
        found = {
            name.replace("-", "_"): re.sub(r"\\(.)", r"\1", value) for name, value in _OPTION.findall(options)
        }
        return {**found, **given}
