"""Equivalence classes: against enumeration; coarse values as people write them; groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput
from cae_sql.releases import generalised, generalised_beliefs, sampled_beliefs
from cae_sql.releases.covering import covered
from tests.cae_sql.releases.small_tables import DOMAIN, KNOWN, matching, tables

STAFF = pd.DataFrame({"pay": [10, 20, 20, 50], "age": [31, 32, 38, 44], "job": ["a", "b", "a", "b"]})
COARSE = STAFF.assign(age=["30-39", "30-39", "30-39", "40-49"], job="*")


@given(tables(), KNOWN, st.data())
def test_a_record_is_each_released_one_that_covers_it_and_matching_records_are_averaged(table, known, data):
    recode = {age: data.draw(st.sampled_from([f"{age}", "30-31", "[30, 33]", "*"])) for age in range(30, 34)}
    covers = {f"{age}": [age] for age in range(30, 34)} | {
        "30-31": [30, 31],
        "[30, 33]": range(30, 34),
        "*": range(99),
    }
    for age in (32, 33):
        recode[age] = f"{age}" if recode[age] == "30-31" else recode[age]
    released = table.assign(age=table.age.map(recode))
    found = generalised_beliefs(table, released, "pay", known, DOMAIN)
    for row in range(len(found.matches)):
        there = matching(table, known, found.known.iloc[row])
        believed = np.zeros(DOMAIN.count)
        for _, record in there.iterrows():
            fits = [r for _, r in released.iterrows() if r.job == record.job and record.age in covers[r.age]]
            for each in fits:
                believed[int(each.pay / 10) - 1] += 1 / len(fits) / len(there)
        assert found.probabilities[row] == pytest.approx(believed, abs=1e-12)
        assert found.probabilities[row].sum() == pytest.approx(1)


def test_within_a_class_the_share_of_each_value_counts():
    found = generalised_beliefs(STAFF, COARSE, "pay", ["age", "job"], DOMAIN)
    assert found.probabilities[0] == pytest.approx([1 / 3, 2 / 3, 0, 0, 0])
    frame = generalised(STAFF, COARSE, "pay", ["age"], DOMAIN)
    assert frame.matches.tolist() == [1, 1, 1, 1]
    assert frame.risk.tolist()[-1] == 1  # alone in its class


@given(tables(), KNOWN)
def test_a_table_released_as_it_is_tells_what_a_sample_of_everything_does(table, known):
    frame = generalised_beliefs(table, table, "pay", known, DOMAIN)
    assert frame.probabilities == pytest.approx(
        sampled_beliefs(table, table, "pay", known, DOMAIN).probabilities
    )


@given(tables())
def test_without_quasi_identifiers_everybody_has_the_distribution_of_the_table(table):
    released = table.assign(age="*", job="*")
    found = generalised_beliefs(table, released, "pay", ["age", "job"], DOMAIN)
    overall = sampled_beliefs(table, table, "pay", [], DOMAIN).probabilities[0]
    assert found.probabilities == pytest.approx(np.tile(overall, (len(found.matches), 1)))


def test_groups_are_read_from_both_tables():
    original = STAFF.assign(group=["x", "x", "y", "y"])
    sensitive = pd.DataFrame({"group": ["x", "y", "y", "x"], "pay": [20, 20, 50, 10]})
    found = generalised_beliefs(original, sensitive, "pay", ["age"], DOMAIN, group="group")
    assert found.probabilities.tolist() == [[0.5, 0.5, 0, 0, 0]] * 2 + [[0, 0.5, 0, 0, 0.5]] * 2
    by_job = generalised_beliefs(original, sensitive, "pay", ["job"], DOMAIN, group="group")
    assert by_job.probabilities[0].tolist() == [0.25, 0.5, 0, 0, 0.25]


@pytest.mark.parametrize("label", ["{a, c}", "{a,c}", "a|c", {"a", "c"}, ["a", "c"]])
def test_a_set_may_name_values_that_nobody_has(label):
    original = STAFF.assign(job=["a", "a", "b", "b"])
    released = pd.DataFrame({"pay": original.pay, "job": pd.Series([label, label, "b", "b"], dtype=object)})
    found = generalised_beliefs(original, released, "pay", ["job"], DOMAIN)
    assert found.probabilities.tolist() == [[0.5, 0.5, 0, 0, 0], [0, 0.5, 0, 0, 0.5]]
    nobody = pd.DataFrame({"pay": original.pay, "job": pd.Series(["{c, d}", "a", "b", "b"], dtype=object)})
    with pytest.raises(InvalidInput, match=r"job = '\{c, d\}' of the release stands for no value"):
        generalised(original, nobody, "pay", ["job"], DOMAIN)


def test_spaces_around_words_do_not_count():
    original = STAFF.assign(job=[" a", " a", " b", " c"])
    released = STAFF[["pay"]].assign(job=["{a, b}", "{a, b}", "{a, b}", "c"])
    found = generalised_beliefs(original, released, "pay", ["job"], DOMAIN)
    assert found.probabilities.tolist() == [[1 / 3, 2 / 3, 0, 0, 0]] * 2 + [[0, 0, 0, 0, 1]]


@given(tables(), KNOWN, st.integers(0, 9))
def test_each_record_has_the_released_values_of_its_group_all_alike(table, known, seed):
    """Group by group and record by record, from the two published tables."""
    random = np.random.default_rng(seed)
    original = table.assign(group=random.choice(["x", "y", "z"], len(table)))
    sensitive = pd.DataFrame({"group": random.permutation(original.group), "pay": table.pay.to_numpy()})
    found = generalised_beliefs(original, sensitive, "pay", known, DOMAIN, group="group")
    for place, (_, values) in enumerate(found.known.iterrows()):
        believed = [
            [np.mean(sensitive.pay[sensitive.group == record.group] == value) for value in DOMAIN.values]
            for record in matching(original, known, values).itertuples()
        ]
        assert found.probabilities[place] == pytest.approx(np.mean(believed, axis=0))


def test_tens_of_thousands_of_groups_are_read_without_comparing_each_with_each():
    """Each with each these would be 1.6 · 10⁹ comparisons, and twelve gigabytes."""
    count = 40_000
    original = pd.DataFrame({"pay": [10, 20] * count, "group": np.repeat(np.arange(count), 2)})
    original["age"] = original.group % 7
    sensitive = original[["group", "pay"]].sample(frac=1, random_state=1)
    found = generalised_beliefs(original, sensitive, "pay", ["age", "group"], DOMAIN, group="group")
    assert found.matches.tolist() == [2] * count
    assert (found.probabilities == [0.5, 0.5, 0, 0, 0]).all()


def test_what_a_coarse_value_stands_for_can_be_said():
    released = STAFF.assign(age=["thirties"] * 3 + ["forties"])
    with pytest.raises(InvalidInput, match=r"age = '(thir|for)ties' of the release is not understood"):
        generalised(STAFF, released, "pay", ["age"], DOMAIN)
    covers = {"age": {"thirties": range(30, 40), "forties": range(40, 50)}}
    frame = generalised(STAFF, released, "pay", ["age"], DOMAIN, covers=covers)
    assert frame.matches.tolist() == [1, 1, 1, 1]


NUMBERS, WORDS = [5, 31, 32, 40], ["47110", "47222", "50a"]


@pytest.mark.parametrize(
    ("label", "values", "meant"),
    [
        ("*", NUMBERS, NUMBERS),
        (31, NUMBERS, [31]),
        (31.0, NUMBERS, [31]),
        ("31", NUMBERS, [31]),
        ("[31, 40]", NUMBERS, [31, 32, 40]),
        ("[31, 40)", NUMBERS, [31, 32]),
        ("(31; 40]", NUMBERS, [32, 40]),
        ("31-39", NUMBERS, [31, 32]),
        ("31–39", NUMBERS, [31, 32]),
        ("-5-5", [-5, 0, 6], [-5, 0]),
        ("<32", NUMBERS, [5, 31]),
        ("<= 32", NUMBERS, [5, 31, 32]),
        (">32", NUMBERS, [40]),
        (">=32", NUMBERS, [32, 40]),
        ("32+", NUMBERS, [32, 40]),
        ("{5, 40}", NUMBERS, [5, 40]),
        ("5|40", NUMBERS, [5, 40]),
        ({5, 40}, NUMBERS, [5, 40]),
        ((5, "[31, 32]"), NUMBERS, [5, 31, 32]),
        (pd.Interval(31, 40), NUMBERS, [32, 40]),
        ("47*", WORDS, ["47110", "47222"]),
        ("472**", WORDS, ["47222"]),
        ("{47110, 50a}", WORDS, ["47110", "50a"]),
        ("3*", NUMBERS, [31, 32]),
    ],
)
def test_coarse_values_are_read_as_people_write_them(label, values, meant):
    flags = covered(label, values, "x")
    assert [value for value, flag in zip(values, flags, strict=True) if flag] == meant


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("90-99", "stands for no value of the original"),
        (7, "stands for no value of the original"),
        ("young", "is not understood"),
        ("{5, young}", "is not understood"),
        ("30..39", "is not understood"),
        (None, "is not understood"),
    ],
)
def test_a_coarse_value_that_stands_for_nothing_is_an_error(label, message):
    with pytest.raises(InvalidInput, match=message):
        covered(label, NUMBERS, "x")


@pytest.mark.parametrize(
    ("released", "message"),
    [
        (
            COARSE.assign(age=["30-35", "30-35", "30-35", "40-49"]),
            "age = 38, job = 'a' are in no class of the release",
        ),
        (COARSE.iloc[:3], "the release has 0 records with pay = 50, the original 1"),
        (COARSE.assign(pay=[10, 10, 20, 50]), "the release has 2 records with pay = 10, the original 1"),
    ],
)
def test_a_release_that_is_no_generalisation_is_an_error(released, message):
    with pytest.raises(InvalidInput, match=message):
        generalised(STAFF, released, "pay", ["age"], DOMAIN)


def test_a_group_with_other_records_than_values_is_an_error():
    original = STAFF.assign(group=["x", "x", "y", "y"])
    other = pd.DataFrame({"group": ["x", "y", "y", "y"], "pay": [20, 20, 50, 10]})
    with pytest.raises(InvalidInput, match="group x has 2 records and 1 released values"):
        generalised(original, other, "pay", ["age"], DOMAIN, group="group")
    with pytest.raises(InvalidInput, match="the release has no column 'group'"):
        generalised(original, STAFF, "pay", ["age"], DOMAIN, group="group")
    with pytest.raises(InvalidInput, match="group names the confidential column"):
        generalised(original, other, "pay", ["age"], DOMAIN, group="pay")
    with pytest.raises(InvalidInput, match="row 0 of the release has group = 'z', which no record"):
        generalised(original, other.assign(group=["z", "y", "x", "y"]), "pay", ["age"], DOMAIN, group="group")
    with pytest.raises(InvalidInput, match="group holds values that cannot be compared"):
        generalised(original, other.assign(group=[[1], [2], [1], [2]]), "pay", ["age"], DOMAIN, group="group")
    with pytest.raises(InvalidInput, match="covers names the groups 'group'"):
        generalised(original, other, "pay", ["age"], DOMAIN, group="group", covers={"group": {"x": ["y"]}})


def test_sets_of_values_tell_classes_apart():
    released = STAFF.assign(age=[[31, 32], [31, 32], {38, 44}, {38, 44}])
    frame = generalised(STAFF, released.drop(columns="job"), "pay", ["age"], Domain(10, 50, 10))
    assert frame.initial_entropy.tolist() == [1, 1, 1, 1]
