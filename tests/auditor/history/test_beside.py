"""A gate is asked in a process of its own: with the same verdicts, nothing left behind, nothing imported."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from auditor import Policy, isolated
from auditor.history import beside
from auditor.history.beside import FEW, Beside
from auditor.history.gateview import verdicts, view_of
from auditor.history.statement import Logged

RULES = """
[protect]
table = "stays"
column = "charge"
minimum = 0
maximum = 9
step = 1
public = ["id", "ward"]
[intruder]
insiders = 0
[limit]
risk = 0.5
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "stays.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT i AS id, i % 4 AS ward, i * 7 % 10 AS charge FROM range(40) t(i)"
        )
    return path


ASKED = [
    Logged(n, f"SELECT SUM(charge) FROM stays WHERE ward = {n % 4} AND id <> {n // 8}", user="anna")
    for n in range(FEW + 4)
]


def begun(database: Path, asked: Sequence[Logged] = ASKED) -> Beside:
    """With all statements asked."""
    made = Beside(database, Policy.parse(RULES), "duckdb", 600)
    for each in asked:
        made.ask(each)
    return made


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started, two cores or not."""
    found: list[subprocess.Popen[bytes]] = []
    start = isolated.start

    def noted(module: str, folder: str) -> subprocess.Popen[bytes]:
        found.append(start(module, folder))
        return found[-1]

    monkeypatch.setattr(isolated, "start", noted)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return found


def here(*_: object) -> None:
    raise AssertionError("the gate was asked in this process")


@pytest.mark.slow
def test_the_verdicts_are_the_same(
    database: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = verdicts(database, Policy.parse(RULES), ASKED, "duckdb", 600, lambda: False)
    monkeypatch.setattr(beside, "verdicts", here)
    with begun(database) as asked:
        assert asked.found(lambda: False) == expected
    assert [each.poll() is not None for each in started] == [True]


@pytest.mark.slow
def test_it_stops_when_it_is_told_to(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "verdicts", here)
    with begun(database) as asked:
        assert len(asked.found(lambda: True)) < len(ASKED)


def test_no_process_outlives_an_interrupt(database: Path, started: list[subprocess.Popen[bytes]]) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        begun(database) as asked,
    ):
        asked.found(interrupted)
    assert [each.poll() is not None for each in started] == [True]


@pytest.mark.slow
def test_a_gate_is_asked_here_where_the_process_breaks(
    database: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    expected = verdicts(database, Policy.parse(RULES), ASKED, "duckdb", 600, lambda: False)
    with begun(database) as asked:
        started[0].kill()
        assert asked.found(lambda: False) == expected


@pytest.mark.slow
def test_a_few_statements_need_no_process(database: Path, started: list[subprocess.Popen[bytes]]) -> None:
    with begun(database, ASKED[:FEW]) as asked:
        assert len(asked.found(lambda: False)) == FEW
    assert not started


@pytest.mark.slow
def test_nothing_is_taken_from_the_working_directory(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("auditor", "cae_sql", "duckdb", "numpy", "pydantic", "pickle", "threadpoolctl"):
        (bad / f"{name}.py").write_text("raise SystemExit('taken from the working directory')\n", "utf-8")
    monkeypatch.chdir(bad)
    monkeypatch.syspath_prepend("")
    monkeypatch.setenv("PYTHONPATH", str(bad))
    monkeypatch.setattr(beside, "verdicts", here)
    with begun(database) as asked:
        assert len(asked.found(lambda: False)) == len(ASKED)


@pytest.mark.slow
def test_statements_are_asked_while_others_are_still_to_come(database: Path) -> None:
    expected = verdicts(database, Policy.parse(RULES), ASKED, "duckdb", 600, lambda: False)
    coming = iter(ASKED)
    with Beside(database, Policy.parse(RULES), "duckdb", 600) as asked:
        for each in coming:
            asked.ask(each)
            if asked._process is not None:
                break
        assert asked._process is not None
        for each in coming:
            asked.ask(each)
        assert asked.found(lambda: False) == expected


def test_without_seconds_no_gate_is_asked(database: Path, started: list[subprocess.Popen[bytes]]) -> None:
    with Beside(database, Policy.parse(RULES), "duckdb", 0) as asked:
        for each in ASKED:
            asked.ask(each)
    assert not started


def test_verdicts_count_as_often_as_the_log_has_the_statements() -> None:
    there = [(each, times) for times, each in enumerate(ASKED[:4], 1)]
    found = view_of(["answered", "refused", "refused"], there)
    assert (found.answered, found.refused, found.unsupported) == (1, 5, 0)
    assert found.first_refused is not None
    assert found.first_refused.number == ASKED[1].number
