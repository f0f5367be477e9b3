"""What became of statements, kept in memory: what is asked again costs a look-up and a ledger entry.

Promise: an answer comes back only to the party that was told it, for the same text, dialect, time zone and
parameters; types of parameters matter as much as their text. What was withheld stays withheld until later
answers settle some of it. What is kept is bounded in number and size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from auditor.decision import Decision
from auditor.gate.remainder import NOTHING, Given
from auditor.gate.request import Ask, plain
from auditor.sql import Plan
from auditor.sql.withheld import Rest
from auditor.told import Range, Remainder, Told

STATEMENTS = 256
"""How many are kept."""
LARGEST_KEPT = 1 << 20
"""Bytes of a result beyond which it is not kept; it is computed again from the ledger's answers."""
LARGEST_MEMORY = 1 << 26
"""Bytes of all results that are kept."""
_Name = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Remembered:
    """One decided statement."""

    plan: Plan
    """What it means."""
    table: pa.Table | None
    """Its rows; None where it was refused."""
    decision: Decision
    """The verdict on one who asks again."""
    ranges: tuple[Range, ...] = ()
    """What it tells as ends."""
    withheld: frozenset[bytes] = frozenset()
    """Names of the queries that were withheld (`digest`)."""
    learned: int | None = None
    """How much its party knew when this held last, where some is withheld; None: it holds for good."""
    remainder: tuple[Remainder, ...] = ()
    """Which rows are withheld groups together."""
    given: Given = NOTHING
    """What became of such groups together."""

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        rows = 0 if self.table is None else int(self.table.nbytes)
        further = (*self.given.asked, *self.given.refused)
        return rows + 64 * len(self.withheld) + sum(each.records.nbytes for each in further)


@dataclass(frozen=True)
class Settled:
    """What may be released of a statement, and whether it may be remembered."""

    decision: Decision
    """The verdict."""
    told: Sequence[Told[Fraction] | None]
    """By asked aggregate, in column units; None where it is withheld."""
    ranges: tuple[Range, ...] = ()
    """What is told as ends."""
    rest: Rest | None = None
    """What is left to run, where a value is not given exactly."""
    recorded: bool = False
    """Whether it is on record."""
    keep: bool = True
    """Whether the same becomes of it if it is asked again."""
    learned: int | None = None
    """As `Remembered.learned`."""
    given: Given = NOTHING
    """What became of withheld groups together; what is told of them comes last in `told`."""
    without: Settled | None = None
    """The same without their rows, where there are some: released if the statement fails with them."""


class Memory:
    """Answers by party and statement; may be used by several threads."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._lock = threading.Lock()
        self._answers: OrderedDict[_Name, Remembered] = OrderedDict()
        self._bytes = 0

    def recall(self, party: str, ask: Ask) -> Remembered | None:
        """What became of the same, if it is still there."""
        if not plain(ask.parameters):
            return None
        name = _name(party, ask)
        with self._lock:
            found = self._answers.get(name)
            if found is not None:
                self._answers.move_to_end(name)
            return found

    def keep(self, party: str, ask: Ask, answer: Remembered) -> None:
        """Remember what became of a statement, if it is small."""
        if answer.size > LARGEST_KEPT or not plain(ask.parameters) or answer.plan.clock:
            return  # of one that reads the clock the same text is another statement later
        name = _name(party, ask)
        with self._lock:
            before = self._answers.pop(name, None)
            self._bytes += answer.size - (0 if before is None else before.size)
            self._answers[name] = answer
            while len(self._answers) > STATEMENTS or self._bytes > LARGEST_MEMORY:
                self._bytes -= self._answers.popitem(last=False)[1].size


def _name(party: str, ask: Ask) -> _Name:
    return party, ask.sql, ask.dialect, ask.zone, "" if ask.parameters is None else repr(ask.parameters)
