"""Margins of weighted sums and spreads, held against every table of small parts that moves lead to."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import floor
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.certify.coverage import certified_runs
from cae_sql.inference.certify.question import Conditions, Question
from cae_sql.inference.facts.extremes import Pins
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.ranges import Bound, held_in
from cae_sql.inference.facts.units import Occupied
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.margins import Soft, alike_in
from tests.quick import rounds


def exactly(query: Query, table: list[int]) -> int:
    """The statistic by its definition, in fractions."""
    picked = [table[member] for member in query.members]
    if query.kind == "weighted":
        assert query.coefficients is not None
        return sum(int(w) * x for w, x in zip(query.coefficients, picked, strict=True))
    mean = Fraction(sum(picked), len(picked))
    return floor(sum((x - mean) ** 2 for x in picked))


@given(
    st.lists(st.integers(0, 9), min_size=4, max_size=6),
    st.lists(st.integers(-5, 7).filter(bool), min_size=4, max_size=4),
)
def test_answers_are_the_statistics(table: list[int], some: list[int]) -> None:
    for query in (
        Query(kind="weighted", members=np.arange(4), coefficients=np.array(some)),
        Query(kind="spread", members=np.arange(len(table))),
    ):
        assert query.of(np.array(table)) == exactly(query, table)
        assert query.of(np.array([table, table])).tolist() == [exactly(query, table)] * 2


class Moved:
    """Some parts, a table, and moves for a record and an insider."""

    def __init__(self, chance: np.random.Generator, kind: str) -> None:
        self.sizes = chance.integers(1, 5, int(chance.integers(1, 4)))
        self.labels, count = np.repeat(np.arange(len(self.sizes)), self.sizes), len(self.sizes)
        self.top, self.insiders = int(chance.integers(2, 9)), int(chance.integers(2))
        low = chance.integers(0, self.top + 1, count)
        high = np.minimum(low + chance.integers(0, self.top + 1, count), self.top)
        self.boxes = cast(
            Any,
            SimpleNamespace(
                sizes=self.sizes,
                low=low,
                high=high,
                own=(np.zeros_like(low), np.full_like(low, self.top)),
                atoms=SimpleNamespace(occupied=Occupied.alone(self.sizes)),
            ),
        )
        self.totals = chance.integers(low * self.sizes, high * self.sizes + 1)
        self.pins = Pins(np.zeros_like(low), np.zeros_like(low))
        if chance.random() < 0.3:
            part = int(chance.integers(count))
            rest, left = self.totals[part] - high[part], self.sizes[part] - 1
            if left and left * low[part] <= rest <= left * high[part]:
                self.pins.top[part] = 1
        wide = chance.integers(0, 3, count) * int(chance.random() < 0.3)
        self.tables = Tables(
            np.maximum(self.totals - wide, low * self.sizes),
            np.minimum(self.totals + wide, high * self.sizes),
        )
        weights = chance.integers(-5, 8, len(self.labels)) if kind == "weighted" else None
        self.query = Query(kind=cast(Any, kind), members=np.arange(len(self.labels)), coefficients=weights)
        self.need = 1 if chance.random() < 0.5 else int(chance.integers(1, self.top + 1))

    def move(self, chance: np.random.Generator) -> bool:
        """Whether a record, and another, have somewhere to go."""
        count, loose = len(self.sizes), self.sizes - self.pins.count
        self.rest = self.totals - self.pins.top * self.boxes.high
        able = np.flatnonzero(loose > 0)
        if not len(able):
            return False
        self.paid, self.changed = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.prices, self.special = list[tuple[int, Any, Any]](), list[tuple[int, int]]()
        for number in range(1 + self.insiders):
            part = int(chance.choice(able))
            at = self.rest[part] / loose[part]
            start = int(floor(at) if chance.random() < 0.5 else -floor(-at))
            reach = self.need if number == 0 else self.top
            goal = int(np.clip(start + chance.integers(-reach, reach + 1), 0, self.top))
            mine = int(chance.integers(min(goal - start, 0), max(goal - start, 0) + 1))
            others = chance.integers(-self.top, self.top + 1, count) * (np.arange(count) != part)
            others *= chance.integers(0, 2, count)
            if chance.random() < 0.5:  # as far as may be, paid by one side alone
                goal = int(np.clip(start + reach * chance.choice([-1, 1]), 0, self.top))
                mine = int(chance.choice([0, goal - start]))
                others *= (np.arange(count) == chance.integers(count)) * chance.integers(0, 2)
            self.prices.append((mine, part, others))
            self.special.append((part, goal))
            self.changed += others
            self.changed[part] += mine
        return all(
            sum(one == part for one, _ in self.special) <= loose[part] for part, _ in self.special
        )  # fmt: skip

    def price(self, gradient: np.ndarray, cost: np.ndarray) -> float:
        """Of all moves."""
        return float(
            sum(
                abs(gradient[part] * mine + gradient @ others) + cost @ np.abs(others)
                for mine, part, others in self.prices
            )
        )

    def reached(self) -> Iterator[list[int]]:
        """Tables that they lead to; empty where somebody would have to leave his box."""
        ways = list[list[list[int]]]()
        for part, size in enumerate(self.sizes):
            fixed = [value for one, value in self.special if one == part]
            fixed += [int(self.boxes.high[part])] * int(self.pins.top[part])
            others, left = int(size) - len(fixed), int(self.totals[part] + self.changed[part]) - sum(fixed)
            if others < 0 or not others * self.boxes.low[part] <= left <= others * self.boxes.high[part]:
                return
            each, more = divmod(left, others) if others else (0, 0)
            # whoever has one more, and whoever is where: fixed ones are the first
            ways.append([
                [*fixed, *(each + (place in chosen) for place in range(others))]
                for chosen in combinations(range(others), more)
            ])  # fmt: skip
        for each_part in product(*ways):
            yield [value for part in each_part for value in part]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["weighted", "spread"])
def test_whoever_pays_no_more_than_the_budget_leaves_the_statistic_inside(kind: str) -> None:
    """One end at a time, as near as the moves' price lets it be."""
    looked, nearest = 0, np.inf
    for seed in range(rounds(100)):
        chance = np.random.default_rng([seed, kind == "spread"])
        moved = Moved(chance, kind)
        for _ in range(60):
            tables = list(moved.reached()) if moved.move(chance) else []
            if not tables:
                continue
            found = [exactly(moved.query, table) for table in tables]
            for upper in (False, True):
                end = least_end(moved, upper)
                if end is None:
                    continue
                looked += 1
                # of a weighted sum it is free who has one more; of a spread it costs nothing to be anybody
                reached = (max if upper == (kind == "spread") else min)(found)
                away = end - reached if upper else reached - end
                nearest = min(nearest, away)
                assert away >= 0, (seed, upper, found, end)
    assert looked > rounds(100)
    assert nearest <= 4, "the bound is tight somewhere"


