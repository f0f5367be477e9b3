"""Statements read in a process of their own: the same plans, and none that lasts or grows."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from auditor.data.database import Database
from auditor.sql import Column, Plan, Schema, Table, Unsupported, sandbox, understand
from auditor.sql.schema import Protected
from tests.auditor.sql.gate_double import ROOT, make, open_staff, statements
from tests.clocks import PATIENCE, at_once, soon
from tests.quick import some

SCHEMA = Schema(
    (Table("staff", (Column("id", "INTEGER"), Column("age", "INTEGER"), Column("hired", "TIMESTAMPTZ"))),),
    (Protected("staff", "salary", "INTEGER"),),
)
LONG = "SELECT SUM(salary) FROM staff WHERE id IN (" + ", ".join(map(str, range(300))) + ")"
# sqlglot tries each of these in two ways: 2 ** 40 attempts.
ENDLESS = "SELECT " + "date (" * 40 + "id" + ")" * 40 + " FROM staff"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    sandbox._POOL.close()


def pids() -> set[int]:
    return {worker._process.pid for worker in sandbox._POOL._all if worker._process is not None}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    return soon(lambda: not alive(pid))


ARRIVED = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
"""For statements that read the clock."""


def in_worker(
    sql: str, parameters: object = None, schema: Schema = SCHEMA, seconds: float = PATIENCE
) -> object:
    given = (sql, sandbox._plain(parameters), schema, "duckdb", False, ARRIVED)  # type: ignore[arg-type]
    return sandbox._POOL.ask(given, seconds)


@pytest.mark.slow
def test_a_worker_says_what_is_said_here(tmp_path: Path) -> None:
    with open_staff(make(tmp_path / "staff.duckdb")) as database:
        for sql in [*statements("understood.sql"), *statements("must_fail.sql")]:
            here = understand(sql, None, database.schema, arrived=ARRIVED)
            assert in_worker(sql, schema=database.schema) == here, sql
    assert len(pids()) == 1


@pytest.mark.slow
def test_usual_statements_need_no_process(tmp_path: Path) -> None:
    database: Database
    with open_staff(make(tmp_path / "staff.duckdb")) as database:
        for sql in statements("understood.sql"):
            if sql.startswith("VALUES"):
                continue  # no query, so its size is not bounded before it is read
            assert sandbox.small(sql, database.schema), sql
            sandbox.understand(sql, None, database.schema)
    assert not pids()


def test_a_long_statement_is_read_apart() -> None:
    assert sandbox.understand(LONG, None, SCHEMA) == understand(LONG, None, SCHEMA)
    assert len(pids()) == 1


@pytest.mark.slow
def test_time_is_up_for_a_statement_that_takes_ages() -> None:
    sandbox.understand(LONG, None, SCHEMA)
    (before,) = pids()
    found = sandbox.understand(ENDLESS, None, SCHEMA, seconds=1)
    assert isinstance(found, Unsupported)
    assert found.code == "too-large"
    assert gone(before)
    assert isinstance(sandbox.understand(LONG, None, SCHEMA), Plan)
    assert before not in pids()


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    some(
        [
            [1, 2.5, "x", None, True],
            [Decimal("1.50"), datetime.date(2020, 1, 1), datetime.time(1, 2), 3, 0.1],
            [float("nan"), -1, "it's", datetime.datetime(2020, 1, 1), 10**30],
            [datetime.datetime(2020, 7, 1, tzinfo=datetime.UTC)] * 5,
            ["\ud800", "\0", "ü", "", "?"],
            [object(), 1, 2, 3, 4],
            [[1], 1, 2, 3, 4],
            [datetime.time(1, tzinfo=datetime.UTC), 1, 2, 3, 4],
            [1, 2, 3, 4],
            "abcde",
            5,
            {"a": 1},
            {1: 1},
        ],
        4,
    ),
    ids=range(13),
)
def test_parameters_mean_the_same_apart(parameters: object) -> None:
    sql = LONG.replace("id IN", "COALESCE(?, ?, ?, ?, ?) IS NULL OR id IN").replace("COALESCE", "CONCAT")
    here = understand(sql, parameters, SCHEMA)  # type: ignore[arg-type]
    there = sandbox.understand(sql, parameters, SCHEMA)  # type: ignore[arg-type]
    assert there == here


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers() -> None:
    for sql in (LONG.replace("id IN", "age > ? OR id IN"), "SELECT SUM(salary) FROM staff WHERE age > ?"):
        assert sandbox.understand(sql, [np.int64(3)], SCHEMA) == understand(sql, [3], SCHEMA)


class Zone(datetime.tzinfo):
    """A client's own class; pickling it by name would import its module."""

    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=2)

    def dst(self, when: datetime.datetime | None) -> None:
        return None

    def tzname(self, when: datetime.datetime | None) -> str:
        return "x"

    def __reduce__(self) -> tuple[object, ...]:
        return (os._exit, (7,))


