"""A count by a value that a subquery gives is two questions: the value, told and recorded, then the count."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from tests.auditor.staff import LOW, build, entries, people, policy, truth, verdict

ABOVE = "SELECT AT_LEAST(COUNT(*)), AT_MOST(COUNT(*)) FROM staff WHERE salary {}"
MEAN = "(SELECT AVG(salary) FROM staff)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(600, 3))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "condition",
    [
        f"> {MEAN}",
        f"<= {MEAN}",
        f">= 1.5 * {MEAN}",
        f"BETWEEN {MEAN} - 50 AND {MEAN} + 50",
        "> (SELECT AVG(salary) FROM staff WHERE sex = 'm') AND dept <> 'a'",
        "> (SELECT MAX(age) FROM staff)",
    ],
)
def test_the_true_count_lies_in_the_range_which_is_that_of_the_value_pasted(
    database: Path, tmp_path: Path, condition: str, dialect: str
) -> None:
    sql = ABOVE.format(condition)
    [(true,)] = truth(database, f"SELECT COUNT(*) FROM staff WHERE salary {condition}")
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(sql, dialect=dialect)  # type: ignore[arg-type]
        [(low, high)] = answer.fetchall()
        assert low <= true <= high
        assert high - low < 100
        assert [entry.sql for entry in entries(gate)][-1] == sql
    pasted = condition
    for inner in (MEAN, "(SELECT AVG(salary) FROM staff WHERE sex = 'm')", "(SELECT MAX(age) FROM staff)"):
        if inner in condition:
            pasted = pasted.replace(inner, str(truth(database, inner)[0][0]))
    with Gate.open(database, policy(), tmp_path / "other.ledger") as gate:
        for inner in dict.fromkeys(part for part in (MEAN,) if part in condition):
            gate.execute(inner[1:-1])
        if "sex" in condition:
            gate.execute("SELECT AVG(salary) FROM staff WHERE sex = 'm'")
        assert gate.execute(ABOVE.format(pasted)).fetchall() == [(low, high)]


@pytest.mark.slow
def test_the_mean_is_told_and_recorded_before_the_count_is_understood(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        gate.execute(ABOVE.format(f"> {MEAN}"), user="ana")
        first, then = entries(gate)
        assert (first.sql, first.code, first.user) == (MEAN[1:-1], "answered", "ana")
        assert (then.sql, then.code, then.user) == (ABOVE.format(f"> {MEAN}"), "ends", "ana")
        assert str(truth(database, MEAN[1:-1])[0][0]) in then.normalised
        assert verdict(gate, MEAN[1:-1]).code == "known"


@pytest.mark.slow
def test_asked_again_nothing_new_is_told(database: Path) -> None:
    sql = ABOVE.format(f"> {MEAN}")
    with Gate.open(database, policy()) as gate:
        told = gate.execute(sql).fetchall()
        again = gate.execute(sql)
        assert (again.fetchall(), again.decision.code) == (told, "known")
        assert not any(entry.answers for entry in entries(gate)[2:])


@pytest.mark.slow
def test_columns_have_the_names_that_the_statement_gives_them(database: Path) -> None:
    sql = f"SELECT AT_MOST(COUNT_IF(salary > {MEAN})) FROM staff"
    with Gate.open(database, policy()) as gate:
        described = gate.describe(sql)
        assert not entries(gate)
        assert described == (("at_most(count_if((salary > (SELECT avg(salary) FROM staff))))", "DOUBLE"),)
        assert tuple(gate.execute(sql).columns) == tuple(name for name, _ in described)


@pytest.mark.slow
def test_without_ends_the_hint_can_be_pasted_and_the_mean_is_not_asked(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        said = verdict(gate, f"SELECT COUNT(*) AS n FROM staff WHERE salary > {MEAN}")
        assert (said.verdict, said.code) == ("refused", "range")
        assert not any(entry.answers for entry in entries(gate))
        shown = said.hint.rpartition(": ")[2]
        assert shown == (
            f"SELECT AT_LEAST(COUNT(*)) AS n_at_least, AT_MOST(COUNT(*)) AS n_at_most FROM staff "
            f"WHERE salary > {MEAN}"
        )
        assert gate.execute(shown).decision.code == "ends"


def test_where_the_mean_is_refused_so_is_the_count_with_its_hint(database: Path) -> None:
    inner = "SELECT AVG(salary) FROM staff WHERE id = 7"
    with Gate.open(database, policy()) as gate:
        alone = verdict(gate, inner)
        said = verdict(gate, ABOVE.format(f"> ({inner})"))
        assert (said.verdict, said.code, said.hint) == ("refused", alone.code, alone.hint)
        assert said.message.endswith(alone.message)
        assert not any(entry.answers for entry in entries(gate))


def test_what_is_told_as_an_end_alone_is_compared_with_nothing(tmp_path: Path) -> None:
    database = build(tmp_path / "low.duckdb", [(*person[:-1], LOW) for person in people(100, 1)])
    with Gate.open(database, policy()) as gate:
        said = verdict(gate, ABOVE.format("= (SELECT MAX(salary) FROM staff)"))
        assert (said.verdict, said.code) == ("refused", "range")
        first, then = entries(gate)
        assert (first.code, then.code) == ("ends", "range")
        assert not then.answers


@pytest.mark.slow
def test_an_end_that_is_told_may_be_compared_with(database: Path) -> None:
    inner = "(SELECT AT_LEAST(MEDIAN(salary)) FROM staff)"
    with Gate.open(database, policy()) as gate:
        [(low, high)] = gate.execute(ABOVE.format(f">= {inner}")).fetchall()
        [(end,)] = gate.execute(inner[1:-1]).fetchall()
        assert low <= truth(database, f"SELECT COUNT(*) FROM staff WHERE salary >= {end}")[0][0] <= high


@pytest.mark.slow
def test_a_check_looks_at_no_mean_that_has_not_been_told(database: Path) -> None:
    sql = ABOVE.format(f"> {MEAN}")
    with Gate.open(database, policy()) as gate:
        assert gate.check(sql).code == "range"
        assert all(entry.check or entry.verdict == "refused" for entry in entries(gate))
        assert not any(entry.answers for entry in entries(gate))
        gate.execute(MEAN[1:-1])
        assert gate.check(sql).verdict == "answered"


@pytest.mark.parametrize(
    "sql",
    [
        # nobody's value, nor that of one group after the other
        ABOVE.format("> (SELECT salary FROM staff WHERE id = 7)"),
        "SELECT AT_LEAST(COUNT(*)) FROM staff s WHERE salary > "
        "(SELECT AVG(salary) FROM staff t WHERE t.dept = s.dept)",
        ABOVE.format("IN (SELECT MAX(salary) FROM staff GROUP BY dept)"),
        ABOVE.format("> ANY (SELECT MAX(salary) FROM staff GROUP BY dept)"),
        # what counts is not rows
        f"SELECT SUM(salary) FROM staff WHERE salary > {MEAN}",
        f"SELECT SUM(salary) FILTER (WHERE salary > {MEAN}) FROM staff",
        f"SELECT id FROM staff WHERE salary > {MEAN}",
        f"SELECT SUM(age), AT_LEAST(COUNT(*)) FROM staff WHERE salary > {MEAN}",
        # another staff than the subquery by itself would read
        "WITH staff AS (SELECT * FROM main.staff WHERE age > 40) "
        f"SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > {MEAN}",
        # a value for each row
        f"SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > age + {MEAN}",
    ],
)
def test_other_subqueries_choose_nothing_and_nothing_is_asked(database: Path, sql: str) -> None:
    with Gate.open(database, policy()) as gate, pytest.raises((QueryRefused, QueryUnsupported)):
        gate.execute(sql)
    with Gate.open(database, policy()) as gate:
        assert not any(entry.answers for entry in entries(gate))


def test_several_rows_are_no_value(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        said = verdict(gate, ABOVE.format("> (SELECT AVG(salary) FROM staff GROUP BY sex)"))
        assert (said.verdict, said.code) == ("refused", "range")


def test_parameters_outside_of_the_subquery_are_kept_and_inside_there_are_none(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        sql = f"SELECT AT_LEAST(COUNT(*)) FROM staff WHERE sex = ? AND salary > {MEAN}"
        [(low,)] = gate.execute(sql, ["m"]).fetchall()
        [(true,)] = truth(database, f"SELECT COUNT(*) FROM staff WHERE sex = 'm' AND salary > {MEAN}")
        assert 0 < low <= true
        inside = ABOVE.format("> (SELECT AVG(salary) FROM staff WHERE sex = ?)")
        with pytest.raises(QueryUnsupported):
            gate.execute(inside, ["m"])


def test_where_the_policy_gives_no_ranges_nothing_is_asked(database: Path) -> None:
    with Gate.open(database, policy("[decision]\nranges = 'never'")) as gate:
        assert verdict(gate, ABOVE.format(f"> {MEAN}")).code == "ranges-never"
        assert not any(entry.answers for entry in entries(gate))
