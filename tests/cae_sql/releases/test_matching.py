"""Tables that cannot be used: one clear error each, whatever the technique."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from cae_sql import Domain, InvalidInput
from cae_sql.releases import generalised, perturbed, restricted, sampled
from cae_sql.releases.matching import classes_of
from tests.cae_sql.releases.small_tables import KNOWN, matching, tables

DOMAIN = Domain(10, 50, 10)
STAFF = pd.DataFrame({"pay": [10, 20, 30, 50], "age": [31, 32, 31, 44], "job": ["a", "b", "a", "c"]})


def by_sample(original, released, known=("age",), column="pay", domain=DOMAIN):
    return sampled(original, released, column, list(known), domain)


def by_noise(original, released, known=("age",), column="pay", domain=DOMAIN):
    return perturbed(original, released, column, list(known), domain, noise=0)


def by_classes(original, released, known=("age",), column="pay", domain=DOMAIN):
    return generalised(original, released, column, list(known), domain)


def by_sums(original, released, known=("age",), column="pay", domain=DOMAIN):
    return restricted(original, column, list(known), domain, 2, seed=0)


RELEASED = [by_sample, by_noise, by_classes]
ALL = [*RELEASED, by_sums]


@pytest.mark.parametrize("evaluate", RELEASED)
@pytest.mark.parametrize(
    ("released", "message"),
    [
        (STAFF.drop(columns="age"), r"has no column 'age'; it has pay, job"),
        (STAFF.drop(columns="pay"), r"has no column 'pay'; it has age, job"),
        (STAFF.assign(town="x"), r"has a column 'town' that the original does not have; leave it out"),
        (STAFF.assign(weight=2), r"has weights \('weight'\); every record counts once here"),
        (STAFF.assign(PWGTP=2), r"has weights \('PWGTP'\)"),
        (STAFF.assign(age=[31, None, 31, None]), r"no value of 'age' in row 1 \(2 missing in all\)"),
        (STAFF.assign(pay=[10, np.nan, 30, 50]), r"has no value of 'pay' in row 1 \(1 missing in all\)"),
        (STAFF.assign(pay=[10, 20, 30, 60]), r"pay = 60 is outside of the domain|pay = 60 .* by more than"),
        (STAFF.assign(pay=[10, 20, 30, 45]), r"pay = 45 is (not a value of|no whole number of steps)"),
        (STAFF.assign(pay=["x", 20, 30, 45]), r"pay of the (sample|release) must be numbers"),
        (pd.concat([STAFF, STAFF[["age"]]], axis=1), r"has 2 columns named 'age'"),
        ([1, 2], r"must be a pandas DataFrame, not list"),
    ],
)  # fmt: skip
def test_a_bad_release_is_one_clear_error(evaluate, released, message):
    with pytest.raises(InvalidInput, match=message):
        evaluate(STAFF, released)


@pytest.mark.parametrize("evaluate", ALL)
@pytest.mark.parametrize(
    ("original", "message"),
    [
        (STAFF.iloc[:0], "the original has no records"),
        (STAFF.drop(columns="age"), "the original has no column 'age'"),
        (STAFF.assign(age=[31, None, 31, 4]), "the original has no value of 'age' in row 1"),
        (STAFF.assign(pay=[10, np.nan, 30, 50]), "the original has no value of 'pay' in row 1"),
        (STAFF.assign(pay=[10, 20, 30, np.inf]), "is not finite"),
        (STAFF.assign(pay=[10, 20, 30, 5000]), "outside of the domain"),
    ],
)
def test_a_bad_original_is_one_clear_error(evaluate, original, message):
    with pytest.raises(InvalidInput, match=message):
        evaluate(original, STAFF)


@pytest.mark.parametrize("evaluate", ALL)
@pytest.mark.parametrize(
    ("known", "message"),
    [
        (["pay"], "known names the confidential column 'pay'"),
        (["age", "age"], "known names 'age' twice"),
        (["nobody"], "the original has no column 'nobody'"),
    ],
)
def test_bad_supplementary_knowledge_is_one_clear_error(evaluate, known, message):
    with pytest.raises(InvalidInput, match=message):
        evaluate(STAFF, STAFF, known)


def test_known_must_be_a_list_and_not_named_as_a_figure():
    with pytest.raises(InvalidInput, match=r"known must be a list of columns, not one text: \['age'\]"):
        sampled(STAFF, STAFF, "pay", "age", DOMAIN)
    named = STAFF.rename(columns={"age": "risk"})
    with pytest.raises(InvalidInput, match="a known column cannot be named 'risk'"):
        sampled(named, named, "pay", ["risk"], DOMAIN)


def test_an_error_says_which_row():
    with pytest.raises(InvalidInput) as caught:
        sampled(STAFF, STAFF.assign(pay=[10, 20, 55, 50]), "pay", ["age"], DOMAIN)
    assert caught.value.position == 2


def test_too_many_classes_over_too_fine_a_domain_are_refused_before_memory_is_taken():
    table = pd.DataFrame({"pay": range(1000), "key": range(1000)})
    with pytest.raises(InvalidInput, match="1,000 classes over a domain of 1,000,001 values are too much"):
        sampled(table, table, "pay", ["key"], Domain(0, 1_000_000, 1))


@given(tables(), KNOWN)
def test_classes_are_the_records_that_share_all_known_values(table, known):
    found = classes_of(table, known)
    assert found.members.sum() == len(table)
    for label in range(found.count):
        there = matching(table, known, found.values.iloc[label])
        assert list(there.index) == np.flatnonzero(found.labels == label).tolist()
        assert len(there) == found.members[label]
    assert found.of(table, "the same").tolist() == found.labels.tolist()


@pytest.mark.slow
def test_words_and_numbers_in_one_column_are_told_apart():
    table = pd.DataFrame({"pay": [10, 20, 30], "code": pd.Series([1, "1", 1], dtype=object)})
    assert sorted(sampled(table, table, "pay", ["code"], DOMAIN).matches) == [1, 2]


def test_text_is_not_taken_for_a_number_and_the_error_shows_it():
    with pytest.raises(InvalidInput, match="row 0 of the sample has age = '31', which no record"):
        by_sample(STAFF, STAFF.assign(age=STAFF.age.astype(str)))


def test_columns_may_be_categorical_nullable_or_dates_on_either_side():
    original = STAFF.assign(age=pd.array(STAFF.age, dtype="Int64"), day=pd.to_datetime("2020-01-01"))
    sample = original.assign(age=STAFF.age.astype(float), job=STAFF.job.astype("category"))
    assert by_sample(original, sample, ["age", "job", "day"]).matches.tolist() == [2, 1, 1]


def test_a_column_of_lists_is_an_error():
    table = STAFF.assign(age=[[1], [2], [3], [4]])
    with pytest.raises(InvalidInput, match="age holds values that cannot be compared, such as lists"):
        by_sample(table, table)


@pytest.mark.parametrize("measure", [by_noise, by_sample])
def test_whole_numbers_that_floats_do_not_tell_apart_are_an_error(measure):
    """Else all records would be taken for alike, and who is known for unknown."""
    table = STAFF.assign(age=[2**62 + place for place in range(4)])
    if measure is by_sample:
        table = STAFF.assign(pay=[2**62 + place for place in range(4)])
    with pytest.raises(InvalidInput, match="is beyond ±2⁵³, where whole numbers are not told apart"):
        measure(table, table)


def test_columns_may_be_named_by_numbers():
    table = STAFF.set_axis([0, 1, 2], axis=1)
    found, named = by_classes(table, table, [1], column=0), by_classes(STAFF, STAFF)
    assert found.risk.tolist() == named.risk.tolist()
