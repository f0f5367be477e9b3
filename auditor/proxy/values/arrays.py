"""PostgreSQL's arrays: nested lists of encoded elements to text and bytes, and back.

Arrays are rectangular: each list at one depth is as long as the others, and none is NULL. What comes in is
read with one pass over it, whatever its header says about its size.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from auditor.proxy.values import cells
from auditor.proxy.values.codec import Codec, Writer
from auditor.proxy.values.errors import BadParameter, NotRepresentable, invalid_binary
from auditor.proxy.values.types import Type

MAX_DIMENSIONS = 6
"""As in PostgreSQL."""
MAX_ELEMENTS = 100_000
"""Of an array that a client sends."""
_QUOTED = re.compile(rb'[{},"\\ \t\n\r\v\f]')
_ESCAPED = re.compile(rb'(["\\])')
_TOKEN = re.compile(
    r'\s*+(?:(?P<mark>[{},])|"(?P<quoted>(?:[^"\\]|\\.)*+)"'
    r'|(?P<plain>(?:[^{},"\\\s]|\\.)(?:[^{},"\\\s]|\\.|\s++(?![{},]))*+))\s*+',
    re.DOTALL | re.ASCII,
)
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_HEADER = struct.Struct("!iiI")
_DIMENSION = struct.Struct("!ii")
_LENGTH = struct.Struct("!i")

Nested = list[Any]
"""Lists of lists of bytes and None."""


def codec(element: Type, of: Codec) -> Codec:
    """The codec of arrays, from that of their elements."""
    text, binary = of.read_text, of.read_binary
    return Codec(
        of.write_text and _writer(of.write_text, text_of),
        of.write_binary and _writer(of.write_binary, lambda content: binary_of(content, element.oid)),
        text and (lambda content: parse_text(content, text)),
        binary and (lambda content: parse_binary(content, element.oid, binary)),
    )


def _writer(write: Writer, join: Callable[[Nested], bytes]) -> Writer:
    return lambda column: cells.of_values(
        None if each is None else join(each) for each in _nested(column, write)
    )


def _nested(column: pa.Array, write: Writer) -> Nested:
    """Python's lists of encoded elements; those are encoded all at once."""
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    if not pa.types.is_list(column.type):
        return list(write(column).to_pylist())
    inner = _nested(column.values, write)
    starts = column.offsets.to_pylist()
    return [
        inner[starts[place] : starts[place + 1]] if valid else None
        for place, valid in enumerate(column.is_valid().to_pylist())
    ]


def shape_of(content: Nested) -> tuple[int, ...]:
    """Lengths of a rectangular array's dimensions; empty: no elements.

    Raises:
        NotRepresentable: 2202E, if it is not rectangular.
    """
    shape = []
    level: list[Any] = [content]
    while any(isinstance(each, list) for each in level):
        if not all(isinstance(each, list) and len(each) == len(level[0]) for each in level):
            raise NotRepresentable(
                "2202E", "lists of lists of different lengths cannot be sent", "Cast the column to VARCHAR."
            )
        shape.append(len(level[0]))
        level = [item for each in level for item in each]
    return tuple(shape) if level else ()


def text_of(content: Nested) -> bytes:
    """An array as text, from its elements' texts."""
    return _braces(content) if shape_of(content) else b"{}"


def _braces(content: Nested) -> bytes:
    return b"{" + b",".join(_braces(e) if isinstance(e, list) else _element(e) for e in content) + b"}"


def _element(text: bytes | None) -> bytes:
    if text is None:
        return b"NULL"
    if not text or _QUOTED.search(text) or text.upper() == b"NULL":
        return b'"' + _ESCAPED.sub(rb"\\\1", text) + b'"'
    return text


def binary_of(content: Nested, element: int) -> bytes:
    """An array in binary form, from its elements' binary forms.

    Args:
        content: The elements.
        element: OID of their type.
    """
    shape = shape_of(content)
    cells = list(_flat(content)) if shape else []
    parts = [_HEADER.pack(len(shape), int(None in cells), element)]
    parts += [_DIMENSION.pack(length, 1) for length in shape]
    for cell in cells:
        parts.append(_LENGTH.pack(-1 if cell is None else len(cell)))
        parts.append(cell or b"")
    return b"".join(parts)


