"""Decisions wait for each other, fairly; what is known waits for nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate
from auditor.data.database import Asked
from auditor.gate.request import Ask
from auditor.gate.turns import Turns
from tests.auditor.staff import build, entries, people, policy
from tests.clocks import PATIENCE

TOTAL = "SELECT sum(salary) FROM staff"
YOUNG = "SELECT sum(salary) FROM staff WHERE age < 40"


class Queue:
    """Threads that wait for a turn, in the order in which they had it."""

    def __init__(self) -> None:
        self.turns, self.had, self.threads = Turns(), list[str](), list[threading.Thread]()

    def ask(self, user: str) -> int:
        """Begin to wait; gives the thread."""

        def wait() -> None:
            with self.turns.turn(user):
                self.had.append(user)

        thread = threading.Thread(target=wait)
        self.threads.append(thread)
        thread.start()
        assert thread.ident is not None
        while thread.is_alive() and self.turns.ahead(thread.ident) is None:
            pass
        return thread.ident


def test_between_two_turns_of_one_user_each_other_who_waits_has_one() -> None:
    queue = Queue()
    with queue.turns.turn("first"):
        asked = [queue.ask(user) for user in ("ana", "ana", "ana", "ana", "bob", "bob", "cy")]
        ahead = [queue.turns.ahead(thread) for thread in asked]
        assert queue.turns.ahead(threading.get_ident()) == 0
    for thread in queue.threads:
        thread.join(PATIENCE)
    assert queue.had == ["ana", "bob", "cy", "ana", "bob", "ana", "ana"]
    assert ahead == [1, 4, 6, 7, 2, 5, 3]
    assert queue.turns.ahead(asked[0]) is None


def test_who_fails_while_having_a_turn_passes_it_on() -> None:
    queue = Queue()
    with pytest.raises(KeyboardInterrupt), queue.turns.turn("ana"):
        raise KeyboardInterrupt
    queue.ask("bob")
    queue.threads[0].join(PATIENCE)
    assert queue.had == ["bob"]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate.open(build(tmp_path / "staff.duckdb", people(60)), policy()) as opened:
        yield opened


class Deciding:
    """A decision that goes on until it is let go."""

    def __init__(self, gate: Gate, monkeypatch: pytest.MonkeyPatch, sql: str = YOUNG) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        real = Gate._decide

        def decide(*args: object) -> object:
            self.begun.set()
            assert self.go.wait(PATIENCE)
            return real(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(Gate, "_decide", decide)
        self.thread = threading.Thread(target=lambda: gate.execute(sql, user="slow"))
        self.thread.start()
        assert self.begun.wait(PATIENCE)

    def end(self) -> None:
        self.go.set()
        self.thread.join(PATIENCE)


def test_what_is_known_or_public_is_answered_while_somebody_elses_statement_is_decided(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (told,) = gate.execute(TOTAL).fetchone()
    deciding = Deciding(gate, monkeypatch)
    try:
        assert gate.execute(TOTAL).decision.code == "known"
        # in other words: its text is not remembered, what it asks is on record
        again = gate.execute("SELECT 2 * sum(salary) FROM staff WHERE id >= 0", user="other")
        assert (again.decision.code, again.fetchall()) == ("known", [(2 * told,)])
        assert gate.execute("SELECT count(*) FROM staff").decision.code == "public"
        assert deciding.thread.is_alive()
    finally:
        deciding.end()
    assert [entry.code for entry in entries(gate)] == ["answered", "known", "known", "public", "answered"]


def test_what_is_accepted_and_not_on_record_yet_is_known_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are accepted one by one before all are recorded: another user must not be told meanwhile."""
    real, seen = Gate._in_words, list[object]()

    def in_words(self: Gate, ask: object, asked: list[Asked], *more: object) -> object:
        assert self._knowledge.of("slow").settled([asked[0]]) is not None
        seen.append(self._knowledge.at_a_glance("other", [asked[0]]))
        return real(self, ask, asked, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Gate, "_in_words", in_words)
    suppressing = policy('[decision]\npartial = "suppress"')
    with Gate.open(build(tmp_path / "staff.duckdb", people(60)), suppressing) as gate:
        gate.execute(TOTAL)
        gate.execute("SELECT dept, sum(salary) FROM staff GROUP BY dept", user="slow")
        assert seen == [None]
        (asked,) = gate._knowledge.laid(
            gate._asked(gate._understood(Ask("SELECT sum(salary) FROM staff WHERE dept = 'a'", None, "x")))
        )
        assert gate._knowledge.at_a_glance("other", [asked]) is not None
