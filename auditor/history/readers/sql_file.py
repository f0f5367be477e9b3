"""Plain SQL: statements one after the other, as in a script. Nothing says who sent them, or when."""

from __future__ import annotations

import re
from collections.abc import Iterator

from auditor.history.readers.source import LINE_LIMIT, Lines
from auditor.history.readers.splitting import blank, pieces
from auditor.history.readers.tally import Tally
from auditor.history.statement import Logged

_READS = re.compile(r"\s*\\(?:i|ir|include|include_relative|copy|gexec)\b")
"""psql's commands that read another file, copy rows, or run what a query gives."""


def read(lines: Lines, tally: Tally) -> Iterator[Logged]:
    """The statements of a script; psql's commands and the rows of its COPY are passed over."""
    held: list[str] = []
    first, size, wanted = 1, 0, 0
    copying, rows = False, 0
    for number, line in lines:
        if copying:
            copying, rows = line.strip() != "\\.", rows + len(line) + 1
            continue
        if not held:
            if not line.strip():
                continue
            if line.lstrip().startswith("\\"):
                tally.pass_over("psql command")
                if _READS.match(line):
                    tally.lost(number, "psql command that runs what is not in the file")
                continue
            first = number
        held.append(line)
        size += len(line) + 1
        if size > LINE_LIMIT:
            tally.broken(first, f"statement longer than {LINE_LIMIT >> 20} MiB")
            held, size, wanted = [], 0, 0
        elif ";" in line and size > wanted:
            done, rest = _cut("\n".join(held))
            for offset, sql in done:
                yield _logged(first + offset, sql, tally)
                copying, rows = copying or _reads_rows(sql), 0
            # a long text with semicolons inside quotes is not gone through again at every one of them
            wanted = 0 if done else 2 * size
            first += rest[0]
            held, size = ([rest[1]], len(rest[1])) if rest[1] else ([], 0)
    if copying:
        tally.broken(first, "rows of a COPY that never end", rows)
    done, rest = _cut("\n".join(held))
    for offset, sql in [*done, rest]:
        if not blank(sql):
            yield _logged(first + offset, sql, tally)
    if tally.unended and not blank(rest[1]):
        tally.lost(tally.unended, "last statement without an end, which may have been cut")


def _cut(text: str) -> tuple[list[tuple[int, str]], tuple[int, str]]:
    """The statements that have ended, and the rest, each with its line from the start of the text."""
    *done, last = pieces(text, ";")
    found = []
    for start, end in done:
        sql = text[start : end + 1].strip()
        if not blank(sql):
            skipped = len(text[start:end]) - len(text[start:end].lstrip())
            found.append((text.count("\n", 0, start + skipped), sql))
    rest = text[last[0] :]
    start = last[0] + len(rest) - len(rest.lstrip())
    return found, (text.count("\n", 0, start), text[start:])


def _reads_rows(sql: str) -> bool:
    words = sql.upper().split()
    return words[0] == "COPY" and "STDIN;" in "".join(words[-1:]) if words else False


def _logged(line: int, sql: str, tally: Tally) -> Logged:
    tally.entry()
    return tally.statement(line, sql)
