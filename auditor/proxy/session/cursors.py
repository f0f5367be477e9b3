"""A result and the place in it: what a portal holds between Executes, a cursor between FETCHes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakSet

from auditor.proxy.protocol import Column, Connection
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session.steps import DRAIN, Job, Steps
from auditor.proxy.sources import Result
from auditor.proxy.values.copying import CopyForm, CopyWriter
from auditor.proxy.values.results import ResultType
from auditor.proxy.values.writing import RowWriter

INLINE = 1_000
"""Cells that are written at once, and bytes of them: to have another thread do it would take longer."""
_INLINE_BYTES = 32 << 10
MOST = 1 << 30
"""Bytes of results that wait for readers, of all sessions together."""


class Cursor:
    """Rows that are sent piece by piece."""

    def __init__(self, result: Result, tag: str = "SELECT", copy: CopyForm | None = None) -> None:
        self.result, self.tag = result, tag
        self.copy = copy
        """How the rows are copied out; None: they are sent as rows."""
        self._place = 0

    @property
    def left(self) -> int:
        """Rows that are left."""
        return int(self.result.rows.num_rows) - self._place

    def take(self, count: int | None) -> Result:
        """The next rows; None: all that are left."""
        taken = self.left if count is None else min(count, self.left)
        rows = self.result.rows.slice(self._place, taken)
        self._place += taken
        return replace(self.result, rows=rows, notice=None, changes=())


class Holding:
    """The results that wait for their readers: those of slow ones, and of cursors that are not read out."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._cursors: WeakSet[Cursor] = WeakSet()

    @property
    def size(self) -> int:
        """Their bytes, as Arrow counts them."""
        return sum(each.result.rows.nbytes for each in self._cursors)

    def add(self, cursor: Cursor) -> None:
        """Hold one more, as long as it is referred to.

        Raises:
            ProtocolError: 53200, if there is no room; a result is never too large for an empty room.
        """
        held = self.size
        if held and held + cursor.result.rows.nbytes > self._most:
            raise ProtocolError(
                SqlState.OUT_OF_MEMORY,
                "too many results wait to be read",
                hint="Close cursors that are not needed, ask for fewer rows, or ask again in a moment.",
            )
        self._cursors.add(cursor)


def columns(names: Sequence[str], types: Sequence[ResultType], formats: Sequence[int] = ()) -> list[Column]:
    """The columns of a RowDescription."""
    codes = formats or [0] * len(types)
    return [
        Column(name, kind.type.oid, kind.type.length, kind.modifier, code)
        for name, kind, code in zip(names, types, codes, strict=True)
    ]


def copy_out(connection: Connection, cursor: Cursor, zone: str) -> Steps[int]:
    """Send all rows of a COPY, and give their number.

    Raises:
        NotRepresentable: for a value or a type that cannot be sent in this format.
    """
    form, result = cursor.copy, cursor.result
    assert form is not None
    writer = CopyWriter(form, result.names, result.types, zone)
    rows = cursor.take(None).rows
    connection.copy_out_response(form.code, len(result.types))
    pieces = writer.messages(rows)
    while (piece := (yield Job(lambda: next(pieces, None)))) is not None:
        connection.copy_data_messages(piece)
        yield DRAIN
    connection.copy_done()
    return int(rows.num_rows)


def send(
    connection: Connection, cursor: Cursor, count: int | None, formats: Sequence[int], zone: str
) -> Steps[int]:
    """Send the next rows of a cursor, and give their number.

    Raises:
        NotRepresentable: for a value or a format that cannot be sent.
    """
    writer = RowWriter(cursor.result.types, formats, zone)
    rows = cursor.take(count).rows
    if rows.num_rows * max(1, rows.num_columns) <= INLINE and rows.nbytes <= _INLINE_BYTES:
        if rows.num_rows:
            connection.data_row_messages(writer.messages(rows))
        return int(rows.num_rows)
    batches = writer.batches(rows)
    while (found := (yield Job(lambda: next(batches, None)))) is not None:
        connection.data_row_messages(found[1])
        yield DRAIN
    return int(rows.num_rows)
