"""Times as logs write them, with their zones."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_HOURS = {
    "UTC": 0, "GMT": 0, "Z": 0, "UCT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2,
    "EEST": 3, "MSK": 3, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8,
    "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "AWST": 8,
    "NZST": 12, "NZDT": 13, "IST": 5.5, "SGT": 8, "HKT": 8, "BRT": -3, "ART": -3, "SAST": 2,
}  # fmt: skip
"""Abbreviations as PostgreSQL and others write them; where two zones share one, the larger place."""
_WRITTEN = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?))?\s*"
    r"([A-Za-z]{1,6}|[+-]\d\d(?::?\d\d)?(?::?\d\d)?)?"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_YEAR_3000 = 32503680000.0


@lru_cache(maxsize=256)
def zone(name: str) -> timezone | None:
    """A zone by its abbreviation or its distance from UTC; None if it is not known. "" is UTC."""
    if name and name[0] in "+-":
        digits = name[1:].replace(":", "").ljust(6, "0")
        away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
        if away >= timedelta(hours=24):
            return None
        return timezone(-away if name[0] == "-" else away)
    hours = 0 if not name else _HOURS.get(name.upper())
    if hours is None:
        return None
    return UTC if hours == 0 else timezone(timedelta(hours=hours))


def parse_time(text: str) -> tuple[datetime | None, bool]:
    """A time, in UTC where no zone is written.

    Args:
        text: ISO 8601 or much like it, or seconds, milliseconds, microseconds or nanoseconds since 1970.

    Returns:
        The time, None if it is none; and whether its zone was written but not known (it is then UTC).
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _since_1970(float(text)), False
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None, False
    day, clock, name = found.groups()
    place = zone(name or "")
    try:
        # more than six digits after the point are cut by fromisoformat
        moment = datetime.fromisoformat(f"{day} {clock}" if clock else day)
        moment = moment.replace(tzinfo=place or UTC)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None, False
    return moment, place is None


def _since_1970(number: float) -> datetime | None:
    while math.isfinite(number) and abs(number) >= _YEAR_3000:
        number /= 1000
    try:
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return None
