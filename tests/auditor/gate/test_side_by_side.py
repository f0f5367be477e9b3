"""Decisions about other columns, or of other parties, run side by side: what becomes of a statement is what
becomes of it alone, and no two that touch each other are decided at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy
from auditor.gate.request import Ask
from auditor.parties.party import Party
from tests.auditor.gate.test_several_columns import BONUS, REST, STAFF
from tests.auditor.staff import OUTSIDERS, Intruder, entries, verdict
from tests.clocks import PATIENCE

POLICY = STAFF + BONUS + REST
BY_USER = '\n[ledger]\nscope = "user"\n'
DAY = {
    column: [
        f"SELECT sum({column}) FROM staff",
        f"SELECT dept, sum({column}) FROM staff GROUP BY dept",
        f"SELECT sum({column}) FROM staff WHERE id <> 17",
        f"SELECT max({column}) FROM staff WHERE age < 40",
        f"SELECT age // 10, avg({column}) FROM staff GROUP BY 1",
        f"SELECT sum({column}) FROM staff WHERE id < 30",
        f"SELECT sum({column}) FROM staff WHERE id < 30 AND age <> 33",
    ]
    for column in ("salary", "bonus")
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "two.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS
            SELECT i AS id, 20 + i % 40 AS age, ['a', 'b', 'c'][1 + i % 3] AS dept,
                   10 + (i * 37) % 25 * 10 AS salary, (i * 11) % 13 * 5 AS bonus
            FROM range(60) t(i)
        """)
    return path


