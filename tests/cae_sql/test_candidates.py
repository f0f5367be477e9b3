from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.candidates import candidates, grid_candidates
from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.measure import cae_area, uniform_area
from tests.clocks import at_once

SALARY = Domain(10, 250, 10)


def test_one_record_is_spread_evenly_over_the_grid_values_of_its_interval() -> None:
    values, p = candidates([50], [80], SALARY)
    assert values.tolist() == [50, 60, 70, 80]
    assert p.tolist() == [0.25] * 4


def test_a_class_averages_its_records() -> None:
    values, p = candidates([10, 20], [20, 20], SALARY)
    assert values.tolist() == [10, 20]
    assert p == pytest.approx([0.25, 0.75])


def test_values_that_no_record_can_have_do_not_occur() -> None:
    values, p = candidates([10, 200, 10], [30, 220, 30], SALARY)
    assert values.tolist() == [10, 20, 30, 200, 210, 220]
    assert p.sum() == pytest.approx(1, abs=1e-15)


def test_off_the_grid_a_record_has_as_many_values_as_steps_fit_into_its_interval() -> None:
    assert candidates([53], [107], SALARY)[0].tolist() == [50, 60, 70, 80, 90, 100]
    assert candidates([51], [61], SALARY)[0].tolist() == [50, 60]
    assert candidates([53], [57], SALARY)[0].tolist() == [50]
    assert candidates([43], [60], SALARY)[0].tolist() == [50, 60]
    assert candidates([50], [57], SALARY)[0].tolist() == [50]


def test_bounds_that_a_solver_has_rounded_are_read_as_grid_values() -> None:
    values, _ = candidates([30 + 1e-9], [50 - 1e-9], SALARY)
    assert values.tolist() == [30, 40, 50]
    assert candidates([30 + 1e-9], [30 - 1e-9], SALARY)[0].tolist() == [30]
    assert candidates([0.1 + 0.2], [0.7 - 1e-17], Domain(0, 1, 0.1))[0].tolist() == [0.3, 0.4, 0.5, 0.6, 0.7]


def algorithm_2(lower: list[int], upper: list[int], domain: Domain) -> dict[float, Fraction]:
    p: dict[float, Fraction] = {}
    for low, high in zip(lower, upper, strict=True):
        inside = [d for d in domain.values.tolist() if low <= d <= high]
        for d in inside:
            p[d] = p.get(d, Fraction(0)) + Fraction(1, len(inside) * len(lower))
    return p


@given(st.lists(st.tuples(st.integers(1, 25), st.integers(1, 25)), min_size=1, max_size=30))
def test_on_the_grid_it_is_algorithm_2(pairs: list[tuple[int, int]]) -> None:
    lower, upper = [10 * min(p) for p in pairs], [10 * max(p) for p in pairs]
    values, p = candidates(lower, upper, SALARY)
    expected = algorithm_2(lower, upper, SALARY)
    assert values.tolist() == sorted(expected)
    assert p == pytest.approx([float(expected[v]) for v in values.tolist()], abs=1e-12)


@given(
    st.integers(0, 2400),
    st.integers(0, 2400),
    st.sampled_from([1, 0.5, 10, 0.3]),
    st.sampled_from([0.1, 1, 7]),
)
def test_one_record_always_has_one_value_more_than_whole_steps(
    a: int, b: int, step: float, low: float
) -> None:
    domain = Domain(low, exact(low) + 240, step)
    lower, upper = (exact(low) + Fraction(k, 10) for k in sorted((a, b)))
    values, p = candidates([float(lower)], [float(upper)], domain)
    assert values.size == 1 + (upper - lower) // exact(step)
    assert set(values.tolist()) <= set(domain.values.tolist())
    assert cae_area(values, p) == pytest.approx(uniform_area(values.size, step), rel=1e-9)


def test_a_hundred_thousand_records_take_a_fraction_of_a_second() -> None:
    rng = np.random.default_rng(0)
    lower = rng.integers(10, 200, 100_000)
    with at_once():
        values, p = candidates(lower, lower + rng.integers(0, 50, lower.size), SALARY)
    assert values.size <= 25
    assert p.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("lower", "upper", "position"),
    [
        ([], [], None),
        ([20, 30], [40], 1),
        ([20, 40], [30, 30], 1),
        ([20, 0], [30, 30], 1),
        ([20, 30, 40], [30, 40, 260], 2),
        ([20, math.nan], [30, 30], 1),
        ([20, 20], [math.inf, 30], 0),
        ([[20]], [[30]], None),
        (20, 30, None),
        (["a"], [30], None),
    ],
)
def test_bounds_that_cannot_be_are_refused_with_the_record(
    lower: Any, upper: Any, position: int | None
) -> None:
    with pytest.raises(InvalidInput) as caught:
        candidates(lower, upper, SALARY)
    assert caught.value.position == position


def test_a_known_set_is_seen_at_the_domains_step_from_its_own_least_value() -> None:
    values, p = grid_candidates([107, 50], SALARY)
    assert values.tolist() == [50, 100]
    assert p.tolist() == [0.5, 0.5]
    assert grid_candidates([13, 22, 23, 24, 32, 33], SALARY)[0].tolist() == [13, 23, 33]
    assert grid_candidates([13, 22], SALARY)[0].tolist() == [13]


def test_the_papers_two_salaries_stay_two_values_at_a_step_of_one() -> None:
    values, p = grid_candidates([50, 107], Domain(10, 250, 1))
    assert values.tolist() == [50, 107]
    assert cae_area(values, p) == 57


@given(st.integers(0, 200), st.integers(0, 200), st.sampled_from([1, 2, 5, 10, 0.1]))
def test_a_full_run_on_a_finer_grid_counts_as_its_interval(start: int, length: int, step: float) -> None:
    fine = exact(step) / 5
    domain = Domain(10, 10 + 400 * fine, step)
    run = [float(10 + fine * k) for k in range(start, start + length + 1)]
    values, p = grid_candidates(run, domain)
    assert values.size == 1 + length // 5
    assert values[0] == run[0]
    assert p == pytest.approx([1 / values.size] * values.size)


@pytest.mark.parametrize(
    ("values", "position"),
    [([], None), ([20, math.nan], 1), ([20, 300], 1), ([9.99, 300], 0), ([[20]], None)],
)
def test_a_set_that_cannot_be_is_refused(values: Any, position: int | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        grid_candidates(values, SALARY)
    assert caught.value.position == position
