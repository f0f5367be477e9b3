"""What a client says, as values: each message's body is read whole or not at all.

Promises: a count is believed only as far as the body reaches; a text ends in its terminator and is UTF-8; no
byte is left over. What breaks that is a `ProtocolError` with the SQLSTATE that PostgreSQL gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.protocol.states import Frontend

_BYTE, _INT16, _INT32 = Struct(">B"), Struct(">h"), Struct(">i")
_UINT16, _UINT32 = Struct(">H"), Struct(">I")

PROTOCOL_MAJOR, PROTOCOL_MINOR = 3, 0
_CANCEL, _SSL, _GSSENC = 80877102, 80877103, 80877104
_EXTENSION = "_pq_."


@dataclass(frozen=True)
class SSLRequest:
    """The client would like TLS."""


@dataclass(frozen=True)
class GSSENCRequest:
    """The client would like GSSAPI encryption, which there is not."""


@dataclass(frozen=True)
class CancelRequest:
    """A connection of its own, whose only message asks to stop what another one runs."""

    process_id: int
    """As BackendKeyData told it."""
    secret_key: int = field(repr=False)
    """As BackendKeyData told it; compare in constant time."""


@dataclass(frozen=True)
class StartupMessage:
    """Who connects, to what, with which settings."""

    minor: int
    """Of protocol version 3."""
    parameters: Mapping[str, str]
    """As sent, `user` and `database` included."""
    extensions: tuple[str, ...] = ()
    """Names of protocol options (`_pq_.…`), none of which is known here."""


@dataclass(frozen=True)
class Query:
    """A text of any number of statements."""

    query: str


@dataclass(frozen=True)
class Parse:
    """A statement to prepare."""

    name: str
    """Empty for the unnamed one."""
    query: str
    parameter_types: tuple[int, ...]
    """OIDs, as far as the client gives them; 0 leaves one open."""


@dataclass(frozen=True)
class Bind:
    """Values for a prepared statement."""

    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    """As sent: none, one for all, or one for each."""
    values: tuple[bytes | None, ...] = field(repr=False)
    result_formats: tuple[int, ...] = ()
    """As sent: none, one for all, or one for each column."""


@dataclass(frozen=True)
class Target:
    """What a Describe or Close names."""

    portal: bool
    """A portal; otherwise a statement."""
    name: str


@dataclass(frozen=True)
class Execute:
    """A portal to run."""

    portal: str
    max_rows: int
    """0 for all."""


def read_packet(packet: bytes) -> SSLRequest | GSSENCRequest | CancelRequest | StartupMessage:
    """A packet of the startup, by the code or version that it begins with.

    Raises:
        ProtocolError: it is none; here every error ends the connection.
    """
    body = _Body(packet)
    code = body.integer(_UINT32)
    message: SSLRequest | GSSENCRequest | CancelRequest | StartupMessage
    if code == _SSL:
        message = SSLRequest()
    elif code == _GSSENC:
        message = GSSENCRequest()
    elif code == _CANCEL:
        message = CancelRequest(body.integer(_UINT32), body.integer(_UINT32))
    else:
        message = _startup(code, body)
    body.end()
    return message


def _startup(version: int, body: _Body) -> StartupMessage:
    major, minor = version >> 16, version & 0xFFFF
    if major != PROTOCOL_MAJOR:
        raise ProtocolError(
            SqlState.FEATURE_NOT_SUPPORTED,
            f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0",
        )
    parameters: dict[str, str] = {}
    while name := body.string():
        if name in parameters:
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, f'startup parameter "{name:.63}" is given twice')
        parameters[name] = body.string()
    extensions = tuple(name for name in parameters if name.startswith(_EXTENSION))
    settings = {name: value for name, value in parameters.items() if name not in extensions}
    return StartupMessage(minor, settings, extensions)


def read_sasl_initial(content: bytes) -> tuple[str, bytes | None]:
    """A SASLInitialResponse: the mechanism, and the client's first message if there is one.

    Raises:
        ProtocolError: it is none; here every error ends the connection.
    """
    body = _Body(content)
    mechanism, data = body.string(), body.value()
    body.end()
    return mechanism, data


def read_message(kind: Frontend, content: bytes) -> Query | Parse | Bind | Target | Execute | None:
    """The body of a message; None for one that has no more than its type.

    Raises:
        ProtocolError: the body is not one of that type.
    """
    body = _Body(content)
    message = _READERS[kind](body)
    body.end()
    return message


class _Body:
    """The body of one message, read from the front."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def integer(self, form: Struct) -> int:
        end = self._at + form.size
        if end > len(self._content):
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, "insufficient data left in message")
        value: int = form.unpack_from(self._content, self._at)[0]
        self._at = end
        return value

    def integers(self, form: Struct) -> tuple[int, ...]:
        """A count and as many integers."""
        count = self.integer(_UINT16)
        end = self._at + count * form.size
        if end > len(self._content):
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, "insufficient data left in message")
        found = tuple(value for (value,) in form.iter_unpack(self._content[self._at : end]))
        self._at = end
        return found

    def string(self) -> str:
        end = self._content.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, "invalid string in message")
        text = decoded(self._content[self._at : end])
        self._at = end + 1
        return text

    def value(self) -> bytes | None:
        """A length and as many bytes; None for a length of -1."""
        length = self.integer(_INT32)
        if length == -1:
            return None
        end = self._at + length
        if length < 0 or end > len(self._content):
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, "insufficient data left in message")
        content = self._content[self._at : end]
        self._at = end
        return content

    def end(self) -> None:
        if self._at != len(self._content):
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, "invalid message format")


