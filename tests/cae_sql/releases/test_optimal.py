"""The probabilities keep the limit for everybody, and no others of a fine grid lose less."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution

from cae_sql import InvalidInput
from cae_sql.releases import (
    anatomise,
    attribute_disclosure_risk,
    optimal_probabilities,
    randomise,
    randomise_within,
)
from cae_sql.releases.optimal import Optimum
from tests.quick import share

DOMAINS = {"sex": ["f", "m"], "zip": [1, 2, 3], "ill": ["a", "b", "c", "d"]}
QUASI = ["sex", "zip"]


def a_frame(seed: int, records: int = 60) -> pd.DataFrame:
    """Skewed, with associations, so that some combinations are rare and some are pure."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(24, 0.4))
    cells = np.array(list(product(*DOMAINS.values())), dtype=object)
    return pd.DataFrame(cells[random.choice(24, records, p=shares)], columns=list(DOMAINS))


def worst(frame: pd.DataFrame, probabilities: dict[str, float]) -> float:
    return float(attribute_disclosure_risk(frame, QUASI, "ill", probabilities, DOMAINS).max())


def loss(probabilities: dict[str, float]) -> float:
    """Σ log ‖P⁻¹‖_F², from the matrices."""
    found = 0.0
    for name, p in probabilities.items():
        d = len(DOMAINS[name])
        q = (1 - p) / (d - 1)
        matrix = np.full((d, d), q) + (p - q) * np.eye(d)
        found += 2 * np.log(np.linalg.norm(np.linalg.inv(matrix)))
    return found


def grid(names: Sequence[str], steps: int) -> list[dict[str, float]]:
    """Probabilities from just above 1/d to 1."""
    axes = [np.linspace(1 / len(DOMAINS[name]), 1, steps)[1:] for name in names]
    return [dict(zip(names, map(float, point), strict=True)) for point in product(*axes)]


@pytest.mark.slow
@settings(max_examples=share(4))
@given(
    st.integers(0, 30),
    st.sampled_from([2, 3]),
    st.sampled_from([["sex", "zip"], ["zip", "ill"], ["ill"], ["sex"]]),
)
def test_no_point_of_a_grid_keeps_the_limit_and_loses_less(seed: int, ell: int, names: list[str]) -> None:
    frame = a_frame(seed)
    points = grid(names, 26)
    kept = [point for point in points if worst(frame, point) <= 1 / ell]
    try:
        found = optimal_probabilities(frame, QUASI, "ill", DOMAINS, 1 / ell, names)
    except InvalidInput:
        assert not kept
        return
    assert worst(frame, dict(found.probabilities)) <= 1 / ell
    assert found.risk == pytest.approx(worst(frame, dict(found.probabilities)))
    assert found.objective == pytest.approx(np.exp(loss(dict(found.probabilities))), rel=1e-6)
    assert all(loss(point) >= np.log(found.objective) - 1e-6 for point in kept)


def formed(size: int, p: float) -> np.ndarray:
    """One attribute's matrix, element by element."""
    return np.full((size, size), (1 - p) / (size - 1)) + np.eye(size) * (p - (1 - p) / (size - 1))


def inverted(cells: np.ndarray) -> np.ndarray:
    """1 / x, of cells that may come up."""
    return np.array([1 / x if x > 0 else 0.0 for x in cells])


def risk_with_formed_matrices(table: np.ndarray, point: Sequence[float]) -> float:
    """Equations (6), (7) and (8) of the paper as they are printed, with the Kronecker product formed."""
    matrices = [formed(size, p) for size, p in zip(table.shape, point, strict=True)]
    quasi, ill = np.kron(matrices[0], matrices[1]), matrices[2]
    rows = table.reshape(-1, table.shape[-1]) / table.sum()
    pi = rows.sum(axis=1)
    eta = (quasi**2).T @ inverted(quasi @ pi) * pi
    worst = 0.0
    for alpha in np.flatnonzero(pi):
        c = rows[alpha] / pi[alpha]
        kappa = (ill**2).T @ inverted(ill @ c) * c
        worst = max(worst, float((eta[alpha] * c * kappa).max()))
    return worst


