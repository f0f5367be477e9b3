"""Who decides next: users take turns, and decisions that cannot touch each other run side by side.

Two decisions touch each other where they are about one protected column and count for one party. Whoever asks
ten things at once about a column waits for nine of them; another user's first question waits for one, and a
question about another column, or another party's, for none.

Promise: no two decisions that touch each other run at once; between two of a user's own questions each other
user who waits has one turn; and nobody overtakes a question that touches his own.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from time import monotonic

Touched = AbstractSet[Hashable] | None
"""What a decision is about; None: it touches every other one."""
TOGETHER = 5.0
"""Seconds for which decisions join others that hold the lock of all processes; then it is let go of once."""


def _meet(one: Touched, other: Touched) -> bool:
    return one is None or other is None or not one.isdisjoint(other)


@dataclass(eq=False)
class _Ticket:
    """Somebody who waits, or decides."""

    user: str
    touched: Touched
    thread: int
    given: threading.Event = field(default_factory=threading.Event)
    """Set once it is their turn."""


class Turns:
    """Turns at deciding; for all threads of one gate."""

    def __init__(self, most: int | None = None) -> None:
        """Nobody waits.

        Args:
            most: How many decide at once at most; by default as many as there are cores, but two.
        """
        self._most = max(2, os.cpu_count() or 1) if most is None else most
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[_Ticket]] = OrderedDict()
        """By user, the user whose turn is next first."""
        self._deciding: list[_Ticket] = []

    @contextmanager
    def turn(self, user: str, touched: Touched = None) -> Iterator[None]:
        """Wait for a turn, and have it. Not again while one has it.

        Args:
            user: Who asks.
            touched: What the decision is about; by default it waits for all others, and they for it.
        """
        ticket = _Ticket(user, touched, threading.get_ident())
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
            if any(ticket.thread == thread for ticket in self._deciding):
                return 0
            before = list(self._deciding)
            for ticket in self._order():
                if ticket.thread == thread:
                    return max(1, sum(_meet(ticket.touched, other.touched) for other in before))
                before.append(ticket)
            return None

    def _order(self) -> list[_Ticket]:
        """Who waits, the next one first: of each user one, and so on."""
        queues = [list(queue) for queue in self._waiting.values()]
        longest = max(map(len, queues), default=0)
        return [queue[place] for place in range(longest) for queue in queues if place < len(queue)]

    def _pass_on(self) -> None:
        """Give turns to those who are next and touch neither who decides nor who waits before them."""
        before = list(self._deciding)
        for ticket in self._order():
            if len(self._deciding) >= self._most:
                return
            if not any(_meet(ticket.touched, other.touched) for other in before):
                self._give(ticket)
            before.append(ticket)

    def _give(self, ticket: _Ticket) -> None:
        queue = self._waiting.pop(ticket.user)
        queue.remove(ticket)
        if queue:
            self._waiting[ticket.user] = queue  # behind all others
        self._deciding.append(ticket)
        ticket.given.set()

    def _leave(self, ticket: _Ticket) -> None:
        if ticket in self._deciding:
            self._deciding.remove(ticket)
        queue = self._waiting.get(ticket.user)
        if queue is not None and ticket in queue:
            queue.remove(ticket)
            if not queue:
                del self._waiting[ticket.user]


class Shared:
    """A lock that decisions side by side hold together, so that those of other processes wait for all.

    A thread of its own takes it and lets it go: who came first may be gone before who came last.
    """

    def __init__(self, lock: Callable[[], AbstractContextManager[None]]) -> None:
        """Hold nothing yet.

        Args:
            lock: Takes it.
        """
        self._lock = lock
        self._changed = threading.Condition()
        self._holders = 0
        self._since = 0.0
        self._let_go: Callable[[], None] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the lock, or join those who have it; raises what taking it does."""
        with self._changed:
            while self._holders and monotonic() - self._since > TOGETHER:
                self._changed.wait()  # others have waited long enough
            if not self._holders:
                self._let_go, self._since = self._taken(), monotonic()
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                if not self._holders and self._let_go is not None:
                    self._let_go()
                    self._changed.notify_all()

    def _taken(self) -> Callable[[], None]:
        """Have the lock taken; what lets it go."""
        let_go, known, errors = threading.Event(), threading.Event(), list[BaseException]()

        def hold() -> None:
            try:
                with self._lock():
                    known.set()
                    let_go.wait()
            except BaseException as error:  # noqa: BLE001 -- raised where somebody waits for the lock
                errors.append(error)
            known.set()

        thread = threading.Thread(target=hold, name="deciding", daemon=True)
        thread.start()

        def end() -> None:
            let_go.set()
            thread.join()

        try:
            known.wait()
        except BaseException:
            let_go.set()  # interrupted: it is let go of as soon as it is taken
            raise
        if errors:
            raise errors[0]
        return end
