"""bytea: `\\x` and hexadecimal digits as text, the bytes themselves in binary format."""

from __future__ import annotations

import binascii
import re

import pyarrow as pa

from auditor.proxy.values import types
from auditor.proxy.values.codec import Codec, one_by_one
from auditor.proxy.values.errors import invalid_text

_HEX = re.compile(r"(?:[0-9a-fA-F]{2}|[ \t\n\r])*")
_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(\\))|[^\\]+", re.DOTALL)


def _read_text(text: str) -> bytes:
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


CODECS = {
    types.BYTEA: Codec(
        one_by_one(lambda content: b"\\x" + content.hex().encode()),
        lambda column: column.cast(pa.large_binary()),
        _read_text,
        bytes,
    )
}
