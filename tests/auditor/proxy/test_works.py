"""Dashboards through the proxy: what is decided goes on without its client, and is not queued twice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.gate.gate import Gate
from tests.auditor.proxy.serving import Running, running
from tests.clocks import PATIENCE, soon

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

TOTAL = "SELECT SUM(salary) FROM staff"
YOUNG = "SELECT SUM(salary) FROM staff WHERE age < 40"
OLD = "SELECT SUM(salary) FROM staff WHERE age >= 30"


class Decisions:
    """Holds each decision until it is let go, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = list[str](), threading.Event()
        real = Gate._decide

        def decide(gate: Gate, ask: Any, *more: Any) -> Any:
            self.begun.append(ask.sql)
            assert self.go.wait(PATIENCE)
            return real(gate, ask, *more)

        monkeypatch.setattr(Gate, "_decide", decide)


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Decisions]:
    made = Decisions(monkeypatch)
    yield made
    made.go.set()


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


@pytest.mark.slow
def test_whose_time_is_up_is_told_how_many_come_before_and_asks_again_for_what_was_kept(
    tmp_path: Path, decisions: Decisions
) -> None:
    with running(tmp_path, tls=False) as server, connect(server) as one, connect(server) as two:
        for connection in (one, two):
            connection.execute("SET statement_timeout = 500")
        with pytest.raises(
            psycopg.errors.LockNotAvailable, match=r"^the statement is being worked on"
        ) as first:
            one.execute(YOUNG)
        assert "before it" not in str(first.value)
        assert "code: working" in first.value.diag.message_detail
        assert "it is not begun anew" in str(first.value)
        with pytest.raises(psycopg.errors.LockNotAvailable, match="1 decision comes before it"):
            two.execute(OLD)
        # the connections are free for what is known or public
        assert one.execute("SELECT COUNT(*) FROM staff").fetchone() == (60,)
        for connection in (one, two):  # the same again, from wherever: it is not queued twice
            with pytest.raises(psycopg.errors.LockNotAvailable):
                connection.execute(OLD)
        decisions.go.set()
        two.execute("SET statement_timeout = 0")
        assert two.execute(YOUNG).fetchone() is not None
        assert two.execute(OLD).fetchone() is not None
        assert decisions.begun == [YOUNG, OLD]
        codes = server.gate.history()["code"].tolist()
        assert [codes.count(each) for each in ("answered", "known")] == [2, 2]


@pytest.mark.slow
def test_what_a_client_that_is_gone_has_asked_is_decided_to_its_end_once(
    tmp_path: Path, decisions: Decisions
) -> None:
    with running(tmp_path, tls=False) as server:
        for _ in range(3):
            connection = connect(server)
            connection.pgconn.send_query(YOUNG.encode())
            connection.pgconn.flush()
            assert soon(lambda: decisions.begun == [YOUNG])
            connection.pgconn.finish()
        decisions.go.set()
        assert soon(lambda: "answered" in server.gate.history()["code"].tolist())
        with connect(server) as connection:
            assert connection.execute(YOUNG).fetchone() is not None
        assert decisions.begun == [YOUNG]


@pytest.mark.slow
def test_the_same_asked_twice_at_once_is_decided_once_and_told_twice(
    tmp_path: Path, decisions: Decisions
) -> None:
    told = list[object]()

    def ask(server: Running) -> None:
        with connect(server) as connection:
            told.append(connection.execute(YOUNG).fetchone())

    with running(tmp_path, tls=False) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert soon(lambda: decisions.begun == [YOUNG])
        decisions.go.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert len(told) == 4
        assert len(set(told)) == 1
        assert decisions.begun == [YOUNG]
        assert sorted(server.gate.history()["code"]) == ["answered", "known", "known", "known"]


@pytest.mark.slow
def test_another_user_waits_for_one_decision_and_not_for_all_that_one_user_has_asked(
    tmp_path: Path, decisions: Decisions
) -> None:
    """And a known chart waits for none, however many do."""
    texts = [f"SELECT SUM(salary) FROM staff WHERE age < {age}" for age in range(40, 50)]
    with running(tmp_path, tls=False, per_user=12) as server:
        with connect(server) as connection:
            decisions.go.set()
            total = connection.execute(TOTAL).fetchone()
            decisions.go.clear()
            decisions.begun.clear()

        def ask(user: str, sql: str) -> None:
            refused = contextlib.suppress(psycopg.errors.InsufficientPrivilege)
            with connect(server, user=user) as connection, refused:
                connection.execute(sql)

        threads = [threading.Thread(target=ask, args=("ana", text)) for text in texts]
        for thread in threads:
            thread.start()
        assert soon(lambda: len(decisions.begun) == 1)
        assert soon(lambda: len(server.gate._turns._waiting) == 9)
        threads.append(threading.Thread(target=ask, args=("bob", OLD)))
        threads[-1].start()
        assert soon(lambda: len(server.gate._turns._waiting) == 10)
        with connect(server, user="bob") as connection:
            connection.execute("SET statement_timeout = 20000")
            assert connection.execute(f"{TOTAL} WHERE id >= 0").fetchone() == total
        decisions.go.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert decisions.begun.index(OLD) <= 2
