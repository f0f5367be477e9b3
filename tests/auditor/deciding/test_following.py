"""Sums that follow from one of those asked with them are decided, and told, as it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.following import following
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem

SIZE, TOP, FEW = 400, 24, 17
RULES = Rules(True, 20, 0.05, 60.0)
STANDARD = Standard(13, insiders=1)
MEMBERS = st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True)


def case(system: AnsweredSystem, asked: list[list[int]], table: Ints) -> Case:
    queries = [system.query("sum", np.array(each)) for each in asked]
    return Case(system, queries, STANDARD, lambda those: [int(each.of(table)) for each in those], Effort())


def split(total: int) -> tuple[AnsweredSystem, Ints]:
    """A system that knows the sum of all, and a table of whom the first few have a given sum."""
    table = np.full(SIZE, 3, dtype=np.int64)
    table[:FEW] = total // FEW
    table[: total % FEW] += 1
    rest = FEW * 3 - total
    for place in range(abs(rest)):
        table[FEW + place % (SIZE - FEW)] += 1 if rest > 0 else -1
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    system.add_sum(range(SIZE), 3 * SIZE)
    return system, table


def told_of(total: int, asked: list[list[int]]) -> list[Told[int]]:
    system, table = split(total)
    outcome = decide([case(system, asked, table)], RULES)
    assert (outcome.verdict, outcome.surprise) == ("safe", False)
    return [each.told for each in outcome.parts[0].recorded]


@pytest.mark.parametrize("total", [0, 20, 51, 90, 200])
def test_of_two_that_make_up_all_the_second_is_told_as_far_as_the_first_is(total: int) -> None:
    first, others = list(range(FEW)), list(range(FEW, SIZE))
    (alone,) = told_of(total, [first])
    both = told_of(total, [first, others])
    assert both[0] == alone
    assert both[1].holds(3 * SIZE - total)
    assert both[1].exact == alone.exact
    # an end of the others is a range, as wide as some whole domains: it says no more than that of the first
    low = 0 if alone.least is None else alone.least
    high = FEW * TOP if alone.most is None else alone.most
    assert both[1].holds(3 * SIZE - low)
    assert both[1].holds(3 * SIZE - high)


def test_of_a_few_beside_very_many_an_end_is_told_of_both() -> None:
    """At least so much of 1,483 people would take more spare records than there are."""
    size = 1_500
    table = np.full(size, 3, dtype=np.int64)
    table[:FEW], table[FEW : 2 * FEW] = 0, 6
    system = AnsweredSystem(size, 0, TOP, 1)
    system.add_sum(range(size), 3 * size)
    outcome = decide([case(system, [list(range(FEW)), list(range(FEW, size))], table)], RULES)
    assert (outcome.verdict, outcome.surprise) == ("safe", False)
    few, others = (each.told for each in outcome.parts[0].recorded)
    assert few.least is None
    assert few.most is not None
    assert others.most == 3 * size
    assert others.least is not None
    assert 3 * size - few.most - TOP < others.least <= 3 * size - few.most


def test_what_is_told_of_both_is_the_same_whatever_the_answer_beyond_an_end() -> None:
    asked = [list(range(FEW)), list(range(FEW, SIZE))]
    low = [told_of(total, asked) for total in (3, 12, 22)]
    assert low[0] == low[1] == low[2]
    assert not low[0][0].exact


def test_two_persons_and_all_others_are_refused_as_the_two_are() -> None:
    system, table = split(51)
    both = case(system, [[0, 1], list(range(2, SIZE))], table)
    outcome = decide([both], RULES)
    assert (outcome.verdict, outcome.surprise) == ("risk", False)


@given(st.lists(MEMBERS, max_size=3), st.lists(MEMBERS, min_size=2, max_size=3), st.integers(0, 242))
def test_in_every_table_that_agrees_with_past_answers_the_others_are_what_is_said(
    past: list[list[int]], asked: list[list[int]], chosen: int
) -> None:
    tables = list(product(range(3), repeat=5))
    table = np.array(tables[chosen])
    system = AnsweredSystem(5, 0, 2, 1)
    for members in past:
        system.add_sum(members, int(table[members].sum()))
    found = following(case(system, asked, table))
    agreeing = [
        np.array(each)
        for each in tables
        if all(np.array(each)[members].sum() == table[members].sum() for members in past)
    ]
    answers = {tuple(int(each[members].sum()) for members in asked) for each in agreeing}
    if found is None:
        return
    for values in answers:
        assert found.values((values[found.place],)) == values