class Text(str):
    def __reduce__(self) -> tuple[object, ...]:
        return (os._exit, (7,))


@pytest.mark.slow
def test_only_plain_values_are_handed_on() -> None:
    sql = LONG.replace("WHERE", "WHERE hired > ? AND")
    when = datetime.datetime(2020, 1, 1, tzinfo=Zone())
    assert sandbox.understand(sql, [when], SCHEMA) == understand(sql, [when], SCHEMA)
    assert isinstance(understand(sql, [when], SCHEMA), Plan)
    for parameters in ([Text("2020-01-01")], {Text("a"): 1}):
        found = sandbox.understand(sql.replace("?", "$a"), parameters, SCHEMA)  # type: ignore[arg-type]
        assert isinstance(found, Unsupported)
        assert found.code == "parameters"


@pytest.mark.slow
def test_a_worker_that_was_killed_is_replaced() -> None:
    sandbox.understand(LONG, None, SCHEMA)
    (pid,) = pids()
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert isinstance(sandbox.understand(LONG, None, SCHEMA), Plan)


@pytest.mark.slow
def test_a_worker_that_dies_at_work_is_too_large() -> None:
    sandbox.understand(LONG, None, SCHEMA)
    (pid,) = pids()
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    found = sandbox.understand(ENDLESS, None, SCHEMA, seconds=5)
    assert isinstance(found, Unsupported)
    assert found.code == "too-large"


@pytest.mark.slow
def test_many_threads_get_each_their_own_answer() -> None:
    texts = [LONG.replace("SUM(salary)", f"SUM(salary) + {number}") for number in range(12)]
    expected = [understand(text, None, SCHEMA) for text in texts]
    found: list[object] = [None] * len(texts)

    def ask(number: int) -> None:
        found[number] = sandbox.understand(texts[number], None, SCHEMA, seconds=30)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
    assert 1 <= len(pids()) <= sandbox.WORKERS


@pytest.mark.slow
def test_a_slow_statement_leaves_room_for_others() -> None:
    for _ in range(2):
        sandbox.understand(LONG, None, SCHEMA)
    slow = threading.Thread(target=sandbox.understand, args=(ENDLESS, None, SCHEMA), kwargs={"seconds": 600})
    slow.start()
    assert soon(lambda: sandbox._POOL._free.qsize() < sandbox.WORKERS)
    assert isinstance(sandbox.understand(LONG, None, SCHEMA), Plan)
    assert slow.is_alive()
    while slow.is_alive():
        # a statement whose worker was killed is tried once more
        sandbox._POOL.close()
        slow.join(0.2)


def run(script: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd or ROOT,
    )


START = f"""
import os, sys
from auditor.sql import Column, Plan, Schema, Table
from auditor.sql import sandbox
from auditor.sql.schema import Protected
SCHEMA = Schema((Table("staff", (Column("id", "INTEGER"),)),), (Protected("staff", "salary", "INTEGER"),))
LONG = {LONG!r}
ENDLESS = {ENDLESS!r}
print(type(sandbox.understand(LONG, None, SCHEMA)).__name__, flush=True)
pid = [worker._process.pid for worker in sandbox._POOL._all if worker._process][0]
"""


@pytest.mark.slow
def test_a_worker_ends_with_who_asked() -> None:
    for ending in ("", "os._exit(1)", "os.kill(os.getpid(), 9)"):
        done = run(START + f"print(pid, flush=True)\n{ending}")
        name, pid = done.stdout.split()
        assert name == "Plan"
        assert gone(int(pid))


