"""timestamp and timestamptz: a day and a clock as text, microseconds since 2000 in binary format.

The text of timestamptz is that of the session's clocks; what is read from it is in UTC.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.proxy.values import calendar, cells, types
from auditor.proxy.values.calendar import DAY, EPOCH, FIRST_DAY, INFINITY, LAST_DAY, PYTHONS_EPOCH
from auditor.proxy.values.codec import Codec, unpacked
from auditor.proxy.values.types import Type

_BINARY = struct.Struct("!q")
_FIRST, _END = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY
_CYCLE = 146_097 * DAY
"""400 years, after which the calendar repeats itself, weekdays included."""


def _write_text(column: pa.Array, zone: tzinfo | None = None) -> pa.Array:
    moments = calendar.microseconds(column)
    if zone not in (None, UTC) or not calendar.usual(moments, _FIRST, _END - 1):
        return calendar.each_of(moments, column, lambda moment: _text(moment, zone))
    whole = pa.array(moments, type=pa.int64(), mask=column.is_null().to_numpy(zero_copy_only=False))
    text = whole.view(pa.timestamp("us")).cast(pa.large_string())
    # Zeros at the end of a fraction are left out.
    text = pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".") if len(text) else text
    ending = pa.scalar("" if zone is None else "+00", pa.large_string())
    return cells.of_text(pc.binary_join_element_wise(text, ending, pa.scalar("", pa.large_string())))


def _text(moment: int, zone: tzinfo | None) -> str:
    if abs(moment) == INFINITY:
        return "infinity" if moment > 0 else "-infinity"
    offset = timedelta() if zone is None else _offset(moment, zone)
    days, rest = divmod(moment + offset // timedelta(microseconds=1), DAY)
    text, era = calendar.day_text(days)
    # `+02`, `-03:30`, `+00:53:28`
    shown = str(timezone(offset)).removeprefix("UTC").removesuffix(":00") or "+00"
    return f"{text} {calendar.time_text(rest)}{'' if zone is None else shown}{era}"


def _offset(moment: int, zone: tzinfo) -> timedelta:
    """How far a zone's clocks are ahead of UTC at a moment."""
    start = _FIRST + DAY
    if not start <= moment < _END - 2 * DAY:
        # A year of Python's that looks the same: before all rules, or after them.
        moment = start + (moment - start) % _CYCLE + (0 if moment < start else 23 * _CYCLE)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
    return at.astimezone(zone).utcoffset() or timedelta()


def _write_binary(column: pa.Array) -> pa.Array:
    moments = calendar.microseconds(column)
    infinite = abs(moments) == INFINITY
    if bool((~infinite & (moments < EPOCH - INFINITY)).any()):
        raise calendar.unsendable("timestamp")
    shifted = np.where(infinite, 0, moments) - EPOCH
    shifted = np.where(infinite, np.where(moments > 0, 2**63 - 1, -(2**63)), shifted)
    return cells.of_fixed(shifted.astype(">i8"), column.is_valid())


def _read_text(text: str) -> datetime:
    """`2020-02-29 12:30:00.5`; a zone behind it is left out, as PostgreSQL does."""
    return calendar.read_moment(text, types.TIMESTAMP.sql)[0]


def _read_zoned(text: str, zone: tzinfo) -> datetime:
    """The same with a zone; without one, as a zone's clocks show it."""
    moment, offset = calendar.read_moment(text, types.TIMESTAMPTZ.sql)
    try:
        return moment.replace(tzinfo=zone if offset is None else timezone(offset)).astimezone(UTC)
    except (OverflowError, ValueError):
        raise calendar.untakable(types.TIMESTAMPTZ.sql) from None


def _read_binary(content: bytes, type_: Type) -> datetime:
    (microseconds,) = unpacked(_BINARY, content, type_.sql)
    try:
        return PYTHONS_EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        raise calendar.untakable(type_.sql) from None


def of_zone(zone: tzinfo) -> Codec:
    """timestamptz, as a zone's clocks show it."""
    return Codec(
        lambda column: _write_text(column, zone),
        _write_binary,
        lambda text: _read_zoned(text, zone),
        lambda content: _read_binary(content, types.TIMESTAMPTZ).replace(tzinfo=UTC),
    )


CODECS = {
    types.TIMESTAMP: Codec(
        _write_text, _write_binary, _read_text, lambda content: _read_binary(content, types.TIMESTAMP)
    ),
    types.TIMESTAMPTZ: of_zone(UTC),
}
