"""`understand` with limits on time and memory: what may take long is read in a process that can be killed.

Small statements are understood here, since none of those that the limits of `SMALL` let through was found to
take long. All others go to a worker, which is killed when its time is up, when it takes too much memory or
when it breaks; the reason is "too-large" then, and the next statement gets a new worker. A worker unpickles
what this process wrote, this process what its worker wrote: a client's text and values are data in both, of
plain types only.

Promise: where this process was started means nothing to a worker (`auditor.isolated`).

    to the worker: where packages are, then for each statement (seconds, text, parameters, schema, dialect,
        previews, when it arrived, time zone)
    from the worker: Plan | Unsupported
"""

from __future__ import annotations

import atexit
import contextlib
import datetime
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import sqlglot
from sqlglot import exp

from auditor import isolated
from auditor.isolated import Broken, read, write
from auditor.sql import Dialect
from auditor.sql import understand as understand_here
from auditor.sql.limits import parse
from auditor.sql.parameters import BOUND
from auditor.sql.schema import Schema
from auditor.sql.shape import Parameters
from auditor.sql.sizes import Size, bound
from auditor.sql.statement import Plan, Unsupported
from auditor.sql.understood import NotUnderstood


@dataclass(frozen=True)
class Extent:
    """What a statement's text may have to be read in this process."""

    characters: int = 4_000
    words: int = 400
    depth: int = 8
    queries: int = 12
    size: Size = field(default_factory=lambda: Size(tables=16, columns=400, nodes=400, text=1 << 18))
    """What it becomes, from `auditor.sql.sizes`."""


SMALL = Extent()
SECONDS = 5.0
"""For one statement in a worker; not for starting one."""
STARTING = 60.0
"""For the start of a worker, which imports this package."""
STARTS = 3
"""Times that starting a worker is tried for one statement."""
MEMORY = 4 << 30
"""Address space that a worker may take for statements, where the platform can limit it. DuckDB reserves more
than it uses: with 1 GiB it broke at times before the first statement."""
WORKERS = 2
"""Processes that are asked at once."""
_STACK = 10_000
_LIBRARIES = (sqlglot, duckdb, np)
"""What a worker imports that is not Python's."""


def understand(
    text: str,
    parameters: Parameters,
    schema: Schema,
    dialect: Dialect = "duckdb",
    previews: bool = False,
    arrived: datetime.datetime | None = None,
    zone: str = "UTC",
    seconds: float = SECONDS,
) -> Plan | Unsupported:
    """As `auditor.sql.understand`, within limits on time and memory.

    Args:
        text: One SQL statement.
        parameters: Values for `?` and `$1` (a sequence) or `$name` (a mapping).
        schema: What the statement may name.
        dialect: Whose SQL it is written in.
        previews: Whether rows may be shown with NULL in protected columns.
        arrived: When the statement arrived, with its time zone.
        zone: The session's time zone, a name of `auditor.sql.time_zones`.
        seconds: For a statement that is read apart; others are waited for before.

    Returns:
        The plan, or the reason; "too-large" past the limits.
    """
    try:
        values = _plain(parameters)
    except NotUnderstood as refusal:
        return refusal.reason
    fits, tree = _read(text, schema, dialect, SMALL)
    if fits:
        return understand_here(text, values, schema, dialect, previews, arrived, zone, tree)
    return _POOL.ask((text, values, schema, dialect, previews, arrived, zone), seconds)


def small(text: str, schema: Schema, dialect: Dialect = "duckdb", extent: Extent = SMALL) -> bool:
    """Whether a statement is read in this process: a bound of its size that costs little to find says so."""
    return _read(text, schema, dialect, extent)[0]


def _read(text: str, schema: Schema, dialect: Dialect, extent: Extent) -> tuple[bool, exp.Query | None]:
    """Whether a statement is small, and its tree, where its own dialect was read to find out."""
    if len(text) > extent.characters:
        return False, None
    depth, queries, words, within = 0, 0, 0, False
    for word in _words(text):
        words += 1
        depth += (word in _OPENING) - (word in _CLOSING)
        within = within or depth > extent.depth
        queries += word in _QUERIES
    if within or words > extent.words or queries > extent.queries:
        return False, None
    try:
        tree = parse(text)
        return bound(tree, schema).within(extent.size), tree if dialect == "duckdb" else None
    except NotUnderstood as refusal:
        # It is read to here and no further, unless it is another dialect's or DESCRIBE with a query.
        return dialect == "duckdb" and refusal.reason.code != "statement", None
    except RecursionError:
        return False, None


_OPENING = frozenset(["(", "[", "{", "case"])
_CLOSING = frozenset([")", "]", "}", "end"])
_QUERIES = frozenset(["select", "from", "with", "union", "intersect", "except"])


def _words(text: str) -> list[str]:
    """Runs of letters, and single signs: words of comments and texts count as well, on the safe side."""
    words, run = [], ""
    for sign in text.lower():
        if sign.isalnum() or sign == "_":
            run += sign
            continue
        if run:
            words.append(run)
            run = ""
        if not sign.isspace():
            words.append(sign)
    return [*words, run] if run else words


