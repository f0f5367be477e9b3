"""Groups beside rows: those that may be given are, and the others are NULL in their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate
from tests.auditor.staff import LOW, Person, build, entries, people, policy, truth, verdict

WINDOW = "SELECT id, dept, {} AS a FROM staff ORDER BY id"
MEAN = "AVG(salary) OVER (PARTITION BY dept)"
OWN = "(SELECT AVG(salary) FROM staff t WHERE t.dept = s.dept)"
BY_DEPT = "SELECT dept, AVG(salary) FROM staff GROUP BY dept"


def persons(count: int = 150) -> list[Person]:
    """With a department of one person."""
    made = people(count, 4)
    return [*made[:-1], (*made[-1][:3], "z", made[-1][4])]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", persons())


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "sql",
    [
        WINDOW.format(MEAN),
        f"SELECT id, dept, {OWN} AS a FROM staff s ORDER BY id",
        f"SELECT s.id, s.dept, q.m FROM staff s, LATERAL {OWN.replace(' FROM', ' AS m FROM')} q ORDER BY 1",
    ],
)
def test_the_groups_that_a_group_by_gives_are_given_and_the_others_are_null(
    database: Path, tmp_path: Path, sql: str, dialect: str
) -> None:
    with Gate.open(database, policy(), tmp_path / "one.ledger") as gate:
        given = dict(gate.execute(BY_DEPT).fetchall())
    assert given["z"] is None
    with Gate.open(database, policy(), tmp_path / "two.ledger") as gate:
        answer = gate.execute(sql, dialect=dialect)  # type: ignore[arg-type]
        rows = answer.fetchall()
        assert answer.decision.code == "partial"
        assert {dept: value for _, dept, value in rows} == given
    expected = truth(database, sql)
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert all(row[2] in (None, other[2]) for row, other in zip(rows, expected, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        f"COALESCE({MEAN}, 0)",
        f"{MEAN} IS NULL",
        f"CASE WHEN {MEAN} > 100 THEN 1 ELSE 2 END",
        f"ROUND({MEAN}) + 1",
    ],
)
def test_what_is_worked_out_from_a_group_that_is_withheld_is_null(database: Path, made: str) -> None:
    with Gate.open(database, policy()) as gate:
        rows = gate.execute(WINDOW.format(made)).fetchall()
        assert [row[2] for row in rows if row[1] == "z"] == [None]
        assert all(row[2] is not None for row in rows if row[1] != "z")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT id, {MEAN} AS a FROM staff ORDER BY a, id",
        f"SELECT id, {MEAN} AS a FROM staff ORDER BY 2, 1",
        f"SELECT id, {MEAN} AS a FROM staff ORDER BY {MEAN}",
        f"SELECT id, {MEAN} AS a FROM staff ORDER BY id LIMIT 5",
        f"SELECT id FROM (SELECT id, {MEAN} AS a FROM staff) WHERE a > 100",
        f"SELECT COUNT(*) FROM (SELECT id, {MEAN} AS a FROM staff) WHERE a > 100",
        f"SELECT MAX(a) FROM (SELECT id, {MEAN} AS a FROM staff)",
        f"SELECT id FROM staff s WHERE {OWN} > 100",
        f"SELECT id FROM staff s ORDER BY {OWN}",
        f"SELECT id, RANK() OVER (ORDER BY {OWN}) FROM staff s",
    ],
)
def test_where_rows_or_their_order_hang_on_it_nothing_is_given(database: Path, sql: str) -> None:
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, sql).verdict in ("refused", "unsupported")
        assert not any(entry.answers for entry in entries(gate))


def test_a_value_that_is_told_as_an_end_is_null_and_its_end_is_named(tmp_path: Path) -> None:
    low = [(*p[:3], "abc"[int(str(p[0])) % 3], p[4]) for p in people(60, 9)]
    low = [(*p[:4], LOW if p[3] == "b" else p[4]) for p in low]
    database = build(tmp_path / "low.duckdb", low)
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(WINDOW.format("MAX(salary) OVER (PARTITION BY dept)"))
        assert {row[2] for row in answer.fetchall() if row[1] == "b"} == {None}
        (end,) = answer.ranges
        assert (end.group, end.column) == ({"dept": "b"}, "a")
        assert end.most is not None


def test_the_policy_may_refuse_the_whole(database: Path) -> None:
    with Gate.open(database, policy('[decision]\npartial = "refuse"')) as gate:
        assert verdict(gate, WINDOW.format(MEAN)).verdict == "refused"
        assert not any(entry.answers for entry in entries(gate))


@pytest.mark.slow
def test_asked_again_the_same_is_given(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        first = gate.execute(WINDOW.format(MEAN)).fetchall()
        assert gate.execute(WINDOW.format(MEAN)).fetchall() == first
        assert gate.execute(BY_DEPT + " HAVING dept <> 'z'").decision.code == "known"
        assert verdict(gate, "SELECT AVG(salary) FROM staff WHERE dept = 'z'").code == "risk"
