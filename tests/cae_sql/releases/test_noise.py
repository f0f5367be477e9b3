"""Noise: Bayes' rule against enumeration, releases that noise cannot have made, and what a step is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput
from cae_sql.releases import add_noise, perturbed, perturbed_beliefs
from cae_sql.releases.attributes import attribute_of
from cae_sql.releases.posterior import Noise, said_of, weights
from tests.cae_sql.releases.small_tables import DOMAIN, KNOWN, tables


def chance(most: int, steps: int) -> Fraction:
    """P(Binomial(M, ½) − M/2 = steps)."""
    j = steps + most // 2
    return Fraction(comb(most, j), 2**most) if 0 <= j <= most else Fraction(0)


def nearest_even(percent: int, count: int) -> int:
    exact = Fraction(percent * (count - 1), 100)
    return min((even for even in range(0, 200, 2)), key=lambda even: (abs(even - exact), -even))


@given(tables(), KNOWN, st.sampled_from([0, 30, 60, 100]), st.integers(0, 2**32))
def test_distributions_are_bayes_rule_in_fractions(table, known, noise, seed):
    released = add_noise(table, "pay", known, DOMAIN, noise, seed)
    found = perturbed_beliefs(table, released, "pay", known, DOMAIN, noise)
    place = {name: {v: k for k, v in enumerate(sorted(set(table[name])))} for name in ["job"]}
    age = sorted(set(table.age))
    steps = np.gcd.reduce(np.diff(age)) if len(age) > 1 else 1
    most = {"pay": nearest_even(noise, 5), "age": nearest_even(noise, (age[-1] - age[0]) // steps + 1),
            "job": nearest_even(noise, len(place["job"]))}  # fmt: skip
    for row in range(len(found.matches)):
        believed = [Fraction(0)] * 5
        for _, record in released.iterrows():
            weight = Fraction(1)
            for name in known:
                target = found.known[name].iloc[row]
                away = (
                    record[name] - 1 - place["job"][target]
                    if name == "job"
                    else (record[name] - target) // steps
                )
                weight *= chance(most[name], int(away))
            terms = [chance(most["pay"], int(record.pay / 10) - 1 - d) for d in range(5)]
            believed = [b + weight * t / sum(terms) for b, t in zip(believed, terms, strict=True)]
        truth = [float(b / sum(believed)) for b in believed]
        assert found.probabilities[row] == pytest.approx(truth, abs=1e-12)
        assert found.probabilities[row].sum() == pytest.approx(1)


def test_it_is_the_posterior_over_all_worlds():
    """Which record is the target, and everybody's value, enumerated; others' known attributes can be any."""
    domain, most, known = Domain(0, 2, 1), 2, 4
    released = pd.DataFrame({"pay": [-1, 1, 3], "age": [3, 4, 5]})
    worlds = np.zeros(3)
    for target, values in product(range(3), product(range(3), repeat=3)):
        likelihood = chance(2, released.age[target] - known)
        for value, seen in zip(values, released.pay, strict=True):
            likelihood *= chance(most, seen - value)
        worlds[values[target]] += float(likelihood)
    original = pd.DataFrame({"pay": [0, 1, 2], "age": [3, 4, 5]})
    found = perturbed_beliefs(original, released, "pay", ["age"], domain, noise=100)
    row = found.known.age.tolist().index(known)
    assert found.probabilities[row] == pytest.approx(worlds / worlds.sum())


def test_no_noise_tells_all_about_who_is_alone_and_wide_noise_little():
    table = pd.DataFrame({"pay": [10, 20, 30, 40, 50], "age": [30, 31, 32, 33, 34]})
    still = add_noise(table, "pay", ["age"], DOMAIN, 0, seed=1)
    assert still.equals(table)
    assert perturbed(table, still, "pay", ["age"], DOMAIN, 0).risk.tolist() == [1] * 5
    moved = add_noise(table, "pay", ["age"], DOMAIN, 10_000, seed=1)
    assert perturbed(table, moved, "pay", ["age"], DOMAIN, 10_000).risk.max() < 0.1


def test_where_every_weight_is_too_small_for_floats_they_are_compared_as_logarithms():
    columns, most = 3, 2000
    target = np.zeros((1, columns), dtype=np.int64)
    far = np.full((2, columns), 990, dtype=np.int64)
    far[1, 0] = 991
    found = weights(target, far, np.array([0, 1]), 2, Noise.of([most] * columns))[0]
    first, second = chance(most, 990) ** 3, chance(most, 991) * chance(most, 990) ** 2
    assert float(first) == 0.0
    assert found == pytest.approx(
        [float(first / (first + second)), float(second / (first + second))], rel=1e-6
    )


@given(st.integers(1, 12), st.integers(0, 12))
def test_each_released_value_says_a_distribution(count, half):
    said = said_of(count, 2 * half)
    assert said.shape == (count + 2 * half, count)
    assert said.sum(axis=1) == pytest.approx(1)
    for r, d in product(range(count + 2 * half), range(count)):
        assert (said[r, d] > 0) == (abs(r - half - d) <= half)


@pytest.mark.parametrize(
    ("percent", "count", "most"),
    [(10, 25, 2), (20, 25, 4), (30, 25, 8), (100, 25, 24), (10, 69, 6), (50, 2, 0), (100, 2, 2), (0, 25, 0),
     (12.5, 25, 4), (Fraction(25, 6), 25, 2)],
)  # fmt: skip
def test_the_largest_noise_is_rounded_to_the_nearest_even_number_halves_up(percent, count, most):
    table = pd.DataFrame({"x": range(count)})
    assert attribute_of(table, "x").largest_noise(percent) == most


def test_a_column_of_numbers_steps_as_its_values_do():
    table = pd.DataFrame({"x": [0.3, 0.1, 0.9], "one": [7, 7, 7], "word": ["b", "a", "b"]})
    found = attribute_of(table, "x")
    assert (found.count, found.step) == (5, Fraction(1, 5))
    assert attribute_of(table, "one").count == 1
    assert attribute_of(table, "word").places(table.word, "it").tolist() == [1, 0, 1]
    given = attribute_of(table, "x", Domain(0, 1, 0.1))
    assert (given.count, given.places(table.x, "it").tolist()) == (11, [3, 1, 9])


def test_words_are_numbered_from_1_in_a_release_and_may_be_words():
    table = pd.DataFrame({"pay": [10, 20, 30], "job": ["cook", "nurse", "cook"]})
    assert add_noise(table, "pay", ["job"], DOMAIN, 0, seed=1).job.tolist() == [1, 2, 1]
    numbers = perturbed(table, table.assign(job=[1, 2, 1]), "pay", ["job"], DOMAIN, 100)
    assert numbers.equals(perturbed(table, table, "pay", ["job"], DOMAIN, 100))


def test_the_order_of_a_categorical_column_counts():
    jobs = pd.Categorical(["nurse", "cook", "nurse"], categories=["nurse", "cook"], ordered=True)
    table = pd.DataFrame({"pay": [10, 20, 30], "job": jobs})
    assert add_noise(table, "pay", ["job"], DOMAIN, 0, seed=1).job.tolist() == [1, 2, 1]


def test_noise_has_its_distribution_and_hangs_on_the_seed():
    table = pd.DataFrame({"pay": [30] * 20_000, "age": [0, 8] * 10_000})
    released = add_noise(table, "pay", ["age"], DOMAIN, 100, seed=4)
    moved = (released.pay - 30) // 10
    for steps in range(-2, 3):
        assert (moved == steps).mean() == pytest.approx(float(chance(4, steps)), abs=0.015)
    assert released.equals(add_noise(table, "pay", ["age"], DOMAIN, 100, seed=4))
    assert not released.equals(add_noise(table, "pay", ["age"], DOMAIN, 100, seed=5))


STAFF = pd.DataFrame({"pay": [10, 20, 30], "age": [30, 40, 60], "job": ["a", "b", "b"]})


@pytest.mark.parametrize(
    ("released", "known", "noise", "message"),
    [
        (STAFF.iloc[:2], ["age"], 100, "the release has 2 records, the original 3"),
        (STAFF.assign(age=[30, 40, 200]), ["age"], 100, "age = 200 is outside of the domain by more than"),
        (
            STAFF.assign(pay=[10, 20, 90]),
            [],
            100,
            "pay = 90 is outside of the domain by more than the 2 steps",
        ),
        (STAFF.assign(age=[30, 40, 45]), ["age"], 100, "age = 45 is no whole number of steps of 10 from 30"),
        (STAFF.assign(age=[30, 40, 40]), ["age"], 0, "no released record can be one with age = 60"),
        (STAFF.assign(job=["a", "b", "z"]), ["job"], 100, "job = 'z' is not in the original"),
        (STAFF, ["age"], -1, "noise must be 0 percent or more, not -1"),
        (STAFF, ["age"], float("nan"), "noise must be a finite number"),
    ],
)
def test_a_release_that_the_noise_cannot_have_made_is_an_error(released, known, noise, message):
    with pytest.raises(InvalidInput, match=message):
        perturbed(STAFF, released, "pay", known, DOMAIN, noise)


def test_a_domain_of_a_known_column_must_hold_its_values():
    with pytest.raises(InvalidInput, match="age = 60 is outside of its domain 30 … 50"):
        perturbed(STAFF, STAFF, "pay", ["age"], DOMAIN, 10, domains={"age": Domain(30, 50, 10)})
    with pytest.raises(InvalidInput, match="domains names 'town'"):
        perturbed(STAFF, STAFF, "pay", ["age"], DOMAIN, 10, domains={"town": Domain(30, 50, 10)})


def test_a_column_of_too_many_steps_asks_for_rounding():
    table = pd.DataFrame({"pay": [10, 20, 20], "x": [0, 0.0000001, 1]})
    with pytest.raises(
        InvalidInput, match=r"x has 10,000,001 steps of 1e-07 .* round it, or give its domain"
    ):
        add_noise(table, "pay", ["x"], DOMAIN, 10, seed=1)


@pytest.mark.parametrize(("top", "noise"), [(1_100, 100), (3, 100_000)])
def test_noise_of_more_than_a_thousand_steps_is_bayes_rule_too(top, noise):
    """At the ends of such noise probabilities are below the least float."""
    table = pd.DataFrame({"pay": [0, top, top // 2], "age": [30, 31, 30]})
    domain = Domain(0, top, 1)
    released = pd.DataFrame({"pay": [-top // 2, top, top + top // 2], "age": [30, 31, 30]})
    found = perturbed_beliefs(table, released, "pay", [], domain, noise)
    most = nearest_even_of(noise, top + 1)
    believed = np.zeros(top + 1)
    for value in released.pay:
        terms = [chance(most, int(value) - d) for d in range(top + 1)]
        total = sum(terms)
        believed += [float(term / total) / 3 for term in terms]
    assert found.probabilities[0] == pytest.approx(believed, abs=1e-12)


def nearest_even_of(percent: int, count: int) -> int:
    return 2 * int(Fraction(percent * (count - 1), 200) + Fraction(1, 2))


def test_noise_that_fits_into_no_memory_is_one_error():
    table = pd.DataFrame({"pay": [0, 10], "age": [30, 31]})
    with pytest.raises(InvalidInput, match="more than 10,000,000 steps of pay"):
        add_noise(table, "pay", ["age"], Domain(0, 10, 1), 1e30, 0)
    with pytest.raises(InvalidInput, match="10,001 values with 10,000 steps of noise is too much to hold"):
        perturbed(table, table, "pay", [], Domain(0, 10_000, 1), 100)


def test_columns_without_words_for_names_are_released_too():
    table = pd.DataFrame({0: ["a", "b"], 1: [30, 31], 2: [10, 20]})
    released = add_noise(table, 2, [0, 1], DOMAIN, 0, 0)
    assert perturbed(table, released, 2, [0, 1], DOMAIN, 0).risk.tolist() == [1.0, 1.0]
