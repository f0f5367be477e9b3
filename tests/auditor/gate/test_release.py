"""A release is known to everybody from then on, and makes nobody else's limit fall: by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from auditor import AuditorError, Gate, QueryRefused, QueryUnsupported
from auditor.errors import StatementError
from auditor.ledger import KnownAnswer
from cae_sql.domain import Domain
from cae_sql.risk import risk_of
from tests.auditor.staff import OUTSIDERS, build, entries, people, policy, verdict

ALL = "SELECT sum(salary) FROM staff"
TWO = "SELECT sum(salary) FROM staff WHERE id IN (4, 8)"
BY_DEPT = "SELECT dept, avg(salary) FROM staff GROUP BY dept ORDER BY dept"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(60))


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy(OUTSIDERS, key='"id"')) as gate:
        yield gate


def test_what_is_released_is_known_from_then_on(gate: Gate, database: Path) -> None:
    assert verdict(gate, TWO).code == "risk"
    answer = gate.release(TWO, "asked for by the auditors", user="olga")
    assert answer.decision.code == "released"
    assert gate.execute(TWO).fetchall() == answer.fetchall()
    with Gate.open(database, policy(OUTSIDERS, key='"id"')) as other:
        assert other.execute(TWO).decision.code == "known"


def test_it_is_recorded_with_its_reason_and_who_released_it(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors", user="olga")
    entry = entries(gate)[-1]
    assert (entry.code, entry.because, entry.by) == ("released", "asked for by the auditors", "olga")
    assert gate.verify().problems == ()


def test_whom_it_takes_beyond_the_limit_is_said_before(gate: Gate) -> None:
    found = gate.exposed_by(TWO)
    assert sorted(found.persons["id"]) == [4, 8]
    assert found.count == found.beyond == 2
    assert not any(entry.answers for entry in entries(gate))


def test_a_release_that_hurts_nobody_sets_nobody_aside(gate: Gate) -> None:
    assert gate.exposed_by(ALL).count == 0
    gate.release(ALL, "as well")
    assert [answer.kind for answer in entries(gate)[-1].answers] == ["sum"]


def test_all_others_are_still_judged_and_answered(gate: Gate) -> None:
    gate.execute(BY_DEPT)
    gate.release(TWO, "asked for by the auditors")
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id < 30").code == "answered"
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id < 29").code == "risk"
    assert verdict(gate, ALL).code == "known"
    assert gate.execute(BY_DEPT).decision.code == "known"


def test_what_is_known_of_the_released_stands_beside_what_is_answered_of_others(
    gate: Gate, database: Path
) -> None:
    gate.release(TWO, "asked for by the auditors")
    half = "SELECT sum(salary), avg(salary), count(salary) FROM staff WHERE id < 30"
    salaries = [person[4] for person in people(60)][:30]
    assert gate.execute(half).fetchall() == [(sum(salaries), sum(salaries) / 30, 30)]


def test_nothing_more_is_told_of_whom_was_set_aside(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors")
    for sql in (
        "SELECT sum(salary) FROM staff WHERE id < 8",
        "SELECT max(salary) FROM staff",
        "SELECT at_least(sum(salary)), at_most(sum(salary)) FROM staff WHERE id < 8",
        "SELECT at_least(median(salary)), at_most(median(salary)) FROM staff",
    ):
        assert verdict(gate, sql).code == "risk"
        assert gate.check(sql).code == "risk"


@pytest.mark.slow
def test_a_maximum_of_all_that_was_told_does_not_stop_the_others(gate: Gate) -> None:
    """It might be one of the two who has it: the release tells the greatest value of the others as well."""
    two = "SELECT sum(salary) FROM staff WHERE id IN (14, 19)"
    assert gate.execute("SELECT max(salary) FROM staff").decision.code == "answered"
    seen = gate.exposed_by(two)
    assert (seen.count, seen.besides) == (2, 1)
    assert "extremes of all others" in seen.words
    gate.release(two, "they agreed", seen=seen)
    assert verdict(gate, "SELECT max(salary) FROM staff").code == "known"
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id > 20").code == "answered"


def test_of_groups_those_that_tell_more_of_them_are_withheld(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors")
    answer = gate.execute("SELECT id // 6 AS six, sum(salary) FROM staff GROUP BY six ORDER BY six")
    assert answer.decision.code == "partial"
    lost = [row[1] is None for row in answer.fetchall()]
    assert lost[:2] == [True, True]
    assert not all(lost)


def test_a_reader_of_the_risk_sees_those_who_were_set_aside(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors")
    worst = gate.risk().sort_values("risk").iloc[-2:]
    assert sorted(worst["id"]) == [4, 8]
    assert (worst["risk"] > 0.5).all()


def test_explain_says_that_nothing_is_left_of_the_limit_of_whom_was_set_aside(gate: Gate) -> None:
    explained = "EXPLAIN SELECT dept, avg(salary) FROM staff GROUP BY dept ORDER BY dept"
    assert all(row[4] > 0 for row in gate.execute(explained).fetchall())
    gate.release(TWO, "it is known anyway")
    of_two = gate.execute("SELECT DISTINCT dept FROM staff WHERE id IN (4, 8)").fetchall()
    left = {row[0].removeprefix("dept "): row[4] for row in gate.execute(explained).fetchall()}
    assert {dept for dept, share in left.items() if share == 0} == {dept for (dept,) in of_two}
    assert any(share > 0 for share in left.values())


def test_a_second_release_tells_more_of_them(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors")
    one = gate.release(
        "SELECT salary_ FROM (SELECT sum(salary) AS salary_ FROM staff WHERE id = 4)", "and this"
    )
    assert one.fetchall()[0][0] == people(60)[4][4]
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id = 8").code == "known"


def test_another_gate_of_the_same_ledger_hears_of_it(gate: Gate, database: Path) -> None:
    with Gate.open(database, policy(OUTSIDERS, key='"id"')) as other:
        assert verdict(other, TWO).code == "risk"
        gate.release(TWO, "asked for by the auditors")
        assert verdict(other, TWO).code == "known"
        assert verdict(other, "SELECT sum(salary) FROM staff WHERE id < 8").code == "risk"


def test_nothing_is_released_where_others_are_set_aside_than_were_seen(gate: Gate) -> None:
    seen = gate.exposed_by(TWO)
    gate.release("SELECT sum(salary) FROM staff WHERE id = 4", "first")
    with pytest.raises(AuditorError, match="look again"):
        gate.release(TWO, "then", seen=seen)


def test_a_release_needs_a_reason_and_an_exact_answer(gate: Gate) -> None:
    with pytest.raises(StatementError, match="because"):
        gate.release(TWO, " ")
    with pytest.raises(QueryUnsupported, match="quantiles"):
        gate.release("SELECT at_least(median(salary)) FROM staff", "why not")
    with pytest.raises(QueryUnsupported):
        gate.release("SELECT salary FROM staff", "why not")


def test_where_users_are_told_apart_it_is_released_to_one(database: Path) -> None:
    apart = policy(OUTSIDERS + '[ledger]\nscope = "user"\n')
    with Gate.open(database, apart) as gate:
        gate.release(TWO, "hers", user="olga", to="ana")
        assert verdict(gate, TWO, user="ana").code == "known"
        assert verdict(gate, TWO, user="bob").code == "risk"
        assert (entries(gate)[0].user, entries(gate)[0].by) == ("ana", "olga")


# requests


def test_a_request_is_recorded_and_says_what_became_of_it(gate: Gate) -> None:
    assert verdict(gate, TWO, user="ana").code == "risk"
    number = gate.request(TWO + ";", "for the yearly report", user="ana")
    (found,) = gate.requests().to_dict("records")
    assert (found["number"], found["user"], found["because"]) == (number, "ana", "for the yearly report")
    assert (found["code"], found["state"]) == ("risk", "open")
    gate.release(TWO, "the board agreed", user="olga")
    (found,) = gate.requests().to_dict("records")
    assert (found["state"], found["by"], found["reason"]) == ("released", "olga", "the board agreed")
    assert gate.verify().problems == ()


def test_a_request_can_be_declined_once(gate: Gate) -> None:
    number = gate.request(TWO, user="ana")
    gate.decline(number, "two persons", user="olga")
    assert gate.requests()["state"].tolist() == ["declined"]
    with pytest.raises(StatementError, match="no open request"):
        gate.decline(number, "again")


# by enumeration

PERSONS, VALUES = 7, 5
TABLES = np.array(list(product(range(VALUES), repeat=PERSONS)), dtype=np.int64)


def agree(told: list[KnownAnswer], tables: NDArray[np.int64] = TABLES) -> NDArray[np.bool_]:
    """Which tables agree with what is on record."""
    found = np.ones(len(tables), dtype=np.bool_)
    for each in (each for each in told if each.tells):
        picked = tables[:, each.records]
        signs = 1 if each.signs is None else each.signs.astype(np.int64)
        values = {"sum": (picked * signs).sum(1), "max": picked.max(1), "min": picked.min(1)}[each.asked]
        ends = each.ends
        found &= (ends.least is None or values >= ends.least) & (ends.most is None or values <= ends.most)
    return found


def counts(tables: NDArray[np.int64], values: int = VALUES) -> NDArray[np.float64]:
    """(persons, values) how likely each value of each is."""
    return np.stack([np.bincount(column, minlength=values) for column in tables.T]) / len(tables)


def spread(tables: NDArray[np.int64], record: int, insiders: int) -> float:
    """The risk by what is excluded, at worst over what an insider may have."""
    domain, worst = Domain(0, VALUES - 1, 1), 0.0
    others = [None] + [other for other in range(PERSONS) if other != record and insiders]
    for other in others:
        for value in range(VALUES) if other is not None else [0]:
            left = tables if other is None else tables[tables[:, other] == value]
            if len(left):
                worst = max(worst, risk_of(np.unique(left[:, record]).astype(float), None, domain).risk)
    return worst


def asked(draw: np.random.Generator, some: NDArray[np.bool_]) -> str:
    """A question about some persons."""
    listed = ", ".join(map(str, np.flatnonzero(some))) or "0"
    return (
        f"SELECT {draw.choice(['sum', 'sum', 'sum', 'max', 'min'])}(salary) FROM staff WHERE id IN ({listed})"
    )


def asides(told: list[KnownAnswer]) -> set[int]:
    """Who is set aside by now."""
    return set(next((each.records.tolist() for each in told[::-1] if each.kind == "aside"), []))


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]


@pytest.mark.parametrize("insiders", [1, pytest.param(0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_release_makes_nobody_elses_limit_fall(tmp_path: Path, seed: int, insiders: int) -> None:
    draw, limit = np.random.default_rng(seed), 0.7
    build(tmp_path / "s.duckdb", [(i, 20, "m", "a", int(draw.integers(VALUES))) for i in range(PERSONS)])
    intruder = f"[intruder]\ninsiders = {insiders}\n"
    rules = policy(intruder, limit=f"risk = {limit}", minimum=0, maximum=VALUES - 1, step=1)
    aside, after = set[int](), np.zeros((PERSONS, VALUES))
    with Gate.open(tmp_path / "s.duckdb", rules) as gate:
        for turn in range(14):
            some = draw.random(PERSONS) < 0.7
            if aside and draw.random() < 0.7:  # all of them or none
                some[list(aside)] = draw.random() < 0.5
            if turn in (2, 8):
                few = np.isin(np.arange(PERSONS), draw.choice(PERSONS, 1 + turn // 8, replace=False))
                sql = asked(draw, few)
                gate.release(sql, "a test", seen=gate.exposed_by(sql))
            else:
                sql = asked(draw, some)
                verdict(gate, sql)
            now = [answer for entry in entries(gate) for answer in entry.answers]
            left = TABLES[agree(now)]
            if turn in (2, 8):
                aside, after = asides(now), counts(left)
            # of those set aside nothing more is known; of the others no more than the limit allows
            assert asides(now) == aside
            assert np.allclose(counts(left)[sorted(aside)], after[sorted(aside)])
            for record in set(range(PERSONS)) - aside:
                assert spread(left, record, insiders) <= limit + 1e-9, (sql, record)
    assert aside


def test_a_statement_is_refused_alike_whatever_the_values_of_those_set_aside(tmp_path: Path) -> None:
    """Two tables that give the same answers get the same verdicts."""
    said = []
    for number, (first, second) in enumerate([(60, 70), (20, 110)]):
        rows = people(60)
        rows[4], rows[8] = (*rows[4][:4], first), (*rows[8][:4], second)
        build(tmp_path / f"{number}.duckdb", rows)
        with Gate.open(tmp_path / f"{number}.duckdb", policy(OUTSIDERS)) as gate:
            gate.release(TWO, "asked for by the auditors")
            statements = [f"SELECT sum(salary) FROM staff WHERE id < {n}" for n in (6, 9, 20, 21, 40)]
            said.append([verdict(gate, sql).code for sql in statements])
    assert said[0] == said[1]
    assert {"risk", "answered"} <= set(said[0])


def test_refused_by_the_gate_is_still_an_error_for_who_asks(gate: Gate) -> None:
    gate.release(TWO, "asked for by the auditors")
    with pytest.raises(QueryRefused):
        gate.execute("SELECT sum(salary) FROM staff WHERE id = 8")
