"""Randomised response: values move as the probabilities say, and the whole table's matrix is never needed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import InvalidInput
from cae_sql.releases import randomise
from cae_sql.releases.distortion import Distortion, along, squared
from tests.cae_sql.releases.kronecker import a_table, distortions, kronecker

DOMAINS = {"sex": ["f", "m"], "age": [1, 2, 3]}
FRAME = pd.DataFrame({"sex": ["f", "m", "m"], "age": [3, 1, 2], "id": [7, 8, 9]}, index=[5, 3, 4])


@given(distortions(), st.integers(0, 99))
def test_what_is_expected_is_the_kronecker_product_times_the_table(found: Distortion, seed: int) -> None:
    table = a_table(found, seed)
    assert found.expected(table).ravel() == pytest.approx(kronecker(found) @ table.ravel(), abs=1e-14)


@given(distortions(), st.integers(0, 99))
def test_solving_undoes_what_is_expected(found: Distortion, seed: int) -> None:
    table = a_table(found, seed)
    assert found.solved(found.expected(table)).ravel() == pytest.approx(table.ravel(), abs=1e-9)


@given(distortions(), st.integers(0, 99))
def test_the_inverse_and_its_squares_are_those_of_the_formed_matrix(found: Distortion, seed: int) -> None:
    table = a_table(found, seed)
    inverse = np.linalg.inv(kronecker(found))
    assert found.solved(table).ravel() == pytest.approx(inverse @ table.ravel(), rel=1e-6, abs=1e-8)
    squares = along(table, squared(found.inverse())).ravel()
    assert squares == pytest.approx(inverse**2 @ table.ravel(), rel=1e-6, abs=1e-8)


@given(distortions())
def test_each_value_is_kept_with_its_probability_and_moves_to_the_others_alike(found: Distortion) -> None:
    for attribute in found.attributes:
        assert attribute.matrix.sum(axis=0) == pytest.approx(np.ones(attribute.size))
        assert np.diag(attribute.matrix) == pytest.approx(np.full(attribute.size, attribute.probability))
        if attribute.size > 1:
            other = (1 - attribute.probability) / (attribute.size - 1)
            assert attribute.matrix[0, 1:] == pytest.approx(np.full(attribute.size - 1, other), abs=1e-15)


def test_the_table_counts_every_combination() -> None:
    found = Distortion.of({}, DOMAINS)
    expected = [
        sum((FRAME["sex"] == sex) & (FRAME["age"] == age)) / 3 for sex, age in product(*DOMAINS.values())
    ]
    assert found.table(found.codes(FRAME)).ravel().tolist() == expected


def test_values_move_as_often_as_they_should_and_to_all_others_alike() -> None:
    n = 60_000
    frame = pd.DataFrame({"age": np.full(n, 2)})
    counts = randomise(frame, {"age": 0.5}, DOMAINS, seed=1)["age"].value_counts()
    for value, share in ((2, 0.5), (1, 0.25), (3, 0.25)):
        assert abs(counts[value] - share * n) < 5 * (n * share * (1 - share)) ** 0.5


def test_attributes_are_distorted_independently() -> None:
    n = 60_000
    frame = pd.DataFrame({"sex": ["f"] * n, "age": [1] * n})
    found = randomise(frame, {"sex": 0.7, "age": 0.6}, DOMAINS, seed=2)
    both = ((found["sex"] == "f") & (found["age"] == 1)).sum()
    assert abs(both - 0.42 * n) < 5 * (n * 0.42 * 0.58) ** 0.5


def test_with_probability_1_nothing_changes() -> None:
    pd.testing.assert_frame_equal(randomise(FRAME, {"sex": 1.0, "age": 1}, DOMAINS, seed=0), FRAME)


def test_only_columns_with_a_probability_change_and_nothing_else_does() -> None:
    found = randomise(FRAME, {"age": 1 / 3}, DOMAINS, seed=0)
    pd.testing.assert_frame_equal(found[["sex", "id"]], FRAME[["sex", "id"]])
    assert found.index.equals(FRAME.index)
    assert found.dtypes.equals(FRAME.dtypes)
    assert FRAME["age"].tolist() == [3, 1, 2]


def test_categories_stay_categories() -> None:
    frame = FRAME.assign(sex=FRAME["sex"].astype("category"))
    found = randomise(frame, {"sex": 0.5}, DOMAINS, seed=4)
    assert isinstance(found["sex"].dtype, pd.CategoricalDtype)
    assert set(found["sex"]) <= {"f", "m"}


def test_one_seed_gives_one_release_and_another_another() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3] * 30})
    first, again, other = (randomise(frame, {"age": 0.4}, DOMAINS, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("frame", "probabilities", "domains", "told"),
    [
        (FRAME, {"age": 0.3}, DOMAINS, "the probability of 'age' must lie between 1/3 and 1, not 0.3"),
        (FRAME, {"age": 1.1}, DOMAINS, "between 1/3 and 1, not 1.1"),
        (FRAME, {"age": float("nan")}, DOMAINS, "not nan"),
        (FRAME, {"age": "half"}, DOMAINS, "not 'half'"),
        (FRAME, {"wage": 0.5}, DOMAINS, "a probability for 'wage' but no domain"),
        (FRAME, {}, DOMAINS, "at least one column"),
        (FRAME, {"age": 0.5}, {"age": [1, 2]}, "row 0 of the table: age = 3 is outside of its domain"),
        (FRAME, {"age": 0.5}, {"age": [1, 2, 2, 3]}, "'age' has 2 twice"),
        (FRAME, {"age": 1.0}, {"age": []}, "the domain of 'age' has no values"),
        (FRAME, {"pay": 0.5}, {"pay": [1, 2]}, "no column 'pay'"),
        (FRAME[:0], {"age": 0.5}, DOMAINS, "no records"),
        (FRAME.assign(age=[3, None, 2]), {"age": 0.5}, DOMAINS, "no value of 'age' in row 1"),
    ],
)
def test_what_cannot_be_distorted_is_one_clear_error(
    frame: pd.DataFrame, probabilities: dict[str, Any], domains: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        randomise(frame, probabilities, domains, seed=0)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "1"])
def test_a_seed_that_is_none_is_one_clear_error(seed: Any) -> None:
    with pytest.raises(InvalidInput, match="seed must be a whole number"):
        randomise(FRAME, {"age": 0.5}, DOMAINS, seed)


def test_columns_without_a_domain_are_named() -> None:
    with pytest.raises(InvalidInput, match="no domain for 'wage'"):
        Distortion.of({}, DOMAINS).only(["wage"])


def test_a_column_of_one_value_stays_as_it_is() -> None:
    frame = pd.DataFrame({"land": ["x", "x"]})
    pd.testing.assert_frame_equal(randomise(frame, {"land": 1 - 1e-13}, {"land": ["x"]}, seed=0), frame)


def test_columns_with_very_many_combinations_are_distorted_all_the_same() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    found = randomise(frame, {"a": 0.5, "b": 0.5}, {"a": range(50_000), "b": range(50_000)}, seed=1)
    assert found.shape == frame.shape


def test_columns_named_by_numbers_are_distorted_too() -> None:
    frame = pd.DataFrame({0: ["a", "b"] * 50, 1: range(100)})
    found = randomise(frame, {0: 0.5}, {0: ["a", "b"]}, 1)
    assert (found[0] != frame[0]).any()
    assert found[1].tolist() == frame[1].tolist()


@pytest.mark.parametrize("type_", ["str", "object", "category", "string[pyarrow]", "string[python]"])
def test_words_are_coded_alike_whatever_holds_them(type_: str) -> None:
    words = ["b", "", "a", "ü", "b", "A"]
    frame = pd.DataFrame({"x": pd.Series(words).astype(type_)})
    chunked = pd.concat([frame, frame], ignore_index=True)
    plain = Distortion.of({}, {"x": ["a", "b", "A", "ü", ""]})
    assert plain.codes(chunked)[0].tolist() == [1, 4, 0, 3, 1, 2] * 2
    narrow = Distortion.of({}, {"x": ["b", "", "a"]})
    with pytest.raises(InvalidInput, match="row 3 of the table: x = ü is outside of its domain"):
        narrow.codes(frame)
    with pytest.raises(InvalidInput, match="row 0 of the table: x = b is outside of its domain"):
        Distortion.of({}, {"x": [1, 2]}).codes(frame)


@pytest.mark.parametrize(
    ("type_", "value"),
    [("int64", 30.5), ("int8", 1000), ("int64", "other"), ("Int64", 0.5), ("bool", "other")],
)
def test_no_value_of_a_domain_is_cut_to_the_type_of_a_column(type_: str, value: object) -> None:
    frame = pd.DataFrame({"x": pd.Series([0, 1] * 50).astype(type_)})
    domain = [*frame.x.unique().tolist(), value]
    found = randomise(frame, {"x": 1 / 3}, {"x": domain}, 1)
    assert set(found.x) == set(domain)
