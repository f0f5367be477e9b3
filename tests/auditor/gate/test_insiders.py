"""Whoever asks may be one of the people in the table: `insiders = 1`, the default, reckons with that.

Each test has groups that are safe as long as nobody uses a value of their own, and asks the same with
`insiders = 0`. What an insider can infer is worked out by integer programs that are not the package's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate
from auditor.policy.sections import DEFAULT_INSIDERS
from tests.auditor.staff import (
    HIGH,
    LOW,
    STEP,
    Intruder,
    Person,
    build,
    people,
    policy_text,
    rows_or_none,
    verdict,
)
from tests.auditor.staff import policy as rules
from tests.quick import some

WIDE = {"minimum": 0, "maximum": 1000, "step": 10}
"""A domain so wide that, with risk 0.9, the sum of two leaves an outsider enough in 98 of 100 tables."""
TWO = "SELECT avg(salary) FROM staff WHERE id < 2"
ALL, BUT_TWO = "SELECT sum(salary) FROM staff", "SELECT sum(salary) FROM staff WHERE id > 1"
LOOKS = '[decision]\nmode = "answer-dependent"\n'
"""The true answer alone decides, so that a test can choose it."""


def insiders(number: int, more: str = "") -> str:
    return f"[intruder]\ninsiders = {number}\n{more}"


def wide(persons: int) -> list[Person]:
    return [(i, 20 + i, "f", "a", i * 370 % 1010 // 10 * 10) for i in range(persons)]


def test_a_policy_that_does_not_say_reckons_with_one(tmp_path: Path) -> None:
    assert DEFAULT_INSIDERS == 1
    database = build(tmp_path / "staff.duckdb", wide(30))
    with Gate.open(database, rules(limit="risk = 0.9", **WIDE)) as gate:
        assert verdict(gate, TWO).code == "risk"


@pytest.mark.parametrize(("number", "expected"), [(0, "answered"), (1, "risk")])
@pytest.mark.parametrize("mode", some(["", LOOKS], 1))
def test_the_mean_of_two_tells_each_of_them_the_other(
    mode: str, number: int, expected: str, tmp_path: Path
) -> None:
    database = build(
        tmp_path / "staff.duckdb", [(0, 20, "f", "a", 500), (1, 21, "f", "a", 480), *wide(30)[2:]]
    )
    with Gate.open(database, rules(insiders(number, mode), limit="risk = 0.9", **WIDE)) as gate:
        assert verdict(gate, TWO).code == expected


@pytest.mark.parametrize(("number", "expected"), [(0, "answered"), (1, "risk")])
def test_a_total_of_all_but_two_is_a_sum_of_two(number: int, expected: str, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", wide(30))
    with Gate.open(database, rules(insiders(number), limit="risk = 0.9", **WIDE)) as gate:
        assert verdict(gate, ALL).code == "answered"
        assert verdict(gate, BUT_TWO).code == expected
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id >= 10").code == "answered"


@pytest.mark.parametrize(("number", "expected"), [(0, "answered"), (1, "risk")])
def test_who_does_not_have_the_highest_of_two_knows_who_has(
    number: int, expected: str, tmp_path: Path
) -> None:
    persons = [(0, 20, "f", "a", 400), (1, 21, "f", "a", 900), *wide(30)[2:]]
    database = build(tmp_path / "staff.duckdb", persons)
    with Gate.open(database, rules(insiders(number, LOOKS), limit="risk = 0.9", **WIDE)) as gate:
        assert verdict(gate, "SELECT max(salary) FROM staff WHERE id < 2").code == expected


THREE = "SELECT sum(salary) FROM staff WHERE id < 3"
SAME_TOTAL = [(10, 10, 210), (80, 80, 70), (10, 110, 110)]
"""230 together, 200 above three times the least: who has all of that knows that the others have the least."""


@pytest.mark.parametrize("salaries", SAME_TOTAL)
@pytest.mark.parametrize(("number", "expected"), some([(0, "answered"), (1, "risk")], 2))
def test_it_counts_what_an_insider_might_have_and_not_what_they_have(
    number: int, expected: str, salaries: tuple[int, ...], tmp_path: Path
) -> None:
    """An extreme total of three is refused, also where nobody has the value that would tell."""
    persons = people(30)
    for i, salary in enumerate(salaries):
        persons[i] = (*persons[i][:-1], salary)
    database = build(tmp_path / "staff.duckdb", persons)
    with Gate.open(database, rules(insiders(number, LOOKS))) as gate:
        assert verdict(gate, THREE).code == expected


@pytest.mark.slow
def test_many_are_asked_about_as_before(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(100))
    for number in (0, 1):
        with Gate.open(database, rules(insiders(number)), tmp_path / f"{number}.ledger") as gate:
            for sql in (
                "SELECT dept, avg(salary) FROM staff GROUP BY dept",
                "SELECT sum(salary) FROM staff WHERE age < 30",
                "SELECT max(salary) FROM staff WHERE sex = 'f'",
            ):
                assert verdict(gate, sql).code == "answered"


ASKED = [
    "SELECT sum(salary) FROM staff WHERE id < 7",
    "SELECT max(salary) FROM staff WHERE id % 2 = 0",
    "SELECT sum(salary) FROM staff WHERE id > 4",
    "SELECT sum(salary) FROM staff WHERE id % 3 = 0",
    "SELECT min(salary) FROM staff WHERE id > 2",
]
NEED = 60
"""Least spread, in units of the column, that keeps a risk of 0.8 on this domain where all values between are
possible (7 of 25)."""


def least_spread_for_an_insider(told: Intruder) -> int:
    """Over everybody, and everybody else as an insider with the least or the greatest value they may have."""
    spreads = []
    for insider in range(told.size):
        for value in told.range_of(insider):
            knows = Intruder(told.size, told=list(told.told))
            knows.hears("sum", [insider], value)
            ranges = [each for record, each in enumerate(knows.ranges()) if record != insider]
            spreads.append(min(high - low for low, high in ranges))
    return min(spreads)


@pytest.mark.slow
def test_what_is_released_leaves_everybody_the_limit_whoever_asks(tmp_path: Path) -> None:
    """Asked with 0 the same questions are answered so that an insider would learn too much."""
    database = build(tmp_path / "staff.duckdb", people(10, 4))
    spread = {}
    for number in (0, 1):
        policy = rules(insiders(number, LOOKS), limit="risk = 0.8")
        with Gate.open(database, policy, tmp_path / f"{number}.ledger") as gate:
            assert gate._knowledge.columns[0].standard.need * STEP == NEED
            answered = [rows_or_none(gate, sql) is not None for sql in ASKED]
            told = Intruder(10)
            told.reads(gate)
        assert sum(answered) >= 3
        spread[number] = least_spread_for_an_insider(told)
    assert spread[0] < NEED <= spread[1]
    assert NEED < HIGH - LOW


def test_a_ledger_that_was_begun_with_an_insider_is_not_opened_without(tmp_path: Path) -> None:
    from auditor import LedgerError, Policy

    database = build(tmp_path / "staff.duckdb", people(30))
    Gate.open(database, Policy.parse(policy_text())).close()
    with pytest.raises(LedgerError, match=r"set insiders = 1 under \[intruder\]"):
        Gate.open(database, Policy.parse(policy_text(insiders(0))))
