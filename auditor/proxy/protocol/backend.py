"""What the server says, as bytes.

Promises: every message's frame is right whatever its content. A text cannot end early: a NUL in it becomes
U+FFFD, a lone surrogate a question mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from struct import Struct, pack

from auditor.proxy.protocol.sqlstate import ErrorFields
from auditor.proxy.protocol.states import Transaction

_UINT16 = Struct(">H")
_FRAME = Struct(">ci")
_COLUMN = Struct(">IhIhih")

SSL_ACCEPTED, REFUSED = b"S", b"N"
"""The whole answer to SSLRequest; the second to GSSENCRequest too."""

LONGEST_FIELD = 8_000
"""Characters of one field of an ErrorResponse; some clients take a longer message for a lost connection."""


@dataclass(frozen=True)
class Column:
    """One column of a RowDescription."""

    name: str
    type_oid: int
    type_size: int = -1
    """Bytes of a value; -1 where they vary."""
    type_modifier: int = -1
    format: int = 0
    """0 text, 1 binary; always 0 in answer to the Describe of a statement."""
    table_oid: int = 0
    """The table that it is a column of; 0 for an expression."""
    table_column: int = 0
    """Its number there, counted from 1; 0 for an expression."""


def authentication_sasl(mechanisms: Sequence[str]) -> bytes:
    """Asks for one of these, the preferred one first."""
    return _message(b"R", pack(">i", 10), *map(_string, mechanisms), b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    """The mechanism's next message."""
    return _message(b"R", pack(">i", 11), data)


def authentication_sasl_final(data: bytes) -> bytes:
    """The mechanism's last message."""
    return _message(b"R", pack(">i", 12), data)


def authentication_ok() -> bytes:
    """The user is who it says."""
    return _message(b"R", pack(">i", 0))


def negotiate_protocol_version(extensions: Sequence[str]) -> bytes:
    """Version 3.0 is what there is, and these options are unknown."""
    return _message(b"v", pack(">ii", 3 << 16, len(extensions)), *map(_string, extensions))


def parameter_status(name: str, value: str) -> bytes:
    """A setting as it is now."""
    return _message(b"S", _string(name), _string(value))


def backend_key_data(process_id: int, secret_key: int) -> bytes:
    """What a CancelRequest has to say; both are 32 bits."""
    return _message(b"K", pack(">II", process_id, secret_key))


def ready_for_query(status: Transaction) -> bytes:
    """The client's turn."""
    return _message(b"Z", status.value)


def row_description(columns: Sequence[Column]) -> bytes:
    """The columns of the rows to come."""
    parts = [_UINT16.pack(len(columns))]
    for each in columns:
        parts.append(_string(each.name))
        parts.append(
            _COLUMN.pack(
                each.table_oid,
                each.table_column,
                each.type_oid,
                each.type_size,
                each.type_modifier,
                each.format,
            )
        )
    return _message(b"T", *parts)


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return _message(b"t", pack(f">H{len(types)}I", len(types), *types))


def copy_out_response(code: int, columns: int) -> bytes:
    """Rows come as CopyData: 0 as lines of text, 1 in the binary format, all columns alike."""
    return _message(b"H", pack(f">bH{columns}h", code, columns, *[code] * columns))


def command_complete(tag: str) -> bytes:
    """The end of a statement's result: SELECT 3, BEGIN, …"""
    return _message(b"C", _string(tag))


EMPTY_QUERY_RESPONSE = b"I\0\0\0\4"
PARSE_COMPLETE = b"1\0\0\0\4"
BIND_COMPLETE = b"2\0\0\0\4"
CLOSE_COMPLETE = b"3\0\0\0\4"
COPY_DONE = b"c\0\0\0\4"
NO_DATA = b"n\0\0\0\4"
PORTAL_SUSPENDED = b"s\0\0\0\4"


def error_response(fields: ErrorFields) -> bytes:
    """What went wrong."""
    return _message(b"E", *_fields(fields))


def notice_response(fields: ErrorFields) -> bytes:
    """What is to be known beside an answer."""
    return _message(b"N", *_fields(fields))


def _fields(fields: ErrorFields) -> Iterable[bytes]:
    said = {
        "S": fields.severity,
        "V": fields.severity,
        "C": fields.sqlstate,
        "M": fields.message or "(no message)",
        "D": fields.detail,
        "H": fields.hint,
        "P": str(fields.position) if fields.position > 0 else "",
    }
    for letter, text in said.items():
        if text:
            shown = text if len(text) <= LONGEST_FIELD else f"{text[:LONGEST_FIELD]}…"
            yield letter.encode() + _string(shown)
    yield b"\0"


def _message(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return _FRAME.pack(kind, len(body) + 4) + body


def _string(text: str) -> bytes:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace") + b"\0"
