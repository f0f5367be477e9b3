"""Ends of people in no other answer: whom the exact answer at the end shows the end shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.leaning import leaning
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.holding import bounds_of, hold
from tests.quick import some

GROUPS = [(0, 9), (9, 20), (20, 32)]
"""First record, and the one after the last; some in no answer follow."""
SIZE = 40


def ended(kinds: list[str], values: list[int], top: int) -> AnsweredSystem:
    """A system in which of each group a sum, or an end of one, is known."""
    system = AnsweredSystem(SIZE, 0, top, 1)
    for (first, last), kind, value in zip(GROUPS, kinds, values, strict=True):
        plain = system.query("sum", np.arange(first, last))
        ends = {"low": system.at_most, "high": system.at_least}
        query = plain if kind == "value" else ends[kind](plain, value)
        assert query is not None
        system.accept([query.answered(value)])
    return system


@given(
    st.lists(st.sampled_from(["value", "low", "high"]), min_size=3, max_size=3),
    st.sampled_from([1, 4]),
    st.integers(1, 4),
    st.booleans(),
    st.data(),
)
def test_tables_agree_with_all_answers_as_before_and_have_as_much_room(
    kinds: list[str], top: int, need: int, insiders: bool, data: st.DataObject
) -> None:
    values = [data.draw(st.integers(1, (last - first) * top - 1)) for first, last in GROUPS]
    system = ended(kinds, values, top)
    tables = system.question([system.query("sum", np.arange(33, SIZE))]).question_tables
    boxes, pins = tables.boxes, hold(tables.boxes, tables.totals, 2, np.zeros(0, dtype=np.int64))
    assert pins is not None
    before = Tables(tables.totals, tables.totals)
    after = leaning(tables, boxes, pins, before, need, int(insiders))
    bounds = bounds_of(boxes, pins)
    marks = tables.marks_of(np.arange(boxes.count)).astype(np.int64)
    assert (marks.T @ after.least == marks.T @ before.least).all()
    assert (after.least == after.most).all()
    assert (bounds.least <= after.least).all()
    assert (after.least <= bounds.most).all()
    real = boxes.protected

    def enough(totals: np.ndarray) -> np.ndarray:
        whole = need + top * insiders
        return (np.minimum(totals - bounds.least, bounds.most - totals) >= whole)[real]

    assert (enough(after.least) >= enough(before.least)).all()


@pytest.mark.parametrize(("top", "insiders"), some([(1, 1), (1, 0), (4, 1)], 2))
def test_whoever_the_exact_answer_shows_is_shown_by_the_end_too(top: int, insiders: int) -> None:
    """At the ends of which the closed form says so, of sixty groups together: of such, of twenty with yes or
    no, some were left open by tables that had one more than "at least eighteen"."""
    standard, size, groups = Standard(top, insiders=insiders), 20, 60
    room = top * (1 + insiders)
    system, queries, values = AnsweredSystem(size * groups, 0, top, 1), list[Query](), list[int]()
    for group in range(groups):
        plain = system.query("sum", np.arange(group * size, (group + 1) * size))
        end, value = (
            (system.at_most, room) if group % 4 == 0 else (system.at_least, size * top - room - group % 2)
        )
        query = end(plain, value, queries)
        assert query is not None
        queries.append(query)
        values.append(value)
    judged = system.question(queries).judge_around_table(tuple(values), standard, Allowance())
    assert judged is not None
    assert judged.safe
