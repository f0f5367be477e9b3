"""A day through a gate, statement by statement, until it ends or its budget does."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from auditor import Gate
from benchmarks._ranges import tried
from benchmarks.usefulness.day import Day
from benchmarks.usefulness.log import Decided
from benchmarks.usefulness.told import decided


class Spent(BaseException):
    """The budget is used up. Nobody may take it for an error of a statement and go on."""


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """End what happens inside after so many CPU seconds of this process. In the main thread alone.

    Raises:
        Spent: that is so.
    """

    over = False

    def spent(*_: object) -> None:
        nonlocal over
        over = True
        raise Spent

    before = signal.signal(signal.SIGPROF, spent)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except SystemError as error:
        # so numba says that a handler raised something inside of a kernel
        if not over:
            raise
        raise Spent from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Asked:
    """What became of a day."""

    decided: list[Decided] = field(default_factory=list)
    statements: int = 0
    """Asked for."""
    ended: int = 0
    """Of these, how many came to their end within the budget."""
    surprises: int = 0
    late: int = 0
    """Statements that the clock decided: counts then hang on the machine."""
    seconds: float = 0.0
    """By the wall clock, opening left out."""
    cpu: float = 0.0
    worst: float = 0.0
    """Of one statement, by the wall clock."""
    optimum: Mapping[str, str] | None = None
    """As of the day."""

    @property
    def cut(self) -> bool:
        """Whether the budget ended it."""
        return self.ended < self.statements


def asked(day: Day, ledger: Path, seconds: float) -> Asked:
    """Ask everything of a gate with an empty ledger, for at most so many CPU seconds."""
    found = Asked(statements=len(day.statements), optimum=day.optimum)
    with Gate.open(day.database, day.policy, ledger) as gate:
        began, used = time.perf_counter(), time.process_time()
        try:
            with budget(seconds):
                for number, sql in enumerate(day.statements, 1):
                    answer, decision, took = tried(gate, sql)
                    found.decided += decided(number, sql, day.column, answer, decision)
                    found.late += decision.code == "time"
                    found.worst = max(found.worst, took)
                    found.ended = number
        except Spent:
            pass
        found.seconds, found.cpu = time.perf_counter() - began, time.process_time() - used
        found.surprises = int(gate.history()["surprise"].sum())
    return found
