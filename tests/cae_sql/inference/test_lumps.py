"""Lumps against the records that they stand for: every table of all records is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql import AnsweredSystem
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.lumps import in_lumps
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.priors import Prior

Ints = NDArray[np.int64]

MOST_TABLES = 60_000


@dataclass(frozen=True)
class Cells:
    """A hidden table in cells of which a part stands as lumps, and sums over unions of cells."""

    minimum: int
    top: int
    records: tuple[int, ...]
    """By cell, how many stand one by one."""
    lumps: tuple[tuple[int, ...], ...]
    """By cell, how many stand in each of its lumps."""
    asked: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Cells of each sum, and their signs."""
    truth: tuple[int, ...]
    """Values of all records, in units: first those one by one, cell by cell, then those in lumps."""

    @property
    def size(self) -> int:
        return sum(self.records)

    @property
    def cells(self) -> Ints:
        """(n + m,) the cell of each record, and of each lump."""
        found = [cell for cell, count in enumerate(self.records) for _ in range(count)]
        return np.array(found + [cell for cell, lumps in enumerate(self.lumps) for _ in lumps])

    @property
    def units(self) -> Ints:
        """(all,) the record or lump that each of all records is in."""
        stands_for = [1] * self.size + [each for lumps in self.lumps for each in lumps]
        return np.repeat(np.arange(len(stands_for)), stands_for)

    def members(self, number: int) -> tuple[Ints, Ints]:
        """Records and lumps of a sum, and their signs."""
        cells, signs = self.asked[number]
        members = np.flatnonzero(np.isin(self.cells, cells))
        sign_of = dict(zip(cells, signs, strict=True))
        return members, np.array([sign_of[cell] for cell in self.cells[members].tolist()])

    def coefficients(self, number: int) -> Ints:
        """(all,) coefficient of each of all records in a sum."""
        row = np.zeros(len(self.cells), dtype=np.int64)
        members, signs = self.members(number)
        row[members] = signs
        found: Ints = row[self.units]
        return found

    def value(self, number: int) -> int:
        """The true sum, in units of the column."""
        return int(self.coefficients(number) @ (np.array(self.truth) + self.minimum))

    def system(self) -> AnsweredSystem:
        lumps = [each for lumps in self.lumps for each in lumps]
        return AnsweredSystem(self.size, self.minimum, self.minimum + self.top, 1, lumps=lumps)

    def expansion(self) -> AnsweredSystem:
        """All records one by one."""
        return AnsweredSystem(len(self.units), self.minimum, self.minimum + self.top, 1)

    def told(self, count: int | None = None) -> tuple[AnsweredSystem, AnsweredSystem]:
        """Both, after the first answers."""
        lumped, whole = self.system(), self.expansion()
        for number in range(len(self.asked[:count])):
            members, signs = self.members(number)
            lumped.add_sum(members, self.value(number), signs)
            row = self.coefficients(number)
            whole.add_sum(np.flatnonzero(row), self.value(number), row[row != 0])
        return lumped, whole

    def tables(self, count: int | None = None) -> Ints:
        """All tables of all records that agree with the first answers, in units of the column."""
        every = np.array(list(product(range(self.top + 1), repeat=len(self.units)))) + self.minimum
        kept = np.ones(len(every), dtype=np.bool_)
        for number in range(len(self.asked[:count])):
            kept &= every @ self.coefficients(number) == self.value(number)
        return every[kept]


@st.composite
def cells(draw: st.DrawFn, fewest: int = 1) -> Cells:
    """Cells with up to `MOST_TABLES` tables in all."""
    top = draw(st.integers(1, 3))
    most = int(np.log(MOST_TABLES) / np.log(top + 1))
    records, lumps, left = list[int](), list[tuple[int, ...]](), most
    for _ in range(draw(st.integers(1, 3))):
        if left < fewest:
            break
        records.append(draw(st.integers(fewest, max(fewest, min(3, left)))))
        left -= records[-1]
        stands_for = [each for each in (1, 2, 4) if each <= left and draw(st.booleans())]
        kept = list[int]()
        for each in stands_for:
            if each <= left:
                kept.append(each)
                left -= each
        lumps.append(tuple(kept))
    everybody = range(len(records))
    some = st.lists(st.sampled_from(everybody), min_size=1, unique=True).map(lambda each: tuple(sorted(each)))
    asked = []
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(some)
        plain = draw(st.integers(0, 3)) > 0
        signs = tuple(1 if plain else draw(st.sampled_from([1, -1])) for _ in chosen)
        asked.append((chosen, signs))
    people = sum(records) + sum(map(sum, lumps))
    truth = tuple(draw(st.lists(st.integers(0, top), min_size=people, max_size=people)))
    minimum = draw(st.sampled_from([0, 2, -1]))
    return Cells(minimum, top, tuple(records), tuple(lumps), tuple(asked), truth)


