"""PostgreSQL's csvlog: one record a message, in columns that the manual names.

Source: PostgreSQL manual, 20.8.4 "Using CSV-Format Log Output" (23 columns before version 13, 24 in 13, 26
since 14).
"""

from __future__ import annotations

from collections.abc import Iterator

from auditor.history.readers.entry import SEVERITIES, Entry
from auditor.history.readers.records import Record, records
from auditor.history.readers.source import Lines
from auditor.history.readers.tally import Tally

LEAST = 22
_SEVERITY = 11


def fits(record: Record) -> bool:
    """Whether a record is a message of a server."""
    return len(record) >= LEAST and record[_SEVERITY] in SEVERITIES


def entries(lines: Lines, tally: Tally) -> Iterator[Entry]:
    """The messages of a log."""
    for number, record in records(lines, tally, fits):
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
            position=int(position)
            if position.isascii() and position.isdecimal() and len(position) < 10
            else 0,
        )
