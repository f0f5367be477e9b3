"""Columns of numbers, texts, bytes, UUIDs and JSON in PostgreSQL's formats.

An encoder is chosen by PostgreSQL's type and DuckDB's, which says how Arrow holds the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from auditor.proxy.values import cells, types
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.numbers import fits_int64, float_text, numeric_binary, numerics_binary, shortest
from auditor.proxy.values.structures import json_of
from auditor.proxy.values.types import Type

Encoder = Callable[[pa.Array], pa.Array]

_TRUTH_TEXT = pa.array([b"f", b"t"], type=pa.large_binary())
_TRUTH_BINARY = pa.array([b"\0", b"\1"], type=pa.large_binary())
_STRUCTURE = re.compile(r"(STRUCT|MAP|UNION)\(")


def _bool(truth: pa.Array) -> Encoder:
    return lambda array: truth.take(array.cast(pa.int8()))


def _integers(form: str) -> Encoder:
    """In network order."""

    def encode(array: pa.Array) -> pa.Array:
        numbers = array.fill_null(0) if array.null_count else array
        return cells.of_fixed(_numpy(numbers).astype(form), array.is_valid())

    return encode


def _numpy(array: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype=np.int64)
    found: NDArray[np.int64] = array.to_numpy(zero_copy_only=False)
    return found


def _floats(width: int) -> Encoder:
    """Arrow's text is PostgreSQL's within the usual range; the others are written one by one."""
    low, high = 1e-4, 1e9 if width == 8 else 1e6

    def encode(array: pa.Array) -> pa.Array:
        array = array.cast(pa.float32() if width == 4 else pa.float64())
        numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
        size = np.abs(numbers)
        usual = (size == 0) | ((size >= low) & (size < high))
        text = array.cast(pa.large_string())
        if usual.all():
            return cells.of_text(text)
        rare = [float_text(shortest(each, width), width) for each in numbers[~usual].tolist()]
        return cells.of_text(pc.replace_with_mask(text, pa.array(~usual), pa.array(rare, pa.large_string())))

    return encode


def _numeric_text(duckdb: str) -> Encoder:
    if duckdb in ("UHUGEINT", "BIGNUM"):
        return lambda array: cells.of_values(
            None if each is None else str(each).encode() for each in _big_integers(array, duckdb)
        )

    def encode(array: pa.Array) -> pa.Array:
        text = array.cast(pa.large_string())
        powers = pc.match_substring(text, "E")
        if powers.true_count:
            rare = [f"{Decimal(each):f}" for each in text.filter(powers).to_pylist()]
            mask = powers.fill_null(False)
            text = pc.replace_with_mask(text, mask, pa.array(rare, pa.large_string()))
        return cells.of_text(text)

    return encode


def _numeric_binary(duckdb: str) -> Encoder:
    if duckdb in ("UHUGEINT", "BIGNUM"):
        return lambda array: cells.of_values(
            None if each is None else numeric_binary(each, 0) for each in _big_integers(array, duckdb)
        )

    def encode(array: pa.Array) -> pa.Array:
        if not pa.types.is_decimal(array.type):
            return cells.of_values(
                None if each is None else numeric_binary(each, 0) for each in array.to_pylist()
            )
        scale = array.type.scale
        low, small = _low_halves(array)
        if small and fits_int64(low, scale):
            content, starts = numerics_binary(low, scale)
            return cells.of_parts(content, starts, array.is_valid())
        return cells.of_values(
            None if each is None else numeric_binary(each, scale) for each in _unscaled(array)
        )

    return encode


def _low_halves(array: pa.Array) -> tuple[NDArray[np.int64], bool]:
    """The lower 64 bits of decimals, 0 for NULL, and whether they say all."""
    buffer = array.buffers()[1]
    if not len(array) or array.type.bit_width != 128 or buffer is None:
        return np.zeros(len(array), dtype=np.int64), array.type.bit_width == 128
    halves = np.frombuffer(buffer, dtype="<i8")[2 * array.offset : 2 * (array.offset + len(array))]
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    low = np.where(valid, halves[::2], 0)
    high = np.where(valid, halves[1::2], 0)
    return low, bool((high == low >> 63).all())


def _unscaled(array: pa.Array) -> list[int | None]:
    """Decimals times ten to their scale."""
    width = array.type.bit_width // 8
    raw = array.buffers()[1].to_pybytes() if len(array) else b""
    valid = array.is_valid().to_pylist()
    return [
        int.from_bytes(raw[place * width : (place + 1) * width], "little", signed=True) if there else None
        for place, there in enumerate(valid, array.offset)
    ]


def _big_integers(array: pa.Array, duckdb: str) -> list[int | None]:
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if duckdb == "UHUGEINT":
        # 128 bits without sign come as 128 bits with one.
        return [None if each is None else each % 2**128 for each in _unscaled(array)]
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    return [None if each is None else _bignum(each) for each in storage.to_pylist()]


def _bignum(content: bytes) -> int:
    """DuckDB's BIGNUM: three bytes of sign and size, then the number; all inverted if it is negative."""
    if content[0] & 0x80:
        return int.from_bytes(content[3:], "big")
    return -int.from_bytes(bytes(byte ^ 0xFF for byte in content[3:]), "big")


