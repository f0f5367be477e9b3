"""Reserves pay for what moves without whoever moves, and nothing is shown by them that answers exclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference import sizes
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import coverage
from cae_sql.inference.certify.coverage import Coverage, Shown
from cae_sql.inference.certify.pooled_payments import Pooled
from cae_sql.inference.certify.rooms import Judged
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.tables import reserves
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.reserves import Ground, Reserves, choose
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.swaps import Swaps, named
from tests.cae_sql.inference.families import Families, Values, families_at_random, families_of, grid_at_random
from tests.cae_sql.inference.told import Ints
from tests.quick import rounds, some

Scarce = Callable[[Reserves, Ints, Ints, tuple[Ints, Ints], int], NDArray[np.float64]]
NOBODY = np.zeros(0, dtype=np.int64)


@pytest.fixture(autouse=True)
def swaps_in_small_systems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "SWAPPED", 0)
    monkeypatch.setattr(sizes, "MOST_POOLED", 0)
    monkeypatch.setattr(reserves, "AMPLE", 2)
    monkeypatch.setattr(reserves, "POOR", 0.2)


def chosen(seed: int, count: int) -> Iterator[tuple[QuestionTables, Reserves]]:
    """Reserves of random grids, some with sums that are asked and not answered, and of families."""
    rng, found = np.random.default_rng(seed), 0
    while found < count:
        if rng.random() < 0.5:
            told = grid_at_random(rng)
            asked = min(int(rng.integers(0, 3)), len(told.queries) - 1)
            roomy_table = told.roomy_table(len(told.queries) - asked)
            queries = told.queries[len(told.queries) - asked :]
        else:
            roomy_table, queries = families_at_random(rng).roomy_table(), []
        if not roomy_table.usable:
            continue
        roomy_table.look_for_swaps()
        question_tables = QuestionTables(roomy_table, queries)
        some = question_tables.reserves(0) if question_tables.usable else None
        if some is not None:
            found += 1
            yield question_tables, some


def everyone(question_tables: QuestionTables) -> Ints:
    return np.arange(question_tables.boxes.count)


def effects(question_tables: QuestionTables, those: Reserves) -> Ints:
    """(z, k) what each swap does to all sums, by the parts' coefficients."""
    marks = question_tables.marks_of(everyone(question_tables)).astype(np.int64)
    return marks[those.gain] - np.where(those.give[:, None] >= 0, marks[those.give], 0)


@pytest.mark.slow
def test_reserves_share_no_part_with_each_other_or_with_those_who_pay_elsewhere() -> None:
    rng, found = np.random.default_rng(1), 0
    for question_tables, _ in chosen(1, rounds(60)):
        swaps = question_tables.roomy_table.swaps
        assert swaps is not None
        several = [some for some in map(question_tables.reserves, range(4)) if some is not None]
        basics = [each.basic for each in question_tables.pendings if each is not None]
        parts = np.concatenate([*(some.parts for some in several), *basics])
        assert len(np.unique(parts)) == len(parts)
        elsewhere = rng.random(question_tables.boxes.count) < 0.1
        other = choose(swaps, question_tables.ground, elsewhere)
        if other is not None:
            found += 1
            assert not elsewhere[other.parts].any()
            assert len(np.unique(other.parts)) == len(other.parts)
    assert found > rounds(10)


@pytest.mark.slow
def test_every_swap_of_a_reserve_has_its_effect_but_for_what_is_taken_aside() -> None:
    plain = helped = aside = 0
    for question_tables, those in chosen(2, 120):
        # in terms of the reserves a swap is a unit of its own, and so much of others at most
        taken = effects(question_tables, those) @ those.inverse.T
        own = taken[np.arange(len(taken)), those.of]
        assert (own == 1).all()
        taken[np.arange(len(taken)), those.of] = 0
        assert (np.abs(taken) <= those.aside[those.of]).all()
        plain, helped = plain + (~taken.any(axis=1)).sum(), helped + taken.any(axis=1).sum()
        # what is taken aside from those who are helped themselves is counted on to the last
        further = np.abs(taken) @ those.aside
        assert (further <= those.aside[those.of]).all()
        aside += bool(those.aside.any())
        assert np.array_equal(np.unique(those.of), np.arange(len(those.inverse)))
    assert plain > 500
    assert helped > 20
    assert aside > 5


