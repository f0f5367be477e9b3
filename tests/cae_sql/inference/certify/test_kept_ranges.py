"""Who is held so that tables keep ranges, after exact answers that leave little room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import kept_ranges
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.ranges import Bound, Share, held_in, kept_of
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.system import AnsweredSystem

PEOPLE, TOP, NEED = 400, 24, 8
STANDARD = Standard(NEED, insiders=1)


def answered(seed: int) -> tuple[AnsweredSystem, NDArray[np.int64], list[NDArray[np.intp]]]:
    """A system of skewed values after sums by three groupings, its table, and who is in which sum."""
    chance = np.random.default_rng(seed)
    values = np.minimum(chance.exponential(4, PEOPLE).astype(np.int64), TOP)
    system, told = AnsweredSystem(PEOPLE, 0, TOP, 1), list[NDArray[np.intp]]()
    for groups in (12, 10, 2):
        labels = chance.integers(0, groups, PEOPLE)
        for group in range(groups - 1):
            members = np.flatnonzero(labels == group)
            query, value = Query(kind="sum", members=members), int(values[members].sum())
            question = system.question([query])
            judgement = question.judge_around_table((value,), STANDARD, Allowance(10**10))
            if judgement is not None and judgement.safe:
                system.accept([query.answered(value)], question.learn((value,), Allowance(10**10)))
                told.append(members)
    return system, values, told


def middle(system: AnsweredSystem, least: int, most: int) -> kept_ranges.Holding | None:
    """Who may be held with the middle value of everybody between two ends."""
    query = Query(kind="quantile", members=np.arange(PEOPLE), ranks=(PEOPLE // 2, PEOPLE // 2))
    return system.holding(kept_of(query, (least, most), TOP, 1), 2, STANDARD, Allowance(10**10))


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 9), min_size=4, max_size=30),
    st.integers(0, 2),
)
def test_who_is_held_keeps_shares_whatever_two_others_have(seed: int, table: list[int], spare: int) -> None:
    """Everybody anywhere in his interval, but for `spare` anywhere at all."""
    chance, values = np.random.default_rng(seed), np.array(table)
    size = len(values)
    shares = list[Share]()
    for _ in range(2):
        members = np.sort(chance.choice(size, int(chance.integers(1, size + 1)), replace=False))
        low = int(chance.integers(0, 10))
        region = ((low, int(chance.integers(low, 10))),)
        inside = int(Share(members, region, 0).inside(values).sum())
        shares.append(Share(members, region, max(inside - spare - int(chance.integers(0, 2)), 0)))
    box = np.zeros(size, dtype=np.int64), np.full(size, 9)
    held = held_in(shares, values, box, spare)
    if held is None:
        return
    least, most = box[0].copy(), box[1].copy()
    for query in held:
        least[query.members], most[query.members] = query.region[0]
    for _ in range(10):
        other = chance.integers(least, most + 1)
        free = chance.choice(size, min(spare, size), replace=False)
        other[free] = chance.integers(0, 10, len(free))
        assert all(int(share.inside(other).sum()) >= share.least for share in shares)


@pytest.mark.slow
def test_integer_programs_find_the_values_that_a_range_is_said_to_leave() -> None:
    """Of one record, to an insider in the same smallest sum as well: by HiGHS, which knows nothing of it."""
    system, values, told = answered(5)
    found = middle(system, 3, 4)
    assert found is not None
    assert found.judgement is not None
    assert found.judgement.safe
    smallest = min(told, key=lambda each: values[each].sum())
    record, insider = int(smallest[0]), int(smallest[1])
    for fixed in ({}, {insider: 0}, {insider: TOP // 2}):
        ends = [bound(values, told, record, fixed, sign) for sign in (1, -1)]
        if None in ends:
            continue  # the insider cannot have it
        assert ends[1] - ends[0] >= NEED  # type: ignore[operator]


def bound(
    values: NDArray[np.int64], told: Sequence[NDArray[np.intp]], record: int, fixed: dict[int, int], sign: int
) -> int | None:
    """The least (sign 1) or greatest value of a record; the middle value of all is 3 or 4.

    Columns: everybody's value, whether it is 3 or more, whether it is 4 or less.
    """
    size = len(values)
    one, none = np.eye(size), np.zeros((size, size))
    sums = np.zeros((len(told), 3 * size))
    for number, members in enumerate(told):
        sums[number, members] = 1
    right = np.array([values[members].sum() for members in told])
    ones = np.ones(size)
    rules = [
        optimize.LinearConstraint(sums, right, right),
        optimize.LinearConstraint(np.hstack([one, -3 * one, none]), 0, np.inf),
        optimize.LinearConstraint(np.hstack([one, none, (TOP - 4) * one]), -np.inf, TOP),
        optimize.LinearConstraint(np.concatenate([0 * ones, ones, 0 * ones])[None], size - size // 2, np.inf),
        optimize.LinearConstraint(np.concatenate([0 * ones, 0 * ones, ones])[None], size // 2 + 1, np.inf),
    ]
    low, high = np.zeros(3 * size), np.concatenate([TOP * ones, ones, ones])
    for each, value in fixed.items():
        low[each] = high[each] = value
    goal = np.zeros(3 * size)
    goal[record] = sign
    answer = optimize.milp(
        goal, integrality=np.ones(3 * size), bounds=optimize.Bounds(low, high), constraints=rules,
        options={"time_limit": 20.0, "mip_rel_gap": 0.1},
    )  # fmt: skip
    return None if answer.x is None else round(float(answer.x[record]))


def test_later_questions_are_looked_at_with_those_held_who_were_when_the_range_was_told() -> None:
    """And a sum of half of the people may still be answered."""
    system, values, _ = answered(0)
    found = middle(system, 3, 4)
    assert found is not None
    assert found.judgement is not None
    assert found.judgement.safe
    query = Query(kind="quantile", members=np.arange(PEOPLE), ranks=(PEOPLE // 2, PEOPLE // 2))
    system.accept_range(kept_of(query, (3, 4), TOP, 1), query, 2, found, STANDARD)
    members = np.arange(0, PEOPLE, 2)
    question = system.question([Query(kind="sum", members=members)])
    assert question.conditions.held == found.held
    assert isinstance(question, Question)
    judgement = question.judge_around_table((int(values[members].sum()),), STANDARD, Allowance(10**10))
    assert isinstance(judgement, Judgement)
    assert judgement.safe


def test_hypothetical_tables_are_inside_of_a_range_that_is_kept_by_a_margin() -> None:
    """Also those that are shuffled from others, where a world cannot be led there."""
    system, values, _ = answered(1)
    query = Query(kind="spread", members=np.arange(PEOPLE))
    true = int(query.of(values))
    bound = Bound(query, true - 2_000, true + 2_000, 4_001)
    system.accept_range([bound], Query(kind="about", members=query.members), 2, None, STANDARD)
    tables = system.tables
    assert len(tables)
    assert (abs(query.of(tables) - true) <= 2_000).all()


def test_where_no_roomy_table_is_known_no_table_is_led_to_where_a_sum_is_another() -> None:
    system, signs = AnsweredSystem(8, 0, 4, 1), np.array([2, 1, 1, 1])
    system.accept([Query(kind="sum", members=np.arange(4), coefficients=signs).answered(10)])
    assert not system.roomy_table.usable
    query = Query(kind="count", members=np.arange(8), region=((3, 4),))
    system.accept_range(kept_of(query, (4, None), 4, 1), query, 1, None, STANDARD)
    assert (system.tables[:, :4] @ signs == 10).all()
