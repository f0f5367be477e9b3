"""What a user of a release takes the original to be: nothing is lost where everything is told."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput, releases
from cae_sql.releases import estimates
from cae_sql.releases.estimates import Comparison, utility

SALARY = Domain(10, 60, 10)
RECORDS = st.lists(
    st.tuples(st.sampled_from([10, 20, 30, 60]), st.sampled_from(["f", "m"]), st.integers(30, 34)),
    min_size=4,
    max_size=30,
)


def table(records: list[tuple[int, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(records, columns=["salary", "sex", "age"])


def of(technique: str, original: pd.DataFrame, by: str | None, told: bool) -> Comparison:
    """A release of everything (`told`) or of little."""
    public = ["sex", "age"]
    if technique == "sample":
        sample = releases.draw_sample(original, 100 if told else 60, 1)
        return estimates.of_sample(original, sample, "salary", by, SALARY)
    if technique == "noise":
        noisy = releases.add_noise(original, "salary", public, SALARY, 0 if told else 80, 1)
        return estimates.of_noise(original, noisy, "salary", by, SALARY)
    if technique == "randomised":
        chances = {"salary": 1.0 if told else 0.5}
        domains = {"salary": SALARY.values.tolist()}
        randomised = releases.randomise(original, chances, domains, 1)
        return estimates.of_randomised(original, randomised, "salary", by, SALARY, chances)
    if technique == "answers":
        return estimates.of_answers(original, "salary", by, SALARY, 2 if told else 4, 1)
    released = original if told else original.assign(age="*", sex="*")
    known = [] if by is None else [by]
    beliefs = releases.generalised_beliefs(original, released, "salary", known, SALARY)
    return estimates.of_beliefs(original, beliefs, "salary")


TECHNIQUES = ("sample", "noise", "randomised", "answers", "generalised")


@pytest.mark.parametrize("technique", TECHNIQUES)
@given(RECORDS, st.sampled_from([None, "sex", "age"]), st.booleans())
def test_both_tables_are_distributions(technique, records, by, told):
    found = of(technique, table(records), by, told)
    for each in (found.original, found.estimate):
        assert each.sum() == pytest.approx(1)
        assert each.min() >= 0
    assert found.original.shape == found.estimate.shape


@pytest.mark.parametrize("technique", ["sample", "noise", "randomised"])
@given(RECORDS, st.sampled_from([None, "sex", "age"]))
def test_a_release_of_everything_loses_nothing(technique, records, by):
    lost = utility([of(technique, table(records), by, told=True)], SALARY)
    assert (lost.distance, lost.query_error, lost.association_error) == pytest.approx((0, 0, 0), abs=1e-9)


def test_a_table_as_it_is_loses_nothing_to_who_knows_the_register():
    original = table([(10, "f", 30), (20, "m", 31), (60, "f", 33), (60, "m", 34)])
    found = of("generalised", original, "age", told=True)
    assert found.estimate.tolist() == found.original.tolist()


def test_sums_of_two_that_settle_every_value_lose_nothing():
    """In a chain of sums over two records those at both ends of the domain settle all others."""
    original = table([(10, "f", 30), (60, "m", 31), (30, "f", 32), (10, "m", 33), (60, "f", 34)] * 4)
    alone = original.assign(row=range(20))
    assert (releases.restricted(alone, "salary", ["row"], SALARY, 2, 1).risk == 1).all()
    found = of("answers", original, "sex", told=True)
    assert found.estimate == pytest.approx(found.original)


@given(RECORDS, st.sampled_from([2, 4]), st.integers(0, 5))
def test_what_answers_are_spread_to_has_the_total_that_was_answered(records, size, seed):
    original = table(records)
    found = estimates.of_answers(original, "salary", None, SALARY, size, seed)
    asked = np.unique(np.concatenate(releases.query_sets(len(original), size, seed)))
    if len(asked) == len(original):  # no record is left over
        assert float((found.estimate @ SALARY.values).sum()) == pytest.approx(
            original.salary.mean(), rel=1e-6
        )


def test_the_table_of_a_public_column_is_counted_by_hand():
    original = table([(10, "f", 30), (20, "f", 31), (20, "m", 32), (60, "m", 33)])
    sample = original.iloc[[0, 3]]
    found = estimates.of_sample(original, sample, "salary", "sex", SALARY)
    assert found.original.tolist() == [[0.25, 0.25, 0, 0, 0, 0], [0, 0.25, 0, 0, 0, 0.25]]
    assert found.estimate.tolist() == [[0.5, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0.5]]
    lost = utility([found], SALARY)
    assert lost.distance == 0.5
    # sums by sex 7.5 and 20 of the mean 27.5; taken to be 5 and 30
    assert lost.query_error == pytest.approx((2.5 + 10) / 27.5)
    # sex says all of salary in the sample, and 0.5 of its 1.5 bits in the original
    assert lost.association_error == pytest.approx(1 - 0.5 / 1.5)


def test_noise_beyond_a_domain_is_put_at_its_end():
    original = table([(10, "f", 30), (60, "m", 34)])
    noisy = pd.DataFrame({"salary": [-20, 90], "age": [26, 38]})
    found = estimates.of_noise(original, noisy, "salary", "age", SALARY)
    assert found.estimate.tolist() == found.original.tolist()


def test_an_empty_sample_tells_nothing_and_says_so():
    original = table([(10, "f", 30), (60, "m", 34)])
    with pytest.raises(InvalidInput, match="nothing can be estimated"):
        estimates.of_sample(original, original.iloc[:0], "salary", None, SALARY)


def test_sums_that_are_all_0_have_no_relative_error():
    domain = Domain(0, 10, 10)
    original = pd.DataFrame({"salary": [0, 0]})
    found = estimates.of_sample(original, original, "salary", None, domain)
    assert isnan(utility([found], domain).query_error)
    with pytest.raises(InvalidInput, match="no tables"):
        utility([], domain)