def plainly(leave_out: int, with_insider: int) -> Scarce:
    """`scarce`, one reserve after the other, so many of the greatest left out."""

    def scarce(
        self: Reserves, down: Ints, up: Ints, left: tuple[Ints, Ints], insiders: int
    ) -> NDArray[np.float64]:
        rooms = np.zeros((4, len(self.inverse)))
        for reserve in range(len(self.inverse)):
            mine = np.flatnonzero(self.of == reserve)
            for way, (own, other, rest) in enumerate(((down, up, left[0]), (up, down, left[1]))):
                part = self.gain[mine[0]]
                if len(mine) == 1 and self.give[mine[0]] < 0:
                    rooms[[way, 2 + way], reserve] = own[part], rest[part]
                    continue
                room = sorted(
                    (min(own[self.gain[z]], other[self.give[z]]) if self.give[z] >= 0 else own[self.gain[z]])
                    for z in mine
                )[::-1]
                rooms[way, reserve] = sum(room[leave_out:])
                rooms[2 + way, reserve] = sum(room[with_insider if insiders else leave_out :])
        return 1.0 / np.maximum(rooms, 1e-25)

    return scarce


@pytest.mark.parametrize("insiders", some([1, 0], 1))
@pytest.mark.slow
def test_rooms_are_those_without_the_greatest_swap_and_the_two_greatest(insiders: int) -> None:
    rng = np.random.default_rng(3)
    for question_tables, those in chosen(3, rounds(60)):
        down, up, *left = (rng.integers(0, 9, question_tables.boxes.count) for _ in range(4))
        rest = np.minimum(left[0], down), np.minimum(left[1], up)
        found = those.scarce(down, up, rest, insiders)
        np.testing.assert_allclose(found, plainly(1, 2)(those, down, up, rest, insiders))


@pytest.mark.slow
def test_parts_reach_as_far_as_all_reserves_have_room_for_what_they_take() -> None:
    rng = np.random.default_rng(4)
    for question_tables, those in chosen(4, rounds(60)):
        scarce = 1.0 / rng.integers(1, 50, (4, len(those.inverse)))
        column = question_tables.marks_of(everyone(question_tables)).astype(np.int64) @ those.inverse.T
        more = np.abs(column) @ those.aside
        gain, lose = np.maximum(column, 0) + more, np.maximum(-column, 0) + more
        worst = [
            np.maximum(gain * scarce[side], lose * scarce[side ^ 1]).max(axis=1, initial=1e-12)
            for side in range(4)
        ]
        found = those.reach(question_tables.ground, scarce, everyone(question_tables), 1.0)
        np.testing.assert_allclose(found, 1.0 / np.array(worst), rtol=1e-6)


def test_differences_whose_names_are_equal_by_chance_are_not_taken_for_equal() -> None:
    rng, found = np.random.default_rng(5), 0
    for question_tables, _ in chosen(5, 20):
        swaps = question_tables.roomy_table.swaps
        assert swaps is not None
        names = rng.integers(0, 4, len(swaps.names)).astype(np.uint64)
        used = np.zeros(question_tables.boxes.count, dtype=np.bool_)
        some = choose(Swaps(swaps.gain, swaps.give, names, swaps.rank), question_tables.ground, used)
        if some is not None:
            found += 1
            taken = effects(question_tables, some) @ some.inverse.T
            assert (taken[np.arange(len(taken)), some.of] == 1).all()
            taken[np.arange(len(taken)), some.of] = 0
            assert (np.abs(taken) <= some.aside[some.of]).all()
    assert found < 20


# --- what is shown by reserves alone


def shown_of(question_tables: QuestionTables, need: int, insiders: int, count: int) -> Shown | None:
    """What the table shows with so many reserves and nothing but the first basis; None: too few are held."""
    pins = hold(question_tables.boxes, question_tables.totals, insiders + 2, NOBODY)
    if pins is None:
        return None
    bounds = bounds_of(question_tables.boxes, pins)
    if (question_tables.totals < bounds.least).any() or (question_tables.totals > bounds.most).any():
        return None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "RESERVES", count)
        tables = Tables(question_tables.totals, question_tables.totals)
        return Coverage(question_tables, Judged(question_tables.boxes, pins, need, insiders), tables).exactly(
            need, Allowance()
        )


