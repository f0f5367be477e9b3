"""What dates, times and timestamps share: days and clocks, counted, printed and read (DateStyle ISO).

Any date that 64 bits of microseconds can hold is printed, and infinities. What clients send becomes Python's,
which holds the years 1 to 9999: what lies outside, infinities among it, is an error, not another date.
DuckDB and Arrow count from 1970, PostgreSQL's binary format from 2000.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.proxy.values import cells
from auditor.proxy.values.codec import numbers
from auditor.proxy.values.errors import BadParameter, NotRepresentable, invalid_text

DAY = 86_400_000_000
"""Microseconds."""
EPOCH_DAYS = 10_957
"""Days from 1970 to 2000."""
EPOCH = EPOCH_DAYS * DAY
"""Microseconds from 1970 to 2000."""
PYTHONS_EPOCH = datetime(2000, 1, 1)
INFINITY = 2**63 - 1
"""DuckDB's microseconds of `infinity`; negated, of `-infinity`."""
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970."""
MAX_LETTERS = 200
"""Of a date, a time, a timestamp or an interval that a client sends."""

_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]*))?)?"
_ZONE = (
    r"(?P<zone>Z|UTC|GMT|(?P<sign>[+-])(?:(?P<short>[0-9]{2})(?P<short_minute>[0-9]{2})"
    r"|(?P<zone_hour>[0-9]{1,2})(?::(?P<zone_minute>[0-9]{2})(?::(?P<zone_second>[0-9]{2}))?)?))"
)
_MOMENT = re.compile(
    r"\s*(?P<year>[0-9]{4,6})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    # behind a date alone, a sign might belong to it
    rf"(?:(?:T|\s+){_CLOCK})?(?(hour)\s*|(?=[Z\s]|\Z)\s*){_ZONE}?\s*(?P<era>AD|BC)?\s*",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(rf"\s*{_CLOCK}\s*{_ZONE}?\s*", re.IGNORECASE | re.ASCII)
_INFINITE = re.compile(r"\s*[+-]?infinity\s*", re.IGNORECASE | re.ASCII)
_HINT = "Dates of the years 1 to 9999 can be given."
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


def usual(counted: NDArray[np.int64], first: int, last: int) -> bool:
    """Whether a column's numbers are all within the years that Arrow prints as PostgreSQL does."""
    return not len(counted) or bool(first <= counted.min() and counted.max() <= last)


def each_of(counted: NDArray[np.int64], column: pa.Array, text: Callable[[int], str]) -> pa.Array:
    """Cells of a column's numbers, printed one by one."""
    return cells.of_values(
        text(number).encode() if there else None
        for number, there in zip(counted.tolist(), column.is_valid().to_pylist(), strict=True)
    )


def microseconds(column: pa.Array) -> NDArray[np.int64]:
    """A timestamp's or a time's microseconds, whatever unit it has; 0 for NULL."""
    unit = column.type.unit
    counted: NDArray[np.int64] = numbers(column, pa.int64())
    infinite = abs(counted) == INFINITY
    if unit == "ns":
        return np.where(infinite, counted, counted // 1000)
    scale = _PER_UNIT[unit]
    if bool((~infinite & (abs(counted) > INFINITY // scale)).any()):
        raise unsendable("timestamp")
    return np.where(infinite, counted, np.where(infinite, 0, counted) * scale)


def unsendable(name: str) -> NotRepresentable:
    """The error for a value that PostgreSQL's type does not hold."""
    return NotRepresentable("22008", f"a {name} is out of the range that can be sent")


def day_text(days: int) -> tuple[str, str]:
    """A day, of so many days since 1970, and its era."""
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    number = int(year)  # 0 is 1 BC
    return f"{number if number > 0 else 1 - number:04}-{month}-{day}", "" if number > 0 else " BC"


def time_text(moment: int) -> str:
    """A time of so many microseconds since midnight; 24:00:00 is one."""
    seconds, fraction = divmod(moment, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:06}".rstrip("0") if fraction else "")


def read_moment(text: str, name: str) -> tuple[datetime, timedelta | None]:
    """A timestamp, and its zone's offset if it names one.

    Args:
        text: As a client sends it.
        name: Of the type that it should be, for messages.

    Raises:
        BadParameter: 22007 if it is none, 22008 out of range, 22009 for such a zone.
    """
    found = _MOMENT.fullmatch(text) if len(text) <= MAX_LETTERS else None
    if found is None:
        if len(text) <= MAX_LETTERS and _INFINITE.fullmatch(text):
            raise untakable(name)
        raise invalid_text(name, text, "22007")
    year = int(found["year"])
    if (found["era"] or "").upper() == "BC" or year > 9999:
        raise untakable(name)
    try:
        day = datetime(year, int(found["month"]), int(found["day"]))
        return day + timedelta(microseconds=_clock(found, text, name)), _offset(found)
    except (ValueError, OverflowError):
        raise BadParameter("22008", f"date/time field value out of range: {text[:40]!a}", _HINT) from None


def read_time(text: str, name: str) -> tuple[time, timedelta | None]:
    """A time, and its zone's offset if it names one; arguments and errors are those of `read_moment`."""
    found = _TIME.fullmatch(text) if len(text) <= MAX_LETTERS else None
    if found is None:
        raise invalid_text(name, text, "22007")
    return since_midnight(_clock(found, text, name), name), _offset(found)


def since_midnight(microseconds: int, name: str) -> time:
    """A time of day.

    Raises:
        BadParameter: 22008, for what Python's do not hold; 24:00:00 among it.
    """
    if not 0 <= microseconds < DAY:
        raise BadParameter(
            "22008", f"value out of range for type {name}", "Times before 24:00:00 can be given."
        )
    return (PYTHONS_EPOCH + timedelta(microseconds=microseconds)).time()


def untakable(name: str) -> BadParameter:
    """The error for a date that Python's types do not hold."""
    return BadParameter("22008", f"value out of range for type {name}", _HINT)


def _clock(found: re.Match[str], text: str, name: str) -> int:
    """Microseconds since midnight; 24:00 is one, and so is a leap second."""
    if found["hour"] is None:
        return 0
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    microsecond = round(float(f"0.{found['fraction'] or 0}") * 1_000_000)
    total = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    if minute > 59 or second > 60 or total > DAY:
        raise BadParameter("22008", f"date/time field value out of range for type {name}: {text[:40]!a}")
    return total


def _offset(found: re.Match[str]) -> timedelta | None:
    if found["zone"] is None:
        return None
    if found["sign"] is None:
        return timedelta()
    hour = int(found["short"] or found["zone_hour"])
    minute = int(found["short_minute"] or found["zone_minute"] or 0)
    second = int(found["zone_second"] or 0)
    if hour > 15 or minute > 59 or second > 59:
        raise BadParameter("22009", "time zone displacement out of range")
    offset = timedelta(hours=hour, minutes=minute, seconds=second)
    return -offset if found["sign"] == "-" else offset
