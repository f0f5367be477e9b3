"""Attacks that intervals do not see: every interval stays wide, and one value is left."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import AnsweredSystem

PRIME = 2**31 - 1


def widths(system: AnsweredSystem) -> list[float]:
    bounds = system.bounds()
    return [float(x) for x in bounds.upper - bounds.lower]


def known(system: AnsweredSystem, record: int) -> float:
    """The one value that is certified, which every world has."""
    found = system.certified()
    assert found.lower[record] == found.upper[record]
    assert {float(x) for x in system.worlds(20)[:, record]} == {found.lower[record]}
    return float(found.lower[record])


@pytest.mark.parametrize("truth", [(0, 1, 1, 0), (1, 0, 0, 1)])
def test_three_sums_tell_a_bit_by_its_parity(truth: tuple[int, int, int, int]) -> None:
    t, a, b, c = truth
    system = AnsweredSystem(4, 0, 1, 1)
    system.add_sum([1, 3], a + c)
    system.add_sum([2, 3], b + c)
    system.add_sum([0, 1, 2], t + a + b)
    assert widths(system)[0] == 1, "the interval of the record knows nothing"
    assert known(system, 0) == t


def test_sums_tell_a_bit_by_its_parity_in_a_crowd() -> None:
    rng = np.random.default_rng(1)
    truth = [0, 1, 1, 0, *(int(x) for x in rng.integers(0, 2, 16))]
    system = AnsweredSystem(20, 0, 1, 1)
    system.add_sum(range(20), sum(truth))
    for members in ([1, 3], [2, 3], [0, 1, 2]):
        system.add_sum(members, sum(truth[i] for i in members))
    assert widths(system)[0] == 1
    assert known(system, 0) == 0
    found = system.certified()
    assert (found.upper[4:] - found.lower[4:] == 1).all(), "the crowd is not told apart"


def test_twenty_six_plain_sums_tell_a_value_modulo_its_range() -> None:
    rng = np.random.default_rng(2)
    partners = rng.integers(10, 15, 25)
    system = AnsweredSystem(27, 0, 24, 1)
    for record, value in enumerate(partners, start=2):
        system.add_sum([1, record], 12 + int(value))
    system.add_sum([0, *range(2, 27)], 17 + int(partners.sum()))
    assert len(system.answers) == 26
    bounds = system.bounds()
    assert (bounds.lower[0], bounds.upper[0]) == (0, 24)
    assert known(system, 0) == 17


def test_coefficients_of_1_and_25_tell_a_record_modulo_25_in_one_sum() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 25, 40)
    weights = [1 if i == 17 else 25 for i in range(40)]
    system = AnsweredSystem(40, 0, 24, 1)
    system.add_sum(range(40), int(truth @ weights), weights)
    assert min(widths(system)) == 24
    assert known(system, 17) == truth[17]
    found = system.certified()
    others = np.arange(40) != 17
    assert (found.upper[others] - found.lower[others] == 24).all(), "of the others it tells nothing"


@pytest.mark.parametrize("coefficient", [PRIME - 1, PRIME, PRIME + 1])
def test_a_large_multiplier_for_all_others_tells_a_record(coefficient: int) -> None:
    truth = [7, 11, 3, 20]
    weights = [1, coefficient, coefficient, coefficient]
    system = AnsweredSystem(4, 0, 24, 1)
    system.add_sum(range(4), sum(w * x for w, x in zip(weights, truth, strict=True)), weights)
    assert widths(system)[0] == 24
    assert known(system, 0) == 7


@pytest.mark.slow
@pytest.mark.parametrize("records", [2, 3, 4, 5, 6, 7])
def test_powers_of_25_tell_every_record_digit_by_digit(records: int) -> None:
    truth = [(7 * i + 5) % 25 for i in range(records)]
    weights = [25**i for i in range(records)]
    system = AnsweredSystem(records, 0, 24, 1)
    system.add_sum(range(records), sum(w * x for w, x in zip(weights, truth, strict=True)), weights)
    assert widths(system)[0] == 24
    assert [known(system, i) for i in range(records)] == truth


def test_a_difference_of_2_leaves_a_record_every_second_value() -> None:
    system = AnsweredSystem(3, 0, 24, 1)
    system.add_sum([0, 1, 2], 25, [1, 2, 2])
    found = system.certified()
    assert found.lower[0] == found.upper[0]
    assert found.lower[0] % 2 == 1
    assert {int(x) % 2 for x in system.worlds(50)[:, 0]} == {1}
    assert widths(system)[0] == 24


def test_reals_make_nothing_of_parity() -> None:
    system = AnsweredSystem(4, 0, 1)
    for members, value in (([1, 3], 1), ([2, 3], 1), ([0, 1, 2], 2)):
        system.add_sum(members, value)
    assert widths(system)[0] == 1