def breaches(families: Families, insiders: int, most: int = 15) -> tuple[int, list[str]]:
    """How many claims that hold by reserves alone were looked at, and those that answers exclude."""
    rng = np.random.default_rng(families.told.size)
    roomy_table = families.roomy_table()
    roomy_table.look_for_swaps()
    question_tables = QuestionTables(roomy_table, [])
    seen, looked_at, wrong = set[tuple[int, int]](), 0, list[str]()
    for need in range(families.told.top, 0, -1):
        these, without = (shown_of(question_tables, need, insiders, count) for count in (5, 0))
        if these is None or without is None:
            return 0, []
        pairs = claims(roomy_table, these, without, insiders)
        for i, j in (pairs[place] for place in rng.permutation(len(pairs))[:most]):
            if (i, j) in seen:
                continue  # what was shown for a longer run
            seen.add((i, j))
            record, other = first_of(roomy_table, i, 0), first_of(roomy_table, j, -1)
            for fixed in [{other: value} for value in range(families.told.top + 1)] if insiders else [{}]:
                looked_at += 1
                if not families.has_run(record, fixed, need):
                    wrong.append(f"record {record} has no run of width {need} with {fixed}")
    return looked_at, wrong


def claims(roomy_table: RoomyTable, these: Shown, without: Shown, insiders: int) -> list[tuple[int, int]]:
    """Atoms whose records are shown to keep a run whatever those of another have, by reserves alone."""
    able = roomy_table.boxes.low < roomy_table.boxes.high
    if not insiders:
        return [(i, i) for i in np.flatnonzero(these.own & ~without.own & able).tolist()]
    return [
        (i, j)
        for i in np.flatnonzero(these.own & able).tolist()
        for j in np.flatnonzero(these.free & able).tolist()
        if not (without.own[i] and without.free[j]) and (i != j or roomy_table.boxes.sizes[i] > 1)
    ]


def first_of(roomy_table: RoomyTable, atom: int, place: int) -> int:
    return int(np.flatnonzero(roomy_table.boxes.atoms.labels == atom)[place])


def all_breaches(insiders: int, seeds: range) -> tuple[int, list[str]]:
    looked_at, wrong = 0, list[str]()
    for seed in seeds:
        more, found = breaches(families_at_random(np.random.default_rng(seed)), insiders)
        looked_at, wrong = looked_at + more, wrong + found
    return looked_at, wrong


def test_counting_says_of_families_what_an_integer_program_says() -> None:
    rng, answers = np.random.default_rng(6), list[bool]()
    for _ in range(12):
        families = families_at_random(rng)
        possible, some = families.told.program(), [r for pair in families.pairs for r in pair.others]
        for _ in range(8):
            i, j = rng.choice(some + [pair.first for pair in families.pairs], 2, replace=False).tolist()
            fixed = {int(each): int(rng.integers(0, families.told.top + 1)) for each in (i, j)}
            answers.append(families.can(fixed))
            assert answers[-1] == possible.can(fixed)
    assert 10 < sum(answers) < len(answers) - 10


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
def test_nobody_is_shown_by_reserves_to_keep_a_run_that_the_answers_exclude(insiders: int) -> None:
    looked_at, wrong = all_breaches(insiders, range(rounds(150)))
    assert not wrong
    assert looked_at > rounds(3_000 if insiders else 100)


def a_few(count: int) -> Families:
    """One family, each of so many with 2 of 10, and enough elsewhere."""
    return families_of(10, [Values((1,), 2, [5], [5])] * count, [], [3])


def with_bridges() -> Families:
    """Two families with little in them, and pairs in both that have much; one record wants much of it."""
    poor = [Values((1, 0), 1, [1], [1])] * 2 + [Values((0, 1), 1, [1], [1])] * 3
    return families_of(20, poor + [Values((1, 1), 10, [10], [10])] * 6, [(0, 10)], [3])


