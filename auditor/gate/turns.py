"""Who decides next: one decision at a time, and users take turns.

Whoever asks ten things at once waits for nine of them; another user's first question waits for one.

Promise: between two of a user's own questions each other user who waits has one turn.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class _Ticket:
    """Somebody who waits, or decides."""

    user: str
    thread: int
    given: threading.Event = field(default_factory=threading.Event)
    """Set once it is their turn."""


class Turns:
    """Turns at deciding; for all threads of one gate."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[_Ticket]] = OrderedDict()
        """By user, the user whose turn is next first."""
        self._holder: _Ticket | None = None

    @contextmanager
    def turn(self, user: str) -> Iterator[None]:
        """Wait for a turn, and have it. Not again while one has it."""
        ticket = _Ticket(user, threading.get_ident())
        try:
            with self._lock:
                self._waiting.setdefault(user, deque()).append(ticket)
                self._pass_on()
            ticket.given.wait()
            yield
        finally:
            with self._lock:
                self._leave(ticket)
                self._pass_on()

    def ahead(self, thread: int) -> int | None:
        """How many decisions come before a thread's own, 0 while it has its turn; None if it waits not."""
        with self._lock:
            if self._holder is not None and self._holder.thread == thread:
                return 0
            queues = [list(queue) for queue in self._waiting.values()]
            order = [queue[place] for place in range(max(map(len, queues), default=0))
                     for queue in queues if place < len(queue)]  # fmt: skip
            threads = [ticket.thread for ticket in order]
            return threads.index(thread) + (self._holder is not None) if thread in threads else None

    def _pass_on(self) -> None:
        """Give the turn to who is next, if nobody has it."""
        if self._holder is not None or not self._waiting:
            return
        user, queue = next(iter(self._waiting.items()))
        self._holder = queue.popleft()
        self._waiting.pop(user)
        if queue:
            self._waiting[user] = queue  # behind all others
        self._holder.given.set()

    def _leave(self, ticket: _Ticket) -> None:
        if self._holder is ticket:
            self._holder = None
        queue = self._waiting.get(ticket.user)
        if queue is not None and ticket in queue:
            queue.remove(ticket)
            if not queue:
                del self._waiting[ticket.user]
