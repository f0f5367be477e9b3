"""Cancel, time limits and lost clients in the midst of recording: what was received is on record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auditor.ledger import Ledger
from tests.auditor.proxy.serving import Running, running
from tests.auditor.staff import NEEDED, OUTSIDERS, Intruder
from tests.clocks import PATIENCE

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")


class Held:
    """Holds the thread that records a statement, before or after, until it is let go."""

    def __init__(self) -> None:
        self.moment = ""
        self.reached, self.go = threading.Event(), threading.Event()

    @contextmanager
    def at(self, moment: str) -> Iterator[threading.Event]:
        """Hold the next one at a moment; gives the event that it is there."""
        self.reached.clear()
        self.go.clear()
        self.moment = moment
        try:
            yield self.reached
        finally:
            self.moment = ""
            self.go.set()

    def passes(self, moment: str) -> None:
        """A thread comes to a moment."""
        if moment == self.moment:
            self.reached.set()
            assert self.go.wait(PATIENCE)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    made, real = Held(), Ledger.append

    def append(self: Ledger, **entry: Any) -> Any:
        made.passes("before")
        found = real(self, **entry)
        made.passes("after")
        return found

    monkeypatch.setattr(Ledger, "append", append)
    return made


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


def cancelled(connection: Any, sql: str, reached: threading.Event) -> None:
    """`cancel_safe` uses a connection of its own; nothing else is for one that another thread is using."""

    def cancel() -> None:
        if reached.wait(PATIENCE):
            connection.cancel_safe()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
        connection.execute(sql)
    thread.join()


def late(connection: Any, sql: str, reached: threading.Event) -> None:
    connection.execute("SET statement_timeout = 300")
    with pytest.raises(psycopg.errors.LockNotAvailable, match="being worked on"):
        connection.execute(sql)
    connection.execute("SET statement_timeout = 0")


def lost(connection: Any, sql: str, reached: threading.Event) -> None:
    connection.pgconn.send_query(sql.encode())
    connection.pgconn.flush()
    assert reached.wait(PATIENCE)
    connection.pgconn.finish()


@pytest.mark.slow
@pytest.mark.parametrize("stopped", [cancelled, late, lost])
def test_what_was_received_is_on_record_whenever_it_was_stopped(
    tmp_path: Path, held: Held, stopped: Callable[[Any, str, threading.Event], None]
) -> None:
    received: dict[str, Any] = {}

    def ask(connection: Any, sql: str) -> None:
        try:
            received[sql] = connection.execute(sql).fetchone()[0]
        except psycopg.errors.InsufficientPrivilege:
            assert sql not in received

    with running(tmp_path, tls=False, more=OUTSIDERS) as server:
        for number, moment in enumerate(["before", "after", "never"] * 4):
            sql = f"SELECT SUM(salary) FROM staff WHERE age <> {20 + number} AND id >= {number % 3 * 5}"
            with connect(server) as connection:
                if moment != "never":
                    with held.at(moment) as reached:
                        stopped(connection, sql, reached)
                if not connection.closed:  # the session lives on, and what was decided stays decided
                    ask(connection, sql)
        history = server.gate.history()
        recorded = set(history[history["verdict"] == "answered"]["sql"])
        assert received
        assert set(received) <= recorded
        for sql, value in received.items():
            assert server.gate.execute(sql).fetchone() == (value,)
        intruder = Intruder(60)
        intruder.reads(server.gate)
        assert intruder.narrowest() >= NEEDED
        assert server.gate.verify().problems == ()
        assert server.events("internal error") == []
