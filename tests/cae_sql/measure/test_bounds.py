"""Certified bounds of the area: the exact one lies between them, and they are as close as was asked for."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql import InvalidInput
from cae_sql.errors import ExactIsSlow
from cae_sql.measure import bounds, cae_area, curve

Floats = NDArray[np.float64]

SPACINGS = {
    "decimals": lambda rng, n: np.sort(rng.choice(10 * n, n, replace=False)) / 10.0,
    "floats": lambda rng, n: np.sort(rng.random(n)),
    "clusters": lambda rng, n: np.unique(np.round(rng.normal(0, 1, n) + 1000 * rng.integers(0, 4, n), 4)),
    "a long tail": lambda rng, n: np.unique(np.round(rng.pareto(0.8, n) * 100, 3)),
}
WEIGHTS = {
    "equal": lambda rng, n: np.full(n, 1 / n),
    "counts": lambda rng, n: rng.integers(1, 6, n) / 1.0,
    "uneven": lambda rng, n: rng.random(n) ** 6 + 1e-12,
    "one that is nearly certain": lambda rng, n: np.concatenate([[1e9], rng.random(n - 1)]),
}


def drawn(spacing: str, weights: str, n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = SPACINGS[spacing](rng, n)
    p = WEIGHTS[weights](rng, x.size)
    return x, p / p.sum()


@given(
    st.sampled_from(sorted(SPACINGS)),
    st.sampled_from(sorted(WEIGHTS)),
    st.integers(2, 90),
    st.sampled_from([0.3, 0.01, 1e-3, 1e-6, 0.0]),
    st.integers(0, 2**32 - 1),
)
def test_bounds_contain_the_exact_area_and_are_as_close_as_was_asked_for(
    spacing: str, weights: str, n: int, wanted: float, seed: int
) -> None:
    x, p = drawn(spacing, weights, n, seed)
    low, high = bounds.area_bounds(x, p, wanted)
    area = cae_area(x, p)
    rounding = 1e-12 * (1 + math.log2(x.size)) * (x[-1] - x[0])
    assert low - rounding <= area <= high + rounding
    assert high - low <= 2 * wanted * low + rounding


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("weights", ["equal", "uneven"])
def test_of_hundreds_of_values_too(spacing: str, weights: str) -> None:
    for seed in range(2):
        x, p = drawn(spacing, weights, 700, seed)
        area = cae_area(x, p)
        for wanted in (0.0, 1e-3):
            low, high = bounds.area_bounds(x, p, wanted)
            assert low * (1 - 1e-11) <= area <= high * (1 + 1e-11)
            assert (high - low) / 2 <= wanted * low * (1 + 1e-12) + 1e-12 * low


def test_paths_that_are_equally_good_but_for_rounding_are_all_kept() -> None:
    x = np.sort(np.random.default_rng(0).choice(10**6, (25, 1_000))[24])
    x = np.unique(x - x[0]).astype(np.float64)
    p = np.full(x.size, 1 / x.size)
    assert bounds.area_bounds(x, p, 0.0) == pytest.approx((cae_area(x, p),) * 2, rel=1e-12)


@pytest.mark.parametrize("weights", ["equal", "uneven"])
def test_both_algorithms_and_weights_with_and_without_a_table_find_the_same(
    weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, p = drawn("floats", weights, 400, 3)
    low, high = bounds.area_bounds(x, p, 1e-3)
    monkeypatch.setattr(bounds, "TABLE_LIMIT", 0)
    assert bounds.area_bounds(x, p, 1e-3) == pytest.approx((low, high), rel=1e-12)
    few, some = bounds.area_bounds(x[:40], p[:40] / p[:40].sum(), 0.0)
    assert few == pytest.approx(cae_area(x[:40], p[:40]), rel=1e-12) == some
    assert low <= cae_area(x, p) <= high


def test_a_single_value_has_no_area_and_two_are_exact() -> None:
    assert bounds.area_bounds(np.zeros(1), np.ones(1)) == (0.0, 0.0)
    assert bounds.area_bounds(np.array([50.0, 107.0]), np.full(2, 0.5)) == (57.0, 57.0)


@pytest.mark.parametrize("offset", [0, 10**14, 10**30])
def test_the_area_of_a_tolerance_is_that_near_to_the_exact_one(offset: int) -> None:
    rng = np.random.default_rng(4)
    values = [offset + int(k) for k in rng.choice(10**6, 300, replace=False)]
    weights = rng.random(300)
    exact = cae_area(values, weights)
    for tolerance in (0.1, 1e-3, 1e-6):
        assert cae_area(values, weights, tolerance) == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize("tolerance", [-0.1, math.nan, math.inf, "much", None])
def test_a_tolerance_is_a_number_from_0(tolerance: object) -> None:
    with pytest.raises(InvalidInput, match="tolerance must be a number from 0, not"):
        cae_area([1, 2], None, tolerance)  # type: ignore[arg-type]


def test_with_a_tolerance_there_may_be_more_values_than_a_curve_can_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(curve, "LARGEST_IRREGULAR", 500)
    values = np.random.default_rng(5).random(600)
    with pytest.raises(InvalidInput, match="an area alone takes a tolerance"):
        cae_area(values)
    assert cae_area(values, None, 0.01) > 0


def test_an_exact_area_that_takes_long_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "_SLOW", 150)
    values = np.random.default_rng(6).random(200)
    with pytest.warns(ExactIsSlow, match="200 irregular values takes long; tolerance=0.001"):
        cae_area(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cae_area(values, None, 0.01)
