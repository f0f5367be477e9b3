"""text and its kin, which are their letters in UTF-8; DuckDB's BIT and ENUM are texts too."""

from __future__ import annotations

import pyarrow as pa

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import Codec, one_by_one
from auditor.proxy.values.errors import BadParameter


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


def _write(column: pa.Array) -> pa.Array:
    return cells.of_text(column.dictionary_decode() if pa.types.is_dictionary(column.type) else column)


def _bits(content: bytes) -> bytes:
    """How many bits are padding, then the bits, padding first."""
    return "".join(f"{byte:08b}" for byte in content[1:])[content[0] :].encode()


_write_bits = one_by_one(_bits)
CODECS = {
    **dict.fromkeys(
        (types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.UNKNOWN),
        Codec(_write, _write, str, decoded),
    ),
    types.CHAR: Codec(_write, _write, lambda text: text[:1], decoded),
    types.VOID: Codec(cells.of_text),
}
OF_DUCKDB = {"BIT": Codec(_write_bits, _write_bits)}
"""By DuckDB's type, where it decides how Arrow holds the values."""
