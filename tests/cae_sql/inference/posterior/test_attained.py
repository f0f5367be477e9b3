"""Answered extremes as a mixture over who attains them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.posterior import attained
from cae_sql.inference.system import AnsweredSystem
from tests.cae_sql.inference.posterior.oracles import all_tables, by_formula, likely, risk, variation
from tests.quick import some


def extremes(seed: int, sums: int = 0, size: int = 5, top: int = 4) -> tuple[AnsweredSystem, np.ndarray]:
    """Some maxima and minima, and sums, with every table that agrees."""
    chance = np.random.default_rng(seed)
    true, tables = chance.integers(0, top + 1, size), all_tables(size, top)
    system = AnsweredSystem(size, 0, top, 1)
    for kind in [*chance.choice(["max", "min"], int(chance.integers(1, 5))).tolist(), *["sum"] * sums]:
        members = np.flatnonzero(chance.random(size) < 0.6)
        if len(members) < 2:
            continue
        query = system.query(kind, members)
        told = int(query.of(true))
        system.accept([query.answered(told)])
        tables = tables[query.of(tables) == told]
    return system, tables


@given(st.integers(0, 10**9))
def test_without_sums_the_mixture_is_exact(seed: int) -> None:
    system, tables = extremes(seed)
    rows = by_formula(system)
    for record in range(5):
        exact = np.bincount(tables[:, record], minlength=5) / len(tables)
        assert rows[record] == pytest.approx(exact, abs=1e-9)


def test_equal_maxima_say_who_is_in_all_of_them() -> None:
    system = AnsweredSystem(4, 0, 24, 1)
    for other in (1, 2, 3):
        system.add_max([0, other], 24)
    rows = by_formula(system)
    others = 1 / 25**3
    assert rows[0][24] == pytest.approx(1 / (1 + 24 * others), rel=1e-9)
    assert rows[1][24] == pytest.approx((1 / 25 + 24 * others) / (1 + 24 * others), rel=1e-9)


def test_more_extremes_than_are_counted_together_are_taken_one_by_one() -> None:
    system = AnsweredSystem(30, 0, 9, 1)
    for place in range(8):
        system.add_max(np.arange(place, place + 10), 9)
    rows = by_formula(system)
    assert rows.sum(axis=1) == pytest.approx(1)
    assert (rows[:17, 9] >= 0.1).all()


def test_a_maximum_that_everybody_may_attain_makes_it_hardly_likelier() -> None:
    system = AnsweredSystem(2_000, 0, 24, 1)
    system.add_max(range(2_000), 24)
    assert system.posterior([0])[1][0] == pytest.approx(1 / 25, abs=1e-9)


def test_windows_of_several_units_hold_who_attains_in_the_last_one() -> None:
    from cae_sql.domain import Domain

    system = AnsweredSystem(3, 0, 99, 1)
    system.add_max([0, 1, 2], 59)
    fine = by_formula(system)[0]
    likely = system._likely(Domain(0, 90, 10), None)
    coarse = likely.formula[likely.known.atoms.labels[0]]
    assert coarse == pytest.approx(fine.reshape(10, 10).sum(axis=1), abs=1e-9)
    assert coarse[5] > 0.35


@pytest.mark.slow
@pytest.mark.parametrize("sums", some([1, 2], 1))
def test_with_sums_beside_it_is_off_by_so_much_where_there_are_five_records(sums: int) -> None:
    off, below, counted = [], [], []
    for seed in range(25):
        system, tables = extremes(seed, sums)
        rows, known = by_formula(system), system.posterior()[1]
        for record in range(5):
            exact = np.bincount(tables[:, record], minlength=5) / len(tables)
            off.append(variation(exact, rows[record]))
            below.append(risk(exact) - risk(rows[record]))
            counted.append(variation(exact, known[record]))
    assert max(counted) < 1e-6
    assert np.median(off) < 0.15
    assert np.quantile(below, 0.9) < 0.2


def of_many(seed: int, size: int) -> AnsweredSystem:
    """Sums by a key, and extremes of everybody and of some."""
    chance = np.random.default_rng(seed)
    system, true = AnsweredSystem(size, 0, 24, 1), np.minimum(chance.geometric(0.15, size) - 1, 24)
    key = chance.integers(0, 4, size)
    true[key == 0], true[:2] = np.minimum(true[key == 0], 20), (0, 24)
    groups = [np.flatnonzero(key == level) for level in range(4)]
    for kind, members in [("max", np.arange(size)), ("min", np.arange(size)), ("max", groups[0])]:
        query = system.query(kind, members)
        system.accept([query.answered(int(query.of(true)))])
    for members in groups:
        query = system.query("sum", members)
        system.accept([query.answered(int(query.of(true)))])
    return system


@given(st.integers(0, 10**6), st.sampled_from([40, 400, 4_000]))
def test_extremes_that_hundreds_may_attain_can_be_left_out(seed: int, size: int) -> None:
    found = likely(of_many(seed, size))
    assert len(found.rows) > 0  # as it is, before anything is changed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attained, "NEVER", 1e-300)  # then everything is reckoned with
        whole = likely(of_many(seed, size))
        assert found.rows == pytest.approx(whole.rows, abs=1e-5)
        assert len(found._attaining[0]) <= len(whole._attaining[0])


def test_of_thousands_none_is_reckoned_with_and_of_tens_all_are() -> None:
    assert not len(likely(of_many(1, 40_000))._attaining[0])
    some = likely(of_many(1, 40))
    assert len(some._attaining[0]) == some.fit.observed.people


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_rows_of_some_are_those_of_all(seed: int) -> None:
    chance = np.random.default_rng(seed)
    for system in (of_many(seed, 300), extremes(seed, sums=2)[0]):
        found = likely(system)
        some = np.flatnonzero(chance.random(len(found.rows)) < 0.3)
        assert found.rows_of(some) == pytest.approx(found.rows[some], abs=1e-12)