def runs(system: AnsweredSystem) -> Iterator[tuple[int, range]]:
    """Certified runs by record, in units of the column; empty ones left out."""
    found = system.certified()
    for record, (low, high) in enumerate(zip(found.lower.tolist(), found.upper.tolist(), strict=True)):
        if low <= high:
            yield record, range(int(low), int(high) + 1)


@given(cells())
def test_intervals_are_those_of_all_records(given: Cells) -> None:
    lumped, whole = given.told()
    mine, theirs = lumped.bounds(), whole.bounds()
    np.testing.assert_array_equal(mine.lower, theirs.lower[: given.size])
    np.testing.assert_array_equal(mine.upper, theirs.upper[: given.size])


@pytest.mark.slow
@given(cells())
def test_of_a_certified_run_every_value_is_in_a_table_of_all_records(given: Cells) -> None:
    tables = given.tables()
    for record, run in runs(given.told()[0]):
        assert set(run) <= set(tables[:, record].tolist())


@given(cells())
def test_a_world_is_a_table_of_all_records_with_each_lump_added_up(given: Cells) -> None:
    allowed = {tuple(table) for table in given.tables()[:, : given.size].tolist()}
    try:
        worlds = given.told()[0].worlds(6).tolist()
    except OutOfTime:
        return  # tight sums over few records: none was found
    assert {tuple(world) for world in worlds} <= allowed


@given(cells())
def test_what_is_likely_is_what_counting_all_records_makes_likely(given: Cells) -> None:
    lumped, whole = given.told()
    tables = given.tables()
    exact = np.array([(tables == value).mean(axis=0) for value in range(given.minimum, tables.max() + 1)]).T
    for system in (lumped, whole):
        found = system.posterior(range(given.size))[1][:, : exact.shape[1]]
        np.testing.assert_allclose(found, exact[: given.size], atol=1e-9)
    np.testing.assert_allclose(lumped.leverage(), whole.leverage(range(given.size)), atol=1e-9)


@given(cells(fewest=2), st.integers(0, 1), st.integers(1, 3))
def test_nobody_is_said_to_keep_what_tables_of_all_records_exclude(
    given: Cells, insiders: int, need: int
) -> None:
    *past, last = range(len(given.asked))
    system = given.told(len(past))[0]
    members, signs = given.members(last)
    query = system.query("sum", members, signs)
    question = system.question([query])
    units = system.units(query, given.value(last))  # type: ignore[arg-type]
    standard = Standard(min(need, given.top), insiders=insiders)
    judgement = question.judge_around_table((units,), standard, Allowance())
    if judgement is None or not judgement.safe:
        return
    tables = given.tables()
    for left in _as_insiders(tables, given.units, insiders):
        for record in left:
            assert _longest(left[record]) >= min(need, given.top)


def _as_insiders(tables: Ints, units: Ints, insiders: int) -> Iterator[dict[int, Ints]]:
    """What is left of the values of everybody, lumps' records among them, for everybody who knows one."""
    everybody = range(tables.shape[1])
    if not insiders:
        yield {record: np.unique(tables[:, record]) for record in everybody}
        return
    for insider in everybody:
        for value in np.unique(tables[:, insider]):
            some = tables[tables[:, insider] == value]
            yield {record: np.unique(some[:, record]) for record in everybody if record != insider}


def _longest(values: Ints) -> int:
    """Width of the longest run of neighbours."""
    return max(map(len, np.split(values, np.flatnonzero(np.diff(values) > 1) + 1))) - 1


def test_a_lumps_least_value_counts_once_for_each_of_its_records() -> None:
    system = AnsweredSystem(2, 10, 12, 1, lumps=[4])
    system.add_sum([0, 1, 2], 60)
    assert system.bounds().upper.tolist() == [10, 10]
    query = system.query("sum", np.array([0, 1, 2]))
    assert system.column_value(query, 0) == 60 == system.column_value(query, system.units(query, 60))  # type: ignore[arg-type]
    assert system.possible(query) == (0, 12)
    mean = AnsweredSystem(2, 10, 12, 1, lumps=[4])
    mean.add_mean([0, 1, 2], 12)
    assert mean.bounds().lower.tolist() == [12, 12]
    with pytest.raises(InconsistentAnswers):
        AnsweredSystem(2, 10, 12, 1, lumps=[4]).add_sum([0, 1, 2], 73)


