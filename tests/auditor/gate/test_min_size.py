"""`[rules] min_size`: nothing is told of fewer units than the rule says, known or not, whatever the risk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy, PolicyError
from tests.auditor.staff import Person, build, entries, people, policy, verdict

BY_DEPT = "SELECT dept, sum(salary) AS s, count(*) AS n FROM staff GROUP BY dept ORDER BY dept"
SMALLER = "smaller than the policy's rule allows"


def departments(sizes: dict[str, int]) -> list[Person]:
    """Persons in departments of these sizes."""
    names = [name for name, size in sizes.items() for _ in range(size)]
    return [(*p[:3], name, p[4]) for p, name in zip(people(len(names), 4), names, strict=True)]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", departments({"a": 40, "b": 30, "c": 19}))


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy("[rules]\nmin_size = 20")) as opened:
        yield opened


def test_smaller_groups_are_withheld_and_the_others_are_given(gate: Gate) -> None:
    answer = gate.execute(BY_DEPT)
    assert [(dept, s is None) for dept, s, _ in answer.fetchall()] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]
    assert answer.decision.code == "partial"
    assert answer.decision.message == f"1 group is withheld (NULL), dept c: {SMALLER}, whatever the risk."


def test_the_size_just_allowed_is_given(database: Path) -> None:
    with Gate.open(database, policy("[rules]\nmin_size = 19")) as gate:
        assert gate.execute(BY_DEPT).decision.code == "answered"


@pytest.mark.parametrize("aggregate", ["sum(salary)", "avg(salary)", "max(salary)", "min(salary)"])
def test_a_statement_about_fewer_is_refused_with_its_own_code(gate: Gate, aggregate: str) -> None:
    said = verdict(gate, f"SELECT {aggregate} FROM staff WHERE dept = 'c'")
    assert (said.verdict, said.code) == ("refused", "min-size")
    assert said.hint.startswith("Ask about 20 records or more")
    assert gate.check(f"SELECT {aggregate} FROM staff WHERE dept = 'c'").code == "min-size"


def test_what_is_known_already_is_not_told_either(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        assert gate.execute(BY_DEPT).decision.code == "answered"
    with Gate.open(database, policy("[rules]\nmin_size = 20")) as gate:
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'c'").code == "min-size"
        assert gate.execute(BY_DEPT).fetchall()[-1][:2] == ("c", None)
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT at_least(sum(salary)), at_most(sum(salary)) FROM staff WHERE dept = 'c'",
        "SELECT at_most(median(salary)) FROM staff WHERE dept = 'c'",
        "SELECT sum(salary) FILTER (dept = 'c') FROM staff",
        "SELECT sum(CASE WHEN dept = 'c' THEN salary END), count(*) FROM staff",
        "SELECT max(s) FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept)",
        "SELECT dept, sum(salary) FROM staff WHERE dept = 'c' GROUP BY dept",
        "SELECT id FROM staff WHERE age > (SELECT avg(salary) FROM staff WHERE dept = 'c')",
    ],
)
def test_it_holds_in_ranges_filters_and_subqueries(gate: Gate, sql: str) -> None:
    assert verdict(gate, sql).code == "min-size"
    assert not any(entry.answers for entry in entries(gate))


def test_public_counts_are_no_aggregate_of_a_protected_column(gate: Gate) -> None:
    assert gate.execute("SELECT count(*) FROM staff WHERE dept = 'c'").fetchall() == [(19,)]


def test_of_one_group_one_aggregate_may_be_about_too_few(gate: Gate) -> None:
    sql = "SELECT dept, sum(salary), sum(salary) FILTER (id < 10) FROM staff GROUP BY dept ORDER BY dept"
    rows = gate.execute(sql).fetchall()
    assert [(total is None, few is None) for _, total, few in rows] == [
        (False, True),
        (False, True),
        (True, True),
    ]


def test_with_partial_refuse_one_small_group_refuses_all(database: Path) -> None:
    with Gate.open(database, policy('[decision]\npartial = "refuse"\n[rules]\nmin_size = 20')) as gate:
        assert verdict(gate, BY_DEPT).code == "min-size"


def test_asked_again_the_same_comes_from_memory(gate: Gate) -> None:
    first = gate.execute(BY_DEPT)
    gate.execute("SELECT sum(salary) FROM staff")  # the difference is known from here on
    again = gate.execute(BY_DEPT)
    assert again.fetchall() == first.fetchall()
    assert again.decision.code == "partial"


def test_risk_and_the_rule_are_told_apart(tmp_path: Path) -> None:
    """Three are too risky, two are too few besides; the message says how many are so."""
    database = build(tmp_path / "few.duckdb", departments({"a": 40, "b": 40, "c": 3, "d": 2}))
    with Gate.open(database, policy("[rules]\nmin_size = 3")) as gate:
        answer = gate.execute(BY_DEPT)
    assert [s is None for _, s, _ in answer.fetchall()] == [False, False, True, True]
    assert f"dept c; dept d: 1 is {SMALLER}; together with the others" in answer.decision.message


def test_persons_are_counted_where_the_policy_has_a_unit(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT i AS id, CASE WHEN i < 200 THEN i % 40 ELSE 40 + i % 8 END AS "
            "patient, CASE WHEN i < 200 THEN 'many' ELSE 'few' END AS ward, (i * 37) % 101 AS charge "
            "FROM range(400) t(i)"
        )
    text = (
        '[protect]\ntable = "stays"\ncolumn = "charge"\nminimum = 0\nmaximum = 100\nstep = 1\n'
        'unit = "patient"\npublic = ["ward"]\n[limit]\nrisk = 0.5\n[ledger]\neditions = false\n'
    )
    sql = "SELECT ward, avg(charge) FROM stays GROUP BY ward ORDER BY ward"
    with Gate.open(tmp_path / "stays.duckdb", Policy.parse(f"{text}[rules]\nmin_size = 10")) as gate:
        assert [mean is None for _, mean in gate.execute(sql).fetchall()] == [True, False]
        said = verdict(gate, "SELECT avg(charge) FROM stays WHERE ward = 'few'")
    assert said.code == "min-size"
    assert said.hint.startswith("Ask about 10 different values of patient or more")


def test_a_rule_that_the_table_cannot_meet_is_an_error(database: Path) -> None:
    with pytest.raises(PolicyError, match=r"rules.min_size = 90: table staff has 89 records"):
        Gate.open(database, policy("[rules]\nmin_size = 90"))


def test_what_is_called_published_keeps_the_rule(database: Path) -> None:
    rules = (
        "[intruder]\npublished = [\"SELECT sum(salary) FROM staff WHERE dept = 'c'\"]\n[rules]\nmin_size = 20"
    )
    with pytest.raises(PolicyError, match="fewer than the policy's rule"):
        Gate.open(database, policy(rules))
