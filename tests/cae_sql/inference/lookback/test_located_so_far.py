"""What a standing says of records, looked at closely or not, is what enumeration of all tables says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.intervals.bounds import Exact, OneByOne
from cae_sql.inference.intervals.irreducible import Claims
from cae_sql.inference.lookback import located_so_far as standing_module
from cae_sql.inference.lookback.located_so_far import APPROXIMATE, EXACT, KEEPS, LocatedSoFar
from cae_sql.inference.lookback.look import assess
from cae_sql.inference.search import records
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables import roomy_table
from cae_sql.inference.tables.programs import ComponentProgram

TOP, NEED = 3, 2


@st.composite
def asked(draw: st.DrawFn) -> Query:
    members = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True).map(sorted)))
    kind = draw(st.sampled_from(["sum", "sum", "sum", "sum", "max", "min"]))
    weights = None
    if kind == "sum" and draw(st.integers(0, 3)) == 0:
        weights = np.array([draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in members])
    return Query(kind=kind, members=members, coefficients=weights)  # type: ignore[arg-type]


def remaining(truth: list[int], queries: Sequence[Query]) -> list[set[int]]:
    """All values that each record has in some table that gives the same answers."""
    tables = np.array(list(product(range(TOP + 1), repeat=len(truth))))
    for query in queries:
        tables = tables[query.of(tables) == query.of(np.array(truth))]
    return [set(tables[:, record].tolist()) for record in range(len(truth))]


def state(values: set[int]) -> int:
    if len(values) == 1:
        return EXACT
    width = max(values) - min(values)
    return KEEPS if width >= NEED and width == len(values) - 1 else APPROXIMATE


@pytest.mark.slow
@given(
    truth=st.lists(st.integers(0, TOP), min_size=5, max_size=5),
    queries=st.lists(asked(), min_size=1, max_size=6),
    between=st.booleans(),
    small=st.sampled_from([0, 400]),
)
def test_nobody_is_located_wrongly_and_nobody_said_to_be_safe_who_is_not(
    truth: list[int], queries: list[Query], between: bool, small: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing_module, "SMALL", small)
        so_far = LocatedSoFar(np.array(truth), TOP, Standard(NEED))
        for query in queries:
            so_far.add([query])
            if between:
                assess(so_far)
        assess(so_far, whole=True)
    left = remaining(truth, queries)
    assert not small or not so_far.open.any()
    for record, values in enumerate(left):
        assert so_far.low[record] <= min(values)
        assert so_far.high[record] >= max(values)
        assert so_far.by_reals[record] <= state(values)
        if so_far.by_integers[record] == KEEPS:
            assert so_far.open[record] or state(values) == KEEPS
        else:
            assert so_far.by_integers[record] == state(values) or state(values) == EXACT
            # never before, at the latest when enumeration says so by the same words
            since = int(so_far.since_integers[record])
            assert state(remaining(truth, so_far.answers[:since])[record]) >= so_far.by_integers[record]


@given(
    truth=st.lists(st.integers(0, TOP), min_size=5, max_size=5),
    queries=st.lists(asked().filter(lambda query: query.kind == "sum"), min_size=1, max_size=6),
)
def test_who_is_settled_by_equations_is_found_with_the_answer_that_settles_him(
    truth: list[int], queries: list[Query]
) -> None:
    """Without a look in between; an equation holds whatever the values are, so ranks say when it is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing_module, "SMALL", 0)
        so_far = LocatedSoFar(np.array(truth), TOP, Standard(NEED))
        for query in queries:
            so_far.add([query])
    rows = np.zeros((len(so_far.answers), len(truth)))
    for row, answer in zip(rows, so_far.answers, strict=True):
        row[answer.members] = 1 if answer.coefficients is None else answer.coefficients
    for record in range(len(truth)):
        unit, rank = np.eye(len(truth))[record], np.linalg.matrix_rank
        settled = [
            count
            for count in range(1, len(rows) + 1)
            if rank(np.vstack([rows[:count], unit])) == rank(rows[:count])
        ]
        since = settled[0] if settled else None
        if since is None:
            continue
        assert so_far.by_reals[record] == EXACT
        # bounds may have shown as much before
        assert so_far.since_reals[record] <= since
        terms = so_far.equation_of(record)
        made = sum(float(weight) * rows[number] for number, weight in terms)
        assert np.allclose(made, unit)
        assert terms[-1][0] + 1 == since
        found = Claims(len(truth), TOP, so_far.answers).by_equation(
            record, truth[record], terms, np.array(truth)
        )
        if found is not None:
            for left_out in found.numbers:
                kept = [number for number in found.numbers if number != left_out]
                ends = Claims(len(truth), TOP, so_far.answers).interval(kept, record)
                assert ends[0] < ends[1]