def test_a_range_of_a_sum_over_lumps_is_one_of_all_records() -> None:
    system, whole = AnsweredSystem(2, 1, 4, 1, lumps=[2]), AnsweredSystem(4, 1, 4, 1)
    system.add_range([0, 1, 2], 13, 15)
    whole.add_range([0, 1, 2, 3], 13, 15)
    assert system.bounds().lower.tolist() == whole.bounds().lower.tolist()[:2]
    np.testing.assert_allclose(system.posterior()[1], whole.posterior([0, 1])[1])


def test_ends_reach_over_the_domain_of_all_records() -> None:
    system = AnsweredSystem(2, 0, 10, 1, lumps=[64])
    query = system.query("sum", np.array([0, 1, 2]))
    above = system.at_least(query, 655)
    assert above is not None
    assert len(above.members) == 4  # the room of 5 below 660 is that of one spare record
    system.accept([above.answered(655)])
    assert system.bounds().lower.tolist() == [5, 5]


def test_of_one_cell_with_a_lump_somebody_is_not_known_who_would_be_alone_without() -> None:
    alone = AnsweredSystem(1, 0, 9, 1)
    alone.add_sum([0], 5)
    assert alone.bounds().upper[0] - alone.bounds().lower[0] == 0
    beside = AnsweredSystem(1, 0, 9, 1, lumps=[8])
    beside.add_sum([0, 1], 40)
    assert (beside.bounds().lower[0], beside.bounds().upper[0]) == (0, 9)
    assert not beside.singled_out([beside.query("sum", np.array([0, 1]))], 1)


@pytest.mark.parametrize("lumps", [[3], [0], [-2], [2, 6], [1.5], [[2]]])
def test_lumps_of_other_sizes_than_powers_of_two_are_turned_away(lumps: list[int]) -> None:
    with pytest.raises(InvalidInput, match="lump"):
        AnsweredSystem(3, 0, 5, 1, lumps=lumps)


def test_lumps_need_a_grid_and_sums_that_fit() -> None:
    with pytest.raises(InvalidInput, match="grid"):
        AnsweredSystem(3, 0, 5, lumps=[2])
    with pytest.raises(InvalidInput, match="2\\*\\*61"):
        AnsweredSystem(3, 0, 1000, 1, lumps=[2**51, 2**50])


def test_an_extreme_over_a_lump_needs_records_that_may_attain_it_in_its_place() -> None:
    system = AnsweredSystem(8, 0, 9, 1, lumps=[4])
    largest = system.query("max", np.array([0, 1, 2, 3, 8]))
    assert system.question([largest]).queries == [largest]
    for others in ([0, 1, 2, 8], [8]):
        with pytest.raises(InvalidInput, match="stand one by one"):
            system.question([system.query("max", np.array(others))])
        with pytest.raises(InvalidInput, match="stand one by one"):
            system.add_min(others, 2)
    system.add_max([0, 1, 2, 3, 8], 7)
    apart = system.query("sum", np.array([0, 4, 5]))
    with pytest.raises(InvalidInput, match="stand one by one"):
        system.question([apart])
    # nor where answers that are known to be true come to it
    system.accept([apart.answered(9)])
    with pytest.raises(InvalidInput, match="stand one by one"):
        system.certified()


def test_an_extreme_over_a_lump_bounds_each_of_its_records() -> None:
    system = AnsweredSystem(8, 0, 9, 1, lumps=[4, 8])
    cell, everybody = np.array([0, 1, 2, 3, 8, 9]), np.arange(10)
    system.add_max(cell, 2)
    assert system.bounds().upper.tolist() == [2] * 4 + [9] * 4
    with pytest.raises(InconsistentAnswers):
        system.add_sum(everybody, 16 * 2 + 4 * 9 + 1)
    system.add_sum(everybody, 16 * 2 + 4 * 9)
    assert system.bounds().lower.tolist() == [2] * 4 + [9] * 4
    # it is the greatest of all where the others have no more
    lower = AnsweredSystem(8, 0, 9, 1, lumps=[4, 8])
    lower.add_max(cell, 2)
    lower.add_max([4, 5, 6, 7], 1)
    assert lower.question([lower.query("max", everybody)]).settled == [2]
    lower.add_min(cell, 2)
    assert (lower.pool().values[:, 8:] == [8, 16]).all()


