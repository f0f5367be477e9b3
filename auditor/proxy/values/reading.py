"""Parameters in: the bytes of Bind, read by their type and format into Python values.

| type | Python |
|---|---|
| bool, integers, oid, floats, numeric | bool, int, int, float, Decimal |
| text and its kin, uuid, json, interval, names of relations | str |
| bytea | bytes |
| date, time, timestamp, timestamptz (in UTC) | date, time, datetime, datetime with zone |
| arrays | list, nested; NULL is None |

Promises that `BadParameter` is all that comes out otherwise, with PostgreSQL's code: 22P02 and 22007 for text
that is none of the type, 22P03 for bytes, 22003 and 22008 out of range, 22021 for text that is not UTF-8,
0A000 for a type that is not spoken; and time and memory in proportion to the bytes.
"""

from __future__ import annotations

import binascii
import re
import uuid
from collections.abc import Callable
from datetime import tzinfo
from functools import lru_cache

from auditor.proxy.values import arrays, moment_readers, number_readers, types
from auditor.proxy.values.errors import SHOWN, BadParameter, invalid_binary, invalid_text
from auditor.proxy.values.types import BY_OID, TEXT, Type
from auditor.sql.time_zones import session_zone

TextReader = Callable[[str], object]
BinaryReader = Callable[[bytes], object]

_HEX = re.compile(r"(?:[0-9a-fA-F]{2}|[ \t\n\r])*")
_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(\\))|[^\\]+", re.DOTALL)
_UUID = re.compile(r"\{?[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}\}?")


def read_parameter(oid: int, code: int, content: bytes | None, zone: str = "UTC") -> object:
    """A parameter's value.

    Args:
        oid: Its type; 0: text.
        code: Its format code.
        content: Its bytes; None: NULL.
        zone: The session's time zone, for timestamps that name none.

    Raises:
        BadParameter: see the module.
        KeyError: no such zone.
    """
    if content is None:
        return None
    type_ = BY_OID.get(oid or TEXT.oid)
    if type_ is None:
        raise BadParameter("0A000", f"parameters of the type with OID {oid} are not understood")
    if code == 1:
        return _binary_reader(type_)(content)
    if code == 0:
        return _text_reader(type_, session_zone(zone).clocks)(decoded(content))
    raise BadParameter("08P01", f"unsupported format code: {code}")


def decoded(content: bytes) -> str:
    """Text in UTF-8.

    Raises:
        BadParameter: 22021.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadParameter("22021", 'invalid byte sequence for encoding "UTF8"')
    return text


@lru_cache(maxsize=512)
def _text_reader(type_: Type, zone: tzinfo) -> TextReader:
    if type_.element:
        element = _text_reader(BY_OID[type_.element], zone)
        return lambda text: arrays.parse_text(text, element)
    if type_ is types.TIMESTAMPTZ:
        return moment_readers.timestamptz_text(zone)
    reader = _TEXT.get(type_)
    if reader is None:
        raise BadParameter("0A000", f"parameters of type {type_.sql} are not understood")
    return reader


@lru_cache(maxsize=512)
def _binary_reader(type_: Type) -> BinaryReader:
    if type_.element:
        element = _binary_reader(BY_OID[type_.element])
        return lambda content: arrays.parse_binary(content, type_.element, element)
    reader = _BINARY.get(type_)
    if reader is None:
        raise BadParameter("0A000", f"parameters of type {type_.sql} are not understood in binary format")
    return reader


def _same(text: str) -> str:
    return text


def _char(text: str) -> str:
    return text[:1]


def _bytea(text: str) -> bytes:
    if text.startswith("\\x"):
        digits = text[2:]
        if not _HEX.fullmatch(digits):
            raise invalid_text("bytea", text)
        return binascii.unhexlify("".join(digits.split()))
    content, place, parts = text.encode(), 0, []
    while place < len(content):
        found = _ESCAPE.match(content, place)
        if found is None:
            raise invalid_text("bytea", text)
        place = found.end()
        octal, backslash = found.groups()
        parts.append(bytes([int(octal, 8)]) if octal else b"\\" if backslash else found[0])
    return b"".join(parts)


def _uuid(text: str) -> str:
    if not _UUID.fullmatch(text) or text.startswith("{") != text.endswith("}"):
        raise invalid_text("uuid", text)
    return str(uuid.UUID(text.strip("{}")))


def _uuid_binary(content: bytes) -> str:
    if len(content) != 16:
        raise invalid_binary("uuid")
    return str(uuid.UUID(bytes=content))


def _jsonb_binary(content: bytes) -> str:
    if content[:1] != b"\1":
        raise BadParameter("22P03", f"unsupported jsonb version number {content[0] if content else 0}")
    return decoded(content[1:])


def _relation(text: str) -> object:
    """A relation's name, or its number in digits."""
    return number_readers.integer_text(types.OID)(text) if text[:SHOWN].isdecimal() else text


_INTEGERS = (types.INT2, types.INT4, types.INT8, types.OID)
_FLOATS = (types.FLOAT4, types.FLOAT8)
_TEXTS = (types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.UNKNOWN, types.JSON)
_TEXT: dict[Type, TextReader] = {
    types.BOOL: number_readers.bool_text,
    **{each: number_readers.integer_text(each) for each in _INTEGERS},
    **{each: number_readers.float_text(each) for each in _FLOATS},
    types.NUMERIC: number_readers.numeric_text(types.NUMERIC),
    **dict.fromkeys((*_TEXTS, types.JSONB), _same),
    types.CHAR: _char,
    types.BYTEA: _bytea,
    types.UUID: _uuid,
    types.REGCLASS: _relation,
    types.REGTYPE: _relation,
    types.DATE: moment_readers.date_text,
    types.TIME: moment_readers.time_text,
    types.TIMETZ: moment_readers.timetz_text,
    types.TIMESTAMP: moment_readers.timestamp_text,
    types.INTERVAL: moment_readers.interval_in,
}
_BINARY: dict[Type, BinaryReader] = {
    types.BOOL: number_readers.bool_binary,
    **{each: number_readers.packed_binary(each) for each in (*_INTEGERS, *_FLOATS)},
    **dict.fromkeys((types.REGCLASS, types.REGTYPE), number_readers.packed_binary(types.OID)),
    types.NUMERIC: number_readers.numeric_binary,
    **dict.fromkeys(_TEXTS, decoded),
    types.CHAR: decoded,
    types.BYTEA: bytes,
    types.UUID: _uuid_binary,
    types.JSONB: _jsonb_binary,
    types.DATE: moment_readers.date_binary,
    types.TIME: moment_readers.time_binary,
    types.TIMETZ: moment_readers.timetz_binary,
    types.TIMESTAMP: moment_readers.timestamp_binary(types.TIMESTAMP),
    types.TIMESTAMPTZ: moment_readers.timestamp_binary(types.TIMESTAMPTZ),
    types.INTERVAL: moment_readers.interval_binary,
}
