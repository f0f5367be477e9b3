"""What a statement may take while it runs: seconds, rows, bytes and memory; each ends with a fixed error."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from auditor.data.database import Database, Limits, StatementFailed, TooMuch, TooSlow
from auditor.data.running import Room
from tests.auditor.sql.gate_double import Protection, answer, make, understood
from tests.clocks import PATIENCE, soon
from tests.quick import some

ROWS = 1_000_000
BIG = f"""
CREATE TABLE people AS
    SELECT i AS id, i % 1000 AS age, 'a' || i AS name, i % 97 AS pay FROM range({ROWS}) t(i);
CREATE TABLE numbers AS SELECT i AS n, 'b' || i AS s FROM range({ROWS}) t(i);
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = make(tmp_path_factory.mktemp("running") / "big.duckdb", BIG)
    protection = Protection("people", "pay", ["id", "age", "name"], None)
    with Database.open(path, [protection], public_tables=["numbers"], memory_limit="600MB") as database:
        yield database


@pytest.fixture
def database(opened: Database) -> Database:
    opened.limits = Limits()
    return opened


def run(database: Database, sql: str) -> object:
    """The table, or the type of the failure."""
    plan = understood(database, sql)
    try:
        return answer(database, plan)
    except StatementFailed as failure:
        said = (str(failure), failure.__cause__, failure.__context__)
        if said != ("the statement failed while it ran", None, None):
            pytest.fail(f"an error with another text or a cause: {said}")
        return type(failure)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    some(
        [
            "SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 1",
            # no two squares add up to 7; a filter that ranges of values exclude would not be run at all
            "SELECT a.n + b.n FROM numbers a, numbers b WHERE a.n * a.n + b.n * b.n = 7",
            "SELECT SUM(a.n * b.n) FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c",
            "SELECT SUM(pay) FROM people WHERE id IN (SELECT a.n * b.n % 1000 FROM numbers a, numbers b)",
            "SELECT MAX(p) FROM (SELECT SUM(pay) AS p FROM people), numbers a, numbers b WHERE a.n * b.n > p",
        ],
        1,
    ),
)
def test_a_million_rows_squared_end_when_time_is_up(database: Database, sql: str) -> None:
    database.limits = Limits(seconds=1)
    assert run(database, sql) is TooSlow


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    some(
        [
            "SELECT a.n, b.s FROM numbers a, numbers b ORDER BY b.s, a.n",
            "SELECT a.n, b.n, COUNT(*) FROM numbers a, numbers b GROUP BY a.n, b.n",
            "SELECT DISTINCT a.n + b.n, a.s || b.s FROM numbers a, numbers b",
        ],
        1,
    ),
)
def test_memory_is_bounded(database: Database, sql: str) -> None:
    before = peak()
    assert run(database, sql) is TooMuch
    assert peak() - before < 1500


@pytest.mark.slow
def test_a_result_with_too_many_rows_is_given_up_early(database: Database) -> None:
    before = peak()
    assert run(database, "SELECT a.n, b.s FROM numbers a, numbers b") is TooMuch
    assert peak() - before < 600


@pytest.mark.parametrize(("rows", "fits"), [(100, True), (99, False)])
def test_rows_at_the_edge(database: Database, rows: int, fits: bool) -> None:
    database.limits = Limits(rows=rows)
    result = run(database, "SELECT n FROM numbers WHERE n < 100")
    assert (result is not TooMuch) is fits


def test_bytes_at_the_edge(database: Database) -> None:
    sql = "SELECT n FROM numbers WHERE n < 1000"
    table = run(database, sql)
    size = table.nbytes  # type: ignore[attr-defined]
    database.limits = Limits(bytes=size)
    assert run(database, sql) is not TooMuch
    database.limits = Limits(bytes=size - 1)
    assert run(database, sql) is TooMuch


