"""Long distributions: one ε in O(n log n), and certified bounds of the area."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.measure import cae_area, long, reference


def prefix_sums(p: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(p)])


@given(st.integers(1, 60), st.sampled_from([1, 2, 40]), st.integers(1, 6), st.data())
def test_one_width_is_what_algorithm_1_says(n: int, sparse: int, skew: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    x = np.sort(rng.choice(n * sparse, n, replace=False))
    p = rng.random(n) ** skew + 1e-12
    p /= p.sum()
    for width in rng.integers(0, x[-1] - x[0] + 2, 4).tolist():
        found = long.least_entropy(x.astype(np.float64), p, prefix_sums(p), float(width))
        assert found == pytest.approx(reference.entropy(x.tolist(), p.tolist(), width), abs=1e-12)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("wanted", [0.1, 1e-2, 1e-3])
def test_bounds_of_the_area_contain_it_and_are_as_close_as_was_asked_for(whole: bool, wanted: float) -> None:
    rng = np.random.default_rng(7)
    for n in (2, 3, 50, 300):
        x = np.sort(rng.choice(10 * n, n, replace=False)).astype(np.float64)
        p = rng.dirichlet(np.ones(n))
        low, high = long.area_bounds(x, p, whole, wanted)
        area = cae_area(x, p)
        assert low * (1 - 1e-12) <= area <= high * (1 + 1e-12)
        assert (high - low) / 2 <= wanted * low


def test_on_a_short_grid_the_bounds_meet() -> None:
    x, p = np.array([0.0, 1, 2, 5]), np.array([0.1, 0.2, 0.3, 0.4])
    low, high = long.area_bounds(x, p, True, 1e-15)
    assert low == pytest.approx(cae_area(x, p), rel=1e-14)
    assert high == pytest.approx(low, rel=1e-14)


def test_a_single_value_has_no_area() -> None:
    assert long.area_bounds(np.zeros(1), np.ones(1), True) == (0.0, 0.0)
