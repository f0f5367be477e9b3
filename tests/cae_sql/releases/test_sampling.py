"""Samples: the candidate distributions against enumeration, and samples that are none."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput, cae_area, cae_entropy
from cae_sql.releases import draw_sample, sampled, sampled_beliefs
from cae_sql.risk import risk_of
from tests.cae_sql.releases.small_tables import DOMAIN, KNOWN, matching, tables

STAFF = pd.DataFrame(
    {"pay": [10, 10, 30, 50], "age": [31, 31, 31, 44], "job": ["cook", "cook", "nurse", "cook"]}
)


@given(tables(), KNOWN, st.data())
def test_each_matching_record_is_equally_the_target_and_known_if_it_is_in_the_sample(table, known, data):
    taken = data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)))
    sample = table[np.array(taken)]
    found = sampled_beliefs(table, sample, "pay", known, DOMAIN)
    for row in range(len(found.matches)):
        there = matching(table, known, found.known.iloc[row])
        believed = np.zeros(DOMAIN.count)
        for index, record in there.iterrows():  # which of them is the target?
            if taken[index]:
                believed[int(record.pay / 10) - 1] += 1 / len(there)
            else:
                believed += 1 / DOMAIN.count / len(there)
        assert found.matches[row] == len(there)
        assert found.probabilities[row] == pytest.approx(believed, abs=1e-12)
        assert found.probabilities[row].sum() == pytest.approx(1)


def test_over_all_samples_of_one_size_the_mean_belief_is_the_sampled_share_of_the_truth():
    table = pd.DataFrame({"pay": [10, 10, 20, 40, 50], "age": [1, 1, 1, 2, 2]})
    beliefs = [
        sampled_beliefs(table, table.iloc[list(chosen)], "pay", [], DOMAIN).probabilities[0]
        for chosen in combinations(range(5), 2)
    ]
    truth = np.array([2, 1, 0, 1, 1]) / 5
    assert np.mean(beliefs, axis=0) == pytest.approx(0.4 * truth + 0.6 / 5)


@given(tables(), KNOWN)
def test_the_figures_are_those_of_the_measure_of_each_distribution(table, known):
    sample = table.iloc[::2]
    frame = sampled(table, sample, "pay", known, DOMAIN, epsilon=10)
    found = sampled_beliefs(table, sample, "pay", known, DOMAIN)
    assert list(frame.columns) == [*known, "matches", "initial_entropy", "entropy_at_epsilon", "area", "risk"]
    for row, p in enumerate(found.probabilities):
        figures = risk_of(DOMAIN.values, p, DOMAIN, 10)
        assert frame.initial_entropy[row] == pytest.approx(figures.initial_entropy, abs=1e-12)
        assert frame.entropy_at_epsilon[row] == pytest.approx(figures.entropy_at_epsilon, abs=1e-12)
        assert frame.area[row] == pytest.approx(cae_area(DOMAIN.values, p), abs=1e-10)
        assert frame.risk[row] == pytest.approx(figures.risk, abs=1e-12)
        assert frame.initial_entropy[row] == pytest.approx(cae_entropy(DOMAIN.values, p), abs=1e-12)


def test_a_release_of_everything_tells_all_about_who_is_alone_and_nothing_released_tells_nothing():
    alone = STAFF.assign(age=[1, 2, 3, 4])
    assert sampled(alone, alone, "pay", ["age"], DOMAIN).risk.tolist() == [1, 1, 1, 1]
    nothing = alone.iloc[:0]
    for known in ([], ["age"], ["age", "job"]):
        assert set(sampled(alone, nothing, "pay", known, DOMAIN).risk) == {0}


def test_what_several_share_stays_open_only_as_far_as_they_differ():
    frame = sampled(STAFF, STAFF, "pay", ["age", "job"], DOMAIN)
    assert frame.matches.tolist() == [2, 1, 1]
    assert frame.risk.tolist() == [1, 1, 1]  # the two cooks of 31 earn the same
    assert sampled(STAFF, STAFF, "pay", ["age"], DOMAIN).initial_entropy[0] == pytest.approx(
        0.9182958340544896
    )


def test_without_supplementary_knowledge_there_is_one_row():
    frame = sampled(STAFF, STAFF.iloc[:2], "pay", [], DOMAIN)
    assert list(frame.columns) == ["matches", "initial_entropy", "area", "risk"]
    assert frame.matches.tolist() == [4]


def test_a_drawn_sample_has_its_size_no_duplicates_and_hangs_on_the_seed():
    table = pd.DataFrame({"pay": range(200)})
    sample = draw_sample(table, 12.5, seed=7)
    assert len(sample) == 25
    assert sample.index.is_monotonic_increasing
    assert sample.index.is_unique
    assert sample.equals(draw_sample(table, 12.5, seed=7))
    assert not sample.equals(draw_sample(table, 12.5, seed=8))
    assert len(draw_sample(table, 100, seed=1)) == 200
    assert len(draw_sample(table, 0, seed=1)) == 0


def test_a_sample_of_units_has_all_records_of_some_and_none_of_others():
    table = pd.DataFrame({"patient": [f"p{i % 40}" for i in range(200)], "pay": range(200)})
    sample = draw_sample(table[["pay"]], 25, 7, table["patient"])
    assert len(sample) == 50
    chosen = set(table["patient"][sample.index])
    assert len(chosen) == 10
    assert list(table.index[table["patient"].isin(chosen)]) == list(sample.index)


def test_with_one_record_a_unit_a_sample_is_that_of_records():
    table = pd.DataFrame({"pay": range(200)})
    for names in (pd.Series(range(199, -1, -1)), pd.Series([None] * 200), pd.Series(["a", *[None] * 199])):
        assert draw_sample(table, 12.5, 7, names).equals(draw_sample(table, 12.5, 7))


@pytest.mark.parametrize("percent", [-1, 100.5, float("nan")])
def test_a_percentage_out_of_range_is_an_error(percent):
    with pytest.raises(InvalidInput, match="percent"):
        draw_sample(STAFF, percent, seed=1)


def test_a_sample_that_has_more_of_something_than_the_original_is_none():
    twice = pd.concat([STAFF, STAFF.iloc[[2]]])
    with pytest.raises(
        InvalidInput, match="2 records with age = 31, pay = 30, the original 1: it is no sample"
    ):
        sampled(STAFF, twice, "pay", ["age"], DOMAIN)


def test_a_sample_with_a_combination_that_the_original_lacks_is_none():
    other = STAFF.assign(job=["nurse", "cook", "nurse", "cook"])
    with pytest.raises(
        InvalidInput, match="row 3 of the sample has age = 44, job = 'nurse', which no record"
    ):
        sampled(STAFF, other.assign(job="nurse"), "pay", ["age", "job"], DOMAIN)


def test_a_domain_of_one_value_is_known_before_any_release():
    table = pd.DataFrame({"pay": [10, 10]})
    assert sampled(table, table.iloc[:0], "pay", [], Domain(10, 10, 10)).risk.tolist() == [1]


def test_decimal_steps_are_exact():
    table = pd.DataFrame({"pay": [0.1, 0.3, 0.7], "age": [1, 2, 3]})
    frame = sampled(table, table.iloc[:2], "pay", ["age"], Domain(0.1, 0.9, 0.1))
    assert frame.risk.tolist() == [1, 1, 0]


@pytest.mark.parametrize("seed", [-1, 1.5, None, "x", True])
def test_a_seed_that_is_none_is_an_error(seed):
    with pytest.raises(InvalidInput, match="seed must be a whole number of 0 or more"):
        draw_sample(STAFF, 50, seed)
