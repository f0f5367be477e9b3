"""What the audit read, for the report: `Findings.reading` in rows.

Promise: every member is shown, known ones under plain names, others under their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from auditor.report.figures import counted, moment, number
from auditor.report.visible import line

_NAMES = {
    "files": "Files",
    "bytes_in_all": "Bytes in all",
    "bytes_read": "Bytes read",
    "entries": "Log entries",
    "statements": "Statements",
    "formats": "Read as",
    "first": "First statement",
    "earliest": "First statement",
    "last": "Last statement",
    "latest": "Last statement",
    "passed_over": "Entries that are no statement",
    "broken": "Lines and records that were not read",
    "unread_bytes": "Bytes of these, as far as they are known",
    "lost": "Statements cut or missing",
    "odd": "Read all the same, but odd",
}
MOST = 20
"""Items shown of a list."""
WIDTH = 200
"""Characters shown of an item."""


def span(reading: Mapping[str, object]) -> tuple[datetime, datetime] | None:
    """First and last time of the statements, where both are known."""
    first, last = (
        _time(reading.get(a, reading.get(b))) for a, b in (("first", "earliest"), ("last", "latest"))
    )
    return (first, last) if first is not None and last is not None else None


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None


@dataclass(frozen=True)
class ReadingView:
    """Rows of (name, items), and examples of lines that were not read."""

    rows: list[tuple[str, list[str]]]
    examples: list[str]


def reading_view(reading: Mapping[str, object]) -> ReadingView:
    """The rows."""
    examples = reading.get("examples", ())
    shown = examples if isinstance(examples, list | tuple) else [examples]
    names = [*(name for name in _NAMES if name in reading), *(name for name in reading if name not in _NAMES)]
    rows = [(_NAMES.get(name, line(name, 60)), _items(reading[name])) for name in names if name != "examples"]
    return ReadingView(rows, [line(str(example), WIDTH) for example in shown[:MOST]])


def _items(value: object) -> list[str]:
    if isinstance(value, Mapping):
        items = [_pair(str(name), item) for name, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [_item(item) for item in value]
    else:
        items = [_item(value)]
    if len(items) > MOST:
        items = [*items[:MOST], f"and {counted(len(items) - MOST, 'more', 'more')}"]
    return items or ["none"]


def _pair(name: str, item: object) -> str:
    counts = isinstance(item, int) and not isinstance(item, bool)
    return f"{_item(item)} × {line(name, WIDTH)}" if counts else f"{line(name, WIDTH)}: {_item(item)}"


def _item(value: object) -> str:
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return line(str(value), WIDTH) if value not in (None, "") else "not known"
