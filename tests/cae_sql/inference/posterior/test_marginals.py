"""The model `exact` against all tables listed, and risk against what answers say of everybody."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.errors import InconsistentAnswers, InvalidInput
from cae_sql.inference.posterior import components
from cae_sql.inference.posterior.marginals import Marginals, about_everybody, marginals, model_risks
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from cae_sql.releases import record_given_sum
from tests.cae_sql.inference.posterior.tables import listed


def bits(p: np.ndarray) -> float:
    return -sum(float(q) * math.log2(q) for q in p if q > 0)


# Everything possible, listed


@given(st.integers(0, 10**9))
def test_exact_is_the_share_of_the_tables_that_agree(seed: int) -> None:
    small = listed(seed)
    found = marginals(small.system)
    assert not found.estimated.any()
    for record in range(small.system.size):
        assert found.of(record) == pytest.approx(small.share(record), abs=1e-12)


@given(st.integers(0, 10**9))
def test_every_distribution_sums_to_1(seed: int) -> None:
    found = marginals(listed(seed).system)
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    assert (found.probabilities >= 0).all()


@given(st.integers(0, 10**9))
def test_exact_gives_nothing_to_what_intervals_exclude(seed: int) -> None:
    small = listed(seed)
    found, bounds = marginals(small.system), small.system.bounds()
    units = np.arange(small.top + 1)
    for record in range(small.system.size):
        outside = (units < bounds.lower[record] - 1e-9) | (units > bounds.upper[record] + 1e-9)
        assert not found.of(record)[outside].any()


# The designs' examples


def test_three_salaries_of_average_200() -> None:
    system = AnsweredSystem(3, 100, 300, 100)
    system.add_mean([0, 1, 2], 200)
    found = marginals(system)
    assert found.of(0) == pytest.approx([2 / 7, 3 / 7, 2 / 7], abs=1e-15)
    assert (round(math.log2(3), 3), round(bits(found.of(0)), 3)) == (1.585, 1.557)


def test_a_maximum_and_an_average_of_two_leave_two_values() -> None:
    system = AnsweredSystem(2, 10, 250, 1)
    system.add_max([0, 1], 107)
    system.add_mean([0, 1], 78.5)
    found = marginals(system)
    assert found.values[found.of(0) > 0].tolist() == [50, 107]
    assert found.of(0)[found.of(0) > 0] == pytest.approx([0.5, 0.5], abs=1e-12)


def test_values_are_gathered_at_the_step_of_the_domain() -> None:
    system = AnsweredSystem(3, 0, 29, 1)
    system.add_sum([0, 1, 2], 40)
    fine, coarse = marginals(system), marginals(system, Domain(0, 29, 10))
    assert coarse.values.tolist() == [0, 10, 20]
    assert coarse.of(0) == pytest.approx(fine.of(0).reshape(3, 10).sum(axis=1), abs=1e-14)


# Large systems


def test_one_sum_over_thousands_is_what_privacy_loss_counts() -> None:
    system = AnsweredSystem(4000, 10, 250, 10)
    system.add_mean(np.arange(4000), 90)
    assert marginals(system).of(17) == pytest.approx(
        record_given_sum(range(10, 251, 10), 4000, 360_000)[1], abs=1e-10
    )


def test_who_is_in_no_sum_has_an_even_distribution_however_fine_the_grid() -> None:
    system = AnsweredSystem(3, 0, 10**7, 1)
    system.add_max([0, 1], 10**7)  # whoever it is, it may be at the end of the domain
    found = marginals(system, Domain(0, 10**7, 10**5))
    assert found.of(2)[:100] == pytest.approx(0.01, rel=1e-6)
    assert found.estimated[found.labels].tolist() == [True, True, False]


# Estimates


def overlapping() -> AnsweredSystem:
    chance = np.random.default_rng(7)
    true = chance.integers(0, 25, 60)
    system = AnsweredSystem(60, 0, 24, 1)
    for mask in chance.random((8, 60)) < 0.5:
        system.add_sum(mask, int(true[mask].sum()))
    return system


def test_what_cannot_be_counted_is_estimated_and_says_so() -> None:
    system = overlapping()
    found = marginals(system)
    asked = np.unique(np.concatenate([answer.members for answer in system.answers]))
    assert found.estimated[found.labels].nonzero()[0].tolist() == asked.tolist()
    assert found.probabilities.sum(axis=1) == pytest.approx(1)


def test_an_estimate_comes_near_to_what_counting_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    system = AnsweredSystem(6, 0, 4, 1)
    system.add_sum([0, 1, 2, 3], 11)
    system.add_sum([2, 3, 4, 5], 3)
    counted = marginals(system)
    monkeypatch.setattr(components, "MOST_COUNTED", 0)
    estimate = marginals(system)
    assert estimate.estimated.all()
    assert not counted.estimated.any()
    assert np.abs(estimate.probabilities - counted.probabilities).max() < 0.12


def test_a_prior_of_the_system_is_no_part_of_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    def low(count: int, seed: int) -> np.ndarray:
        return np.zeros(count, dtype=np.int64)

    odds = np.array([1.0, 0, 0, 0, 0])
    plain, primed = AnsweredSystem(6, 0, 4, 1), AnsweredSystem(6, 0, 4, 1, prior=Prior.of(low, odds))
    for system in (plain, primed):
        system.add_sum([0, 1, 2, 3], 11)
        system.add_sum([2, 3, 4, 5], 3)
    assert marginals(plain).probabilities.tolist() == marginals(primed).probabilities.tolist()
    monkeypatch.setattr(components, "MOST_COUNTED", 0)
    assert marginals(plain).probabilities.tolist() == marginals(primed).probabilities.tolist()


# Risk and its baseline


def test_the_average_of_the_whole_table_does_not_count_against_its_members() -> None:
    system, domain = AnsweredSystem(200, 10, 250, 10), Domain(10, 250, 10)
    system.add_mean(np.arange(200), 60)
    risks = model_risks(system, np.zeros(200, dtype=int), domain)
    assert risks.risk.tolist() == risks.worst_risk.tolist() == [0]
    assert risks.baseline_area.max() < domain.area  # and yet it told something
    assert [(answer.kind, answer.value) for answer in about_everybody(system.solved)] == [("sum", 200 * 5)]


def test_a_total_that_follows_from_others_is_the_baseline_as_if_it_had_been_asked() -> None:
    domain, labels = Domain(10, 250, 10), np.repeat([0, 1], [40, 160])
    halves = AnsweredSystem(200, 10, 250, 10)
    halves.add_mean(np.arange(40), 20)
    halves.add_mean(np.arange(40, 200), 70)
    before = model_risks(halves, labels, domain)
    halves.add_mean(np.arange(200), 60)
    after = model_risks(halves, labels, domain)
    assert after.baseline_area.max() == before.baseline_area.max() < domain.area
    assert after.risk.tolist() == pytest.approx(before.risk.tolist(), abs=1e-12)


def test_extremes_of_the_whole_table_are_known_of_everybody_too() -> None:
    system = AnsweredSystem(6, 0, 9, 1)
    system.add_max([0, 1, 2], 5)
    assert about_everybody(system.solved) == []
    system.add_max(range(6), 8)
    system.add_min(range(6), 1)
    assert [(answer.kind, answer.value) for answer in about_everybody(system.solved)] == [
        ("max", 8),
        ("min", 1),
    ]
    signed = AnsweredSystem(3, 0, 9, 1)
    signed.add_sum([0, 1, 2], 4, [1, 1, -1])
    assert about_everybody(signed.solved) == []
    signed.add_sum([2], 3)
    assert [answer.value for answer in about_everybody(signed.solved)] == [10]


def test_what_is_learned_of_a_group_counts_for_its_members_alone() -> None:
    system, domain = AnsweredSystem(200, 10, 250, 10), Domain(10, 250, 10)
    system.add_mean(np.arange(200), 60)
    system.add_mean(np.arange(40), 20)
    labels = np.repeat([0, 1], [40, 160])
    risks = model_risks(system, labels, domain, epsilon=20)
    assert risks.risk[0] > 0.5
    assert risks.risk[1] < 0  # the others are richer, and their values lie further apart
    assert risks.entropy_at_epsilon is not None
    assert risks.records.tolist() == [40, 160]


def test_a_determined_record_has_risk_1_and_is_the_worst_of_its_class() -> None:
    system, domain = AnsweredSystem(5, 0, 9, 1), Domain(0, 9, 1)
    system.add_sum([0, 1, 2, 3], 18)
    system.add_sum([1, 2, 3], 13)
    risks = model_risks(system, np.zeros(5, dtype=int), domain)
    assert risks.worst_risk.tolist() == [1]
    assert risks.risk[0] < 0.5
    assert not risks.estimated.any()


def test_a_class_with_a_record_that_is_estimated_says_so() -> None:
    risks = model_risks(overlapping(), np.zeros(60, dtype=int), Domain(0, 24, 1))
    assert risks.estimated.all()


def test_with_everybody_at_the_end_of_the_domain_nothing_is_open_and_the_risk_is_1() -> None:
    system = AnsweredSystem(3, 0, 9, 1)
    system.add_sum([0, 1, 2], 27)
    assert model_risks(system, [0, 1, 2], Domain(0, 9, 1)).risk.tolist() == [1, 1, 1]


def test_on_the_paper_like_table_exact_is_closer_to_the_truth_than_the_domain(shared_data: Path) -> None:
    path = shared_data / "microdata" / "acs2011_us_paperlike.csv"
    rows = np.genfromtxt(path, delimiter=",", names=True, usecols=("salary", "age"))
    salary, age = rows["salary"], rows["age"]
    system = AnsweredSystem(len(salary), 10, 250, 10)
    for low in (16, 26, 36, 46, 56):
        members = (age >= low) & (age < low + 10)
        system.add_mean(members, float(salary[members].mean()))
    found: Marginals = marginals(system)
    places = np.rint((salary - 10) / 10).astype(int)
    chance = np.array([found.of(record)[place] for record, place in enumerate(places)])
    assert float(np.log2(chance).mean()) > -math.log2(25) + 0.1  # the log score of the uniform, and more


# What cannot be used


def test_bad_input_is_one_clear_error() -> None:
    system = AnsweredSystem(3, 0, 9, 1)
    with pytest.raises(InvalidInput, match="give the system a resolution"):
        marginals(AnsweredSystem(3, 0, 9))
    with pytest.raises(InvalidInput, match="give both the same minimum"):
        marginals(system, Domain(1, 9, 1))
    with pytest.raises(InvalidInput, match="no multiple of the resolution"):
        marginals(system, Domain(0, 9, 1.5))
    with pytest.raises(InvalidInput, match="labels must be 3 whole numbers"):
        model_risks(system, [0, 1], Domain(0, 9, 1))
    with pytest.raises(InvalidInput, match="too many to hold"):
        marginals(AnsweredSystem(3, 0, 10**9, 1))


def test_contradictory_answers_are_an_error() -> None:
    system = AnsweredSystem(300, 0, 9, 1)
    for record in range(100):
        system.add_sum([record, record + 100], 9)
    system.accept([system.query("sum", np.array([0, 100])).answered(3)])
    with pytest.raises(InconsistentAnswers):
        marginals(system)
