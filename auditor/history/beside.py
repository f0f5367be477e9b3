"""What a gate would have done, found out in a process of its own while this one looks for proofs.

Promise: the view is the one that `gateview.view` gives here, where it is asked instead if no process can be
started or one breaks. The process is one of `auditor.isolated`; it ends with this context, or with whoever
started it.

    to the process: where packages are, then the arguments of `view`, then a byte when it is to stop
    from the process: View
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from types import TracebackType

import duckdb
import numpy as np
import sqlglot
from threadpoolctl import threadpool_limits

from auditor import isolated
from auditor.history.gateview import View, view
from auditor.history.statement import Logged
from auditor.policy.policy import Policy

FEW = 16
"""Statements up to which a gate is asked here: to start a process takes as long as some of them."""
LOOK = 0.1
"""Seconds between two looks at whether to stop."""
_LIBRARIES = (sqlglot, duckdb, np)
_Asked = tuple[str, Policy, list[tuple[Logged, int]], str, float]


class Beside:
    """A view that is worked out beside other work; a context that no process outlives."""

    def __init__(
        self,
        database: str | os.PathLike[str],
        policy: Policy,
        statements: Sequence[tuple[Logged, int]],
        dialect: str,
        seconds: float,
    ) -> None:
        """As `view`, whose `stop` comes with `found`."""
        self._asked: _Asked = os.path.abspath(database), policy, list(statements), dialect, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._told = threading.Event()
        """Whether the process has all that it is asked."""
        self._view: View | None = None
        self._reader = threading.Thread(target=self._exchange, name="gate", daemon=True)

    def __enter__(self) -> Beside:
        if len(self._asked[2]) > FEW and (os.cpu_count() or 1) > 1 and sys.executable:
            self._folder = tempfile.mkdtemp(prefix="cae-sql-")
            with contextlib.suppress(OSError):
                self._process = isolated.start(__name__, self._folder)
                self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if self._reader.ident is not None:
                self._reader.join()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._folder:
            isolated.remove(self._folder)

    def _exchange(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(isolated.Broken, OSError, EOFError, pickle.PickleError, MemoryError):
            isolated.write(process.stdin.fileno(), isolated.packages(_LIBRARIES))
            isolated.write(process.stdin.fileno(), self._asked)
            self._told.set()
            found = isolated.read(process.stdout.fileno())
            self._view = found if isinstance(found, View) else None

    def found(self, stop: Callable[[], bool]) -> View:
        """The view, once it is there; of what was asked until `stop` said yes."""
        process, stopped = self._process, False
        while process is not None and self._reader.is_alive():
            if not stopped and self._told.is_set() and stop():
                stopped = True
                with contextlib.suppress(OSError):
                    assert process.stdin is not None
                    os.write(process.stdin.fileno(), b".")
            self._reader.join(LOOK)
        return self._view if self._view is not None else _view(self._asked, stop)


def _view(asked: _Asked, stop: Callable[[], bool]) -> View:
    database, policy, statements, dialect, seconds = asked
    return view(database, policy, statements, dialect, seconds, stop)


def serve() -> None:
    """The process's part: one view. Called in a process of its own alone."""
    questions, answers = isolated.pipes()
    asked = isolated.read(questions)
    stopped = threading.Event()

    def listen() -> None:
        # a byte, or the end of the pipe: then nobody is there to be told
        os.read(questions, 1)
        stopped.set()

    threading.Thread(target=listen, daemon=True).start()
    with threadpool_limits(1, "blas"):
        isolated.write(answers, _view(asked, stopped.is_set))
