"""Limits on what runs: seconds, rows and bytes of one statement.

Promises that a query ends soon after its time is up, as far as DuckDB looks for interrupts, and that no more
of a result is fetched than the limits allow. Knows nothing of plans; `auditor.data.database` says what runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from auditor.data import arrow

_ROWS_PER_BATCH = 8_192
_AGAIN = 0.1


class Room:
    """Bytes that results take while they are fetched, of all statements together. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Take some more, if they are there."""
        with self._lock:
            if self._taken + size > self._most:
                return False
            self._taken += size
            return True

    def give(self, size: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._taken -= size


@dataclass(frozen=True)
class Limits:
    """What one statement may take."""

    seconds: float = 30.0
    """For all of its queries together; past it they are interrupted."""
    rows: int = 1_000_000
    """Of each result; more are not fetched."""
    bytes: int = 512 << 20
    """Of each result, as Arrow counts them."""
    room: Room | None = None
    """For the results of all statements that are being fetched; without one, each counts alone."""


class LargeResult(Exception):
    """A result has more rows or bytes than the limits allow, or DuckDB's memory limit is reached."""


class Watch:
    """Interrupts a cursor when time is up."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, seconds: float) -> None:
        self.expired = False
        self._cursor = cursor
        self._seconds = seconds
        self._done = threading.Event()

    def run(self) -> None:
        """Wait for the end or the time; then interrupt until the end."""
        if self._done.wait(self._seconds):
            return
        self.expired = True
        self._cursor.interrupt()
        # DuckDB forgets an interrupt that comes before or between two queries, and planning heeds none.
        while not self._done.wait(_AGAIN):
            self._cursor.interrupt()

    def end(self) -> None:
        """The work is over."""
        self._done.set()


@contextmanager
def watched(cursor: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[Watch]:
    """Run the body under a watch; the cursor must stay open until it ends."""
    watch = Watch(cursor, seconds)
    thread = threading.Thread(target=watch.run, name="statement-watch", daemon=True)
    try:
        # inside, so that whoever is interrupted while it starts leaves no thread waiting
        thread.start()
        yield watch
    finally:
        watch.end()
        if thread.ident is not None:
            thread.join()


def fetch(cursor: duckdb.DuckDBPyConnection, sql: str, limits: Limits) -> pa.Table:
    """The result of a query, batch by batch, so that one too large is given up before it is whole.

    Raises:
        LargeResult: past the limits' rows or bytes, or DuckDB's memory; or others leave no room.
        duckdb.Error: as DuckDB raises it.
    """
    taken = 0
    try:
        reader = cursor.sql(sql).to_arrow_reader(_ROWS_PER_BATCH)
        batches, rows, size = [], 0, 0
        for batch in reader:
            rows += batch.num_rows
            size += batch.nbytes
            if rows > limits.rows or size > limits.bytes:
                raise LargeResult
            if limits.room is not None:
                if not limits.room.take(batch.nbytes):
                    raise LargeResult
                taken += batch.nbytes
            batches.append(batch)
        return arrow.with_known_zones(pa.Table.from_batches(batches, reader.schema))
    except (duckdb.OutOfMemoryException, pa.ArrowException, OSError, MemoryError) as error:
        # In the middle of a result DuckDB's error comes as one of Arrow's, with the same text.
        if isinstance(error, duckdb.Error | MemoryError) or "Out of Memory" in str(error):
            raise LargeResult from None
        raise
    finally:
        if limits.room is not None:
            limits.room.give(taken)
