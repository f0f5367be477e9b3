"""What is said of pairs in small systems is what listing every table says."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reconstruction import Outcome, determine
from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import judge, judge_reading
from cae_sql.inference.standard import Effort, Judgement, Standard
from tests.cae_sql.inference.search.tiny import answered
from tests.enumeration.oracle import Possible, Question, longest_run
from tests.quick import some

Asked = list[tuple[str, tuple[int, ...]]]
"""Kinds of questions, and signs by record."""


def found(system: AnsweredSystem, need: int, effort: Effort | None = None, steps: float = inf) -> Judgement:
    """What the search says of everybody beside an insider, extremes as they are answered."""
    pool, effort = system.pool(), effort or Effort(10_000, 10**9)
    assert pool.knowledge is not None
    known, totals = pool.knowledge, pool.totals()
    return judge_reading(known, totals, Standard(need, None, 1), Allowance(steps), effort)


def widest(possible: Possible) -> int:
    """The width of the runs that everybody keeps, whatever value anyone else turns out to have."""
    everyone = range(possible.size)
    return min(
        longest_run(possible.values_given(record, insider, value)) - 1
        for insider in everyone
        for value in possible.values(insider)
        for record in everyone
        if record != insider
    )


@given(answered(), st.integers(1, 5))
def test_with_time_enough_what_is_found_is_what_all_tables_say(
    case: tuple[AnsweredSystem, Possible, int], need: int
) -> None:
    system, possible, top = case
    need = min(need, top)
    said, real = found(system, need), widest(possible)
    assert said.safe == (real >= need)
    assert said.width <= max(real, need) if said.safe else said.width < need


@given(answered(), st.integers(1, 5), st.integers(0, 3), st.sampled_from((0, 500, 5_000, 10**9)))
def test_however_early_the_search_ends_nothing_is_said_that_some_table_denies(
    case: tuple[AnsweredSystem, Possible, int], need: int, programs: int, moves: int
) -> None:
    system, possible, top = case
    need = min(need, top)
    said, real = found(system, need, Effort(programs, moves)), widest(possible)
    assert not said.safe or real >= need


@given(answered(), st.integers(1, 5))
def test_a_judgement_never_says_more_than_the_search(
    case: tuple[AnsweredSystem, Possible, int], need: int
) -> None:
    """Besides all tables those without ties are looked at, which can only take something away."""
    system, possible, top = case
    pool, need = system.pool(), min(need, top)
    assert pool.knowledge is not None
    judged = judge(pool.knowledge, pool.totals(), Standard(need, None, 1), Allowance(), Effort(10_000))
    real = widest(possible)
    assert real >= need or not judged.safe
    if not pool.knowledge.extremes:
        assert judged.safe == (real >= need)


@pytest.mark.slow
@pytest.mark.parametrize("sums", some([6, 8], 1))
def test_pairs_of_many_bits_are_what_integer_programs_over_all_records_say(sums: int) -> None:
    """36 values of 0 or 1, told of so much that the tableau's moves lead to few tables; SciPy's programs."""
    rng = np.random.default_rng(sums)
    truth, matrix = rng.integers(0, 2, 36), rng.integers(0, 2, (sums, 36))
    system = AnsweredSystem(36, 0, 1, 1)
    for row in matrix:
        system.add_sum(np.flatnonzero(row), int(row @ truth))
    outside = Outcome("", 1)
    determine(outside, matrix.astype(float), (matrix @ truth).astype(float))
    assert not outside.undecided
    said = found(system, 1)
    assert said.safe == (outside.determined == outside.pairs == 0) == (sums < 8)


@pytest.mark.parametrize("total", range(5))
def test_of_four_persons_with_values_of_0_or_1_two_together_leave_everybody_open(total: int) -> None:
    system = AnsweredSystem(4, 0, 1, 1)
    system.add_sum(range(4), total)
    possible = Possible.everything(4, 1).told(Question("sum", (1, 1, 1, 1)), total)
    assert found(system, 1).safe == (widest(possible) >= 1) == (total == 2)


def test_of_two_each_tells_the_other() -> None:
    system = AnsweredSystem(5, 0, 9, 1)
    system.add_sum([0, 1], 9)
    assert found(system, 1) == Judgement(False, 0)


def test_the_width_of_a_loss_is_that_of_the_shortest_run_shown() -> None:
    """Who has 4 of the three's 6 leaves the others 0 to 2, and 4 values are wanted."""
    system = AnsweredSystem(3, 0, 4, 1)
    system.add_sum(range(3), 6)
    assert found(system, 3) == Judgement(False, 2)
    assert found(system, 2) == Judgement(True, 2)


def test_a_single_record_has_nobody_else_and_is_not_judged() -> None:
    assert not found(AnsweredSystem(1, 0, 4, 1), 2).safe


def test_without_time_or_programs_nothing_is_said_to_be_kept_that_was_not_seen() -> None:
    system = AnsweredSystem(6, 0, 5, 1)
    system.add_sum(range(6), 15)
    assert found(system, 5).safe
    assert not found(system, 5, steps=0).safe


def test_large_systems_are_not_tried() -> None:
    system = AnsweredSystem(200, 0, 1_000, 1)
    for first in range(0, 200, 2):
        system.add_sum(range(first, 200), 500 * (200 - first))
    assert found(system, 10) == Judgement(False, -1)


def test_worlds_and_walks_leave_nothing_to_integer_programs_where_sums_are_few() -> None:
    """Searched insider by insider this took programs; now it takes 207,502 tries of moves."""
    rng = np.random.default_rng(6)
    truth, matrix = rng.integers(0, 2, 36), rng.integers(0, 2, (6, 36))
    system = AnsweredSystem(36, 0, 1, 1)
    for row in matrix:
        system.add_sum(np.flatnonzero(row), int(row @ truth))
    assert found(system, 1, Effort(0, 10**6)).safe


def test_walks_end_with_the_moves_of_a_decision_and_the_next_one_has_them_again() -> None:
    rng = np.random.default_rng(2)
    truth, matrix = rng.integers(0, 2, 36), rng.integers(0, 2, (7, 36))
    system = AnsweredSystem(36, 0, 1, 1)
    for row in matrix:
        system.add_sum(np.flatnonzero(row), int(row @ truth))
    effort = Effort(0, 1)
    assert not found(system, 1, effort).safe
    assert not effort.walk(1)
    effort.regain()
    assert found(system, 1, effort).safe
