from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql.measure import cae_area, cae_curve, cae_entropy, kernels, reference
from tests.quick import share

Ints = NDArray[np.int64]


def positions_and_weights(seed: int, n: int, spread: int) -> tuple[Ints, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(max(spread, n), n, replace=False)).astype(np.int64)
    p = rng.random(n) ** rng.choice([1, 6])
    return x - x[0], p / p.sum()


@given(st.integers(0, 10**6), st.integers(2, 24), st.sampled_from([1, 30, 60, 200, 10**6]), st.booleans())
def test_both_kernels_equal_algorithm_1_at_every_breakpoint(
    seed: int, n: int, spread: int, tabled: bool
) -> None:
    x, p = positions_and_weights(seed, n, spread)
    widths, expected = reference.curve(x.tolist(), p.tolist())
    total = np.concatenate([[0.0], np.cumsum(p)])
    table = kernels.weight_table(p) if tabled else np.empty((0, 0))
    anew = kernels.least_entropies(x, np.array(widths), p, total, table)
    assert anew == pytest.approx(expected, abs=1e-12)

    start, end = np.triu_indices(n, 1)
    order = np.argsort(x[end] - x[start], kind="stable")
    spreads = (x[end] - x[start])[order]
    bounds = np.append(np.searchsorted(spreads, widths[1:]), spreads.size)
    edges = start[order].astype(np.int32), (end[order] + 1).astype(np.int32)
    growing = kernels.growing_entropies(*edges, bounds, p, total, table)
    assert growing == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("spread", [60, 100_000])
def test_more_values_than_the_table_holds_give_the_same_curve(
    spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, p = positions_and_weights(3, 60, spread)
    tabled = cae_curve(x, p)
    monkeypatch.setattr(kernels, "TABLE_LIMIT", 10)
    assert cae_area(x, p) == pytest.approx(tabled.area, rel=1e-12)
    for width in tabled.epsilon[::7]:
        assert cae_curve(x, p).at(width) == pytest.approx(tabled.at(width), abs=1e-12)


@settings(max_examples=share(4))
@given(st.integers(0, 10**6), st.integers(30, 70), st.integers(0, 120))
def test_longer_distributions_equal_algorithm_1_at_one_width(seed: int, n: int, width: int) -> None:
    x, p = positions_and_weights(seed, n, 2 * n)
    expected = reference.entropy(x.tolist(), p.tolist(), width)
    assert cae_entropy(x, p, width) == pytest.approx(expected, abs=1e-12)
    assert cae_curve(x, p).at(width) == pytest.approx(expected, abs=1e-12)


def test_the_plain_area_is_the_compiled_one() -> None:
    x, p = positions_and_weights(11, 20, 300)
    assert cae_area(x, p) == pytest.approx(reference.area(x.tolist(), p.tolist()), rel=1e-12)


def test_a_kernel_compiles_where_no_cache_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    compile_it = numba.njit

    def without_cache(**options: Any) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return compile_it(**options)

    monkeypatch.setattr(numba, "njit", without_cache)

    @kernels.compiled()
    def twice(x: int) -> int:
        return 2 * x

    assert twice(3) == 6
