"""Between which answers past ones leave a sum."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import UNLIMITED
from cae_sql.inference.certify import reach as module
from cae_sql.inference.certify.reach import least, reach


@given(st.integers(0, 10_000))
@example(292)  # of which no roomy table is found
def test_every_table_that_agrees_gives_an_answer_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, top = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    truth = rng.integers(0, top + 1, size)
    system = AnsweredSystem(size, 0, top, 1)
    tables = np.array(list(product(range(top + 1), repeat=size)))
    for _ in range(int(rng.integers(0, 4))):
        members = np.flatnonzero(rng.random(size) < 0.6)
        if len(members):
            system.add_sum(members, int(truth[members].sum()))
            tables = tables[tables[:, members].sum(axis=1) == truth[members].sum()]
    asked = np.flatnonzero(rng.random(size) < 0.6)
    if not len(asked):
        return
    query = system.query("sum", asked)
    question_tables = system.question([query]).question_tables
    found = reach(question_tables, query, UNLIMITED)
    assert (found is None) == (not question_tables.usable)
    if found is None:
        return
    answers = tables[:, asked].sum(axis=1)
    assert found[0] <= answers.min()
    assert answers.max() <= found[1]


def test_it_is_as_narrow_as_the_sums_make_it() -> None:
    system = AnsweredSystem(6, 0, 10, 1)
    system.add_sum([0, 1, 2, 3], 12)
    system.add_sum([0, 1], 5)
    query = system.query("sum", np.array([1, 2, 3, 4]))
    assert reach(system.question([query]).question_tables, query, UNLIMITED) == (7, 22)


@given(st.integers(0, 10_000))
def test_multipliers_that_are_wrong_prove_less_and_nothing_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    marks = rng.integers(-1, 2, (2, 5))
    low, high = np.zeros(5, dtype=np.int64), np.full(5, 3)
    point = rng.integers(0, 4, 5)
    row = rng.integers(-2, 3, 5)
    found = least(row, marks, marks @ point, low, high, rng.normal(0, 3, 2))
    assert found is not None
    assert found <= int(row @ point)
    assert least(row, marks, marks @ point, low, high, np.array([np.nan, 0.0])) is None
    assert least(row, marks, marks @ point, low, high, np.array([2.0 * module.MOST, 0.0])) is None
