"""Between which values past answers leave statistics, held against all tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.certify import known_anyway as module
from cae_sql.inference.certify.known_anyway import BITS, KnownAnyway, Terms
from cae_sql.inference.facts.query import Query
from cae_sql.inference.solver import Outcome, Program

KINDS = ("sum", "count", "quantile", "weighted", "spread")


def asked(rng: np.random.Generator, kind: str, size: int, top: int) -> Query:
    """One such query about some of the records."""
    members = np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False))
    if kind == "count":
        low = int(rng.integers(0, top + 1))
        high = int(rng.integers(low, top + 1))
        region = ((low, high), (top, top)) if high + 1 < top and rng.random() < 0.5 else ((low, high),)
        return Query(kind="count", members=members, region=region)
    if kind == "quantile":
        rank = int(rng.integers(0, len(members)))
        ranks = (rank, min(rank + int(rng.integers(0, 2)), len(members) - 1))
        return Query(kind="quantile", members=members, ranks=ranks, part=Fraction(ranks[1] - rank, 3))
    if kind == "weighted":
        weights = rng.choice([-3, -1, 1, 2, 5], len(members)).astype(np.int64)
        return Query(kind="weighted", members=members, coefficients=weights)
    return Query(kind=kind, members=members)  # type: ignore[arg-type]


def told(rng: np.random.Generator, size: int, top: int) -> tuple[AnsweredSystem, NDArray[np.int64]]:
    """A system with some answers, and all tables that agree with them."""
    truth = rng.integers(0, top + 1, size)
    tables = np.array(list(product(range(top + 1), repeat=size)), dtype=np.int64)
    system = AnsweredSystem(size, 0, top, 1)
    for _ in range(int(rng.integers(0, 4))):
        members = np.flatnonzero(rng.random(size) < 0.7)
        if not len(members):
            continue
        kind = str(rng.choice(["sum", "sum", "sum", "max", "min"]))
        query = Query(kind=kind, members=members)  # type: ignore[arg-type]
        value = int(query.of(truth))
        {"sum": system.add_sum, "max": system.add_max, "min": system.add_min}[kind](members, value)
        tables = tables[query.of(tables) == value]
    return system, tables


@given(st.integers(0, 10**6), st.sampled_from(KINDS))
@example(292, "sum")
def test_every_table_that_agrees_has_a_value_inside(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    size, top = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    system, tables = told(rng, size, top)
    query = asked(rng, kind, size, top)
    found = KnownAnyway(system.roomy_table, UNLIMITED).between(query)
    if found is None:
        assert not system.roomy_table.usable
        return
    values = query.of(tables)
    assert found[0] <= values.min()
    assert values.max() <= found[1]


@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_whatever_a_solver_says_nothing_wrong_follows(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    size, top = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    system, tables = told(rng, size, top)
    query, rank = asked(rng, kind, size, top), system.roomy_table.rank

    def minimise(*_: object, **__: object) -> Outcome:
        return Outcome("optimal", 0.0, np.zeros(0), rng.normal(0, 2, rank))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "minimise", minimise)
        found = KnownAnyway(system.roomy_table, UNLIMITED).between(query)
    if found is not None:
        values = query.of(tables)
        assert found[0] <= values.min()
        assert values.max() <= found[1]


@given(st.integers(0, 10**6), st.sampled_from(("count", "weighted", "squares")), st.sampled_from((1, -1)))
def test_the_least_of_each_term_is_that_of_all_values(seed: int, kind: str, sign: int) -> None:
    rng = np.random.default_rng(seed)
    count, top = 6, int(rng.integers(1, 12))
    low = rng.integers(0, top + 1, count)
    weights = rng.choice([-2, 1, 3], count) if kind == "weighted" else rng.integers(0, 2, count)
    first = int(rng.integers(0, top + 1))
    terms = Terms(
        np.arange(count), np.ones(count, dtype=np.int64), low, rng.integers(low, top + 1), weights, kind,
        ((first, int(rng.integers(first, top + 1))),), int(rng.integers(0, top + 1)), sign,
    )  # fmt: skip
    slopes = (rng.normal(0, 3, count) * 2**BITS).astype(np.int64)
    for place, (least, most) in enumerate(zip(terms.low, terms.high, strict=True)):
        values = np.arange(least, most + 1)
        each = [int(terms.of(np.full(count, value))[place]) << BITS for value in values]
        all_of_them = np.array(each) - slopes[place] * values
        assert terms.least(slopes)[place] == all_of_them.min()


def crowd() -> AnsweredSystem:
    """Forty people between 0 and 20 who have 5 on average, the first ten of them 2."""
    system = AnsweredSystem(40, 0, 20, 1)
    system.add_sum(range(40), 200)
    system.add_sum(range(10), 20)
    return system


def known(system: AnsweredSystem, query: Query) -> tuple[int, int] | None:
    return KnownAnyway(system.roomy_table, UNLIMITED).between(query)


EVERYBODY = np.arange(40)


def test_of_a_count_as_many_are_left_as_the_sums_can_pay_for() -> None:
    # of ten who have 20 two can have 10, of thirty who have 180 eighteen
    assert known(crowd(), Query(kind="count", members=EVERYBODY, region=((10, 20),))) == (0, 20)
    # the others have 9 at most: nobody of the ten need have more than that
    rest = Query(kind="count", members=EVERYBODY[10:], region=((0, 9),))
    assert known(crowd(), rest) == (12, 30)


def test_a_sum_is_known_as_narrowly_as_the_others_make_it() -> None:
    system = AnsweredSystem(6, 0, 10, 1)
    system.add_sum([0, 1, 2, 3], 12)
    system.add_sum([0, 1], 5)
    assert known(system, system.query("sum", np.array([1, 2, 3, 4]))) == (7, 22)


@pytest.mark.parametrize("multiplier", [np.nan, 2.0 * module.MOST])
def test_multipliers_that_whole_numbers_do_not_hold_prove_nothing(
    multiplier: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def minimise(*_: object, **__: object) -> Outcome:
        return Outcome("optimal", 0.0, np.zeros(0), np.array([multiplier, 0.0]))

    monkeypatch.setattr(Program, "minimise", minimise)
    assert known(crowd(), Query(kind="sum", members=EVERYBODY[5:])) is None


def test_half_of_some_people_cannot_have_much_more_than_twice_their_mean() -> None:
    median = Query(kind="quantile", members=EVERYBODY, ranks=(19, 20), part=Fraction(1, 2))
    assert known(crowd(), median) == (0, 10)


def test_a_weighted_sum_is_known_where_weights_go_with_what_was_asked() -> None:
    weights = np.where(EVERYBODY < 10, 3, 1)
    assert known(crowd(), Query(kind="weighted", members=EVERYBODY, coefficients=weights)) == (240, 240)


def test_a_spread_is_no_less_than_that_between_the_groups() -> None:
    # means of 2 and 6, and 5 of all: 10 · 9 + 30 · 1; at most one of ten has 20, nine of thirty
    assert known(crowd(), Query(kind="spread", members=EVERYBODY)) == (120, 20 * 200 - 25 * 40)


def test_what_whole_numbers_do_not_hold_is_not_said() -> None:
    system = AnsweredSystem(3, 0, 2**30, 1)
    system.add_sum([0, 1, 2], 100)
    assert known(system, Query(kind="spread", members=np.arange(3))) is None
    assert known(system, Query(kind="count", members=np.arange(3), region=((60, 2**30),))) == (0, 1)


def test_of_too_large_a_system_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", 3)
    assert known(crowd(), Query(kind="count", members=EVERYBODY, region=((10, 20),))) is None


@pytest.mark.parametrize("steps", [0, 8])
def test_how_much_work_there_is_decides_what_is_known(steps: int) -> None:
    """Not the clock: of two rows and six columns one iteration is begun."""
    query = Query(kind="count", members=EVERYBODY, region=((10, 20),))
    assert KnownAnyway(crowd().roomy_table, Allowance(steps)).between(query) is None
