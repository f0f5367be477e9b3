"""Responsible releases: rank-one updates against refits, what paper 002 says, bounds against chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cae_sql.errors import InvalidInput
from cae_sql.releases.responsible import histogram_risk, mean_risk, parameter_risk, parameter_risks
from cae_sql.releases.synthetic import responsible_release, synthetic


def by_refits(data: np.ndarray) -> list[float]:
    """ComputeRisk2 as it is printed: parameters anew without each record."""

    def parameters(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x.mean(axis=0), np.atleast_2d(np.cov(x, rowvar=False)).ravel()])

    whole = parameters(data)
    moved = [np.linalg.norm(whole - parameters(np.delete(data, i, axis=0))) for i in range(len(data))]
    return [100 * float(each) / float(np.linalg.norm(whole)) for each in moved]


@given(st.integers(3, 40), st.integers(1, 6), st.integers(0, 10**9), st.floats(-50, 50))
def test_leaving_one_out_by_updates_is_fitting_anew(n: int, m: int, seed: int, mean: float) -> None:
    data = np.random.default_rng(seed).normal(mean, 3, (n, m))
    assert parameter_risks(data) == pytest.approx(by_refits(data), rel=1e-7, abs=1e-9)
    assert parameter_risk(data) == parameter_risks(data).max()


@given(st.integers(3, 60), st.integers(0, 10**9), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_risk_of_one_attribute_is_definition_3_with_everything_fitted_anew(
    n: int, seed: int, confidence: float
) -> None:
    x, draws = np.random.default_rng(seed).normal(5, 2, n), 200

    def fitted(values: np.ndarray) -> tuple[float, float]:
        return float(values.mean()), float(values.var(ddof=1)) * (1 / len(values) + 2 / draws)

    mu, spread = fitted(x)
    risks, chances = [], []
    for i in range(n):
        other, others = fitted(np.delete(x, i))
        pooled = np.sqrt((spread + others) / 2)
        reach = pooled * np.sqrt(2 * np.log(1 / (np.sqrt(2 * np.pi) * (1 - confidence))))
        moved = abs(other - mu)
        risks.append((1 - confidence) * pooled / reach * np.exp(reach * moved / pooled**2))
        normal = stats.norm(mu + moved, pooled)
        chances.append(normal.cdf(mu + moved + reach) - normal.cdf(mu + reach))
    found = mean_risk(x, confidence, draws)
    assert found.risk == pytest.approx(max(risks), rel=1e-9)
    assert found.record == int(np.argmax(risks))
    assert found.probability == pytest.approx(chances[found.record], rel=1e-6, abs=1e-12)


def test_the_bound_on_the_mean_is_one_where_leaving_out_moves_little() -> None:
    found = mean_risk(np.random.default_rng(0).normal(size=1000), 0.95, 1000)
    assert 0 < found.probability < found.risk < 1


def drawn(points: int, outlier: float, seed: int, sigma: float = 0.5) -> np.ndarray:
    data = np.random.default_rng(seed).normal([0, 0], sigma, (points, 2))
    data[0, 0] += outlier * sigma
    return data


def typical(risk: Callable[[np.ndarray], float], points: int, outlier: float) -> float:
    return float(np.median([risk(drawn(points, outlier, seed)) for seed in range(25)]))


@pytest.mark.parametrize(
    "risk", [parameter_risk, lambda data: mean_risk(data[:, 0], 0.95, len(data)).risk], ids=["2", "1"]
)
def test_the_risk_rises_with_an_outlier_and_the_more_the_further_it_lies(
    risk: Callable[[np.ndarray], float],
) -> None:
    risks = [typical(risk, 100, outlier) for outlier in (0, 5, 10, 15)]
    assert risks == sorted(risks)
    assert risks[-1] > 1.2 * risks[0]


@pytest.mark.parametrize("outlier", [0, 5])
def test_the_risk_falls_about_tenfold_from_100_to_1000_points(outlier: float) -> None:
    fall = typical(parameter_risk, 100, outlier) / typical(parameter_risk, 1000, outlier)
    assert 5 < fall < 15


def test_a_far_outlier_among_few_raises_what_it_is_compared_with_so_its_risk_falls_less() -> None:
    # of 100 points one at 15 σ makes most of the covariance: printed 35.12 → 8.18
    fall = typical(parameter_risk, 100, 15) / typical(parameter_risk, 1000, 15)
    assert 3 < fall < 6


# Histograms


@pytest.mark.parametrize("members", [2, 3, 10, 60])
@pytest.mark.parametrize("draws", [10, 300])
def test_the_chance_that_a_block_shows_a_member_is_that_of_draws_and_within_its_bound(
    members: int, draws: int
) -> None:
    counts, confidence = [members, 40, 100], 0.9
    n = sum(counts)
    found = histogram_risk(counts, draws, confidence)
    above = np.sqrt(3 * np.log(1 / (1 - confidence)) / (draws * (members - 1) / n))
    plausible = (1 + above) * draws * (members - 1) / n
    times = np.arange(draws + 1)
    exact = stats.binom.pmf(times, draws, members / n)[times >= plausible].sum()
    assert found.probability[0] == pytest.approx(exact, abs=1e-12)
    assert found.probability[0] <= found.risk[0] + 1e-12
    assert found.worst == found.risk.max()


def test_the_bound_of_a_large_block_comes_to_1_less_p_to_the_power_i_less_1_over_i() -> None:
    # the paper prints i/(i − 1); it is the inverse
    i, confidence = 10_000, 0.95
    few, many = (histogram_risk([i, 10 * i], draws, confidence).risk[0] for draws in (10**4, 10**9))
    assert few == pytest.approx((1 - confidence) ** ((i - 1) / i), rel=0.01)
    assert many > 2 * few  # with very many draws even one of 10,000 shows


@pytest.mark.parametrize("i", [3, 10])
def test_that_exponent_is_the_inverse_of_the_printed_one_where_that_can_be_seen(i: int) -> None:
    # draws so few that one member of i is the smaller part of what is plausible
    found = histogram_risk([i, 10_000], 2_000, 0.9999).risk[0]
    printed, ours = (0.0001**exponent for exponent in (i / (i - 1), (i - 1) / i))
    assert abs(np.log(found / ours)) < abs(np.log(found / printed))


def test_of_a_block_with_one_member_one_draw_is_proof_and_an_empty_one_shows_nobody() -> None:
    found = histogram_risk([0, 1, 9], 5, 0.9)
    assert found.risk[:2].tolist() == [0, 1]
    assert found.probability[:2] == pytest.approx([0, 1 - 0.9**5])


def test_a_constant_bias_lowers_the_risk_of_small_blocks() -> None:
    plain, biased = (histogram_risk([1, 2, 50], 100, 0.95, bias).probability for bias in (0, 20))
    assert (biased[:2] < plain[:2]).all()


# Clusters


def test_a_far_off_record_is_withheld_and_has_no_part_in_what_is_released() -> None:
    chance = np.random.default_rng(4)
    crowd = chance.normal([0, 0], 1, (200, 2))
    data = np.vstack([crowd, [[40, 40]]])
    found = responsible_release(data, 3, 10, tables=2, seed=1)
    assert 200 in found.withheld
    released = np.concatenate([cluster.records for cluster in found.clusters])
    assert sorted([*released, *found.withheld]) == list(range(201))
    for cluster in found.clusters:
        assert cluster.tables.shape == (2, len(cluster.records), 2)
        assert cluster.risk == parameter_risk(data[cluster.records])
        assert np.abs(cluster.tables).max() < 20
    everything = responsible_release(data, 1, 10)
    assert everything.risk == parameter_risk(data)
    assert not len(everything.withheld)


def test_a_cluster_beyond_the_risk_that_is_allowed_is_withheld() -> None:
    data = np.vstack([np.random.default_rng(4).normal([5, 5], 1, (200, 2)), [[40, 40]]])
    found = responsible_release(data, 1, 10, most_risk=1.0)
    assert found.clusters == ()
    assert found.withheld.tolist() == list(range(201))
    assert found.risk == 0


def test_synthetic_tables_have_the_mean_and_covariance_that_they_are_drawn_from() -> None:
    chance = np.random.default_rng(5)
    data = chance.multivariate_normal([1, -2], [[2, 0.8], [0.8, 1]], 4000)
    drawn_too = synthetic(data, 4000, chance)
    assert drawn_too.mean(axis=0) == pytest.approx([1, -2], abs=0.15)
    assert np.cov(drawn_too, rowvar=False) == pytest.approx(np.array([[2, 0.8], [0.8, 1]]), abs=0.2)


# What cannot be used


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: parameter_risk([[1, 2], [3, 4]]), "at least three records"),
        (lambda: parameter_risk([[1, 2], [3]]), "records by attributes"),
        (lambda: parameter_risk([[1.0], [np.nan], [2.0]]), "record 1, attribute 0 is nan"),
        (lambda: parameter_risk(np.zeros((5, 2))), "all values are 0"),
        (lambda: parameter_risk(np.zeros((5, 2, 2))), "shape"),
        (lambda: mean_risk([1, 2, 3], 0.5, 10), "confidence must lie between 0.601 and 1, not 0.5"),
        (lambda: mean_risk([1, 1, 1, 1], 0.9, 10), "values must differ"),
        (lambda: mean_risk([1, 2, 3], 0.9, 0), "draws must be a whole number of at least 1, not 0"),
        (lambda: mean_risk([[1, 2], [3, 4], [5, 6]], 0.9, 5), "one attribute"),
        (lambda: histogram_risk([1, -2], 5, 0.9), r"counts\[1\] is negative"),
        (lambda: histogram_risk([1.5, 2], 5, 0.9), "counts must be a list of whole numbers"),
        (lambda: histogram_risk([1, 2], 5, 1.0), "confidence must lie between 0 and 1"),
        (lambda: histogram_risk([1, 0], 5, 0.9), "at least two members"),
        (lambda: responsible_release(np.ones((9, 2)), 1, 3), "smallest must be a whole number of at least 4"),
        (lambda: responsible_release(np.ones((9, 1)), 0, 5), "clusters must be a whole number"),
        (lambda: responsible_release(np.eye(9)[:, :2], 1, 5, most_risk=-1), "most_risk must be greater"),
        (lambda: synthetic(np.ones((9, 2)), 5, np.random.default_rng(0)), "constant or follows"),
    ],
)
def test_bad_input_is_one_clear_error(call: Callable[[], object], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        call()


def test_values_whose_covariance_floats_cannot_hold_are_an_error():
    with pytest.raises(InvalidInput, match="a value beyond"):
        parameter_risks(np.array([1e200, 2e200, 3e200, 1.0]))


@pytest.mark.parametrize("seed", [-1, None, 1.5, "a"])
def test_a_seed_that_is_none_is_one_error(seed):
    with pytest.raises(InvalidInput, match="seed must be a whole number"):
        responsible_release(np.random.default_rng(0).normal(size=(20, 2)), 1, 5, seed=seed)
