"""Arrow arrays to numbers and from texts, without pandas.

pyarrow imports pandas, a third of a second, wherever it turns an array into NumPy's or a list into an array.
Buffers and DLPack hand over the same without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_AHEAD = re.compile(r"GMT([+-]\d\d:\d\d)")


def with_known_zones(table: pa.Table) -> pa.Table:
    """A table whose time zones are such as Python knows: DuckDB's GMT+05:30 is Arrow's +05:30."""
    kinds = [_known(each.type) for each in table.schema]
    for place, kind in enumerate(kinds):
        field = table.schema.field(place)
        if kind != field.type:
            table = table.set_column(place, field.with_type(kind), table.column(place).cast(kind))
    return table


def _known(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_known(kind.value_type)))
    ahead = _AHEAD.fullmatch(kind.tz or "") if pa.types.is_timestamp(kind) else None
    return kind if ahead is None else pa.timestamp(kind.unit, ahead[1])


def numbers_of(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """An array of numbers as it is; not to be written to.

    Args:
        array: Whole numbers or floats. NULLs become what pyarrow makes of them.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count or not len(array):
        found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return found
    return np.from_dlpack(array)


def bytes_of(array: pa.Array) -> tuple[NDArray[np.int64], memoryview, NDArray[np.bool_]]:
    """What texts hold: where each ends in all of it, after a 0; all of it; and which are not NULL.

    Without pyarrow.compute, which makes some 300 functions when it is imported.

    Args:
        array: Of type string or large_string, as DuckDB makes it: a NULL holds nothing.
    """
    wide = pa.types.is_large_string(array.type)
    assert wide or pa.types.is_string(array.type)
    there, offsets, content = array.buffers()
    first, last = array.offset, array.offset + len(array)
    present = np.ones(len(array), dtype=np.bool_)
    if there is not None:
        bits = np.unpackbits(np.frombuffer(there, dtype=np.uint8), bitorder="little")
        present = bits[first:last].astype(np.bool_)
    ends = np.zeros(1, dtype=np.int64)
    if len(array):
        ends = np.frombuffer(offsets, dtype="<i8" if wide else "<i4")[first : last + 1].astype(np.int64)
    whole = memoryview(b"" if content is None else content)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    if np.diff(ends)[~present].any():
        raise ValueError("a NULL holds text")
    return ends, whole, present


def texts(values: Sequence[str | None]) -> pa.Array:
    """An array of texts."""
    written = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64).astype(np.int32)
    there = np.packbits(np.array([value is not None for value in values], dtype=np.bool_), bitorder="little")
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(ends), pa.py_buffer(b"".join(written)), pa.py_buffer(there)
    )


def whole(values: Sequence[int]) -> pa.Array:
    """An array of whole numbers of 64 bits."""
    buffer = pa.py_buffer(np.array(values, dtype=np.int64))
    return pa.Array.from_buffers(pa.int64(), len(values), [None, buffer])
