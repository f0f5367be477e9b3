"""What was answered, kept in memory: what is asked again costs a look-up and a ledger entry.

Promise: an answer comes back only to the party that was told it, for the same text, dialect, time zone and
parameters; types of parameters matter as much as their text. What is kept is bounded in number and size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from auditor.decision import Decision
from auditor.gate.request import Ask, plain
from auditor.sql import Plan
from auditor.sql.withheld import Rest
from auditor.told import Range, Told

STATEMENTS = 256
"""How many are kept."""
LARGEST_KEPT = 1 << 20
"""Bytes of a result beyond which it is not kept; it is computed again from the ledger's answers."""
LARGEST_MEMORY = 1 << 26
"""Bytes of all results that are kept."""
_Name = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Remembered:
    """One answered statement."""

    plan: Plan
    """What it means."""
    table: pa.Table
    """Its rows."""
    decision: Decision
    """The verdict on one who asks again."""
    ranges: tuple[Range, ...] = ()
    """What it tells as ends."""
    learned: int | None = None
    """How much its party knew, where the answer holds only as long as that is all; None: for good."""


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
    """Whether one who asks again gets the same rows."""
    learned: int | None = None
    """As `Remembered.learned`."""


class Memory:
    """Answers by party and statement; may be used by several threads."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._lock = threading.Lock()
        self._answers: OrderedDict[_Name, Remembered] = OrderedDict()
        self._bytes = 0

    def recall(self, party: str, ask: Ask, learned: int) -> Remembered | None:
        """What was answered to the same, if it is still there and holds for a party that knows so much."""
        if not plain(ask.parameters):
            return None
        name = _name(party, ask)
        with self._lock:
            found = self._answers.get(name)
            if found is None or found.learned not in (None, learned):
                return None
            self._answers.move_to_end(name)
            return found

    def keep(self, party: str, ask: Ask, answer: Remembered) -> None:
        """Remember an answer, if it is small."""
        if answer.table.nbytes > LARGEST_KEPT or not plain(ask.parameters) or answer.plan.clock:
            return  # of one that reads the clock the same text is another statement later
        name = _name(party, ask)
        with self._lock:
            before = self._answers.pop(name, None)
            self._bytes += answer.table.nbytes - (0 if before is None else before.table.nbytes)
            self._answers[name] = answer
            while len(self._answers) > STATEMENTS or self._bytes > LARGEST_MEMORY:
                self._bytes -= self._answers.popitem(last=False)[1].table.nbytes


def _name(party: str, ask: Ask) -> _Name:
    return party, ask.sql, ask.dialect, ask.zone, "" if ask.parameters is None else repr(ask.parameters)
