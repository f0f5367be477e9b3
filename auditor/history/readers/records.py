"""CSV records from lines, in bounded memory and past broken quotes.

A record goes on over line ends while a quote is open. A quote that never closes would take the rest of the
file: where a record does not fit what is expected, or grows without end, its first line alone is broken, and
reading starts anew with the line after it.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator

from auditor.history.readers.source import LINE_LIMIT, Lines
from auditor.history.readers.tally import Tally

LONGEST = 20_000
"""Lines of one record."""
_MODULE_LIMIT = 100_000
"""The csv module takes fields of 131072 characters, for the whole process: longer ones are cut here."""
Record = list[str]


def cut(text: str, delimiter: str = ",") -> Record:
    """The fields of one record."""
    if len(text) < _MODULE_LIMIT:
        try:
            # whole records only: a line end within quotes is part of the text
            return next(csv.reader(iter([text]), delimiter=delimiter), [])
        except csv.Error:
            pass
    return _cut_long(text, delimiter)


def _cut_long(text: str, delimiter: str) -> Record:
    mark = re.escape(delimiter)
    pattern = re.compile(rf'(?:"((?:[^"]|"")*+)"?|([^"{mark}]*+))[^{mark}]*+(?:{mark}|\Z)')
    fields, place = [], 0
    while place <= len(text) and (found := pattern.match(text, place)):
        quoted, plain = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        if found.end() == len(text) and not text.endswith(delimiter):
            break
        place = found.end() if found.end() > place else place + 1
        if found.end() == len(text):
            fields.append("")
            break
    return fields


def records(
    lines: Lines, tally: Tally, fits: Callable[[Record], bool], delimiter: str = ","
) -> Iterator[tuple[int, Record]]:
    """Records that fit, with the number of their first line; the others are counted."""
    ahead: deque[tuple[int, str]] = deque()
    while True:
        held: list[tuple[int, str]] = []
        size, is_open = 0, False
        while not held or is_open:
            if size > LINE_LIMIT or len(held) > LONGEST:
                break
            each = ahead.popleft() if ahead else next(lines, None)
            if each is None:
                break
            held.append(each)
            size += len(each[1])
            if each[1].count('"') % 2:
                is_open = not is_open
        if not held:
            return
        number = held[0][0]
        if not is_open:
            text = held[0][1] if len(held) == 1 else "\n".join(line for _, line in held)
            if not text.strip():
                continue
            record = cut(text, delimiter)
            if fits(record):
                yield number, record
                continue
        tally.broken(number, "quote that is not closed" if is_open else "not the columns that are expected")
        ahead.extendleft(reversed(held[1:]))
