"""EXPLAIN, remainders and releases as an intruder's tools.

Asked: EXPLAIN of extremes of small sets, and what is left of the limit before and after; remainders of groups
between which one person is moved. Each works on a gate that breaks a promise, here plain rules over DuckDB.
Then the whole suite, where remainders are told and a sum of two persons has been released.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from auditor import Gate
from auditor.attacks import ATTACKS, Reply, Target
from auditor.attacks.runner import Judge
from auditor.data.sources import source_of
from auditor.ledger import Entry
from auditor.told import Foreseen
from tests.auditor.gate.test_remainder_attacks import Shape, remainders, session
from tests.auditor.gate.test_suppress_attacks import before_surprises
from tests.quick import some

from .arena import HIGH, LEAST_RUN, LOW, STEP, Row, attacked, build, locates_nobody, named, people, policy

REMAINDER = "[decision]\ntimeout = 1\nremainder = true"
RELEASED = (0, 7)
"""Of one department; in the table of the suite so little together that both are past the limit."""
RELEASE = f"SELECT sum(salary) FROM staff WHERE id IN {RELEASED}"


@pytest.mark.parametrize(
    "name", some(["remainder-of-groups", "left-before-and-after", "explained-extremes"], 2)
)
def test_what_is_foreseen_and_remainders_locate_nobody(name: str, tmp_path: Path) -> None:
    outcome = attacked(tmp_path, name, people(30, 10), policy(REMAINDER))
    locates_nobody(outcome, answered=None)
    assert outcome.report.gate is not None
    assert outcome.report.gate.remarks == (), "left does not fall where nothing is told"


class Broken:
    """Rules of thumb over the true table: each promise of the gate's that an attack is about is broken."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.asked = judge, set[str]()

    def answers(self, sql: str, user: str) -> Reply:
        """Extremes are refused; groups of fewer than five are withheld, and told together."""
        if "max(" in sql or "min(" in sql:
            self.asked.add(sql)
            return Reply("refused", None)
        found = self.judge.answers(sql, user)
        if "GROUP BY" not in sql:
            return found
        size = _numbers(self.judge.answers(sql.replace("SUM(", "COUNT("), user))
        total = _numbers(found)
        rows = [(name, None if size[name] < 5 else total[name]) for name in total]
        small = sum(total[name] for name in total if size[name] < 5)
        return Reply("answered", rows, remainder=[(None, small)])

    def checks(self, sql: str, user: str) -> Reply:
        """A fate by the true value; what is left counts the answers that were refused."""
        ((value,),) = self.judge.answers(sql, user).rows or ()
        far = abs(int(str(value)) - (LOW if "max(" in sql else HIGH)) // STEP
        too_few = far + 1 < LEAST_RUN
        spent = too_few and sql in self.asked
        fate = Foreseen({}, "", "withheld" if too_few else "exact", "", 0.0 if spent else 1.0)
        return Reply("refused", None, fates=(fate,))


def set_aside(entries: Iterable[Entry]) -> set[int]:
    """Who was set aside by a release."""
    told = [answer for entry in entries for answer in entry.answers]
    return {record for answer in told if answer.kind == "aside" for record in answer.records.tolist()}


def _numbers(reply: Reply) -> dict[str, int]:
    return {str(name): int(str(number)) for name, number in reply.rows or ()}


@pytest.mark.parametrize("name", ["explained-extremes", "left-before-and-after", "remainder-of-groups"])
def test_each_locates_somebody_where_its_promise_is_broken(name: str, tmp_path: Path) -> None:
    rules = policy()
    judge = Judge(source_of(build(tmp_path / "staff.duckdb", people(30, 10))), rules, rules.protects[0])
    broken = Broken(judge)
    claims = named(name).run(Target(judge.scene(), broken.answers, broken.checks))
    assert judge.achieved(claims) != ()
    judge.close()


@pytest.mark.parametrize("name", some([attack.name for attack in ATTACKS], 1))
def test_beside_remainders_and_after_a_release_nobody_else_is_located(name: str, tmp_path: Path) -> None:
    rows = people(24, 23)
    outcome = attacked(tmp_path, name, rows, policy(REMAINDER, key='"id"'), released=RELEASE, decisions=60)
    report = outcome.report
    assert report.error is None
    assert set_aside(outcome.entries) == set(RELEASED)
    if report.gate is not None:
        assert {claim.record for claim in report.gate.achieved} <= set(RELEASED)
    assert set(outcome.onlooker.everybody_keeps(LEAST_RUN)) <= set(RELEASED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_after_a_release_two_tables_with_the_same_answers_are_told_the_same(
    seed: int, tmp_path: Path
) -> None:
    """Rows of EXPLAIN, which groups are withheld, and remainders."""
    persons, rules = people(60, seed), policy(REMAINDER.replace("1", "60"), key='"id"')
    group = "CASE WHEN id < 48 THEN dept ELSE (id // {})::VARCHAR END"
    keys = (group.format(2), group.format(3), "CASE WHEN id < 50 THEN id % 3 ELSE id END")
    asked = [f"SELECT {key} AS k, sum(salary) FROM staff GROUP BY k ORDER BY k" for key in keys]

    def day(gate: Gate) -> tuple[list[Row], list[list[Row]], list[tuple[list[Shape], list[object]]]]:
        gate.execute("SELECT sum(salary) FROM staff", user="eve")
        released = gate.release(RELEASE, "the board agreed").fetchall()
        foreseen, told = list[list[Row]](), list[tuple[list[Shape], list[object]]]()
        for sql in asked:
            more = (sql, sql.replace("sum(", "max("), "SELECT max(salary) FROM staff WHERE id > 7")
            foreseen += [gate.execute(f"EXPLAIN {each}", user="eve").fetchall() for each in more]
            told.append(session(gate, [sql]))
        return released, foreseen, told

    with Gate.open(build(tmp_path / "one.duckdb", persons), rules) as gate:
        first = day(gate)
        assert before_surprises(gate) == len(gate.history()), "from there on a NULL may tell something"
        world = gate._knowledge.of("eve").columns[0].system.worlds(1, seed)[0]
        assert set_aside(gate._ledger.entries()) == set(RELEASED)
    one, two = RELEASED  # of those set aside no table is kept: they change places
    pay = dict(enumerate(world.tolist())) | {one: persons[two][-1], two: persons[one][-1]}
    others = [(*row[:-1], int(str(pay[place]))) for place, row in enumerate(persons)]
    assert sum(a != b for a, b in zip(persons, others, strict=True)) > 20
    with Gate.open(build(tmp_path / "other.duckdb", others), rules) as gate:
        assert day(gate) == first
    assert sum(remainders(shapes) for shapes, _ in first[2]) >= 1, "nothing was tried"
