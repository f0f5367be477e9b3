"""Numbers and truth values that clients send, read as PostgreSQL reads them.

What is longer than any number that can be asked about is refused before it is converted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from decimal import Decimal

from auditor.proxy.values.errors import invalid_binary, invalid_text, out_of_range
from auditor.proxy.values.numbers import MAX_DIGITS, MAX_SCALE, is_float4, numeric_parsed
from auditor.proxy.values.types import Type

MAX_LETTERS = 2_000
"""Of a number's text. PostgreSQL's numeric has more digits, the gate's have 38."""
_SPACE = " \t\n\r\v\f"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_SPECIAL = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)
_TRUE = frozenset({"1", "t", "tr", "tru", "true", "y", "ye", "yes", "on"})
_FALSE = frozenset({"0", "f", "fa", "fal", "fals", "false", "n", "no", "of", "off"})
_BOUNDS = {"int2": (-(2**15), 2**15 - 1), "int4": (-(2**31), 2**31 - 1), "int8": (-(2**63), 2**63 - 1),
           "oid": (0, 2**32 - 1)}  # fmt: skip
_REAL = struct.Struct("!f")
_PACKED = {
    "int2": struct.Struct("!h"), "int4": struct.Struct("!i"), "int8": struct.Struct("!q"),
    "oid": struct.Struct("!I"), "float4": struct.Struct("!f"), "float8": struct.Struct("!d"),
}  # fmt: skip


def bool_text(text: str) -> bool:
    """`t`, `off`, `yes`, `1`, and their beginnings."""
    word = text.strip(_SPACE).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise invalid_text("boolean", text)


def bool_binary(content: bytes) -> bool:
    """One byte."""
    if len(content) != 1:
        raise invalid_binary("boolean")
    return content != b"\0"


def integer_text(type_: Type) -> Callable[[str], int]:
    """A whole number of a type, in digits."""
    low, high = _BOUNDS[type_.name]

    def read(text: str) -> int:
        digits = text.strip(_SPACE)
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


def packed_binary(type_: Type) -> Callable[[bytes], int | float]:
    """A number of fixed width, in network order."""
    form = _PACKED[type_.name]

    def read(content: bytes) -> int | float:
        if len(content) != form.size:
            raise invalid_binary(type_.sql)
        number: int | float = form.unpack(content)[0]
        return number

    return read


def float_text(type_: Type) -> Callable[[str], float]:
    """A float in digits, `NaN` or `Infinity`."""

    def read(text: str) -> float:
        digits = _number(text, type_)
        number = float(digits)
        if _SPECIAL.fullmatch(digits):
            return number
        if type_.length == 4:
            # A real is what 0.1 becomes in four bytes: it would not equal a stored one otherwise.
            number = float(_REAL.unpack(_REAL.pack(number))[0]) if is_float4(number) else float("inf")
        vanished = number == 0 and any(digit in "123456789" for digit in re.split("[eE]", digits)[0])
        if abs(number) == float("inf") or vanished:
            raise out_of_range(type_.sql)
        return number

    return read


def numeric_text(type_: Type) -> Callable[[str], Decimal]:
    """A numeric in digits, `NaN` or `Infinity`."""

    def read(text: str) -> Decimal:
        number = Decimal(_number(text, type_))
        if number.is_finite():
            exponent = number.as_tuple().exponent
            if number.adjusted() >= MAX_DIGITS or (isinstance(exponent, int) and -exponent > MAX_SCALE):
                raise out_of_range(type_.sql)
        return number or number.copy_abs()  # there is no negative zero

    return read


def numeric_binary(content: bytes) -> Decimal:
    """A numeric in groups of four digits."""
    try:
        return numeric_parsed(content)
    except ValueError:
        raise invalid_binary("numeric") from None


def _number(text: str, type_: Type) -> str:
    if len(text) > MAX_LETTERS:
        raise out_of_range(type_.sql)
    digits = text.strip(_SPACE)
    if not _NUMBER.fullmatch(digits) and not _SPECIAL.fullmatch(digits):
        raise invalid_text(type_.sql, text)
    return digits
