"""Runs on several processes of their own, until they are played or their time is over.

Promise: a run is what `playing.play` gives. A process that hangs or breaks costs its own run alone, of which
what it told until then is kept and which says why it ended. None outlives this context. Data that another
process cannot open are asked here, one run at a time. The processes are those of `auditor.isolated`.

    to a process: where packages are, then the source, the folder and the statements, then policy, numbers and
    seconds of each run
    from it: True when the data are open, an `Outcome` for each statement, then None, or the text of an error
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import duckdb
import numpy as np
import sqlglot
from threadpoolctl import threadpool_limits

from auditor import isolated
from auditor.data.sources import Source
from auditor.errors import AuditorError
from auditor.planning.orders import Numbers
from auditor.planning.playing import Outcome, play
from auditor.planning.statements import Statement
from auditor.policy.policy import Policy

LOOK = 0.1
"""Seconds between two looks at whether to stop."""
OPENING, GRACE = 300.0, 20.0
"""Seconds for opening the data, and that a statement may go on after the time of its run; then its process is
ended."""
_LIBRARIES = (sqlglot, duckdb, np)
_BROKEN = (isolated.Broken, OSError, EOFError, pickle.PickleError)


@dataclass(frozen=True)
class Run:
    """What is played."""

    policy: Policy
    numbers: Numbers
    """Of the statements, in their order."""
    seconds: float
    """After which no further statement is begun."""


@dataclass
class Played:
    """What became of a run."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """By number of the statement, in their order; fewer than asked where its time was over."""
    error: str = ""
    """Why it ended, if it did not end by itself."""
    seconds: float = 0.0
    """Opening the data included."""


class Players:
    """Processes that play runs; a context."""

    def __init__(self, source: Source, statements: Sequence[Statement], workers: int) -> None:
        """Start nothing yet.

        Args:
            source: The data.
            statements: All of them.
            workers: How many processes there are at most.
        """
        self._source, self._statements = source, statements
        self._workers = workers if source.elsewhere is not None else 1
        self._root = tempfile.TemporaryDirectory(prefix="cae-sql-plan-", ignore_cleanup_errors=True)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._ends: dict[int, float] = {}
        """When the run of a worker is to be over."""
        self._stopped, self._alone = threading.Event(), threading.Lock()

    def __enter__(self) -> Players:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        for worker in list(self._processes):
            self._end(worker)
        self._root.cleanup()

    def play(
        self, runs: Sequence[Run], until: float, stop: Callable[[], bool], heard: Callable[[int], None]
    ) -> dict[int, Played]:
        """Play runs, the first ones first; those that were begun, by their place.

        Args:
            runs: What is played.
            until: By the monotonic clock, when no further run is begun.
            stop: Asked now and then; once it says yes, everything ends.
            heard: Called by several threads with the place of a run that has one outcome more, or −1 − place
                once it is over.
        """
        waiting, found = queue.SimpleQueue[int](), dict[int, Played]()
        for place in range(len(runs)):
            waiting.put(place)

        def work(worker: int) -> None:
            while not self._stopped.is_set() and time.monotonic() < until:
                try:
                    place = waiting.get_nowait()
                except queue.Empty:
                    return
                found[place] = Played()
                self._one(worker, runs[place], found[place], lambda place=place: heard(place))  # type: ignore[misc]
                heard(-1 - place)

        threads = [
            threading.Thread(target=work, args=(worker,), daemon=True)
            for worker in range(min(self._workers, len(runs)))
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            if stop():
                self._stopped.set()
            now = time.monotonic()
            for worker, end in list(self._ends.items()):
                if self._stopped.is_set() or now > end + GRACE:
                    self._end(worker)
            for thread in threads:
                thread.join(LOOK / len(threads))
        return dict(sorted(found.items()))

    def _one(self, worker: int, run: Run, played: Played, heard: Callable[[], None]) -> None:
        began = time.monotonic()
        self._ends[worker] = began + OPENING
        try:
            try:
                if self._source.elsewhere is not None:
                    self._take(self._beside(worker, run), played, heard)
                    return
            except (AuditorError, *_BROKEN):
                self._end(worker)
                if played.outcomes or self._over(worker):
                    raise
            with (
                self._alone
            ):  # what it cannot open may be opened here: a server's password in the environment
                self._take(self._here(run), played, heard)
        except AuditorError as error:
            played.error = str(error)
        except _BROKEN:
            played.error = "" if self._over(worker) else "its process broke"
        finally:
            self._ends.pop(worker, None)
            played.seconds = time.monotonic() - began

    def _over(self, worker: int) -> bool:
        """Whether the run of a worker was to end."""
        return self._stopped.is_set() or time.monotonic() > self._ends[worker]

    @staticmethod
    def _take(outcomes: Iterator[Outcome], played: Played, heard: Callable[[], None]) -> None:
        for outcome in outcomes:
            played.outcomes[outcome.number] = outcome
            heard()

    def _here(self, run: Run) -> Iterator[Outcome]:
        by_number = {each.number: each for each in self._statements}
        asked = [by_number[number] for number in run.numbers]
        folder = Path(self._root.name)
        return play(self._source, run.policy, asked, run.seconds, folder, self._stopped.is_set)

    def _beside(self, worker: int, run: Run) -> Iterator[Outcome]:
        process = self._process(worker)
        assert process.stdin is not None
        assert process.stdout is not None
        isolated.write(process.stdin.fileno(), (run.policy, run.numbers, run.seconds))
        while (told := isolated.read(process.stdout.fileno())) is not None:
            if isinstance(told, str):
                raise AuditorError(told)
            if told is True:
                self._ends[worker] = time.monotonic() + run.seconds
            else:
                yield told

    def _process(self, worker: int) -> subprocess.Popen[bytes]:
        """The process of a worker; a new one where there is none, or where it was ended."""
        if worker not in self._processes:
            empty = tempfile.mkdtemp(dir=self._root.name)
            process = self._processes[worker] = isolated.start(__name__, empty)
            assert process.stdin is not None
            write = process.stdin.fileno()
            isolated.write(write, isolated.packages(_LIBRARIES))
            isolated.write(write, (self._source.elsewhere, self._root.name, tuple(self._statements)))
        return self._processes[worker]

    def _end(self, worker: int) -> None:
        process = self._processes.pop(worker, None)
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def serve() -> None:
    """The process's part. Called in a process of its own alone."""
    questions, answers = isolated.pipes()
    source, folder, statements = isolated.read(questions)
    by_number = {each.number: each for each in statements}
    with contextlib.suppress(isolated.Broken), threadpool_limits(1, "blas"):
        while True:
            policy, numbers, seconds = isolated.read(questions)
            asked = [by_number[number] for number in numbers]
            played = play(
                source, policy, asked, seconds, Path(folder), opened=lambda: isolated.write(answers, True)
            )
            try:
                for outcome in played:
                    isolated.write(answers, outcome)
                isolated.write(answers, None)
            except AuditorError as error:
                isolated.write(answers, str(error))
