"""Whatever befalls the roomy table, the next question finds another one: nothing is lost for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import Gate, Policy
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.question_tables import QuestionTables

TOP = 24
Event = Callable[[AnsweredSystem, pytest.MonkeyPatch], None]


def no_time(system: AnsweredSystem, patch: pytest.MonkeyPatch) -> None:
    """None is found that agrees with the answer, in the time that may be spent."""

    def late(*_: object, **__: object) -> None:
        raise OutOfTime("too long")

    patch.setattr("cae_sql.inference.system_state.Question.learn", late)
    patch.setattr(QuestionTables, "table", lambda *_, **__: None)


def no_pivot(system: AnsweredSystem, patch: pytest.MonkeyPatch) -> None:
    """The answer's row has no entry of ±1 in any basis."""
    patch.setattr(QuestionTables, "_pending", lambda *_, **__: None)


def lost(system: AnsweredSystem, patch: pytest.MonkeyPatch) -> None:
    """It was lost before."""
    system.roomy_table.lose()


def grouped(size: int, event: Event | None) -> AnsweredSystem:
    """Sums by a key of five levels, and one more, at which something happens."""
    chance = np.random.default_rng(size)
    system, true = AnsweredSystem(size, 0, TOP, 1, seed=1), chance.integers(0, TOP + 1, size)
    key = np.arange(size) % 5
    for level in range(5):
        query = system.query("sum", np.flatnonzero(key == level))
        system.accept([query.answered(int(query.of(true)))])
        system.pool()
    assert system.roomy_table.usable
    last = system.query("sum", np.flatnonzero(np.arange(size) % 3 == 0))
    with pytest.MonkeyPatch.context() as patch:
        if event is not None:
            event(system, patch)
        system.accept([last.answered(int(last.of(true)))])
        patch.setattr("cae_sql.inference.system_state.SystemState._is_to_be_restored", lambda *_: False)
        assert system.roomy_table.usable == (event is None)
    return system


@pytest.mark.parametrize("size", [60, 400, 6_000])
@pytest.mark.parametrize("event", [no_time, no_pivot, lost])
def test_after_it_was_lost_the_next_question_is_shown_as_if_it_had_not_been(event: Event, size: int) -> None:
    system, plain = grouped(size, event), grouped(size, None)
    table = system.roomy_table
    assert table.usable
    assert (table.marks[: table.count, : table.rank].T.astype(np.int64) @ table.totals == table.sums).all()
    assert (system.worlds(2).sum(axis=1) == sum(int(answer.value) for answer in system.answers[:5])).all()
    half = np.flatnonzero(np.arange(size) % 7 < 3)
    for each in (system, plain):
        query = each.query("sum", half)
        judged = each.question([query]).judge_true((12 * len(half),), Standard(6, None, 1), Allowance(1e9))
        assert judged is not None
        assert judged.safe


def test_another_one_is_looked_for_once_for_each_number_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr("cae_sql.inference.system_state.all_at_once", lambda *_: looked.append(1))
    system = grouped(400, lost)
    for _ in range(3):
        assert not system.roomy_table.usable
    assert len(looked) == 1
    system.add_sum(np.arange(50), 600)
    assert not system.roomy_table.usable
    assert len(looked) == 2


def test_worlds_that_an_integer_program_finds_differ_and_agree_with_every_answer() -> None:
    """Copies of one world gave every hypothetical question the same answer: no other one was judged."""
    rng = np.random.default_rng(3)
    truth, system = rng.integers(0, 2, 73), AnsweredSystem(73, 0, 1, 1)
    sets = [np.flatnonzero(rng.random(73) < 0.5) for _ in range(11)]
    for number, members in enumerate(sets):
        if number == 9:
            system.pool()
            system.roomy_table.lose()
        system.accept([system.query("sum", members).answered(int(truth[members].sum()))])
    worlds = system.pool().values
    assert not system.roomy_table.usable
    assert all((worlds[:, members].sum(axis=1) == truth[members].sum()).all() for members in sets)
    assert len(np.unique(worlds, axis=0)) == len(worlds)
    question = system.question([system.query("sum", np.arange(0, 73, 2))])
    assert len(question.hypothetical(len(worlds))) > 3


@pytest.mark.slow
def test_after_ends_of_yes_and_no_other_people_are_still_told(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, i // 13 AS part, i % 4 AS other, "
            "CASE WHEN hash(i) % 10 < 2 THEN 1 ELSE 0 END AS ill FROM range(400) r(i)"
        )
    policy = Policy.parse("""
        [protect]
        table = "t"
        column = "ill"
        minimum = 0
        maximum = 1
        step = 1
        public = ["part", "other"]
        [limit]
        risk = 0.9
        """)
    with Gate.open(path, policy, tmp_path / "ledger") as gate:
        first = gate.execute("SELECT part, SUM(ill) FROM t WHERE part < 15 GROUP BY part")
        assert first.ranges  # some were told as ends
        for part in range(3):
            gate.check(f"SELECT SUM(ill) FROM t WHERE part = {part} AND other = 1")
        later = gate.execute("SELECT SUM(ill) FROM t WHERE part >= 15")
        assert later.fetchall()[0][0] is not None
