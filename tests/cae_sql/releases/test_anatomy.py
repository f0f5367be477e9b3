"""Groups of different sensitive values, and what the two published tables tell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput
from cae_sql.releases import anatomise
from cae_sql.releases.anatomy import anatomy_estimate
from cae_sql.releases.distortion import Distortion
from cae_sql.releases.generalisation import generalised_beliefs

values = st.lists(st.integers(0, 5), min_size=2, max_size=60)


def diverse(found: list[int], ell: int) -> bool:
    return max(Counter(found).values()) * ell <= len(found)


@given(values, st.integers(2, 4), st.integers(0, 9))
def test_no_group_has_a_value_twice_and_each_has_at_least_l(found: list[int], ell: int, seed: int) -> None:
    frame = pd.DataFrame({"ill": found}, index=range(100, 100 + len(found)))
    if not diverse(found, ell):
        with pytest.raises(InvalidInput, match="no groups of"):
            anatomise(frame, "ill", ell, seed)
        return
    groups = anatomise(frame, "ill", ell, seed)
    assert groups.index.equals(frame.index)
    members = frame.groupby(groups)["ill"]
    assert (members.nunique() == members.size()).all()
    assert members.size().min() >= ell
    assert len(members) == len(found) // ell  # one group for each l records: those left join others
    assert sorted(groups.unique()) == list(range(len(members)))


@given(values, st.integers(2, 4))
def test_nobodys_value_is_believed_more_than_1_in_l(found: list[int], ell: int) -> None:
    if not diverse(found, ell):
        return
    frame = pd.DataFrame({"ill": found, "zip": range(len(found))})
    frame["group"] = anatomise(frame, "ill", ell, 0)
    beliefs = generalised_beliefs(
        frame, frame[["group", "ill"]], "ill", ["zip"], Domain(0, 5, 1), group="group"
    )
    assert beliefs.probabilities.max() <= 1 / ell + 1e-12


def test_which_record_of_a_value_goes_where_is_drawn() -> None:
    frame = pd.DataFrame({"ill": [0, 1] * 20})
    first, again, other = (anatomise(frame, "ill", 2, seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_the_estimate_spreads_each_groups_values_over_its_records() -> None:
    frame = pd.DataFrame({"zip": [1, 2, 1, 1], "ill": ["a", "b", "b", "c"]})
    group = pd.Series([0, 0, 1, 1])
    distortion = Distortion.of({}, {"zip": [1, 2], "ill": ["a", "b", "c"]})
    assert anatomy_estimate(frame, group, distortion).tolist() == [[0.125, 0.375, 0.25], [0.125, 0.125, 0]]


@given(values, st.integers(0, 9))
def test_the_estimate_keeps_both_margins(found: list[int], seed: int) -> None:
    if not diverse(found, 2):
        return
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"zip": random.integers(0, 3, len(found)), "ill": found})
    distortion = Distortion.of({}, {"zip": range(3), "ill": range(6)})
    table = distortion.table(distortion.codes(frame))
    estimate = anatomy_estimate(frame, anatomise(frame, "ill", 2, seed), distortion)
    assert estimate.sum(axis=0) == pytest.approx(table.sum(axis=0))
    assert estimate.sum(axis=1) == pytest.approx(table.sum(axis=1))


def test_a_seed_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(InvalidInput, match="seed must be a whole number"):
        anatomise(pd.DataFrame({"ill": [1, 2]}), "ill", 2, seed=-1)


@pytest.mark.parametrize(
    ("frame", "ell", "told"),
    [
        (pd.DataFrame({"ill": [1, 2]}), 1, "whole number from 2, not 1"),
        (pd.DataFrame({"ill": [1, 2]}), 2.5, "whole number from 2, not 2.5"),
        (pd.DataFrame({"ill": [1, 1, 2]}), 2, "2 of 3 records have ill = 1, more than one in 2"),
        (pd.DataFrame({"ill": [1, None]}), 2, "no value of 'ill' in row 1"),
        (pd.DataFrame({"sick": [1, 2]}), 2, "no column 'ill'"),
        (pd.DataFrame({"ill": []}), 2, "no records"),
    ],
)
def test_bad_input_is_one_clear_error(frame: pd.DataFrame, ell: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        anatomise(frame, "ill", ell, 0)
