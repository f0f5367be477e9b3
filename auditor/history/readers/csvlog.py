"""PostgreSQL's csvlog: one record a message, in columns that the manual names.

Source: PostgreSQL manual, 20.8.4 "Using CSV-Format Log Output" (23 columns before version 13, 24 in 13, 26
since 14).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from auditor.history.readers.entry import SEVERITIES, Entry
from auditor.history.readers.records import Record, records
from auditor.history.readers.source import Lines
from auditor.history.readers.tally import Tally

LEAST = 22
_COLUMNS = frozenset({22, 23, 24, 26})
"""How many columns versions have; one of later versions has as many as the first record of its file."""
_SEVERITY = 11
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [^\s,\"]{1,6}"
_NAME = r'(?:"(?:[^"]|"")*+")?'
START = re.compile(rf"{_TIME},{_NAME},{_NAME},\d+,{_NAME},[0-9a-f]*\.?[0-9a-f]*,\d*,")
"""The start of a record. Within a quote names would have their quotes doubled."""
_WHOLE_TIME, _STATE = re.compile(_TIME), re.compile(r"[0-9A-Z]{5}|")


def fits(record: Record) -> bool:
    """Whether a record is a message of a server."""
    return (
        len(record) >= LEAST
        and record[_SEVERITY] in SEVERITIES
        and _WHOLE_TIME.fullmatch(record[0]) is not None
        and _STATE.fullmatch(record[12]) is not None
        and all(not record[place] or record[place].isdecimal() for place in (3, 6, 20))
    )


class _Fitting:
    """Records with as many columns as the server's version writes: one that was cut has more or fewer."""

    def __init__(self) -> None:
        self._counts = set(_COLUMNS)

    def __call__(self, record: Record) -> bool:
        if not fits(record):
            return False
        if len(self._counts) == len(_COLUMNS) and len(record) > max(_COLUMNS):
            self._counts.add(len(record))
        return len(record) in self._counts


def entries(lines: Lines, tally: Tally) -> Iterator[Entry]:
    """The messages of a log."""
    columns = 0
    for number, record in records(lines, tally, _Fitting(), start=START):
        if columns and len(record) != columns:
            tally.lost(number, "record with other columns than the one before")
        columns = len(record)
        tally.entry()
        position = record[20]
        yield Entry(
            number,
            time=record[0],
            user=record[1],
            database=record[2],
            application=record[22] if len(record) > LEAST else "",
            session=record[5] or record[3],
            severity=record[_SEVERITY],
            message=record[13],
            detail=record[14],
            context=record[18],
            statement=record[19],
            tag=record[7],
            serial=int(record[6]) if len(record[6]) < 10 and record[6].isdecimal() else 0,
            position=int(position)
            if position.isascii() and position.isdecimal() and len(position) < 10
            else 0,
        )
