"""Record numbers, signs and exact values as the ledger stores them. No I/O.

Promise: unpacking gives back what was packed, or `Unreadable`. Record numbers are stored as differences in
the narrowest unsigned type, compressed: a million consecutive records take a kilobyte.
"""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

WIDTHS: dict[bytes, np.dtype[np.unsignedinteger]] = {
    b"1": np.dtype("<u1"),
    b"2": np.dtype("<u2"),
    b"4": np.dtype("<u4"),
    b"8": np.dtype("<u8"),
}


class Unreadable(ValueError):
    """Bytes or text that packing never wrote."""


def pack_records(records: NDArray[np.int64]) -> bytes:
    """Ascending record numbers, each once, as bytes.

    Raises:
        ValueError: not ascending, repeated, or negative.
    """
    steps = np.diff(records, prepend=np.int64(0))
    if records.ndim != 1 or (records.size and records[0] < 0) or np.any(steps[1:] <= 0):
        raise ValueError("record numbers must be ascending, each once, from 0")
    widest = int(steps.max(initial=0))
    mark = next(mark for mark, width in WIDTHS.items() if widest <= np.iinfo(width).max)
    return mark + zlib.compress(steps.astype(WIDTHS[mark]).tobytes())


def unpack_records(packed: bytes) -> NDArray[np.int64]:
    """The record numbers that `pack_records` was given."""
    try:
        steps = np.frombuffer(zlib.decompress(packed[1:]), dtype=WIDTHS[packed[:1]])
    except (KeyError, ValueError, zlib.error) as error:
        raise Unreadable("record numbers cannot be read") from error
    return np.cumsum(steps.astype(np.int64), dtype=np.int64)


def pack_signs(signs: NDArray[np.int8] | None) -> bytes | None:
    """Coefficients as bytes, or None for none."""
    return None if signs is None else zlib.compress(np.ascontiguousarray(signs, dtype=np.int8).tobytes())


def unpack_signs(packed: bytes | None) -> NDArray[np.int8] | None:
    """The coefficients that `pack_signs` was given."""
    try:
        return None if packed is None else np.frombuffer(zlib.decompress(packed), dtype=np.int8)
    except zlib.error as error:
        raise Unreadable("coefficients cannot be read") from error


def pack_value(value: Fraction, most: Fraction | None = None) -> str:
    """An exact value as "numerator/denominator"; a range as two of them, a space between."""
    text = f"{value.numerator}/{value.denominator}"
    return text if most is None else f"{text} {pack_value(most)}"


def unpack_value(text: str) -> tuple[Fraction, Fraction | None]:
    """What `pack_value` was given."""
    value, _, most = text.partition(" ")
    return _unpacked(value), _unpacked(most) if most else None


def _unpacked(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    try:
        return Fraction(int(numerator), int(denominator))
    except (ValueError, ZeroDivisionError) as error:
        raise Unreadable(f"value {text!r} cannot be read") from error
