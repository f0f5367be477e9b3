"""Rows out: from an answer's Arrow table to DataRow messages, in PostgreSQL's text and binary formats.

Promises the bytes that PostgreSQL 15 sends for the same values (DateStyle ISO, IntervalStyle postgres,
extra_float_digits 1, bytea_output hex), column by column and without Python for each cell where the type is a
number, a text, a date or a timestamp of the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

import pyarrow as pa

from auditor.proxy.values import cells
from auditor.proxy.values.codec import Writer
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.registry import codec_of
from auditor.proxy.values.results import ResultType, result_type
from auditor.sql.time_zones import session_zone

TEXT, BINARY = 0, 1
"""Format codes of the protocol."""
ROWS_AT_ONCE = 8_192


class RowWriter:
    """Writes the rows of one result; made once, used for each batch."""

    def __init__(
        self, columns: Sequence[ResultType | str], formats: Sequence[int] = (), zone: str = "UTC"
    ) -> None:
        """Choose how each column is written.

        Args:
            columns: Types of the columns, or DuckDB's texts of them.
            formats: Format codes as Bind gives them: none (all text), one for all, or one each.
            zone: The session's time zone.

        Raises:
            NotRepresentable: for a type that cannot be sent, or not in that format.
            ValueError: wrong formats: they are the session's to check.
            KeyError: no such zone.
        """
        self.types = tuple(result_type(each) if isinstance(each, str) else each for each in columns)
        """The type of each column."""
        self.formats = expanded(formats, len(self.types))
        """The format of each column."""
        clock = session_zone(zone).clocks
        self._writers = [
            _writer(type_, code, clock) for type_, code in zip(self.types, self.formats, strict=True)
        ]

    def messages(self, rows: pa.Table | pa.RecordBatch) -> bytes:
        """The DataRow messages of some rows.

        Raises:
            NotRepresentable: for a value that PostgreSQL's type does not hold.
        """
        return cells.data_rows(self.columns(rows), rows.num_rows)

    def batches(self, table: pa.Table, rows: int = ROWS_AT_ONCE) -> Iterator[tuple[int, bytes]]:
        """The same in pieces of some rows each: their number, and their messages."""
        for batch in table.to_batches(max_chunksize=rows):
            if batch.num_rows:
                yield batch.num_rows, self.messages(batch)

    def rows(self, rows: pa.Table | pa.RecordBatch) -> list[tuple[bytes | None, ...]]:
        """The cells of some rows, one by one; for few rows, and for tests."""
        columns = [column.to_pylist() for column in self.columns(rows)]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows

    def columns(self, rows: pa.Table | pa.RecordBatch) -> list[pa.Array]:
        """The cells of some rows, column by column."""
        return [write(_whole(column)) for write, column in zip(self._writers, rows.columns, strict=True)]


def expanded(formats: Sequence[int], columns: int) -> tuple[int, ...]:
    """A format for each column, from the format codes of Bind.

    Raises:
        ValueError: neither none, one nor one for each; or a code that is none.
    """
    if any(code not in (TEXT, BINARY) for code in formats):
        raise ValueError("a format code is 0 or 1")
    if len(formats) == columns:
        return tuple(formats)
    if len(formats) > 1:
        raise ValueError(f"{len(formats)} format codes for {columns} columns")
    return (formats[0] if formats else TEXT,) * columns


def _writer(column: ResultType, code: int, zone: tzinfo) -> Writer:
    leaf = column.element or column
    codec = codec_of(column.type, zone, leaf.duckdb)
    write = codec.write_binary if code == BINARY else codec.write_text
    if write is None:
        raise NotRepresentable("0A000", f"values of type {leaf.type.sql} cannot be sent")
    return write


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    return column
