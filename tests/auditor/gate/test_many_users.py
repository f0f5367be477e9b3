"""With `scope = "user"` the gate holds few users' systems, and forgets nothing of what the others know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import Gate
from auditor.parties import party
from tests.auditor.staff import build, people, policy, verdict

USERS = ("ann", "ben", "cem", "dan", "eve")
ALL = "SELECT sum(salary) FROM staff"
BUT_ONE = "SELECT sum(salary) FROM staff WHERE id <> 1"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(60))


@pytest.fixture
def gate(database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setattr(party, "PARTIES", 2)
    with Gate.open(database, policy('[ledger]\nscope = "user"')) as opened:
        yield opened


def held(gate: Gate) -> int:
    return len(gate._knowledge._held)


def test_few_are_held(gate: Gate) -> None:
    for user in USERS:
        gate.execute(ALL, user=user)
        assert held(gate) <= 2


def test_who_was_let_go_of_is_still_known_to_know(gate: Gate) -> None:
    for user in USERS:
        gate.execute(ALL, user=user)
    for user in USERS:
        assert gate._knowledge.learned(user) == 1
        assert gate.execute(ALL, user=user).decision.code == "known"
        assert verdict(gate, BUT_ONE, user=user).code == "risk"
    assert held(gate) == 2


@pytest.mark.slow
def test_a_gate_that_is_opened_again_holds_few_and_knows_all(gate: Gate, database: Path) -> None:
    for user in USERS:
        gate.execute(ALL, user=user)
    gate.close()
    with Gate.open(database, policy('[ledger]\nscope = "user"')) as again:
        assert held(again) == 2
        for user in USERS:
            assert verdict(again, BUT_ONE, user=user).code == "risk"


def test_reports_are_about_everybody(gate: Gate) -> None:
    for user in USERS:
        gate.execute(ALL, user=user)
    assert sorted(set(gate.risk()["user"])) == sorted(USERS)
    assert held(gate) <= 2


@pytest.mark.slow
def test_what_another_process_answered_to_somebody_let_go_of_is_learned(gate: Gate, database: Path) -> None:
    for user in USERS:
        gate.execute("SELECT sum(salary) FROM staff WHERE id > 30", user=user)
    with Gate.open(database, policy('[ledger]\nscope = "user"')) as other:
        other.execute(ALL, user="ann")
    assert verdict(gate, BUT_ONE, user="ann").code == "risk"
    assert gate.execute(ALL, user="ann").decision.code == "known"
