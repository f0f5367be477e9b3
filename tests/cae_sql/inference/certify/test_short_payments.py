"""Directions keep every sum and share nobody, and what they show is so in every table there is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import coverage, short_payments
from cae_sql.inference.certify.coverage import RESERVES, Coverage
from cae_sql.inference.certify.pooled_payments import Pooled
from cae_sql.inference.certify.question import Standard
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.certify.short_payments import Further, Helpers, shortened
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.holding import bounds_of, hold
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import basis_of, columns_in
from tests.cae_sql.inference.oracles import longest_run
from tests.cae_sql.inference.told import Ints, Told, told_at_random
from tests.quick import rounds

Basis = tuple[Ints, NDArray[np.float32]]
"""Its parts, and what turns coefficients into columns."""


@pytest.fixture(autouse=True)
def directions_in_small_systems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "MOST_POOLED", 0)


@pytest.fixture
def directions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else pays."""
    monkeypatch.setattr(Pooled, "show", lambda *_: None)
    monkeypatch.setattr(Coverage, "_kept", lambda self, need: (Far(self.rooms), RESERVES))


# --- single directions


def looked_for(count: int, insiders: int) -> Iterator[tuple[QuestionTables, Rooms]]:
    """Random roomy tables with the rooms around their tables."""
    rng = np.random.default_rng(31)
    while count:
        told = told_at_random(rng, int(rng.integers(20, 60)), int(rng.choice([3, 10, 40])), 5)
        roomy_table = told.roomy_table()
        question_tables = QuestionTables(roomy_table, [])
        pins = hold(question_tables.boxes, question_tables.totals, insiders + 2, np.zeros(0, dtype=np.int64))
        if not roomy_table.usable or not roomy_table.rank or pins is None:
            continue
        bounds = bounds_of(question_tables.boxes, pins)
        if (question_tables.totals < bounds.least).any() or (question_tables.totals > bounds.most).any():
            continue
        count -= 1
        tables = Tables(question_tables.totals, question_tables.totals)
        yield question_tables, Rooms(question_tables.boxes, pins, bounds, tables, told.top // 2, insiders)


def bases_of(question_tables: QuestionTables, given: Rooms, count: int) -> tuple[list[Basis], Ints]:
    """Bases that share no part, and the parts that are in none."""
    taken, found = np.zeros(given.count, dtype=np.bool_), []
    marks = question_tables.marks_of(np.arange(given.count))
    for _ in range(count):
        basis = basis_of(marks, taken, given.nearer(np.arange(given.count)))
        if basis is None:
            break
        taken[basis[0]] = True
        found.append(basis)
    return found, np.flatnonzero(~taken)


def test_a_direction_keeps_every_sum_and_takes_nobody_twice() -> None:
    shorter = 0
    for question_tables, given in looked_for(80, 1):
        bases, able = bases_of(question_tables, given, 3)
        whom = np.arange(given.count)
        marks = question_tables.marks_of(whom).astype(np.int64)
        helpers, before = Helpers.of(able, whom), np.zeros((len(whom), len(whom)), dtype=np.bool_)
        for basic, inverse in bases:
            columns, theirs = (columns_in(question_tables.marks_of(each), inverse) for each in (whom, able))
            if columns is None or theirs is None:
                continue
            found = shortened(given, basic, columns, helpers, theirs)
            moves = moved(found, basic, able, whom)
            assert not (moves @ marks).any()
            assert not found.missed(*(question_tables.marks_of(each) for each in (whom, basic, able))).any()
            helped = moves.copy()
            helped[:, basic] = 0
            np.fill_diagonal(helped, 0)
            assert not (before & (helped != 0)).any()
            before |= helped != 0
            shorter += int(helped.any(axis=1).sum())
            np.testing.assert_allclose(
                found.ends[:, ~np.isin(whom, basic)], plainly(moves, given, basic), atol=1e-9
            )
    assert shorter > 300


def moved(found: short_payments.Directions, basic: Ints, able: Ints, whom: Ints) -> Ints:
    """(a, p') by how much all parts change when each of some gains 1."""
    moves = np.zeros((len(whom), len(whom)), dtype=np.int64)
    moves[np.arange(len(whom)), whom] = 1
    moves[:, basic] -= found.paid
    for row, places in enumerate(found.used.tolist()):
        for place in places:
            if place >= -len(able):
                moves[row, able[place if place >= 0 else ~place]] += 1 if place >= 0 else -1
    return moves


def plainly(moves: Ints, given: Rooms, basic: Ints) -> NDArray[np.float64]:
    """(4, a) how far those outside of a basis rise and fall, one room after the other."""
    ends = []
    for down, up in ((given.down, given.up), given.left):
        for sign in (1, -1):
            row = []
            for part in np.flatnonzero(~np.isin(np.arange(len(moves)), basic)):
                move = sign * moves[part]
                paying = np.flatnonzero(move)
                paying = paying[paying != part]
                room = np.where(move < 0, down, up)[paying] / np.abs(move[paying])
                row.append(min(room.min(initial=1e12), 1e12))
            ends.append(row)
    return np.maximum(np.minimum(np.array(ends), 1e12), 1e-25)


# --- what is shown


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


def judged(told: Told, need: int, insiders: int) -> bool:
    """Whether the last answer is shown to be safe."""
    roomy_table = told.roomy_table(len(told.queries) - 1)
    judgement = told.question(roomy_table, 1).judge_by_center(
        tuple(told.values[-1:]), Standard(need, None, insiders), Allowance()
    )
    return judgement is not None and judgement.safe


def small(seed: int) -> Told:
    """Few records and values, so that all tables can be tried."""
    rng = np.random.default_rng(seed)
    size, top = [(8, 3), (9, 2), (12, 1), (7, 4)][int(rng.integers(4))]
    return told_at_random(rng, size, top, int(rng.integers(1, 4)))


@pytest.mark.slow
@pytest.mark.usefixtures("directions_alone")
@pytest.mark.parametrize("insiders", [0, 1])
def test_whom_directions_show_to_keep_a_run_keeps_it_in_all_tables(
    monkeypatch: pytest.MonkeyPatch, insiders: int
) -> None:
    safe = 0
    for seed in range(rounds(250)):
        monkeypatch.setattr(short_payments, "HELPERS", 5 * (seed % 2))
        told = small(seed)
        needs = [need for need in range(1, told.top + 1) if judged(told, need, insiders)]
        if needs:
            safe += 1
            assert not excluded(tables_of(told), max(needs), insiders), f"seed {seed}: {told}"
    assert safe > rounds(40 if insiders == 0 else 10)


@pytest.mark.usefixtures("directions_alone")
def test_directions_that_share_whoever_pays_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check, of directions over one basis that is taken for many."""
    first = Further._basis
    monkeypatch.setattr(Further, "_basis", lambda self, number: first(self, 0))
    monkeypatch.setattr(short_payments, "HELPERS", 0)
    told = small(72)
    needs = [need for need in range(1, told.top + 1) if judged(told, need, 0)]
    assert excluded(tables_of(told), max(needs), 0)


# --- what they are for


def nearly_all_alone(seed: int) -> Told:
    """Twelve sums over random halves of 300 persons."""
    rng = np.random.default_rng(seed)
    told = Told(rng.integers(0, 11, 300), 10)
    for _ in range(12):
        told.ask("sum", np.flatnonzero(rng.random(300) < 0.5))
    return told


@pytest.mark.slow
def test_directions_show_what_bases_and_reserves_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    told, rng = nearly_all_alone(0), np.random.default_rng(0)
    assert judged(told, 5, 1)
    monkeypatch.setattr(Pooled, "show", lambda *_: None)
    assert judged(told, 5, 1)
    monkeypatch.setattr(Further, "show", lambda self, far: None)
    assert not judged(told, 5, 1)
    possible = told.program()
    for i, j in rng.integers(0, told.size, (6, 2)).tolist():
        value = possible.end(j, int(rng.choice([-1, 1])), {})
        assert value is not None
        assert i == j or possible.run(i, {j: value}, 5, rng)


def test_nothing_that_true_answers_make_necessary_is_kept() -> None:
    """Later verdicts are those of a question that never saw them."""
    told, standard = nearly_all_alone(1), Standard(5, None, 1)
    roomy_table, value = told.roomy_table(11), told.values[-1]
    question, later = told.question(roomy_table, 1), Allowance()
    assert question.judge_true((value,), standard, later) == question.judge_true((value,), standard, later)
    assert not any(question._shown.values())
    others = [(value + by,) for by in (-40, 0, 40)]
    fresh = told.question(roomy_table, 1).judge_together(others, standard, later)
    assert question.judge_together(others, standard, later) == fresh


def test_of_many_parts_directions_wait_until_bases_were_chosen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    told, given = nearly_all_alone(0), list[bool]()
    show = Further.show
    monkeypatch.setattr("cae_sql.inference.certify.coverage.LARGE", 0)
    monkeypatch.setattr("cae_sql.inference.certify.coverage.FEW", 0)
    monkeypatch.setattr(Pooled, "show", lambda *_: None)
    roomy_table = told.roomy_table(11)

    def noted(self: Further, far: Far) -> None:
        given.append(roomy_table.stale)
        show(self, far)

    monkeypatch.setattr(Further, "show", noted)
    value, standard, later = (told.values[-1],), Standard(5, None, 1), Allowance()
    # of true answers nothing is renewed for their sake: whom hypothetical ones helped they must help too
    assert told.question(roomy_table, 1).judge_by_center(value, standard, later, renew=False)
    assert given
    assert all(given)
    given.clear()
    judgement = told.question(roomy_table, 1).judge_by_center(value, standard, later)
    assert judgement is not None
    assert not any(given)
    assert not roomy_table.stale


def test_without_sums_nobody_pays() -> None:
    nobody, ends = np.zeros((4, 0), dtype=np.float32), np.zeros(4)
    used = np.full(2, -1, dtype=np.int32)
    # as Python it would raise IndexError; compiled, it read what is behind an array without entries
    short_payments._measure.py_func(np.zeros(0, dtype=np.int32), used, nobody, nobody, 1.0, ends)
    assert (ends > 1e6).all()
