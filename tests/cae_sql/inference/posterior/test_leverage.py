"""Leverage: what it adds up to, and whom it determines."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers, InvalidInput
from cae_sql.inference.posterior.leverage import Factor, observations
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from tests.cae_sql.inference.posterior.oracles import dense, likely
from tests.cae_sql.inference.posterior.tables import listed


def random_rows(seed: int, columns: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Independent rows of 0, 1 and −1, and variances of very different sizes."""
    chance = np.random.default_rng(seed)
    rows = chance.choice([0, 0, 1, 1, -1], (int(chance.integers(1, 12)), columns))
    keep = [0] if rows[0].any() else []
    for place in range(1, len(rows)):
        if np.linalg.matrix_rank(rows[[*keep, place]]) > len(keep):
            keep.append(place)
    return rows[keep], 10 ** chance.uniform(-2, 3, columns)


@given(st.integers(0, 10**9))
def test_leverage_adds_up_to_the_rank(seed: int) -> None:
    rows, variances = random_rows(seed)
    matrix = scipy.sparse.csc_array(rows.astype(float))
    found = Factor.of(matrix, variances).leverages(matrix, variances)
    assert found.sum() == pytest.approx(np.linalg.matrix_rank(rows))
    assert ((found >= 0) & (found <= 1)).all()


@given(st.integers(0, 10**9))
def test_all_records_leverage_and_slacks_adds_up_to_the_sums(seed: int) -> None:
    fit = likely(listed(seed).system).fit
    moving = fit.variances > 1e-9
    # beside attained extremes sums vary less than the people in them, and leverage only grows
    if moving.all() and fit.ends is None:
        total = float(fit.observed.sizes @ fit.leverage)
        assert total == pytest.approx(len(fit.observed.sums), abs=1e-6)


@given(st.integers(0, 10**9))
def test_sparse_and_dense_columns_have_the_same_leverage(seed: int) -> None:
    rows, variances = random_rows(seed, 60)
    wide = scipy.sparse.csc_array(np.hstack([rows, np.zeros((len(rows), 1_000))]))
    variances = np.append(variances, np.ones(1_000))
    narrow = scipy.sparse.csc_array(rows.astype(float))
    one = Factor.of(wide, variances).leverages(wide, variances)
    other = Factor.of(narrow, variances[:60]).leverages(narrow, variances[:60])
    assert one[:60] == pytest.approx(other, abs=1e-9)
    assert not one[60:].any()


@pytest.mark.parametrize("nobody", [0, 1_000])
def test_of_sums_that_differ_by_what_cannot_move_leverage_is_that_of_one_of_them(nobody: int) -> None:
    """Of many columns too: the inverse's entries are great there, and their differences were off by 2 %."""
    rows = np.hstack([[[1.0, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]], np.zeros((3, nobody))])
    matrix = scipy.sparse.csc_array(rows)
    variances = np.append([1.7, 0.3, 11.1, 1e-83, 0.0], np.zeros(nobody))
    found = Factor.of(matrix, variances).leverages(matrix, variances)
    assert found[:3] == pytest.approx(variances[:3] / 13.1, rel=1e-9)


def test_who_is_alone_in_a_difference_has_leverage_1_and_one_value() -> None:
    system = AnsweredSystem(500, 0, 24, 1)
    system.add_sum(range(500), 5_900)
    system.add_sum(range(1, 500), 5_883)
    assert system.leverage([0]) == pytest.approx(1)
    assert system.leverage([1, 2]) == pytest.approx(1 / 499, rel=0.05)
    values, p = system.posterior([0])
    assert values[p[0].argmax()] == 17
    assert p[0].max() == pytest.approx(1)


def test_leverage_is_that_of_the_quadratic_form_by_hand() -> None:
    system = AnsweredSystem(300, 0, 24, 1)
    halves = np.arange(300) % 2 == 0
    system.add_sum(range(300), 300 * 12)
    system.add_sum(np.flatnonzero(halves), 150 * 12)
    assert system.leverage() == pytest.approx(1 / 150)


