"""Cells of which most people stand in lumps, against all tables of all of them, counted by crowds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql import AnsweredSystem, Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.lumps import in_lumps
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard, ModelKnowledge, ModelStandard
from cae_sql.inference.posterior.marginals import model_risks, risks_of_classes
from cae_sql.inference.standard import Standard
from cae_sql.risk import Limit
from tests.quick import rounds

from .crowds import Crowds, Fact

Ints = NDArray[np.int64]

TOP = 2
SIZES = [(9, 12, 10), (14, 3, 8), (30, 22), (5, 9, 8, 2)]
FEW = [(1, 6, 9), (2, 12), (5, 1, 8), (1, 2, 9)]
"""With a cell of one or two people, of whom something can be proved."""


@dataclass(frozen=True)
class Told:
    """One aggregate over some cells and its true value."""

    kind: Kind
    weights: tuple[int, ...]
    """By cell, 1 or 0."""
    value: int

    @property
    def fact(self) -> Fact:
        return Fact(self.kind, self.weights, Fraction(self.value), Fraction(self.value))


class Lumped:
    """Cells of so many people, four to seven of each one by one, and a hidden table of all of them."""

    def __init__(self, sizes: tuple[int, ...], seed: int, kinds: tuple[Kind, ...]) -> None:
        self.crowds, self.seed, self.kinds = Crowds(sizes, tuple(range(TOP + 1))), seed, kinds
        split = [in_lumps(size, 4) for size in sizes]
        alone = [np.full(count, cell) for cell, (count, _) in enumerate(split)]
        lumps = [np.full(len(each), cell) for cell, (_, each) in enumerate(split)]
        self.cells: Ints = np.concatenate([*alone, *lumps])
        """(n + m,) of each record and lump."""
        some, count = np.concatenate([each for _, each in split]), sum(map(len, alone))
        self.system = AnsweredSystem(count, 0, TOP, 1, seed=seed, lumps=some)
        self.sizes, self.chance = sizes, np.random.default_rng(seed)
        skew = self.chance.dirichlet(np.ones(TOP + 1))
        self.tables = [self.chance.choice(TOP + 1, size, p=skew) for size in sizes]
        """By cell, everybody's value."""

    def first(self, cell: int) -> int:
        """The first record of a cell."""
        return int(np.flatnonzero(self.cells == cell)[0])

    def ask(self) -> Told:
        """One more aggregate."""
        kind = self.kinds[self.chance.integers(len(self.kinds))]
        weights = self.chance.integers(0, 2, len(self.sizes))
        weights[self.chance.integers(len(weights))] = 1
        values = np.concatenate([self.tables[cell] for cell in np.flatnonzero(weights)])
        value = {"sum": values.sum(), "max": values.max(), "min": values.min()}[kind]
        return Told(kind, tuple(weights.tolist()), int(value))

    def query(self, told: Told) -> Query:
        """The same over records and lumps."""
        cells = np.flatnonzero(told.weights)
        return self.system.query(told.kind, np.flatnonzero(np.isin(self.cells, cells)))

    def tell(self, told: Told) -> None:
        """Let the system and the crowds know it."""
        self.crowds.told(told.fact)
        self.system.accept([self.query(told).answered(told.value)])

    def expansion(self, told: list[Told]) -> AnsweredSystem:
        """A system of everybody one by one, cell by cell."""
        found = AnsweredSystem(sum(self.sizes), 0, TOP, 1, seed=self.seed)
        cells = np.repeat(np.arange(len(self.sizes)), self.sizes)
        for each in told:
            members = np.flatnonzero(np.isin(cells, np.flatnonzero(each.weights)))
            found.accept([found.query(each.kind, members).answered(each.value)])
        return found


def longest(values: tuple[int, ...]) -> int:
    """Width of the longest run of neighbours."""
    return max(map(len, np.split(values, np.flatnonzero(np.diff(values) > 1) + 1))) - 1


KINDS: list[tuple[Kind, ...]] = [("sum",), ("sum", "max", "min")]


@pytest.mark.parametrize("kinds", KINDS, ids=["sums", "extremes"])
def test_records_beside_lumps_are_known_as_far_as_all_tables_of_all_people_say(
    kinds: tuple[Kind, ...],
) -> None:
    for seed in range(rounds(24)):
        lumped = Lumped(SIZES[seed % len(SIZES)], seed, kinds)
        told = [lumped.ask() for _ in range(3)]
        for each in told:
            lumped.tell(each)
        whole = lumped.expansion(told)
        who = [lumped.first(cell) for cell in range(len(lumped.sizes))]
        same = np.cumsum((0, *lumped.sizes[:-1]))
        mine, theirs = lumped.system.bounds(who), whole.bounds(same)
        assert (mine.lower.tolist(), mine.upper.tolist()) == (theirs.lower.tolist(), theirs.upper.tolist())
        found = lumped.system.posterior(who)[1]
        np.testing.assert_allclose(found, whole.posterior(same)[1], atol=1e-9)
        np.testing.assert_allclose(lumped.system.leverage(who), whole.leverage(same), atol=1e-9)
        certified = lumped.system.certified()
        for left in lumped.crowds.excluded():
            if left.insider is None:
                runs = [
                    (int(certified.lower[each]), int(certified.upper[each]))
                    for each in _of(lumped, left.place)
                ]
                assert all(low > high or {*range(low, high + 1)} <= {*left.values} for low, high in runs)
                outer = mine.lower[left.place], mine.upper[left.place]
                assert outer[0] <= min(left.values) <= max(left.values) <= outer[1]