def test_what_others_fetch_counts_as_long_as_they_fetch_it(database: Database) -> None:
    sql = "SELECT n FROM numbers WHERE n < 1000"
    table = run(database, sql)
    room = Room(2 * table.nbytes)  # type: ignore[attr-defined]
    database.limits = Limits(room=room)
    for _ in range(5):  # what was fetched is given back
        assert run(database, sql) is not TooMuch
    assert room.take(table.nbytes)  # type: ignore[attr-defined]
    assert run(database, sql) is not TooMuch
    assert room.take(1)
    assert run(database, sql) is TooMuch
    assert not room.take(table.nbytes)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_groups_count_as_well(database: Database) -> None:
    sql = "SELECT MAX(s) FROM (SELECT age, SUM(pay) AS s FROM people GROUP BY age)"
    database.limits = Limits(rows=999)
    assert run(database, sql) is TooMuch
    database.limits = Limits(rows=1000)
    assert run(database, sql) is not TooMuch


@pytest.mark.parametrize("stop", ["time", "memory", "nothing known"])
def test_a_result_that_breaks_off_in_the_middle(
    database: Database, monkeypatch: pytest.MonkeyPatch, stop: str
) -> None:
    from auditor.data import running

    class Broken:
        schema = None

        def __iter__(self) -> Iterator[object]:
            if stop == "time":
                assert soon(lambda: watches[-1].expired)
            raise OSError({"memory": "Out of Memory Error: 2 KiB", "time": "Interrupted!"}.get(stop, "'7'"))

    class Cursor:
        def sql(self, text: str) -> Cursor:
            return self

        def to_arrow_reader(self, rows: int) -> Broken:
            return Broken()

    watches: list[running.Watch] = []

    class Noted(running.Watch):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            watches.append(self)

    original = running.fetch
    monkeypatch.setattr(running, "Watch", Noted)
    monkeypatch.setattr(
        "auditor.data.database.fetch", lambda cursor, sql, limits: original(Cursor(), sql, limits)
    )  # type: ignore[arg-type]
    database.limits = Limits(seconds=0.2 if stop == "time" else PATIENCE)
    expected = {"time": TooSlow, "memory": TooMuch}.get(stop, StatementFailed)
    assert run(database, "SELECT n FROM numbers") is expected


@pytest.mark.slow
def test_a_statement_after_one_that_was_stopped_is_answered(database: Database) -> None:
    database.limits = Limits(seconds=0.3)
    assert run(database, "SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 1") is TooSlow
    database.limits = Limits(seconds=PATIENCE)
    table = run(database, "SELECT SUM(pay) FROM people")
    assert table is not TooSlow
    assert not [thread for thread in threading.enumerate() if thread.name == "statement-watch"]


@pytest.mark.slow
def test_other_statements_are_not_stopped(database: Database) -> None:
    plan = understood(database, "SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 1")
    failures: list[type] = []

    def slow() -> None:
        try:
            database.run_public(plan)
        except StatementFailed as failure:
            failures.append(type(failure))

    database.limits = Limits(seconds=1.5)
    thread = threading.Thread(target=slow)
    thread.start()
    assert soon(lambda: database._cursors)
    database.limits = replace(database.limits, seconds=PATIENCE)
    while thread.is_alive():
        assert not isinstance(run(database, "SELECT COUNT(*) FROM numbers WHERE n < 10"), type)
    thread.join()
    assert failures == [TooSlow]


def test_cancelling_is_not_slowness(database: Database) -> None:
    plan = understood(database, "SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 1")
    database.limits = Limits(seconds=PATIENCE)
    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.05):  # DuckDB forgets an interrupt that comes before a query
            database.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(StatementFailed) as caught:
        database.run_public(plan)
    done.set()
    thread.join()
    assert type(caught.value) is StatementFailed


def test_time_is_up_before_the_query_begins(database: Database) -> None:
    database.limits = Limits(seconds=0.0)
    failure = run(database, "SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 1")
    assert failure is TooSlow


def test_an_interrupt_before_a_query_is_forgotten_by_duckdb() -> None:
    # Why the watch repeats itself.
    with duckdb.connect(":memory:") as connection:
        connection.interrupt()
        assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_large_enough_answers_pass(database: Database, tmp_path: Path) -> None:
    table = run(database, "SELECT n, s FROM numbers WHERE n < 500000")
    assert table.num_rows == 500_000  # type: ignore[attr-defined]
