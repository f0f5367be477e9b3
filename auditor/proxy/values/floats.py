"""real and double precision: the shortest text that reads back as the number, and IEEE's bytes."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import Codec, packed, unpacked
from auditor.proxy.values.errors import out_of_range
from auditor.proxy.values.numerics import SPECIAL, digits_of
from auditor.proxy.values.types import Type

_FIXED_BELOW = {8: 15, 4: 6}
"""By width in bytes, the power of ten from which on a float is written with an exponent."""
_ALL_WHOLE = {8: 2**53, 4: 2**24}
"""By width, up to where every whole number is a float."""
_FORMS = {8: struct.Struct("!d"), 4: struct.Struct("!f")}
_LARGEST_REAL = 3.4028235677973366e38
"""What is smaller is rounded to a real that is finite."""


def _written(number: float, width: int) -> str:
    """A float as PostgreSQL writes it."""
    decimal = _shortest(number, width)
    if not decimal or -4 <= decimal.adjusted() < _FIXED_BELOW[width]:
        return f"{decimal:f}"
    mantissa, power = f"{decimal:e}".split("e")
    return f"{mantissa}e{int(power):+03}"


def _shortest(number: float, width: int) -> Decimal:
    """The shortest decimal that reads back as a float of a width.

    As PostgreSQL's, but not Python's, it lies nearer to the number than to the next one, not halfway. Only
    whole numbers that are not all there are can lie halfway.
    """
    decimal = Decimal(repr(number) if width == 8 else str(np.float32(number))).normalize()
    if not math.isfinite(number) or abs(number) < _ALL_WHOLE[width]:
        return decimal
    exact, digits = Decimal(number), len(decimal.as_tuple().digits)
    gap = int(math.ulp(number)) if width == 8 else int(np.spacing(np.float32(abs(number))))
    # Below a power of two the next float is half as far.
    power_of_two = int(abs(exact)).bit_count() == 1
    while 2 * abs(decimal - exact) * (2 if power_of_two and abs(decimal) < abs(exact) else 1) == gap:
        decimal, digits = Decimal(f"{exact:.{digits}e}").normalize(), digits + 1
    return decimal


def _codec(type_: Type) -> Codec:
    width, form = type_.length, _FORMS[type_.length]
    low, high = 1e-4, 1e9 if width == 8 else 1e6

    def write_text(column: pa.Array) -> pa.Array:
        # Arrow's text is PostgreSQL's within the usual range; the others are written one by one.
        column = column.cast(pa.float32() if width == 4 else pa.float64())
        numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
        size = np.abs(numbers)
        usual = (size == 0) | ((size >= low) & (size < high))
        text = column.cast(pa.large_string())
        if usual.all():
            return cells.of_text(text)
        rare = [_written(each, width) for each in numbers[~usual].tolist()]
        return cells.of_text(pc.replace_with_mask(text, pa.array(~usual), pa.array(rare, pa.large_string())))

    def read_text(text: str) -> float:
        digits = digits_of(text, type_)
        number = float(digits)
        if SPECIAL.fullmatch(digits):
            return number
        if width == 4:
            # A real is what 0.1 becomes in four bytes: it would not equal a stored one otherwise.
            number = form.unpack(form.pack(number))[0] if abs(number) < _LARGEST_REAL else math.inf
        vanished = number == 0 and any(digit in "123456789" for digit in re.split("[eE]", digits)[0])
        if math.isinf(number) or vanished:
            raise out_of_range(type_.sql)
        return number

    return Codec(
        write_text, packed(f">f{width}"), read_text, lambda content: unpacked(form, content, type_.sql)[0]
    )


CODECS = {each: _codec(each) for each in (types.FLOAT4, types.FLOAT8)}