def decoded(content: bytes) -> str:
    """Text that a client sent.

    Raises:
        ProtocolError: it is not UTF-8, or has a NUL.
    """
    wrong = content.find(b"\0")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        wrong = error.start if wrong < 0 else min(wrong, error.start)
    if wrong >= 0:
        raise ProtocolError(
            SqlState.CHARACTER_NOT_IN_REPERTOIRE,
            f'invalid byte sequence for encoding "UTF8": 0x{content[wrong]:02x}',
            hint="Send texts in UTF-8: client_encoding = UTF8.",
        )
    return text


def _parse(body: _Body) -> Parse:
    return Parse(body.string(), body.string(), body.integers(_UINT32))


def _bind(body: _Body) -> Bind:
    portal, statement = body.string(), body.string()
    parameter_formats = body.integers(_INT16)
    # Each value takes four bytes at least: the count cannot ask for more than the body has.
    values = tuple(body.value() for _ in range(body.integer(_UINT16)))
    return Bind(portal, statement, parameter_formats, values, body.integers(_INT16))


def _target(body: _Body) -> Target:
    kind = body.integer(_BYTE)
    name = body.string()
    if kind not in b"SP":
        raise ProtocolError(SqlState.PROTOCOL_VIOLATION, f"invalid DESCRIBE or CLOSE message subtype {kind}")
    return Target(kind == ord("P"), name)


def _execute(body: _Body) -> Execute:
    return Execute(body.string(), max(0, body.integer(_INT32)))


def _function_call(_: _Body) -> None:
    raise ProtocolError(
        SqlState.FEATURE_NOT_SUPPORTED,
        "function calls of the fast path are not supported",
        hint="Ask with a SELECT.",
    )


def _nothing(_: _Body) -> None:
    return None


_READERS: Mapping[Frontend, Callable[[_Body], Query | Parse | Bind | Target | Execute | None]] = {
    Frontend.QUERY: lambda body: Query(body.string()),
    Frontend.PARSE: _parse,
    Frontend.BIND: _bind,
    Frontend.DESCRIBE: _target,
    Frontend.CLOSE: _target,
    Frontend.EXECUTE: _execute,
    Frontend.FLUSH: _nothing,
    Frontend.SYNC: _nothing,
    Frontend.TERMINATE: _nothing,
    Frontend.FUNCTION_CALL: _function_call,
}
