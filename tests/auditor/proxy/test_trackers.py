"""The two halves of a tracker are never both answered: not to two users, to two tools, nor by two proxies."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.auditor.proxy import postgres_server
from tests.auditor.proxy.serving import PASSWORD, Running, running
from tests.auditor.staff import NEEDED, OUTSIDERS, Intruder
from tests.quick import some

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")
pg8000 = pytest.importorskip("pg8000.dbapi", reason="the other client of these tests")

RACES = int(os.environ.get("CAE_SQL_RACES", "5"))
"""How many races between two proxies are run; each takes a new ledger."""
ROUNDS = 10


def halves(person: int) -> tuple[str, str]:
    """Everybody but for one department, with one person of it and without: the difference is a salary."""
    others = f"dept <> 'a' OR id = {person}"
    return f"SELECT SUM(salary) FROM staff WHERE {others}", "SELECT SUM(salary) FROM staff WHERE dept <> 'a'"


def with_psycopg(server: Running, user: str, sql: str) -> str:
    """The verdict that psycopg meets; connects first, so that the barrier is what starts the race."""
    with psycopg.connect(**server.psycopg | {"autocommit": True, "user": user}) as connection:
        try:
            connection.execute(sql).fetchall()
        except psycopg.errors.InsufficientPrivilege as error:
            return "refused" if "code: risk" in (error.diag.message_detail or "") else str(error)
        return "answered"


def with_pg8000(server: Running, user: str, sql: str) -> str:
    made = pg8000.connect(user, "127.0.0.1", "staff", server.port, PASSWORD)
    with closing(made) as connection:
        connection.autocommit = True
        try:
            connection.cursor().execute(sql)
        except pg8000.DatabaseError as error:
            return "refused" if error.args[0]["C"] == "42501" else str(error)
        return "answered"


def with_psql(server: Running, user: str, sql: str) -> str:
    place = f"host=127.0.0.1 port={server.port} user={user} dbname=staff sslmode=disable"
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "VERBOSITY=verbose", place, "-c", sql],
        capture_output=True, text=True, timeout=60, check=False,
        env={"PGPASSWORD": PASSWORD, "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode == 0:
        return "answered"
    assert "ERROR:  42501" in done.stderr, done.stderr
    return "refused"


Tool = Callable[[Running, str, str], str]


def race(asked: Sequence[tuple[Tool, Running, str, str]]) -> list[str]:
    """The verdicts of statements that are asked at one moment."""
    start = threading.Barrier(len(asked))

    def ask(tool: Tool, server: Running, user: str, sql: str) -> str:
        start.wait(60)
        return tool(server, user, sql)

    with ThreadPoolExecutor(len(asked)) as pool:
        return sorted(each.result(60) for each in [pool.submit(ask, *one) for one in asked])


@pytest.mark.slow
@pytest.mark.parametrize("person", some(range(0, 60, 4), 1))
def test_two_users_with_two_tools_are_one_asker(tmp_path: Path, person: int) -> None:
    """`scope = "everyone"`: ana's psycopg and bob's pg8000 at once; grace, an administrator, after them."""
    first, second = halves(person)
    with running(tmp_path, tls=False) as server:
        assert race([(with_psycopg, server, "ana", first), (with_pg8000, server, "bob", second)]) == [
            "answered",
            "refused",
        ]
        again = [with_pg8000(server, "grace", first), with_psycopg(server, "grace", second)]
        assert sorted(again) == ["answered", "refused"]
        assert server.gate.verify().problems == ()
        assert set(server.gate.history()["user"]) == {"ana", "bob", "grace"}


@pytest.mark.slow
def test_psql_and_a_driver_are_one_asker_too(tmp_path: Path) -> None:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    first, second = halves(8)
    with running(tmp_path, tls=False) as server:
        assert with_psql(server, "ana", first) == "answered"
        assert with_psycopg(server, "bob", second) == "refused"
        assert with_psql(server, "grace", second) == "refused"
        assert with_psycopg(server, "bob", first) == "answered"


@pytest.mark.slow
def test_two_users_are_two_askers_where_the_policy_says_so(tmp_path: Path) -> None:
    first, second = halves(8)
    with running(tmp_path, tls=False, more='[ledger]\nscope = "user"\n') as server:
        assert with_psycopg(server, "ana", first) == "answered"
        assert with_pg8000(server, "bob", second) == "answered"
        assert with_psycopg(server, "ana", second) == "refused"
        assert with_pg8000(server, "bob", first) == "refused"


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, Any]]:
    with postgres_server.running() as place:
        yield place


def ledger(database: dict[str, Any], schema: str) -> str:
    """A ledger of its own on the server."""
    with psycopg.connect(**database, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"postgresql://postgres@/postgres?host={database['host']}&options=-csearch_path%3D{schema}"


@pytest.mark.slow
def test_two_proxies_on_one_ledger_never_answer_both_halves(database: dict[str, Any], tmp_path: Path) -> None:
    for number in range(RACES):
        first, second = halves(4 * (number % 15))
        place = ledger(database, f"race_{number}")
        with (
            running(tmp_path, tls=False, ledger=place) as one,
            running(tmp_path, tls=False, ledger=place) as two,
        ):
            asked = [(with_psycopg, one, "ana", first), (with_pg8000, two, "bob", second)]
            assert race(asked) == ["answered", "refused"], f"race {number}"
            again = [with_psycopg(each, "grace", sql) for each in (one, two) for sql in (first, second)]
            assert sorted(again) == ["answered", "answered", "refused", "refused"]
            assert one.gate.verify().problems == ()
            assert len(one.gate.history()) == len(two.gate.history()) == 6


@pytest.mark.slow
def test_many_at_once_through_two_proxies_tell_nobody_s_salary(
    database: dict[str, Any], tmp_path: Path
) -> None:
    """Sums that differ in a person or two, from two users at both proxies at once. What was told leaves
    everybody the spread that the limit asks for: integer programs that are not the package's say so."""
    place = ledger(database, "crowd")
    with (
        running(tmp_path, tls=False, ledger=place, more=OUTSIDERS) as one,
        running(tmp_path, tls=False, ledger=place, more=OUTSIDERS) as two,
    ):
        told: list[str] = []
        for person in range(0, 60, 60 // ROUNDS):
            statements = [
                *halves(person),
                f"SELECT SUM(salary) FROM staff WHERE id <> {person}",
                "SELECT AVG(salary) FROM staff",
                f"SELECT MAX(salary) FROM staff WHERE age = {20 + person % 40} OR sex = 'm'",
                f"SELECT SUM(salary) FROM staff WHERE id IN ({person}, {person + 1})",
            ]
            told += race(
                [
                    (with_psycopg, (one, two)[number % 2], ("ana", "bob")[number % 3 == 0], sql)
                    for number, sql in enumerate(statements)
                ]
            )
        history = one.gate.history()
        assert sorted(history["verdict"]) == sorted(told)
        assert {"answered", "refused"} <= set(told)
        intruder = Intruder(60)
        intruder.reads(two.gate)
        assert intruder.narrowest() >= NEEDED
        assert one.gate.verify().problems == two.gate.verify().problems == ()
