"""Columns of dates, times, timestamps and intervals in PostgreSQL's formats."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from auditor.proxy.values import calendar, cells, types
from auditor.proxy.values.calendar import DATE_INFINITY, DAY, EPOCH, EPOCH_DAYS, INFINITY
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.types import Type

Encoder = Callable[[pa.Array], pa.Array]

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970."""
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_INTERVAL = struct.Struct("<iiq")
_INTERVAL_BINARY = struct.Struct("!qii")


def _days(array: pa.Array) -> NDArray[np.int64]:
    return _numbers(array, pa.int32())


def _microseconds(array: pa.Array) -> NDArray[np.int64]:
    """A timestamp's or a time's microseconds, whatever unit it has."""
    unit = array.type.unit
    numbers = _numbers(array, pa.int64())
    if unit == "ns":
        return np.where(abs(numbers) == INFINITY, numbers, numbers // 1000)
    if unit == "us":
        return numbers
    scale = _PER_UNIT[unit]
    infinite = abs(numbers) == INFINITY
    if bool((~infinite & (abs(numbers) > INFINITY // scale)).any()):
        raise _too_far("timestamp")
    return np.where(infinite, numbers, np.where(infinite, 0, numbers) * scale)


def _numbers(array: pa.Array, storage: pa.DataType) -> NDArray[np.int64]:
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype=np.int64)
    numbers: NDArray[np.int64] = (
        array.view(storage).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return numbers


def _each(numbers: NDArray[np.int64], array: pa.Array, text: Callable[[int], str]) -> pa.Array:
    valid = array.is_valid().to_pylist()
    return cells.of_values(
        text(number).encode() if there else None
        for number, there in zip(numbers.tolist(), valid, strict=True)
    )


def _date_text(array: pa.Array) -> pa.Array:
    days = _days(array)
    if _usual(days, _FIRST_DAY, _LAST_DAY):
        return cells.of_text(array)
    return _each(days, array, calendar.date_text)


def _timestamp_text(array: pa.Array) -> pa.Array:
    moments = _microseconds(array)
    if _usual(moments, _FIRST_DAY * DAY, (_LAST_DAY + 1) * DAY - 1):
        return cells.of_text(_written(moments, array))
    return _each(moments, array, calendar.timestamp_text)


def _timestamptz_text(zone: tzinfo, array: pa.Array) -> pa.Array:
    moments = _microseconds(array)
    if zone is UTC and _usual(moments, _FIRST_DAY * DAY, (_LAST_DAY + 1) * DAY - 1):
        utc, none = (pa.scalar(each, pa.large_string()) for each in ("+00", ""))
        return cells.of_text(pc.binary_join_element_wise(_written(moments, array), utc, none))
    return _each(moments, array, lambda moment: calendar.timestamptz_text(moment, zone))


def _written(moments: NDArray[np.int64], array: pa.Array) -> pa.Array:
    """Timestamps as text; zeros at the end of a fraction are left out."""
    plain = pa.array(moments, type=pa.int64(), mask=array.is_null().to_numpy(zero_copy_only=False))
    text = plain.view(pa.timestamp("us")).cast(pa.large_string())
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".") if len(text) else text


def _time_text(array: pa.Array) -> pa.Array:
    return _each(_microseconds(array), array, calendar.time_text)


def _interval_text(array: pa.Array) -> pa.Array:
    return cells.of_values(
        None if each is None else calendar.interval_text(each[0], each[1], each[2] // 1000).encode()
        for each in _intervals(array)
    )


def _interval_binary(array: pa.Array) -> pa.Array:
    return cells.of_values(
        None if each is None else _INTERVAL_BINARY.pack(each[2] // 1000, each[1], each[0])
        for each in _intervals(array)
    )


def _intervals(array: pa.Array) -> list[tuple[int, int, int] | None]:
    """Months, days and nanoseconds."""
    if pa.types.is_null(array.type) or not len(array):
        return [None] * len(array)
    raw = memoryview(array.buffers()[1])[array.offset * 16 : (array.offset + len(array)) * 16]
    valid = array.is_valid().to_pylist()
    return [each if there else None for each, there in zip(_INTERVAL.iter_unpack(raw), valid, strict=True)]


def _date_binary(array: pa.Array) -> pa.Array:
    days = _days(array)
    shifted = days - EPOCH_DAYS
    shifted = np.where(days == DATE_INFINITY, 2**31 - 1, np.where(days == -DATE_INFINITY, -(2**31), shifted))
    if len(shifted) and int(shifted.min()) < -(2**31):
        raise _too_far("date")
    return cells.of_fixed(shifted.astype(">i4"), array.is_valid())


def _timestamp_binary(array: pa.Array) -> pa.Array:
    moments = _microseconds(array)
    infinite = abs(moments) == INFINITY
    if bool((~infinite & (moments < EPOCH - INFINITY)).any()):
        raise _too_far("timestamp")
    shifted = np.where(infinite, 0, moments) - EPOCH
    shifted = np.where(infinite, np.where(moments > 0, 2**63 - 1, -(2**63)), shifted)
    return cells.of_fixed(shifted.astype(">i8"), array.is_valid())


def _time_binary(array: pa.Array) -> pa.Array:
    return cells.of_fixed(_microseconds(array).astype(">i8"), array.is_valid())


def _usual(numbers: NDArray[Any], first: int, last: int) -> bool:
    return not len(numbers) or bool(first <= numbers.min() and numbers.max() <= last)


def _too_far(name: str) -> NotRepresentable:
    return NotRepresentable("22008", f"a {name} is out of the range that can be sent")


MOMENTS_TEXT: Mapping[Type, Callable[[tzinfo], Encoder]] = {
    types.DATE: lambda _: _date_text,
    types.TIME: lambda _: _time_text,
    types.TIMESTAMP: lambda _: _timestamp_text,
    types.TIMESTAMPTZ: lambda zone: partial(_timestamptz_text, zone),
    types.INTERVAL: lambda _: _interval_text,
}
"""By type, and in a session's time zone."""
MOMENTS_BINARY: Mapping[Type, Encoder] = {
    types.DATE: _date_binary,
    types.TIME: _time_binary,
    types.TIMESTAMP: _timestamp_binary,
    types.TIMESTAMPTZ: _timestamp_binary,
    types.INTERVAL: _interval_binary,
}
