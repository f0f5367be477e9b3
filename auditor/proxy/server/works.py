"""Statements in work: what the gate decides goes on without its client, and is not queued twice.

A dashboard that is loaded again asks again what is still being decided. Whoever asks the same waits for that
one, and then asks the gate, which knows by then what it says. Whose time is up is told how many decisions
come before it; the work is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

from auditor.proxy.protocol.sqlstate import ErrorFields, working
from auditor.proxy.session.steps import Job

Outcome = tuple[object, Exception | None]


@dataclass(eq=False)
class Work:
    """One job, in a thread."""

    job: Job
    future: Future[Outcome] = field(init=False)
    thread: int = 0
    """That runs it; 0 before and after."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held where `thread` must not change."""


class Works:
    """The jobs of all clients of one server."""

    def __init__(
        self, pool: Executor, interrupt: Callable[[int], None], ahead: Callable[[int], int | None], most: int
    ) -> None:
        """None yet.

        Args:
            pool: Threads.
            interrupt: Interrupts what a thread runs in the database.
            ahead: How many decisions come before a thread's own; None where it waits for none.
            most: Of one user, that may go on without their clients.
        """
        self._pool, self._interrupt, self._ahead, self._most = pool, interrupt, ahead, most
        self._lock = threading.Lock()
        self._named: dict[Hashable, Work] = {}
        self._left: set[Work] = set()

    def begin(self, job: Job) -> Work:
        """Run a job in a thread."""
        work = Work(job)
        with self._lock:
            if job.asks is not None:
                self._named.setdefault(job.asks, work)
        work.future = self._pool.submit(self._done, work)
        work.future.add_done_callback(lambda _: self._ended(work))
        return work

    def same(self, job: Job) -> Work | None:
        """What asks the same and is being decided, or waits to be."""
        work = None if job.asks is None else self._named.get(job.asks)
        return work if work is not None and self.decides(work) is not None else None

    def decides(self, work: Work) -> ErrorFields | None:
        """What is said of a work that is being decided, or waits to be; None of others."""
        ahead = self._ahead(work.thread) if work.thread else None
        return None if ahead is None else working(ahead)

    def leave(self, work: Work) -> ErrorFields | None:
        """Let what is being decided go on without its client; None where it is to be stopped."""
        said = self.decides(work)
        if said is None or work.job.asks is None:
            return None
        with self._lock:
            mine = sum(each.job.user == work.job.user for each in self._left)
            if mine >= self._most or work.future.done():
                return None
            self._left.add(work)
        return said

    def stop(self, work: Work) -> None:
        """Interrupt the thread of a work, and nothing that it runs after it."""
        with work.lock:
            if work.thread:
                self._interrupt(work.thread)

    def _done(self, work: Work) -> Outcome:
        """What it raises is given back: asyncio would print what nobody asks for."""
        work.thread = threading.get_ident()
        try:
            return work.job.work(), None
        except Exception as error:  # noqa: BLE001 -- raised again where the session waits for it
            return None, error
        finally:
            with work.lock:
                work.thread = 0

    def _ended(self, work: Work) -> None:
        with self._lock:
            self._left.discard(work)
            if self._named.get(work.job.asks) is work:
                del self._named[work.job.asks]
