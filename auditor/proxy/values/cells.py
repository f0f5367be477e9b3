"""Columns of encoded cells, and the DataRow messages made of them.

A column of cells is an Arrow array of `large_binary`: where each begins, their bytes, which are NULL. The
messages are put together column by column with NumPy; no Python runs for each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.proxy.values.errors import NotRepresentable

MAX_MESSAGE = 2**30
"""Bytes of one DataRow; PostgreSQL's own values end there."""
_BYTES = pa.large_binary()


def of_values(values: Iterable[bytes | None]) -> pa.Array:
    """A column from one value each."""
    return pa.array(values, type=_BYTES)


def of_text(array: pa.Array) -> pa.Array:
    """A column from an array of texts, or of what Arrow casts to them."""
    return array.cast(pa.large_string()).cast(_BYTES)


def of_fixed(values: NDArray[Any], valid: pa.Array) -> pa.Array:
    """A column from an array of one width, as its bytes stand in memory.

    Args:
        values: One row of bytes, or one number in network order, for each cell.
        valid: Which are not NULL.
    """
    width = values.nbytes // len(values) if len(values) else 0
    starts = np.arange(len(values) + 1, dtype=np.int64) * width
    return of_parts(np.ascontiguousarray(values), starts, valid)


def of_parts(content: NDArray[Any], starts: NDArray[np.int64], valid: pa.Array) -> pa.Array:
    """A column from the bytes of all cells, and where each begins."""
    mask = None if valid.null_count == 0 and _all(valid) else _bitmap(valid)
    buffers = [mask, pa.py_buffer(starts), pa.py_buffer(content)]
    return pa.Array.from_buffers(_BYTES, len(starts) - 1, buffers)


def _all(valid: pa.Array) -> bool:
    return bool(valid.true_count == len(valid))


def _bitmap(valid: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(valid.to_numpy(zero_copy_only=False), bitorder="little"))


def data_rows(columns: Sequence[pa.Array], rows: int) -> bytes:
    """The DataRow messages of all rows, one after the other.

    Raises:
        NotRepresentable: 54000, for a row that no message can hold.
    """
    parts = [_Cells(column) for column in columns]
    # 'D', int32 length, int16 columns; then for each column int32 length and the bytes
    lengths = np.full(rows, 6 + 4 * len(parts), dtype=np.int64)
    for part in parts:
        lengths += part.sizes
    if rows and int(lengths.max()) > MAX_MESSAGE:
        raise NotRepresentable("54000", "a row is too large to be sent")
    starts = np.cumsum(lengths + 1) - (lengths + 1)
    out = np.empty(int(lengths.sum()) + rows, dtype=np.uint8)
    out[starts] = ord("D")
    _put(out, starts + 1, lengths, 4)
    _put(out, starts + 5, np.full(rows, len(parts), dtype=np.int64), 2)
    place = starts + 7
    for part in parts:
        _put(out, place, np.where(part.valid, part.sizes, -1), 4)
        place = place + 4
        part.copy(out, place)
        place = place + part.sizes
    return out.tobytes()


def copy_rows(lines: pa.Array) -> bytes:
    """The CopyData messages of some rows, each of which is one cell."""
    part = _Cells(lines)
    lengths = part.sizes + 4
    if len(lengths) and int(lengths.max()) > MAX_MESSAGE:
        raise NotRepresentable("54000", "a row is too large to be sent")
    starts = np.cumsum(lengths + 1) - (lengths + 1)
    out = np.empty(int(lengths.sum()) + len(lengths), dtype=np.uint8)
    out[starts] = ord("d")
    _put(out, starts + 1, lengths, 4)
    part.copy(out, starts + 5)
    return out.tobytes()


def copy_message(content: bytes) -> bytes:
    """One CopyData message."""
    return b"d" + (len(content) + 4).to_bytes(4, "big") + content


def as_copied(messages: bytes) -> list[bytes]:
    """DataRow messages as rows of a binary copy, which are written the same."""
    found, place = [], 0
    while place < len(messages):
        length = int.from_bytes(messages[place + 1 : place + 5], "big")
        found.append(messages[place + 5 : place + 1 + length])
        place += 1 + length
    return found


class _Cells:
    """The parts of one column."""

    def __init__(self, column: pa.Array) -> None:
        _, offsets, content = column.buffers()
        self.valid = column.is_valid().to_numpy(zero_copy_only=False)
        span = slice(column.offset, column.offset + len(column) + 1)
        self._starts = np.frombuffer(offsets, dtype=np.int64)[span] if len(column) else np.zeros(1, np.int64)
        self._content = np.frombuffer(content or b"", dtype=np.uint8)
        self.sizes = np.where(self.valid, np.diff(self._starts), 0)

    def copy(self, out: NDArray[np.uint8], place: NDArray[np.int64]) -> None:
        """Put each cell's bytes where it stands in the messages."""
        total = int(self.sizes.sum())
        if not total:
            return
        before = np.cumsum(self.sizes) - self.sizes
        each = np.arange(total)
        begin, end = int(self._starts[0]), int(self._starts[-1])
        if end - begin == total:
            content = self._content[begin:end]
        else:
            # a NULL has bytes of its own
            content = self._content[np.repeat(self._starts[:-1] - before, self.sizes) + each]
        out[np.repeat(place - before, self.sizes) + each] = content


def _put(out: NDArray[np.uint8], place: NDArray[np.int64], numbers: NDArray[np.int64], width: int) -> None:
    for byte in range(width):
        out[place + byte] = (numbers >> (8 * (width - 1 - byte))) & 0xFF
