"""Priors under which no bell around the mean tells what a range tells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cae_sql import AnsweredSystem, cae_area
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.range_checks import sees
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.tables.priors import Prior

ENDS = [45, *[1] * 9, 45]
HEAVY = [30, *[4] * 10, 30]
SALARIES = np.exp(-((np.log(np.arange(1, 26) / 8)) ** 2)).tolist()


def tilt_of(weights: list[float]) -> Tilt:
    system, p = AnsweredSystem(2, 0, len(weights) - 1, 1), np.array(weights) / sum(weights)
    return Tilt(Windows.of(system.grid, None), Prior.of(lambda count, seed: np.zeros(count, np.int64), p))


@pytest.mark.parametrize("weights", [[1] * 3, [1] * 4, [1] * 11, [1] * 26, [1] * 1_000, SALARIES])
@pytest.mark.parametrize("risk", [0.3, 0.5])
def test_where_most_lie_together_ranges_are_seen(weights: list[float], risk: float) -> None:
    assert sees(tilt_of(weights), risk)


@pytest.mark.parametrize("weights", [[1, 1], [9, 1], ENDS, HEAVY, [3, 0, 0, 0, 3]])
@pytest.mark.parametrize("risk", [0.3, 0.5, None])
def test_where_most_are_at_both_ends_ranges_are_not_seen(weights: list[float], risk: float | None) -> None:
    assert not sees(tilt_of(weights), risk)


def test_between_two_values_that_a_loose_limit_allows_nothing_is_seen() -> None:
    assert sees(tilt_of([1] * 3), 0.5)
    assert not sees(tilt_of([1] * 3), 0.7)


def test_at_both_ends_a_formula_keeps_what_exact_posteriors_do_not() -> None:
    """Why such ranges are refused: ten that say on which side of the middle a sum of eleven is."""
    p, system = np.array(ENDS) / sum(ENDS), AnsweredSystem(101, 0, 10, 1)
    system = AnsweredSystem(101, 0, 10, 1, prior=Prior.of(lambda n, seed: np.zeros(n, np.int64), p))
    others = np.ones(1)
    for _ in range(10):
        others = np.convolve(others, p)
    above = np.array([others[max(55 - own, 0) :].sum() for own in range(11)])
    exact = p * above**10 / (p @ above**10)
    for number in range(10):
        members = np.append(0, np.arange(10) + 1 + 10 * number)
        weights = np.ones(11, dtype=np.int64)
        system.observed.append(
            Query(kind="about", members=members, coefficients=weights, part=Fraction(56**2))
        )
    whole = float(cae_area(list(range(11)), p.tolist()))
    by_formula = system.posterior([0])[1][0]
    assert 1 - float(cae_area(list(range(11)), exact.tolist())) / whole > 0.5
    assert by_formula[0] == pytest.approx(by_formula[10], rel=0.1)
