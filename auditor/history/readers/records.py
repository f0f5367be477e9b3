"""CSV records from lines, in bounded memory and past broken quotes.

A record goes on over line ends while a quote is open. A quote that never closes would take the rest of the
file: where a record does not fit what is expected, or grows without end, its first line alone is broken, and
reading starts anew with the line after it, or with the next record in that line where one can be told by its
start. Quotes are read strictly: of a record that was cut within one, the rest and the next record would else
be one field.
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
    """The fields of one record, whatever stands behind the end of a quote."""
    if len(text) < _MODULE_LIMIT:
        try:
            # whole records only: a line end within quotes is part of the text
            return next(csv.reader(iter([text]), delimiter=delimiter), [])
        except csv.Error:
            pass
    return _cut_long(text, delimiter)


def strictly(text: str, delimiter: str = ",") -> Record | None:
    """The fields of one record; None where a quote does not end with its field."""
    if len(text) < _MODULE_LIMIT:
        try:
            return next(csv.reader(iter([text]), delimiter=delimiter, strict=True), [])
        except csv.Error:
            return None
    mark = re.escape(delimiter)
    field = re.compile(rf'(?:"((?:[^"]|"")*+)"|((?!")[^{mark}]*+))({mark}|\Z)')
    fields, place = [], 0
    while found := field.match(text, place):
        quoted, plain, after = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if not after:
            return fields
    return None


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
    lines: Lines,
    tally: Tally,
    fits: Callable[[Record], bool],
    delimiter: str = ",",
    start: re.Pattern[str] | None = None,
) -> Iterator[tuple[int, Record]]:
    """Records that fit, with the number of their first line; the others are counted.

    Args:
        lines: Of the file.
        tally: Counts.
        fits: Whether a record is one of the file's.
        delimiter: What stands between fields.
        start: How a record begins, where that can be told from what stands in quotes: after a record that
            was cut the next may follow in its line.
    """
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
            record = strictly(text, delimiter)
            if record is not None and fits(record):
                yield number, record
                continue
        first = held[0][1]
        next_one = start.search(first, 1) if start is not None else None
        lost = next_one.start() if next_one is not None else len(first)
        reason = "quote that is not closed" if is_open else "not the columns that are expected"
        tally.broken(
            number, "record cut off, the next one behind it" if next_one is not None else reason, lost
        )
        ahead.extendleft(reversed(held[1:]))
        if next_one is not None:
            ahead.appendleft((number, first[lost:]))
