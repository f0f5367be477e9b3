"""Cancel, time limits and lost clients at any moment of a decision: what was received is on record."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from auditor.ledger import Ledger
from tests.auditor.proxy.serving import Running, running
from tests.auditor.staff import NEEDED, OUTSIDERS, Intruder

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording takes a moment, before and after, so that an interrupt meets it."""
    real = Ledger.append

    def append(self: Ledger, **entry: Any) -> Any:
        time.sleep(0.02)
        found = real(self, **entry)
        time.sleep(0.02)
        return found

    monkeypatch.setattr(Ledger, "append", append)


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


def ask(connection: Any, sql: str, end: float, how: str) -> tuple[str, Any]:
    """What becomes of a statement that is stopped after a while."""
    timer = threading.Timer(end, connection.cancel_safe if how == "cancel" else connection.pgconn.finish)
    if how != "time":
        timer.start()
    try:
        return "answered", connection.execute(sql).fetchone()[0]
    except psycopg.errors.QueryCanceled:
        return "canceled", None
    except psycopg.errors.InsufficientPrivilege:
        return "refused", None
    except psycopg.OperationalError:
        return "lost", None
    finally:
        timer.cancel()


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("how", ["cancel", "time", "lose"])
def test_what_was_received_is_on_record_whenever_it_was_stopped(tmp_path: Path, how: str) -> None:
    rng = random.Random(how)
    received: dict[str, Any] = {}
    seen: set[str] = set()
    with running(tmp_path, tls=False, more=OUTSIDERS) as server:
        for number in range(24):
            sql = f"SELECT SUM(salary) FROM staff WHERE age <> {20 + number} AND id >= {number % 3 * 5}"
            end = rng.choice([0.005, 0.03, 0.06, 0.1, 0.5])
            with connect(server) as connection:
                if how == "time":
                    connection.execute(f"SET statement_timeout = {max(1, int(end * 1000))}")
                verdict, value = ask(connection, sql, end, how)
                seen.add(verdict)
                if verdict == "answered":
                    received[sql] = value
                if verdict == "canceled":  # the session lives on, and what was decided stays decided
                    connection.execute("SET statement_timeout = 0")
                    again, value = ask(connection, sql, 20, "time")
                    assert again in ("answered", "refused")
                    if again == "answered":
                        received[sql] = value
        history = server.gate.history()
        recorded = set(history[history["verdict"] == "answered"]["sql"])
        assert set(received) <= recorded
        assert recorded
        assert {"cancel": "canceled", "time": "canceled", "lose": "lost"}[how] in seen
        for sql, value in received.items():
            assert server.gate.execute(sql).fetchone() == (value,)
        intruder = Intruder(60)
        intruder.reads(server.gate)
        assert intruder.narrowest() >= NEEDED
        assert server.gate.verify().problems == ()
        assert server.events("internal error") == []