def _of(lumped: Lumped, cell: int) -> Iterator[int]:
    """The records of a cell."""
    yield from np.flatnonzero(lumped.cells[: lumped.system.size] == cell).tolist()


@pytest.mark.parametrize("kinds", KINDS, ids=["sums", "extremes"])
def test_certificates_beside_lumps_are_those_of_everybody_one_by_one(kinds: tuple[Kind, ...]) -> None:
    proved = 0
    for seed in range(rounds(60)):
        lumped = Lumped(FEW[seed % len(FEW)], seed, kinds)
        told = [lumped.ask() for _ in range(3)]
        for each in told:
            lumped.tell(each)
        whole = lumped.expansion(told)
        for cell, first in enumerate(np.cumsum((0, *lumped.sizes[:-1])).tolist()):
            mine, theirs = lumped.first(cell), first
            for side in ("lower", "upper"):
                one, other = lumped.system.explain(mine, side), whole.explain(theirs, side)  # type: ignore[arg-type]
                assert (one.bound, one.terms, one.boxes) == (other.bound, other.terms, other.boxes)
                proved += bool(one.terms or one.boxes)
            for a, b in zip(lumped.system.carried_by(mine), whole.carried_by(theirs), strict=True):
                assert a == pytest.approx(b)
        both = lumped.system.likelihood(), whole.likelihood()
        who = [lumped.first(cell) for cell in range(len(lumped.sizes))]
        groups = both[0].labels[who], both[1].labels[np.cumsum((0, *lumped.sizes[:-1]))]
        np.testing.assert_allclose(both[0].rows[groups[0]], both[1].rows[groups[1]], atol=1e-9)
        if not lumped.system.judged(Standard(1, insiders=1), Allowance()).safe:
            continue
        assert all(longest(left.values) >= 1 for left in lumped.crowds.excluded())
    assert proved


@pytest.mark.parametrize("seed", range(12))
def test_what_is_likely_beside_lumps_is_what_all_tables_of_all_people_say(seed: int) -> None:
    lumped = Lumped(SIZES[seed % len(SIZES)], seed, KINDS[seed % 2])
    for _ in range(2):
        lumped.tell(lumped.ask())
    for each in lumped.crowds.likely():
        who, insider = lumped.first(each.place), None
        if each.insider is not None:
            assert each.known is not None
            insider = lumped.first(each.insider), each.known
            who += each.place == each.insider
        found = lumped.system.posterior([who], insider)[1][0]
        # what is too much to be counted is a formula
        assert found == pytest.approx(each.chances, abs=0.003)


@pytest.mark.parametrize("kinds", KINDS, ids=["sums", "extremes"])
@pytest.mark.parametrize("insiders", [0, 1])
def test_no_answer_is_said_to_be_safe_that_takes_values_from_one_of_all_people(
    insiders: int, kinds: tuple[Kind, ...]
) -> None:
    told = 0
    for seed in range(rounds(40)):
        lumped = Lumped(SIZES[seed % len(SIZES)], seed, kinds)
        standard = Standard(1 + seed % 2, insiders=insiders)
        for _ in range(4):
            asked = lumped.ask()
            query = lumped.query(asked)
            question = lumped.system.question([query])
            if question.derivable:
                assert question.settled == [asked.value]
                continue
            judgement = question.judge_true((asked.value,), standard, Allowance())
            if judgement is None or not judgement.safe:
                continue
            told += 1
            learned = question.learn([asked.value], Allowance())
            lumped.system.accept([query.answered(asked.value)], learned)
            lumped.crowds.told(asked.fact)
            for left in lumped.crowds.excluded():
                if insiders or left.insider is None:
                    assert longest(left.values) >= standard.need
    assert told > rounds(20)


