"""Differences, weights and groups in the forms that `tests/attacks` does not ask in.

Each attack is asked of a gate with risk 0.5. What was released is read from the ledger, and integer programs
that share no code with the package find, for every record, the least and the greatest value that still are
possible. The same questions, all answered, pin the target: so each of these tests could fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from auditor import Gate
from cae_sql.measure import cae_area
from tests.auditor.staff import (
    HIGH,
    LOW,
    NEEDED,
    STEP,
    Intruder,
    Person,
    build,
    entries,
    people,
    policy,
    rows_or_none,
    truth,
    verdict,
)
from tests.quick import some

TARGET = 17


@dataclass(frozen=True)
class Ask:
    """One aggregate over the persons that a condition selects."""

    kind: str
    where: str = "TRUE"

    @property
    def sql(self) -> str:
        return f"SELECT {self.kind}(salary) FROM staff WHERE {self.where}"


def sums(*conditions: str) -> list[Ask]:
    return [Ask("sum", condition) for condition in conditions]


@dataclass
class Outcome:
    """What an attack came to."""

    answered: list[bool]
    released: Intruder
    """Knows what the gate let out."""
    everything: Intruder
    """Knows all that was asked."""
    truth: dict[int, int]

    def nobody_is_located(self) -> None:
        assert not all(self.answered), "the attack was answered whole"
        assert self.released.narrowest() >= NEEDED

    def the_target_would_be(self, target: int = TARGET) -> None:
        assert self.everything.range_of(target) == (self.truth[target], self.truth[target])


def attempt(folder: Path, persons: Sequence[Person], asks: Sequence[Ask]) -> Outcome:
    """Ask all of it, in order; persons' ids are 0, 1, …"""
    database = build(folder / "staff.duckdb", persons)
    released, everything = Intruder(len(persons)), Intruder(len(persons))
    with Gate.open(database, policy()) as gate:
        said = [verdict(gate, ask.sql) for ask in asks]
        answered = [each.code in ("answered", "known") and not each.ends for each in said]
        released.reads(gate)
    for ask in asks:
        ids = [int(str(row[0])) for row in truth(database, f"SELECT id FROM staff WHERE {ask.where}")]
        total = "sum" if ask.kind == "avg" else ask.kind
        value = truth(database, f"SELECT {total}(salary)::BIGINT FROM staff WHERE {ask.where}")[0][0]
        everything.hears(total, ids, int(str(value)))
    return Outcome(answered, released, everything, {int(str(p[0])): int(str(p[-1])) for p in persons})


def test_the_limit_of_these_tests_demands_a_spread_of_130() -> None:
    prior = cae_area(range(LOW, HIGH + 1, STEP))
    risks = {spread: 1 - cae_area(range(0, spread + 1, STEP)) / prior for spread in range(10, 241, 10)}
    assert min(spread for spread, risk in risks.items() if risk <= 0.5) == NEEDED


FEW, SOME = people(40, 1), people(60, 2)