def _plain(parameters: Parameters) -> Parameters:
    """The parameters as plain containers of plain values, so that what is pickled is what is written here.

    Raises:
        NotUnderstood: code "parameters", as binding would say.
    """
    if parameters is None:
        return None
    if isinstance(parameters, Mapping):
        if not all(type(name) is str for name in parameters):
            raise NotUnderstood("parameters", detail="names of parameters must be text")
        return {name: _value(value) for name, value in parameters.items()}
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence):
        raise NotUnderstood("parameters", detail="parameters must be a list or a mapping")
    return [_value(value) for value in parameters]


def _value(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is datetime.datetime and value.tzinfo is not None:
        # Literals say the offset; a zone may be an object of any class.
        offset = value.utcoffset()
        value = value.replace(tzinfo=None if offset is None else datetime.timezone(offset))
    if type(value) not in BOUND or (type(value) is datetime.time and value.tzinfo is not None):
        raise NotUnderstood("parameters", detail=f"a value of type {type(value).__name__} cannot be bound")
    return value


class _Worker:
    """One process, started when needed; asked by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._owner = 0
        self._late = False

    def ask(self, question: tuple[object, ...], seconds: float) -> Plan | Unsupported:
        """The answer to one question, or "too-large"."""
        found: object = None
        for _ in range(2):
            try:
                found = self._answer((seconds, *question), seconds, self._running())
                break
            except (Broken, OSError, EOFError, pickle.UnpicklingError, MemoryError):
                self.stop()
                if self._late:
                    break
                # It was killed from outside, perhaps before it was asked: once more, with another.
            except BaseException:
                # Interrupted between question and answer: the next question must not get this answer.
                self.stop()
                raise
        return found if isinstance(found, Plan | Unsupported) else NotUnderstood("too-large").reason

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and self._owner == os.getpid() and process.poll() is None:
            return process
        for _ in range(STARTS - 1):
            # a start may fail where memory or time is short for a moment; the statement is not to blame
            with contextlib.suppress(Broken, OSError):
                return self._started()
        return self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        self.stop()
        self._folder = tempfile.mkdtemp(prefix="cae-sql-")
        process = isolated.start(__name__, self._folder)
        self._process, self._owner = process, os.getpid()
        if self._answer(isolated.packages(_LIBRARIES), STARTING, process) != _READY:
            raise Broken
        # Gone from the disk where the system allows it, and still the worker's: nobody puts anything there.
        isolated.remove(self._folder)
        return process

    def _answer(self, question: object, seconds: float, process: subprocess.Popen[bytes]) -> object:
        assert process.stdin is not None
        assert process.stdout is not None
        # Killing is what ends a wait for a pipe on every platform.
        killed = threading.Event()

        self._late = False

        def kill() -> None:
            self._late = True
            killed.set()
            process.kill()

        killer = threading.Timer(seconds, kill)
        killer.daemon = True
        killer.start()
        try:
            write(process.stdin.fileno(), question)
            return read(process.stdout.fileno())
        finally:
            killer.cancel()
            # It may be killing just now: the next question must find a dead worker, not a dying one.
            killer.join()
            if killed.is_set():
                process.wait()

    def stop(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        folder, self._folder = self._folder, ""
        if process is None:
            return
        if self._owner == os.getpid():
            process.kill()
            process.wait()
            isolated.remove(folder)
        else:
            # After a fork the process is the parent's; only the copies of its pipes are this one's.
            process.returncode = 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class _Pool:
    """The workers; who finds none free waits."""

    def __init__(self) -> None:
        self._free: queue.LifoQueue[_Worker] = queue.LifoQueue()
        self._all = [_Worker() for _ in range(WORKERS)]
        for worker in self._all:
            self._free.put(worker)

    def ask(self, question: tuple[object, ...], seconds: float) -> Plan | Unsupported:
        """The answer of a worker that is free."""
        free = self._free
        worker = free.get()
        try:
            return worker.ask(question, seconds)
        finally:
            free.put(worker)

    def close(self) -> None:
        """End every process."""
        for worker in self._all:
            worker.stop()

    def forked(self) -> None:
        """In a child: let go of the parent's workers, whatever its other threads were doing with them."""
        self.close()
        self.__init__()  # type: ignore[misc]


_READY = "ready"


def serve() -> None:
    """The worker's part: answer until the pipe is closed. Called in a process of its own alone."""
    questions, answers = isolated.pipes()
    _limit_memory()
    sys.setrecursionlimit(_STACK)
    write(answers, _READY)
    with contextlib.suppress(Broken, BrokenPipeError):
        while True:
            seconds, *question = read(questions)
            # Should whoever asked be dead, nobody else ends this.
            _alarm(math.ceil(seconds) + 1)
            write(answers, understand_here(*question))
            _alarm(0)


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _limit_memory() -> None:
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


_POOL = _Pool()
atexit.register(_POOL.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forked)
