"""PostgreSQL's jsonlog (since version 15): one object a line.

Source: PostgreSQL manual, 20.8.5 "Using JSON-Format Log Output".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from auditor.history.readers.entry import SEVERITIES, Entry
from auditor.history.readers.source import Lines
from auditor.history.readers.tally import Tally


def fits(found: object) -> bool:
    """Whether an object is a message of a server."""
    return isinstance(found, dict) and found.get("error_severity") in SEVERITIES and "timestamp" in found


def entries(lines: Lines, tally: Tally) -> Iterator[Entry]:
    """The messages of a log."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            tally.broken(number, "not JSON", len(line))
            continue
        if not fits(found):
            tally.broken(number, "not the fields that are expected", len(line))
            continue
        tally.entry()
        yield _entry(number, found)


def _entry(number: int, found: Mapping[str, object]) -> Entry:
    def text(name: str) -> str:
        value = found.get(name)
        return value if isinstance(value, str) else ""

    position, serial = found.get("cursor_position"), found.get("line_num")
    return Entry(
        number,
        time=text("timestamp"),
        user=text("user"),
        database=text("dbname"),
        application=text("application_name"),
        session=text("session_id") or str(found.get("pid", "")),
        severity=text("error_severity"),
        message=text("message"),
        detail=text("detail"),
        context=text("context"),
        statement=text("statement"),
        tag=text("ps"),
        position=position if isinstance(position, int) else 0,
        serial=serial if isinstance(serial, int) else 0,
    )
