"""Lists of worlds of small, tightly coupled systems, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import Standard, judge_pairs
from cae_sql.inference.search.runs import Effort
from cae_sql.inference.tables.gathering import FEWEST, Gathered, few, of_answers, run_widths, spread_over
from cae_sql.inference.tables.pool import Pool
from tests.quick import some

RECORDS, TOP, SUMS = 11, 2, 4


def a_system(
    seed: int, sums: int = SUMS, top: int = TOP, records: int = RECORDS
) -> tuple[AnsweredSystem, NDArray[np.int64]]:
    """Sums over random records that tell all records apart, true of a random table; and the rows."""
    draws = np.random.default_rng(seed)
    table = draws.integers(0, top + 1, records)
    system = AnsweredSystem(records, 0, top, resolution=1)
    patterns = 1 + draws.permutation(2**sums - 1)[:records]
    rows = (patterns[None, :] >> np.arange(sums)[:, None]) & 1
    for row in rows:
        system.add_sum(np.flatnonzero(row), int(row @ table))
    return system, np.column_stack([rows, rows @ table])


def all_tables(rows: NDArray[np.int64], top: int = TOP) -> set[tuple[int, ...]]:
    """By trying every one."""
    tables = np.array(list(product(range(top + 1), repeat=rows.shape[1] - 1)))
    return {tuple(each) for each in tables[(tables @ rows[:, :-1].T == rows[:, -1]).all(axis=1)].tolist()}


def gathered(system: AnsweredSystem) -> Gathered:
    """The list, of a system that has one."""
    found = system.pool().gathered(Allowance())
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_every_world_listed_agrees_with_the_answers_and_a_whole_list_has_them_all(seed: int) -> None:
    system, rows = a_system(seed)
    found = gathered(system)
    worlds, everything = {tuple(each) for each in found.worlds.tolist()}, all_tables(rows)
    assert len(worlds) == len(found.worlds)
    assert worlds <= everything
    if found.whole:
        assert worlds == everything


@pytest.mark.slow
def test_most_small_systems_are_listed_whole() -> None:
    several = [a_system(seed) for seed in range(30)]
    whole = [gathered(system).whole for system, rows in several if len(all_tables(rows)) >= FEWEST]
    assert len(whole) >= 8
    assert all(whole)


@pytest.mark.slow
def test_a_yes_or_no_column_is_listed_too() -> None:
    system, rows = a_system(5, top=1, records=15)
    found = gathered(system)
    assert found.whole
    assert {tuple(each) for each in found.worlds.tolist()} == all_tables(rows, 1)


def test_a_list_of_very_few_is_not_called_whole() -> None:
    system, rows = a_system(2, sums=9)
    assert len(all_tables(rows)) < FEWEST
    assert not gathered(system).whole


def test_an_answer_leaves_the_worlds_that_give_it() -> None:
    system, _ = a_system(3)
    found = gathered(system)
    query = system.query("sum", np.arange(0, RECORDS, 2))
    parts = [of_answers(found, [query], [value]).worlds for value in range(TOP * RECORDS + 1)]
    assert sum(map(len, parts)) == len(found.worlds)
    for value, part in enumerate(parts):
        assert (part[:, ::2].sum(axis=1) == value).all()


def test_where_worlds_are_too_many_none_are_gathered() -> None:
    system, _ = a_system(1, sums=6, top=3, records=40)
    assert not few(system.pool().knowledge)
    assert system.pool().gathered(Allowance()) is None


def test_records_that_no_answer_tells_apart_are_left_to_other_ways() -> None:
    system = AnsweredSystem(6, 0, 3, resolution=1)
    system.add_sum([0, 1, 2], 4)
    assert few(system.pool().knowledge)
    assert system.pool().gathered(Allowance()) is None


@pytest.mark.parametrize("need", [1, 2])
@pytest.mark.parametrize("seed", some(range(100, 130), 15))
def test_a_list_calls_exactly_those_safe_from_an_insider_who_are(seed: int, need: int) -> None:
    system, rows = a_system(seed, records=RECORDS - seed % 3)
    found, pool = gathered(system), system.pool()
    judged = judge_pairs(
        pool.knowledge, pool.values, Standard(need, insiders=1), Allowance(), Effort(), None, found
    )
    tables = np.array(sorted(all_tables(rows)))
    count = tables.shape[1]
    safe = all(
        keeps_run(tables[tables[:, one] == value, other], need)
        for one in range(count)
        for value in np.unique(tables[:, one])
        for other in range(count)
        if other != one
    )
    assert judged.safe == safe


def keeps_run(values: NDArray[np.int64], need: int) -> bool:
    """Whether some `need` + 1 consecutive values all occur."""
    return any(set(range(low, low + need + 1)) <= set(values.tolist()) for low in range(TOP + 1))


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("seed", some(range(200, 215), 8))
def test_a_true_answer_that_no_kept_world_gives_is_judged_by_the_list(seed: int, insiders: int) -> None:
    system, rows = a_system(seed, records=9)
    query = system.query("sum", np.arange(0, 9, 2))
    tables = np.array(sorted(all_tables(rows)))
    for value in np.unique(tables[:, ::2].sum(axis=1)).tolist():
        question = system.question([query])
        judged = question.judge_true([value], Standard(1, insiders=insiders), Allowance())
        assert judged is not None
        left = tables[tables[:, ::2].sum(axis=1) == value]
        if judged.safe:
            assert all(keeps_run(left[:, record], 1) for record in range(9))
        learned = question.learn([value], Allowance())
        kept = {tuple(each) for each in learned.pool.values.tolist()}
        assert kept <= {tuple(each) for each in left.tolist()}


def test_runs_are_those_of_the_listed_worlds() -> None:
    found = Gathered(np.array([[0, 3, 1], [2, 1, 1], [1, 3, 1]], dtype=np.int8), whole=False)
    assert run_widths(found).tolist() == [2, 0, 0]
    assert run_widths(Gathered(np.zeros((0, 2), dtype=np.int8), whole=False)).tolist() == [-1, -1]
    assert spread_over(found, 2).tolist() == [[0, 3, 1], [1, 3, 1]]
    assert len(spread_over(found, 9)) == 3


def test_a_list_that_a_true_answer_asked_for_is_not_there_for_later_verdicts() -> None:
    system, _ = a_system(3)
    query = system.query("sum", np.arange(0, RECORDS, 2))
    question, pool = system.question([query]), system.pool()
    for value in range(TOP * RECORDS):
        question.judge_true([value], Standard(1, insiders=1), Allowance())
    assert isinstance(pool, Pool)
    assert pool._gathered is None
    assert pool.gathered(Allowance()) is pool.gathered(Allowance(0)) is not None


def test_a_list_does_not_outlive_the_next_answer() -> None:
    system, _ = a_system(3)
    pool = system.pool()
    assert isinstance(pool, Pool)
    before = gathered(system)
    query = system.query("sum", np.arange(0, RECORDS, 2))
    value = int(query.of(pool.values[0]))
    pool.learn([query.answered(value)])
    after = pool.gathered(Allowance())
    assert after is not None
    assert (query.of(after.worlds) == value).all()
    assert len(after.worlds) < len(before.worlds)
