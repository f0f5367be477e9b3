"""What somebody believes after randomised response is Bayes' rule over all tables there could have been."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput
from cae_sql.releases import randomise, randomised, randomised_beliefs, sampled
from cae_sql.risk import risk_of

DOMAIN = Domain(10, 30, 10)
DOMAINS = {"sex": ["f", "m"], "zip": [1, 2], "pay": [10, 20, 30]}
KNOWN = ["sex", "zip"]
CELLS = list(product(*DOMAINS.values()))

tables = st.lists(st.sampled_from(CELLS), min_size=1, max_size=8).map(
    lambda rows: pd.DataFrame(rows, columns=list(DOMAINS))
)
kept = st.fixed_dictionaries({}, optional={
    "sex": st.floats(0.5, 1), "zip": st.floats(0.5, 1), "pay": st.floats(1 / 3, 1)
})  # fmt: skip


def chance(probabilities: dict[str, float], true: tuple[Any, ...], reported: tuple[Any, ...]) -> float:
    """How likely a record is reported as another."""
    found = 1.0
    for name, a, b in zip(DOMAINS, true, reported, strict=True):
        p = probabilities.get(name, 1.0)
        found *= p if a == b else (1 - p) / (len(DOMAINS[name]) - 1)
    return found


def by_enumeration(
    released: list[tuple[Any, ...]], target: tuple[Any, ...], probabilities: dict[str, float]
) -> list[float]:
    """Over all tables of these many records, each alike, and any record as the target's: what its pay is."""
    weight = dict.fromkeys(DOMAINS["pay"], 0.0)
    for table in product(CELLS, repeat=len(released)):
        likely = np.prod([chance(probabilities, a, b) for a, b in zip(table, released, strict=True)])
        for record in table:
            if record[:2] == target:
                weight[record[2]] += float(likely)
    return [each / sum(weight.values()) for each in weight.values()]


@pytest.mark.parametrize(
    "probabilities",
    [{"pay": 0.6}, {"sex": 0.8, "zip": 0.7}, {"sex": 0.8, "zip": 0.7, "pay": 0.5}],
    ids=["RR-S", "RR-QI", "RR-Both"],
)
def test_beliefs_are_those_of_an_enumeration_of_all_tables(probabilities: dict[str, float]) -> None:
    original = pd.DataFrame([("f", 1, 10), ("m", 2, 30)], columns=list(DOMAINS))
    for rows in ([("f", 1, 20), ("m", 2, 30)], [("f", 1, 10), ("m", 2, 10)], [("m", 2, 30), ("f", 1, 20)]):
        released = pd.DataFrame(rows, columns=list(DOMAINS))
        found = randomised_beliefs(original, released, "pay", KNOWN, DOMAIN, probabilities, DOMAINS)
        for row, target in enumerate([("f", 1), ("m", 2)]):
            exact = by_enumeration(rows, target, probabilities)
            assert found.probabilities[row] == pytest.approx(exact, abs=1e-12)


@given(tables, kept, st.integers(0, 9), st.sets(st.sampled_from(KNOWN)))
def test_every_distribution_sums_to_1_and_is_measured_as_any_other(
    original: pd.DataFrame, probabilities: dict[str, float], seed: int, names: set[str]
) -> None:
    released = randomise(original, probabilities, DOMAINS, seed) if probabilities else original
    known = sorted(names)
    found = randomised_beliefs(original, released, "pay", known, DOMAIN, probabilities, DOMAINS)
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(len(found.matches)))
    assert (found.probabilities >= 0).all()
    frame = found.frame()
    assert frame.columns.tolist() == [*known, "matches", "initial_entropy", "area", "risk"]
    assert frame["matches"].sum() == len(original)
    for row, figures in frame.iterrows():
        exact = risk_of(DOMAIN.values, found.probabilities[int(str(row))], DOMAIN)
        assert figures["risk"] == pytest.approx(exact.risk, abs=1e-9)
        assert figures["initial_entropy"] == pytest.approx(exact.initial_entropy, abs=1e-9)


