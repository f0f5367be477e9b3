"""A list becomes statements that are asked once each; what is not asked is counted with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate
from auditor.errors import LogError
from auditor.history.statement import Logged
from auditor.planning.statements import Listed, listed, of_logged
from tests.auditor.staff import build, people, policy


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate.open(build(tmp_path / "staff.duckdb", people(40)), policy()) as opened:
        yield opened


def of(gate: Gate, *logged: Logged) -> Listed:
    return of_logged(logged, gate, Listed(), "duckdb")


def texts(gate: Gate, tmp_path: Path, script: str) -> Listed:
    (tmp_path / "list.sql").write_text(script)
    return listed([tmp_path / "list.sql"], gate)


TOTAL = "SELECT sum(salary) FROM staff"


def test_the_same_statement_in_another_layout_is_asked_once(gate: Gate, tmp_path: Path) -> None:
    found = texts(gate, tmp_path, f"{TOTAL};\nselect SUM(salary) /* again */\n  from staff;\n{TOTAL};\n")
    [one] = found.statements
    assert (one.number, one.times, found.repeated, found.read) == (1, 3, 2, 3)


def test_a_comment_before_a_statement_says_what_it_is_worth(gate: Gate, tmp_path: Path) -> None:
    script = f"-- the total; worth: 2.5\n{TOTAL};\nSELECT avg(salary) FROM staff WHERE age < 40;\n"
    found = texts(gate, tmp_path, script)
    assert [each.worth for each in found.statements] == [2.5, 1.0]
    assert found.weighed


def test_what_a_statement_itself_says_of_worth_is_no_comment(gate: Gate, tmp_path: Path) -> None:
    found = texts(gate, tmp_path, 'SELECT sum(salary) AS "worth: 9" FROM staff -- worth: 7\n;\n')
    assert [each.worth for each in found.statements] == [1.0]


def test_without_a_comment_a_statement_is_worth_as_often_as_it_was_asked(gate: Gate) -> None:
    found = of(gate, Logged(1, TOTAL), Logged(2, TOTAL), Logged(3, "SELECT max(salary) FROM staff"))
    assert [each.worth for each in found.statements] == [2.0, 1.0]


def test_each_group_is_known_with_its_records(gate: Gate) -> None:
    found = of(gate, Logged(1, "SELECT dept, sum(salary), max(salary) FROM staff GROUP BY dept"))
    assert [each.groups for each in found.statements] == [(10, 10, 10, 10)]


def test_what_reads_no_protected_value_is_counted_alone(gate: Gate) -> None:
    found = of(gate, Logged(1, "SELECT count(*) FROM staff"), Logged(2, "SELECT DISTINCT dept FROM staff"))
    assert (found.statements, found.public) == ([], 2)


def test_what_is_not_understood_is_listed_with_the_gates_reason(gate: Gate) -> None:
    found = of(gate, Logged(1, "SELECT salary FROM staff"), Logged(2, "SELECT salary FROM staff"))
    [(reason, each)] = found.not_asked.items()
    assert reason.startswith("row-level: ")
    assert (each.count, each.examples[0].sql) == (2, "SELECT salary FROM staff")


def test_parameters_are_written_in_and_one_without_a_value_is_a_reason(gate: Gate) -> None:
    asked = "SELECT sum(salary) FROM staff WHERE age < $1"
    found = of(gate, Logged(1, asked, ("40",)), Logged(2, asked))
    assert len(found.statements) == 1
    assert "'40'" in found.statements[0].sql
    assert list(found.not_asked) == ["parameter 1 has no value in the log"]


def test_failed_statements_and_settings_are_passed_over(gate: Gate) -> None:
    found = of(gate, Logged(1, TOTAL, answered=False), Logged(2, "SET x = 1; BEGIN"))
    assert found.statements == []
    assert found.passed_over == {"failed": 1, "settings": 1, "transaction": 1}


def test_another_engines_sql_is_a_reason(gate: Gate) -> None:
    found = of(gate, Logged(1, TOTAL, dialect="snowflake"))
    assert list(found.not_asked) == ["written in snowflake's SQL; a gate reads that of DuckDB and PostgreSQL"]


def test_nothing_is_recorded(gate: Gate) -> None:
    of(gate, Logged(1, TOTAL), Logged(2, "SELECT salary FROM staff"))
    assert gate.history().empty


@pytest.mark.parametrize("scope", ["everyone", "user"])
def test_users_are_told_apart_where_what_they_were_told_counts_apart(tmp_path: Path, scope: str) -> None:
    rules = policy(f'[ledger]\nscope = "{scope}"')
    with Gate.open(build(tmp_path / "s.duckdb", people(40)), rules) as gate:
        found = of(gate, Logged(1, TOTAL, user="ann"), Logged(2, TOTAL, user="otto"))
    assert [each.user for each in found.statements] == (["ann"] if scope == "everyone" else ["ann", "otto"])


def test_an_unknown_time_zone_is_one_clear_error(gate: Gate) -> None:
    with pytest.raises(LogError, match="Mars/North is no time zone"):
        listed([], gate, timezone="Mars/North")
