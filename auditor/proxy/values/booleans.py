"""boolean."""

from __future__ import annotations

import pyarrow as pa

from auditor.proxy.values import types
from auditor.proxy.values.codec import Codec, Writer
from auditor.proxy.values.errors import BLANKS, invalid_binary, invalid_text

_TRUE = frozenset({"1", "t", "tr", "tru", "true", "y", "ye", "yes", "on"})
_FALSE = frozenset({"0", "f", "fa", "fal", "fals", "false", "n", "no", "of", "off"})


def _writer(no: bytes, yes: bytes) -> Writer:
    truth = pa.array([no, yes], type=pa.large_binary())
    return lambda column: truth.take(column.cast(pa.int8()))


def _read_text(text: str) -> bool:
    word = text.strip(BLANKS).lower()
    if word not in _TRUE | _FALSE:
        raise invalid_text("boolean", text)
    return word in _TRUE


def _read_binary(content: bytes) -> bool:
    if len(content) != 1:
        raise invalid_binary("boolean")
    return content != b"\0"


CODECS = {types.BOOL: Codec(_writer(b"f", b"t"), _writer(b"\0", b"\1"), _read_text, _read_binary)}
