"""Mondrian: every class has k records and could not be cut; what is released is read as what was made."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput
from cae_sql.releases import generalise, generalised_beliefs
from cae_sql.releases.groups import grouped_beliefs
from cae_sql.releases.mondrian import equivalence_classes

DOMAIN = Domain(10, 50, 10)
WORDS = ["a", "b, c", "d", " e", "{f}", "30-39", "*"]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(1, 30))

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=n, max_size=n))

    return pd.DataFrame({
        "age": column(st.integers(-3, 6)),
        "hours": column(st.sampled_from([0.5, 1.25, 7.0, 1e3])),
        "job": column(st.sampled_from(WORDS)),
        "here": column(st.booleans()),
        "pay": column(st.sampled_from([10, 20, 50])),
    })  # fmt: skip


QUASI = ["age", "hours", "job", "here"]


def cuttable(table: pd.DataFrame, members: np.ndarray, k: int) -> bool:
    """Whether some cut along one column, values in order, leaves k on both sides."""
    part = table.iloc[members]
    return any(
        min((part[name] <= value).sum(), (part[name] > value).sum()) >= k
        for name in QUASI for value in part[name].unique()
    )  # fmt: skip


@given(tables(), st.integers(1, 6))
def test_every_class_has_k_records_and_cannot_be_cut(table, k):
    if k > len(table):
        return
    label = equivalence_classes(table, QUASI, k)
    sizes = np.bincount(label)
    assert sizes.min() >= k
    for each in range(sizes.size):
        assert not cuttable(table, np.flatnonzero(label == each), k)


@pytest.mark.slow
@given(tables(), st.integers(1, 6), st.sampled_from([[], ["age"], ["job", "here"], QUASI]))
def test_a_table_that_was_written_and_read_tells_what_its_classes_tell(table, k, known):
    if k > len(table):
        return
    made = generalise(table, "pay", QUASI, k)
    assert made.pay.equals(table.pay)
    read = pd.read_csv(io.StringIO(made.to_csv(index=False)), keep_default_na=False)
    expected = grouped_beliefs(table, equivalence_classes(table, QUASI, k), "pay", known, DOMAIN)
    for released in (made, read):
        found = generalised_beliefs(table, released, "pay", known, DOMAIN)
        assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-12)


def test_the_widest_column_is_cut_first_nearest_to_halves():
    table = pd.DataFrame({"age": [20, 21, 22, 60, 61, 62], "job": list("aabbab"), "pay": 10})
    made = generalise(table, "pay", ["age", "job"], 3)
    assert made.age.tolist() == ["[20, 22]"] * 3 + ["[60, 62]"] * 3
    assert made.job.tolist() == ["{a, b}"] * 6


def test_everybody_is_one_class_where_k_is_everybody_and_nothing_is_coarser_where_k_is_1():
    table = pd.DataFrame({"age": [20, 30, 40], "job": list("abc"), "pay": 10})
    assert generalise(table, "pay", ["age", "job"], 3).drop_duplicates().to_numpy().tolist() == [
        [10, "[20, 40]", "{a, b, c}"]
    ]
    alone = generalise(table, "pay", ["age", "job"], 1)
    assert alone.equals(table[["pay", "age", "job"]])


def test_words_are_cut_in_the_order_of_a_categorical():
    sizes = pd.Categorical(["s", "m", "l", "xl"], categories=["s", "m", "l", "xl"], ordered=True)
    made = generalise(pd.DataFrame({"size": sizes, "pay": 10}), "pay", ["size"], 2)
    assert made["size"].tolist() == ["{s, m}", "{s, m}", "{l, xl}", "{l, xl}"]


@pytest.mark.parametrize(
    ("k", "known", "message"),
    [
        (0, ["age"], "k must be a whole number from 1, not 0"),
        (2.0, ["age"], "k must be a whole number from 1, not 2.0"),
        (True, ["age"], "k must be a whole number from 1"),
        (5, ["age"], "k is 5, but there are 4 records"),
        (2, [], "known must name at least one column"),
        (2, ["job"], "values of job have both commas and bars in them"),
        (2, ["town"], "town has values that cannot be told apart"),
        (2, ["pay"], "known names the confidential column"),
    ],
)
def test_what_cannot_be_made_is_one_error(k, known, message):
    table = pd.DataFrame(
        {"age": [20, 30, 40, 50], "job": ["a, b", "c|d", "e", "f"], "town": ["a", "x", "x ", "y"], "pay": 10}
    )
    with pytest.raises(InvalidInput, match=message):
        generalise(table, "pay", known, k)
