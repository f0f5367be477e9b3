"""A PostgreSQL server's log: stderr, csvlog or jsonlog, with pgaudit's messages in it or without."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from auditor.errors import LogError
from auditor.history.readers import csvlog, jsonlog, stderr
from auditor.history.readers.entry import SEVERITIES
from auditor.history.readers.prefix import MATCHERS, Matcher, compiled, detect
from auditor.history.readers.records import cut
from auditor.history.readers.sessions import Sessions
from auditor.history.readers.source import Lines
from auditor.history.readers.tally import Tally
from auditor.history.statement import Logged

_DEFAULT = MATCHERS[0]
_OBJECTS = re.compile(r"\s*(?:\{|\[\s*(?:[{\[\"]|\Z))")


def layout(head: str) -> str:
    """Which of the three formats the start of a log is in: "csvlog", "jsonlog", "stderr"; "" for none."""
    some = head.splitlines()[:400]
    if any(jsonlog.fits(_object(line)) for line in some[:20]):
        return "jsonlog"
    if any(line.count(",") > 11 and _is_csvlog(line) for line in some):
        return "csvlog"
    # within an envelope that is not known a message has what is not its own behind it
    if some and _OBJECTS.match(some[0]):
        return ""
    return "stderr" if detect(some) is not None else ""


def read(rows: Lines, head: str, prefix: str, tally: Tally) -> Iterator[Logged]:
    """The statements of a log.

    Args:
        rows: Its lines, out of their envelopes.
        head: The start of these, to tell the format by.
        prefix: log_line_prefix, as the server was told; "" to find it.
        tally: Counts.

    Raises:
        LogError: if the prefix has a part that PostgreSQL does not know.
    """
    named = _named(prefix) if prefix else None
    found = layout(head) or "stderr"
    if found == "csvlog":
        entries = csvlog.entries(rows, tally)
    elif found == "jsonlog":
        entries = jsonlog.entries(rows, tally)
    else:
        matcher = named or detect(head.splitlines()) or _DEFAULT
        entries = stderr.entries(rows, matcher, tally)
    yield from Sessions(tally).statements(entries)
    if tally.unended and found == "stderr":
        # of the others a record that is whole shows that it is
        tally.lost(tally.unended, "last line without an end, which may have been cut")


def _named(prefix: str) -> Matcher:
    try:
        return compiled(prefix)
    except ValueError as error:
        raise LogError(str(error)) from error


def _object(line: str) -> object:
    try:
        return json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _is_csvlog(line: str) -> bool:
    # the message may go on over the line's end, so a quote may be open
    return len(record := cut(line)) > 12 and record[11] in SEVERITIES and record[0][:1].isdigit()
