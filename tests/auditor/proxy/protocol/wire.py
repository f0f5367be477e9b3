"""Both sides' messages between bytes and a readable form, written from the protocol's description alone.

Shares no code with what is tested. A client's message is made by a function of its name; a server's bytes are
read into texts such as `RowDescription([("n", 23, 4, 0)])`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence


def message(kind: str, body: bytes = b"") -> bytes:
    """Any message with a type."""
    return kind.encode("latin-1") + struct.pack("!I", len(body) + 4) + body


def packet(body: bytes) -> bytes:
    """Any message of the startup."""
    return struct.pack("!I", len(body) + 4) + body


def _text(text: str | bytes) -> bytes:
    return (text.encode() if isinstance(text, str) else text) + b"\0"


def _list(form: str, values: Sequence[int]) -> bytes:
    return struct.pack(f"!H{len(values)}{form}", len(values), *values)


def _value(value: bytes | None) -> bytes:
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value


def data_rows(rows: Sequence[Sequence[bytes | None]]) -> bytes:
    """DataRow messages."""
    bodies = (struct.pack("!H", len(row)) + b"".join(map(_value, row)) for row in rows)
    return b"".join(message("D", body) for body in bodies)


def startup(version: str = "3.0", parameters: dict[str, str] | None = None) -> bytes:
    major, minor = map(int, version.split("."))
    pairs = b"".join(_text(name) + _text(value) for name, value in (parameters or {}).items())
    return packet(struct.pack("!HH", major, minor) + pairs + b"\0")


def bind(
    portal: str = "",
    statement: str = "",
    formats: Sequence[int] = (),
    values: Sequence[bytes | None] = (),
    results: Sequence[int] = (),
) -> bytes:
    told = struct.pack("!H", len(values)) + b"".join(map(_value, values))
    return message("B", _text(portal) + _text(statement) + _list("h", formats) + told + _list("h", results))


CLIENT: dict[str, Callable[..., bytes]] = {
    "StartupMessage": startup,
    "SSLRequest": lambda: packet(struct.pack("!I", 80877103)),
    "GSSENCRequest": lambda: packet(struct.pack("!I", 80877104)),
    "CancelRequest": lambda process, key: packet(struct.pack("!III", 80877102, process, key)),
    "SASLInitialResponse": lambda mechanism, data: message("p", _text(mechanism) + _value(data)),
    "SASLResponse": lambda data: message("p", data),
    "Query": lambda sql: message("Q", _text(sql)),
    "Parse": lambda name, sql, types=(): message("P", _text(name) + _text(sql) + _list("I", types)),
    "Bind": bind,
    "Describe": lambda kind, name: message("D", kind.encode() + _text(name)),
    "Execute": lambda name, rows=0: message("E", _text(name) + struct.pack("!i", rows)),
    "Close": lambda kind, name: message("C", kind.encode() + _text(name)),
    "Flush": lambda: message("H"),
    "Sync": lambda: message("S"),
    "Terminate": lambda: message("X"),
    "CopyData": lambda data: message("d", data),
    "CopyDone": lambda: message("c"),
    "CopyFail": lambda reason: message("f", _text(reason)),
    "FunctionCall": lambda oid: message("F", struct.pack("!IHHH", oid, 0, 0, 0)),
    "Message": message,
    "Packet": packet,
    "Bytes": lambda data: data,
}
"""How a client's messages are made; the last three make what is none."""


