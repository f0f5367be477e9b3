"""The log: a line of JSON for each event, whoever reads it, and nobody waits for whoever does not."""

from __future__ import annotations

import json
import threading
import time

from auditor.proxy import observing
from auditor.proxy.observing import Log, Metrics, Watcher


def test_lines_come_in_order_and_all_of_them_before_the_end() -> None:
    lines: list[str] = []
    log = Log(lines.append)
    for number in range(2_000):
        log.write("event", number=number)
    log.close()
    assert [json.loads(line)["number"] for line in lines] == list(range(2_000))
    log.write("after")
    log.close()
    assert json.loads(lines[-1])["event"] == "after"


def test_who_does_not_read_the_log_holds_up_nobody_and_what_was_left_out_is_counted(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(observing, "WAITING", 5)
    free, lines = threading.Event(), list[str]()

    def stuck(line: str) -> None:
        free.wait()
        lines.append(line)

    log = Log(stuck)
    for number in range(100):  # did they wait for the reader, this would never end
        log.write("event", number=number)
    assert lines == []
    free.set()
    while len(lines) < 5:
        time.sleep(0.001)
    log.write("at last")
    log.close(10)
    told = [json.loads(line) for line in lines]
    assert 5 <= len(told) - 1 <= 7
    assert told[-1]["event"] == "at last"
    assert told[-1]["lost"] == 100 - (len(told) - 1)


def test_a_stream_that_is_gone_stops_nothing() -> None:
    def gone(_: str) -> None:
        raise BrokenPipeError

    log = Log(gone)
    log.write("event")
    log.close()
    log.write("event")
    log.close()


def test_a_failure_is_logged_without_its_text() -> None:
    lines: list[str] = []
    log, metrics = Log(lines.append), Metrics()
    watcher = Watcher(log, metrics, 7)
    try:
        raise ValueError("salary of ana: 90")
    except ValueError as error:
        watcher.failed(error)
    log.close()
    assert "ana" not in lines[0]
    assert json.loads(lines[0])["type"] == "ValueError"
    assert "cae_sql_internal_errors_total 1" in metrics.text()


def test_a_statement_about_the_catalogue_that_fails_is_logged_for_debugging_alone() -> None:
    for debug in (True, False):
        lines: list[str] = []
        log = Log(lines.append, debug=debug)
        Watcher(log, Metrics(), 7).unanswered("ana", "SELECT nothing() FROM pg_class", "why")
        log.close()
        found = [json.loads(line) for line in lines]
        assert [(each["user"], each["statement"], each["level"]) for each in found] == (
            [("ana", "SELECT nothing() FROM pg_class", "debug")] if debug else []
        )
