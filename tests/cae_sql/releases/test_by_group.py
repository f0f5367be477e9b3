"""Sums, histograms and parameters by group: against enumeration, and what the companion papers define."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput, releases
from cae_sql.releases.by_group import histograms_by_group, parameters_by_group, sums_by_group
from tests.cae_sql.releases.small_tables import DOMAIN, KNOWN, matching, tables

MAKERS = [sums_by_group, histograms_by_group, parameters_by_group]


@lru_cache
def first_values(size: int, total: int) -> np.ndarray:
    """How often the first record of a group has each value, in all tables of the group with this sum."""
    all_tables = np.array(list(itertools.product(DOMAIN.values, repeat=size)))
    first = all_tables[all_tables.sum(axis=1) == total, 0]
    return (first[:, None] == DOMAIN.values).sum(axis=0)


@pytest.mark.slow
@given(tables(most=6), KNOWN, KNOWN)
def test_sums_leave_of_a_record_what_it_is_in_the_tables_that_have_them(table, by, known):
    found = sums_by_group(table, "pay", by, DOMAIN).beliefs(table, "pay", known, DOMAIN)
    for row in range(len(found.matches)):
        there = matching(table, known, found.known.iloc[row])
        expected = np.zeros(DOMAIN.count)
        for _, record in there.iterrows():
            group = matching(table, by, record)
            first = first_values(len(group), int(group.pay.sum()))
            expected += first / first.sum() / len(there)
        assert found.probabilities[row] == pytest.approx(expected, abs=1e-9)


@given(tables(most=6), KNOWN)
def test_the_bits_that_sums_take_are_the_papers_privacy_loss(table, by):
    who = table.assign(id=range(len(table)))
    found = sums_by_group(who, "pay", by, DOMAIN).beliefs(who, "pay", ["id"], DOMAIN)
    lost = np.log2(DOMAIN.count) - found.frame().initial_entropy
    groups = [np.flatnonzero([all(a == b for a, b in zip(row, key, strict=True)) for row in
                              table[by].itertuples(index=False)]) for key in
              table[by].drop_duplicates().itertuples(index=False)]  # fmt: skip
    groups = groups if by else [np.arange(len(table))]
    given_sums = [(group, float(table.pay.iloc[group].sum())) for group in groups]
    expected = releases.privacy_losses(DOMAIN.values, len(table), given_sums)
    assert lost.to_numpy() == pytest.approx(expected, abs=1e-9)


@given(tables(), KNOWN, KNOWN)
def test_histograms_are_anatomy_whose_groups_are_the_classes(table, by, known):
    made = histograms_by_group(table, "pay", by, DOMAIN)
    grouped = table.assign(group=made.groups.labels)
    expected = releases.generalised_beliefs(grouped, grouped, "pay", known, DOMAIN, group="group")
    found = made.beliefs(table, "pay", known, DOMAIN)
    assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-12)


@given(tables(), KNOWN, st.sampled_from(MAKERS), st.integers(2, 5))
def test_small_groups_are_withheld_and_nothing_is_believed_of_them(table, by, maker, least):
    made = maker(table, "pay", by, DOMAIN, least)
    sizes = table.groupby(by).size() if by else pd.Series([len(table)])
    assert made.released.sum() == (sizes >= least).sum()
    assert made.told[~made.released] == pytest.approx(1 / DOMAIN.count)
    assert made.told.sum(axis=1) == pytest.approx(1)
    assert set(made.published["records"]) <= set(range(1, len(table) + 1))
    if maker is not histograms_by_group:
        assert (made.published["records"] >= least).all()
        assert len(made.published) == made.released.sum()


def test_what_is_published_is_what_a_group_by_gives():
    table = pd.DataFrame({"sex": list("ffmmm"), "pay": [10, 20, 50, 50, 20]})
    assert sums_by_group(table, "pay", ["sex"], DOMAIN).published.to_numpy().tolist() == [
        ["f", 2, 30.0], ["m", 3, 120.0],
    ]  # fmt: skip
    assert histograms_by_group(table, "pay", ["sex"], DOMAIN, 3).published.to_numpy().tolist() == [
        ["m", 20.0, 1], ["m", 50.0, 2],
    ]  # fmt: skip
    made = parameters_by_group(table, "pay", ["sex"], DOMAIN).published
    assert made.to_numpy().tolist() == [["m", 3, pytest.approx(40), pytest.approx(np.sqrt(300))]]


def test_parameters_are_believed_as_a_normal_distribution_on_the_domain():
    table = pd.DataFrame({"pay": [10, 20, 50, 50]})
    made = parameters_by_group(table, "pay", [], DOMAIN)
    mean, deviation = table.pay.mean(), table.pay.std()
    density = np.exp(-(((DOMAIN.values - mean) / deviation) ** 2) / 2)
    assert made.told[0] == pytest.approx(density / density.sum())
    assert made.figures["compute_risk_2"][0] == pytest.approx(releases.parameter_risk(table.pay))
    assert made.figures["compute_risk_1"][0] == pytest.approx(releases.mean_risk(table.pay, 0.95, 4).risk)


def test_a_group_that_all_have_one_value_tells_it():
    table = pd.DataFrame({"pay": [20, 20, 20]})
    for maker in MAKERS[1:]:
        assert maker(table, "pay", [], DOMAIN).told[0].tolist() == [0, 1, 0, 0, 0]
    assert np.isnan(parameters_by_group(table, "pay", [], DOMAIN).figures["compute_risk_1"]).all()
    lowest = pd.DataFrame({"pay": [10, 10, 10]})
    assert sums_by_group(lowest, "pay", [], DOMAIN).told[0].tolist() == [1, 0, 0, 0, 0]


def test_the_worst_figure_of_a_class_is_that_of_a_group_it_is_in():
    table = pd.DataFrame({"sex": list("ffffmm"), "town": list("xxyyxy"), "pay": [10, 20, 20, 20, 50, 10]})
    made = histograms_by_group(table, "pay", ["sex"], DOMAIN, 3, draws=7, confidence=0.9)
    of_women = releases.histogram_risk([1, 3, 0, 0, 0], 7, 0.9).worst
    assert made.worst(table, ["town"], "histogram_risk") == pytest.approx([of_women, of_women])
    by_sex = made.worst(table, ["sex"], "histogram_risk")
    assert by_sex[0] == pytest.approx(of_women)
    assert np.isnan(by_sex[1])


@pytest.mark.parametrize(
    ("maker", "options", "message"),
    [
        (sums_by_group, {"least": 0}, "least must be a whole number from 1"),
        (histograms_by_group, {"draws": 0}, "draws must be a whole number of at least 1"),
        (histograms_by_group, {"confidence": 1.0}, "confidence must lie between 0 and 1"),
        (parameters_by_group, {"confidence": 0.5}, "confidence must lie between 0.601 and 1"),
        (sums_by_group, {"by": ["pay"]}, "known names the confidential column"),
        (sums_by_group, {"by": ["town"]}, "has no column 'town'"),
    ],
)
def test_what_cannot_be_made_is_one_error(maker, options, message):
    table = pd.DataFrame({"sex": list("ffm"), "pay": [10, 20, 50]})
    with pytest.raises(InvalidInput, match=message):
        maker(table, "pay", **({"by": ["sex"], "domain": DOMAIN} | options))


def test_a_group_whose_sum_cannot_be_counted_is_named():
    wide = Domain(0, 10**9, 1)
    with pytest.raises(InvalidInput, match="too much to hold"):
        sums_by_group(pd.DataFrame({"pay": [1, 10**9]}), "pay", [], wide)