@pytest.mark.parametrize("small", [0, 400])
def test_many_people_in_few_sums_are_all_shown_to_be_safe(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing_module, "SMALL", small)
    chance = np.random.default_rng(5)
    truth = chance.integers(0, 40, 300)
    so_far = LocatedSoFar(truth, 40, Standard(20))
    for _ in range(12):
        so_far.add([Query(kind="sum", members=np.flatnonzero(chance.random(300) < 0.4))])
    assess(so_far, whole=True)
    assert not so_far.by_integers.any()
    assert not so_far.open.any()


def test_a_sum_over_few_who_have_no_room_leaves_nobody_else_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their atoms are not among the roomiest, and no basis was found at all."""
    monkeypatch.setattr(standing_module, "SMALL", 0)
    monkeypatch.setattr(roomy_table, "CANDIDATES", 20)
    chance = np.random.default_rng(5)
    truth = chance.integers(1, 40, 300)
    truth[:2] = 0
    so_far = LocatedSoFar(truth, 40, Standard(20))
    for _ in range(12):
        so_far.add([Query(kind="sum", members=np.flatnonzero(chance.random(300) < 0.4))])
    so_far.add([Query(kind="sum", members=np.array([0, 1]))])
    assess(so_far, whole=True)
    assert np.flatnonzero(so_far.by_integers).tolist() == [0, 1]
    assert not so_far.open.any()


def test_who_is_settled_by_sums_and_rows_that_were_read_is_so_since_the_last_of_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that were read are taken out of the sums, and so were not seen to be needed."""
    monkeypatch.setattr(standing_module, "SMALL", 0)
    monkeypatch.setattr(standing_module, "MOST_ALONE", 0)
    so_far = LocatedSoFar(np.array([1, 1, 2, 2]), TOP, Standard(NEED))
    for members in ([0, 1, 2, 3], [0, 3], [1]):
        so_far.add([Query(kind="sum", members=np.array(members))])
        assess(so_far)
    so_far.add([Query(kind="sum", members=np.array([0, 1]))])
    assess(so_far, whole=True)
    assert so_far.by_reals.tolist() == [EXACT] * 4
    # the second by the sum of the others, once its row was read; the others with the last answer
    assert so_far.since_reals.tolist() == [4, 3, 3, 4]
    assert so_far.since_integers.tolist() == [4, 3, 3, 4]


@pytest.mark.parametrize("small", [0, 400])
def test_who_was_located_approximately_is_so_exactly_since_his_row_was_read(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing_module, "SMALL", small)
    monkeypatch.setattr(standing_module, "MOST_ALONE", 0)
    so_far = LocatedSoFar(np.array([1, 0, 3]), TOP, Standard(NEED))
    for members, expected in (([0, 1], (APPROXIMATE, 1)), ([1, 2], (APPROXIMATE, 1)), ([1], (EXACT, 3))):
        so_far.add([Query(kind="sum", members=np.array(members))])
        assess(so_far)
        assert (so_far.by_reals[1], so_far.since_reals[1]) == expected
        assert (so_far.by_integers[1], so_far.since_integers[1]) == expected


