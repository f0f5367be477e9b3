"""uuid: 32 hexadecimal digits in groups, or 16 bytes."""

from __future__ import annotations

import re
from uuid import UUID

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import Codec, one_by_one
from auditor.proxy.values.errors import invalid_binary, invalid_text

_UUID = re.compile(r"\{?[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}\}?")


def _read_text(text: str) -> str:
    if not _UUID.fullmatch(text) or text.startswith("{") != text.endswith("}"):
        raise invalid_text("uuid", text)
    return str(UUID(text.strip("{}")))


def _read_binary(content: bytes) -> str:
    if len(content) != 16:
        raise invalid_binary("uuid")
    return str(UUID(bytes=content))


CODECS = {
    types.UUID: Codec(
        cells.of_text,
        one_by_one(lambda text: bytes.fromhex(text.replace("-", ""))),
        _read_text,
        _read_binary,
    )
}
