"""Who decides next: users take turns, and decisions that cannot touch each other run side by side.

Two decisions touch each other where they are about one protected column and count for one party. Whoever asks
ten things at once about a column waits for nine of them; another user's first question waits for one, and a
question about another column, or another party's, for none.

Each question gets a rank when it comes: one more than that of the last one that was begun, or than that of
its user's last one. The lowest goes first, but for those that touch one that is being decided, or one before.

Promise: no two decisions that touch each other run at once; between two of a user's own questions each other
user who waits has one turn; and a question keeps its rank, so later ones do not overtake it without end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic, sleep

Touched = AbstractSet[Hashable] | None
"""What a decision is about; None: it touches every other one."""
MOST = 2
"""Decisions at once: each shares passes among two cores (`cae_sql.threads`), and the interpreter is one."""
TOGETHER = 20.0
"""Seconds for which decisions join others that hold the lock of all processes; then it is let go of once. Who
waits for it in another process does so for sixty."""
BETWEEN = 0.05
"""Seconds for which it is let go of then: others look for it every hundredth of one."""


def _meet(one: Touched, other: Touched) -> bool:
    return one is None or other is None or not one.isdisjoint(other)


@dataclass(eq=False)
class _Ticket:
    """Somebody who waits, or decides."""

    user: str
    touched: Touched
    rank: int
    thread: int
    given: threading.Event = field(default_factory=threading.Event)
    """Set once it is their turn."""


class Turns:
    """Turns at deciding; for all threads of one gate."""

    def __init__(self, most: int = MOST) -> None:
        """Nobody waits.

        Args:
            most: How many decide at once at most.
        """
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        """The lowest rank first, and of one rank who came first."""
        self._deciding: list[_Ticket] = []
        self._begun = 0
        """The greatest rank of those that were begun."""
        self._last: dict[str, int] = {}
        """By user, the rank of the last question."""

    @contextmanager
    def turn(self, user: str, touched: Touched = None) -> Iterator[None]:
        """Wait for a turn, and have it. Not again while one has it.

        Args:
            user: Who asks.
            touched: What the decision is about; by default it waits for all others, and they for it.
        """
        ticket = _Ticket(user, touched, 0, threading.get_ident())
        try:
            with self._lock:
                ticket.rank = self._last[user] = 1 + max(self._begun, self._last.get(user, 0))
                self._waiting.append(ticket)
                self._waiting.sort(key=lambda each: each.rank)
                self._pass_on()
            ticket.given.wait()
            yield
        finally:
            with self._lock:
                for those in (self._waiting, self._deciding):
                    if ticket in those:
                        those.remove(ticket)
                self._pass_on()

    def ahead(self, thread: int) -> int | None:
        """How many decisions come before a thread's own, 0 while it has its turn; None if it waits not."""
        with self._lock:
            if any(ticket.thread == thread for ticket in self._deciding):
                return 0
            before = list(self._deciding)
            for ticket in self._waiting:
                if ticket.thread == thread:
                    return max(1, sum(_meet(ticket.touched, other.touched) for other in before))
                before.append(ticket)
            return None

    def _pass_on(self) -> None:
        """Give turns to those who are next and touch neither who decides nor who waits before them."""
        before = list(self._deciding)
        for ticket in list(self._waiting):
            if len(self._deciding) >= self._most:
                return
            if not any(_meet(ticket.touched, other.touched) for other in before):
                self._waiting.remove(ticket)
                self._deciding.append(ticket)
                self._begun = max(self._begun, ticket.rank)
                ticket.given.set()
            before.append(ticket)
        if not self._deciding:
            self._begun, self._last = 0, {}  # nobody is there to take turns with


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
        # one of C, within which no signal is handled: a condition's own methods are Python
        self._guard = threading.Lock()
        self._changed = threading.Condition(self._guard)
        self._holders = 0
        self._since = 0.0
        self._holding: tuple[threading.Event, threading.Thread] | None = None
        """What lets the lock go, and who has it."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the lock, or join those who have it; raises what taking it does."""
        joined = False
        try:
            with self._guard:
                while self._holders and monotonic() - self._since > TOGETHER:
                    self._changed.wait()
                if not self._holders:
                    self._take()
                self._holders += 1
                joined = True
            yield
        finally:
            with self._guard:
                self._holders -= joined
                if not self._holders:
                    self._let_go()

    def _take(self) -> None:
        """Have it taken by a thread."""
        let_go, known, errors = threading.Event(), threading.Event(), list[BaseException]()

        def hold() -> None:
            try:
                with self._lock():
                    known.set()
                    let_go.wait()
            except BaseException as error:  # noqa: BLE001 -- raised where somebody waits for the lock
                errors.append(error)
            known.set()

        # noted before it begins: whoever is interrupted from here on lets it go
        self._holding = let_go, threading.Thread(target=hold, name="deciding", daemon=True)
        self._holding[1].start()
        known.wait()
        if errors:
            raise errors[0]
        self._since = monotonic()

    def _let_go(self) -> None:
        if self._holding is None:
            return
        (let_go, thread), self._holding = self._holding, None
        try:
            let_go.set()
            with suppress(RuntimeError):  # it was not begun
                thread.join()
            if monotonic() - self._since > TOGETHER:
                sleep(BETWEEN)
        finally:
            self._changed.notify_all()
