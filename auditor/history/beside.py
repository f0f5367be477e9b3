"""What a gate would have done, found out in a process of its own while this one replays a log and proves.

Promise: the verdicts are those that `gateview.verdicts` gives here, where they are asked for instead if no
process can be started or one breaks. Statements are handed on as they are found. The process is one of
`auditor.isolated`; it ends with this context, or with whoever started it.

    to the process: where packages are, then the arguments of `verdicts` but for statements, then these, one
    by one, and None for their end; True when it is to stop
    from the process: its verdicts
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import TracebackType

import duckdb
import numpy as np
import sqlglot
from threadpoolctl import threadpool_limits

from auditor import isolated
from auditor.data.sources import Given, source_of
from auditor.history.gateview import verdicts
from auditor.history.statement import Logged
from auditor.policy.policy import Policy

FEW = 16
"""Statements up to which a gate is asked here: to start a process takes as long as some of them."""
LOOK = 0.1
"""Seconds between two looks at whether to stop."""
_LIBRARIES = (sqlglot, duckdb, np)
_Asked = tuple[str | None, Policy, str, float]


class Beside:
    """Verdicts that are worked out beside other work; a context that no process outlives."""

    def __init__(self, database: Given, policy: Policy, dialect: str, seconds: float) -> None:
        """As `verdicts`, whose statements come with `ask` and whose `stop` comes with `found`."""
        self._database = source_of(database)
        self._asked: _Asked = self._database.elsewhere, policy, dialect, seconds
        self._statements: list[Logged] = []
        self._coming: queue.SimpleQueue[Logged | None] = queue.SimpleQueue()
        """Those that the process has not been told yet, and None behind the last one."""
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._told = threading.Event()
        """Whether the process has all that it is asked."""
        self._verdicts: list[str] | None = None
        self._reader = threading.Thread(target=self._exchange, name="gate", daemon=True)

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._coming.put(None)
            if self._reader.ident is not None:
                self._reader.join()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._folder:
            isolated.remove(self._folder)

    def ask(self, logged: Logged) -> None:
        """One statement more; nothing where there are no seconds for it."""
        if self._asked[3] <= 0:
            return
        self._statements.append(logged)
        self._coming.put(logged)
        # what lives in this process alone is asked about here
        elsewhere = self._asked[0] is not None and (os.cpu_count() or 1) > 1 and sys.executable
        if len(self._statements) == FEW + 1 and elsewhere:
            self._folder = tempfile.mkdtemp(prefix="cae-sql-")
            with contextlib.suppress(OSError):
                self._process = isolated.start(__name__, self._folder)
                self._reader.start()

    def _exchange(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(isolated.Broken, OSError, EOFError, pickle.PickleError, MemoryError):
            isolated.write(process.stdin.fileno(), isolated.packages(_LIBRARIES))
            isolated.write(process.stdin.fileno(), self._asked)
            for logged in iter(self._coming.get, None):
                isolated.write(process.stdin.fileno(), logged)
            isolated.write(process.stdin.fileno(), None)
            self._told.set()
            found = isolated.read(process.stdout.fileno())
            self._verdicts = found if isinstance(found, list) else None

    def found(self, stop: Callable[[], bool]) -> list[str]:
        """The verdicts, once they are there, of all that was asked until `stop` said yes."""
        process, stopped = self._process, False
        self._coming.put(None)
        while process is not None and self._reader.is_alive():
            if not stopped and self._told.is_set() and stop():
                stopped = True
                with contextlib.suppress(OSError):
                    assert process.stdin is not None
                    isolated.write(process.stdin.fileno(), True)
            self._reader.join(LOOK)
        if self._verdicts is not None:
            return self._verdicts
        _, policy, dialect, seconds = self._asked
        return verdicts(self._database, policy, self._statements, dialect, seconds, stop)


def serve() -> None:
    """The process's part. Called in a process of its own alone."""
    questions, answers = isolated.pipes()
    database, policy, dialect, seconds = isolated.read(questions)
    stopped, coming = threading.Event(), queue.SimpleQueue[Logged | None]()

    def listen() -> None:
        with contextlib.suppress(isolated.Broken):
            while (told := isolated.read(questions)) is not True:
                coming.put(told)
        # it is to stop, or nobody is there any more to be told
        stopped.set()
        coming.put(None)

    def statements() -> Iterator[Logged]:
        yield from iter(coming.get, None)

    threading.Thread(target=listen, daemon=True).start()
    with threadpool_limits(1, "blas"):
        isolated.write(answers, verdicts(database, policy, statements(), dialect, seconds, stopped.is_set))
