"""Numbers as people write them, exactly."""

from __future__ import annotations

from fractions import Fraction

from cae_sql.errors import InvalidInput

Number = int | float | Fraction


def exact(number: object, name: str = "value") -> Fraction:
    """The number as people write it: 0.1 is one tenth, not the float nearest to it.

    Raises:
        InvalidInput: not a finite number.
    """
    if isinstance(number, Fraction):
        return number
    if type(number) is int:
        return Fraction(number)
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidInput(f"{name} must be a finite number, not {number!r}") from error
