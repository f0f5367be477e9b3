from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.measure import cae_area


def test_the_papers_salaries_are_twenty_five_values() -> None:
    domain = Domain(10, 250, 10)
    assert domain.count == 25
    assert domain.values.tolist() == list(range(10, 251, 10))


def test_tenths_are_counted_exactly() -> None:
    domain = Domain(0, 1, 0.1)
    assert domain.count == 11
    assert domain.values.tolist() == [k / 10 for k in range(11)]


def test_a_maximum_off_the_grid_is_not_a_value() -> None:
    assert Domain(0, 25, 10).values.tolist() == [0, 10, 20]


def test_a_domain_of_one_value_has_no_area() -> None:
    assert (Domain(5, 5, 1).count, Domain(5, 5, 1).area) == (1, 0.0)


@given(st.integers(-50, 50), st.integers(1, 40), st.sampled_from([1, 10, 0.1, Fraction(1, 4)]))
def test_the_area_is_that_of_equally_likely_values(low: int, count: int, step: float | Fraction) -> None:
    domain = Domain(low, low + (count - 1) * exact(step), step)
    assert domain.count == count
    assert domain.area == pytest.approx(cae_area(domain.values), rel=1e-9, abs=1e-12)
    assert np.all(np.diff(domain.values) > 0)


@pytest.mark.parametrize(
    ("minimum", "maximum", "step"),
    [(0, 1, 0), (0, 1, -1), (1, 0, 1), (math.nan, 1, 1), (0, math.inf, 1), (0, 1, math.nan), ("a", 1, 1)],
)
def test_a_domain_that_cannot_be_is_refused(minimum: float, maximum: float, step: float) -> None:
    with pytest.raises(InvalidInput):
        Domain(minimum, maximum, step)


@given(
    st.fractions(-(10**17), 10**17, max_denominator=10**6),
    st.fractions(0, 10**17, max_denominator=10**6),
    st.lists(st.integers(0, 10**12), max_size=5),
)
def test_each_grid_value_is_the_float_nearest_to_it_however_large(
    origin: Fraction, step: Fraction, numbers: list[int]
) -> None:
    found = grid_values(np.array(numbers, np.int64), origin, step)
    assert found.tolist() == [float(origin + step * k) for k in numbers]