def test_whom_no_answer_is_about_has_none_nor_has_who_has_one_value_left() -> None:
    system = AnsweredSystem(6, 0, 9, 1)
    system.add_max([0, 1], 4)
    system.add_min([0], 4)
    system.add_sum([0, 2, 3], 14)
    found = system.leverage()
    assert found[[0, 1, 4, 5]] == pytest.approx(0)
    assert found[[2, 3]] == pytest.approx(0.5)


def test_a_range_is_an_observation_with_the_variance_of_its_width() -> None:
    system, variance = AnsweredSystem(100, 0, 24, 1), (25**2 - 1) / 12
    system.add_range(range(100), 1_200 - 30, 1_200 + 30)
    expected = variance / (100 * variance + (61**2 - 1) / 12)
    assert system.leverage() == pytest.approx(expected)


def test_two_ends_of_one_sum_are_one_observation_and_no_more_than_the_sum_itself() -> None:
    system = AnsweredSystem(40, 0, 24, 1)
    system.add_range(range(30), 350, 370)
    seen = likely(system).fit.observed
    assert len(seen.sums) == 1
    assert (seen.sizes[seen.people :], seen.high[seen.people :]) == ([1], [20])
    exact = AnsweredSystem(40, 0, 24, 1)
    exact.add_sum(range(30), 360)
    assert (system.leverage()[:30] < exact.leverage()[:30]).all()
    system.add_sum(range(30), 360)
    assert system.leverage() == pytest.approx(exact.leverage())


def test_ends_that_leave_nothing_between_them_are_a_contradiction() -> None:
    system = AnsweredSystem(200, 0, 24, 1)
    for low, high in ((350, 370), (380, 390)):
        query = system.query("sum", np.arange(30))
        told, _ = system.within(query, low, high)  # type: ignore[misc]
        system.accept([told.answered(high)])
    # the first leaves 24 below its end, the second as much
    observed = observations(likely(system).known, likely(system).sums)
    assert len(observed.sums) == 1
    query = system.query("sum", np.arange(30))
    system.accept([query.answered(800)])
    with pytest.raises(InconsistentAnswers):
        system.leverage()


def test_spare_records_of_an_end_of_a_maximum_are_in_no_sum() -> None:
    system = AnsweredSystem(40, 0, 24, 1)
    system.add_sum(range(30), 360)
    before = system.leverage()
    # "at most 20": somebody, or a spare record, has 20
    system.accept([system.query("max", np.append(np.arange(30, 40), 40)).answered(20)])
    system.add_min(range(30, 40), 2)  # of which the spare record is none
    assert system.leverage() == pytest.approx(before)


def test_leverage_follows_a_prior() -> None:
    odds = np.exp(-np.arange(25) / 4.0)
    prior = Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds / odds.sum())
    system = AnsweredSystem(12, 0, 24, 1, prior=prior)
    p = odds / odds.sum()
    mean = float(p @ np.arange(25))
    system.add_sum(range(12), round(12 * mean))
    assert system.leverage() == pytest.approx(1 / 12)


def test_a_fine_grid_needs_no_list_of_its_values() -> None:
    system = AnsweredSystem(50_000, 0, 1_000_000, "0.01")
    system.add_mean(range(1_000), 400_000)
    assert system.leverage([0, 2_000]) == pytest.approx([0.001, 0])
    with pytest.raises(InvalidInput):
        AnsweredSystem(3, 0, 1).leverage()


@pytest.mark.parametrize("seed", range(6))
def test_small_systems_are_counted(seed: int) -> None:
    small = dense(seed, 8, 2, 4)
    found = small.system.likelihood()
    assert found.counted.all()
    _, p = small.system.posterior()
    for record in range(8):
        assert p[record] == pytest.approx(small.posterior(record), abs=1e-9)
