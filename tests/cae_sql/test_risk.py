from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.candidates import candidates
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.measure import cae_area, cae_entropy
from cae_sql.risk import Limit, Risk, class_risks, risk_of, risk_of_run

SALARY = Domain(10, 250, 10)


def test_nothing_excluded_is_risk_0_and_one_value_left_is_risk_1() -> None:
    assert risk_of(SALARY.values, None, SALARY).risk == 0
    assert risk_of([50], None, SALARY).risk == 1


def test_the_figures_are_those_of_the_measure() -> None:
    x, p = [10, 30, 80, 90], [0.15, 0.1, 0.7, 0.05]
    figures = risk_of(x, p, SALARY, epsilon=20)
    assert figures.area == cae_area(x, p)
    assert figures.initial_entropy == pytest.approx(cae_entropy(x, p))
    assert figures.entropy_at_epsilon == pytest.approx(cae_entropy(x, p, 20))
    assert figures.risk == pytest.approx(1 - cae_area(x, p) / cae_area(SALARY.values))
    assert risk_of(x, p, SALARY).entropy_at_epsilon is None


def test_a_domain_of_one_value_discloses_it_before_any_answer() -> None:
    single = Domain(5, 5, 1)
    assert risk_of([5], None, single).risk == 1
    assert Limit(risk=0.5).least_run(single) is None
    assert Limit(risk=1).least_run(single) == 1


@given(st.integers(1, 25), st.integers(0, 300))
def test_a_run_in_closed_form_has_the_figures_of_its_values(count: int, epsilon: int) -> None:
    closed, general = (
        risk_of_run(count, SALARY, epsilon),
        risk_of(SALARY.values[:count], None, SALARY, epsilon),
    )
    for name in ("initial_entropy", "entropy_at_epsilon", "area", "risk"):
        assert getattr(closed, name) == pytest.approx(getattr(general, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("count", [0, 26, 2.5])
def test_a_run_that_the_domain_does_not_hold_is_refused(count: Any) -> None:
    with pytest.raises(InvalidInput):
        risk_of_run(count, SALARY)


def test_values_outside_of_the_domain_are_refused_with_their_position() -> None:
    with pytest.raises(InvalidInput) as caught:
        risk_of([50, 260], None, SALARY)
    assert caught.value.position == 1


def test_a_value_that_rounding_has_put_past_the_maximum_is_inside() -> None:
    assert risk_of(np.arange(4) * 0.1, None, Domain(0, 0.3, 0.1)).risk == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"risk": -0.1},
        {"risk": 1.1},
        {"risk": math.nan},
        {"risk": "1"},
        {"epsilon": -1},
        {"epsilon": math.inf},
        {"min_entropy": 1},
        {"risk": 0.5, "min_entropy": 1},
        {"epsilon": 1, "min_entropy": 0},
        {"epsilon": 1, "min_entropy": -1},
        {"epsilon": 1, "min_entropy": math.nan},
    ],
)
def test_a_limit_that_cannot_be_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Limit(**arguments)


def test_a_limit_on_risk_holds_up_to_the_last_digits() -> None:
    risk = risk_of([50, 60, 70], None, SALARY).risk
    assert Limit(risk=risk).keeps([50, 60, 70], None, SALARY)
    assert Limit(risk=risk - 1e-14).keeps([50, 60, 70], None, SALARY)
    assert not Limit(risk=risk - 1e-9).keeps([50, 60, 70], None, SALARY)
    assert Limit(risk=0).keeps(SALARY.values, None, SALARY)


def test_a_limit_on_approximate_compromise_asks_for_more_than_one_window() -> None:
    limit = Limit(epsilon=20)
    assert not limit.keeps([50, 60, 70], None, SALARY)
    assert limit.keeps([50, 60, 80], None, SALARY)
    assert not limit.keeps([50, 250], [1, 1e-16], SALARY)  # 10⁻¹⁴ bits in all, next to nothing at ε
    assert Limit(epsilon=20, min_entropy=1).keeps([50, 250], None, SALARY)
    assert not Limit(epsilon=20, min_entropy=1).keeps([50, 250], [0.49, 0.51], SALARY)


def test_both_parts_of_a_limit_must_hold() -> None:
    far_apart = [50, 250], None, SALARY
    assert not Limit(risk=1, epsilon=20, min_entropy=1.5).keeps(*far_apart)
    assert not Limit(risk=0, epsilon=20).keeps(*far_apart)


def test_figures_without_the_limits_epsilon_are_not_judged() -> None:
    with pytest.raises(InvalidInput):
        Limit(epsilon=20).allows(Risk(1.0, None, 10.0, 0.5))