@pytest.mark.parametrize(("seed", "ell"), [(2, 2), (5, 3), (8, 4)])
def test_no_point_of_a_grid_over_all_three_attributes_loses_less_by_formed_matrices(
    seed: int, ell: int
) -> None:
    """RR-Both, against risks and norms of matrices that are formed and inverted."""
    frame = a_frame(seed)
    table = frame.groupby(list(DOMAINS)).size().reindex(list(product(*DOMAINS.values())), fill_value=0)
    cells = table.to_numpy(dtype=float).reshape(2, 3, 4)
    best = optimal_probabilities(frame, QUASI, "ill", DOMAINS, 1 / ell)
    assert risk_with_formed_matrices(cells, list(best.probabilities.values())) == pytest.approx(best.risk)
    norms = [
        {p: float(np.linalg.norm(np.linalg.inv(formed(size, p))) ** 2)
         for p in np.linspace(1 / size, 1, 17)[1:].tolist()}
        for size in cells.shape
    ]  # fmt: skip
    better = [
        point for point in product(*norms)
        if np.prod([norm[p] for norm, p in zip(norms, point, strict=True)]) < best.objective * (1 - 1e-6)
    ]  # fmt: skip
    assert better
    assert all(risk_with_formed_matrices(cells, point) > 1 / ell for point in better)


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_a_global_search_of_three_attributes_finds_nothing_better(seed: int) -> None:
    frame = a_frame(seed)
    found = optimal_probabilities(frame, QUASI, "ill", DOMAINS, 1 / 3)
    bounds = [(1 / len(DOMAINS[name]) + 1e-3, 1) for name in DOMAINS]

    def penalised(point: np.ndarray) -> float:
        probabilities = dict(zip(DOMAINS, map(float, point), strict=True))
        return loss(probabilities) + 1e3 * max(0.0, worst(frame, probabilities) - 1 / 3)

    searched = differential_evolution(penalised, bounds, seed=seed, maxiter=12, popsize=8, polish=False)
    assert np.log(found.objective) <= searched.fun + 1e-6


@given(st.integers(0, 500), st.floats(0.2, 0.95))
def test_the_limit_is_reached_wherever_the_table_itself_breaks_it(seed: int, limit: float) -> None:
    frame = a_frame(seed)
    try:
        found = optimal_probabilities(frame, QUASI, "ill", DOMAINS, limit)
    except InvalidInput:
        return
    if worst(frame, {}) <= limit:
        assert set(found.probabilities.values()) == {1.0}
        assert found.binding.empty or found.risk == pytest.approx(limit)
    else:
        assert limit * (1 - 1e-6) <= found.risk <= limit
        assert len(found.binding)
        assert found.binding["risk"].max() == pytest.approx(found.risk)


@pytest.mark.parametrize("distort", [None, ["zip", "sex"], ["ill", "zip"]])
def test_probabilities_and_release_in_one_are_those_of_the_two(distort: list[str] | None) -> None:
    frame = a_frame(3).assign(other=1.5)
    domains = {**DOMAINS, "unused": [1, 2]}
    best, released = randomise_within(frame, QUASI, "ill", domains, 0.5, 7, distort)
    alone = optimal_probabilities(frame, QUASI, "ill", domains, 0.5, distort)
    assert (dict(best.probabilities), best.risk) == (dict(alone.probabilities), alone.risk)
    pd.testing.assert_frame_equal(released, randomise(frame, best.probabilities, domains, 7))
    assert not released.equals(frame)
    with pytest.raises(InvalidInput, match="seed must be a whole number"):
        randomise_within(frame, QUASI, "ill", domains, 0.5, -7, distort)


@given(st.integers(0, 60), st.sampled_from([0.3, 0.5, 0.7]))
@settings(max_examples=share(4))
def test_the_lowest_probabilities_that_two_sensitive_columns_ask_for_keep_the_limit_of_both(
    seed: int, limit: float
) -> None:
    random = np.random.default_rng(seed)
    frame = a_frame(seed).assign(wage=random.choice([1, 2, 3], 60, p=[0.6, 0.3, 0.1]))
    domains = {**DOMAINS, "wage": [1, 2, 3]}
    try:
        each = [optimal_probabilities(frame, QUASI, name, domains, limit) for name in ("ill", "wage")]
    except InvalidInput:
        return
    lowest: dict[str, float] = {}
    for best in each:
        for name, p in best.probabilities.items():
            lowest[name] = min(p, lowest.get(name, 1.0))
    for name in ("ill", "wage"):
        own = {key: p for key, p in lowest.items() if key in (*QUASI, name)}
        assert attribute_disclosure_risk(frame, QUASI, name, own, domains).max() <= limit


def test_several_sensitive_columns_at_once_are_an_error_that_says_what_would_do() -> None:
    frame, several = a_frame(0), ["ill", "zip"]
    for call in (
        lambda: optimal_probabilities(frame, ["sex"], several, DOMAINS, 0.5),  # type: ignore[arg-type]
        lambda: attribute_disclosure_risk(frame, ["sex"], several, {}, DOMAINS),  # type: ignore[arg-type]
        lambda: anatomise(frame, several, 2, 1),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match=r"must be one column, not .*; take each by itself"):
            call()


def test_the_combinations_that_bind_are_named_with_their_records() -> None:
    frame = pd.DataFrame({"sex": list("ffffmm"), "zip": [1] * 6, "ill": list("aabcab")})
    found = optimal_probabilities(frame, QUASI, "ill", DOMAINS, 0.4, ["sex"])
    assert found.binding.columns.tolist() == ["sex", "zip", "ill", "records", "of", "risk"]
    first = found.binding.iloc[0]
    same = (frame["sex"] == first["sex"]) & (frame["zip"] == first["zip"])
    assert (same.sum(), (same & (frame["ill"] == first["ill"])).sum()) == (first["of"], first["records"])
    assert list(found.probabilities) == ["sex"]


