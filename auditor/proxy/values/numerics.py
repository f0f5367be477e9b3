"""numeric: digits as text, and groups of four digits in binary format.

int16 groups, int16 weight of the first, uint16 sign, int16 digits after the point, the groups

DuckDB's integers of 128 bits and more are numeric too. What is longer than any number that can be asked about
is refused before it is converted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import Codec
from auditor.proxy.values.errors import BLANKS, invalid_binary, invalid_text, out_of_range
from auditor.proxy.values.types import Type

MAX_LETTERS = 2_000
"""Of a number's text. PostgreSQL's numeric has more digits, the gate's have 38."""
MAX_SCALE, MAX_DIGITS = 16_383, 131_072
"""Digits that numeric holds after the point, and before it."""
SPECIAL = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_POSITIVE, _NEGATIVE = 0x0000, 0x4000
_SIGNS = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
"""Those of what is no number."""
_HEADER = struct.Struct("!hhHh")
_SMALL = 9_000_000_000_000_000
"""Below it, a thousandfold is an int64 still."""


def _write_text(column: pa.Array) -> pa.Array:
    text = column.cast(pa.large_string())
    powers = pc.match_substring(text, "E")
    if powers.true_count:
        rare = [f"{Decimal(each):f}" for each in text.filter(powers).to_pylist()]
        text = pc.replace_with_mask(text, powers.fill_null(False), pa.array(rare, pa.large_string()))
    return cells.of_text(text)


def _write_binary(column: pa.Array) -> pa.Array:
    if not pa.types.is_decimal(column.type):
        return _each(column.to_pylist(), 0)
    scale = column.type.scale
    low, whole = _low_halves(column)
    if whole and scale <= 18 and bool(((low > -_SMALL) & (low < _SMALL)).all()):
        content, starts = _binary_of_all(low, scale)
        return cells.of_parts(content, starts, column.is_valid())
    return _each(_unscaled(column), scale)


def _each(unscaled: list[int | None], scale: int) -> pa.Array:
    return cells.of_values(None if each is None else binary_of(each, scale) for each in unscaled)


def _low_halves(column: pa.Array) -> tuple[NDArray[np.int64], bool]:
    """The lower 64 bits of decimals, 0 for NULL, and whether they say all."""
    buffer = column.buffers()[1]
    if not len(column) or column.type.bit_width != 128 or buffer is None:
        return np.zeros(len(column), dtype=np.int64), column.type.bit_width == 128
    halves = np.frombuffer(buffer, dtype="<i8")[2 * column.offset : 2 * (column.offset + len(column))]
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    low, high = (np.where(valid, halves[half::2], 0) for half in (0, 1))
    return low, bool((high == low >> 63).all())


def _unscaled(column: pa.Array) -> list[int | None]:
    """Decimals times ten to their scale."""
    width = column.type.bit_width // 8
    raw = column.buffers()[1].to_pybytes() if len(column) else b""
    return [
        int.from_bytes(raw[place * width : (place + 1) * width], "little", signed=True) if there else None
        for place, there in enumerate(column.is_valid().to_pylist(), column.offset)
    ]