def test_a_linear_program_that_is_not_solved_leaves_its_own_record_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two sums together say two of five records, and two of five others; the program of one fails."""
    failing, interval = list[int](), OneByOne.interval

    def fails_for_one(self: OneByOne, atom: int, *more: Any) -> tuple[Exact, Exact]:
        if atom in failing:
            raise OutOfTime("the linear program was not solved")
        return interval(self, atom, *more)

    monkeypatch.setattr(OneByOne, "interval", fails_for_one)
    so_far = LocatedSoFar(np.array([2, 2, 4, 0, 2] * 2), 4, Standard(2))
    members = ([0, 1, 2], [0, 1, 3], [0, 4], [5, 6, 7], [5, 6, 8], [5, 9])
    so_far.add([Query(kind="sum", members=np.array(each)) for each in members])
    failing.append(int(so_far.known.atoms.labels[2]))
    assess(so_far, whole=True)
    assert so_far.by_reals[[2, 3, 7, 8]].tolist() == [KEEPS, EXACT, EXACT, EXACT]
    assert so_far.by_integers[[2, 3, 7, 8]].tolist() == [EXACT] * 4


def test_nobody_is_located_because_the_values_in_question_are_too_many_to_be_asked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a salary in cents only some are, fewer than must be left: these were taken for all there are."""
    monkeypatch.setattr(records, "MOST_VALUES", 4)
    so_far = LocatedSoFar(np.array([1, 8, 5, 7]), 12, Standard(8))
    for members, weights in (([1, 2], [1, 4]), ([0, 1, 2, 3], [1, 4, 3, 4])):
        so_far.add([Query(kind="sum", members=np.array(members), coefficients=np.array(weights))])
    assess(so_far, whole=True)
    # both have runs of nine values
    assert so_far.by_integers[[0, 3]].tolist() == [KEEPS, KEEPS]


@pytest.mark.slow
def test_of_yes_and_no_the_records_with_one_value_left_are_those_of_enumeration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where reals leave everybody both values."""
    proved = 0
    asked_of_one = ComponentProgram.world_with

    def counting(self: ComponentProgram, *which: Any) -> Ints | None:
        nonlocal proved
        found = asked_of_one(self, *which)
        proved += found is None
        return found

    monkeypatch.setattr(ComponentProgram, "world_with", counting)
    tables = np.array(list(product((0, 1), repeat=12)))
    for seed in range(25):
        chance = np.random.default_rng(seed)
        truth, left = chance.integers(0, 2, 12), tables
        so_far = LocatedSoFar(truth, 1, Standard(1))
        for _ in range(7):
            query = Query(kind="sum", members=np.flatnonzero(chance.random(12) < 0.5))
            so_far.add([query])
            assess(so_far)
            left = left[query.of(left) == query.of(truth)]
            fixed = (left == truth).all(axis=0)
            assert not so_far.open.any()
            assert np.array_equal(so_far.by_integers == EXACT, fixed)
    assert proved > 4


def test_of_many_atoms_walks_show_records_that_the_table_itself_leaves_open() -> None:
    """Groups by four columns, and half of those by each two: 318 of 600 records were open without."""
    chance, size = np.random.default_rng(0), 600
    truth = np.minimum(chance.geometric(0.3, size) - 1, 24)
    so_far, columns = LocatedSoFar(truth, 24, Standard(need=8)), chance.integers(0, 8, (4, size))
    groups = [np.flatnonzero(column == value) for column in columns for value in range(8)]
    groups += [
        np.flatnonzero((one == value) & (other == beside))
        for one, other in combinations(columns, 2)
        for value, beside in product(range(8), range(8))
        if (value + beside) % 2
    ]
    so_far.add([Query(kind="sum", members=members) for members in groups if len(members)])
    assert so_far.large
    assess(so_far, whole=True)
    assert np.count_nonzero(so_far.by_integers) == 41
    assert so_far.open.sum() < 250
