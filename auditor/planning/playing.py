"""One run: statements through a gate with a new ledger, and what became of each.

Promise: statements are asked as an analyst asks them, by `Gate.execute`, in the order of the run. Counts are
of groups that a statement asks of: told exactly, as an end or a range, or not at all; where it is refused,
none is told.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from auditor.data.sources import Given
from auditor.errors import OwnerWarning, QueryRefused, QueryUnsupported
from auditor.gate.answer import Answer
from auditor.gate.gate import Gate
from auditor.gate.survey import group_name
from auditor.planning.statements import Statement
from auditor.policy.policy import Policy


@dataclass(frozen=True)
class Outcome:
    """What became of one statement."""

    number: int
    """Of the statement."""
    code: str
    """Of the verdict."""
    exact: int
    """Groups of which all that is asked is told exactly."""
    ends: int
    """Groups of which something is told as an end or a range, and all is told."""
    withheld: int
    """Groups of which something is not told."""
    seconds: float

    @property
    def told(self) -> int:
        """Groups of which all is told."""
        return self.exact + self.ends

    @property
    def groups(self) -> int:
        """All groups."""
        return self.told + self.withheld

    @property
    def taught(self) -> bool:
        """Whether it told something that had not been told: only then may it cost others."""
        return self.told > 0 and self.code != "known"


def play(
    source: Given,
    policy: Policy,
    statements: Sequence[Statement],
    seconds: float,
    folder: Path,
    stop: Callable[[], bool] = lambda: False,
    opened: Callable[[], None] = lambda: None,
) -> Iterator[Outcome]:
    """Ask statements, one after the other.

    Args:
        source: The data.
        policy: The policy; its ledger is not touched.
        statements: In their order.
        seconds: After which no further one is begun; the data are open then.
        folder: Where the ledger lies meanwhile.
        stop: Asked between statements; once it says yes no further one is begun.
        opened: Called when the data are open.

    Raises:
        PolicyError, DatabaseError: as `Gate.open`.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", OwnerWarning)
        with Gate.open(source, policy.on_scratch, Path(place) / "scratch.ledger") as gate:
            opened()
            end = time.monotonic() + seconds
            for each in statements:
                if time.monotonic() >= end or stop():
                    return
                yield _asked(gate, each)


def _asked(gate: Gate, each: Statement) -> Outcome:
    began = time.perf_counter()
    try:
        answer = gate.execute(each.sql, user=each.user, dialect=each.dialect, timezone=each.zone)
    except (QueryRefused, QueryUnsupported) as error:
        took = time.perf_counter() - began
        return Outcome(each.number, error.decision.code, 0, 0, each.asks, took)
    took = time.perf_counter() - began
    exact, ends, withheld = counted(answer, len(each.groups))
    return Outcome(each.number, answer.decision.code, exact, ends, withheld, took)


def counted(answer: Answer, groups: int) -> tuple[int, int, int]:
    """Groups of an answer that are told exactly, as ends, and not.

    Args:
        answer: What was answered.
        groups: How many are asked of; 0: as many as it has rows.
    """
    withheld = {group_name(each.group) for each in answer.withheld}
    ended = {group_name(each.group) for each in answer.ranges} - withheld
    in_all = max(groups or answer.arrow().num_rows, len(withheld) + len(ended), 1)
    return in_all - len(withheld) - len(ended), len(ended), len(withheld)
