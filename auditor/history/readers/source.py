"""Bytes of a log and its lines, whatever is wrong with them.

Promises bounded memory: no line is held that is longer than `LINE_LIMIT`, its rest is read and dropped. gzip
and Zstandard are told by their first bytes and unpacked on the way; damage there ends the file and is
counted. What is not UTF-8 is replaced and counted; UTF-16 is read where a byte order mark says so.
"""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from auditor.errors import LogError
from auditor.history.readers.tally import Tally
from auditor.history.statement import Reading

LINE_LIMIT = 16 << 20
"""Bytes of the longest line, and characters of the longest entry, that is read."""
HEAD = 1 << 18
"""Bytes that are looked at to find the format."""
BUFFER = 1 << 20
"""Bytes that are read at a time."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
DAMAGE = (EOFError, zlib.error, OSError, pa.ArrowException)
"""What unpacking raises for bytes that are not what they should be."""
Lines = Iterator[tuple[int, str]]
"""Numbers from 1, and texts without the end of the line."""


class _Counted(io.RawIOBase):
    """Counts what is read from the file itself, which is what progress is measured by."""

    def __init__(self, raw: BinaryIO, reading: Reading) -> None:
        self._raw = raw
        self._reading = reading

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._raw.read(len(buffer))
        buffer[: len(content)] = content
        self._reading.bytes_read += len(content)
        return len(content)


class _Unpacked(io.RawIOBase):
    """What Arrow unpacks, as a file of Python's."""

    def __init__(self, packed: BinaryIO) -> None:
        self._stream = pa.CompressedInputStream(packed, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class _Recoded(io.RawIOBase):
    """UTF-16 as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            content = self._stream.read(BUFFER)
            text = self._decoder.decode(content, final=not content)
            self._left = text.encode("utf-8", "replace")
            if not content:
                break
        taken, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


@contextmanager
def opened(path: Path, reading: Reading) -> Iterator[io.BufferedReader]:
    """A log's bytes, unpacked; `-` is standard input.

    Raises:
        LogError: if there is no such file, or it may not be read.
    """
    standard_input = str(path) == "-"
    try:
        raw = sys.stdin.buffer if standard_input else path.open("rb", buffering=0)
    except OSError as error:
        raise LogError(f"log {path}: cannot be opened: {error.strerror or error}") from error
    try:
        yield _readable(raw, reading)
    finally:
        if not standard_input:
            raw.close()


def _readable(raw: BinaryIO, reading: Reading) -> io.BufferedReader:
    stream: io.BufferedReader = io.BufferedReader(_Counted(raw, reading), BUFFER)
    magic = stream.peek(4)[:4]
    if magic.startswith(_GZIP):
        stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), BUFFER)
    elif magic.startswith(_ZSTD):
        stream = io.BufferedReader(_Unpacked(stream), BUFFER)
    mark = peeked(stream)[:3]
    if mark[:2] in _UTF16:
        stream.read(2)
        return io.BufferedReader(_Recoded(stream, _UTF16[mark[:2]]), BUFFER)
    if mark == codecs.BOM_UTF8:
        stream.read(3)
    return stream


def peeked(stream: io.BufferedReader) -> bytes:
    """The first bytes, `HEAD` at most, left in place; none where they are damaged already."""
    try:
        return stream.peek(HEAD)[:HEAD]
    except DAMAGE:
        return b""


def lines(stream: io.BufferedReader, tally: Tally) -> Lines:
    """Each line that is not too long; anything else is counted, and a last line without an end is noted."""
    number = 0
    while True:
        number += 1
        try:
            raw = stream.readline(LINE_LIMIT)
            cut, size = len(raw) == LINE_LIMIT and not raw.endswith(b"\n"), len(raw)
            while cut and (rest := stream.readline(BUFFER)):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
        except DAMAGE:
            tally.broken(number, "the compressed data end in the middle or are damaged")
            return
        if not raw:
            return
        if cut:
            tally.broken(number, f"line longer than {LINE_LIMIT >> 20} MiB", size)
            continue
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode(errors="replace")
            tally.odd("line with bytes that are not UTF-8, replaced")
        if not text.endswith("\n"):
            tally.unended = number
        yield number, text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
