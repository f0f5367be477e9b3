"""Numbers in PostgreSQL's formats: the shortest text of a float, and the binary numeric of base 10,000.

numeric: int16 groups, int16 weight of the first, uint16 sign, int16 digits after the point, the groups
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

POSITIVE, NEGATIVE, NAN = 0x0000, 0x4000, 0xC000
INFINITE, MINUS_INFINITE = 0xD000, 0xF000
MAX_SCALE = 16_383
"""Digits after the point that numeric holds; before it, 131,072."""
MAX_DIGITS = 131_072
_SPECIAL = {NAN: "NaN", INFINITE: "Infinity", MINUS_INFINITE: "-Infinity"}
_FIXED_BELOW = {8: 15, 4: 6}
"""By width in bytes, the power of ten from which on a float is written with an exponent."""
_ALL_WHOLE = {8: 2**53, 4: 2**24}
"""By width, up to where every whole number is a float."""
_HEADER = struct.Struct("!hhHh")
_SMALL = 9_000_000_000_000_000
"""Below it, a thousandfold is an int64 still."""


def shortest(number: float, width: int) -> str:
    """The shortest text that reads back as a float of a width, in Python's form.

    As PostgreSQL's, but not Python's, it lies nearer to the number than to the next one, not halfway. Only
    whole numbers that are not all there are can lie halfway.
    """
    text = repr(number) if width == 8 else str(np.float32(number))
    if not math.isfinite(number) or abs(number) < _ALL_WHOLE[width]:
        return text
    exact, decimal = abs(int(number)), Decimal(text).copy_abs()
    gap = int(math.ulp(number)) if width == 8 else int(np.spacing(np.float32(abs(number))))
    sign, power_of_two = "-" if number < 0 else "", exact & (exact - 1) == 0
    digits = len(decimal.normalize().as_tuple().digits)
    while 2 * abs(int(decimal) - exact) * (2 if power_of_two and decimal < exact else 1) == gap:
        text = f"{sign}{Decimal(exact):.{digits}e}"
        decimal, digits = Decimal(text).copy_abs(), digits + 1
    return text


def float_text(shortest: str, width: int) -> str:
    """A float as PostgreSQL writes it.

    Args:
        shortest: Its shortest text that reads back as the same number, in Python's form.
        width: 4 or 8 bytes.
    """
    if shortest in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[shortest]
    sign = "-" if shortest.startswith("-") else ""
    mantissa, _, power = shortest.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits.strip("0"):
        return sign + "0"
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not -4 <= exponent < _FIXED_BELOW[width]:
        point = "." if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{point}{digits[1:]}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return sign + whole + (f".{fraction}" if fraction else "")


def numeric_binary(unscaled: int, scale: int) -> bytes:
    """The binary form of `unscaled / 10**scale`."""
    sign, text = (NEGATIVE, str(-unscaled)) if unscaled < 0 else (POSITIVE, str(unscaled))
    after = -(-scale // 4)
    text += "0" * (after * 4 - scale)
    text = text.zfill(-(-len(text) // 4) * 4)
    groups = [int(text[place : place + 4]) for place in range(0, len(text), 4)]
    weight = len(groups) - after - 1
    first = next((place for place, group in enumerate(groups) if group), len(groups))
    last = len(groups)
    while last > first and not groups[last - 1]:
        last -= 1
    groups, weight = groups[first:last], weight - first if first < last else 0
    return _HEADER.pack(len(groups), weight, sign, scale) + struct.pack(f"!{len(groups)}H", *groups)


def numerics_binary(unscaled: NDArray[np.int64], scale: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The same for many numbers at once, each below `fits_int64`'s bound.

    Returns:
        The bytes of all, and where each begins, with the end of the last.
    """
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
    whole[:, 2] = np.where(unscaled < 0, NEGATIVE, POSITIVE)
    whole[:, 3] = scale
    whole[:, 4:] = groups
    places = np.arange(5)
    kept = np.ones((len(rest), 9), dtype=bool)
    kept[:, 4:] = (places >= first[:, None]) & (places < last[:, None])
    starts = np.zeros(len(rest) + 1, dtype=np.int64)
    np.cumsum(8 + 2 * (last - first), out=starts[1:])
    return np.ascontiguousarray(whole[kept]).view(np.uint8), starts


def fits_int64(unscaled: NDArray[np.int64], scale: int) -> bool:
    """Whether `numerics_binary` takes these."""
    if scale > 18 or not len(unscaled):
        return scale <= 18
    return bool(unscaled.min() > -_SMALL and unscaled.max() < _SMALL)


def numeric_parsed(content: bytes) -> Decimal:
    """A numeric from its binary form.

    Raises:
        ValueError: if it is none; a header that lies about the length among it.
    """
    if len(content) < _HEADER.size:
        raise ValueError("too short")
    size, weight, sign, scale = _HEADER.unpack_from(content)
    if size < 0 or len(content) != _HEADER.size + 2 * size or not 0 <= scale <= MAX_SCALE:
        raise ValueError("wrong length")
    if sign in _SPECIAL:
        return Decimal(_SPECIAL[sign])
    if sign not in (POSITIVE, NEGATIVE):
        raise ValueError("wrong sign")
    groups = struct.unpack_from(f"!{size}H", content, _HEADER.size)
    if any(group > 9999 for group in groups):
        raise ValueError("wrong digit")
    text = "".join(f"{group:04}" for group in groups)
    power = 4 * (weight + 1 - size)
    if len(text) + max(power, 0) > MAX_DIGITS + MAX_SCALE:
        raise ValueError("too many digits")
    # Digits after those that the scale counts are cut off, as PostgreSQL does.
    surplus = -power - scale
    if surplus > 0:
        text, power = text[:-surplus] if surplus < len(text) else "", -scale
    digits = tuple(map(int, (text + "0" * (power + scale)) or "0"))
    return Decimal((int(sign == NEGATIVE and any(digits)), digits, -scale))


def is_float4(value: float) -> bool:
    """Whether a number is within the range of a real."""
    return math.isnan(value) or math.isinf(value) or abs(value) < 3.4028235677973366e38
