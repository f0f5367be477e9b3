"""time and time with time zone: a clock as text, microseconds since midnight in binary format.

Those with a zone are read only: through Arrow their zone does not come.
"""

from __future__ import annotations

import struct
from datetime import time, timedelta, timezone

import pyarrow as pa

from auditor.proxy.values import calendar, cells, types
from auditor.proxy.values.codec import Codec, unpacked
from auditor.proxy.values.errors import invalid_binary, invalid_text

_BINARY, _BINARY_ZONED = struct.Struct("!q"), struct.Struct("!qi")
_ZONED = "time with time zone"


def _write_text(column: pa.Array) -> pa.Array:
    return calendar.each_of(calendar.microseconds(column), column, calendar.time_text)


def _write_binary(column: pa.Array) -> pa.Array:
    return cells.of_fixed(calendar.microseconds(column).astype(">i8"), column.is_valid())


def _read_text(text: str) -> time:
    return calendar.read_time(text, "time")[0]


def _read_binary(content: bytes) -> time:
    (microseconds,) = unpacked(_BINARY, content, "time")
    return calendar.since_midnight(microseconds, "time")


def _read_zoned_text(text: str) -> time:
    """`12:30:00.5+02`. The zone is needed: which one it would be hangs on the day."""
    moment, offset = calendar.read_time(text, _ZONED)
    if offset is None:
        raise invalid_text(_ZONED, text, "22007")
    return moment.replace(tzinfo=timezone(offset))


def _read_zoned_binary(content: bytes) -> time:
    """Microseconds since midnight, and seconds west of UTC."""
    microseconds, west = unpacked(_BINARY_ZONED, content, _ZONED)
    if abs(west) >= 86_400:
        raise invalid_binary(_ZONED)
    moment = calendar.since_midnight(microseconds, _ZONED)
    return moment.replace(tzinfo=timezone(timedelta(seconds=-west)))


CODECS = {
    types.TIME: Codec(_write_text, _write_binary, _read_text, _read_binary),
    types.TIMETZ: Codec(read_text=_read_zoned_text, read_binary=_read_zoned_binary),
}