def binary_of(unscaled: int, scale: int) -> bytes:
    """The binary form of `unscaled / 10**scale`."""
    after = -(-scale // 4)
    text = str(abs(unscaled)) + "0" * (after * 4 - scale)
    text = text.zfill(-(-len(text) // 4) * 4)
    groups = [int(text[place : place + 4]) for place in range(0, len(text), 4)]
    weight = len(groups) - after - 1
    while groups and not groups[-1]:
        groups.pop()
    first = next((place for place, group in enumerate(groups) if group), 0)
    sign = _NEGATIVE if unscaled < 0 else _POSITIVE
    header = _HEADER.pack(len(groups) - first, weight - first if groups else 0, sign, scale)
    return header + struct.pack(f"!{len(groups) - first}H", *groups[first:])


def _binary_of_all(unscaled: NDArray[np.int64], scale: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The same for many numbers at once: the bytes of all, and where each begins and the last one ends."""
    after = -(-scale // 4)
    rest = np.abs(unscaled) * 10 ** (after * 4 - scale)
    groups = np.empty((len(rest), 5), dtype=np.int64)
    for place in range(4, -1, -1):
        groups[:, place] = rest % 10_000
        rest = rest // 10_000
    filled = groups > 0
    some = filled.any(axis=1)
    first = np.where(some, filled.argmax(axis=1), 5)
    last = np.where(some, 5 - filled[:, ::-1].argmax(axis=1), 5)
    whole = np.empty((len(rest), 9), dtype=">i2")
    whole[:, 0] = last - first
    whole[:, 1] = np.where(some, 4 - after - first, 0)
    whole[:, 2] = np.where(unscaled < 0, _NEGATIVE, _POSITIVE)
    whole[:, 3] = scale
    whole[:, 4:] = groups
    places = np.arange(5)
    kept = np.ones((len(rest), 9), dtype=bool)
    kept[:, 4:] = (places >= first[:, None]) & (places < last[:, None])
    starts = np.zeros(len(rest) + 1, dtype=np.int64)
    np.cumsum(8 + 2 * (last - first), out=starts[1:])
    return np.ascontiguousarray(whole[kept]).view(np.uint8), starts


def digits_of(text: str, type_: Type) -> str:
    """A number's text without blanks.

    Raises:
        BadParameter: 22P02 if it is none, 22003 for one that is too long.
    """
    if len(text) > MAX_LETTERS:
        raise out_of_range(type_.sql)
    digits = text.strip(BLANKS)
    if not _NUMBER.fullmatch(digits) and not SPECIAL.fullmatch(digits):
        raise invalid_text(type_.sql, text)
    return digits


def _read_text(text: str) -> Decimal:
    number = Decimal(digits_of(text, types.NUMERIC))
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and (number.adjusted() >= MAX_DIGITS or -exponent > MAX_SCALE):
        raise out_of_range("numeric")
    return number or number.copy_abs()  # there is no negative zero


def _read_binary(content: bytes) -> Decimal:
    """A numeric from its bytes; its header may lie about its length."""
    if len(content) < _HEADER.size:
        raise invalid_binary("numeric")
    size, weight, sign, scale = _HEADER.unpack_from(content)
    if size < 0 or len(content) != _HEADER.size + 2 * size or not 0 <= scale <= MAX_SCALE:
        raise invalid_binary("numeric")
    if sign in _SIGNS:
        return Decimal(_SIGNS[sign])
    groups = struct.unpack_from(f"!{size}H", content, _HEADER.size)
    text = "".join(f"{group:04}" for group in groups)
    power = 4 * (weight + 1 - size)
    if (
        sign not in (_POSITIVE, _NEGATIVE)
        or any(group > 9999 for group in groups)
        or len(text) + max(power, 0) > MAX_DIGITS + MAX_SCALE
    ):
        raise invalid_binary("numeric")
    # Digits after those that the scale counts are cut off, as PostgreSQL does.
    surplus = -power - scale
    if surplus > 0:
        text, power = text[:-surplus] if surplus < len(text) else "", -scale
    digits = tuple(map(int, (text + "0" * (power + scale)) or "0"))
    return Decimal((int(sign == _NEGATIVE and any(digits)), digits, -scale))


def _big_integers(integers: Callable[[pa.Array], list[int | None]]) -> Codec:
    """The writers of integers that Arrow holds in a way of DuckDB's own."""
    return Codec(
        lambda column: cells.of_values(
            None if each is None else str(each).encode() for each in integers(column)
        ),
        lambda column: _each(integers(column), 0),
    )


def _uhugeints(column: pa.Array) -> list[int | None]:
    # 128 bits without sign come as 128 bits with one.
    return [None if each is None else each % 2**128 for each in _unscaled(column)]


def _bignums(column: pa.Array) -> list[int | None]:
    storage = column.storage if isinstance(column, pa.ExtensionArray) else column
    return [None if each is None else _bignum(each) for each in storage.to_pylist()]


def _bignum(content: bytes) -> int:
    """Three bytes of sign and size, then the number; all inverted if it is negative."""
    if content[0] & 0x80:
        return int.from_bytes(content[3:], "big")
    return -int.from_bytes(bytes(byte ^ 0xFF for byte in content[3:]), "big")


CODECS = {types.NUMERIC: Codec(_write_text, _write_binary, _read_text, _read_binary)}
OF_DUCKDB = {"UHUGEINT": _big_integers(_uhugeints), "BIGNUM": _big_integers(_bignums)}
"""By DuckDB's type, where it decides how Arrow holds the values."""
