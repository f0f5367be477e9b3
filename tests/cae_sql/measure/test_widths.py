"""All widths side by side give what Algorithm 1 gives at each, and what the growing kernel gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.measure import kernels, many, reference, widths
from tests.cae_sql.measure.test_kernels import Ints, positions_and_weights


def pairs(x: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Spread of each pair of values, ascending, and the pair as one number."""
    start, end = np.triu_indices(x.size, 1)
    order = np.argsort(x[end] - x[start], kind="stable")
    return (x[end] - x[start])[order].astype(np.float64), (start * 256.0 + end)[order]


@given(st.integers(0, 10**6), st.integers(2, 20), st.sampled_from([1, 30, 200, 10**6]))
def test_every_width_has_the_entropy_that_algorithm_1_gives(seed: int, n: int, spread: int) -> None:
    x, p = positions_and_weights(seed, n, spread)
    expected_widths, expected = reference.curve(x.tolist(), p.tolist())
    found_widths, found = many._few_irregular(*pairs(x), kernels.weight_table(p))
    assert found_widths.tolist() == expected_widths
    assert found == pytest.approx(expected, abs=1e-12)
    assert found[-1] == 0


@pytest.mark.parametrize("n", [2, 25, widths.MOST_VALUES, 100])
def test_few_values_and_more_of_them_take_two_ways_to_the_same_curve(n: int) -> None:
    x, p = positions_and_weights(n, n, 10**5)
    table = kernels.weight_table(p)
    few, more = many._few_irregular(*pairs(x), table), many._more_irregular(*pairs(x), p, table)
    assert few[0].tolist() == more[0].tolist()
    assert few[1] == pytest.approx(more[1], abs=1e-12)
