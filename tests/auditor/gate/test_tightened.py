"""A ledger begun without insiders goes on with one: what is known stays, what is new is judged for one."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from auditor import Gate, LedgerError
from auditor.errors import EarlierAnswersWarning
from tests.auditor.staff import build, people, policy, verdict

PATIENT = "\n[decision]\ntimeout = 100\n"
WITHOUT, WITH = (f"[intruder]\ninsiders = {insiders}{PATIENT}" for insiders in (0, 1))
ALL = "SELECT sum(salary) FROM staff"
TWO = "SELECT avg(salary) FROM staff WHERE id < 2"
HALF = "SELECT sum(salary) FROM staff WHERE id <= 30"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    persons = people(60)
    # two in the middle of the domain keep long runs, but for each other
    middle = [(*person[:4], 130) for person in persons[:2]]
    return build(tmp_path / "staff.duckdb", [*middle, *persons[2:]])


def told(database: Path, *statements: str) -> None:
    with Gate.open(database, policy(WITHOUT + 'mode = "answer-dependent"')) as gate:
        for each in statements:
            gate.execute(each)


def test_where_the_limit_is_kept_it_goes_on_without_a_word(database: Path) -> None:
    told(database, ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EarlierAnswersWarning)
        with Gate.open(database, policy(WITH)) as gate:
            assert gate.execute(ALL).decision.code == "known"
            assert verdict(gate, HALF).code == "answered"
            assert verdict(gate, TWO).code == "risk"


def test_where_an_answer_breaks_it_that_is_said_and_nothing_new_is_answered(database: Path) -> None:
    told(database, TWO)
    with pytest.warns(EarlierAnswersWarning, match="begun with insiders = 0"):
        gate = Gate.open(database, policy(WITH))
    with gate:
        assert gate.execute(TWO).decision.code == "known"
        assert verdict(gate, ALL).code == "risk"


def test_nothing_is_said_of_an_empty_ledger(database: Path) -> None:
    told(database)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EarlierAnswersWarning)
        with Gate.open(database, policy(WITH)) as gate:
            assert verdict(gate, ALL).code == "answered"


def test_fewer_insiders_than_it_was_begun_with_are_refused(database: Path) -> None:
    with Gate.open(database, policy(WITH)) as gate:
        gate.execute(ALL)
    with pytest.raises(LedgerError, match=r"set insiders = 1 under \[intruder\]"):
        Gate.open(database, policy(WITHOUT))
