"""Questions that single somebody out are seen without a table, and are what the judgements say they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cae_sql.inference.certify.singled_out import singled_out
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem

SIZE, TOP = 9, 12


def total(*members: int, signs: tuple[int, ...] | None = None) -> Query:
    coefficients = None if signs is None else np.array(signs, dtype=np.int64)
    return Query(kind="sum", members=np.array(members, dtype=np.int64), coefficients=coefficients)


EVERYBODY = total(*range(SIZE))


@pytest.mark.parametrize(
    ("answers", "queries", "insiders", "said"),
    [
        ([], [total(3)], 0, True),
        ([], [total(3, 4)], 0, False),
        ([], [total(3, 4)], 1, True),
        ([], [total(3, 4, 5)], 1, False),
        ([EVERYBODY], [total(*range(1, SIZE))], 0, True),
        ([EVERYBODY], [total(*range(2, SIZE))], 0, False),
        ([EVERYBODY], [total(*range(2, SIZE))], 1, True),
        ([EVERYBODY], [EVERYBODY], 1, False),
        ([total(1)], [total(1)], 1, False),
        ([total(0, 1, 2, 3), total(3, 4, 5)], [total(0, 1, 2)], 0, True),
        ([total(0, 1, 2, 3), total(0, 1, 2)], [total(3)], 1, False),
        ([], [total(0, 1, 2, 3), total(0, 1, 2)], 0, True),
        ([], [total(0, 1, signs=(1, -1))], 1, True),
        ([total(0, 1, 2)], [total(0, 1, 3, signs=(-1, -1, 1))], 1, True),
        ([total(0, 1, 2), total(3, 4, 5), total(*range(6)), total(6, 7, 8)], [total(0, 1)], 0, True),
    ],
)
def test_who_is_singled_out(answers: list[Query], queries: list[Query], insiders: int, said: bool) -> None:
    assert singled_out(answers, queries, SIZE, insiders) is said


UNITS = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("answers", "queries", "insiders", "said"),
    [
        ([], [total(0, 1, 2)], 0, True),
        ([], [total(0, 2)], 0, True),
        ([], [total(0, 2, signs=(1, -1))], 0, False),
        ([], [total(0, 1, 2, 3)], 0, False),
        ([], [total(0, 1, 2, 3, 4)], 1, True),
        ([], [total(0, 1, 2, 3, 4, 5)], 1, False),
        ([EVERYBODY], [total(*range(3, SIZE))], 0, True),
        ([EVERYBODY], [total(*range(5, SIZE))], 0, False),
        ([EVERYBODY], [total(*range(5, SIZE))], 1, True),
    ],
)
def test_a_sum_over_some_of_a_units_records_singles_it_out(
    answers: list[Query], queries: list[Query], insiders: int, said: bool
) -> None:
    assert singled_out(answers, queries, SIZE, insiders, units=UNITS) is said


def test_nothing_is_said_of_extremes() -> None:
    largest = Query(kind="max", members=np.array([3]))
    assert not singled_out([], [largest], SIZE, 1)
    assert not singled_out([], [total(4), largest], SIZE, 1)
    assert not singled_out([largest], [total(4)], SIZE, 1)


def test_sums_that_are_a_combination_of_others_do_not_hide_what_is_new() -> None:
    parts = [total(*range(start, start + 3)) for start in (0, 3, 6)]
    assert singled_out([*parts, EVERYBODY], [total(0)], SIZE, 0)
    assert not singled_out([*parts, EVERYBODY], [total(*range(6))], SIZE, 0)


def queries() -> st.SearchStrategy[Query]:
    members = st.sets(st.integers(0, SIZE - 1), min_size=1)

    def of(chosen: set[int], signs: list[int]) -> Query:
        ordered = sorted(chosen)
        given_signs = tuple(signs[: len(ordered)])
        return total(*ordered, signs=None if set(given_signs) == {1} else given_signs)

    signs = st.one_of(st.just([1] * SIZE), st.lists(st.sampled_from([1, -1]), min_size=SIZE, max_size=SIZE))
    return st.builds(of, members, signs)


def somebody_is_told(sums: list[Query], insiders: int) -> bool:
    """Whether sums add up to one record's value, or to two records' where one of them knows his own."""
    rows = np.zeros((len(sums), SIZE))
    for row, each in zip(rows, sums, strict=True):
        row[each.members] = 1 if each.coefficients is None else each.coefficients
    one = np.eye(SIZE)
    wanted = list(one)
    if insiders:
        wanted += [one[i] + sign * one[j] for i in range(SIZE) for j in range(i) for sign in (1, -1)]
    rank = np.linalg.matrix_rank(rows) if sums else 0
    return any(np.linalg.matrix_rank(np.vstack([rows, each])) == rank for each in wanted)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    st.lists(queries(), max_size=4),
    st.lists(queries(), min_size=1, max_size=2),
    st.integers(0, 1),
    st.integers(0, 2**20),
)
def test_each_hypothetical_answer_would_be_lost_by_bounds_with_width_0(
    past: list[Query], asked: list[Query], insiders: int, seed: int
) -> None:
    if not singled_out(past, asked, SIZE, insiders):
        return
    assert somebody_is_told([*past, *asked], insiders)
    if somebody_is_told(past, insiders):
        return  # to whom bounds say nothing new, though the question tells another
    table = np.random.default_rng(seed).integers(0, TOP + 1, SIZE)
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    for query in past:
        system.add_sum(
            query.members,
            Fraction(int(query.of(table))),
            None if query.coefficients is None else query.coefficients.tolist(),
        )
    question = system.question(asked)
    assert not question.derivable
    if not question.question_tables.usable:
        return  # of sums without pivots of 1 bounds see less
    standard = Standard(4, insiders=insiders)
    for values, worlds in question.hypothetical(8).items():
        judgement = question.certainly_lost(values, worlds, standard)
        assert judgement is not None
        assert (judgement.safe, judgement.width, judgement.certain) == (False, 0, True)


@pytest.mark.parametrize("size", [1, 2, 5, 60])
@pytest.mark.parametrize("insiders", [0, 1])
def test_before_any_answer_everybody_has_the_whole_domain(size: int, insiders: int) -> None:
    from cae_sql.inference.allowance import REPORT, Allowance
    from cae_sql.inference.certify.question import Question

    for need in (1, 7, TOP):
        system, standard = AnsweredSystem(size, 0, TOP, 1), Standard(need, insiders=insiders)
        table = Question(system.roomy_table, system.pool(), [])
        assert system.judged(standard, Allowance(REPORT)) == table.judge_around_table(
            (), standard, Allowance(REPORT), keep=False
        )
