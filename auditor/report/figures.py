"""Numbers and times as a report writes them.

Promise: `exact` loses nothing; the others round for the eye, and are used where the exact value stands
elsewhere.
"""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction

_MOST_PLACES = 30
"""Decimals that `exact` writes before it prefers a fraction."""

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


def exact(value: Fraction | int) -> str:
    """A decimal where one is finite, else a fraction.

    >>> exact(Fraction(-5, 4)), exact(Fraction(1, 3)), exact(Fraction(7))
    ('-1.25', '1/3', '7')
    """
    value = Fraction(value)
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > _MOST_PLACES:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def number(value: float) -> str:
    """A figure for the eye: whole numbers in full, others to four significant digits.

    >>> number(45222.0), number(0.123456), number(41.66667), number(-3.0)
    ('45,222', '0.1235', '41.67', '−3')
    """
    if not math.isfinite(value):
        return "unbounded" if not math.isnan(value) else "not known"
    if value == round(value) and abs(value) < 1e15:
        text = f"{round(value):,}"
    elif 1e-4 <= abs(value) < 1e15:
        places = max(0, 3 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.3e}"
    return text.replace("-", "−")


def percent(part: float, whole: float) -> str:
    """A share, never rounded to none or to all.

    >>> percent(1, 3), percent(1, 10_000), percent(9_999, 10_000), percent(0, 7)
    ('33\xa0%', 'under 1\xa0%', 'over 99\xa0%', '0\xa0%')
    """
    if not whole or not part:
        return "0\u00a0%"
    share = 100 * part / whole
    if share < 1:
        return "under 1\u00a0%"
    if 99 < share < 100:
        return "over 99\u00a0%"
    return f"{share:.0f}\u00a0%"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "record"), counted(1200, "record"), counted(2, "query", "queries")
    ('1 record', '1,200 records', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def interval(lower: float, upper: float) -> str:
    """What remains possible.

    >>> interval(41, 41), interval(41, 44.5)
    ('41', '41 to 44.5')
    """
    return number(lower) if lower == upper else f"{number(lower)} to {number(upper)}"


def day(time: datetime) -> str:
    """A date that nobody can misread: "3 March 2025"."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year:04d}"


def moment(time: datetime | None) -> str:
    """A date and time, with its zone if it has one; "" where there is none."""
    if time is None:
        return ""
    zone = f" {time.tzname()}" if time.tzinfo is not None else ""
    return f"{day(time)}, {time:%H:%M:%S}{zone}"


def brief_moment(time: datetime | None) -> str:
    """A date and time to the minute, for a column: "3 Mar 2025, 14:02"; "" where there is none."""
    return "" if time is None else f"{time.day} {_MONTHS[time.month - 1][:3]} {time.year:04d}, {time:%H:%M}"


def one_clock(times: list[datetime | None]) -> bool:
    """Whether these times can be compared: all are there, and all or none have a zone."""
    return bool(times) and None not in times and len({_zoned(time) for time in times}) == 1


def _zoned(time: datetime | None) -> bool:
    return time is not None and time.utcoffset() is not None