def least_end(moved: Moved, upper: bool) -> int | None:
    """The innermost end of a range with a budget that pays for the moves; by halves."""
    low, high = -3000, 3000
    while high - low > 1:
        end = (low + high) // 2
        least, most = (None, end) if upper else (-end, None)
        found = Soft(Bound(moved.query, least, most, 1), moved.labels, moved.sizes, several=False).over(
            moved.boxes, moved.pins, moved.tables, moved.need, moved.insiders
        )
        enough = found is not None and moved.price(*found[:2]) <= found[2]
        low, high = (low, end) if enough else (end, high)
    if high == 3000:
        return None
    return high if upper else -high


def test_some_way_to_round_costs_a_weighted_sum_no_more_than_is_said() -> None:
    nearest = np.inf
    for seed in range(rounds(400)):
        moved = Moved(np.random.default_rng([seed, 2]), "weighted")
        soft = Soft(Bound(moved.query, 0, 0, 1), moved.labels, moved.sizes, several=False)
        moved.special, moved.changed = [], np.zeros(len(moved.sizes), dtype=np.int64)
        moved.pins = Pins(np.zeros_like(moved.sizes), np.zeros_like(moved.sizes))
        off = [abs(exactly(moved.query, table) - soft.mean @ moved.totals) for table in moved.reached()]
        assert min(off) <= soft.rounding + 1e-9
        nearest = min(nearest, soft.rounding - min(off)) if soft.rounding else nearest
    assert nearest < 2