@given(tables)
def test_without_distortion_it_is_a_sample_of_everything(original: pd.DataFrame) -> None:
    found = randomised(original, original, "pay", KNOWN, DOMAIN, {})
    pd.testing.assert_frame_equal(found, sampled(original, original, "pay", KNOWN, DOMAIN))


@given(tables, st.integers(0, 9))
def test_with_the_sensitive_value_drawn_anew_nothing_is_told(original: pd.DataFrame, seed: int) -> None:
    released = randomise(original, {"pay": 1 / 3}, DOMAINS, seed)
    found = randomised(original, released, "pay", KNOWN, DOMAIN, {"pay": 1 / 3})
    assert found["risk"].to_numpy() == pytest.approx(np.zeros(len(found)), abs=1e-9)


def test_risk_is_1_for_those_who_are_alone_in_a_release_of_everything() -> None:
    original = pd.DataFrame([("f", 1, 10), ("m", 2, 30), ("m", 2, 20)], columns=list(DOMAINS))
    found = randomised(original, original, "pay", KNOWN, DOMAIN, {})
    assert found["risk"].iloc[0] == 1
    assert found["risk"].iloc[1] < 1


def test_with_all_columns_drawn_anew_everybody_is_judged_by_the_whole_release() -> None:
    original = pd.DataFrame([("f", 1, 10), ("m", 2, 30), ("m", 1, 30)], columns=list(DOMAINS))
    found = randomised_beliefs(
        original, original, "pay", KNOWN, DOMAIN, {"sex": 0.5, "zip": 0.5}, DOMAINS
    ).probabilities
    assert found == pytest.approx(np.tile([1 / 3, 0, 2 / 3], (3, 1)))


def test_values_of_many_columns_do_not_vanish_by_rounding() -> None:
    """200 columns at p just below 1: every weight is below the least float, and their ratio still counts."""
    names = [f"a{place}" for place in range(200)]
    original = pd.DataFrame([dict.fromkeys(names, 0) | {"pay": 10}, dict.fromkeys(names, 1) | {"pay": 30}])
    released = original.assign(**dict.fromkeys(names, 1))
    p = dict.fromkeys(names, 1 - 1e-3)
    found = randomised_beliefs(
        original, released, "pay", names, DOMAIN, p, dict.fromkeys(names, (0, 1))
    ).probabilities
    assert found == pytest.approx(np.tile([0.5, 0, 0.5], (2, 1)))


ORIGINAL = pd.DataFrame([("f", 1, 10), ("m", 2, 30)], columns=list(DOMAINS))


@pytest.mark.parametrize(
    ("released", "probabilities", "domains", "told"),
    [
        (ORIGINAL[:1], {}, None, "the release has 1 records and the original 2"),
        (ORIGINAL.assign(pay=[10, 40]), {}, None, "outside of the domain 10 … 30"),
        (ORIGINAL.drop(columns="sex"), {}, None, "no column 'sex'"),
        (ORIGINAL.assign(weight=1), {}, None, "has weights"),
        (ORIGINAL.assign(sex=["f", None]), {}, None, "no value of 'sex' in row 1"),
        (ORIGINAL, {"sex": 0.8}, None, "'sex' has a probability but no domain"),
        (ORIGINAL, {"pay": 0.2}, None, "between 1/3 and 1, not 0.2"),
        (ORIGINAL, {"sex": 0.8}, {"sex": ["f", "x"]}, "sex = m is outside of its domain"),
        (ORIGINAL.assign(sex="f"), {}, None, "no released record can be one with sex = m"),
    ],
)
def test_a_release_that_is_none_is_one_clear_error(
    released: pd.DataFrame, probabilities: dict[str, float], domains: Any, told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        randomised(ORIGINAL, released, "pay", KNOWN, DOMAIN, probabilities, domains)
