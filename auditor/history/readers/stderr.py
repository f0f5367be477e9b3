"""PostgreSQL's log on stderr: a prefix, a severity, a message, and what belongs to it on lines of its own.

A line that starts with a tab goes on with the one before. One that is neither is counted as broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from auditor.history.readers.entry import Entry
from auditor.history.readers.prefix import LEVEL, LONGEST, MATCHERS, WITHIN, Matcher, loose
from auditor.history.readers.source import LINE_LIMIT, Lines
from auditor.history.readers.tally import Tally
from auditor.history.readers.wholeness import is_damaged

_BELONGS = {
    "DETAIL": "detail", "HINT": "", "QUERY": "", "CONTEXT": "context", "LOCATION": "",
    "STATEMENT": "statement", "BACKTRACE": "",
}  # fmt: skip
_POSITION = re.compile(r" at character (\d{1,9})\Z")


class _Text:
    """A field that grows line by line, up to a limit."""

    def __init__(self, field: str, first: str) -> None:
        self.field = field
        self.size = len(first)
        self.parts = [first]

    def add(self, more: str) -> bool:
        self.size += len(more) + 1
        if self.size <= LINE_LIMIT:
            self.parts.append(more)
        return self.size <= LINE_LIMIT


def entries(lines: Lines, matcher: Matcher, tally: Tally) -> Iterator[Entry]:
    """The messages of a log, each with what belongs to it."""
    entry: Entry | None = None
    text = _Text("", "")
    for number, line in lines:
        if line.startswith("\t"):
            if WITHIN.search(line):
                tally.lost(number, "message with another one in it")
            if entry is None:
                tally.broken(number, "goes on with a message that is not there", len(line))
            elif not text.add(line[1:]):
                tally.broken(number, f"message longer than {LINE_LIMIT >> 20} MiB")
                entry, text = None, _Text("", "")
            continue
        found = matcher(line)
        if found is None:
            other = _other(line)
            if other is None:
                if line.strip():
                    tally.broken(number, "neither a message nor the rest of one", len(line))
                continue
            matcher, found = other
        time, user, database, application, session, tag, severity, start = found
        if WITHIN.search(line, start):
            tally.lost(number, "message with another one in it")
        if severity in _BELONGS:
            if entry is None or entry.session != session:
                tally.broken(number, f"{severity} of a message that is not there", len(line))
                continue
            _put(entry, text)
            text = _Text(_BELONGS[severity], line[start:])
            continue
        if entry is not None:
            _put(entry, text)
            yield _finished(entry)
        tally.entry()
        entry = Entry(number, time, user, database, application, session, severity, tag=tag)
        entry.damaged = is_damaged(line[:start])
        text = _Text("message", line[start:])
    if entry is not None:
        _put(entry, text)
        yield _finished(entry)


def _other(line: str) -> tuple[Matcher, tuple[str, str, str, str, str, str, str, int]] | None:
    """Another prefix: servers are set anew while they run, and some lines show more of it than others."""
    if LEVEL.search(line[:LONGEST]) is None:
        return None
    for matcher in MATCHERS[:-1]:
        if found := matcher(line):
            return matcher, found
    found = loose(line)
    return (loose, found) if found else None


def _put(entry: Entry, text: _Text) -> None:
    if text.field:
        setattr(entry, text.field, text.parts[0] if len(text.parts) == 1 else "\n".join(text.parts))


def _finished(entry: Entry) -> Entry:
    if entry.severity in ("ERROR", "FATAL") and (found := _POSITION.search(entry.message)):
        entry.position = int(found[1])
    return entry
