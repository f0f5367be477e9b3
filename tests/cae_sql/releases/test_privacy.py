"""Privacy loss: the paper's example and theorems, all tables enumerated, exact integers at moderate sizes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.releases import (
    expected_privacy_loss,
    privacy_loss,
    privacy_loss_of_mean,
    privacy_losses,
    record_given_sum,
)


def entropy(weights: Sequence[float]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w)


def binary_entropy(part: float) -> float:
    return entropy([part, 1 - part])


def loss_by_enumeration(values: Sequence[int], size: int, total: int) -> float | None:
    tables = [t for t in itertools.product(values, repeat=size) if sum(t) == total]
    if not tables:
        return None
    return math.log2(len(values)) - entropy(list(Counter(t[0] for t in tables).values()))


@lru_cache
def ways(values: Sequence[int], size: int) -> Counter[int]:
    """How many tables have each sum, in whole numbers."""
    found = Counter({0: 1})
    for _ in range(size):
        grown: Counter[int] = Counter()
        for total, count in found.items():
            for value in values:
                grown[total + value] += count
        found = grown
    return found


# The paper's example


def test_three_salaries_of_average_200_leave_1_557_bits_and_not_the_1_439_that_are_printed() -> None:
    values, probabilities = record_given_sum([100, 200, 300], 3, 600)
    assert values.tolist() == [100, 200, 300]
    assert probabilities == pytest.approx([2 / 7, 3 / 7, 2 / 7], abs=1e-15)
    left = math.log2(3) - privacy_loss([100, 200, 300], 3, 600)
    assert left == pytest.approx(entropy([2, 3, 2]), abs=1e-14)
    assert round(left, 3) == 1.557


def test_an_average_that_only_one_table_has_loses_everything() -> None:
    assert privacy_loss_of_mean([100, 200, 300], 3, 100) == pytest.approx(math.log2(3), abs=1e-15)


# Theorems 1 and 2


@given(st.integers(1, 3000), st.floats(0, 1))
def test_of_zeros_and_ones_the_loss_is_1_less_the_entropy_of_their_share(size: int, part: float) -> None:
    ones = round(part * size)
    assert privacy_loss([0, 1], size, ones) == pytest.approx(1 - binary_entropy(ones / size), abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 65, 300, 2000])
def test_the_expected_loss_of_zeros_and_ones_is_the_corrected_sum_of_theorem_2(size: int) -> None:
    expected = sum(
        Fraction(math.comb(size, k), 2**size) * Fraction(1 - binary_entropy(k / size))
        for k in range(size + 1)
    )
    assert expected_privacy_loss([0, 1], size) == pytest.approx(float(expected), rel=1e-9)


# Against enumeration and exact integers

value_sets = st.lists(st.integers(-9, 30), min_size=1, max_size=5, unique=True)


@given(value_sets, st.integers(1, 5), st.integers(0, 10**9))
def test_the_loss_is_that_of_the_tables_enumerated(values: list[int], size: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    total = int(chance.choice(values, size).sum()) + int(chance.integers(0, 2))
    expected = loss_by_enumeration(values, size, total)
    if expected is None:
        with pytest.raises(InconsistentAnswers):
            privacy_loss(values, size, total)
    else:
        assert privacy_loss(values, size, total) == pytest.approx(expected, abs=1e-12)


@given(value_sets, st.integers(1, 5))
def test_the_expected_loss_is_the_average_over_all_tables(values: list[int], size: int) -> None:
    sums = Counter(sum(table) for table in itertools.product(values, repeat=size))
    tables = len(values) ** size
    expected = sum(count / tables * privacy_loss(values, size, total) for total, count in sums.items())
    assert expected_privacy_loss(values, size) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.003, 0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("values", [range(25), (0, 1, 2, 7, 19), (3, 10, 12, 13)])
def test_a_transform_agrees_with_exact_integers(values: Sequence[int], part: float) -> None:
    size = 150
    others = ways(values, size - 1)
    total = min(ways(values, size), key=lambda s: abs(s - size * (min(values) + part * np.ptp(values))))
    counts = [others[total - value] for value in values]
    exact = [float(Fraction(count, sum(counts))) for count in counts]
    assert record_given_sum(values, size, total)[1] == pytest.approx(exact, abs=1e-12)
    assert privacy_loss(values, size, total) == pytest.approx(
        math.log2(len(values)) - entropy(exact), abs=1e-12
    )


def whole_ways(values: int, size: int, total: int) -> int:
    """Σ_j (−1)^j C(n, j) C(s − kj + n − 1, n − 1): tables of 0 … k − 1 with a sum, however many records."""
    found, signed, over = 0, 1, total + size - 1
    ways_without_limit = math.comb(over, size - 1)
    for j in range(size + 1):
        found += signed * ways_without_limit
        if over - values < size - 1:
            return found
        signed = -signed * (size - j) // (j + 1)
        fewer = math.prod(range(over - size + 2 - values, over - size + 2))
        ways_without_limit = ways_without_limit * fewer // math.prod(range(over - values + 1, over + 1))
        over -= values
    return found


def test_two_thousand_records_agree_with_exact_integers_to_the_last_digits() -> None:
    assert [whole_ways(3, 3, s) for s in range(7)] == [ways((0, 1, 2), 3)[s] for s in range(7)]
    for mean in (1, 8):
        total = 2_000 * mean
        counts = [whole_ways(25, 1_999, total - value) for value in range(25)]
        exact = [float(Fraction(count, sum(counts))) for count in counts]
        assert record_given_sum(range(25), 2_000, total)[1] == pytest.approx(exact, rel=1e-12)
        loss = math.log2(25) - entropy(exact)
        assert privacy_loss(range(25), 2_000, total) == pytest.approx(loss, abs=1e-13)


def test_with_ten_thousand_records_the_mean_of_what_is_believed_is_the_released_mean() -> None:
    # records are interchangeable, so E[X | sum] = sum / n: the computation has no use for that
    for total in (100_500, 900_000, 1_300_000, 2_499_990):
        values, p = record_given_sum(range(10, 251, 10), 10_000, total)
        assert float(values @ p) == pytest.approx(total / 10_000, rel=1e-10)


def test_what_is_all_but_impossible_is_not_left_to_rounding() -> None:
    # 500 of 1,000 at 10,000 and nobody at 10,001, of which there could be as many: 2⁻⁵⁰⁰ of what is likely
    _, p = record_given_sum([0, 10_000, 10_001], 1000, 500 * 10_000)
    assert p == pytest.approx([0.5, 0.5, 0], abs=1e-12)
    assert privacy_loss([0, 10_000, 10_001], 1000, 500 * 10_000) == pytest.approx(math.log2(3) - 1)


def test_weights_say_how_likely_values_were_and_equal_values_are_merged() -> None:
    alike = privacy_loss([0, 1, 1], 5, 3)
    assert alike == pytest.approx(privacy_loss([0, 1], 5, 3, probabilities=[1, 2]), abs=1e-14)
    tables = Counter[int]()
    for table in itertools.product([0, 1, 1], repeat=5):
        tables[table[0]] += sum(table) == 3
    assert alike == pytest.approx(entropy([1, 2]) - entropy(list(tables.values())), abs=1e-13)


def test_the_digits_of_small_losses_are_kept() -> None:
    # at the expected sum little is lost: (1 − h(k/n)) of k = n/2 + 1 is about (2/n)² / (2 ln 2)
    size = 10_000
    expected = (2 / size) ** 2 / (2 * math.log(2))
    assert privacy_loss([0, 1], size, size // 2 + 1) == pytest.approx(expected, rel=1e-6)


def test_a_rounded_mean_is_taken_for_the_nearest_possible_one() -> None:
    assert privacy_loss_of_mean([0, 1], 3, 0.6666666666666666) == pytest.approx(1 - binary_entropy(2 / 3))
    assert privacy_loss([0.1, 0.2, 0.3], 3, 0.1 + 0.2 + 0.3) == privacy_loss([1, 2, 3], 3, 6)


def test_the_more_records_the_less_a_mean_tells_of_each() -> None:
    losses = [privacy_loss_of_mean(range(0, 11), n, 4) for n in (5, 10, 100, 1000)]
    assert losses == sorted(losses, reverse=True)
    expected = [expected_privacy_loss(range(0, 11), n) for n in (1, 2, 5, 10, 100, 1000)]
    assert expected == sorted(expected, reverse=True)


# Several releases


@given(st.integers(0, 10**9))
def test_several_sums_are_those_of_the_tables_enumerated(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, values = int(chance.integers(2, 6)), np.sort(chance.choice(12, int(chance.integers(2, 4)), False))
    true = chance.choice(values, size)
    masks = [mask for mask in chance.random((int(chance.integers(1, 4)), size)) < 0.6 if mask.any()]
    releases = [(mask, int(true[mask].sum())) for mask in masks]
    tables = np.array(list(itertools.product(values, repeat=size)))
    for mask, total in releases:
        tables = tables[tables[:, mask].sum(axis=1) == total]
    expected = [
        math.log2(len(values)) - entropy(np.unique(column, return_counts=True)[1].tolist())
        for column in tables.T
    ]
    assert privacy_losses(values, size, releases) == pytest.approx(expected, abs=1e-12)


def test_disjoint_sums_are_single_ones_and_nested_ones_come_to_their_differences() -> None:
    values, half = range(0, 25), np.arange(400)
    losses = privacy_losses(values, 1000, [(half, 5_000), (np.arange(400, 1000), 6_000)])
    assert losses[:400] == pytest.approx(privacy_loss(values, 400, 5_000), abs=1e-13)
    assert losses[400:] == pytest.approx(privacy_loss(values, 600, 6_000), abs=1e-13)
    nested = privacy_losses(values, 1000, [(half, 5_000), (np.arange(1000), 11_000)])
    assert nested == pytest.approx(losses, abs=1e-13)


def test_two_sums_over_all_but_one_give_that_one_away() -> None:
    losses = privacy_losses([0, 1, 2], 4, [([0, 1, 2, 3], 5), ([1, 2, 3], 3)])
    assert losses[0] == pytest.approx(math.log2(3))
    assert (losses[1:] < math.log2(3)).all()


def test_who_is_in_no_sum_loses_nothing() -> None:
    assert privacy_losses([0, 1], 3, [([0, 1], 1)])[2] == 0.0
    assert privacy_losses([0, 1], 3, []).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_sums_that_overlap_too_much_are_an_error_and_not_a_guess() -> None:
    chance = np.random.default_rng(1)
    true = chance.integers(0, 1000, 60)
    masks = chance.random((12, 60)) < 0.5
    with pytest.raises(OutOfTime):
        privacy_losses(range(1000), 60, [(mask, int(true[mask].sum())) for mask in masks])


# What cannot be used


@pytest.mark.parametrize(
    ("values", "size", "total", "error", "text"),
    [
        ([], 3, 1, InvalidInput, "must not be empty"),
        ([1, float("nan")], 3, 1, InvalidInput, r"values\[1\] is nan"),
        ([1, 2], 0, 1, InvalidInput, "size must be a whole number of at least 1, not 0"),
        ([1, 2], 2.5, 1, InvalidInput, "size must be a whole number"),
        ([1, 2], True, 1, InvalidInput, "size must be a whole number"),
        ([1, 2], 3, float("inf"), InvalidInput, "total must be a finite number"),
        ([1, 2], 3, 7, InconsistentAnswers, "no 3 of these values have the sum 7"),
        ([1, 2], 3, 4.5, InconsistentAnswers, "no 3 of these values have the sum 4.5"),
        ([0, 3, 5], 100, 1, InconsistentAnswers, "have that sum"),
        ([0, 10**18], 10**6, 10**18, None, ""),
        ([0, 1, 10**18], 10**6, 10**18, InvalidInput, "round the values to a coarser step"),
        (np.random.default_rng(0).random(40), 1000, 500, InvalidInput, "round the values"),
    ],
)
def test_bad_input_is_one_clear_error(
    values: Sequence[float], size: int, total: float, error: type[Exception] | None, text: str
) -> None:
    if error is None:
        assert privacy_loss(values, size, total) > 0.99
        return
    with pytest.raises(error, match=text):
        privacy_loss(values, size, total)


def test_members_that_cannot_be_used_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="no record 7"):
        privacy_losses([0, 1], 3, [([0, 7], 1)])
    with pytest.raises(InconsistentAnswers):
        privacy_losses([0, 1], 3, [([0, 1], 1), ([0], 1), ([1], 1)])
