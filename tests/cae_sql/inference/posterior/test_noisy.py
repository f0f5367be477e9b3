"""What ranges of counts make likely, held against what they make likely exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from auditor.deciding.statistics import about
from auditor.told import Told
from cae_sql import AnsweredSystem, cae_area
from cae_sql.inference.facts.query import Query

TOP = 24
EVERYBODY = cae_area(list(range(TOP + 1)))


def risk(probabilities: np.ndarray) -> float:
    """1 − A / A of all values alike."""
    return 1 - float(cae_area(list(range(TOP + 1)), list(probabilities))) / float(EVERYBODY)


def star(
    chance: np.random.Generator, ranges: int, others: int, width: int, limit: int
) -> tuple[float, float]:
    """One person in many ranges, each with other people: the exact risk, and what leverage makes of it."""
    above = (TOP - limit) / (TOP + 1)
    mine = int(chance.random() < above)
    system = AnsweredSystem(1 + ranges * others, 0, TOP, 1)
    logs = np.zeros(2)
    for number in range(ranges):
        members = np.append(0, np.arange(1 + number * others, 1 + (number + 1) * others))
        low = (mine + int(chance.binomial(others, above))) // width * width
        for value in (0, 1):
            chances = binom.cdf(low + width - 1 - value, others, above) - binom.cdf(
                low - 1 - value, others, above
            )
            logs[value] += np.log(max(float(chances), 1e-300))
        query = Query(kind="count", members=members, region=((limit + 1, TOP),))
        system.observed.append(about(query, Told(low, low + width - 1), TOP))
    odds = np.exp(logs - logs.max()) * [1 - above, above]
    odds /= odds.sum()
    exact = np.where(np.arange(TOP + 1) > limit, odds[1] / (TOP - limit), odds[0] / (limit + 1))
    return risk(exact), risk(system.posterior([0])[1][0])


@pytest.mark.parametrize(
    ("ranges", "others", "width", "limit"),
    [(5, 12, 8, 12), (20, 12, 8, 12), (60, 25, 8, 12), (60, 40, 16, 12), (60, 12, 8, 18), (150, 25, 8, 20)],
)
def test_whom_leverage_has_within_a_limit_the_exact_posterior_has_too(
    ranges: int, others: int, width: int, limit: int
) -> None:
    chance = np.random.default_rng([ranges, others])
    runs = [star(chance, ranges, others, width, limit) for _ in range(12)]
    assert not any(exact > 0.5 >= leverage for exact, leverage in runs)
    assert float(np.mean([exact for exact, _ in runs])) < runs[0][1] + 0.02


def test_each_range_adds_leverage_and_nobody_outside_has_any() -> None:
    system, before = AnsweredSystem(60, 0, TOP, 1), np.zeros(60)
    system.add_sum(np.arange(40), 480)
    for size in (40, 30, 20):
        query = Query(kind="count", members=np.arange(size), region=((13, TOP),))
        system.accept_range([], about(query, Told(8, 15), TOP), 2, None)
        now = system.leverage()
        assert (now[:size] > before[:size]).all()
        assert (now >= before - 1e-12).all()
        assert (now[40:] == 0).all()
        before = now


def test_two_counts_that_differ_in_one_person_tell_of_that_person() -> None:
    system = AnsweredSystem(400, 0, TOP, 1)
    for size in (399, 400):
        query = Query(kind="count", members=np.arange(size), region=((13, TOP),))
        system.accept_range([], about(query, Told(200, 207), TOP), 2, None)
    found = system.leverage()
    assert found[399] > 5 * found[0]