@pytest.mark.slow
def test_a_worker_at_work_ends_after_who_asked_was_killed() -> None:
    script = START + (
        "import threading, time\n"
        "asked = (ENDLESS, None, SCHEMA, 'duckdb', 1)\n"
        "threading.Thread(target=sandbox.understand, args=asked, daemon=True).start()\n"
        "time.sleep(0.5)\nprint(pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    assert gone(int(run(script).stdout.split()[1]))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_has_workers_of_its_own() -> None:
    script = START + (
        "child = os.fork()\n"
        "found = sandbox.understand(LONG, None, SCHEMA)\n"
        "now = [worker._process.pid for worker in sandbox._POOL._all if worker._process][0]\n"
        "if not child:\n"
        "    os._exit(0 if isinstance(found, Plan) and now != pid else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), now == pid)"
    )
    assert run(script).stdout.split() == ["Plan", "0", "True"]


@pytest.mark.slow
def test_a_worker_imports_from_where_this_process_did(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "auditor", tmp_path / "elsewhere" / "auditor")
    with (tmp_path / "elsewhere" / "auditor" / "sql" / "__init__.py").open("a") as file:
        file.write("\n\ndef understand(*given):\n    return Unsupported('elsewhere', '')\n")
    script = (
        f"import sys\nsys.path.insert(0, {str(tmp_path / 'elsewhere')!r})\n"
        "from auditor.sql import sandbox\nprint(sandbox._POOL.ask(('', None, None, 'duckdb'), 5).code)"
    )
    assert run(script, cwd=tmp_path).stdout.split() == ["elsewhere"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what is mapped")
def test_memory_is_limited_in_a_worker() -> None:
    script = (
        "from auditor.sql import sandbox\nsandbox._limit_memory()\n"
        "kept = bytearray(sandbox.MEMORY // 64)\n"
        "try:\n    bytearray(sandbox.MEMORY)\nexcept MemoryError:\n    print('limited')"
    )
    assert run(script).stdout.split() == ["limited"]


@pytest.mark.parametrize(
    ("sql", "small"),
    [
        ("SELECT SUM(salary) FROM staff", True),
        ("SELECT " + "abs(" * 8 + "id" + ")" * 8 + " FROM staff", True),
        ("SELECT " + "abs(" * 9 + "id" + ")" * 9 + " FROM staff", False),
        ("SELECT id -- " + "x" * 3987, True),
        ("SELECT id -- " + "x" * 3988, False),
        ("SELECT " + ", ".join(["1"] * 199) + " FROM staff", True),
        ("SELECT " + ", ".join(["1"] * 200) + " FROM staff", False),
        ("SELECT 1" + " UNION SELECT 1" * 5, True),
        ("SELECT 1" + " UNION SELECT 1" * 6, False),
        ("SELECT " + "nullif(" * 8 + "id" + ", 1)" * 8 + " FROM staff", False),
        (
            "SELECT id + id AS a0, " + ", ".join(f"a{i}+a{i} AS a{i + 1}" for i in range(9)) + " FROM staff",
            False,
        ),
        ("DESCRIBE SELECT id FROM staff", False),
        ("this is no SQL", False),
        ("SELECT (", True),
    ],
)
def test_what_is_small(sql: str, small: bool) -> None:
    assert sandbox.small(sql, SCHEMA) is small


WORST = [
    "SELECT " + ", ".join(f"SUM(salary) FILTER (WHERE id > {i})" for i in range(33)) + " FROM staff",
    "SELECT SUM(salary) FROM staff WHERE " + " OR ".join(f"id={i}" for i in range(98)),
    "SELECT SUM(salary) + " + "+".join("1" * 190) + " FROM staff",
    "SELECT SUM(CASE " + " ".join(f"WHEN id={i} THEN salary" for i in range(65)) + " END) FROM staff",
    "SELECT " + ", ".join(["date (" * 8 + "id" + ")" * 8] * 14) + " FROM staff",
    "SELECT id + id AS a0, " + ", ".join(f"a{i}+a{i} AS a{i + 1}" for i in range(5)) + " FROM staff",
    "SELECT " + "nullif(" * 7 + "id" + ", 1)" * 7 + " FROM staff",
    "SELECT COUNT(*) FROM " + ", ".join(f"staff s{i}" for i in range(16)),
]


@pytest.mark.slow
@pytest.mark.parametrize("sql", WORST, ids=range(len(WORST)))
def test_the_worst_small_statements_take_little_time(sql: str) -> None:
    understand("SELECT SUM(salary) FROM staff", None, SCHEMA)
    assert sandbox.small(sql, SCHEMA)
    with at_once():
        understand(sql, None, SCHEMA)
