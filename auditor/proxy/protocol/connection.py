"""One client's connection as PostgreSQL's server keeps it, without the socket: bytes to events.

    while not connection.closed:
        while (event := connection.next_event()) is not None:
            ...                                  # answer it, see `events`
            if connection.queued > A_SOCKETFUL:  # between batches of rows, too
                send(connection.data_to_send())
        send(connection.data_to_send())
        connection.receive(read())               # or receive_eof(); as long as connection.wants_bytes

Promises: whatever bytes come, nothing is raised; a client's fault is answered here and told as `Rejected`. At
most the largest message and one call's bytes are held. The next event is not given before the last is
answered (`OutOfTurn` otherwise). Knows no clock: deadlines are the owner's, who ends it with `fatal`.
"""

from __future__ import annotations

from typing import Literal

from auditor.proxy.protocol import backend, events
from auditor.proxy.protocol.answering import Answering
from auditor.proxy.protocol.events import Event
from auditor.proxy.protocol.framing import Inbox
from auditor.proxy.protocol.limits import HEADER, Limits
from auditor.proxy.protocol.messages import (
    Bind,
    CancelRequest,
    Execute,
    GSSENCRequest,
    Parse,
    Query,
    SSLRequest,
    StartupMessage,
    Target,
    read_message,
    read_packet,
    read_sasl_initial,
)
from auditor.proxy.protocol.sqlstate import ErrorFields, ProtocolError, SqlState
from auditor.proxy.protocol.states import (
    AFTER_MALFORMED,
    CLIENT,
    DESCRIBE_PORTAL,
    IGNORED,
    SSL_REFUSED,
    STARTUP_STATES,
    UNSTARTED,
    Frontend,
    OutOfTurn,
    State,
)

TLS = Literal["none", "offered", "required"]

_STARTUP_KINDS = {
    SSLRequest: Frontend.SSL_REQUEST,
    GSSENCRequest: Frontend.GSSENC_REQUEST,
    CancelRequest: Frontend.CANCEL_REQUEST,
    StartupMessage: Frontend.STARTUP_MESSAGE,
}
_NOT_REPLICATION = frozenset({"", "false", "off", "no", "0"})
_AHEAD = ErrorFields(
    SqlState.PROTOCOL_VIOLATION,
    "received unencrypted data after a request for encryption",
    "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
    severity="FATAL",
)


