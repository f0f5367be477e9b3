"""What an answer says of each group, and that a day ends with its budget."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from benchmarks.usefulness import asking
from benchmarks.usefulness.columns import FIVE_POINT
from benchmarks.usefulness.day import Day, patient
from benchmarks.usefulness.told import protected_places


@pytest.mark.parametrize(
    ("sql", "columns", "places"),
    [
        ("SELECT part, COUNT(*) AS n, SUM(value) AS total FROM t GROUP BY 1", "part n total", [2]),
        ("SELECT AVG(value) - MIN(value) FROM t", "x", [0]),
        ("WITH a AS (SELECT part, AVG(value) x FROM t GROUP BY 1) SELECT part, -x y FROM a", "part y", [1]),
        ("WITH a AS (SELECT part, AVG(value) AS mean FROM t GROUP BY 1) SELECT * FROM a", "part mean", [1]),
        ("SELECT part, COUNT(*) FILTER (WHERE value > 3) AS many FROM t GROUP BY 1", "part many", [1]),
    ],
)  # fmt: skip
def test_columns_that_read_the_protected_one_are_found(sql: str, columns: str, places: list[int]) -> None:
    assert protected_places(sql, "value", columns.split()) == places


@pytest.fixture
def day(tmp_path: Path) -> Day:
    """Three groups of people who answered from 1 to 5; of one person nothing can be told."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT CASE WHEN i = 40 THEN 'c' WHEN i < 20 THEN 'a' ELSE 'b' END AS part, "
            "1 + i % 5 AS value FROM range(41) r(i)"
        )
    policy = patient(FIVE_POINT.policy("t", '["part"]'))
    statements = [
        "SELECT part, SUM(value) AS s FROM t GROUP BY part",
        "SELECT SUM(value) FROM t WHERE part = 'c'",
    ]
    return Day(path, policy, statements, "value")


def test_each_group_has_a_line_and_each_statement_without_groups(day: Day, tmp_path: Path) -> None:
    found = asking.asked(day, tmp_path / "l.ledger", 60.0)
    assert sorted((each.statement, each.group, each.told, each.value) for each in found.decided) == [
        (1, "a", "exact", "60"),
        (1, "b", "exact", "60"),
        (1, "c", "withheld", "–"),
        (2, "", "refused", ""),
    ]
    assert (found.statements, found.ended, found.cut, found.late) == (2, 2, False, 0)


@pytest.mark.slow
def test_a_day_that_takes_longer_than_its_budget_is_cut_and_keeps_what_it_had(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(gate: object, sql: str, real: object = asking.tried) -> object:
        if sql.startswith("SELECT SUM"):
            until = time.process_time() + 4
            while time.process_time() < until:
                pass
        return real(gate, sql)  # type: ignore[operator]

    monkeypatch.setattr(asking, "tried", slow)
    found = asking.asked(replace(day, statements=day.statements), tmp_path / "l.ledger", 2.0)
    assert found.cut
    assert (found.ended, len(found.decided)) == (1, 3)


def test_a_budget_that_ends_inside_of_a_kernel_cuts_too_and_other_faults_of_kernels_are_faults() -> None:
    """What a handler raises there arrives as a SystemError: a day of 100 sums ended the whole run by it."""

    def kernel() -> None:
        try:
            while True:
                pass
        except BaseException as error:
            raise SystemError from error  # as a kernel's dispatcher does

    with pytest.raises(asking.Spent), asking.budget(0.1):
        kernel()
    with pytest.raises(SystemError), asking.budget(60.0):
        raise SystemError
