"""Sums that are totally unimodular: who keeps how much is what all tables say, without a search."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.search.unimodular import exactly, is_unimodular
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.system import AnsweredSystem


@st.composite
def systems(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, ...]], list[int]]:
    """Size, greatest value, weights of sums over all records, and a table."""
    size, top = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    weights = st.sampled_from([0, 0, 1, 1, 1, -1, 2])
    rows = draw(st.lists(st.tuples(*[weights] * size).filter(any), min_size=1, max_size=4))
    table = draw(st.lists(st.integers(0, top), min_size=size, max_size=size))
    return size, top, rows, table


def known_of(size: int, top: int, rows: list[tuple[int, ...]]) -> tuple[Knowledge, Ints]:
    """What the sums say, and their weights of records, those alone that no others tell."""
    queries = []
    for row in rows:
        members = np.flatnonzero(row)
        queries.append(Query(kind="sum", members=members, coefficients=np.array(row)[members]))
    known = Knowledge.nothing(size, top).refined(queries)
    known, fresh = known.with_sums(queries, np.zeros(known.count, dtype=np.int64))
    return known, np.array(rows, dtype=np.int64)[fresh]


def longest(values: NDArray[np.int64]) -> int:
    """The width of the longest run in a set of values."""
    there = np.unique(values)
    parts = np.split(there, np.flatnonzero(np.diff(there) > 1) + 1)
    return max(int(part[-1] - part[0]) for part in parts)


def by_all_tables(worlds: Ints, insiders: int) -> int:
    """What the one keeps who keeps least, in all tables of which there are some."""
    size = worlds.shape[1]
    if not insiders:
        return min(longest(worlds[:, record]) for record in range(size))
    return min(
        longest(worlds[worlds[:, insider] == value, record])
        for insider in range(size)
        for value in np.unique(worlds[:, insider])
        for record in range(size)
        if record != insider
    )


@example((3, 1, [(0, 1, 0), (0, 1, -1)], [0, 1, 0]), 0, 1, 0)  # one sum leads the other past its value
@given(systems(), st.integers(0, 1), st.integers(1, 3), st.integers(0, 10**6))
def test_what_is_said_is_what_all_tables_say(
    asked: tuple[int, int, list[tuple[int, ...]], list[int]], insiders: int, need: int, other: int
) -> None:
    size, top, rows, table = asked
    known, weights = known_of(size, top, rows)
    every = np.array(list(product(range(top + 1), repeat=size)))
    values = weights @ np.array(table)
    worlds = every[(every @ weights.T == values).all(axis=1)]
    start = known.totals(every[other % len(every)][None])[0]
    found = exactly(known, values, start, need, insiders)
    least = by_all_tables(worlds, insiders)
    if found is None:
        assert not is_unimodular(known.matrix.astype(np.int64))
    elif found.safe:
        assert least >= found.width >= need
    else:
        assert least < need
        assert found.certain
        assert found.width >= least


@given(systems(), st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_sums_that_no_table_has_are_said_to_leave_nothing(
    asked: tuple[int, int, list[tuple[int, ...]], list[int]], more: list[int]
) -> None:
    size, top, rows, table = asked
    known, weights = known_of(size, top, rows)
    every = np.array(list(product(range(top + 1), repeat=size)))
    values = weights @ np.array(table) + np.array(more)[: len(weights)]
    there = bool((every @ weights.T == values).all(axis=1).any())
    found = exactly(known, values, known.totals(np.array(table)[None])[0], 1, 1)
    if not there:
        assert found is None or not found.safe
    if found is not None and found.safe:
        assert there


@given(st.data())
def test_a_matrix_is_unimodular_where_no_square_part_has_another_determinant(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    entries = st.lists(st.sampled_from([-1, 0, 0, 1, 1]), min_size=columns, max_size=columns)
    matrix = np.array(data.draw(st.lists(entries, min_size=rows, max_size=rows)))
    by_parts = all(
        abs(round(float(np.linalg.det(matrix[np.ix_(some, others)])))) <= 1
        for size in range(1, min(rows, columns) + 1)
        for some in combinations(range(rows), size)
        for others in combinations(range(columns), size)
    )
    assert is_unimodular(matrix) == by_parts


def test_three_overlapping_sums_are_not_unimodular_and_rows_and_columns_of_a_table_are() -> None:
    assert not is_unimodular(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    by_row = np.repeat(np.eye(3, dtype=np.int64), 4, axis=1)
    by_column = np.tile(np.eye(4, dtype=np.int64), 3)
    assert is_unimodular(np.vstack([by_row, by_column]))
    assert not is_unimodular(np.array([[2, 1]]))


def test_a_large_group_is_settled_without_its_sums() -> None:
    """Who is in it can have any value whatever the few others have."""
    known, weights = known_of(60, 24, [(1,) * 60, (1,) * 50 + (0,) * 10])
    table = np.full(60, 12)
    found = exactly(known, weights @ table, known.totals(table[None])[0], 13, 1)
    assert found == Judgement(True, 24)


@pytest.mark.parametrize(("total", "safe"), [(36, False), (37, True), (40, True)])
def test_of_eight_with_one_sum_an_insider_may_take_a_whole_domain(total: int, safe: bool) -> None:
    known, weights = known_of(20, 24, [(1,) * 8 + (0,) * 12])
    table = np.zeros(20, dtype=np.int64)
    table[:2] = 18, total - 18
    found = exactly(known, weights @ table, known.totals(table[None])[0], 13, 1)
    assert found is not None
    assert found.safe == safe
    assert found.safe or found.certain


def test_extremes_and_an_empty_allowance_are_left_to_searches() -> None:
    known, weights = known_of(8, 24, [(1,) * 8])
    table = np.full(8, 12)
    totals = known.totals(table[None])[0]
    extreme = known.with_extreme(Query(kind="max", members=np.arange(8)), 20)
    assert exactly(extreme, weights @ table, totals, 13, 1) is None
    few = np.zeros(8, dtype=np.int64)  # far from what the sum should come to
    assert exactly(known, np.array([40]), known.totals(few[None])[0], 13, 1) is not None
    assert exactly(known, np.array([40]), known.totals(few[None])[0], 13, 1, Allowance(0)) is None


def test_as_things_stand_is_known_exactly_too() -> None:
    """What was answered by it is shown to keep the limit when a gate is opened again, without a search."""
    labels = np.repeat(np.arange(7), [52, 2, 4, 2, 7, 30, 3])
    system = AnsweredSystem(100, 0, 24, 1)
    for groups, total in (((1, 2, 6), 38), ((3, 4), 39), ((4, 5), 118)):
        system.add_sum(np.flatnonzero(np.isin(labels, groups)), total)
    standard = Standard(13, insiders=1)
    assert system.judged(standard, Allowance()).safe
    assert not system.judged(Standard(15, insiders=1), Allowance()).safe
    by_center = Question(system.roomy_table, system.pool(), []).judge_around_table((), standard, Allowance())
    assert by_center is None or not by_center.safe


@pytest.mark.parametrize("insiders", [0, 1])
def test_beside_poor_atoms_rich_ones_are_looked_at_as_before(insiders: int) -> None:
    for first in range(3):
        known, _ = known_of(8, 1, [(1, 1, 1, 1, 1, 0, 0, 0), (0, 0, 0, 0, 0, 1, 1, 1)])
        values = np.array([2, first])
        tables = np.array([each for each in product((0, 1), repeat=8) if sum(each[:5]) == 2])
        kept = by_all_tables(tables[tables[:, 5:].sum(axis=1) == first], insiders)
        found = exactly(known, values, known.totals(np.zeros((1, 8), np.int64))[0], 1, insiders)
        assert found is not None
        assert found.safe == (kept >= 1)
