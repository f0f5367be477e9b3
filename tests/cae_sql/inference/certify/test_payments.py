"""Payments out of shared rooms: what they show is so in every table, whoever knows their own value."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from cae_sql.errors import OutOfTime
from cae_sql.inference import sizes
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import payments
from cae_sql.inference.certify.payments import Payments
from cae_sql.inference.certify.question import Question
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.ways import ALL
from tests.cae_sql.inference.oracles import longest_run
from tests.cae_sql.inference.told import Ints, Told, told_at_random
from tests.quick import rounds, some


@pytest.fixture
def pooled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else pays."""
    alone, nothing = ALL.without("closed_form", "bases"), RoomyTable.nothing
    monkeypatch.setattr(RoomyTable, "nothing", partial(nothing, ways=alone))


def tables_of(told: Told) -> Ints:
    """(w, n) every table that gives every answer, by trying all."""
    every = np.indices((told.top + 1,) * told.size).reshape(told.size, -1).T.astype(np.int8)
    for query, value in zip(told.queries, told.values, strict=True):
        picked = every[:, query.members].astype(np.int64)
        if query.kind == "sum":
            signs = 1 if query.coefficients is None else query.coefficients
            given = (picked * signs).sum(axis=1)
        else:
            given = picked.max(axis=1) if query.kind == "max" else picked.min(axis=1)
        every = every[given == value]
    return every.astype(np.int64)


def excluded(tables: Ints, need: int, insiders: int) -> list[str]:
    """Who has no run of `need`, once somebody's value is known."""
    found, size = list[str](), tables.shape[1]
    for j in range(size) if insiders else (-1,):
        for value in np.unique(tables[:, j]) if insiders else (0,):
            some = tables[tables[:, j] == value] if insiders else tables
            for i in range(size):
                if i != j and longest_run(np.unique(some[:, i])) <= need:
                    found.append(f"record {i}, where {j} has {value}: {np.unique(some[:, i])}")
    return found


def small(seed: int) -> Told:
    """Few records and values, so that all tables can be tried."""
    rng = np.random.default_rng(seed)
    size, top = [(8, 3), (9, 2), (12, 1), (7, 4)][int(rng.integers(4))]
    return told_at_random(rng, size, top, int(rng.integers(1, 4)))


def judged(told: Told, need: int, insiders: int) -> bool:
    """Whether the last answer is shown to be safe."""
    roomy_table = told.roomy_table(len(told.queries) - 1)
    judgement = told.question(roomy_table, 1).judge_around_table(
        tuple(told.values[-1:]), Standard(need, None, insiders), Allowance()
    )
    return judgement is not None and judgement.safe


def breaches(seeds: range, insiders: int) -> tuple[int, list[str]]:
    """How many systems somebody was shown safe in, and who is not, by trying all tables."""
    safe, found = 0, list[str]()
    for seed in seeds:
        told = small(seed)
        needs = [need for need in range(1, told.top + 1) if judged(told, need, insiders)]
        if needs:
            safe += 1
            found += [f"seed {seed}: {each}" for each in excluded(tables_of(told), max(needs), insiders)]
    return safe, found


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_whom_shared_rooms_show_to_keep_a_run_keeps_it_in_all_tables(insiders: int) -> None:
    safe, found = breaches(range(rounds(250)), insiders)
    assert not found
    assert safe > rounds(40 if insiders == 0 else 4)


def tight(seed: int) -> Told:
    """Few persons with little together, whom random halves tell apart, and others who have plenty."""
    rng = np.random.default_rng(seed)
    size, top, few = 26, int(rng.choice([3, 5, 8])), int(rng.integers(4, 9))
    truth = rng.integers(0, top + 1, size)
    truth[:few] = rng.multinomial(int(rng.integers(top, 3 * top + 1)), np.ones(few) / few).clip(0, top)
    told = Told(truth, top)
    told.ask("sum", np.arange(few))
    for _ in range(int(rng.integers(2, 5))):
        told.ask("sum", np.flatnonzero(rng.random(size) < 0.5))
    return told


def too_narrow(seed: int) -> tuple[int, list[str]]:
    """How many pairs of a tight system were looked at, and which an integer program contradicts."""
    told, rng = tight(seed), np.random.default_rng(seed)
    need = max((need for need in range(1, told.top + 1) if judged(told, need, 1)), default=0)
    if not need:
        return 0, []
    possible, found, pairs = told.program(), list[str](), rng.integers(0, 9, (5, 2)).tolist()
    for i, j in pairs:
        for way in (-1, 1):
            value = possible.end(j, way, {})
            assert value is not None
            if i != j and not possible.run(i, {j: value}, need, rng):
                found.append(f"seed {seed}: {i} has no run of {need} where {j} has {value}")
    return len(pairs), found


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
def test_in_tight_groups_nobody_is_shown_a_run_that_an_integer_program_excludes() -> None:
    looked_at, found = 0, list[str]()
    for seed in range(rounds(40)):
        more, wrong = too_narrow(seed)
        looked_at, found = looked_at + more, found + wrong
    assert not found
    assert looked_at >= rounds(40)


