"""Many statements, in several processes that are watched: one that hangs or dies is a finding, not the end.

Each process takes every n-th statement of the run; what it works on, and since when, stands in shared memory.
"""

from __future__ import annotations

import multiprocessing as mp
import queue
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.checks import STAGES, Finding, Result, check, checker
from tests.fuzz.grammar import Statement, generate
from tests.fuzz.minimise import minimised

HANG = 60.0
"""Seconds after which a statement hangs."""
MINIMISED = 4
"""Findings that look alike before minimising, minimised by each process."""


@dataclass
class Tally:
    """What became of the statements."""

    statements: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    valid: Counter[bool] = field(default_factory=Counter)
    """Of the statements that were meant to be valid and of which DuckDB was asked."""
    gated: int = 0
    """Statements that whole gates were asked as well."""
    found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, statement: Statement, result: Result) -> None:
        self.statements += 1
        self.codes[result.code] += 1
        self.gated += result.gated
        self.origins[statement.origin] += 1
        if result.compared:
            self.compared[result.compared] += 1
        if result.valid is not None and statement.origin == "valid":
            self.valid[result.valid] += 1
        self.found.update((each.kind, each.what) for each in result.findings)


@dataclass(frozen=True)
class Fault:
    """A finding and the smallest statement that shows it."""

    finding: Finding
    statement: Statement
    seed: int

    @property
    def line(self) -> str:
        parameters = f" {self.statement.parameters}" if self.statement.parameters else ""
        text = " ".join(self.statement.text.split()).encode("utf-8", "backslashreplace").decode()
        place = f"{self.statement.world}, seed {self.seed}, number {self.statement.number}"
        return f"{self.finding.kind}: {self.finding.what} [{place}] {text}{parameters}"


@dataclass(frozen=True)
class Run:
    """What to do."""

    statements: int
    seed: int
    processes: int = 2
    seconds: float | None = None
    minimise: float = 20.0
    """Seconds for minimising one finding; 0: not at all."""


def work(run: Run, first: int, place: Any, results: Any) -> None:
    """One process: every n-th statement from `first` on."""
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(first, run.statements, run.processes):
        place[0], place[1] = number, time.monotonic()
        statement = generate(run.seed, number)
        checker(statement.world).watched = place
        result = check(statement)
        results.put((number, statement, result, None))
        for finding in result.findings:
            seen[finding.kind, finding.what] += 1
            if seen[finding.kind, finding.what] <= MINIMISED and run.minimise:
                place[1] = time.monotonic() + 2 * run.minimise
                statement = minimised(statement, finding, run.minimise)
            if seen[finding.kind, finding.what] <= MINIMISED:
                again = check(statement).findings
                results.put(
                    (number, statement, None, Fault(again[0] if again else finding, statement, run.seed))
                )
    results.put((first, None, None, None))


class Watched:
    """The processes of a run, and what they have said."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = mp.get_context("spawn")
        self._results: Any = self._context.Queue()
        self._places: dict[int, Any] = {}
        self._processes: dict[int, Any] = {}
        self.tally = Tally()
        self.faults: list[Fault] = []

    def go(self, progress: Callable[[Tally, int], None]) -> None:
        """Run to the end, or until the time is over."""
        started = time.monotonic()
        for first in range(self._run.processes):
            self._start(first, first)
        try:
            while self._processes:
                self._hear(progress)
                self._watch()
                if self._run.seconds is not None and time.monotonic() - started > self._run.seconds:
                    break
        finally:
            for lane in list(self._processes):
                self._stop(lane)

    def _start(self, lane: int, first: int) -> None:
        self._places[lane] = self._context.Array("d", [first, time.monotonic(), 0], lock=False)
        process = self._context.Process(
            target=work, args=(self._run, first, self._places[lane], self._results), daemon=False
        )
        process.start()
        self._processes[lane] = process

    def _hear(self, progress: Callable[[Tally, int], None]) -> None:
        try:
            number, statement, result, fault = self._results.get(timeout=0.5)
        except queue.Empty:
            return
        if statement is None:
            self._processes.pop(number % self._run.processes).join()
        elif fault is not None:
            self._add(fault)
        else:
            self.tally.add(statement, result)
        progress(self.tally, len(self.faults))

    def _add(self, fault: Fault) -> None:
        if all(fault.line.split("]", 1)[1] != other.line.split("]", 1)[1] for other in self.faults):
            self.faults.append(fault)

    def _watch(self) -> None:
        """Replace a process that hangs or has died; what it was doing is a finding."""
        for lane, process in list(self._processes.items()):
            number, since, stage = self._places[lane]
            late = time.monotonic() - since > HANG
            if not late and (process.is_alive() or not self._results.empty()):
                continue
            self._stop(lane)
            name = STAGES[int(stage)]
            if name != "plain":
                statement = generate(self._run.seed, int(number))
                finding = Finding("hang", name) if late else Finding("crash", f"the process died: {name}")
                self._add(Fault(finding, statement, self._run.seed))
                self.tally.found[finding.kind, finding.what] += 1
            if number + self._run.processes < self._run.statements:
                self._start(lane, int(number) + self._run.processes)

    def _stop(self, lane: int) -> None:
        process = self._processes.pop(lane)
        process.kill()
        process.join()
