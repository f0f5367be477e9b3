"""Round numbers and round times for axes.

Promise: ticks lie between the ends, are few and evenly meant: 1, 2 or 5 times a power of ten, whole
minutes, hours, days, months or years.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600)
_FRACTIONS = tuple(factor * 10.0**power for power in (-6, -5, -4, -3, -2, -1) for factor in (1, 2, 5))
"""Of a second, for axes shorter than two."""
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600)
_SHORT = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def round_ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers from low to high, at most so many.

    >>> round_ticks(0, 73, 6, whole=True)
    [0.0, 20.0, 40.0, 60.0]
    """
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= most - 1)
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def round_times(low: datetime, high: datetime, most: int) -> list[tuple[datetime, str]]:
    """Round times from low to high, at most so many, each with a short label."""
    span = (high - low).total_seconds()
    for fraction in _FRACTIONS if span < 2 else ():
        if span / fraction <= most - 1:
            return _by_fractions(low, high, fraction)
    for seconds in _SECONDS:
        if span / seconds <= most - 1:
            return _by_seconds(low, high, seconds)
    for months in _MONTHS:
        if span / (months * 30.44 * 86400) <= most - 1:
            return _by_months(low, high, months)
    return [(low, f"{low:%Y}"), (high, f"{high:%Y}")]


def _by_seconds(low: datetime, high: datetime, step: int) -> list[tuple[datetime, str]]:
    midnight = low.replace(hour=0, minute=0, second=0, microsecond=0)
    if step >= 86400:
        label = _day
    elif (high - low).total_seconds() > 86400 or low.date() != high.date():
        label = _day_and_time
    else:
        label = _time_seconds if step < 60 else _time
    count = math.ceil(((low - midnight).total_seconds()) / step)
    found = []
    while (at := midnight + timedelta(seconds=count * step)) <= high:
        found.append((at, label(at)))
        count += 1
    return found


def _by_fractions(low: datetime, high: datetime, step: float) -> list[tuple[datetime, str]]:
    second, each = low.replace(microsecond=0), round(step * 1e6)
    digits = 6 - len(str(each)) + 1
    first = -(-low.microsecond // each)
    last = ((high - second) // timedelta(microseconds=1)) // each
    found = []
    for count in range(first, last + 1):
        at = second + timedelta(microseconds=count * each)
        found.append((at, f"{at:%H:%M:%S}.{at.microsecond:06d}"[: 9 + digits]))
    return found


def _by_months(low: datetime, high: datetime, step: int) -> list[tuple[datetime, str]]:
    label: Callable[[datetime], str] = _month if step < 12 else _year
    number = low.year * 12 + low.month - 1
    number += -number % step
    found = []
    while number // 12 <= high.year:
        at = low.replace(
            year=number // 12, month=number % 12 + 1, day=1, hour=0, minute=0, second=0, microsecond=0
        )
        if low <= at <= high:
            found.append((at, label(at)))
        number += step
    return found


def _day(at: datetime) -> str:
    return f"{at.day} {_SHORT[at.month - 1]} {at.year}"


def _day_and_time(at: datetime) -> str:
    return f"{at.day} {_SHORT[at.month - 1]} {at:%H:%M}"


def _time(at: datetime) -> str:
    return f"{at:%H:%M}"


def _time_seconds(at: datetime) -> str:
    return f"{at:%H:%M:%S}"


def _month(at: datetime) -> str:
    return f"{_SHORT[at.month - 1]} {at.year}"


def _year(at: datetime) -> str:
    return f"{at.year}"
