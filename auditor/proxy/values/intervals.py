"""interval: months, days and microseconds, printed as IntervalStyle postgres does.

What is read becomes PostgreSQL's own text of it, for Python has no interval with months.
"""

from __future__ import annotations

import re
import struct

import pyarrow as pa

from auditor.proxy.values import cells, types
from auditor.proxy.values.calendar import MAX_LETTERS, time_text
from auditor.proxy.values.codec import Codec, unpacked
from auditor.proxy.values.errors import BadParameter, invalid_text

_STORED, _BINARY = struct.Struct("<iiq"), struct.Struct("!qii")
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
_UNITS = {
    **dict.fromkeys(("year", "years", "y", "yr", "yrs"), (12, 0, 0)),
    **dict.fromkeys(("mon", "mons", "month", "months"), (1, 0, 0)),
    **dict.fromkeys(("week", "weeks", "w"), (0, 7, 0)),
    **dict.fromkeys(("d", "day", "days"), (0, 1, 0)),
    **dict.fromkeys(("h", "hour", "hours"), (0, 0, _HOUR)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), (0, 0, _MINUTE)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), (0, 0, _SECOND)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), (0, 0, 1_000)),
    **dict.fromkeys(("us", "microsecond", "microseconds"), (0, 0, 1)),
}
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


def _write_text(column: pa.Array) -> pa.Array:
    return cells.of_values(None if each is None else interval_text(*each).encode() for each in _parts(column))


def _write_binary(column: pa.Array) -> pa.Array:
    return cells.of_values(None if each is None else _BINARY.pack(*each[::-1]) for each in _parts(column))


def _parts(column: pa.Array) -> list[tuple[int, int, int] | None]:
    """Months, days and microseconds."""
    if pa.types.is_null(column.type) or not len(column):
        return [None] * len(column)
    raw = memoryview(column.buffers()[1])[column.offset * 16 : (column.offset + len(column)) * 16]
    return [
        (months, days, nanoseconds // 1000) if there else None
        for (months, days, nanoseconds), there in zip(
            _STORED.iter_unpack(raw), column.is_valid().to_pylist(), strict=True
        )
    ]


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


def _read_text(text: str) -> str:
    """`1 year 2 days 04:05:06`, `P1Y2DT4H5M6S`, with `ago` or without."""
    if len(text) > MAX_LETTERS:
        raise invalid_text("interval", text, "22007")
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        return _checked(*_iso(iso))
    words = text.lower().split()
    ago = words[-1:] == ["ago"]
    stated = " ".join(words[:-1] if ago else words)
    pieces: list[tuple[int, int, int]] = []
    place = 0
    while place < len(stated) or not pieces:
        found = _PIECE.match(stated, place)
        if found is None or (found["unit"] and found["unit"] not in _UNITS):
            raise invalid_text("interval", text, "22007")
        place = found.end()
        pieces.append(_piece(found))
    months, days, microseconds = ((-1 if ago else 1) * sum(part) for part in zip(*pieces, strict=True))
    return _checked(months, days, microseconds)


def _piece(found: re.Match[str]) -> tuple[int, int, int]:
    """Months, days and microseconds of `-3 days` or `+04:05`."""
    if found["unit"] is None:
        minutes, seconds = int(found["minutes"]), int(found["seconds"] or 0)
        if minutes > 59 or seconds > 59:
            raise BadParameter("22008", "interval field value out of range")
        microseconds = int(found["hours"]) * _HOUR + minutes * _MINUTE + seconds * _SECOND + _part(found)
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
    part = -_part(found) if (found["second"] or "").startswith("-") else _part(found)
    return year * 12 + month, week * 7 + day, hour * _HOUR + minute * _MINUTE + second * _SECOND + part


def _part(found: re.Match[str]) -> int:
    """The microseconds behind the point."""
    return int((found["part"] or "").ljust(6, "0")[:6])


def _checked(months: int, days: int, microseconds: int) -> str:
    if not (abs(months) < 2**31 and abs(days) < 2**31 and abs(microseconds) < 2**63):
        raise BadParameter("22008", "interval field value out of range")
    return interval_text(months, days, microseconds)


def _read_binary(content: bytes) -> str:
    microseconds, days, months = unpacked(_BINARY, content, "interval")
    return interval_text(months, days, microseconds)


CODECS = {types.INTERVAL: Codec(_write_text, _write_binary, _read_text, _read_binary)}
