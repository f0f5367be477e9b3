"""What is reconstructed is right on average and varies as is said: by enumeration of all releases."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cae_sql import InvalidInput
from cae_sql.releases import randomise, reconstruct
from cae_sql.releases.distortion import Attribute, Distortion
from cae_sql.releases.reconstruction import (
    About,
    Reconstruction,
    nearest_distribution,
    reconstruction_covariance,
    reconstruction_variances,
)
from tests.cae_sql.releases.kronecker import a_table, distortions, kronecker
from tests.quick import share

DOMAINS = {"sex": ["f", "m"], "ill": [0, 1, 2]}
SMALL = Distortion((Attribute("sex", ("f", "m"), 0.8), Attribute("ill", (0, 1, 2), 0.6)))
KINDS = ("population", "table")


def released(distortion: Distortion, likely: list[np.ndarray]) -> list[tuple[float, Reconstruction]]:
    """Every release of records whose reported cells have these probabilities, with its own probability."""
    found = []
    for cells in product(range(distortion.cells), repeat=len(likely)):
        chance = float(np.prod([column[cell] for column, cell in zip(likely, cells, strict=True)]))
        counts = np.bincount(cells, minlength=distortion.cells).reshape(distortion.shape)
        found.append((chance, Reconstruction(distortion, len(cells), counts / len(cells))))
    return found


def mean(found: list[tuple[float, Any]]) -> np.ndarray:
    return np.sum([chance * np.asarray(value) for chance, value in found], axis=0)


def moments(all_releases: list[tuple[float, Reconstruction]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the estimates."""
    estimates = [(chance, each.proportions.ravel()) for chance, each in all_releases]
    centre = mean(estimates)
    return centre, mean([(chance, np.outer(x - centre, x - centre)) for chance, x in estimates])


def of_a_table(cells: list[int]) -> tuple[np.ndarray, list[tuple[float, Reconstruction]]]:
    """A fixed table, and all its releases."""
    table = np.bincount(cells, minlength=SMALL.cells) / len(cells)
    return table.reshape(SMALL.shape), released(SMALL, [kronecker(SMALL)[:, cell] for cell in cells])


def of_a_population(records: int) -> tuple[np.ndarray, list[tuple[float, Reconstruction]]]:
    """Proportions of a population, and all releases of samples of it."""
    proportions = a_table(SMALL, seed=1)
    return proportions, released(SMALL, [kronecker(SMALL) @ proportions.ravel()] * records)


@pytest.mark.parametrize(
    ("about", "case"), [("table", of_a_table([0, 0, 4])), ("population", of_a_population(3))]
)
def test_over_all_releases_the_estimate_is_right_on_average_and_varies_as_is_said(
    about: About, case: tuple[np.ndarray, list[tuple[float, Reconstruction]]]
) -> None:
    truth, all_releases = case
    assert sum(chance for chance, _ in all_releases) == pytest.approx(1)
    centre, covariance = moments(all_releases)
    assert centre == pytest.approx(truth.ravel(), abs=1e-12)
    exact = reconstruction_covariance(truth, SMALL, 3, about)
    assert exact == pytest.approx(covariance, abs=1e-12)
    variances = reconstruction_variances(truth, SMALL, 3, about)
    assert variances.ravel() == pytest.approx(np.diag(exact), abs=1e-12)


@pytest.mark.parametrize(
    ("about", "case"), [("table", of_a_table([0, 0, 4])), ("population", of_a_population(3))]
)
def test_over_all_releases_estimated_covariances_are_right_on_average(
    about: About, case: tuple[np.ndarray, list[tuple[float, Reconstruction]]]
) -> None:
    truth, all_releases = case
    exact = reconstruction_covariance(truth, SMALL, 3, about)
    assert mean([(c, each.covariance(about)) for c, each in all_releases]) == pytest.approx(exact, abs=1e-12)
    diagonal = mean([(c, each.variances(about).ravel()) for c, each in all_releases])
    assert diagonal == pytest.approx(np.diag(exact), abs=1e-12)


@given(distortions(least=0.1), st.integers(0, 99), st.integers(2, 1000))
def test_covariances_are_formula_2_of_the_paper_with_the_formed_matrix(
    found: Distortion, seed: int, records: int
) -> None:
    table, p, inverse = a_table(found, seed), kronecker(found), np.linalg.inv(kronecker(found))
    expected = p @ table.ravel()
    formula = inverse @ (np.diag(expected) - np.outer(expected, expected)) @ inverse.T / records
    assert reconstruction_covariance(table, found, records) == pytest.approx(formula, rel=1e-6, abs=1e-7)


@given(distortions(least=0.1), st.integers(0, 99))
def test_the_trace_is_the_product_of_frobenius_norms_over_the_cells(found: Distortion, seed: int) -> None:
    """Result 2: N trace(Σ) = Π ‖P_i⁻¹‖_F² / D − Σ π²."""
    table = a_table(found, seed)
    norms = [np.linalg.norm(np.linalg.inv(attribute.matrix)) ** 2 for attribute in found.attributes]
    trace = reconstruction_variances(table, found, 1).sum()
    assert trace == pytest.approx(np.prod(norms) / found.cells - (table**2).sum(), rel=1e-6, abs=1e-8)


