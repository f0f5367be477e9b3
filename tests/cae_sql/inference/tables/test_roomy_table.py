"""Whatever a roomy table is told, its table agrees with all of it and its bases are bases."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.inference.tables.roomy_table import RoomyTable, columns_in
from tests.cae_sql.inference.told import Told, advance, told_at_random
from tests.quick import rounds, some


def wrong_with_basis(roomy_table: RoomyTable) -> list[str]:
    """Columns times basic marks are everybody's marks, and basic columns unit vectors."""
    count, rank, basis = roomy_table.count, roomy_table.rank, roomy_table.basis
    marks = roomy_table.marks[:count, :rank].astype(np.int64)
    columns, wrong = basis.columns[:count, :rank].astype(np.int64), list[str]()
    if (columns @ marks[basis.basic] != marks).any():
        wrong.append("the basis does not give back the marks")
    if (columns[basis.basic] != np.eye(rank, dtype=np.int64)).any():
        wrong.append("basic columns are no unit vectors")
    return wrong


def told_in_turn(told: Told) -> tuple[RoomyTable, list[str]]:
    """A roomy table told everything, looked at after each answer."""
    roomy_table, wrong = RoomyTable.nothing(told.size, told.top), list[str]()
    for number, (query, value) in enumerate(zip(told.queries, told.values, strict=True)):
        advance(roomy_table, query, value)
        if not roomy_table.usable:
            break
        so_far = Told(told.truth, told.top, told.queries[: number + 1])
        wrong += so_far.impossible(roomy_table) + wrong_with_basis(roomy_table)
    return roomy_table, wrong


@pytest.mark.parametrize("top", some([1, 2, 7, 100, 10**9], 2))
def test_the_table_agrees_with_every_answer_and_the_bases_are_bases(top: int) -> None:
    rng, usable = np.random.default_rng(top), 0
    for _ in range(rounds(40)):
        told = told_at_random(rng, int(rng.integers(5, 60)), top, int(rng.integers(1, 8)))
        roomy_table, wrong = told_in_turn(told)
        assert not wrong
        usable += roomy_table.usable
    assert usable > rounds(15)


@pytest.mark.parametrize("top", [2, 50, 10**9])
def test_that_is_so_of_many_records_and_answers_too(top: int) -> None:
    rng = np.random.default_rng(top)
    for size in (300, 3_000):
        told = told_at_random(rng, size, top, 25, kinds=("sum",))
        told.truth = rng.integers(0, top + 1, size)
        roomy_table, wrong = told_in_turn(told)
        assert not wrong
        assert roomy_table.usable or top < 50  # few values leave few tables, and one may not be found
        assert roomy_table.rank > 5


def test_an_answer_that_others_settle_adds_no_sum() -> None:
    told = Told(np.arange(20), 30)
    for members in (np.arange(10), np.arange(10, 20), np.arange(20)):
        told.ask("sum", members)
    roomy_table = told.roomy_table()
    assert roomy_table.rank == 2
    assert not told.impossible(roomy_table)


def test_a_coefficient_of_two_leaves_it_unused() -> None:
    told = Told(np.arange(20), 30)
    told.ask("sum", np.arange(3), np.array([1, 2, 1]))
    assert not told.roomy_table().usable


def test_larger_entries_than_a_byte_holds_are_never_kept() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        told = Told(rng.integers(0, 11, 40), 10)
        for _ in range(20):
            members = rng.permutation(40)[:20]
            told.ask("sum", members, rng.choice([1, -1], 20))
        _, wrong = told_in_turn(told)
        assert not wrong


@pytest.mark.slow
def test_columns_are_coefficients_times_the_inverse_whatever_they_are() -> None:
    chance = np.random.default_rng(6)
    for seed in range(rounds(40)):
        atoms, rank = int(chance.integers(1, 60)), int(chance.integers(1, 9))
        largest = 1 if seed % 2 else 3
        marks = chance.integers(-largest, largest + 1, (atoms, rank)).astype(np.int8)
        inverse = chance.integers(-2, 3, (rank, rank)).astype(np.float32)
        expected = marks.astype(np.int64) @ inverse.T.astype(np.int64)
        found = columns_in(marks, inverse)
        assert found is not None
        assert (found == expected).all()


def test_columns_with_an_entry_beyond_a_byte_are_none() -> None:
    marks = np.full((1, 1), 2, np.int8)
    assert columns_in(marks, np.full((1, 1), 63, dtype=np.float32)) is not None
    assert columns_in(marks, np.full((1, 1), 64, dtype=np.float32)) is None
    assert columns_in(marks, np.full((1, 1), 20_000, dtype=np.float32)) is None
