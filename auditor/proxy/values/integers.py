"""smallint, integer, bigint, oid; and names of relations and types, which are OIDs inside."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import BinaryReader, Codec, TextReader, packed, unpacked
from auditor.proxy.values.errors import BLANKS, SHOWN, invalid_text, out_of_range
from auditor.proxy.values.types import Type

_INTEGER = re.compile(r"[+-]?[0-9]+")


def _text_reader(type_: Type, low: int, high: int) -> TextReader:
    def read(text: str) -> int:
        digits = text.strip(BLANKS)
        if not _INTEGER.fullmatch(digits):
            raise invalid_text(type_.sql, text)
        # Leading zeros aside, one of more digits is none of these types'.
        significant = digits.lstrip("+-").lstrip("0")
        if len(significant) > 20:
            raise out_of_range(type_.sql)
        number = int(significant or "0") * (-1 if digits.startswith("-") else 1)
        if not low <= number <= high:
            raise out_of_range(type_.sql)
        return number

    return read


def _binary_reader(type_: Type, form: str) -> BinaryReader:
    parsed = struct.Struct(form)
    return lambda content: unpacked(parsed, content, type_.sql)[0]


def _signed(type_: Type, form: str) -> Codec:
    bound = 1 << (8 * type_.length - 1)
    return Codec(
        cells.of_text,
        packed(f">i{type_.length}"),
        _text_reader(type_, -bound, bound - 1),
        _binary_reader(type_, form),
    )


_read_oid = _text_reader(types.OID, 0, 2**32 - 1)
_OID = Codec(cells.of_text, packed(">u4"), _read_oid, _binary_reader(types.OID, "!I"))
_NAMED = replace(_OID, read_text=lambda text: _read_oid(text) if text[:SHOWN].isdecimal() else text)
"""What is read is a name, or a number in digits."""
CODECS = {
    types.INT2: _signed(types.INT2, "!h"),
    types.INT4: _signed(types.INT4, "!i"),
    types.INT8: _signed(types.INT8, "!q"),
    types.OID: _OID,
    types.REGCLASS: _NAMED,
    types.REGTYPE: _NAMED,
}
