"""Long distributions: one ε in O(n log n)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.measure import long, reference


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
