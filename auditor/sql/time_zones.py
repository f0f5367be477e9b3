"""Time zones: what a session may name, and what the engine, PostgreSQL and Python call it.

    what is written                  what it means                      rule
    5, -3.5                          so many hours ahead                of a session alone
    Europe/Berlin, EST5EDT           the zone of that name, in any case a name that the engine and Python have
    <+05>-05, UTC+5, +05:30          so many hours *behind*             POSIX, without summer time

Promise: a zone that comes out of here is one whose clocks PostgreSQL, DuckDB and Python set alike, up to the
edition of the time zone database that each has. What only some of them know is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from auditor.sql.instance import empty

_HOURS = re.compile(r"[+-]?\d{1,3}(?:\.\d{1,4})?", re.ASCII)
_POSIX = re.compile(r"(?:<[A-Za-z0-9+:-]{3,}>|[A-Za-z]{3,})?([+-]?)(\d{1,2})(?::(\d{2}))?", re.ASCII)
_ABBREVIATION = re.compile(r"[A-Za-z]{1,5}", re.ASCII)
_ALIKE = frozenset({"UTC", "GMT", "UCT", "Zulu"})
"""Names as short as an abbreviation that mean the same as one."""
_LONGEST = 100
_MOST_HOURS = 23
"""Python has no clocks that are a day ahead."""


@dataclass(frozen=True)
class Zone:
    """A time zone."""

    name: str
    """As PostgreSQL shows it; `session_zone` of it is this zone again."""
    engine: str
    """As DuckDB knows it."""
    clocks: tzinfo
    """As Python knows it."""


UTC_ZONE = Zone("UTC", "UTC", UTC)
"""The zone of who says nothing."""


@lru_cache(maxsize=256)
def session_zone(text: str) -> Zone:
    """The zone of a session, as SET TIME ZONE, PGTZ and a client's startup message give it.

    Raises:
        KeyError: there is none, or the engine does not have it.
    """
    if len(text) > _LONGEST:
        raise KeyError(text)
    if _HOURS.fullmatch(text):
        return _ahead(text)
    return _named(text) or _posix(text)


def written_zone(text: str) -> Zone:
    """The zone of PostgreSQL's `AT TIME ZONE text`, where a number alone is hours behind.

    Raises:
        KeyError: there is none; or it is an abbreviation, which PostgreSQL reads by a list of its own: there
            PST never has summer time, and IST is Israel's.
    """
    if len(text) > _LONGEST:
        raise KeyError(text)
    found = _named(text)
    if found is not None and (found.name in _ALIKE or not _ABBREVIATION.fullmatch(text)):
        return found
    if text.upper() == "Z":
        return UTC_ZONE
    return _posix(text)


def _ahead(text: str) -> Zone:
    minutes = Fraction(text) * 60
    if minutes.denominator != 1 or abs(minutes) >= (_MOST_HOURS + 1) * 60:
        raise KeyError(text)
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(int(minutes)), 60)
    written = f"{hours:02}" + (f":{rest:02}" if rest else "")
    return _fixed(f"<{sign}{written}>{'+' if sign == '-' else '-'}{written}", int(minutes))


def _named(text: str) -> Zone | None:
    name = _names().get(text.lower())
    return None if name is None else UTC_ZONE if name == "UTC" else Zone(name, name, ZoneInfo(name))


def _posix(text: str) -> Zone:
    found = _POSIX.fullmatch(text)
    if found is None or int(found[2]) > _MOST_HOURS or int(found[3] or 0) > 59:
        raise KeyError(text)
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return _fixed(text, minutes if found[1] == "-" else -minutes)


def _fixed(name: str, minutes: int) -> Zone:
    """A zone whose clocks are so many minutes ahead all year."""
    hours, rest = divmod(abs(minutes), 60)
    engine = f"GMT{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}" if minutes else "UTC"
    return Zone(name, engine, timezone(timedelta(minutes=minutes)) if minutes else UTC)


@cache
def _names() -> dict[str, str]:
    """Names that Python and the engine both have, by themselves in lower case."""
    engine = {str(name) for (name,) in empty().rows("SELECT name FROM pg_timezone_names()")}
    return {name.lower(): name for name in available_timezones() & engine}