def a_release(seed: int = 3) -> tuple[pd.DataFrame, Reconstruction]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"sex": random.choice(["f", "m"], 200), "ill": random.choice(3, 200, p=[0.7, 0.2, 0.1])}
    )
    probabilities = {"sex": 0.8, "ill": 0.6}
    return frame, reconstruct(randomise(frame, probabilities, DOMAINS, seed), probabilities, DOMAINS)


@pytest.mark.parametrize("about", KINDS)
@pytest.mark.parametrize(
    "where", [{}, {"sex": ["m"]}, {"ill": [1, 2]}, {"ill": [0, 2], "sex": {"f"}}, {"sex": ["f", "m"]}]
)
def test_counts_are_sums_of_cells_and_their_variances_sums_of_covariances(
    about: About, where: dict[str, Any]
) -> None:
    _, found = a_release()
    chosen = np.array(
        [
            all(value in where.get(name, [value]) for name, value in zip(DOMAINS, cell, strict=True))
            for cell in product(*DOMAINS.values())
        ],
        dtype=float,
    )
    count = found.count(where, about)
    assert count.value == pytest.approx(200 * chosen @ found.proportions.ravel())
    assert count.variance == pytest.approx(200**2 * chosen @ found.covariance(about) @ chosen, abs=1e-8)
    assert count.standard_error == pytest.approx(max(count.variance, 0) ** 0.5)


def test_conditions_on_undistorted_columns_are_answered_exactly() -> None:
    frame, _ = a_release()
    found = reconstruct(randomise(frame, {"ill": 0.6}, DOMAINS, 1), {"ill": 0.6}, DOMAINS)
    count = found.count({"sex": ["f"]})
    assert count.value == pytest.approx((frame["sex"] == "f").sum())
    assert count.variance == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_most_counts_lie_within_two_standard_errors() -> None:
    inside = 0
    for seed in range(200):
        frame, found = a_release(seed)
        count = found.count({"sex": ["f"], "ill": [1]})
        actual = ((frame["sex"] == "f") & (frame["ill"] == 1)).sum()
        inside += abs(count.value - actual) <= 2 * count.standard_error
    assert inside >= 180


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=8), st.integers(0, 99))
def test_the_projection_is_the_nearest_distribution(cells: list[float], seed: int) -> None:
    table = np.array(cells)
    found = nearest_distribution(table)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    for other in np.random.default_rng(seed).dirichlet(np.ones(table.size), 20):
        assert ((table - found) ** 2).sum() <= ((table - other) ** 2).sum() + 1e-9
        assert ((found - other) ** 2).sum() <= ((table - other) ** 2).sum() + 1e-9


def test_a_distribution_is_its_own_projection() -> None:
    table = np.array([[0.5, 0.0], [0.25, 0.25]])
    assert nearest_distribution(table).tolist() == table.tolist()


def test_the_frame_names_every_combination_with_its_estimate() -> None:
    _, found = a_release()
    frame = found.frame()
    assert list(frame.columns) == ["sex", "ill", "proportion", "standard_error"]
    assert frame[["sex", "ill"]].apply(tuple, axis=1).tolist() == list(product(*DOMAINS.values()))
    assert frame["proportion"].sum() == pytest.approx(1)
    assert (found.projected >= 0).all()


@pytest.mark.parametrize(
    ("probabilities", "domains", "told"),
    [
        ({"sex": 0.5}, DOMAINS, "probability 1/2 every value of 'sex' is equally likely"),
        ({"sex": 0.9}, {"sex": ["f", "x"]}, "sex = m is outside of its domain"),
        ({"sex": 0.9}, {"sex": ["f", "m"], "age": [1]}, "no column 'age'"),
        ({}, {}, "at least one column"),
        ({}, {"sex": range(5000), "ill": range(5000)}, "more than 20,000,000"),
    ],
)
def test_what_cannot_be_reconstructed_is_one_clear_error(
    probabilities: dict[str, float], domains: dict[str, Any], told: str
) -> None:
    frame, _ = a_release()
    with pytest.raises(InvalidInput, match=told):
        reconstruct(frame, probabilities, domains)


@pytest.mark.parametrize(
    ("where", "about", "told"),
    [
        ({"age": [1]}, "table", "no domain for 'age'"),
        ({"sex": ["x"]}, "table", "sex = x is outside of the domain"),
        ({"sex": "m"}, "table", "must be a list of values"),
        ({"sex": ["m"]}, "sample", 'about must be "population" or "table"'),
    ],
)
def test_a_bad_condition_is_one_clear_error(where: dict[str, Any], about: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        a_release()[1].count(where, about)


def test_too_many_covariances_and_too_few_records_are_errors() -> None:
    wide = Distortion.of({"a": 0.5}, {"a": range(100), "b": range(31)})
    one = Reconstruction(wide, 1, np.full(wide.shape, 1 / wide.cells))
    with pytest.raises(InvalidInput, match="covariances of 3,100 cells"):
        one.covariance("table")
    with pytest.raises(InvalidInput, match="one record does not tell"):
        one.variances()


@settings(max_examples=share(4))
@given(st.integers(1, 3))
def test_a_table_that_is_kept_is_reconstructed_exactly(records: int) -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "m"][:records], "ill": [0, 2, 2][:records]})
    found = reconstruct(frame, {}, DOMAINS)
    assert (
        found.proportions.tolist() == Distortion.of({}, DOMAINS).table(found.distortion.codes(frame)).tolist()
    )
    assert found.variances("table") == pytest.approx(np.zeros((2, 3)), abs=1e-15)