@pytest.mark.usefixtures("pooled_alone")
@pytest.mark.parametrize(("careless", "seed"), [("nothing is lost", 59), ("all is for both", 5)])
def test_moves_that_ask_the_insider_to_pay_are_noticed(
    monkeypatch: pytest.MonkeyPatch, careless: str, seed: int
) -> None:
    """The same check, where nothing is lost with anybody, and where both have all of the rooms."""
    shares = payments._Shares.__init__

    def wrong(self: payments._Shares, rooms: Rooms, need: int, marks: Columns, divided: int) -> None:
        shares(self, rooms, need, marks, divided)
        if careless == "nothing is lost":
            self.kept = self.rooms
        else:
            self.rooms = np.repeat(self.rooms.sum(axis=1, keepdims=True), 2, axis=1)

    monkeypatch.setattr(payments._Shares, "__init__", wrong)
    assert too_narrow(seed)[1]


def low_earners() -> Told:
    """A group of twenty with little together, cut by three other groups of many."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 25, 300)
    truth[:20] = 2
    told = Told(truth, 24)
    told.ask("sum", np.arange(300))
    told.ask("sum", np.arange(20))
    for _ in range(3):
        told.ask("sum", np.flatnonzero(rng.random(300) < 0.5))
    return told


def test_a_group_at_its_limit_is_shown_by_all_of_its_units_together(monkeypatch: pytest.MonkeyPatch) -> None:
    told, rng = low_earners(), np.random.default_rng(0)
    possible = told.program()
    assert judged(told, 10, 1)
    for i, j in [(0, 1), (5, 19), (3, 200)]:
        assert possible.run(i, {j: 24}, 10, rng)
    monkeypatch.setattr(Payments, "show", lambda *_: None)
    assert not judged(told, 10, 1)


def nearly_all_alone(seed: int) -> Told:
    """Twelve sums over random halves of 300 persons."""
    rng = np.random.default_rng(seed)
    told = Told(rng.integers(0, 11, 300), 10)
    for _ in range(12):
        told.ask("sum", np.flatnonzero(rng.random(300) < 0.5))
    return told


@pytest.mark.slow
def test_shared_rooms_show_those_whom_bases_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    told, rng = nearly_all_alone(0), np.random.default_rng(0)
    assert judged(told, 5, 1)
    monkeypatch.setattr(Payments, "show", lambda *_: None)
    assert not judged(told, 5, 1)
    possible = told.program()
    for i, j in rng.integers(0, told.size, (6, 2)).tolist():
        value = possible.end(j, int(rng.choice([-1, 1])), {})
        assert value is not None
        assert i == j or possible.run(i, {j: value}, 5, rng)


def test_of_many_who_are_open_so_many_are_looked_at_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told, looked_at, show = nearly_all_alone(0), list[int](), Payments._show
    monkeypatch.setattr(sizes, "MOST_OPEN", 40)

    def noted(self: Payments, far: Far, left: Ints) -> None:
        looked_at.append(len(left))
        show(self, far, left)

    monkeypatch.setattr(Payments, "_show", noted)
    assert judged(told, 5, 1)
    assert sum(looked_at) > 200
    assert max(looked_at) <= 40


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
def test_who_are_shown_one_at_a_time_keep_a_run_in_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_OPEN", 1)
    safe, found = breaches(range(rounds(100)), 1)
    assert not found
    assert safe >= 1


def test_nothing_that_true_answers_make_necessary_is_kept() -> None:
    """Later verdicts are those of a question that never saw them."""
    told, standard = nearly_all_alone(1), Standard(5, None, 1)
    roomy_table, value = told.roomy_table(11), told.values[-1]
    question, later = told.question(roomy_table, 1), Allowance()
    assert question.judge_true((value,), standard, later) == question.judge_true((value,), standard, later)
    assert not any(question.evidence.past.values())
    others = [(value + by,) for by in (-40, 0, 40)]
    fresh = told.question(roomy_table, 1).judge_together(others, standard, later)
    assert question.judge_together(others, standard, later) == fresh


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
def test_of_larger_systems_too_nobody_is_shown_a_run_that_an_integer_program_excludes() -> None:
    looked_at = 0
    for seed in range(rounds(120)):
        rng = np.random.default_rng(seed)
        size, top = int(rng.integers(15, 50)), int(rng.choice([3, 10, 24]))
        told = told_at_random(rng, size, top, int(rng.integers(2, 6)))
        needs = [need for need in range(1, top + 1, max(1, top // 6)) if judged(told, need, 1)]
        if not needs:
            continue
        possible = told.program()
        for i, j in rng.integers(0, size, (4, 2)).tolist():
            value = possible.end(j, int(rng.choice([-1, 1])), {})
            assert value is not None
            looked_at += 1
            assert i == j or possible.run(i, {j: value}, max(needs), rng), f"seed {seed}: {i}, {j}"
    assert looked_at >= rounds(40)


# --- moves that were kept


def kept_along(told: Told, rng: np.random.Generator, need: int) -> RoomyTable:
    """A roomy table that was asked, before each answer but the last, what others and it would leave.

    So moves are found, kept, carried over to what follows, and kept again.
    """
    roomy_table = RoomyTable.nothing(told.size, told.top)
    standard, pool = Standard(need, None, 1), Pool.draw(told.size, told.top, 1, seed=0)
    for query, value in list(zip(told.queries, told.values, strict=True))[:-1]:
        others = Told(told.truth, told.top)
        others.ask("sum", np.flatnonzero(rng.random(told.size) < 0.5))
        for asked, answer in ((others.queries[0], others.values[0]), (query, value)):
            question = Question(roomy_table, pool, [asked])
            if question.question_tables.usable:
                question.judge_together([(answer,), (answer + 1,)], standard, Allowance())
                question.judge_around_table((answer,), standard, Allowance())
        if roomy_table.usable and not question.derivable:
            roomy_table = question.learn([value], Allowance()).take_in()
    return roomy_table


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
def test_by_kept_moves_too_nobody_is_shown_a_run_that_an_integer_program_excludes() -> None:
    looked_at, kept = 0, 0
    for seed in range(rounds(60)):
        told, rng = tight(seed), np.random.default_rng(seed)
        need = int(rng.integers(1, told.top // 2 + 2))
        try:
            roomy_table = kept_along(told, rng, need)
        except OutOfTime:
            continue
        if not roomy_table.usable:
            continue
        kept += roomy_table.moves.count
        found = told.question(roomy_table, 1)
        judgement = found.judge_around_table(tuple(told.values[-1:]), Standard(need, None, 1), Allowance())
        if judgement is None or not judgement.safe:
            continue
        possible = told.program()
        for i, j in rng.integers(0, 9, (5, 2)).tolist():
            for way in (-1, 1):
                value = possible.end(j, way, {})
                assert value is not None
                looked_at += 1
                assert i == j or possible.run(i, {j: value}, need, rng), f"seed {seed}: {i}, {j}"
    assert kept > rounds(60)
    assert looked_at >= rounds(40)


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_whom_kept_moves_show_to_keep_a_run_keeps_it_in_all_tables(insiders: int) -> None:
    safe, found = 0, list[str]()
    for seed in range(rounds(150)):
        told = small(seed)
        roomy_table = told.roomy_table(len(told.queries) - 1)
        needs = []
        for need in [*range(1, told.top + 1), *range(1, told.top + 1)]:
            # one table for all: what was found for one need is kept for the next, and for the second time
            question = told.question(roomy_table, 1)
            judgement = question.judge_around_table(
                tuple(told.values[-1:]), Standard(need, None, insiders), Allowance()
            )
            roomy_table = question.evidence.tables.with_found()
            needs += [need] if judgement is not None and judgement.safe else []
        if needs:
            safe += 1
            found += [f"seed {seed}: {each}" for each in excluded(tables_of(told), max(needs), insiders)]
    assert not found
    assert safe > rounds(20 if insiders == 0 else 2)


def test_nothing_that_true_answers_led_to_is_kept() -> None:
    told = low_earners()
    roomy_table = told.roomy_table(len(told.queries) - 1)
    question, standard = told.question(roomy_table, 1), Standard(10, None, 1)
    values = tuple(told.values[-1:])
    judgement = question.judge_true(values, standard, Allowance())
    assert judgement is not None
    assert judgement.safe
    assert not question.question_tables.found
    assert question.judge_around_table(values, standard, Allowance())
    assert not roomy_table.moves.count
    assert question.learn(values, Allowance()).take_in().moves.count


def test_what_was_kept_spares_a_third_of_the_search_in_a_question_about_others() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 25, 300)
    truth[:20] = 2
    told = Told(truth, 24)
    told.ask("sum", np.arange(300))
    told.ask("sum", np.arange(20))
    for _ in range(12):  # nearly everybody is told apart
        told.ask("sum", np.flatnonzero(rng.random(300) < 0.5))
    others = [rng.choice(np.arange(20, 300), 60, replace=False) for _ in range(2)]
    roomy_table, standard, spent = told.roomy_table(), Standard(6, None, 1), list[float]()
    for members in others:
        asked = Told(truth, 24)
        asked.ask("sum", members)
        allowance = Allowance(1e9)
        question = asked.question(roomy_table, 1)
        judgement = question.judge_around_table(tuple(asked.values), standard, allowance)
        assert judgement is not None
        assert judgement.safe
        roomy_table = question.evidence.tables.with_found()
        spent.append(1e9 - allowance.steps)
    assert spent[1] < spent[0] * 2 / 3
