"""Numbers of a policy: taken exactly as they are written, and written again as people do.

Promise: what is not a number of a sensible size is a `ValueError` whose text begins with "must".
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator

from cae_sql.domain import exact
from cae_sql.errors import InvalidInput

MOST_DIGITS = 40
"""Exponents beyond this are slips of the pen; `1e999999999` as an exact number would fill the memory."""


def read_exact(number: object) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal | Fraction):
        raise ValueError("must be a number")
    long = isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) > MOST_DIGITS
    if long or (isinstance(number, int) and abs(number) > 10**MOST_DIGITS):
        raise ValueError(f"must be a number of at most {MOST_DIGITS} digits")
    try:
        return exact(number)
    except InvalidInput:
        raise ValueError("must be a finite number") from None


def _whole(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError("must be a whole number")
    return number


def _small(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise ValueError("must be a number")
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"must be a number of at most {MOST_DIGITS} digits") from None


Exact = Annotated[Fraction, BeforeValidator(read_exact)]
Whole = Annotated[int, BeforeValidator(_whole)]
Real = Annotated[float, BeforeValidator(_small)]


def written(number: object) -> str:
    """A number as people write it in TOML: 5/2 as 2.5, one third as 1/3."""
    if not isinstance(number, Fraction):
        return str(number)
    if number.denominator == 1:
        return str(number.numerator)
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{decimal:f}" if Fraction(decimal) == number else str(number)
