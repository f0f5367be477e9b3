"""How risk grew: the ledger told again says after each answer what the gate said then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor import Gate
from auditor.gate import growth
from auditor.gate.growth import Growth, moments, of_classes
from auditor.policy.policy import Policy
from tests.auditor.staff import build, people, policy

ASKED = (
    "SELECT avg(salary) FROM staff",
    "SELECT dept, avg(salary) FROM staff GROUP BY dept",
    "SELECT max(salary) FROM staff WHERE age > 40",
    "SELECT sum(salary) FROM staff WHERE id < 20",
)


def grown(tmp_path: Path, rules: Policy, asked: tuple[str, ...] = ASKED) -> tuple[list[Growth], list[float]]:
    """How risk grew by the ledger told again, and the highest that an open gate said after each answer."""
    database, said = build(tmp_path / "staff.duckdb", people(60)), []
    with Gate.open(database, rules) as gate:
        for sql in asked:
            gate.execute(sql)
            likely, excluded = gate.risk("posterior"), gate.risk("interval")
            said.append(max(float(likely["worst_risk"].max()), float(excluded["risk"].max())))
    with Gate.open(database, rules) as gate:
        return gate.growth(), said


def test_each_look_has_the_risk_that_the_gate_said_after_that_answer(tmp_path: Path) -> None:
    [found], said = grown(tmp_path, policy())
    assert [look.entry for look in found.looks] == [1, 2, 3, 4]
    assert [float(of_classes(look).max()) for look in found.looks] == pytest.approx(said, abs=1e-9)
    assert float(found.worst.max()) == pytest.approx(said[-1], abs=1e-9)
    assert found.records.sum() == 60
    assert found.entries == 4


def test_what_teaches_nothing_is_not_looked_at(tmp_path: Path) -> None:
    again = ("SELECT avg(salary) FROM staff", "SELECT count(*) FROM staff", "SELECT sum(salary) FROM staff")
    [found], _ = grown(tmp_path, policy(), again)
    assert [look.entry for look in found.looks] == [1]


def test_nothing_grew_where_nothing_was_answered(tmp_path: Path) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(30)), policy()) as gate:
        assert gate.growth() == []


def test_each_user_of_a_ledger_of_their_own_grew_alone_and_the_worst_comes_first(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(60))
    with Gate.open(database, policy('[ledger]\nscope = "user"\n')) as gate:
        gate.execute("SELECT sum(salary) FROM staff WHERE id < 50", user="ana")
        gate.execute("SELECT sum(salary) FROM staff WHERE id < 12", user="ben")
        found = gate.growth()
    assert [each.about for each in found] == [{"user": "ben"}, {"user": "ana"}]
    assert [[look.entry for look in each.looks] for each in found] == [[2], [1]]
    assert found[0].worst.max() >= found[1].worst.max()


def test_of_a_long_ledger_some_moments_are_looked_at_the_last_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "MOMENTS", 3)
    [found], said = grown(tmp_path, policy())
    assert [look.entry for look in found.looks] == [1, 3, 4]
    assert float(found.worst.max()) == pytest.approx(said[-1], abs=1e-9)


@pytest.mark.parametrize("count", [0, 1, 29, 30, 31, 1000])
def test_moments_are_in_order_and_end_with_the_last(count: int) -> None:
    found = list(moments(count))
    assert found == sorted(set(found))
    assert len(found) == min(count, growth.MOMENTS)
    assert found[-1:] == [count - 1] * bool(count)


def test_where_there_are_too_many_groups_what_is_excluded_alone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cae_sql.errors import InvalidInput

    def too_many(*_: object) -> None:
        raise InvalidInput("too many")

    monkeypatch.setattr(growth, "risks_of_records", too_many)
    [found], _ = grown(tmp_path, policy())
    assert all(look.likely is None for look in found.looks)
    assert found.worst.max() == pytest.approx(float(found.looks[-1].excluded.max()))
    assert np.isfinite(found.worst).all()


def test_all_rows_of_a_person_together_count(tmp_path: Path) -> None:
    """Four rows each: the total of a unit is nearer the limit than any row."""
    rows = [(i, 20 + i % 20, "mf"[i % 2], "abcd"[i // 4 % 4], 10 + 10 * (i * 7 % 25)) for i in range(80)]
    database = build(tmp_path / "staff.duckdb", [(i // 4, *row[1:]) for i, row in enumerate(rows)])
    rules = policy(unit='"id"', public='["sex", "dept"]')
    with Gate.open(database, rules) as gate:
        gate.execute("SELECT dept, avg(salary) FROM staff GROUP BY dept")
        likely = gate.risk("posterior")
        [found] = gate.growth()
    assert float(found.worst.max()) == pytest.approx(
        max(float(likely["unit_risk"].max()), float(found.looks[-1].excluded.max())), abs=1e-9
    )
    assert likely["unit_risk"].max() > likely["worst_risk"].max()
