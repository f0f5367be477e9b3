"""New spellings of what was understood are the same questions: who has asked one has asked the others.

And none of them gives what the plain one would not: one person's value stays refused in every spelling, and
what is shown of public columns shows nothing of the protected one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate
from auditor.gate import request
from tests.auditor.staff import build, entries, people, policy, rows_or_none, truth, verdict

PERSONS = people(120)

MEANS = "SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept ORDER BY dept"
SAME = [
    "SELECT dept, AVG(CAST(salary AS DOUBLE)) AS a FROM staff GROUP BY dept ORDER BY dept",
    "SELECT DISTINCT dept, AVG(salary) OVER (PARTITION BY dept) AS a FROM staff ORDER BY dept",
    "SELECT DISTINCT dept, AVG(salary) OVER w AS a FROM staff WINDOW w AS (PARTITION BY dept) ORDER BY dept",
    "SELECT d.dept, (SELECT AVG(salary) FROM staff s WHERE s.dept = d.dept) AS a "
    "FROM (SELECT DISTINCT dept FROM staff) d ORDER BY d.dept",
    "SELECT d.dept, x.a FROM (SELECT DISTINCT dept FROM staff) d, "
    "LATERAL (SELECT AVG(salary) AS a FROM staff s WHERE s.dept = d.dept) x ORDER BY d.dept",
    "WITH y AS (SELECT dept, salary * 12 AS annual FROM staff) "
    "SELECT dept, AVG(annual) / 12 AS a FROM y GROUP BY dept ORDER BY dept",
    "SELECT v.dept, AVG(salary) AS a FROM staff s JOIN (VALUES ('a'), ('b'), ('c'), ('d')) v(dept) "
    "ON s.dept = v.dept GROUP BY v.dept ORDER BY v.dept",
    "SELECT dept, AVG(salary) AS a FROM (SELECT * FROM staff ORDER BY id LIMIT 1000) "
    "GROUP BY dept ORDER BY dept",
    "SELECT s.dept, AVG(salary) AS a FROM staff s JOIN (SELECT dept FROM staff GROUP BY dept "
    "ORDER BY SUM(salary) DESC LIMIT 4) t ON s.dept = t.dept GROUP BY s.dept ORDER BY s.dept",
    "SELECT dept, AVG(salary) AS a FROM staff WHERE id < 1000 AND CURRENT_DATE > DATE '2000-01-01' "
    "GROUP BY dept ORDER BY dept",
]
ONE_PERSON = [
    "SELECT AVG(CAST(salary AS DOUBLE)) FROM staff WHERE id = 7",
    "SELECT AVG(annual) FROM (SELECT id, salary * 12 AS annual FROM staff) WHERE id = 7",
    "SELECT MAX(salary) FROM (SELECT * FROM staff ORDER BY id LIMIT 1 OFFSET 7)",
    "SELECT MAX(COALESCE(salary, 0)) FROM staff WHERE id = 7",
    "SELECT MAX(CASE WHEN id = 7 THEN salary ELSE 0 END) FROM staff",
    "SELECT MAX(DISTINCT salary) FROM staff WHERE id = 7",
    "SELECT SUM(salary) FILTER (WHERE id IN (SELECT s.id FROM staff s WHERE s.id = 7)) FROM staff",
    "SELECT SUM(CASE WHEN id IN (SELECT s.id FROM staff s WHERE s.id = 7) THEN salary ELSE 0 END) FROM staff",
    "SELECT v.x, SUM(salary) FROM staff JOIN (VALUES (7)) v(x) ON id = v.x GROUP BY v.x",
    "SELECT g.x, SUM(salary) FROM staff JOIN range(7, 8) g(x) ON id = g.x GROUP BY g.x",
    "SELECT DISTINCT id, SUM(salary) OVER (PARTITION BY id) FROM staff WHERE id = 7",
    "SELECT id, MAX(salary) OVER (PARTITION BY id) FROM staff WHERE id = 7",
    "SELECT d.x, (SELECT SUM(salary) FROM staff s WHERE s.id = d.x) FROM (SELECT 7 AS x) d",
    "SELECT * FROM (SELECT id, sex, salary FROM staff WHERE id = 7) "
    "PIVOT (SUM(salary) FOR sex IN ('m', 'f'))",
    "SELECT REGR_AVGY(salary, age) FROM staff WHERE id = 7",
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", PERSONS)


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy()) as opened:
        yield opened


@pytest.mark.parametrize("sql", SAME)
def test_who_has_asked_for_the_means_has_asked_in_every_spelling(
    sql: str, gate: Gate, database: Path
) -> None:
    assert verdict(gate, MEANS).code == "answered"
    if "ORDER BY SUM" in sql:
        # which are the top ones is asked as well
        assert verdict(gate, "SELECT dept, SUM(salary) FROM staff GROUP BY dept").code == "known"
    before = sum(len(each.answers) for each in entries(gate))
    answer = gate.execute(sql)
    assert answer.decision.code == "known"
    assert sum(len(each.answers) for each in entries(gate)) == before
    assert answer.fetchall() == truth(database, MEANS)


@pytest.mark.parametrize("sql", ONE_PERSON)
def test_one_persons_value_is_refused_in_every_spelling(sql: str, gate: Gate) -> None:
    rows = rows_or_none(gate, sql)
    (value,) = (salary for number, *_, salary in PERSONS if number == 7)
    shown = {cell for row in rows or [] for cell in row}
    assert not {value, 12 * value} & shown
    assert verdict(gate, sql).code in ("risk", "partial", "ends")


def test_a_date_relative_to_now_is_read_once_and_stands_on_record(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(noon.timestamp(), tz)

    monkeypatch.setattr(request, "datetime", Clock)
    sql = (
        "SELECT COUNT(*) AS n, AVG(salary) AS a FROM staff "
        "WHERE DATE '2026-01-01' + id::INTEGER < CURRENT_DATE AND DATE '2026-01-01' + id::INTEGER < today()"
    )
    first = gate.execute(sql).fetchall()
    assert first[0][0] == 59
    recorded = entries(gate)[-1].normalised
    assert recorded.count("2026-03-01") == 2
    assert "CURRENT_DATE" not in recorded
    noon += datetime.timedelta(days=1)
    # the same words ask about one person more, which would tell of them
    assert verdict(gate, sql).code == "risk"
    assert entries(gate)[-1].normalised.count("2026-03-02") == 2
    assert verdict(gate, sql.replace("AVG(salary)", "MAX(age)")).code == "public"


def test_a_pivot_without_a_list_has_a_column_for_each_public_value(gate: Gate, database: Path) -> None:
    sql = "PIVOT (SELECT dept, sex, salary FROM staff) ON sex USING AVG(salary) ORDER BY dept"
    told = gate.execute(sql)
    assert list(told.columns) == ["dept", "f", "m"]
    assert told.fetchall() == truth(database, sql)
    decision = verdict(gate, "PIVOT (SELECT dept, salary FROM staff) ON salary USING COUNT(*)")
    assert decision.code == "pivot"


def test_columns_listed_for_summarize_are_those_of_the_database(gate: Gate, database: Path) -> None:
    for listed in ("age", "AGE", "* EXCLUDE (salary)"):
        rows = gate.execute(f"SUMMARIZE SELECT {listed} FROM staff").fetchall()
        expected = truth(database, f"SUMMARIZE SELECT {listed} FROM staff")
        assert [row[0] for row in rows] == [row[0] for row in expected]
        assert next(row for row in rows if row[0] == "age") == next(r for r in expected if r[0] == "age")


def test_summarize_shows_public_columns_alone(gate: Gate, database: Path) -> None:
    rows = gate.execute("SUMMARIZE staff").fetchall()
    assert [row[0] for row in rows] == ["id", "age", "sex", "dept"]
    (ages,) = (row for row in rows if row[0] == "age")
    assert ages == next(row for row in truth(database, "SUMMARIZE staff") if row[0] == "age")


def test_lists_of_public_columns_stand_beside_protected_sums(gate: Gate, database: Path) -> None:
    sql = (
        "SELECT dept, LIST(id ORDER BY id), STRING_AGG(DISTINCT sex, '+' ORDER BY sex), ARG_MAX(age, id), "
        "AVG(salary) FROM staff GROUP BY dept ORDER BY dept"
    )
    assert gate.execute(sql).fetchall() == truth(database, sql)
