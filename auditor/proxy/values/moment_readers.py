"""Dates, times, timestamps and intervals that clients send, as PostgreSQL reads them in ISO form.

They become Python's, which hold the years 1 to 9999: what lies outside, infinities among it, is an error, not
another date. Intervals become PostgreSQL's own text of them, for Python has none with months.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from auditor.proxy.values.calendar import DAY, interval_text
from auditor.proxy.values.errors import BadParameter, invalid_binary, invalid_text
from auditor.proxy.values.types import TIMESTAMP, TIMESTAMPTZ, Type

MAX_LETTERS = 200
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
_EPOCH = datetime(2000, 1, 1)
_HINT = "Dates of the years 1 to 9999 can be given."

_UNITS = {
    "year": (12, 0, 0), "years": (12, 0, 0), "y": (12, 0, 0), "yr": (12, 0, 0), "yrs": (12, 0, 0),
    "mon": (1, 0, 0), "mons": (1, 0, 0), "month": (1, 0, 0), "months": (1, 0, 0),
    "week": (0, 7, 0), "weeks": (0, 7, 0), "w": (0, 7, 0),
    "d": (0, 1, 0), "day": (0, 1, 0), "days": (0, 1, 0),
    "h": (0, 0, 3_600_000_000), "hour": (0, 0, 3_600_000_000), "hours": (0, 0, 3_600_000_000),
    "m": (0, 0, 60_000_000), "min": (0, 0, 60_000_000), "mins": (0, 0, 60_000_000),
    "minute": (0, 0, 60_000_000), "minutes": (0, 0, 60_000_000),
    "s": (0, 0, 1_000_000), "sec": (0, 0, 1_000_000), "secs": (0, 0, 1_000_000),
    "second": (0, 0, 1_000_000), "seconds": (0, 0, 1_000_000),
    "ms": (0, 0, 1_000), "millisecond": (0, 0, 1_000), "milliseconds": (0, 0, 1_000),
    "us": (0, 0, 1), "microsecond": (0, 0, 1), "microseconds": (0, 0, 1),
}  # fmt: skip
"""Months, days and microseconds of a unit."""
_PIECE = re.compile(
    r"\s*(?:(?P<clock_sign>[+-]?)(?P<hours>[0-9]{1,9}):(?P<minutes>[0-9]{2})(?::(?P<seconds>[0-9]{2})"
    r"(?:\.(?P<part>[0-9]{1,9}))?)?(?!\S)"
    r"|(?P<sign>[+-]?)(?P<number>[0-9]{1,12})(?:\.(?P<decimals>[0-9]{1,9}))?\s*(?P<unit>[a-z]+)(?!\S))\s*",
    re.IGNORECASE | re.ASCII,
)
_ISO = re.compile(
    r"P(?:(?P<year>-?[0-9]{1,9})Y)?(?:(?P<month>-?[0-9]{1,9})M)?(?:(?P<week>-?[0-9]{1,9})W)?"
    r"(?:(?P<day>-?[0-9]{1,9})D)?(?:T(?:(?P<hour>-?[0-9]{1,9})H)?(?:(?P<minute>-?[0-9]{1,9})M)?"
    r"(?:(?P<second>-?[0-9]{1,9})(?:\.(?P<part>[0-9]{1,9}))?S)?)?"
)


def date_text(text: str) -> date:
    """`2020-02-29`; a time behind it is left out, as PostgreSQL does."""
    return _moment(text, "date")[0].date()


def timestamp_text(text: str) -> datetime:
    """`2020-02-29 12:30:00.5`; a zone behind it is left out, as PostgreSQL does."""
    return _moment(text, TIMESTAMP.sql)[0]


def timestamptz_text(zone: tzinfo) -> Callable[[str], datetime]:
    """The same with a zone; without one, as the session's clock shows it."""

    def read(text: str) -> datetime:
        moment, offset = _moment(text, TIMESTAMPTZ.sql)
        try:
            return moment.replace(tzinfo=zone if offset is None else timezone(offset)).astimezone(UTC)
        except (OverflowError, ValueError):
            raise _too_far(TIMESTAMPTZ.sql) from None

    return read


def time_text(text: str) -> time:
    """`12:30:00.5`."""
    return _time(text, "time")[0]


def timetz_text(text: str) -> time:
    """`12:30:00.5+02`. The zone is needed: which one it would be hangs on the day."""
    moment, offset = _time(text, "time with time zone")
    if offset is None:
        raise invalid_text("time with time zone", text, "22007")
    return moment.replace(tzinfo=timezone(offset))


def interval_in(text: str) -> str:
    """`1 year 2 days 04:05:06`, `P1Y2DT4H5M6S`, with `ago` or without."""
    months = days = microseconds = 0
    if len(text) > MAX_LETTERS:
        raise invalid_text("interval", text, "22007")
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        return _checked_interval(*_iso(iso))
    words = text.lower().split()
    ago = words[-1:] == ["ago"]
    stated = " ".join(words[:-1] if ago else words)
    place, found = 0, None
    while place < len(stated):
        found = _PIECE.match(stated, place)
        if found is None or (found["unit"] and found["unit"] not in _UNITS):
            raise invalid_text("interval", text, "22007")
        place = found.end()
        added = _piece(found)
        months, days, microseconds = months + added[0], days + added[1], microseconds + added[2]
    if found is None:
        raise invalid_text("interval", text, "22007")
    sign = -1 if ago else 1
    return _checked_interval(sign * months, sign * days, sign * microseconds)


