"""What reading a log has come to: the only place that counts.

Promises that every statement gets its number here, in the order of reading, that every line which was not
read is counted with its reason, and that so is every statement whose text shows that it is not whole.
"""

from __future__ import annotations

from datetime import datetime

from auditor.history.readers.wholeness import flaw
from auditor.history.statement import Logged, Reading

EXAMPLES = 20


class Tally:
    """Counts of one file, added to those of all files."""

    def __init__(self, reading: Reading, name: str) -> None:
        self.reading = reading
        self.name = name
        """As the person who named it spelled it."""
        self.good = 0
        """Entries of this file that could be read."""
        self.bad = 0
        """Lines of this file that could not."""
        self.unended = 0
        """The last line, if it has no end: a text in it may have been cut; 0 where it has one."""
        self.doubtful = False
        """Whether nothing but its reader's name says that it is a log."""

    def broken(self, line: int, reason: str, size: int = 0) -> None:
        """A line or a record that could not be read; `size`: its bytes, where they are known."""
        self.bad += 1
        self.reading.broken[reason] += 1
        self.reading.unread_bytes += size
        self._show(line, reason)

    def lost(self, line: int, reason: str, count: int = 1) -> None:
        """Statements that may have told something, and were not read or not whole."""
        self.reading.lost[reason] += count
        self._show(line, reason)

    def _show(self, line: int, reason: str) -> None:
        if len(self.reading.examples) < EXAMPLES:
            self.reading.examples.append(f"{self.name}, line {line}: {reason}")

    def odd(self, what: str) -> None:
        """Something that was read all the same."""
        self.reading.odd[what] += 1

    def entry(self) -> None:
        """An entry of any kind."""
        self.good += 1
        self.reading.entries += 1

    def pass_over(self, kind: str) -> None:
        """An entry that is no statement."""
        self.reading.passed_over[kind] += 1

    def statement(
        self,
        line: int,
        sql: str,
        *,
        parameters: tuple[str | None, ...] | None = None,
        user: str = "",
        time: datetime | None = None,
        application: str = "",
        database: str = "",
        answered: bool | None = None,
        dialect: str = "",
        zone: str = "",
    ) -> Logged:
        """A statement, numbered."""
        reading = self.reading
        reading.statements += 1
        if answered is not False and (reason := flaw(sql, parameters, dialect)):
            self.lost(line, reason)
        if time is not None:
            if reading.latest is None or time >= reading.latest:
                reading.latest = time
            else:
                reading.odd["time earlier than that of a statement before it"] += 1
            if reading.earliest is None or time < reading.earliest:
                reading.earliest = time
        return Logged(
            reading.statements, sql, parameters, user, time, application, database, answered, dialect,
            zone, f"{self.name}:{line}",
        )  # fmt: skip
