"""Distances, errors of counts and association, against pandas, SciPy and sums written out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from cae_sql import InvalidInput
from cae_sql.releases.utility import (
    cube_error,
    distances,
    group_by_error,
    pair,
    uncertainty_coefficient,
)


def tables(seed: int, shape: tuple[int, ...] = (2, 3, 4)) -> tuple[np.ndarray, np.ndarray]:
    """An original with empty cells, and an estimate with negative ones."""
    random = np.random.default_rng(seed)
    original = random.multinomial(30, random.dirichlet(np.full(np.prod(shape), 0.5))) / 30
    estimate = original + random.normal(0, 0.02, original.size)
    estimate += (1 - estimate.sum()) / estimate.size
    return original.reshape(shape), estimate.reshape(shape)


@given(st.integers(0, 999))
def test_distances_are_their_sums(seed: int) -> None:
    p, q = tables(seed)
    found = distances(p, q, 30)
    assert found.euclidean == pytest.approx(np.linalg.norm((p - q).ravel()))
    assert found.total_variation == pytest.approx(
        sum(abs(a - b) for a, b in zip(p.flat, q.flat, strict=True)) / 2
    )
    cells = [max(b, 0) * 30 + 0.5 for b in q.flat]
    filled = [cell / sum(cells) for cell in cells]
    assert found.kullback_leibler == pytest.approx(entropy(p.ravel(), filled))
    assert found.chi_squared == pytest.approx(
        sum((a - b) ** 2 / b for a, b in zip(p.flat, filled, strict=True))
    )


def test_an_estimate_that_is_right_is_at_distance_0_up_to_the_half_records() -> None:
    p = np.array([[0.25, 0.25], [0.25, 0.25]])
    found = distances(p, p, 100)
    assert (found.euclidean, found.total_variation) == (0, 0)
    assert found.kullback_leibler == pytest.approx(0, abs=1e-15)
    assert found.chi_squared == pytest.approx(0, abs=1e-15)


@given(st.integers(0, 99))
def test_errors_of_counts_are_those_of_group_by_and_cube(seed: int) -> None:
    p, q = tables(seed)
    names = list("abc")
    index = pd.MultiIndex.from_product([range(size) for size in p.shape], names=names)
    frame = pd.DataFrame({"act": p.ravel(), "est": q.ravel()}, index=index).reset_index()
    errors: list[float] = []
    for count in range(4):
        for by in combinations(names, count):
            sums = (
                frame.groupby(list(by))[["act", "est"]].sum()
                if by
                else frame[["act", "est"]].sum().to_frame().T
            )
            sums = sums[sums["act"] > 1e-9]
            each = ((sums["act"] - sums["est"]).abs() / sums["act"]).tolist()
            errors += each
            if count == 3:
                assert group_by_error(p, q) == pytest.approx(np.mean(each))
    assert cube_error(p, q) == pytest.approx(np.mean(errors))


@given(st.integers(0, 999))
def test_the_uncertainty_coefficient_is_the_share_of_entropy_explained(seed: int) -> None:
    table = np.maximum(tables(seed, (3, 4))[0], 0)
    if len(np.flatnonzero(table.sum(axis=0))) < 2:
        return
    whole = entropy(table.sum(axis=0))
    left = sum(row.sum() * entropy(row) for row in table if row.sum() > 0)
    assert uncertainty_coefficient(table) == pytest.approx((whole - left) / whole, abs=1e-9)


def test_the_uncertainty_coefficient_at_its_ends() -> None:
    assert uncertainty_coefficient(np.outer([0.3, 0.7], [0.2, 0.8])) == pytest.approx(0, abs=1e-12)
    assert uncertainty_coefficient(np.array([[5.0, 0], [0, 3], [0, 2]])) == pytest.approx(1)
    assert uncertainty_coefficient(np.array([[5.0], [3]])) == 0


def test_a_pair_of_attributes_is_in_the_order_asked_for() -> None:
    table = tables(1)[0]
    assert pair(table, 0, 2).tolist() == table.sum(axis=1).tolist()
    assert pair(table, 2, 0).tolist() == table.sum(axis=1).T.tolist()


def test_salary_explains_as_much_of_occupation_as_the_paper_prints(shared_data: Path) -> None:
    """2.74 × 10⁻² before any release, Section V-B3: that of the 30,162 records of Adult's training part.
    All 45,222, which the paper says it has, give 2.68."""
    adult = pd.read_csv(shared_data / "microdata" / "adult_complete_45222.csv.gz")
    training = adult[adult["split"] == "train"]
    assert len(training) == 30_162
    for frame, expected in ((training, 2.74), (adult, 2.68)):
        table = pd.crosstab(frame["income"], frame["occupation"]).to_numpy(dtype=float)
        assert round(100 * uncertainty_coefficient(table), 2) == expected


def test_bad_tables_are_one_clear_error() -> None:
    p, q = tables(1)
    for bad, told in (
        (lambda: distances(p, q[:, :2], 30), "same shape"),
        (lambda: distances(p, 2 * q, 30), "the estimate add up to 2"),
        (lambda: distances(q, p, 30), "the original has a negative proportion"),
        (lambda: distances(p, q, 0), "records must be at least 1"),
        (lambda: group_by_error(p * 2, q), "the original add up to 2"),
        (lambda: cube_error(p, q[0]), "same shape"),
        (lambda: uncertainty_coefficient(p), "two attributes, not 3"),
        (lambda: uncertainty_coefficient(np.zeros((2, 2))), "nothing in it"),
    ):
        with pytest.raises(InvalidInput, match=told):
            bad()


def test_entropy_that_rounding_leaves_is_none() -> None:
    """The dust of a reconstruction explained the dust of another, with a coefficient of 1.9."""
    table = np.array([[2 / 3, 1e-17], [1 / 3 - 1e-17, 0]])
    assert uncertainty_coefficient(table) == 0
    one_in_many = np.array([[1e-9, 0], [0, 1 - 1e-9]])
    assert uncertainty_coefficient(one_in_many) == pytest.approx(1)
    assert uncertainty_coefficient(one_in_many) <= 1
