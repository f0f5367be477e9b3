from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InvalidInput
from cae_sql.measure import cae_area, cae_curve, cae_entropy, reference, uniform_area, uniform_entropy
from cae_sql.measure.uniform import entropies_of_windows

STEPS = st.sampled_from([1, 10, 0.1, 0.25, Fraction(1, 3)])


@pytest.mark.parametrize("count", range(1, 26))
def test_full_windows_and_one_remainder_are_what_algorithm_1_finds(count: int) -> None:
    x, p = list(range(count)), [1 / count] * count
    for width in range(count + 1):
        assert uniform_entropy(count, 1, width) == pytest.approx(reference.entropy(x, p, width), abs=1e-12)
    assert uniform_area(count, 1) == pytest.approx(reference.area(x, p), rel=1e-12)


@given(st.integers(1, 60), STEPS, st.integers(0, 700))
def test_the_closed_forms_equal_the_general_measure(count: int, step: Any, tenths: int) -> None:
    values = [Fraction(str(step)) * k for k in range(count)]
    epsilon = Fraction(tenths, 10)
    assert uniform_area(count, step) == pytest.approx(cae_area(values), rel=1e-10, abs=1e-12)  # type: ignore[arg-type]
    assert uniform_entropy(count, step, epsilon) == pytest.approx(
        cae_entropy(values, None, epsilon),  # type: ignore[arg-type]
        abs=1e-12,
    )


def test_a_tenth_is_a_tenth() -> None:
    assert uniform_entropy(11, 0.1, 0.1) == pytest.approx(2.550, abs=5e-4)
    assert uniform_entropy(11, 0.1, 0.3) == cae_entropy([k / 10 for k in range(11)], None, 0.3)


def test_one_value_has_neither_entropy_nor_area() -> None:
    assert uniform_entropy(1, 5, 0) == 0
    assert uniform_area(1, 5) == 0


def test_the_area_rises_with_the_length_of_a_run() -> None:
    areas = [uniform_area(m, 1) for m in range(1, 400)]
    assert all(a < b for a, b in pairwise(areas))


def test_the_entropy_under_a_fixed_window_rises_with_the_length_of_a_run() -> None:
    for window in (1, 2, 3, 7, 20):
        entropies = entropies_of_windows(np.arange(1, 300), window)
        assert np.all(np.diff(entropies) >= -1e-12)


def test_the_area_of_ten_million_values_is_summed_in_pieces() -> None:
    count = 3_000_000
    windows = np.arange(1, count)
    assert uniform_area(count, 2) == pytest.approx(2 * entropies_of_windows(count, windows).sum(), rel=1e-12)


def test_a_curve_of_equal_steps_has_one_breakpoint_per_value() -> None:
    assert cae_curve(range(40)).epsilon.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("count", "step", "epsilon"),
    [
        (0, 1, 0),
        (-1, 1, 0),
        (2.5, 1, 0),
        ("2", 1, 0),
        (2, 0, 0),
        (2, -1, 0),
        (2, math.nan, 0),
        (2, "1", 0),
        (2, 1, -1),
        (2, 1, math.nan),
        (2, 1, "0"),
    ],
)
def test_arguments_out_of_range_are_refused(count: Any, step: Any, epsilon: Any) -> None:
    with pytest.raises(InvalidInput):
        uniform_entropy(count, step, epsilon)
    if epsilon == 0:
        with pytest.raises(InvalidInput):
            uniform_area(count, step)