LIMITS = st.one_of(
    st.builds(Limit, risk=st.floats(0, 1)),
    st.builds(Limit, epsilon=st.integers(0, 260)),
    st.builds(Limit, epsilon=st.integers(0, 260), min_entropy=st.floats(0.1, 5)),
    st.builds(Limit, risk=st.floats(0, 1), epsilon=st.integers(0, 60), min_entropy=st.floats(0.1, 2)),
)


@given(LIMITS, st.integers(1, 25))
def test_the_least_run_is_the_least_from_which_all_runs_keep_the_limit(limit: Limit, count: int) -> None:
    domain = Domain(10, 10 * count, 10)
    kept = [limit.keeps(domain.values[:m], None, domain) for m in range(1, count + 1)]
    least = next((m for m in range(1, count + 1) if all(kept[m - 1 :])), None)
    assert limit.least_run(domain) == least


@pytest.mark.slow
def test_the_least_run_of_a_domain_of_millions_is_found() -> None:
    domain = Domain(0, 3_000_000, 1)
    least = Limit(risk=0.5, epsilon=100, min_entropy=1).least_run(domain)
    assert least is not None
    assert Limit(risk=0.5).allows(risk_of_run(least, domain))
    assert not Limit(risk=0.5).allows(risk_of_run(least - 1, domain))
    assert Limit(epsilon=1_500_000, min_entropy=1).least_run(Domain(0, 2**21, 1)) is None
    assert Limit(epsilon=100).least_run(domain) == 102


def test_each_class_has_the_figures_of_its_averaged_records() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 40, 150)
    lower = rng.integers(10, 200, 150)
    upper = lower + rng.integers(0, 51, 150)
    found = class_risks(labels, lower, upper, SALARY, epsilon=20)
    assert found.label.tolist() == sorted(set(labels.tolist()))
    assert found.entropy_at_epsilon is not None
    for k, label in enumerate(found.label):
        members = labels == label
        figures = risk_of(*candidates(lower[members], upper[members], SALARY), SALARY, epsilon=20)
        assert found.records[k] == members.sum()
        assert (found.lower[k], found.upper[k]) == (lower[members].min(), upper[members].max())
        assert found.area[k] == pytest.approx(figures.area, rel=1e-9, abs=1e-12)
        assert found.risk[k] == pytest.approx(figures.risk, abs=1e-9)
        assert found.initial_entropy[k] == pytest.approx(figures.initial_entropy, abs=1e-9)
        assert found.entropy_at_epsilon[k] == pytest.approx(figures.entropy_at_epsilon, abs=1e-9)


def test_classes_without_an_epsilon_have_no_entropy_at_one() -> None:
    assert class_risks([3, 3], [10, 10], [20, 20], SALARY).entropy_at_epsilon is None


@pytest.mark.parametrize(
    ("labels", "lower", "upper", "position"),
    [([0], [10, 20], [10, 20], 1), ([0.5, 1], [10, 20], [10, 20], None), ([0, 1], [10, 30], [10, 20], 1)],
)
def test_classes_of_bad_records_are_refused(
    labels: Any, lower: Any, upper: Any, position: int | None
) -> None:
    with pytest.raises(InvalidInput) as caught:
        class_risks(labels, lower, upper, SALARY)
    assert caught.value.position == position


@given(
    st.integers(2, 9),
    st.one_of(
        st.floats(0.05, 0.95).map(lambda risk: Limit(risk=risk)),
        st.tuples(st.integers(0, 3), st.floats(0.1, 2)).map(lambda e: Limit(epsilon=e[0], min_entropy=e[1])),
    ),
    st.data(),
)
def test_nothing_within_fewer_values_than_the_least_span_keeps_a_limit(
    count: int, limit: Limit, data: st.DataObject
) -> None:
    domain = Domain(0, count - 1, 1)
    least = limit.least_span(domain)
    if least > 1:
        weights = data.draw(st.lists(st.integers(0, 5), min_size=least - 1, max_size=least - 1).filter(any))
        assert not limit.keeps(np.arange(least - 1), weights, domain)
    whole = limit.least_run(domain)
    assert whole is None or least <= whole


def test_a_record_that_stands_for_several_counts_as_often() -> None:
    labels, lower, upper, times = [4, 4, 9], [20, 40, 30], [40, 60, 70], [3, 1, 5]
    found = class_risks(labels, lower, upper, SALARY, 20, times)
    repeated = class_risks(*(np.repeat(each, times) for each in (labels, lower, upper)), SALARY, 20)
    assert found.records.tolist() == repeated.records.tolist() == [4, 5]
    for name in ("initial_entropy", "entropy_at_epsilon", "area", "risk"):
        assert getattr(found, name).tolist() == getattr(repeated, name).tolist()
    with pytest.raises(InvalidInput, match="same length"):
        class_risks(labels, lower, upper, SALARY, None, [1, 1])
