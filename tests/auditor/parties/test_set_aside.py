"""A closed set falls apart: tables that agree with everything told are products of tables of both sides."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditor.parties.set_aside import Row, Separation
from auditor.told import Told, exactly
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.system import AnsweredSystem

PERSONS, TOP = 5, 2
TABLES = np.array(list(product(range(TOP + 1), repeat=PERSONS)))


def row(kind: Kind, members: list[int], told: Told[int]) -> Row:
    return Row(Query(kind=kind, members=np.array(members)), told)


def separation(*rows: Row, units: list[int] | None = None) -> Separation:
    return Separation(rows, AnsweredSystem(PERSONS, 0, TOP, 1, units=units))


def flags(*records: int) -> NDArray[np.bool_]:
    found = np.zeros(PERSONS, dtype=np.bool_)
    found[list(records)] = True
    return found


def agree(rows: list[Row]) -> NDArray[np.bool_]:
    """Which tables agree with what was told."""
    found = np.ones(len(TABLES), dtype=np.bool_)
    for each in rows:
        values, told = each.query.of(TABLES), each.told
        found &= (values >= (-100 if told.least is None else told.least)) & (
            values <= (100 if told.most is None else told.most)
        )
    return found


@st.composite
def tellings(draw: Callable[..., object]) -> list[Row]:
    """What is told of a table: sums with signs, extremes, and ends of both."""
    table = np.array(draw(st.lists(st.integers(0, TOP), min_size=PERSONS, max_size=PERSONS)))
    found = []
    for _ in range(draw(st.integers(1, 5))):  # type: ignore[call-overload]
        members = np.array(sorted(draw(st.sets(st.integers(0, PERSONS - 1), min_size=1))))  # type: ignore[call-overload]
        kind = draw(st.sampled_from(["sum", "sum", "sum", "max", "min"]))
        signs = None
        if kind == "sum" and draw(st.booleans()):
            signs = np.array(
                draw(st.lists(st.sampled_from([1, -1]), min_size=len(members), max_size=len(members)))
            )
        query = Query(kind=kind, members=members, coefficients=signs)  # type: ignore[arg-type]
        value, how = int(query.of(table)), draw(st.sampled_from(["", "", "most", "least"]))
        told = exactly(value)
        if how == "most" and kind != "min":
            told = Told(None, value)
        elif how == "least" and kind != "max":
            told = Told(value, None)
        found.append(Row(query, told))
    return found


@settings(max_examples=300, deadline=None)
@given(tellings(), st.sets(st.integers(0, PERSONS - 1), min_size=1))
def test_tables_that_agree_are_products_of_both_sides(rows: list[Row], some: set[int]) -> None:
    found = separation(*rows)
    closed = found.closed(flags(*some))
    assert closed[list(some)].all()
    halves = [found.halves(each, closed) for each in rows]
    assert None not in halves
    whole = agree(rows)
    inside = agree([half[0] for half in halves if half and half[0]])
    others = agree([half[1] for half in halves if half and half[1]])
    assert (whole == (inside & others)).all()
    for half in filter(None, halves):
        assert half[0] is None or closed[half[0].query.members].all()
        assert half[1] is None or not closed[half[1].query.members].any()


def test_two_whose_sum_is_told_stand_alone_beside_a_total_of_all() -> None:
    found = separation(row("sum", [0, 1, 2, 3, 4], exactly(5)), row("sum", [0, 1], exactly(4)))
    assert found.closed(flags(0)).tolist() == flags(0, 1).tolist()


def test_two_of_different_totals_take_both_totals_with_them() -> None:
    totals = row("sum", [0, 1], exactly(2)), row("sum", [2, 3], exactly(2))
    found = separation(*totals, row("sum", [1, 2], exactly(3)))
    assert found.closed(flags(1)).tolist() == flags(0, 1, 2, 3).tolist()


def test_a_maximum_that_somebody_inside_may_attain_takes_all_whom_it_is_about() -> None:
    found = separation(row("max", [0, 1, 2], exactly(2)), row("sum", [0, 3], exactly(2)))
    assert found.closed(flags(3)).tolist() == flags(0, 1, 2, 3).tolist()


@pytest.mark.parametrize(("value", "others"), [(0, exactly(2)), (2, Told(None, 2))])
def test_a_maximum_is_told_apart_where_it_is_known_who_attains_it(value: int, others: Told[int]) -> None:
    highest = row("max", [0, 1, 2], exactly(2))
    found = separation(highest, row("sum", [0], exactly(value)))
    assert found.closed(flags(0)).tolist() == flags(0).tolist()
    halves = found.halves(highest, flags(0))
    assert halves is not None
    assert halves[1] is not None
    assert halves[1].query.members.tolist() == [1, 2]
    assert halves[1].told == others


def test_all_rows_of_a_person_are_taken_along_where_that_is_wanted() -> None:
    found = separation(row("sum", [0, 1], exactly(4)), units=[0, 1, 1, 2, 3])
    assert found.closed(flags(0)).tolist() == flags(0, 1).tolist()
    assert found.closed(flags(0), units=True).tolist() == flags(0, 1, 2).tolist()


def test_a_sum_that_is_not_settled_does_not_fall_apart() -> None:
    found = separation(row("sum", [0, 1], exactly(4)))
    assert found.settled(Query(kind="sum", members=np.array([0]))) is None
    assert found.settled(Query(kind="sum", members=np.array([0, 1]))) == 4


def test_a_maximum_that_is_told_of_the_others_alone_keeps_them_apart() -> None:
    highest, pair = row("max", [0, 1, 2], exactly(2)), row("sum", [0, 3], exactly(2))
    for others in (1, 2):
        found = separation(highest, pair, row("max", [1, 2], exactly(others)))
        assert found.closed(flags(3)).tolist() == flags(0, 3).tolist()
        halves = found.halves(highest, flags(0, 3))
        assert halves is not None
        assert halves[0] is not None
        assert halves[0].told == (exactly(2) if others == 1 else Told(None, 2))