ATTACKS: dict[str, tuple[list[Person], list[Ask]]] = {
    "complement sets": (SOME, sums("TRUE", "dept <> 'b'", "dept = 'b' AND age <> 37", "id = 57")),
    "sliding windows of two lengths": (
        FEW,
        sums(
            *(f"age BETWEEN {low} AND {low + wide}" for wide in (9, 8) for low in range(24, 38, 2)),
            "age BETWEEN 37 AND 46",
        ),
    ),
    "subqueries in the condition": (
        SOME,
        sums(
            "id IN (SELECT id FROM staff)",
            "id NOT IN (SELECT id FROM staff WHERE age = 37 AND id < 40)",
            "EXISTS (SELECT 1 FROM staff AS other WHERE other.id = staff.id AND other.id <> 17)",
        ),
    ),
    "a maximum and a sum of two": (SOME, [Ask("max", "id IN (17, 18)"), *sums("id IN (17, 18)", "id = 18")]),
    "a minimum of one": (SOME, [Ask("min"), Ask("min", "id = 17")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(ATTACKS, 4))
def test_an_attack_that_needs_a_difference_locates_nobody(name: str, tmp_path: Path) -> None:
    persons, asks = ATTACKS[name]
    outcome = attempt(tmp_path, persons, asks)
    outcome.nobody_is_located()
    outcome.the_target_would_be()


def with_salaries(persons: Sequence[Person], salaries: dict[int, int]) -> list[Person]:
    """The same persons, some of them paid otherwise."""
    return [(*person[:-1], salaries.get(int(str(person[0])), person[-1])) for person in persons]


def test_the_maximum_of_all_but_one_does_not_tell_the_richest(tmp_path: Path) -> None:
    persons = [(*p[:-1], min(int(str(p[-1])), 200)) for p in SOME]
    persons = with_salaries(persons, {TARGET: 250})
    outcome = attempt(tmp_path, persons, [Ask("max"), Ask("max", "id <> 17")])
    outcome.nobody_is_located()
    outcome.the_target_would_be()


@pytest.mark.slow
def test_a_maximum_and_a_sum_do_not_pin_a_record_together(tmp_path: Path) -> None:
    """The greatest sum that a maximum allows tells everybody's value."""
    group = range(10, 20)
    persons = with_salaries(SOME, dict.fromkeys(group, 200))
    where = "id BETWEEN 10 AND 19"
    for number, asks in enumerate(
        ([Ask("max", where), Ask("sum", where)], [Ask("sum", where), Ask("max", where)])
    ):
        (tmp_path / str(number)).mkdir()
        outcome = attempt(tmp_path / str(number), persons, asks)
        outcome.nobody_is_located()
        outcome.the_target_would_be()


@pytest.mark.slow
def test_a_single_person_is_asked_in_no_way(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    with Gate.open(database, policy()) as gate:
        for function, where in product(("sum", "avg", "min", "max"), ("id = 17", "age = 37 AND id < 40")):
            assert verdict(gate, f"SELECT {function}(salary) FROM staff WHERE {where}").code == "risk"
            assert (
                verdict(gate, f"SELECT {function}(salary) FILTER (WHERE {where}) FROM staff").code == "risk"
            )
            case = f"SELECT {function}(CASE WHEN {where} THEN salary END) FROM staff"
            assert verdict(gate, case).code == "risk"
        assert [answer for entry in entries(gate) for answer in entry.answers] == []


def test_an_oracle_over_a_large_group_counts_as_the_whole_answer(tmp_path: Path) -> None:
    """Who asks whether a sum is above 5000 has been told the sum, as far as later decisions go."""
    database = build(tmp_path / "staff.duckdb", SOME)
    with Gate.open(database, policy()) as gate:
        for x in (5000, 6000):
            rows_or_none(gate, f"SELECT 1 FROM staff HAVING sum(salary) > {x}")
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id <> 17").code == "risk"


@pytest.mark.slow
def test_many_sums_do_not_tell_a_value_modulo_its_range(tmp_path: Path) -> None:
    """26 sums, each without one of 26 groups: 26 t + 25 · everything else, and t has 25 values."""
    persons = people(53, 5)
    database = build(tmp_path / "staff.duckdb", persons)
    groups = [(1 + 2 * k, 2 + 2 * k) for k in range(26)]
    units = [(int(str(p[-1])) - LOW) // STEP for p in persons]
    sets = [[0, *(i for g in groups if g != left for i in g)] for left in groups]
    assert sum(sum(units[i] for i in each) for each in sets) % 25 == units[0]
    with Gate.open(database, policy()) as gate:
        answered = []
        for each in sets:
            sql = f"SELECT sum(salary) FROM staff WHERE id IN ({', '.join(map(str, each))})"
            answered.append(verdict(gate, sql).verdict == "answered")
        released = Intruder(53)
        released.reads(gate)
    assert not all(answered)
    assert answered[0]
    assert released.narrowest() >= NEEDED


@pytest.mark.parametrize(
    "argument",
    some(
        [
            "salary * CASE WHEN id = 17 THEN 1 ELSE 25 END",
            "CASE WHEN id = 17 THEN salary ELSE 25 * salary END",
            "CASE id WHEN 16 THEN 625 * salary WHEN 17 THEN 25 * salary ELSE salary END",
            "salary * id",
            "salary * power(25, id % 3)",
            "CASE WHEN id = 17 THEN salary END + 25 * CASE WHEN id <> 17 THEN salary END",
            "salary // CASE WHEN id = 17 THEN 1 ELSE 25 END",
            "salary % CASE WHEN id = 17 THEN 251 ELSE 1 END",
            "salary * salary",
            "salary & 16",
            "round(salary, -2)",
            "greatest(salary, 100)",
            "(salary > 100)::INTEGER",
        ],
        5,
    ),
)
def test_weights_that_read_a_value_digit_by_digit_are_not_answered(argument: str, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    with Gate.open(database, policy()) as gate:
        said = verdict(gate, f"SELECT sum({argument}) FROM staff")
        # public weights are told as ranges alone, and only where these are asked for
        assert said.verdict == "unsupported" or (said.verdict, said.code) == ("refused", "range")
        assert [answer for entry in entries(gate) for answer in entry.answers] == []


@pytest.mark.parametrize("factor", some(["2147483647", "-1", "0.1", "1e-9", "1e15", "25", "-3 * 2"], 3))
def test_a_multiplier_makes_a_sum_no_other_sum(factor: str, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    with Gate.open(database, policy()) as gate:
        first = verdict(gate, f"SELECT sum(salary * ({factor})) FROM staff")
        assert first.verdict in ("answered", "unsupported")
        second = verdict(gate, "SELECT sum(salary) FROM staff")
        assert second.code == ("known" if first.verdict == "answered" else "answered")
        assert (
            verdict(gate, f"SELECT sum(salary * ({factor})) FROM staff WHERE id <> 17").verdict != "answered"
        )
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id <> 17").code == "risk"


def test_an_offset_makes_a_sum_no_other_sum(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, "SELECT sum(2 * salary + 3) FROM staff").verdict == "answered"
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"
        assert verdict(gate, "SELECT sum(7 - salary) FROM staff WHERE id <> 17").code == "risk"


def test_plus_and_minus_one_are_weights_that_a_difference_cannot_use(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    signed = "SELECT sum(CASE WHEN id = 17 THEN -salary ELSE salary END) FROM staff"
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, signed).verdict == "answered"
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "risk"
        released = Intruder(len(SOME))
        released.reads(gate)
    assert released.narrowest() >= NEEDED
    everything = Intruder(len(SOME))
    salaries = [int(str(p[-1])) for p in SOME]
    everything.hears("sum", range(60), sum(salaries))
    everything.hears(
        "sum", range(60), sum(salaries) - 2 * salaries[17], [-1 if i == 17 else 1 for i in range(60)]
    )
    assert everything.range_of(17) == (salaries[17], salaries[17])


GROUPED = [
    "SELECT id, sum(salary) FROM staff GROUP BY id",
    "SELECT age, sex, dept, sum(salary) FROM staff GROUP BY age, sex, dept",
    "SELECT id = 17 AS target, sum(salary) FROM staff GROUP BY target",
    "SELECT CASE WHEN id = 17 THEN 'x' ELSE dept END AS d, avg(salary) FROM staff GROUP BY d",
    "SELECT id // 2 AS pair, max(salary), sum(salary) FROM staff GROUP BY pair",
    "SELECT nullif(id, 17) IS NULL AS t, min(salary) FROM staff GROUP BY ALL",
    "SELECT sum(s), (SELECT sum(salary) FROM staff) FROM (SELECT id, sum(salary) AS s FROM staff "
    "GROUP BY id) WHERE id <> 17",
    "SELECT dept, sum(salary) FROM staff WHERE dept <> 'b' OR id = 17 GROUP BY dept",
    "SELECT sum(salary) FILTER (WHERE id <> 17), sum(salary) FROM staff",
    "SELECT sum(CASE WHEN id = 17 THEN salary END), count(*) FROM staff",
    "SELECT (SELECT sum(salary) FROM staff) - (SELECT sum(salary) FROM staff WHERE id <> 17)",
    "SELECT sum(salary) FROM staff UNION ALL SELECT sum(salary) FROM staff WHERE id <> 17",
    "WITH a AS (SELECT sum(salary) AS s FROM staff), "
    "b AS (SELECT sum(salary) AS s FROM staff WHERE id <> 17) SELECT a.s - b.s FROM a, b",
]


@pytest.mark.parametrize("sql", some(GROUPED, 4))
def test_one_statement_does_not_ask_about_a_person_in_parts(sql: str, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", SOME)
    assert truth(database, sql), "plain DuckDB answers it"
    with Gate.open(database, policy('[decision]\npartial = "refuse"')) as gate:
        assert verdict(gate, sql).verdict != "answered"
        assert [answer for entry in entries(gate) for answer in entry.answers] == []


@pytest.mark.slow
def test_small_groups_do_not_add_up_to_a_person(tmp_path: Path) -> None:
    """Groups of seven that are answered, then unions of them that leave one person over."""
    persons = people(84, 7)
    groups = [f"id // 7 = {g}" for g in range(12)]
    union = " OR ".join(groups[:-1])
    asks = sums(
        *groups,
        f"({union} OR {groups[-1]}) AND id <> 17",
        f"({union}) AND id <> 17",
        "id // 14 = 1 AND id <> 17",
    )
    outcome = attempt(tmp_path, persons, asks)
    assert any(outcome.answered[:12])
    outcome.nobody_is_located()
    outcome.the_target_would_be()


@pytest.mark.slow
def test_all_answers_of_random_ranges_leave_everybody_their_spread(tmp_path: Path) -> None:
    """No aim at all, only persistence: ranges until nothing is answered any more."""
    persons = people(30, 11)
    bounds = [((7 * k) % 23, (7 * k) % 23 + 4 + (5 * k) % 13) for k in range(22)]
    asks = [Ask("sum" if k % 4 else "max", f"id BETWEEN {a} AND {b}") for k, (a, b) in enumerate(bounds)]
    outcome = attempt(tmp_path, persons, asks)
    assert any(outcome.answered)
    outcome.nobody_is_located()
    reached = (outcome.everything.range_of(record) for record in range(30))
    assert any(high - low < NEEDED for low, high in reached)