def _text(duckdb: str) -> Encoder:
    if duckdb == "BIT":
        return lambda array: cells.of_values(
            None if each is None else _bits(each) for each in array.to_pylist()
        )

    def encode(array: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        return cells.of_text(array)

    return encode


def _bits(content: bytes) -> bytes:
    """DuckDB's BIT: how many bits are padding, then the bits, padding first."""
    return "".join(f"{byte:08b}" for byte in content[1:])[content[0] :].encode()


def _json(duckdb: str) -> Encoder:
    if not _STRUCTURE.match(duckdb):
        return cells.of_text
    return _structures


def _structures(array: pa.Array) -> pa.Array:
    try:
        values = array.to_pylist()
    except (OverflowError, ValueError):
        raise NotRepresentable(
            "22008", "a date inside of a structure is out of the range that can be sent"
        ) from None
    return cells.of_values(None if each is None else json_of(each, array.type).encode() for each in values)


def _bytea(array: pa.Array) -> pa.Array:
    return cells.of_values(
        None if each is None else b"\\x" + each.hex().encode() for each in array.to_pylist()
    )


def _bytes(array: pa.Array) -> pa.Array:
    return array.cast(pa.large_binary())


def _uuid_binary(array: pa.Array) -> pa.Array:
    return cells.of_values(
        None if each is None else bytes.fromhex(each.replace("-", "")) for each in array.to_pylist()
    )


def _always(encode: Encoder) -> Callable[[str], Encoder]:
    return lambda _: encode


_TEXTS = (types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.CHAR, types.UNKNOWN)
PLAIN_TEXT: Mapping[Type, Callable[[str], Encoder]] = {
    types.BOOL: _always(_bool(_TRUTH_TEXT)),
    **dict.fromkeys((types.INT2, types.INT4, types.INT8, types.OID), _always(cells.of_text)),
    **dict.fromkeys((types.REGCLASS, types.REGTYPE, types.VOID, types.UUID), _always(cells.of_text)),
    types.FLOAT4: _always(_floats(4)),
    types.FLOAT8: _always(_floats(8)),
    types.NUMERIC: _numeric_text,
    **dict.fromkeys(_TEXTS, _text),
    types.BYTEA: _always(_bytea),
    types.JSON: _json,
}
"""By PostgreSQL's type, then DuckDB's."""
PLAIN_BINARY: Mapping[Type, Callable[[str], Encoder]] = {
    types.BOOL: _always(_bool(_TRUTH_BINARY)),
    types.INT2: _always(_integers(">i2")),
    types.INT4: _always(_integers(">i4")),
    types.INT8: _always(_integers(">i8")),
    **dict.fromkeys((types.OID, types.REGCLASS, types.REGTYPE), _always(_integers(">u4"))),
    types.FLOAT4: _always(_integers(">f4")),
    types.FLOAT8: _always(_integers(">f8")),
    types.NUMERIC: _numeric_binary,
    **dict.fromkeys(_TEXTS, _text),
    types.BYTEA: _always(_bytes),
    types.JSON: _json,
    types.UUID: _always(_uuid_binary),
}
"""By PostgreSQL's type, then DuckDB's."""
