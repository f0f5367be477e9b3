"""Many distributions at once: each as if it were alone, whichever way its shape allows is taken."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql import InvalidInput, cae_area, cae_curve, cae_entropy
from cae_sql.measure import batch, lanes
from cae_sql.measure.rows import Lists, sort

Row = NDArray[np.float64]


def flat(rows: list[Row]) -> Lists:
    end = np.cumsum([row.size for row in rows]).astype(np.int64)
    return Lists(np.concatenate(rows), np.concatenate([[0], end[:-1]]), end)


def shapes(rng: np.random.Generator) -> list[Row]:
    """Every shape that has a way of its own, and those at the limits between."""
    grid = [np.arange(n) * 10.0 for n in (1, 2, 3, 25, 32, 33, 127, 128, 129)]
    gaps = [
        np.sort(rng.choice(most, n, replace=False)) / 10.0
        for n, most in ((2, 9), (5, 33), (20, 129), (90, 140))
    ]
    wide = [rng.choice(10**9, n, replace=False) * 1.0 for n in (3, 25, 40, 128, 129)]
    floats = [rng.random(n) for n in (3, 30)]
    repeated = [rng.integers(0, 20, n) * 2.5 for n in (4, 60, 300)]
    extreme = [np.array([-1e308, 0.0]), np.array([1e300, 2e300, 2.5e300]), np.array([0.3, 0.1 + 0.2, 0.7])]
    return [*grid, *gaps, *wide, *floats, *repeated, *extreme]


@pytest.mark.parametrize("weighted", [False, True])
def test_every_shape_is_measured_as_if_it_were_alone(weighted: bool) -> None:
    rng = np.random.default_rng(5)
    rows = shapes(rng)
    weights = [
        np.concatenate([[1.0], rng.random(row.size - 1) * (rng.random(row.size - 1) < 0.8)]) for row in rows
    ]
    given_weights = flat(weights) if weighted else None
    live = np.ones(len(rows), np.bool_)
    areas = batch.areas(flat(rows), given_weights, live)
    lower, upper = batch.area_bounds(flat(rows), given_weights, np.full(len(rows), 1e-3), live)
    epsilon, entropy, begins = batch.curves(flat(rows), given_weights, live)
    for k, row in enumerate(rows):
        curve = cae_curve(row, weights[k] if weighted else None)
        assert areas[k] == pytest.approx(curve.area, rel=1e-12)
        assert lower[k] == upper[k] == areas[k]
        steps = slice(begins[k], begins[k + 1])
        np.testing.assert_allclose(epsilon[steps], curve.epsilon, rtol=1e-12)
        np.testing.assert_allclose(entropy[steps], curve.entropy, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 2.5, 20.0, 30.000000000000004, 1e9, 1e308])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_width_is_compared_as_a_decimal(epsilon: float, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    rows = shapes(rng)
    weights = [rng.random(row.size) for row in rows]
    found = batch.entropies(
        flat(rows),
        flat(weights) if weighted else None,
        np.full(len(rows), epsilon),
        np.ones(len(rows), np.bool_),
    )
    for k, row in enumerate(rows):
        alone = cae_entropy(row, weights[k] if weighted else None, epsilon)
        assert found[k] == pytest.approx(alone, rel=1e-10, abs=1e-13)


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.7 - 0.4, 0.5]), min_size=1, max_size=6),
       st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7 - 0.6]))  # fmt: skip
def test_values_a_rounding_apart_are_one_exactly_where_they_are_for_a_single_distribution(
    row: list[float], epsilon: float
) -> None:
    found = batch.entropies(flat([np.array(row)]), None, np.array([epsilon]), np.ones(1, np.bool_))
    assert found[0] == pytest.approx(cae_entropy(row, None, epsilon), abs=1e-13)


def test_rows_of_more_than_a_thousand_values_have_an_area_within_the_stated_error() -> None:
    rng = np.random.default_rng(8)
    x, p = np.arange(1_200.0), rng.random(1_200)
    live = np.ones(2, np.bool_)
    areas = batch.areas(flat([x, x]), flat([p, np.ones(1_200)]), live)
    lower, upper = batch.area_bounds(flat([x, x]), flat([p, np.ones(1_200)]), np.full(2, 1e-3), live)
    assert areas[0] == pytest.approx(cae_area(x, p), rel=batch.RELATIVE_ERROR)
    assert lower[0] <= cae_area(x, p) <= upper[0]
    assert lower[1] == upper[1] == areas[1] == pytest.approx(cae_area(x), rel=1e-12)


def test_long_rows_of_extremes_have_bounds_or_an_error_of_their_row() -> None:
    wide = np.concatenate(
        [np.array([1e-300, 0.1 + 0.2, 0.3]), np.random.default_rng(9).random(1_100) * 1e300]
    )
    live = np.ones(1, np.bool_)
    lower, upper = batch.area_bounds(flat([wide]), None, np.array([0.01]), live)
    assert 0 < lower[0] <= upper[0] <= lower[0] * 1.0201
    assert batch.entropies(flat([wide]), None, np.array([2e300]), live)[0] == 0
    too_wide = np.concatenate([np.array([-1.7e308, 1.7e308]), wide])
    with pytest.raises(InvalidInput, match=r"^row 0: the values lie further apart than a float can tell"):
        batch.areas(flat([too_wide]), None, live)


def test_rows_that_are_not_live_are_nan_and_never_looked_at() -> None:
    rows = flat([np.array([math.nan]), np.array([50.0, 107.0])])
    live = np.array([False, True])
    assert np.isnan(batch.areas(rows, None, live)).tolist() == [True, False]
    assert batch.curves(rows, None, live)[2].tolist() == [0, 0, 2]


def test_values_too_far_apart_for_a_float_are_an_error_of_their_row() -> None:
    rows = flat([np.array([1.0]), np.array([-1.7e308, 1.7e308])])
    with pytest.raises(InvalidInput, match=r"^row 1: the values lie further apart than a float can tell"):
        batch.areas(rows, None, np.ones(2, np.bool_))


@given(st.lists(st.integers(0, 50), max_size=200))
def test_sorting_takes_the_weights_along(numbers: list[int]) -> None:
    x = np.array([7.0, *numbers, 9.0])
    p = x * 2
    sort(x, p, 1, len(numbers))
    assert x.tolist() == [7.0, *sorted(numbers), 9.0]
    assert p.tolist() == (x * 2).tolist()


def test_the_fast_logarithm_is_right_to_the_last_digits() -> None:
    near_one = [1 - 2.0**-k for k in range(1, 53)]
    for q in [*np.random.default_rng(0).random(2_000).tolist(), *near_one, 1e-300, 1e-30]:
        assert lanes.f(q) == pytest.approx(-q * math.log2(q), rel=2e-15)
    assert lanes.f(0.0) == lanes.f(1.0) == 0.0
