"""COPY as Arrow's batches of texts: what PostgreSQL writes as CSV, read by pyarrow, row group by row group.

Promise: NULL is NULL and an empty text an empty text; nothing is written to a disk. Who reads casts.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from psycopg import Copy

_BLOCK = 16 << 20
"""Bytes that are read at once; a row may not be longer."""


class Stream(io.RawIOBase):
    """What a COPY gives, as a file. pyarrow reads it from a thread of its own."""

    def __init__(self, copy: Copy) -> None:
        super().__init__()
        self.error: Exception | None = None
        """What went wrong on the way, if anything did."""
        self._chunks: Iterator[bytes | bytearray | memoryview] = iter(copy)
        self._rest = memoryview(b"")
        self._over = False
        self._lock = threading.Lock()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """See `io.RawIOBase`. As much as there is room for: a server sends row by row, and pyarrow would make
        a batch of each."""
        target, done = memoryview(buffer).cast("B"), 0
        with self._lock:
            while done < len(target):
                self._fill()
                size = min(len(target) - done, len(self._rest))
                if not size:
                    break
                target[done : done + size] = self._rest[:size]
                self._rest = self._rest[size:]
                done += size
        return done

    def begins(self) -> bool:
        """Whether there is a first byte."""
        with self._lock:
            self._fill()
            return bool(self._rest)

    def end(self) -> None:
        """Read no more: once this returns nobody is reading from the connection."""
        with self._lock:
            self._over = True
            self._rest = memoryview(b"")

    def _fill(self) -> None:
        while not self._rest and not self._over:
            try:
                self._rest = memoryview(next(self._chunks))
            except StopIteration:
                self._over = True
            except Exception as error:
                self._over, self.error = True, error
                raise


def batches(stream: Stream, columns: Sequence[str]) -> pa.RecordBatchReader:
    """The rows of a COPY in CSV, every column as text."""
    schema = pa.schema([(name, pa.string()) for name in columns])
    if not stream.begins():
        return pa.RecordBatchReader.from_batches(schema, [])
    from pyarrow import csv

    return csv.open_csv(
        stream,
        csv.ReadOptions(column_names=list(columns), block_size=_BLOCK),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
