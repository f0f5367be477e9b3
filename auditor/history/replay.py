"""A log, statement by statement, becomes what each party knows.

Promise: a statement that was seen before costs a look-up; nothing is read that cannot be asked again of the
database as it is now; failed statements teach nothing, and every statement is counted under one kind.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Database
from auditor.history.budget import ENTRY, Budget
from auditor.history.differences import Differences
from auditor.history.facts import Fact
from auditor.history.findings import Cited, Unmodelled
from auditor.history.lesson import Lesson
from auditor.history.lessons import UNASKED, School, Taught, term_sql
from auditor.history.meanings import Grid
from auditor.history.parties import Parties, Party, Source
from auditor.history.statement import Logged
from auditor.parties.confidential import Confidential

FAILED = "failed"
EXAMPLES = 3
"""Statements that are shown of each kind that is not modelled."""
KEPT_TAUGHT = 64
"""Results that are kept for the next party that is told the same."""
MOST_TEXTS = 50_000
"""Different statements whose text is kept for the view of a gate."""


class Replay:
    """What a log teaches, so far."""

    def __init__(
        self,
        database: Database,
        columns: Sequence[Confidential],
        groups: Mapping[str, Sequence[str]],
        classes: Sequence[NDArray[np.int64]],
        dialect: str,
        effort: float = 1.0,
    ) -> None:
        """Nothing is read yet.

        Args:
            database: As it is now.
            columns: The protected columns.
            groups: Users who tell each other everything, by name.
            classes: (n,) by column, the class of each record: who shares what the intruder knows.
            dialect: Whose SQL it is where the log does not say.
            effort: How many times as much as by default all statements together may cost.
        """
        self.budget = Budget(effort)
        self.school = School(database, [_grid(column) for column in columns], self.budget)
        self.parties = Parties(columns, groups)
        self.columns, self._classes, self._dialect = columns, classes, dialect
        self.differences = [Differences(column.size) for column in columns]
        self.statements = 0
        self.position = 0
        """`Logged.number` of the last statement."""
        self.times: Counter[bytes] = Counter()
        """Answered statements by digest."""
        self.lessons: dict[bytes, tuple[str, tuple[tuple[str, str], ...], bool]] = {}
        """Kind, what is not modelled, whether it shows anything that is, by digest."""
        self.examples: dict[str, list[Cited]] = {}
        self.texts: OrderedDict[bytes, Logged] = OrderedDict()
        """Statements about protected columns, once each, for the view of a gate."""
        self.failed = 0
        self._taught: OrderedDict[bytes, tuple[Taught, list[Source]]] = OrderedDict()

    def take(self, logged: Logged) -> bool:
        """One statement; whether a gate is to be asked it: it is one of `texts` that was not there before."""
        self.statements += 1
        self.position = logged.number
        if logged.answered is False:
            self.failed += 1
            return False
        dialect = logged.dialect or self._dialect
        name = _digest(logged, dialect)
        self.times[name] += 1
        lesson, known = None, len(self.texts)
        if name not in self.lessons:
            lesson = self._lesson(logged, dialect)
            self._note(name, lesson, logged)
        _, unmodelled, shows = self.lessons[name]
        fresh = len(self.texts) > known
        if not shows and not unmodelled:
            return fresh
        waiting = []
        for party in self.parties.of(logged.user):
            party.statements += 1
            if shows and name not in party.seen:
                waiting.append(party)
        if waiting:
            self._teach(name, lesson, logged, dialect, waiting)
        return fresh

    def _lesson(self, logged: Logged, dialect: str) -> Lesson:
        """What a statement teaches that is new, as far as the budget goes."""
        spending, written, why = self.budget, len(logged.sql), "costly statements have cost too much together"
        if len(logged.sql) > ENTRY or not spending.affords(written, self.statements):
            return self.school.unread(logged.sql, why)
        lesson = self._read(logged, dialect)
        if lesson.kind in UNASKED:
            return lesson
        cost = written + lesson.characters
        if lesson.works and not spending.affords(cost, self.statements):
            lesson, cost = Lesson.too_costly(why), written
        spending.spend(cost)
        return lesson

    def _read(self, logged: Logged, dialect: str) -> Lesson:
        return self.school.lesson(logged.sql, logged.parameters, dialect, logged.zone or "UTC")

    def _note(self, name: bytes, lesson: Lesson, logged: Logged) -> None:
        self.lessons[name] = (lesson.kind, lesson.unmodelled, bool(lesson.works))
        self._show(lesson.unmodelled, logged)
        if (lesson.works or lesson.unmodelled) and len(self.texts) < MOST_TEXTS:
            self.texts[name] = logged

    def _show(self, unmodelled: Sequence[tuple[str, str]], logged: Logged) -> None:
        for kind, _ in unmodelled:
            shown = self.examples.setdefault(kind, [])
            if len(shown) < EXAMPLES:
                shown.append(cited(logged))

    def _teach(
        self,
        name: bytes,
        lesson: Lesson | None,
        logged: Logged,
        dialect: str,
        waiting: Sequence[Party],
    ) -> None:
        found = self._sources(name, lesson, logged, dialect)
        said = cited(logged)
        sources = [Source(said, source.fact, source.sql) for source in found]
        if self.parties.everyone in waiting:
            for source in sources:
                self.differences[source.fact.column].add(source)
        for party in waiting:
            party.seen.add(name)
            allowance = self.budget.programs()
            before = allowance.steps
            party.learn(said, sources, self._classes, allowance)
            self.budget.work(before - allowance.steps)

    def _sources(self, name: bytes, lesson: Lesson | None, logged: Logged, dialect: str) -> list[Source]:
        if name in self._taught:
            self._taught.move_to_end(name)
            return self._taught[name][1]
        first = lesson is not None
        if lesson is None:
            lesson = self._read(logged, dialect)
        taught = self.school.taught(lesson)
        if first and taught.unmodelled:
            kind, unmodelled, _ = self.lessons[name]
            more = tuple(dict.fromkeys((*unmodelled, *taught.unmodelled)))
            self.lessons[name] = (kind if taught.facts else "unmodelled", more, bool(taught.facts))
            self._show(taught.unmodelled, logged)
        said = cited(logged)
        sources = []
        # in whatever order the groups came: the same log gives the same certificates
        for fact in sorted(taught.facts, key=_order):
            branch, row, _ = fact.place
            sources.append(
                Source(said, fact, term_sql(lesson.works[branch], fact, taught.publics.get((branch, row))))
            )
        self._taught[name] = taught, sources
        if sum(len(each.fact.records) for each in sources) > 1_000_000:
            self._taught.pop(name)
        while len(self._taught) > KEPT_TAUGHT:
            self._taught.popitem(last=False)
        return sources

    # --- counts

    def kinds(self) -> dict[str, int]:
        """Statements by what became of them; they add up to all statements."""
        found: Counter[str] = Counter()
        for name, times in self.times.items():
            found[self.lessons[name][0]] += times
        if self.failed:
            found[FAILED] += self.failed
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def unmodelled(self) -> list[Unmodelled]:
        """What was shown and is not modelled, the most frequent first."""
        count: Counter[str] = Counter()
        reasons: dict[str, str] = {}
        for name, times in self.times.items():
            for kind, reason in dict(self.lessons[name][1]).items():
                count[kind] += times
                reasons.setdefault(kind, reason)
        return [
            Unmodelled(kind, times, reasons[kind], tuple(self.examples.get(kind, ())))
            for kind, times in sorted(count.items(), key=lambda each: (-each[1], each[0]))
        ]


def cited(logged: Logged) -> Cited:
    """A statement as findings name it."""
    return Cited(logged.number, logged.time, logged.user, logged.sql, logged.source)


def _order(fact: Fact) -> tuple[int, int, str, bytes]:
    weights = b"" if fact.coefficients is None else fact.coefficients.tobytes()
    return fact.column, fact.place[0], fact.kind, fact.records.astype(">i8").tobytes() + weights


def _digest(logged: Logged, dialect: str) -> bytes:
    text = "\0".join([dialect, logged.zone, logged.sql, repr(logged.parameters)])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _grid(column: Confidential) -> Grid:
    protect = column.protect
    return Grid(protect.minimum, protect.maximum, protect.grid)
