"""Which totals of units are located is what enumeration of all tables says, and few answers prove each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.lookback import located_so_far
from cae_sql.inference.lookback.located_so_far import APPROXIMATE, EXACT, LocatedSoFar
from cae_sql.inference.lookback.look import STEPS, assess
from cae_sql.inference.lookback.totals import LocatedTotal, Totals
from cae_sql.inference.standard import Standard

TOP, NEED, SIZE = 3, 2, 5
Key = tuple[int, ...]


@st.composite
def queries(draw: st.DrawFn) -> Query:
    members = draw(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=SIZE, unique=True).map(sorted))
    kinds: list[Kind] = ["sum", "sum", "sum", "max", "min"]
    kind = "sum" if len(members) == 1 else draw(st.sampled_from(kinds))
    weights = None
    if kind == "sum" and draw(st.integers(0, 3)) == 0:
        weights = np.array([draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in members])
    return Query(kind=kind, members=np.array(members), coefficients=weights)


def looked_at(
    table: Sequence[int], asked: Sequence[Query], units: Sequence[int]
) -> tuple[Totals, LocatedSoFar]:
    so_far = LocatedSoFar(np.array(table), TOP, Standard(NEED))
    for query in asked:
        so_far.add([query])
        assess(so_far)
    assess(so_far, whole=True)
    return Totals(so_far, np.array(units), Allowance(STEPS)), so_far


def agreeing(table: Sequence[int], asked: Sequence[Query]) -> np.ndarray:
    """All tables that give the same answers."""
    every = np.array(list(product(range(TOP + 1), repeat=SIZE)))
    for query in asked:
        every = every[query.of(every) == query.of(np.array(table))]
    return every


def sums_of(asked: Sequence[Query], units: Sequence[int]) -> dict[Key, bool]:
    """The records of each total: all of a unit's, and those of a unit that are in the same answers."""
    found = dict[Key, bool]()
    weights = [dict(zip(query.members.tolist(), query.signs.tolist(), strict=True)) for query in asked]
    alike = [tuple(each.get(record, 0) for each in weights) for record in range(SIZE)]
    for unit in set(units):
        own = [record for record in range(SIZE) if units[record] == unit]
        parts = [tuple(r for r in own if alike[r] == name) for name in {alike[record] for record in own}]
        found |= {part: False for part in parts if 1 < len(part) < len(own)}
        if len(own) > 1:
            found[tuple(own)] = True
    return found


def state(tables: np.ndarray, records: Key) -> int:
    sums = tables[:, list(records)].sum(axis=1)
    width = int(sums.max() - sums.min())
    return EXACT if width == 0 else APPROXIMATE if width < NEED * len(records) else 0


@given(
    table=st.lists(st.integers(0, TOP), min_size=SIZE, max_size=SIZE),
    asked=st.lists(queries(), min_size=1, max_size=4),
    units=st.lists(st.integers(0, 2), min_size=SIZE, max_size=SIZE),
    alone=st.sampled_from([0, 256]),
)
def test_the_totals_that_are_located_are_those_that_enumeration_finds(
    table: list[int], asked: list[Query], units: list[int], alone: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:  # with 0 all rows that were read are taken out of the sums
        patch.setattr(located_so_far, "MOST_ALONE", alone)
        totals, so_far = looked_at(table, asked, units)
    found = {tuple(each.total.records.tolist()): each for each in totals.located()}
    assert not totals.open
    tables = agreeing(table, asked)
    expected = {records: state(tables, records) for records in sums_of(so_far.answers, units)}
    told = {records for records, whole in sums_of(so_far.answers, units).items() if not whole}
    rows = so_far.by_integers == EXACT
    expected = {
        records: each
        for records, each in expected.items()
        if each and not (records in told and rows[list(records)].all())
    }
    assert {records: each.state for records, each in found.items()} == expected
    for records, each in found.items():
        sums = tables[:, list(records)].sum(axis=1)
        assert each.low <= sums.min()
        assert sums.max() <= each.high
        assert each.total.whole == (records not in told)
        proves(totals, so_far, each, table)


def proves(totals: Totals, so_far: LocatedSoFar, each: LocatedTotal, table: Sequence[int]) -> None:
    """The answers that a proof names leave no more than it says, and without any of them more is left."""
    records = tuple(each.total.records.tolist())
    proof = totals.proved(each)
    assert proof is not None
    assert max(proof.numbers, default=-1) < each.since
    named = [so_far.answers[number] for number in proof.numbers]
    sums = agreeing(table, named)[:, list(records)].sum(axis=1)
    assert proof.low <= sums.min()
    assert sums.max() <= proof.high
    assert state(agreeing(table, named), records) >= each.state
    for end in (proof.lower, proof.upper):
        if end is not None:
            assert {number for number, _ in end.terms} <= set(proof.numbers)
    counts = range(1, len(so_far.answers) + 1)
    once = next(count for count in counts if state(agreeing(table, so_far.answers[:count]), records))
    assert once <= each.first <= each.since  # linear programs may be later than the grid, never earlier


def test_two_sums_that_differ_by_a_unit_locate_its_total_and_none_of_its_rows() -> None:
    units = [0, 0, 0, 1, 1]
    asked = [Query(kind="sum", members=np.arange(5)), Query(kind="sum", members=np.array([3, 4]))]
    totals, so_far = looked_at([1, 2, 1, 2, 1], asked, units)
    assert not so_far.by_integers.any()
    found = {tuple(each.total.records.tolist()): each for each in totals.located()}
    assert {records: (each.state, each.low) for records, each in found.items()} == {
        (0, 1, 2): (EXACT, 4),
        (3, 4): (EXACT, 3),
    }
    proof = totals.proved(found[0, 1, 2])
    assert proof is not None
    assert proof.numbers == (0, 1)
    assert proof.kind == "reals"
    assert proof.lower is not None
    assert [int(weight) for _, weight in proof.lower.terms] == [1, -1]


def test_where_every_record_is_a_unit_there_are_no_totals() -> None:
    totals, _ = looked_at([1, 2, 1, 2, 1], [Query(kind="sum", members=np.arange(5))], [0, 1, 2, 3, 4])
    assert not [*totals.located()]
    assert not totals.open