def test_members_of_one_bin_have_like_weights_and_all_are_in_one() -> None:
    weights = np.array([1, 5, 5, 90, -7, 40])
    query = Query(kind="weighted", members=np.arange(10, 16), coefficients=weights)
    bins = alike_in(query)
    assert sorted(np.concatenate([each.members for each in bins]).tolist()) == list(range(10, 16))
    for each in bins:
        inside = weights[each.members - 10]
        assert inside.max() - inside.min() <= (90 + 7 + 8) / 8
    assert len(alike_in(Query(kind="spread", members=np.arange(3)))) == 1


def test_a_range_whose_members_share_parts_with_others_is_not_kept() -> None:
    query = Query(kind="spread", members=np.arange(3))
    found = Soft(Bound(query, 0, 10**9, 10**9), np.zeros(4, dtype=np.int64), np.array([4]), several=False)
    assert not found.whole


def test_what_payments_square_is_charged_where_many_pay() -> None:
    """In the middle of the domain, so that nothing is linear: six parts of two pay, one up, one down."""
    low, high = np.zeros(7, dtype=np.int64), np.full(7, 40)
    sizes = np.array([1, *[2] * 6])
    labels, totals, none = np.repeat(np.arange(7), sizes), sizes * 20, Pins(low, low)
    atoms = SimpleNamespace(occupied=Occupied.alone(sizes))
    boxes = cast(Any, SimpleNamespace(sizes=sizes, low=low, high=high, own=(low, high), atoms=atoms))
    query, by = Query(kind="spread", members=np.arange(13)), np.array([1, 30, -30, 30, -30, 30, -31])
    reached = np.repeat((totals + by) / sizes, sizes)
    spread, paid = float(((reached - reached.mean()) ** 2).sum()), 0
    for most in range(50, 100_000, 50):
        soft = Soft(Bound(query, None, most, 1), labels, sizes, several=False)
        found = soft.over(boxes, none, Tables(totals, totals), 1, 0)
        if found is None:
            continue
        gradient, cost, budget = found
        if abs(gradient @ by) + cost[1:] @ np.abs(by[1:]) <= budget:
            assert spread <= most
            paid += 1
    assert paid


def test_a_range_is_kept_where_extremes_leave_everybody_near_already() -> None:
    """Then nobody is held, which once was taken to mean that no range is known."""
    system, members = AnsweredSystem(60, 0, 8, 1), np.arange(50)
    system.accept([Query(kind="min", members=members).answered(3)])
    system.accept([Query(kind="max", members=members).answered(5)])
    bound = Bound(Query(kind="spread", members=members), 20, 40, 21)
    boxes = system.roomy_table.boxes
    each = boxes.low[boxes.atoms.labels], boxes.high[boxes.atoms.labels]
    held = held_in([bound], np.full(60, 4), each, 1)
    assert held == []
    question = Question(system.roomy_table, system.pool(), [], Conditions(held, np.full(60, 4), [bound]))
    assert len(question.question_tables.softs) == 1
    assert not question.is_one_by_one(Standard(1)), "searches know nothing of ranges"
    low, high = certified_runs(system.roomy_table, held, [bound])
    assert low.shape == high.shape == (60,)
