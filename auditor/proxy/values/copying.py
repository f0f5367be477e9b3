"""Rows out by COPY: an answer as CopyData messages, in PostgreSQL's text, CSV and binary formats.

Promises the bytes that PostgreSQL 15 sends for the same values, one message for each row, and no Python for
each cell beside what `writing` needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from auditor.proxy.values import cells
from auditor.proxy.values.results import ResultType
from auditor.proxy.values.writing import BINARY, ROWS_AT_ONCE, TEXT, RowWriter

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""What a binary copy begins with: no flags, no extension."""
TRAILER = b"\xff\xff"
_ESCAPED = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
"""In text format; the backslash first, since the others bring one."""


@dataclass(frozen=True)
class CopyForm:
    """How a COPY writes: PostgreSQL's options."""

    format: Literal["text", "csv", "binary"] = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    force_quote: tuple[str, ...] | None = ()
    """Columns that are always quoted; None: all."""

    @property
    def code(self) -> int:
        """The format code of the columns."""
        return BINARY if self.format == "binary" else TEXT


class CopyWriter:
    """Writes the rows of one COPY."""

    def __init__(self, form: CopyForm, names: Sequence[str], types: Sequence[ResultType], zone: str) -> None:
        """Choose how each column is written.

        Raises:
            NotRepresentable: for a type that cannot be sent in that format.
        """
        self._form, self._names = form, names
        self._writer = RowWriter(types, (form.code,), zone)
        forced = form.force_quote
        self._forced = [forced is None or name in forced for name in names]

    def messages(self, table: pa.Table) -> Iterator[bytes]:
        """All messages, in pieces: what stands before the rows, the rows, and what stands after them.

        Raises:
            NotRepresentable: for a value that PostgreSQL's type does not hold.
        """
        if self._form.format == "binary":
            yield from self._binary(table)
            return
        if self._form.header:
            names = [pa.array([name.encode()], pa.large_binary()) for name in self._names]
            yield cells.copy_rows(self._lines(names, 1))
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            if batch.num_rows:
                yield cells.copy_rows(self._lines(self._writer.columns(batch), batch.num_rows))

    def _binary(self, table: pa.Table) -> Iterator[bytes]:
        # As PostgreSQL does, the first message holds the signature and the first row: some clients
        # count on it.
        before = SIGNATURE
        for _, messages in self._writer.batches(table):
            rows = cells.as_copied(messages)
            rows[0], before = before + rows[0], b""
            yield b"".join(map(cells.copy_message, rows))
        yield cells.copy_message(before + TRAILER)

    def _lines(self, columns: Sequence[pa.Array], rows: int) -> pa.Array:
        form = self._form
        if not columns:
            return pa.array([b"\n"] * rows, pa.large_binary())
        texts = [column.cast(pa.large_string()) for column in columns]
        if form.format == "csv":
            alone = len(texts) == 1
            texts = [
                self._quoted(each, forced, alone) for each, forced in zip(texts, self._forced, strict=True)
            ]
        else:
            texts = [_escaped(each, form.delimiter) for each in texts]
        texts = [pc.fill_null(each, pa.scalar(form.null, pa.large_string())) for each in texts]
        joined = pc.binary_join_element_wise(*texts, pa.scalar(form.delimiter, pa.large_string()))
        ended = pc.binary_join_element_wise(
            joined, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string())
        )
        return ended.cast(pa.large_binary())

    def _quoted(self, texts: pa.Array, forced: bool, alone: bool) -> pa.Array:
        form = self._form
        special = "[" + "".join(re.escape(each) for each in (form.delimiter, form.quote, "\n", "\r")) + "]"
        wanted = pc.or_(pc.match_substring_regex(texts, special), pc.equal(texts, form.null))
        if alone:
            wanted = pc.or_(wanted, pc.equal(texts, "\\."))
        if forced:
            wanted = pc.fill_null(pc.true_unless_null(texts), False)
        if not pc.any(wanted).as_py():
            return texts
        inside = texts
        if form.escape != form.quote:
            inside = pc.replace_substring(inside, form.escape, form.escape * 2)
        inside = pc.replace_substring(inside, form.quote, form.escape + form.quote)
        quote, nothing = pa.scalar(form.quote, pa.large_string()), pa.scalar("", pa.large_string())
        return pc.if_else(wanted, pc.binary_join_element_wise(quote, inside, quote, nothing), texts)


def _escaped(texts: pa.Array, delimiter: str) -> pa.Array:
    """Texts with a backslash before what has a meaning in text format."""
    escaped = dict(_ESCAPED)
    escaped.setdefault(delimiter, f"\\{delimiter}")
    special = "[" + "".join(re.escape(each) for each in escaped) + "]"
    if not pc.any(pc.match_substring_regex(texts, special)).as_py():
        return texts
    for letter, written in escaped.items():
        texts = pc.replace_substring(texts, letter, written)
    return texts
