"""Groups that a derived table or a WITH query passes on are given or withheld one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate
from tests.auditor.gate.test_suppress import with_loners
from tests.auditor.staff import OUTSIDERS, build, entries, policy, truth, verdict

PLAIN = "SELECT dept AS d, sum(salary) AS s, count(*) AS n FROM staff GROUP BY dept"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", with_loners())


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy(OUTSIDERS)) as opened:
        yield opened


FORMS = [
    f"SELECT d, s FROM ({PLAIN}) ORDER BY d",
    f"WITH q AS ({PLAIN}) SELECT d, s FROM q ORDER BY d",
    f"WITH q AS ({PLAIN}), r AS (SELECT d, s + 0 AS s, n FROM q WHERE n > 0) SELECT d, s FROM r ORDER BY d",
    f"SELECT d, s FROM (SELECT * FROM ({PLAIN}) WHERE d < 'b') UNION ALL "
    f"SELECT d, s FROM ({PLAIN}) WHERE d >= 'b' ORDER BY d",
    "SELECT d, s FROM (SELECT dept AS d, sum(salary) AS s FROM staff GROUP BY ROLLUP (dept)) WHERE d < 'zz' "
    "ORDER BY d LIMIT 5",
]


@pytest.mark.slow
@pytest.mark.parametrize("sql", FORMS)
def test_they_are_given_or_withheld_as_those_of_a_plain_group_by(
    sql: str, gate: Gate, database: Path
) -> None:
    found = gate.execute(sql)
    assert found.decision.code == "partial"
    assert found.fetchall() == [(d, None if d in "yz" else s) for d, s in truth(database, sql)]
    assert gate.execute(f"SELECT d, s FROM ({PLAIN}) WHERE d < 'c' ORDER BY d").decision.code == "known"


@pytest.mark.slow
def test_what_is_decided_and_recorded_is_that_of_the_plain_statement(database: Path, tmp_path: Path) -> None:
    plain = "SELECT dept, sum(salary), max(salary) FROM staff GROUP BY dept HAVING count(*) > 1 ORDER BY dept"
    passed = (
        "WITH q AS (SELECT dept, sum(salary) AS s, max(salary) AS m, count(*) AS n FROM staff GROUP BY dept) "
        "SELECT dept, s, m FROM q WHERE n > 1 ORDER BY dept"
    )
    ledgers = tmp_path / "a", tmp_path / "b"
    with Gate.open(database, policy(), ledgers[0]) as one, Gate.open(database, policy(), ledgers[1]) as other:
        assert one.check(plain) == other.check(passed)
        assert one.execute(plain).fetchall() == other.execute(passed).fetchall()
        assert [each.answers for each in entries(one)] == [each.answers for each in entries(other)]


def test_a_condition_on_keys_keeps_others_from_being_asked(gate: Gate) -> None:
    assert gate.execute(f"SELECT s FROM ({PLAIN}) WHERE d = 'b'").decision.code == "answered"
    (told,) = [answer for entry in entries(gate) for answer in entry.answers]
    assert all(int(record) % 3 == 1 for record in told.records), "ids of department b alone"


def test_a_total_of_totals_is_one_answer(gate: Gate, database: Path) -> None:
    sql = f"SELECT sum(s) AS total, sum(n) AS persons FROM ({PLAIN})"
    assert gate.execute(sql).fetchall() == truth(database, sql)
    assert [len(answer.records) for entry in entries(gate) for answer in entry.answers] == [60]
    assert verdict(gate, f"SELECT avg(s) FROM ({PLAIN})").code == "risk"


@pytest.mark.parametrize(
    "shown", ["coalesce(s, 0)", "s IS NULL", "CASE WHEN s > 0 THEN 1 ELSE 0 END", "greatest(s, 7)"]
)
def test_nothing_is_worked_out_from_a_group_that_is_withheld(shown: str, gate: Gate) -> None:
    rows = gate.execute(f"SELECT d, {shown} FROM ({PLAIN}) ORDER BY d").fetchall()
    assert [value is None for _, value in rows] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("coalesce(s, 0) < 100", ""),
        ("s IS NULL", ""),
        ("NOT s IS NOT NULL OR d = 'y'", "y"),
        ("NOT (coalesce(s, 0) > 100 AND d <> 'y')", "y"),
        ("coalesce(s, 0) > 100", "abc"),
        ("n = 1", "yz"),
    ],
)
def test_no_condition_takes_a_withheld_value_for_another(condition: str, shown: str, gate: Gate) -> None:
    rows = gate.execute(f"SELECT d, s FROM ({PLAIN}) WHERE {condition} OR d = 'a' ORDER BY d").fetchall()
    assert "".join(str(d) for d, _ in rows) == "".join(sorted({"a", *shown}))