class Connection(Answering):
    """The client's half: what arrives, as events. The answers are `Answering`'s."""

    def __init__(self, *, tls: TLS = "none", limits: Limits | None = None) -> None:
        """A connection that was just accepted.

        Args:
            tls: Whether SSLRequest is answered S, and whether who does not ask is refused.
            limits: How much the client may send and keep.
        """
        self._limits = limits or Limits()
        super().__init__(self._limits)
        self._tls = tls
        self._encrypted = False
        self._inbox = Inbox(self._limits)
        self._negotiating = False
        self._ended = False
        self._rejected: events.Rejected | None = None

    # --- bytes

    @property
    def wants_bytes(self) -> bool:
        """Whether `receive` takes more; where not, events wait to be taken and answered."""
        return not self.closed and not self._ended and len(self._inbox) < self._capacity

    @property
    def _capacity(self) -> int:
        if self._state in UNSTARTED:
            return HEADER + max(self._limits.startup, self._limits.authentication)
        return HEADER + self._limits.message

    def receive(self, data: bytes) -> None:
        """Take what has arrived. After the end of the connection it is dropped.

        Raises:
            OutOfTurn: `wants_bytes` is False.
        """
        if self.closed or not data:
            return
        if self._negotiating or self._state is State.TLS_HANDSHAKE:
            self._ahead()
            return
        if not self.wants_bytes:
            raise OutOfTurn("more bytes than the connection wants")
        self._inbox.add(data)

    def receive_eof(self) -> None:
        """The client sends no more. What it has sent before is still given out."""
        self._ended = True

    def data_to_send(self) -> bytes:
        """What is queued; it is the caller's now, and is to be sent before anything is received again."""
        self._negotiating = False
        return super().data_to_send()

    def tls_established(self) -> None:
        """The socket speaks TLS from here on."""
        if self._state is not State.TLS_HANDSHAKE or self._outgoing:
            raise OutOfTurn("no TLS is awaited, or its announcement is not sent yet")
        self._state, self._encrypted = State.TLS_STARTUP, True

    def _ahead(self) -> None:
        """Rule 2: bytes that came before encryption was up, wherever they are from."""
        if self._state is State.TLS_HANDSHAKE and self._outgoing:
            # S was not sent yet: then there is no handshake that an error would disturb.
            self._outgoing.clear()
            self._state = State.STARTUP
        self.fatal(_AHEAD)
        self._rejected = events.Rejected(_AHEAD)

    def _close(self) -> None:
        super()._close()
        self._inbox.clear()

    # --- events

    def next_event(self) -> Event | None:
        """The next thing that the client wants; None when more bytes are needed, or when it is over.

        Raises:
            OutOfTurn: the event before is not answered completely.
        """
        if self._rejected is not None:
            rejected, self._rejected = self._rejected, None
            return rejected
        if self.closed:
            return None
        if self._state not in CLIENT:
            raise OutOfTurn(f"the last event is not answered: state {self._state.value!r}")
        try:
            event = self._packet_event() if self._state in STARTUP_STATES else self._message_event()
        except ProtocolError as error:
            # Before READY every error is fatal; after it, those that `_message_event` lets through.
            self.fatal(error.fields)
            return events.Rejected(error.fields.fatal())
        if event is None and self._ended:
            self._close()
            return events.Disconnected()
        return event

    # --- startup

    def _packet_event(self) -> Event | None:
        if self._state is State.STARTUP and self._tls != "none" and (hello := self._inbox.tls()):
            self._state = State.TLS_HANDSHAKE
            return events.StartTLS(hello)
        while (packet := self._inbox.packet()) is not None:
            message = read_packet(packet)
            target = CLIENT[self._state].get(_STARTUP_KINDS[type(message)])
            if target is None:
                raise ProtocolError(
                    SqlState.PROTOCOL_VIOLATION,
                    f"{type(message).__name__} is not possible here: encryption is asked for once, at first",
                )
            if isinstance(message, StartupMessage):
                return self._startup(message, target)
            if isinstance(message, CancelRequest):
                self._close()
                return message
            event = self._encryption(isinstance(message, SSLRequest), target)
            if event is not None:
                return event
        return None

    def _encryption(self, tls: bool, target: State) -> events.StartTLS | None:
        accepted = tls and self._tls != "none"
        if not accepted:
            self._outgoing.append(backend.REFUSED)
            self._state = SSL_REFUSED[self._state] if tls else target
        if len(self._inbox):
            raise ProtocolError(_AHEAD.sqlstate, _AHEAD.message, detail=_AHEAD.detail)
        self._negotiating = True
        if not accepted:
            return None
        self._outgoing.append(backend.SSL_ACCEPTED)
        self._state = target
        return events.StartTLS()

    def _startup(self, message: StartupMessage, target: State) -> events.Startup:
        if self._tls == "required" and not self._encrypted:
            raise ProtocolError(
                SqlState.INVALID_AUTHORIZATION_SPECIFICATION,
                "connections without TLS are not accepted",
                hint="Connect with sslmode=verify-full, or at least sslmode=require.",
            )
        settings = dict(message.parameters)
        if settings.pop("replication", "").lower() not in _NOT_REPLICATION:
            raise ProtocolError(
                SqlState.FEATURE_NOT_SUPPORTED,
                "replication is not supported",
                hint="Connect without the parameter replication.",
            )
        if message.minor or message.extensions:
            self._outgoing.append(backend.negotiate_protocol_version(message.extensions))
        user = settings.pop("user", "")
        if not user:
            raise ProtocolError(
                SqlState.INVALID_AUTHORIZATION_SPECIFICATION,
                "no PostgreSQL user name specified in startup packet",
                hint="Give a user name.",
            )
        self._state = target
        database = settings.pop("database", "") or user
        return events.Startup(user, database, settings, self._encrypted)

    # --- messages

    def _message_event(self) -> Event | None:
        while (found := self._inbox.message(CLIENT[self._state])) is not None:
            kind, content = found
            target = CLIENT[self._state][kind]
            if kind in IGNORED or target is State.SKIPPING:
                continue
            if kind is Frontend.PASSWORD_MESSAGE:
                return self._sasl(content, target)
            if kind is Frontend.TERMINATE:
                self._close()
                return events.Terminate()
            try:
                event = self._event(kind, content)
            except ProtocolError as error:
                return self._reject(kind, error.fields)
            self._state = DESCRIBE_PORTAL if isinstance(event, events.DescribePortal) else target
            return event
        return None

    def _sasl(self, content: bytes, target: State) -> Event:
        if self._state is State.SASL_RESPONSE:
            self._state = target
            return events.SASLResponse(content)
        mechanism, data = read_sasl_initial(content)
        if mechanism not in self._mechanisms:
            raise ProtocolError(
                SqlState.PROTOCOL_VIOLATION,
                "client selected an invalid SASL authentication mechanism",
                hint=f"Here are {', '.join(self._mechanisms)}.",
            )
        self._state = target
        return events.SASLInitialResponse(mechanism, data)

    def _event(self, kind: Frontend, content: bytes) -> Event:
        """The event of a message, with its names looked up.

        Raises:
            ProtocolError: the body is not one of the type, or a name does not stand for what is wanted.
        """
        message = read_message(kind, content)
        if isinstance(message, Query):
            # As PostgreSQL does: a simple query goes through the unnamed statement and portal.
            self.statements.close_statement("")
            self.statements.close_portal("")
            return message
        if isinstance(message, Parse):
            self.statements.check_parse(message)
            self._asked = message
            return message
        if isinstance(message, Bind):
            self._asked = self.statements.bound(message)
            return events.BindPortal(self._asked)
        if isinstance(message, Execute):
            return events.ExecutePortal(self.statements.portal(message.portal), message.max_rows)
        if isinstance(message, Target):
            return self._close_target(message) if kind is Frontend.CLOSE else self._describe(message)
        return events.Flush() if kind is Frontend.FLUSH else events.Sync()

    def _describe(self, target: Target) -> events.DescribePortal | events.DescribeStatement:
        if target.portal:
            return events.DescribePortal(self.statements.portal(target.name))
        self._asked = self.statements.statement(target.name)
        return events.DescribeStatement(self._asked)

    def _close_target(self, target: Target) -> events.Closed:
        close = self.statements.close_portal if target.portal else self.statements.close_statement
        self._outgoing.append(backend.CLOSE_COMPLETE)
        return events.Closed(close(target.name))

    def _reject(self, kind: Frontend, fields: ErrorFields) -> events.Rejected:
        """Answer a client's fault without the owner (rules 10 and 11)."""
        self._outgoing.append(backend.error_response(fields))
        self._fail()
        self._state = AFTER_MALFORMED[kind]
        if self._state is State.READY:
            self._outgoing.append(backend.ready_for_query(self._transaction))
            self._end_implicit_transaction()
        return events.Rejected(fields)