def date_binary(content: bytes) -> date:
    """Days since 2000."""
    (days,) = _unpacked("!i", content, "date")
    try:
        return (_EPOCH + timedelta(days=days)).date()
    except OverflowError:
        raise _too_far("date") from None


def timestamp_binary(type_: Type) -> Callable[[bytes], datetime]:
    """Microseconds since 2000."""
    zone = UTC if type_ is TIMESTAMPTZ else None

    def read(content: bytes) -> datetime:
        (microseconds,) = _unpacked("!q", content, type_.sql)
        try:
            return (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=zone)
        except OverflowError:
            raise _too_far(type_.sql) from None

    return read


def time_binary(content: bytes) -> time:
    """Microseconds since midnight."""
    (microseconds,) = _unpacked("!q", content, "time")
    return _since_midnight(microseconds, "time")


def timetz_binary(content: bytes) -> time:
    """The same, and seconds west of UTC."""
    microseconds, west = _unpacked("!qi", content, "time with time zone")
    if abs(west) >= 86_400:
        raise invalid_binary("time with time zone")
    moment = _since_midnight(microseconds, "time with time zone")
    return moment.replace(tzinfo=timezone(timedelta(seconds=-west)))


def interval_binary(content: bytes) -> str:
    """Microseconds, days and months."""
    microseconds, days, months = _unpacked("!qii", content, "interval")
    return interval_text(months, days, microseconds)


def _unpacked(form: str, content: bytes, name: str) -> tuple[int, ...]:
    if len(content) != struct.calcsize(form):
        raise invalid_binary(name)
    return struct.unpack(form, content)


def _moment(text: str, name: str) -> tuple[datetime, timedelta | None]:
    found = _MOMENT.fullmatch(text) if len(text) <= MAX_LETTERS else None
    if found is None:
        if len(text) <= MAX_LETTERS and _INFINITE.fullmatch(text):
            raise _too_far(name)
        raise invalid_text(name, text, "22007")
    year = int(found["year"])
    if (found["era"] or "").upper() == "BC" or year > 9999:
        raise _too_far(name)
    try:
        day = datetime(year, int(found["month"]), int(found["day"]))
        return day + timedelta(microseconds=_clock(found, text, name)), _offset(found)
    except (ValueError, OverflowError):
        raise BadParameter("22008", f"date/time field value out of range: {text[:40]!a}", _HINT) from None


def _time(text: str, name: str) -> tuple[time, timedelta | None]:
    found = _TIME.fullmatch(text) if len(text) <= MAX_LETTERS else None
    if found is None:
        raise invalid_text(name, text, "22007")
    return _since_midnight(_clock(found, text, name), name), _offset(found)


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


def _since_midnight(microseconds: int, name: str) -> time:
    if not 0 <= microseconds < DAY:
        raise BadParameter(
            "22008", f"value out of range for type {name}", "Times before 24:00:00 can be given."
        )
    return (_EPOCH + timedelta(microseconds=microseconds)).time()


def _piece(found: re.Match[str]) -> tuple[int, int, int]:
    """Months, days and microseconds of `-3 days` or `+04:05`."""
    if found["unit"] is None:
        minutes, seconds = int(found["minutes"]), int(found["seconds"] or 0)
        if minutes > 59 or seconds > 59:
            raise BadParameter("22008", "interval field value out of range")
        seconds += (int(found["hours"]) * 60 + minutes) * 60
        microseconds = seconds * 1_000_000 + int((found["part"] or "").ljust(6, "0")[:6])
        return 0, 0, -microseconds if found["clock_sign"] == "-" else microseconds
    months, days, microseconds = _UNITS[found["unit"]]
    number = int(found["number"])
    decimals = (found["decimals"] or "").rstrip("0")
    if decimals and not microseconds:
        # What half a month is PostgreSQL decides by a rule of its own.
        raise BadParameter("22007", "an interval has a fraction of a day or of something longer")
    fraction = int(decimals or 0) * microseconds // 10 ** len(decimals)
    sign = -1 if found["sign"] == "-" else 1
    return sign * number * months, sign * number * days, sign * (number * microseconds + fraction)


def _iso(found: re.Match[str]) -> tuple[int, int, int]:
    units = ("year", "month", "week", "day", "hour", "minute", "second")
    year, month, week, day, hour, minute, second = (int(found[unit] or 0) for unit in units)
    part = int((found["part"] or "").ljust(6, "0")[:6])
    part = -part if (found["second"] or "").startswith("-") else part
    return year * 12 + month, week * 7 + day, ((hour * 60 + minute) * 60 + second) * 1_000_000 + part


def _checked_interval(months: int, days: int, microseconds: int) -> str:
    if not (abs(months) < 2**31 and abs(days) < 2**31 and abs(microseconds) < 2**63):
        raise BadParameter("22008", "interval field value out of range")
    return interval_text(months, days, microseconds)


def _too_far(name: str) -> BadParameter:
    return BadParameter("22008", f"value out of range for type {name}", _HINT)
