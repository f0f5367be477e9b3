"""Connections to a ledger file: one that all writers wait for, as many as there are readers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auditor.errors import LedgerError
from auditor.ledger.store import Connections, reading, writing


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "x.db"
    with sqlite3.connect(place) as made:
        made.execute("CREATE TABLE t (n INTEGER)")
        made.execute("PRAGMA journal_mode = WAL")
    made.close()
    return place


def add(connections: Connections, number: int) -> None:
    with writing(connections, durable=False) as connection:
        connection.run("INSERT INTO t (n) VALUES (:n)", {"n": number})


def numbers(file: Path) -> list[int]:
    with reading(Connections(file)) as connection:
        return [row["n"] for row in connection.rows("SELECT n FROM t ORDER BY n")]


def test_a_ledger_file_is_read_and_written_without_sqlalchemy() -> None:
    code = "import sys; import auditor.ledger; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_all_writers_of_one_object_share_one_connection_and_take_turns(file: Path) -> None:
    writer = Connections(file, alone=True)
    with writer.connection() as first:
        raw = first.raw
    threads = [threading.Thread(target=add, args=(writer, number)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(file) == list(range(20))
    with writer.connection() as last:
        assert last.raw is raw


def test_readers_do_not_wait_for_each_other_and_few_connections_are_kept(file: Path) -> None:
    readers = Connections(file)

    def nested(depth: int) -> None:
        if depth:
            with reading(readers) as connection:
                assert connection.rows("SELECT n FROM t") == []
                nested(depth - 1)

    nested(20)
    assert 0 < len(readers._idle) < 20


def test_what_failed_is_undone_and_its_connection_closed(file: Path) -> None:
    writer = Connections(file, alone=True)
    with writer.connection() as connection:
        raw = connection.raw

    def fail(after: str) -> None:
        with writing(writer, durable=False) as connection:
            connection.run("INSERT INTO t (n) VALUES (:n)", {"n": 1})
            connection.run(after)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail("SELECT 1")
    assert raw.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    with pytest.raises(sqlite3.OperationalError, match="absent"):
        fail("INSERT INTO absent (n) VALUES (1)")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        raw.execute("SELECT 1")
    add(writer, 3)
    assert numbers(file) == [3]


def test_what_was_in_use_while_all_were_closed_is_closed_when_it_comes_back(file: Path) -> None:
    writer = Connections(file, alone=True)
    with writer.connection() as used:
        writer.close()
        assert used.value("SELECT count(*) FROM t") == 0
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        used.raw.execute("SELECT 1")
    add(writer, 1)
    assert numbers(file) == [1]


def test_a_file_that_is_missing_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError), Connections(tmp_path / "absent").connection():
        pass
    assert not list(tmp_path.iterdir())


def test_who_could_not_open_the_file_keeps_nobody_waiting(tmp_path: Path, file: Path) -> None:
    absent = tmp_path / "absent"
    writer = Connections(absent, alone=True)
    writer.patience = 0.01
    with pytest.raises(sqlite3.OperationalError) as kept:  # and with it the frames that it came through
        add(writer, 1)
    file.rename(absent)
    add(writer, 2)
    assert numbers(absent) == [2]
    assert kept.tb


class Interrupt:
    """Raises KeyboardInterrupt at the nth line that runs in the store."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame: Any, event: str, argument: object) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename.endswith("store.py") else None

    def _line(self, frame: Any, event: str, argument: object) -> Callable[..., Any]:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt
        return self._line


def interrupted(at: int, connections: Connections) -> Interrupt:
    trace, before = Interrupt(at), sys.gettrace()
    sys.settrace(trace)
    try:
        add(connections, at)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return trace


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupted_at_any_line_a_writer_keeps_nobody_waiting(file: Path) -> None:
    lines = interrupted(0, Connections(file, alone=True)).count
    assert lines > 20
    for at in range(1, lines + 1):
        writer = Connections(file, alone=True)
        writer.patience = 1.0
        interrupted(at, writer)
        other = Connections(file, alone=True)
        add(writer, 1000 + at)
        add(other, 2000 + at)
        writer.close()
        other.close()
    found = set(numbers(file))
    assert {place + at for at in range(1, lines + 1) for place in (1000, 2000)} < found


def test_who_waits_too_long_for_the_writer_is_told_so(file: Path) -> None:
    writer = Connections(file, alone=True)
    writer.patience = 0.01
    with writer.connection(), pytest.raises(LedgerError, match="kept it locked"):
        add(writer, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_connections_of_its_own(file: Path) -> None:
    readers = Connections(file)
    with reading(readers) as connection:
        mine = connection
    readers._idle[0].process += 1  # as if it had been opened by the process that this one was forked from
    with reading(readers) as connection:
        assert connection is not mine