def test_hypothetical_maxima_of_many_are_high_and_of_groups_agree_with_their_union() -> None:
    system = AnsweredSystem(8, 0, 99, 1, lumps=[256, 256])
    groups = [np.array([0, 1, 2, 3, 8]), np.array([4, 5, 6, 7, 9]), np.arange(10)]
    for kind, better in (("max", max), ("min", min)):
        found = system.question([system.query(kind, each) for each in groups]).hypothetical(20)  # type: ignore[arg-type]
        assert all(better(one, other) == both for one, other, both in found)
        middle = np.mean([both for *_, both in found])
        assert abs(middle - better(0, 99)) < 2
    # a prior that knows better is asked
    rare = Prior(lambda count, seed: np.zeros(count, dtype=np.int64), -np.arange(100.0))
    skewed = AnsweredSystem(8, 0, 99, 1, lumps=[256, 256], prior=rare)
    answers = skewed.question([skewed.query("max", groups[2])]).hypothetical(20)
    assert all(2 <= value <= 20 for (value,) in answers)


@pytest.mark.parametrize("kind", ["count", "quantile", "spread", "weighted"])
def test_what_sums_do_not_say_of_lumps_is_not_asked(kind: str) -> None:
    system = AnsweredSystem(4, 0, 5, 1, lumps=[2])
    query = Query(kind=kind, members=np.arange(4), region=((0, 1),))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="lumps"):
        system.question([query])
    with pytest.raises(InvalidInput, match="lumps"):
        system.accept_range([], query, 2)
    with pytest.raises(InvalidInput, match="lumps"):
        system.runs()


@pytest.mark.slow
def test_a_lump_gives_all_the_room_that_its_records_have() -> None:
    system = AnsweredSystem(12, 0, 100, 1, lumps=[64])
    system.add_sum(np.arange(13), 76 * 50)
    found = system.certified()
    assert (found.lower.tolist(), found.upper.tolist()) == ([0] * 12, [100] * 12)
    for members, count in (([0, 1, 2, 3, 12], 68), ([*range(6)], 6)):
        question = system.question([system.query("sum", np.array(members))])
        judgement = question.judge_around_table((count * 50,), Standard(50, insiders=1), Allowance())
        assert judgement is not None
        assert judgement.safe
    # of three with 150 together one with 100 leaves 50 to two: a lump whose total is known gives them nothing
    known = AnsweredSystem(3, 0, 100, 1, lumps=[64])
    known.add_sum(np.arange(4), 64 * 50 + 150)
    known.add_sum([3], 64 * 50)
    judgement = known.question([]).judge_around_table((), Standard(60, insiders=1), Allowance())
    assert judgement is None or not judgement.safe


def test_what_sums_leave_of_one_person_modulo_two_is_seen_beside_lumps() -> None:
    kept, lumps = in_lumps(100, 4)
    ward = np.concatenate([["X"], np.repeat(list("ABC"), kept), np.repeat(list("ABC"), len(lumps))])
    system = AnsweredSystem(1 + 3 * kept, 0, 1, 1, lumps=np.tile(lumps, 3))
    for letters, told in (("XAB", 81), ("XAC", 80), ("XBC", 80)):
        system.add_sum(np.isin(ward, list(letters)), told)  # X + 2 (A + B + C) is 241
    assert system.leverage([0])[0] < 0.02
    np.testing.assert_allclose(system.posterior([0])[1], [[0, 1]], atol=1e-9)
    run = system.certified()
    assert run.upper[0] <= run.lower[0]
    if system.roomy_table.usable:
        assert set(system.worlds(20)[:, 0].tolist()) == {1}


@pytest.mark.slow
def test_answers_taken_in_at_once_are_kept_by_worlds_with_lumps() -> None:
    chance = np.random.default_rng(5)
    count, top = 40, 100
    lumps = [1 << int(each) for each in chance.integers(5, 12, count)]
    system = AnsweredSystem(8 * count, 0, top, 1, lumps=lumps)
    cell = np.append(np.repeat(np.arange(count), 8), np.arange(count))
    people = np.append(np.ones(8 * count, dtype=np.int64), lumps)
    truth = chance.binomial(people * top, 0.2)
    ends = np.sort(chance.integers(0, count + 1, (30, 2)), axis=1)
    ends = ends[ends[:, 1] - ends[:, 0] > 1]
    queries = [system.query("sum", np.flatnonzero((a <= cell) & (cell < b))) for a, b in ends]
    system.accept([query.answered(int(query.of(truth))) for query in queries])
    values = system.pool().values.astype(np.int64)
    assert system.roomy_table.usable
    assert values.min() >= 0
    assert (values <= people * top).all()
    for query in queries:
        assert (query.of(values) == int(query.of(truth))).all()
    assert abs(values[:, : 8 * count].mean() / top - 0.2) < 0.05