@pytest.mark.parametrize("insiders", [0, 1])
def test_what_answers_would_make_likely_is_judged_as_of_everybody_one_by_one(insiders: int) -> None:
    domain, broken = Domain(0, TOP, 1), 0
    standard = LikelyStandard(Limit(risk=0.3), domain, insiders=insiders)
    exact = ModelStandard(Limit(risk=0.3), domain)
    for seed in range(rounds(24)):
        lumped = Lumped(SIZES[seed % len(SIZES)], seed, KINDS[seed % 2])
        told = [lumped.ask() for _ in range(2)]
        for each in told:
            lumped.tell(each)
        whole, asked = lumped.expansion(told), lumped.ask()
        cells = np.repeat(np.arange(len(lumped.sizes)), lumped.sizes)
        everybody = np.flatnonzero(np.isin(cells, np.flatnonzero(asked.weights)))
        mine, theirs = lumped.query(asked), whole.query(asked.kind, everybody)
        pairs: list[tuple[Any, Any]] = [
            (LikelyKnowledge(lumped.system, standard), LikelyKnowledge(whole, standard)),
            (ModelKnowledge(lumped.system, exact), ModelKnowledge(whole, exact)),
        ]
        for one, other in pairs:
            found = one.question([mine]).judge((asked.value,), Allowance())
            expected = other.question([theirs]).judge((asked.value,), Allowance())
            assert found.safe == expected.safe
            assert found.risk == (None if expected.risk is None else pytest.approx(expected.risk, abs=1e-9))
            broken += not found.safe
        classes = lumped.cells // 2, cells // 2
        figures = [
            risks_of_classes(each.system, each.likely, codes, domain, each.standard.baseline)
            for each, codes in zip(pairs[0], classes, strict=True)
        ]
        for name in ("records", "area", "risk", "worst_risk", "leverage"):
            a, b = (getattr(each, name) for each in figures)
            np.testing.assert_allclose(a, b, atol=1e-9)
        model = [
            model_risks(system, codes, domain)
            for system, codes in zip((lumped.system, whole), classes, strict=True)
        ]
        np.testing.assert_array_equal(model[0].records, model[1].records)
        if not model[1].estimated.any():
            np.testing.assert_allclose(model[0].area, model[1].area, atol=1e-9)
            assert model[0].baseline_area == pytest.approx(model[1].baseline_area, abs=1e-9)
    assert broken


@pytest.mark.parametrize("insiders", [0, 1])
def test_ends_and_ranges_over_lumps_say_what_they_say_of_all_people(insiders: int) -> None:
    told = 0
    for seed in range(rounds(40)):
        lumped = Lumped(SIZES[seed % len(SIZES)], seed, KINDS[seed % 2])
        system, standard = lumped.system, Standard(1, insiders=insiders)
        for _ in range(4):
            asked, off = lumped.ask(), int(lumped.chance.integers(0, 4))
            query, way = lumped.query(asked), lumped.chance.choice(["most", "least", "range"])
            low, high = asked.value - off, asked.value + off
            if way == "range":
                within = system.within(query, low, high)
                ended, low = (None, low) if within is None else within
            elif way == "most":
                ended, low = system.at_most(query, high), system.possible(query)[0]
            else:
                ended, high = system.at_least(query, low), system.possible(query)[1]
            if ended is None:
                continue
            units = low if way == "least" else high
            question = system.question([ended])
            if question.derivable:
                continue
            judgement = question.judge_true((units,), standard, Allowance())
            if judgement is None or not judgement.safe:
                continue
            told += 1
            system.accept([ended.answered(units)], question.learn([units], Allowance()))
            lumped.crowds.told(Fact(asked.kind, asked.weights, Fraction(low), Fraction(high)))
            for left in lumped.crowds.excluded():
                if insiders or left.insider is None:
                    assert longest(left.values) >= standard.need
                if left.insider is None:
                    assert _bounds_hold(lumped, left.place, left.values)
    assert told > rounds(20)


def _bounds_hold(lumped: Lumped, cell: int, values: tuple[int, ...]) -> bool:
    """Whether nothing that is possible lies outside of the interval of a cell's records."""
    found = lumped.system.bounds([lumped.first(cell)])
    return bool(found.lower[0] <= min(values) and max(values) <= found.upper[0])


@pytest.mark.parametrize("insiders", [0, 1])
def test_who_is_said_to_be_lost_for_certain_has_no_more_values_left(insiders: int) -> None:
    lost = 0
    for seed in range(rounds(60)):
        lumped = Lumped(FEW[seed % len(FEW)], seed, KINDS[seed % 2])
        standard = Standard(TOP, insiders=insiders)
        lumped.tell(lumped.ask())
        asked = lumped.ask()
        question = lumped.system.question([lumped.query(asked)])
        if question.derivable:
            continue
        for (value,), worlds in list(question.hypothetical(20).items())[:4]:
            judgement = question.certainly_lost([value], worlds, standard)
            if judgement is None:
                continue
            crowds = Crowds(lumped.sizes, lumped.crowds.values)
            crowds.left = lumped.crowds.left & lumped.crowds.agree(
                Told(asked.kind, asked.weights, value).fact
            )
            left = [each for each in crowds.excluded() if insiders or each.insider is None]
            # of tables that do not exist nothing need be true
            assert not left or min(max(each.values) - min(each.values) for each in left) <= judgement.width
            lost += 1
    assert lost
