"""Dates, times and intervals as PostgreSQL prints them (DateStyle ISO, IntervalStyle postgres).

Any date that 64 bits of microseconds can hold, and infinities; Python's own dates end at 0001 and 9999.
DuckDB and Arrow count from 1970, PostgreSQL's binary format from 2000.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

DAY = 86_400_000_000
"""Microseconds."""
EPOCH_DAYS = 10_957
"""Days from 1970 to 2000."""
EPOCH = EPOCH_DAYS * DAY
"""Microseconds from 1970 to 2000."""
DATE_INFINITY = 2**31 - 1
"""DuckDB's days of `infinity`; negated, of `-infinity`."""
INFINITY = 2**63 - 1
"""DuckDB's microseconds of `infinity`; negated, of `-infinity`."""
# The calendar repeats itself after 400 years, weekdays included.
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_CYCLE = _CYCLE_DAYS * DAY
_FIRST = -719_162 * DAY
_LAST = 2_932_896 * DAY


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970; the year 0 is 1 BC."""
    days += 719_468  # to 0000-03-01
    cycle, day = divmod(days, _CYCLE_DAYS)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return cycle * _CYCLE_YEARS + year + (month <= 2), month, day


def date_text(days: int) -> str:
    """A date of so many days since 1970."""
    if abs(days) == DATE_INFINITY:
        return "infinity" if days > 0 else "-infinity"
    text, era = _date(days)
    return text + era


def timestamp_text(moment: int) -> str:
    """A timestamp of so many microseconds since 1970."""
    if abs(moment) == INFINITY:
        return "infinity" if moment > 0 else "-infinity"
    days, rest = divmod(moment, DAY)
    text, era = _date(days)
    return f"{text} {time_text(rest)}{era}"


def timestamptz_text(moment: int, zone: tzinfo) -> str:
    """A moment of so many microseconds since 1970 in UTC, as a zone's clocks show it."""
    if abs(moment) == INFINITY:
        return "infinity" if moment > 0 else "-infinity"
    offset = offset_of(moment, zone)
    days, rest = divmod(moment + offset * 1_000_000, DAY)
    text, era = _date(days)
    return f"{text} {time_text(rest)}{offset_text(offset)}{era}"


def offset_of(moment: int, zone: tzinfo) -> int:
    """Seconds that a zone's clocks are ahead of UTC at a moment."""
    if zone is UTC:
        return 0
    start = _FIRST + DAY
    if not start <= moment < _LAST - DAY:
        # A year of Python's that looks the same: before all rules, or after them.
        moment = start + (moment - start) % _CYCLE + (0 if moment < start else 23 * _CYCLE)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
    offset = at.astimezone(zone).utcoffset()
    return 0 if offset is None else offset.days * 86_400 + offset.seconds


def time_text(moment: int) -> str:
    """A time of so many microseconds since midnight; 24:00:00 is one."""
    seconds, fraction = divmod(moment, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:06}".rstrip("0") if fraction else "")


def offset_text(offset: int) -> str:
    """`+02`, `-03:30`, `+00:53:28`."""
    sign, offset = ("-", -offset) if offset < 0 else ("+", offset)
    text = f"{sign}{offset // 3600:02}"
    minutes, seconds = offset // 60 % 60, offset % 60
    return text + (f":{minutes:02}" if minutes or seconds else "") + (f":{seconds:02}" if seconds else "")


def interval_text(months: int, days: int, microseconds: int) -> str:
    """An interval: `1 year 2 mons -3 days +04:05:06.7`."""
    parts = []
    before = False
    year, month = (abs(months) // 12, abs(months) % 12)
    sign = -1 if months < 0 else 1
    for number, unit in ((sign * year, "year"), (sign * month, "mon"), (days, "day")):
        if number:
            plus = "+" if before and number > 0 else ""
            parts.append(f"{plus}{number} {unit}{'' if number == 1 else 's'}")
            before = number < 0
    if microseconds or not parts:
        plus = "-" if microseconds < 0 else "+" if before else ""
        parts.append(plus + time_text(abs(microseconds)))
    return " ".join(parts)


def _date(days: int) -> tuple[str, str]:
    year, month, day = civil(days)
    era = ""
    if year <= 0:
        year, era = 1 - year, " BC"
    return f"{year:04}-{month:02}-{day:02}", era