def test_a_limit_that_no_distortion_keeps_names_the_person_it_fails_for() -> None:
    frame = pd.DataFrame({"sex": list("fmm"), "zip": [1, 2, 2], "ill": list("abc")})
    with pytest.raises(
        InvalidInput, match=r"no distortion of ill .* that of sex = f, zip = 1, ill = a stays above 1"
    ):
        optimal_probabilities(frame, QUASI, "ill", DOMAINS, 0.5, ["ill"])


def test_a_limit_that_only_total_distortion_keeps_is_an_error_and_one_above_is_kept() -> None:
    """Two values alike in one class: 1/4 is what RR-S tends to."""
    frame = pd.DataFrame({"sex": ["f", "f"], "zip": [1, 1], "ill": ["a", "b"]})
    with pytest.raises(InvalidInput, match="next to nothing is left to be reconstructed"):
        optimal_probabilities(frame, QUASI, "ill", DOMAINS, 0.25 + 1e-15, ["ill"])
    found = optimal_probabilities(frame, QUASI, "ill", DOMAINS, 0.2501, ["ill"])
    assert worst(frame, dict(found.probabilities)) <= 0.2501


@pytest.mark.parametrize(
    ("limit", "distort", "told"),
    [
        (0, None, "limit must be greater than 0"),
        (1.5, None, "at most 1, not 1.5"),
        (float("nan"), None, "not nan"),
        (0.5, [], "distort must be a list of at least one column"),
        (0.5, "sex", "distort must be a list"),
        (0.5, ["age"], "'age', which is neither of"),
    ],
)
def test_bad_input_is_one_clear_error(limit: Any, distort: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        optimal_probabilities(a_frame(0), QUASI, "ill", DOMAINS, limit, distort)


EMGRW = (["education", "marital_status", "sex", "race"], "workclass")
ESGRO = (["education", "income", "sex", "race"], "occupation")


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "microdata" / "adult_complete_45222.csv.gz")


def optimum(adult: pd.DataFrame, names: tuple[list[str], str], ell: int, case: str) -> Optimum:
    quasi, sensitive = names
    domains = {name: sorted(adult[name].unique()) for name in [*quasi, sensitive]}
    distort = {"RR-S": [sensitive], "RR-QI": quasi, "RR-Both": None}[case]
    return optimal_probabilities(adult, quasi, sensitive, domains, 1 / ell, distort)


@pytest.mark.parametrize("names", [EMGRW, ESGRO], ids=["EMGRW", "ESGRO"])
@pytest.mark.parametrize("case", ["RR-QI", "RR-Both"])
def test_on_adult_every_record_keeps_1_in_l_and_more_is_distorted_the_greater_l_is(
    adult: pd.DataFrame, names: tuple[list[str], str], case: str
) -> None:
    quasi, sensitive = names
    domains = {name: sorted(adult[name].unique()) for name in [*quasi, sensitive]}
    before: Optimum | None = None
    for ell in range(2, 8):
        found = optimum(adult, names, ell, case)
        each = attribute_disclosure_risk(adult, quasi, sensitive, found.probabilities, domains)
        assert len(each) == 45_222
        assert 1 / ell * (1 - 1e-6) <= each.max() <= 1 / ell
        if before is not None:
            assert found.objective > before.objective
            assert sum(found.probabilities.values()) < sum(before.probabilities.values())
            assert found.probabilities["education"] < before.probabilities["education"]
        before = found


def test_on_adult_quasi_identifiers_are_distorted_less_when_the_sensitive_one_is_too(
    adult: pd.DataFrame,
) -> None:
    """Table 3: "generally closer to 1". At l = 2 records that are alone bind, and it makes no difference."""
    for ell in (3, 4, 5, 6, 7):
        alone, both = (optimum(adult, EMGRW, ell, case).probabilities for case in ("RR-QI", "RR-Both"))
        assert sum(both[name] for name in EMGRW[0]) > sum(alone.values())
        assert sum(both[name] > alone[name] for name in EMGRW[0]) >= 3
    alone, both = (optimum(adult, EMGRW, 2, case).probabilities for case in ("RR-QI", "RR-Both"))
    assert both["workclass"] == pytest.approx(1)
    assert [both[name] for name in EMGRW[0]] == pytest.approx(list(alone.values()), abs=1e-4)


def test_on_adult_the_sensitive_attribute_alone_never_suffices(adult: pd.DataFrame) -> None:
    """Who is alone with their quasi-identifiers is found whatever is done to the sensitive value."""
    for names in (EMGRW, ESGRO):
        with pytest.raises(InvalidInput, match="stays above 1; distort more columns"):
            optimum(adult, names, 2, "RR-S")
