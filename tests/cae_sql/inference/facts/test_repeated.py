"""What is told at a glance follows from the answers, and what repeats them is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cae_sql.inference.facts import repeated as glance
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.repeated import repeated

SIZE = 12


def query(kind: str, members: list[int], coefficients: list[int] | None = None) -> Query:
    signs = None if coefficients is None else np.array(coefficients, dtype=np.int64)
    return Query(kind=kind, members=np.array(members, dtype=np.int64), coefficients=signs)  # type: ignore[arg-type]


def answered(asked: Query, table: np.ndarray) -> Answer:
    return asked.answered(int(asked.of(table)))


@st.composite
def queries(draw: st.DrawFn) -> Query:
    members = sorted(draw(st.sets(st.integers(0, SIZE - 1), min_size=1)))
    kind = draw(st.sampled_from(["sum", "sum", "max", "min"]))
    signs = None
    if kind == "sum" and draw(st.booleans()):
        signs = draw(st.lists(st.sampled_from([1, -1]), min_size=len(members), max_size=len(members)))
    return query(kind, members, signs)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(queries(), min_size=1, max_size=8),
    st.lists(queries(), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_a_value_that_is_given_is_true_of_the_table_that_was_answered_from(
    past: list[Query], asked: list[Query], seed: int
) -> None:
    table = np.random.default_rng(seed).integers(0, 20, SIZE)
    found = repeated([answered(each, table) for each in past], [*asked, *past], SIZE)
    truth = [int(each.of(table)) for each in [*asked, *past]]
    assert all(value in (None, true) for value, true in zip(found, truth, strict=True))
    assert found[len(asked) :] == truth[len(asked) :]


@settings(max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE), st.integers(0, 99))
def test_nothing_is_given_that_another_table_with_the_same_answers_contradicts(
    groups: list[int], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    table = draw.integers(5, 20, SIZE)
    sets = [np.flatnonzero(np.array(groups) == group).tolist() for group in sorted(set(groups))]
    past = [answered(query("sum", members), table) for members in sets]
    other = table.copy()
    for members in sets:
        if len(members) > 1:
            other[members[0]] += 1
            other[members[1]] -= 1
    single = [query("sum", [record]) for record in range(SIZE)]
    for value, ours, theirs in zip(repeated(past, single, SIZE), table, other, strict=True):
        assert value is None or value == ours == theirs


def test_the_last_group_of_a_total_is_told() -> None:
    table = np.arange(SIZE)
    past = [answered(query("sum", list(range(SIZE))), table), answered(query("sum", [0, 1, 2]), table)]
    assert repeated(past, [query("sum", list(range(3, SIZE)))], SIZE) == [66 - 3]


def test_too_many_atoms_are_left_to_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "MOST_ENTRIES", 3)
    table = np.arange(SIZE)
    past = [answered(query("sum", list(range(SIZE))), table), answered(query("sum", [0, 1, 2]), table)]
    assert repeated(past, [query("sum", list(range(3, SIZE))), past[1]], SIZE) == [None, 3]
