"""Swaps are pairs of atoms that differ little; two of one difference, against each other, keep every sum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cae_sql.inference import sizes
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.swaps import FARTHEST, named
from tests.cae_sql.inference.families import grid_at_random
from tests.cae_sql.inference.told import Told, advance


@pytest.fixture(autouse=True)
def swaps_in_small_systems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "SWAPPED", 0)


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