class Held:
    """A statement whose decision is held up until it is let go of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        real = Gate._caught_up

        def caught_up(gate: Gate, ask: object, *more: object) -> object:
            person = real(gate, ask, *more)  # type: ignore[arg-type]
            if ask.sql == sql:  # type: ignore[attr-defined]
                self.begun.set()
                assert self.go.wait(PATIENCE)
            return person

        monkeypatch.setattr(Gate, "_caught_up", caught_up)

    @contextmanager
    def by(self, ask: Callable[[], object]) -> Iterator[threading.Thread]:
        thread = threading.Thread(target=ask)
        thread.start()
        try:
            assert self.begun.wait(PATIENCE)
            yield thread
        finally:
            self.go.set()
            thread.join(PATIENCE)


def test_a_question_about_another_column_does_not_wait(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, next_one, found = DAY["salary"][1], DAY["salary"][2], dict[str, str]()
    with Gate.open(database, Policy.parse(POLICY)) as gate:

        def ask(sql: str) -> None:
            found[sql] = verdict(gate, sql).code

        gate.execute(DAY["salary"][0])  # the first decision looks at everything
        gate.execute(DAY["bonus"][5])
        with Held(monkeypatch, slow).by(lambda: ask(slow)) as deciding:
            assert verdict(gate, DAY["bonus"][0]).code == "answered"
            assert gate.check(DAY["bonus"][2]).code == "risk"
            waits = threading.Thread(target=ask, args=(next_one,))
            waits.start()
            waits.join(0.3)
            assert found == {}
            assert gate.ahead(waits.ident or 0) == 1
            assert deciding.is_alive()
        waits.join(PATIENCE)
        # threads end in either order; which was decided first the ledger says
        assert found == {slow: "answered", next_one: "risk"}
        assert [each.sql for each in entries(gate) if each.sql in found] == [slow, next_one]
        assert gate.verify().problems == ()
        told = [(each.code, [answer.name[1] for answer in each.answers]) for each in entries(gate)[2:]]
    assert told[0] == ("answered", ["bonus"])
    # what was decided meanwhile is known when the ledger is read again
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        assert verdict(gate, slow).code == verdict(gate, DAY["bonus"][0]).code == "known"


def test_another_partys_question_does_not_wait_and_what_one_is_told_is_not_known_to_the_other(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = DAY["salary"][5]
    with Gate.open(database, Policy.parse(POLICY + BY_USER)) as gate:
        for user in ("ana", "bob"):
            assert verdict(gate, DAY["salary"][0], user=user).code == "answered"
        with Held(monkeypatch, slow).by(lambda: verdict(gate, slow, user="ana")):
            assert verdict(gate, DAY["salary"][6], user="bob").code == "answered"
        # each has asked one half of a tracker, and none may ask the other
        assert verdict(gate, DAY["salary"][6], user="ana").code == "risk"
        assert verdict(gate, slow, user="bob").code == "risk"
        assert verdict(gate, slow, user="ana").code == "known"


def test_an_interrupted_decision_leaves_one_beside_it_as_it_is(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was half learned is forgotten, and with it the party: the other decision is on record all the
    same, and known."""
    slow, found = DAY["salary"][5], list[str]()
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        gate.execute(DAY["salary"][0])
        gate.execute(DAY["bonus"][5])
        with Held(monkeypatch, slow).by(lambda: found.append(verdict(gate, slow).code)):
            monkeypatch.setattr(Gate, "_in_words", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                gate.execute(DAY["bonus"][1])
            monkeypatch.undo()
        assert found == ["answered"]
        assert verdict(gate, slow).code == "known"
        assert verdict(gate, DAY["bonus"][5]).code == "known"
        assert verdict(gate, DAY["bonus"][1]).verdict == "answered"
        assert verdict(gate, DAY["salary"][6]).code == "risk"


def _interrupted(*_: object) -> object:
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gates", [1, 2])
def test_what_becomes_of_statements_about_one_column_is_the_same_beside_those_about_another(
    database: Path, tmp_path: Path, gates: int, seed: int
) -> None:
    """Two threads, one for each column, on one gate or on one each with the same ledger."""
    rules, chance = (
        Policy.parse(POLICY + OUTSIDERS + '[decision]\npartial = "suppress"\n'),
        random.Random(seed),
    )
    day = {column: chance.sample(statements, len(statements)) for column, statements in DAY.items()}
    alone = dict[str, list[str]]()
    for column, statements in day.items():
        with Gate.open(database, rules, tmp_path / f"{column}.ledger") as gate:
            alone[column] = [verdict(gate, sql).code for sql in statements]
    beside, ledger = dict[str, list[str]](), tmp_path / "both.ledger"
    with Gate.open(database, rules, ledger) as one, Gate.open(database, rules, ledger) as two:

        def ask(column: str, gate: Gate) -> None:
            beside[column] = [verdict(gate, sql, user=column).code for sql in day[column]]

        asking = zip(day, (one, one if gates == 1 else two), strict=True)
        threads = [threading.Thread(target=ask, args=each) for each in asking]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert beside == alone
        assert one.verify().problems == ()
    intruder = Intruder(60)
    with Gate.open(database, rules, ledger) as gate:
        for entry in entries(gate):
            for answer in entry.answers:
                if answer.name == ("staff", "salary"):
                    intruder.reads_answer(answer)
        for column, statements in day.items():
            # what is known is known to a gate that reads it from the ledger
            answered = [
                sql for sql, code in zip(statements, alone[column], strict=True) if code == "answered"
            ]
            assert {verdict(gate, sql).code for sql in answered} <= {"known"}
    assert intruder.narrowest() >= 130


def test_risks_of_columns_that_are_not_thought_of_are_those_that_were_noted(database: Path) -> None:
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        gate.execute(DAY["salary"][0])
        gate.execute(DAY["bonus"][0])
        gate.execute(DAY["bonus"][5])
        before = [entry.risk_after for entry in entries(gate)]
    assert all(figure is not None for figure in before)
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        said = gate.execute(DAY["salary"][5]).decision
        assert said.risk_before == pytest.approx(before[-1])
        assert gate.held() == said.risk_after


def test_a_figure_on_record_is_no_less_than_what_another_column_came_to_meanwhile(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is recorded last knows the other column's risk as it was: the last figure alone is too low."""
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        for column in ("salary", "bonus"):
            gate.execute(DAY[column][0])
        slow, found = DAY["salary"][5], list[str]()
        real = Gate._record

        def record(self: Gate, ask: Ask, *more: object) -> object:
            if ask.sql == slow:
                begun.set()
                assert go.wait(PATIENCE)
            return real(self, ask, *more)  # type: ignore[arg-type]

        begun, go = threading.Event(), threading.Event()
        monkeypatch.setattr(Gate, "_record", record)
        thread = threading.Thread(target=lambda: found.append(verdict(gate, slow).code))
        thread.start()
        assert begun.wait(PATIENCE)
        beside = gate.execute(DAY["bonus"][1]).decision
        go.set()
        thread.join(PATIENCE)
        assert found == ["answered"]
        last = entries(gate)[-1]
        assert last.sql == slow
        assert (last.risk_after or 0) < (beside.risk_after or 0), "else nothing is tried here"
        assert gate.held() == pytest.approx(max(beside.risk_after or 0, last.risk_after or 0))
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        assert gate.held() == pytest.approx(max(beside.risk_after or 0, last.risk_after or 0))


def test_what_another_gate_was_told_counts_in_figures_of_columns_that_are_not_thought_of(
    database: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "shared.ledger"
    with (
        Gate.open(database, Policy.parse(POLICY), ledger) as one,
        Gate.open(database, Policy.parse(POLICY), ledger) as two,
    ):
        for column in ("salary", "bonus"):
            one.execute(DAY[column][0])
        elsewhere = two.execute(DAY["bonus"][1]).decision.risk_after
        said = one.execute(DAY["salary"][5]).decision
        assert said.risk_before is not None
        assert elsewhere is not None
        assert said.risk_before >= elsewhere - 1e-12
        assert one.held() == pytest.approx(two.held())


def test_a_party_that_was_being_put_away_when_an_interrupt_came_is_read_again(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was in no list for a moment, and an empty one then took its place: as if nothing had been told."""
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        gate.execute(DAY["salary"][0])
        with monkeypatch.context() as patched:
            patched.setattr(Party, "learned_on_record", property(_interrupted))
            with pytest.raises(KeyboardInterrupt):
                gate._knowledge.forget_party("eve")
        gate._knowledge.forget_party("eve")
        assert verdict(gate, DAY["salary"][2]).code == "risk"


def test_an_entry_that_is_heard_twice_is_learned_once(database: Path) -> None:
    with Gate.open(database, Policy.parse(POLICY)) as one, Gate.open(database, Policy.parse(POLICY)) as two:
        two.execute(DAY["salary"][0])
        one._hear()
        party, (entry,) = one._knowledge.of("eve"), entries(two)
        party.hear(entry)
        party.catch_up([0, 1], entry.number)
        party.hear(entry)
        party.catch_up([0, 1], entry.number)
        assert party.learned == sum(column.system.version for column in party.columns) == 1


def test_an_own_answer_that_another_thread_reads_before_it_is_noted_is_learned_once(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Party.recorded
    with Gate.open(database, Policy.parse(POLICY)) as gate:
        for column in ("salary", "bonus"):
            gate.execute(DAY[column][0])

        def recorded(party: Party, number: int) -> None:
            gate._hear()  # as a thread does that decides about the other column
            real(party, number)

        monkeypatch.setattr(Party, "recorded", recorded)
        gate.execute(DAY["salary"][5])
        gate.execute(DAY["bonus"][5])
        gate.execute(DAY["bonus"][1])
        party = gate._knowledge.of("eve")
        party.catch_up([0, 1], gate._knowledge.seen)
        told = sum(len(entry.answers) for entry in entries(gate))
        assert party.learned == sum(column.system.version for column in party.columns) == told


def test_what_waits_to_be_learned_is_told_from_own_answers_after_later_entries(database: Path) -> None:
    """Numbers of own entries were forgotten once a later one was heard, also of those that still waited."""
    with Gate.open(database, Policy.parse(POLICY)) as one, Gate.open(database, Policy.parse(POLICY)) as two:
        for column in ("salary", "bonus"):
            two.execute(DAY[column][0])
        first, second = entries(two)
        party = one._knowledge.of("eve")
        party.hear(first)
        party.recorded(first.number)
        party.hear(second)
        party.catch_up([0, 1], second.number)
        assert sum(column.system.version for column in party.columns) == len(second.answers)
