"""JSON values one after the other, or in one list, in bounded memory."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator

from auditor.history.readers.source import DAMAGE, LINE_LIMIT
from auditor.history.readers.tally import Tally

_CHUNK = 1 << 20
_BETWEEN = " \t\r\n,[]"


def objects(stream: io.BufferedReader, tally: Tally) -> Iterator[tuple[int, object]]:
    """The values, each with the number of the line that it starts on.

    One that is not JSON ends the file: where the next begins, nobody can tell.
    """
    reader, decoder = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace")
    text, place, line, ended = "", 0, 1, False
    wanted = 0
    while True:
        start = place
        while place < len(text) and text[place] in _BETWEEN:
            place += 1
        line += text.count("\n", start, place)
        try:
            if ended and place >= len(text):
                return
            if len(text) - place <= wanted and not ended:
                raise ValueError("more is needed")
            value, after = reader.raw_decode(text, place)
            # a number could go on in what has not been read
            if after == len(text) and not ended:
                raise ValueError("more may come")
        except (ValueError, RecursionError):
            left = len(text) - place
            if ended or left > LINE_LIMIT:
                tally.broken(
                    line,
                    "not JSON" if left <= LINE_LIMIT else f"value longer than {LINE_LIMIT >> 20} MiB",
                    left,
                )
                while not ended and (chunk := stream.read(_CHUNK)):
                    tally.reading.unread_bytes += len(chunk)
                return
            # half as much again each time, so that long values are not tried at every chunk
            wanted = left + left // 2
            try:
                chunk = stream.read1(_CHUNK)
            except DAMAGE:
                tally.broken(line, "the compressed data end in the middle or are damaged")
                chunk = b""
            ended = not chunk
            text, place = text[place:] + decoder.decode(chunk, final=ended), 0
            continue
        wanted = 0
        yield line, value
        line += text.count("\n", place, after)
        place = after
