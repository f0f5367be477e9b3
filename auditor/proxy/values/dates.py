"""date: a day as text, days since 2000 in binary format."""

from __future__ import annotations

import struct
from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from auditor.proxy.values import calendar, cells, types
from auditor.proxy.values.calendar import EPOCH_DAYS, FIRST_DAY, LAST_DAY, PYTHONS_EPOCH
from auditor.proxy.values.codec import Codec, numbers, unpacked

_INFINITY = 2**31 - 1
"""DuckDB's days of `infinity`; negated, of `-infinity`."""
_BINARY = struct.Struct("!i")


def _write_text(column: pa.Array) -> pa.Array:
    days = numbers(column, pa.int32())
    if calendar.usual(days, FIRST_DAY, LAST_DAY):
        return cells.of_text(column)
    return calendar.each_of(days, column, _text)


def _text(days: int) -> str:
    if abs(days) == _INFINITY:
        return "infinity" if days > 0 else "-infinity"
    return "".join(calendar.day_text(days))


def _write_binary(column: pa.Array) -> pa.Array:
    days = numbers(column, pa.int32()).astype(np.int64)
    least = -(2**31)
    shifted = np.where(days == _INFINITY, _INFINITY, np.where(days == -_INFINITY, least, days - EPOCH_DAYS))
    if len(shifted) and int(shifted.min()) < least:
        raise calendar.unsendable("date")
    return cells.of_fixed(shifted.astype(">i4"), column.is_valid())


def _read_text(text: str) -> date:
    """`2020-02-29`; a time behind it is left out, as PostgreSQL does."""
    return calendar.read_moment(text, "date")[0].date()


def _read_binary(content: bytes) -> date:
    (days,) = unpacked(_BINARY, content, "date")
    try:
        return (PYTHONS_EPOCH + timedelta(days=days)).date()
    except OverflowError:
        raise calendar.untakable("date") from None


CODECS = {types.DATE: Codec(_write_text, _write_binary, _read_text, _read_binary)}
