"""Whom answers say most of: what is excluded and what is likely, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor import Gate
from auditor.gate.nearest import Nearest
from auditor.likeliest import shortest_run
from tests.auditor.staff import build, policy


def rows(count: int) -> list[tuple[object, ...]]:
    pay = np.random.default_rng(4).integers(1, 26, count) * 10
    return [(i, 20 + i % 30, "mf"[i % 2], "abcd"[i % 4], int(pay[i])) for i in range(count)]


@pytest.fixture
def gate(tmp_path: Path):
    database = build(tmp_path / "staff.duckdb", rows(60))
    with Gate.open(database, policy()) as opened:
        yield opened


def test_nobody_is_near_before_anything_is_answered(gate: Gate) -> None:
    for each in gate.nearest(5):
        assert each.risk == 0
        assert each.leverage == 0
        assert each.carried_by == ()


def test_the_first_is_who_has_most_risk_with_the_statements_that_carry_it(gate: Gate) -> None:
    gate.execute("SELECT avg(salary) FROM staff")
    gate.execute("SELECT sum(salary) FROM staff WHERE id < 12")
    found = gate.nearest(60)
    assert len(found) == 60
    assert [each.risk for each in found] == sorted((each.risk for each in found), reverse=True)
    most = max(found, key=lambda each: each.leverage)
    assert most.about["id"] in range(12)
    assert 2 in most.carried_by
    assert 0.85 * most.leverage <= most.carried <= most.leverage + 1e-9
    frame = gate.risk("posterior").set_index("id")
    assert found[0].risk == pytest.approx(frame["worst_risk"].max(), abs=1e-9)


def test_how_much_of_the_limit_is_spent_and_what_each_statement_adds_to_it(gate: Gate) -> None:
    gate.execute("SELECT avg(salary) FROM staff")
    gate.execute("SELECT sum(salary) FROM staff WHERE id < 12")
    first = gate.nearest(1)[0]
    assert first.spent == pytest.approx(first.near / 0.5)
    assert 0 < first.spent < 1
    assert first.shares[0][0] == 2
    assert sum(added for _, added in first.shares) == pytest.approx(first.carried)
    assert {number for number, _ in first.shares} == set(first.carried_by)


def test_each_user_of_a_ledger_of_their_own_has_the_statements_that_they_asked(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", rows(60))
    with Gate.open(database, policy('[ledger]\nscope = "user"\n')) as gate:
        gate.execute("SELECT sum(salary) FROM staff WHERE id < 40", user="ana")
        gate.execute("SELECT sum(salary) FROM staff WHERE id < 12", user="ben")
        found = gate.nearest(120)
    by = {name: {each.carried_by for each in found if each.about["user"] == name} for name in ("ana", "ben")}
    assert by == {"ana": {(1,), ()}, "ben": {(2,), ()}}


def test_words_say_what_is_possible_and_what_is_likely(gate: Gate) -> None:
    gate.execute("SELECT sum(salary) FROM staff WHERE id < 12")
    (first,) = gate.nearest(1)
    assert first.lower <= first.likely_lower <= first.likely_upper <= first.upper
    assert f"any of {first.possible} values" in first.words
    assert f"most likely {first.likely_lower:g} to {first.likely_upper:g}" in first.words
    assert first.words.endswith("of its variance, statement 1 alone 8%")


def test_who_is_known_is_said_to_be() -> None:
    one = Nearest(1, 130.0, 130.0, 130.0, 130.0, 1.0, 1.0, 1.0, {}, 1, (3, 5))
    assert one.words == "is known to be 130; answers explain 100% of its variance, statements 3, 5 alone 100%"


def test_the_likeliest_values_are_the_fewest_neighbours_that_hold_four_chances_of_five() -> None:
    assert shortest_run(np.array([0.1, 0.1, 0.5, 0.3, 0.0])) == (2, 3)
    assert shortest_run(np.array([0.0, 1.0, 0.0])) == (1, 1)
    assert shortest_run(np.full(10, 0.1)) == (0, 7)
