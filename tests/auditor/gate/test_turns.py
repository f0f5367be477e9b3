"""Decisions that touch each other wait for each other, fairly; others run side by side; what is known waits
for nobody."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate, LedgerError
from auditor.data.database import Asked
from auditor.gate import turns as turns_of_a_gate
from auditor.gate.request import Ask
from auditor.gate.turns import Shared, Turns
from auditor.ledger import Ledger
from tests.auditor.ledger.test_ledger import BINDING
from tests.auditor.staff import build, entries, people, policy
from tests.clocks import PATIENCE
from tests.quick import rounds

TOTAL = "SELECT sum(salary) FROM staff"
YOUNG = "SELECT sum(salary) FROM staff WHERE age < 40"


class Queue:
    """Threads that wait for a turn, in the order in which they had it."""

    def __init__(self) -> None:
        self.turns, self.had, self.threads = Turns(), list[str](), list[threading.Thread]()
        self.touched = list[frozenset[str] | None]()
        """By each that had a turn, as `had`."""

    def ask(self, user: str, touched: frozenset[str] | None = None) -> int:
        """Begin to wait; gives the thread."""

        def wait() -> None:
            with self.turns.turn(user, touched):
                self.had.append(user)
                self.touched.append(touched)

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


def test_decisions_that_do_not_touch_each_other_run_at_once_and_nobody_is_overtaken_by_one_that_touches() -> (
    None
):
    queue, salary, bonus = Queue(), frozenset(["salary"]), frozenset(["bonus"])
    with queue.turns.turn("first", salary):
        waiting = queue.ask("ana", salary)
        both = queue.ask("bob", salary | bonus)
        other = queue.ask("cy", bonus)
        assert [queue.turns.ahead(each) for each in (waiting, both, other)] == [1, 2, 1]
        assert queue.had == []
        # of another column alone: it would overtake nobody that it touches
        queue.ask("dan", frozenset(["profit"]))
        queue.threads[-1].join(PATIENCE)
        assert queue.had == ["dan"]
    for thread in queue.threads:
        thread.join(PATIENCE)
    assert queue.had == ["dan", "ana", "bob", "cy"]


def test_nobody_is_overtaken_without_end_by_what_others_ask_later() -> None:
    """Each turn about another column put off what its user had asked before: 100 others went first."""
    queue, salary, bonus = Queue(), frozenset(["salary"]), frozenset(["bonus"])
    with queue.turns.turn("first", salary):
        for user in ("ana", "bob", "cy"):
            queue.ask(user, salary)
        for _ in range(3):
            queue.ask("ana", bonus)
            queue.threads[-1].join(PATIENCE)
        for user in ("bob", "cy"):
            queue.ask(user, salary)
    for thread in queue.threads:
        thread.join(PATIENCE)
    about = [user for user, each in zip(queue.had, queue.touched, strict=True) if each == salary]
    assert about == ["ana", "bob", "cy", "bob", "cy"]


def test_no_more_decide_at_once_than_may() -> None:
    queue = Queue()
    queue.turns = Turns(2)
    with queue.turns.turn("first", frozenset(["a"])), queue.turns.turn("second", frozenset(["b"])):
        third = queue.ask("ana", frozenset(["c"]))
        assert queue.turns.ahead(third) == 1
        assert queue.had == []
    queue.threads[0].join(PATIENCE)
    assert queue.had == ["ana"]


@pytest.mark.parametrize("seed", range(4))
def test_random_decisions_never_touch_each_other_and_all_come_to_their_turn(seed: int) -> None:
    chance, turns, inside, met = random.Random(seed), Turns(3), Counter[str](), list[bool]()
    lock, deciding, most = threading.Lock(), [0], [0]

    def decide(user: str, touched: frozenset[str] | None) -> None:
        with turns.turn(user, touched):
            with lock:
                met.append(any(inside[name] for name in touched or "abcd"))
                inside.update(touched or "abcd")
                deciding[0] += 1
                most[0] = max(most[0], deciding[0])
            time.sleep(0.001)
            with lock:
                inside.subtract(touched or "abcd")
                deciding[0] -= 1

    threads = [
        threading.Thread(
            target=decide,
            args=(
                chance.choice("xyz"),
                None if chance.random() < 0.1 else frozenset(chance.sample("abcd", chance.choice([1, 1, 2]))),
            ),
        )
        for _ in range(rounds(100))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert met == [False] * len(threads)
    assert most[0] > 1


def test_a_lock_is_held_together_until_the_last_lets_go_and_others_get_it_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_of_a_gate, "TOGETHER", 0.05)
    with (
        Ledger.open(tmp_path / "x", BINDING) as one,
        Ledger.open(tmp_path / "x", BINDING) as two,
    ):
        shared = Shared(one.deciding)
        first, second = shared.held(), shared.held()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        with pytest.raises(LedgerError, match="have been deciding"), two.deciding(timeout=0.02):
            pass
        time.sleep(0.06)
        order, late = list[str](), threading.Thread(target=lambda: _note(shared, order))
        late.start()  # it may join no more
        other = threading.Thread(target=lambda: _note(Shared(two.deciding), order))
        other.start()
        time.sleep(0.05)
        assert order == []
        second.__exit__(None, None, None)
        late.join(PATIENCE)
        other.join(PATIENCE)
        assert len(order) == 2
        with two.deciding(timeout=1):
            pass


def _note(shared: Shared, order: list[str]) -> None:
    with shared.held():
        order.append("had it")


@pytest.mark.parametrize("where", ["start", "known", "join"])
def test_an_interrupt_while_the_lock_is_taken_or_let_go_keeps_nobody_waiting(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(tmp_path / "x", BINDING) as one, Ledger.open(tmp_path / "x", BINDING) as two:
        shared = Shared(one.deciding)
        owner, name = {
            "start": (threading.Thread, "start"),
            "known": (threading.Event, "wait"),
            "join": (threading.Thread, "join"),
        }[where]
        real, struck, mine = getattr(owner, name), list[bool](), threading.get_ident()

        def interrupted(self: object, *more: object) -> object:
            found = real(self, *more)
            if threading.get_ident() == mine and not struck:
                struck.append(True)
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt), shared.held():
            pass
        monkeypatch.undo()
        assert struck
        with two.deciding(timeout=10):
            pass
        with shared.held():
            pass


def test_who_cannot_have_the_lock_is_told_why_and_the_next_one_tries_again(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "x", BINDING) as one, Ledger.open(tmp_path / "x", BINDING) as two:
        shared = Shared(lambda: two.deciding(timeout=0.02))
        with one.deciding(), pytest.raises(LedgerError, match="have been deciding"), shared.held():
            pass
        with shared.held():
            pass


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