def _flat(content: Nested) -> Iterator[bytes | None]:
    for each in content:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield each


def parse_text(text: str, read: Callable[[str], object]) -> list[Any]:
    """An array from its text.

    Args:
        text: As PostgreSQL takes it: `{1,NULL,"a b"}`, nested; without bounds in front.
        read: Reads one element.

    Raises:
        BadParameter: 22P02 if it is none, 54000 past the limits; what `read` raises.
    """
    open_lists: list[list[Any]] = []
    place, count, expects_value = 0, 0, True
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise _malformed()
        place = found.end()
        mark = found["mark"]
        if mark == "{" and expects_value and len(open_lists) < MAX_DIMENSIONS:
            inner: list[Any] = []
            if open_lists:
                open_lists[-1].append(inner)
            open_lists.append(inner)
        elif mark == "}" and open_lists and (not expects_value or not open_lists[-1]):
            closed = open_lists.pop()
            expects_value = False
            if not open_lists:
                if place != len(text):
                    raise _malformed()
                return _rectangular(closed)
        elif mark == "," and open_lists and not expects_value:
            expects_value = True
        elif mark is None and open_lists and expects_value:
            count += 1
            if count > MAX_ELEMENTS:
                raise _too_large()
            open_lists[-1].append(_value(found, read))
            expects_value = False
        else:
            raise _malformed()
    raise _malformed()


def _value(found: re.Match[str], read: Callable[[str], object]) -> object:
    if found["quoted"] is not None:
        return read(_BACKSLASH.sub(r"\1", found["quoted"]))
    plain = found["plain"]
    return None if plain.upper() == "NULL" else read(_BACKSLASH.sub(r"\1", plain))


def _rectangular(content: list[Any]) -> list[Any]:
    try:
        return content if shape_of(content) else []
    except NotRepresentable:
        raise _malformed() from None


def parse_binary(content: bytes, element: int, read: Callable[[bytes], object]) -> list[Any]:
    """An array from its binary form.

    Args:
        content: The bytes.
        element: The OID that its elements must have.
        read: Reads one element.

    Raises:
        BadParameter: 22P03 if it is none, 42804 for elements of another type, 54000 past the limits.
    """
    if len(content) < _HEADER.size:
        raise invalid_binary("array")
    dimensions, flags, oid = _HEADER.unpack_from(content)
    if not 0 <= dimensions <= MAX_DIMENSIONS or flags not in (0, 1):
        raise invalid_binary("array")
    if oid != element:
        raise BadParameter("42804", f"binary data has array element type {oid} instead of expected {element}")
    place = _HEADER.size + dimensions * _DIMENSION.size
    if len(content) < place:
        raise invalid_binary("array")
    lengths = [_DIMENSION.unpack_from(content, _HEADER.size + 8 * n)[0] for n in range(dimensions)]
    total = 1 if lengths else 0
    for length in lengths:
        if length < 0:
            raise invalid_binary("array")
        total *= length
    if total > MAX_ELEMENTS:
        raise _too_large()
    if len(content) < place + total * _LENGTH.size:
        raise invalid_binary("array")
    values: list[Any] = []
    for _ in range(total):
        value, place = _next(content, place, read)
        values.append(value)
    if place != len(content):
        raise invalid_binary("array")
    return _folded(values, lengths) if total else []


def _next(content: bytes, place: int, read: Callable[[bytes], object]) -> tuple[object, int]:
    if place + _LENGTH.size > len(content):
        raise invalid_binary("array")
    (length,) = _LENGTH.unpack_from(content, place)
    place += _LENGTH.size
    if length == -1:
        return None, place
    if length < 0 or place + length > len(content):
        raise invalid_binary("array")
    return read(content[place : place + length]), place + length


def _folded(values: list[Any], lengths: list[int]) -> list[Any]:
    for length in reversed(lengths[1:]):
        values = [values[place : place + length] for place in range(0, len(values), length)]
    return values


def _malformed() -> BadParameter:
    return BadParameter("22P02", "malformed array literal")


def _too_large() -> BadParameter:
    return BadParameter("54000", f"arrays of more than {MAX_ELEMENTS} elements are not taken")