class Body:
    """The body of a server's message, read from the front; a frame that is wrong fails the test."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from("!" + form, self.content, self.at)
        self.at += struct.calcsize("!" + form)
        assert isinstance(value, int)
        return value

    def bytes(self, length: int) -> bytes:
        assert 0 <= length <= len(self.content) - self.at
        self.at += length
        return self.content[self.at - length : self.at]

    def text(self) -> str:
        end = self.content.index(b"\0", self.at)
        return self.bytes(end + 1 - self.at)[:-1].decode()

    def texts(self) -> Iterator[str]:
        while text := self.text():
            yield text

    def rest(self) -> bytes:
        return self.bytes(len(self.content) - self.at)


def fields(body: Body) -> dict[str, str]:
    """Of an ErrorResponse or NoticeResponse."""
    return {each[0]: each[1:] for each in body.texts()}


def _authentication(body: Body) -> str:
    kind = body.number("I")
    if kind == 10:
        return f"AuthenticationSASL({', '.join(map(repr, body.texts()))})"
    if kind in (11, 12):
        return f"AuthenticationSASL{ {11: 'Continue', 12: 'Final'}[kind] }({body.rest()!r})"
    assert kind == 0
    return "AuthenticationOk()"


def _row_description(body: Body) -> str:
    columns = []
    for _ in range(body.number("H")):
        name = body.text()
        body.number("I"), body.number("h")  # table and column: PostgreSQL's own
        type_oid, size = body.number("I"), body.number("h")
        body.number("i")
        columns.append((name, type_oid, size, body.number("h")))
    return f"RowDescription({columns})"


def _data_row(body: Body) -> str:
    lengths = ((body.number("i")) for _ in range(body.number("H")))
    return f"DataRow({[None if length == -1 else body.bytes(length) for length in lengths]})"


def _fields(name: str) -> Callable[[Body], str]:
    def shown(body: Body) -> str:
        said = fields(body)
        assert said["S"] == said["V"]
        assert said["M"]
        return f"{name}({said['S']!r}, {said['C']!r})"

    return shown


def _negotiate(body: Body) -> str:
    version = body.number("I")
    options = [body.text() for _ in range(body.number("I"))]
    return f"NegotiateProtocolVersion('{version >> 16}.{version & 0xFFFF}', {options})"


SERVER: dict[str, Callable[[Body], str]] = {
    "R": _authentication,
    "v": _negotiate,
    "S": lambda body: f"ParameterStatus({body.text()!r}, {body.text()!r})",
    "K": lambda body: f"BackendKeyData({body.number('I')}, {body.number('I')})",
    "Z": lambda body: f"ReadyForQuery({body.bytes(1).decode()!r})",
    "T": _row_description,
    "t": lambda body: f"ParameterDescription({[body.number('I') for _ in range(body.number('H'))]})",
    "D": _data_row,
    "H": lambda body: (
        f"CopyOutResponse({body.number('b')}, {[body.number('h') for _ in range(body.number('H'))]})"
    ),
    "d": lambda body: f"CopyData({body.bytes(len(body.content) - body.at)!r})",
    "c": lambda body: "CopyDone()",
    "C": lambda body: f"CommandComplete({body.text()!r})",
    "I": lambda body: "EmptyQueryResponse()",
    "1": lambda body: "ParseComplete()",
    "2": lambda body: "BindComplete()",
    "3": lambda body: "CloseComplete()",
    "n": lambda body: "NoData()",
    "s": lambda body: "PortalSuspended()",
    "E": _fields("ErrorResponse"),
    "N": _fields("NoticeResponse"),
}


def bodies(data: bytes) -> Iterator[tuple[str, Body]]:
    """The messages of a server that is past the startup."""
    while data:
        (length,) = struct.unpack_from("!I", data, 1)
        assert 4 <= length <= len(data) - 1, "a frame is wrong"
        yield chr(data[0]), Body(data[5 : length + 1])
        data = data[length + 1 :]


class Reader:
    """Reads what a server says, from its first byte on; as long as nothing else came, N and S are answers."""

    def __init__(self) -> None:
        self.startup = True

    def read(self, data: bytes) -> Iterator[str]:
        while self.startup and data[:1] in (b"N", b"S"):
            yield f"Byte({data[:1].decode()!r})"
            data = data[1:]
        self.startup = self.startup and not data
        for kind, body in bodies(data):
            yield SERVER[kind](body)
            assert body.at == len(body.content), f"something is left in {kind}"