def pays_for_itself(self: Reserves) -> Ints:
    return NOBODY


@pytest.mark.parametrize(
    ("name", "careless", "insiders"),
    some(
        [
            ("scarce", plainly(0, 0), 0),
            ("scarce", plainly(1, 1), 1),
            ("single", property(pays_for_itself), 0),
        ],
        1,
    ),
    ids=["by the own swap", "by the other's swap", "by the own part"],
)
def test_whoever_moves_must_not_pay(
    monkeypatch: pytest.MonkeyPatch, name: str, careless: object, insiders: int
) -> None:
    monkeypatch.setattr(Reserves, name, careless)
    those = [*map(a_few, (2, 9)), *(families_at_random(np.random.default_rng(seed)) for seed in range(60))]
    assert any(breaches(each, insiders)[1] for each in those)


def test_what_is_taken_aside_must_be_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    helped = reserves._helped

    def for_nothing(*given: Any) -> Reserves:
        found = helped(*given)
        return replace(found, aside=np.zeros_like(found.aside))

    monkeypatch.setattr(reserves, "POOR", 0.05)
    assert not breaches(with_bridges(), 0)[1]
    monkeypatch.setattr(reserves, "_helped", for_nothing)
    assert breaches(with_bridges(), 0)[1]


def test_of_nine_with_two_each_most_is_shown_that_one_of_them_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test of safety alone would be passed by showing nothing."""
    monkeypatch.setattr(Pooled, "show", lambda *_: None)
    families = a_few(9)
    roomy_table = families.roomy_table()
    roomy_table.look_for_swaps()
    question_tables = QuestionTables(roomy_table, [])
    firsts = roomy_table.boxes.atoms.labels[[pair.first for pair in families.pairs]]
    these, without = (shown_of(question_tables, 7, 0, count) for count in (5, 0))
    assert these is not None
    assert without is not None
    assert these.own[firsts].all()
    assert not without.own[firsts].any()


def told_by_few() -> tuple[Swaps, Ground]:
    """Pairs that differ in one sum; all are in a second, and a third tells a few who are less roomy."""
    pairs, few = 3_000, 20
    marks = np.zeros((2 * pairs + few, 3), dtype=np.int8)
    marks[:, 1] = 1
    marks[:pairs, 0] = 1
    marks[2 * pairs :, 2] = 1
    room = np.full(len(marks), 8)
    room[2 * pairs :] = 4
    names = named(np.zeros(len(marks), dtype=np.uint64), marks.T.astype(np.int32), 0)
    swaps = Swaps(np.arange(pairs), np.arange(pairs) + pairs, names, 3)
    return swaps, Ground(marks, np.arange(len(marks)), np.zeros((0, len(marks)), np.int32), room, 8)


def test_a_sum_that_few_atoms_tell_from_others_has_reserves_too() -> None:
    """None of these few is among the roomiest, and no swap changes the sum."""
    swaps, ground = told_by_few()
    assert len(ground.room) > 2 * reserves.ATOMS
    found = choose(swaps, ground, np.zeros(len(ground.room), dtype=np.bool_))
    assert found is not None
    assert not found.empty.any()
    changed = ground.marks[found.gain].astype(int) - np.where(
        found.give[:, None] >= 0, ground.marks[found.give], 0
    )
    assert (changed[:, 2] != 0).any()


def test_a_difference_whose_parts_all_went_to_others_does_not_cost_the_rest_their_reserves() -> None:
    """The roomiest part is a reserve by itself, and the only swap there is needs it: others stand in."""
    marks = np.array([[1, 0], [0, 1]] * 20, dtype=np.int8)
    names = named(np.zeros(40, dtype=np.uint64), marks.T.astype(np.int32), 0)
    room = np.where(np.arange(40) == 0, 8, 4)
    ground = Ground(marks, np.arange(40), np.zeros((0, 40), np.int32), room, 8)
    found = choose(Swaps(np.array([0]), np.array([1]), names, 2), ground, np.zeros(40, dtype=np.bool_))
    assert found is not None
    assert not found.empty.any()
    assert len(np.unique(found.parts)) == len(found.parts)
