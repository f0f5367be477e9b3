"""An end or a range of an answer is an exact answer about spare records besides: told by all tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers, InvalidInput
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.spares import MOST, own
from cae_sql.inference.posterior.marginals import marginals
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem
from tests.cae_sql.inference.oracles import longest_run

SIZE, TOP = 5, 3
TABLES = np.array(list(itertools.product(range(TOP + 1), repeat=SIZE)))


def new_system() -> AnsweredSystem:
    """Five records of four values."""
    return AnsweredSystem(SIZE, 0, TOP, 1, pool=16)


def keeps(tables: np.ndarray, need: int, insiders: int) -> bool:
    """Whether everybody takes a run of that width, whatever the value of any one other."""
    seen = [tables]
    if insiders:
        seen = [tables[tables[:, j] == v] for j in range(SIZE) for v in np.unique(tables[:, j])]
    return all(
        longest_run(np.unique(some[:, record])) > need
        for place, some in enumerate(seen)
        for record in range(SIZE)
        if not insiders or record != owner(tables, place)
    )


def owner(tables: np.ndarray, place: int) -> int:
    """Whose value is known in the so-manieth of the cases of `keeps`."""
    return int(np.repeat(np.arange(SIZE), [len(np.unique(tables[:, j])) for j in range(SIZE)])[place])


def told(
    system: AnsweredSystem, query: Query, side: str, end: int
) -> tuple[Query, int, Callable[[int], bool]]:
    """An end as an exact answer, and which answers it leaves."""
    if side == "within":
        found = system.within(query, end - 2, end)
        assert found is not None
        return found[0], end, lambda value: found[1] <= value <= end
    extended = system.at_most(query, end) if side == "most" else system.at_least(query, end)
    assert extended is not None
    return extended, end, (lambda value: value <= end) if side == "most" else (lambda value: value >= end)


def leaving(system: AnsweredSystem, query: Query, side: str, end: int) -> Callable[[int], bool]:
    """Which answers something told leaves."""
    if side == "exact":
        return lambda value: value == end
    return told(system, query, side, end)[2]


@st.composite
def ends(draw: st.DrawFn) -> list[tuple[str, list[int], list[int], str, int]]:
    """Kinds, members, signs, sides and a table that the ends are true of."""
    values = np.array(draw(st.lists(st.integers(0, TOP), min_size=SIZE, max_size=SIZE)))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        members = sorted(draw(st.sets(st.integers(0, SIZE - 1), min_size=2, max_size=SIZE)))
        kind = draw(st.sampled_from(["sum", "sum", "max", "min"]))
        signs = [1] * len(members)
        if kind == "sum":
            signs = draw(st.lists(st.sampled_from([1, 1, -1]), min_size=len(members), max_size=len(members)))
            value = int(np.array(signs) @ values[members])
            side = draw(st.sampled_from(["most", "least", "within", "exact"]))
        else:
            value = int(values[members].max() if kind == "max" else values[members].min())
            side = draw(st.sampled_from(["most" if kind == "max" else "least", "exact"]))
        slack = draw(st.integers(0, 2))
        end = value if side == "exact" else value - slack if side == "least" else value + slack
        if kind != "sum":
            end = min(max(end, 0), TOP)
        found.append((kind, members, signs, side, end))
    return found


def with_ends(asked: list[tuple[str, list[int], list[int], str, int]]) -> tuple[AnsweredSystem, np.ndarray]:
    """A system that was told ends, and all tables that agree."""
    system, agreeing = new_system(), TABLES
    for kind, members, signs, side, end in asked:
        query = system.query(kind, np.array(members), np.array(signs) if kind == "sum" else None)
        extended, leaves = query, lambda value, end=end: value == end
        if side != "exact":
            extended, _, leaves = told(system, query, side, end)
        system.accept([extended.answered(end)])
        answers = query.of(agreeing)
        agreeing = agreeing[[leaves(int(value)) for value in answers]]
    return system, agreeing


@settings(deadline=None)
@given(ends())
def test_worlds_are_tables_that_agree_with_the_ends_told(asked):
    system, agreeing = with_ends(asked)
    worlds = system.worlds(60)
    assert worlds.shape == (60, SIZE)
    assert {tuple(each) for each in worlds.tolist()} <= {tuple(each) for each in agreeing.tolist()}


@settings(deadline=None)
@given(ends())
def test_no_interval_leaves_a_table_out_that_agrees(asked):
    system, agreeing = with_ends(asked)
    bounds, runs = system.bounds(), system.certified()
    assert (bounds.lower <= agreeing.min(axis=0)).all()
    assert (bounds.upper >= agreeing.max(axis=0)).all()
    for record in range(SIZE):
        taken = set(agreeing[:, record].tolist())
        assert set(range(int(runs.lower[record]), int(runs.upper[record]) + 1)) <= taken


@settings(deadline=None)
@given(ends(), st.integers(1, 2), st.integers(0, 1))
def test_whoever_is_shown_to_keep_a_run_does_so_in_the_tables_that_agree(asked, need, insiders):
    *past, (kind, members, signs, side, end) = asked
    system, agreeing = with_ends(past)
    query = system.query(kind, np.array(members), np.array(signs) if kind == "sum" else None)
    extended = query if side == "exact" else told(system, query, side, end)[0]
    question, standard = system.question([extended]), Standard(need, insiders=insiders)
    if question.derivable:
        return
    answers = {(end,): [], **question.hypothetical(6)}
    for (value,), worlds in answers.items():
        judgement = question.judge_true([value], standard, Allowance(10**8))
        if worlds and (judgement is None or not judgement.safe):
            judgement = question.judge([value], worlds, standard, Allowance(10**8), Effort())
        if judgement is None or not judgement.safe:
            continue
        leaves = leaving(system, query, side, value)
        assert keeps(agreeing[[leaves(int(each)) for each in query.of(agreeing)]], need, insiders)


@settings(deadline=None)
@given(ends())
def test_each_table_that_agrees_counts_once_in_how_many_ways_spare_records_may_make_up_for_it(asked):
    system, agreeing = with_ends(asked)
    found = marginals(system)
    assert not found.estimated.any()
    for record in range(SIZE):
        shares = np.bincount(agreeing[:, record], minlength=TOP + 1) / len(agreeing)
        assert found.of(record) == pytest.approx(shares, abs=1e-12)


@settings(deadline=None)
@given(st.data())
def test_a_range_leaves_just_the_tables_whose_sum_lies_in_it(data):
    system = new_system()
    members = sorted(data.draw(st.sets(st.integers(0, SIZE - 1), min_size=1)))
    signs = data.draw(st.lists(st.sampled_from([1, -1]), min_size=len(members), max_size=len(members)))
    low = data.draw(st.integers(-TOP * SIZE, TOP * SIZE))
    high = data.draw(st.integers(low, TOP * SIZE))
    sums = TABLES[:, members] @ np.array(signs)
    agreeing = TABLES[(low <= sums) & (sums <= high)]
    if not len(agreeing):
        with pytest.raises(InconsistentAnswers):
            system.add_range(members, low, high, signs)
        assert not system.answers
        return
    system.add_range(members, low, high, signs)
    bounds = system.bounds()
    assert bounds.lower.tolist() == agreeing.min(axis=0).tolist()
    assert bounds.upper.tolist() == agreeing.max(axis=0).tolist()
    worlds = system.worlds(40)
    assert {tuple(each) for each in worlds.tolist()} <= {tuple(each) for each in agreeing.tolist()}


def test_a_range_is_in_units_of_the_column_and_rounded_inwards_to_the_grid():
    system = AnsweredSystem(3, 10, 250, 10)
    system.add_range([0, 1, 2], 41, 59.5)
    assert system.bounds().upper.tolist() == [30, 30, 30]
    with pytest.raises(InvalidInput, match="1 or -1"):
        system.add_range([0, 1], 30, 40, [1, 2])
    with pytest.raises(InvalidInput, match="resolution"):
        AnsweredSystem(3, 0, 1).add_range([0, 1], 0, 1)


def test_spare_records_get_numbers_in_the_order_of_the_answers_that_use_them():
    system = new_system()
    query = system.query("sum", np.arange(3))
    first = system.at_most(query, 7)
    assert first.members.tolist() == [0, 1, 2, 5, 6, 7]
    second = system.at_most(system.query("max", np.arange(2)), 2, after=[first])
    assert second.members.tolist() == [0, 1, 8, 9, 10, 11]
    system.accept([first.answered(7)])
    assert system.at_least(query, 8).members.tolist() == [0, 1, 2, 8]
    assert own(first, system.size).name == query.name


def test_a_question_about_spare_records_that_is_not_answered_leaves_nothing_behind():
    system = new_system()
    system.add_sum([0, 1, 2], 5)
    before = system.pool().values.copy()
    extended = system.at_most(system.query("sum", np.arange(4)), 6)
    question = system.question([extended])
    question.judge_true([6], Standard(1), Allowance(10**8))
    question.learn([6], Allowance(10**8))
    assert (system.pool().values == before).all()
    assert system.roomy_table.boxes.atoms.labels.shape == (SIZE,)


def test_there_is_no_end_that_so_few_spare_records_cannot_make_up_for():
    system = AnsweredSystem(4 * MOST, 0, 1, 1)
    query = system.query("sum", np.arange(3 * MOST))
    assert system.at_most(query, MOST) is not None
    assert system.at_most(query, MOST + 1) is None
    assert system.at_least(query, 2 * MOST) is not None
    assert system.at_least(query, 2 * MOST - 1) is None
    assert system.at_most(system.query("min", np.arange(3)), 1) is None
    assert system.at_least(system.query("max", np.arange(3)), 1) is None


@pytest.mark.parametrize("size", [300, 6_000])
def test_a_large_system_keeps_ends_as_a_small_one_does(size):
    system = AnsweredSystem(size, 0, 20, 1)
    query = system.query("sum", np.arange(40))
    extended = system.at_most(query, 200)
    question = system.question([extended])
    system.accept([extended.answered(200)], question.learn([200], Allowance(10**9)))
    assert (system.worlds(10)[:, :40].sum(axis=1) <= 200).all()
    whole = system.query("sum", np.arange(size))
    again = system.question([whole])
    value = int(whole.of(system.pool().values[:1])[0])
    judgement = again.judge_around_table([value], Standard(5, insiders=1), Allowance(10**9))
    assert judgement.safe
    # the members' own sum is not settled by an end
    assert not system.question([query]).derivable
