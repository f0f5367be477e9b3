"""Swaps are pairs of atoms that differ little; two of one difference, against each other, keep every sum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cae_sql.inference.certify.learned import advance
from cae_sql.inference.tables import roomy_table as roomy_tables
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.swaps import FARTHEST, Opposed, Swaps, named, opposed
from tests.cae_sql.inference.families import grid_at_random
from tests.cae_sql.inference.told import Ints, Told


@pytest.fixture(autouse=True)
def swaps_in_small_systems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roomy_tables, "SWAPPED", 0)


def tables_of_questions(seed: int, count: int) -> Iterator[tuple[Told, QuestionTables, int]]:
    """Grids of which the last one to three sums are not answered yet; swaps were found before."""
    rng, found = np.random.default_rng(seed), 0
    while found < count:
        told = grid_at_random(rng)
        asked = int(rng.integers(1, 4))
        if len(told.queries) <= asked:
            continue
        roomy_table = told.roomy_table(len(told.queries) - asked)
        if roomy_table.usable:
            roomy_table.look_for_swaps()
            question_tables = QuestionTables(roomy_table, told.queries[-asked:])
            if question_tables.usable and question_tables.fresh:
                found += 1
                yield told, question_tables, asked


def test_two_of_a_swap_can_move_and_differ_in_few_sums_as_others_do() -> None:
    looked_at = 0
    for _, question_tables, _ in tables_of_questions(1, 40):
        roomy_table, swaps = question_tables.roomy_table, question_tables.roomy_table.swaps
        assert swaps is not None
        marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank].astype(np.int64)
        effects = marks[swaps.gain] - marks[swaps.give]
        assert (np.count_nonzero(effects, axis=1) <= FARTHEST).all()
        assert effects.any(axis=1).all()
        assert (np.unique(effects, axis=0, return_counts=True)[1] > 1).all()
        assert len(np.unique(np.sort(np.column_stack([swaps.gain, swaps.give])), axis=0)) == swaps.count
        looked_at += swaps.count
    assert looked_at > 500


def test_names_that_were_carried_over_answers_are_those_of_all_sums() -> None:
    carried = 0
    for told, question_tables, asked in tables_of_questions(2, 40):
        roomy_table, before = question_tables.roomy_table, question_tables.roomy_table.swaps
        assert before is not None
        for query, value in list(zip(told.queries, told.values, strict=True))[-asked:]:
            if roomy_table.usable:
                advance(roomy_table, query, value)
        after = roomy_table.swaps
        assert after is not None
        if not roomy_table.usable:
            continue
        marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank]
        fresh = named(np.zeros(roomy_table.count, dtype=np.uint64), marks.T.astype(np.int32), 0)
        assert (after.names == fresh).all()
        assert (after.gain == before.gain).all()
        carried += 1
    assert carried > 20


def effect(question_tables: QuestionTables, found: Opposed) -> Ints:
    """(m, k + g) what each two do to all sums."""
    marks = question_tables.marks_of(np.arange(question_tables.boxes.count)).astype(np.int64)
    up, down = found.up, found.down
    changed: Ints = marks[up[0]] + marks[up[1]] - marks[down[0]] - marks[down[1]]
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("names", ["true", "equal by chance"])
def test_two_swaps_against_each_other_change_one_new_sum_by_one_and_no_other(names: str) -> None:
    rng, looked_at, lost = np.random.default_rng(3), 0, 0
    for _, question_tables, _ in tables_of_questions(3, 80):
        roomy_table, swaps = question_tables.roomy_table, question_tables.roomy_table.swaps
        assert swaps is not None
        if names != "true":
            chance = rng.integers(0, 3, len(swaps.names)).astype(np.uint64)
            swaps = Swaps(swaps.gain, swaps.give, chance, swaps.rank)
        marks = roomy_table.marks[:, : roomy_table.rank]
        for number in range(len(question_tables.rows)):
            found = opposed(swaps, marks, question_tables.parents, question_tables.rows, number)
            parts = np.concatenate([*found.up, *found.down])
            assert len(np.unique(parts)) == len(parts)
            changed = effect(question_tables, found)
            assert (changed[:, roomy_table.rank + number] == 1).all()
            assert not np.delete(changed, roomy_table.rank + number, axis=1).any()
            looked_at, lost = looked_at + len(found.up[0]), lost + (not len(found.up[0]))
    assert looked_at > (50 if names == "true" else 5)
