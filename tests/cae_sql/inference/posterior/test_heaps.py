"""A prior in heaps: what sums tell of somebody is counted, or not told; held against exact posteriors.

The oracle is a convolution of this file: the sum of everybody else of a star, and the rest of a total.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import believed, likely

ENDS = np.array([49.0, *[2 / 9] * 9, 49.0]) / 100
"""Nearly everybody has 0 or 10."""
HOURS = np.where(np.isin(np.arange(51), [0, 20, 40]), 0.3, 0.1 / 48)
EVEN = np.full(11, 1 / 11)
STEPS = 4e8


def power(odds: np.ndarray, count: int) -> np.ndarray:
    """Odds of a sum of so many."""
    found = np.ones(1)
    for digit in bin(count)[2:]:
        found = scipy.signal.convolve(found, found, method="direct")
        found = scipy.signal.convolve(found, odds, method="direct") if digit == "1" else found
    return found


def posterior(odds: np.ndarray, values: np.ndarray, others: int, sums: int) -> np.ndarray:
    """Of record 0 of a star, the total of everybody being known: the rest has what the star leaves of it."""
    company, top = power(odds, others), len(odds) - 1
    logs, left = np.log(odds), len(values) - 1 - others * sums
    told = [int(values[0] + values[1 + k * others :][:others].sum()) for k in range(sums)]
    rest = power(odds, left)
    for v in range(top + 1):
        # with all sums of the star known the rest has the total less these, whatever the companies are
        found = [company[each - v] if 0 <= each - v < len(company) else 0.0 for each in told]
        remains = int(values.sum()) - sum(told) + (sums - 1) * v
        found.append(rest[remains] if 0 <= remains < len(rest) else 0.0)
        with np.errstate(divide="ignore"):
            logs[v] += np.log(found).sum()
    p = np.exp(logs - logs.max())
    return np.asarray(p / p.sum())


def star(
    odds: np.ndarray, size: int, value: int, sums: int, seed: int = 0
) -> tuple[AnsweredSystem, np.ndarray]:
    """The total of everybody, and sums of record 0 with eight others each."""
    values = np.random.default_rng(seed).choice(len(odds), size, p=odds)
    values[0] = value
    system = AnsweredSystem(size, 0, len(odds) - 1, 1, prior=believed(odds))
    for members in [np.arange(size), *(np.append(0, 1 + k * 8 + np.arange(8)) for k in range(sums))]:
        query = system.query("sum", members)
        system.accept([query.answered(int(values[members].sum()))])
    return system, values


@pytest.mark.parametrize("sums", [1, 2, 3, 5])
@pytest.mark.parametrize(("odds", "size", "value"), [(ENDS, 2_000, 5), (HOURS, 600, 33), (EVEN, 500, 5)])
def test_beside_a_total_a_star_is_counted_as_it_is(
    odds: np.ndarray, size: int, value: int, sums: int
) -> None:
    system, values = star(odds, size, value, sums)
    found = likely(system)
    atom = found.known.atoms.labels[0]
    assert found.exact[1][atom]
    exact = posterior(odds, values, 8, sums)
    assert np.abs(found.rows[atom] - exact).sum() / 2 < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("odds", "size", "value"), [(ENDS, 2_000, 5), (HOURS, 600, 33)])
def test_sums_that_would_name_a_value_are_not_told(odds: np.ndarray, size: int, value: int) -> None:
    told = 0
    for sums in range(5):
        system, values = star(odds, size, value, sums)
        query = system.query("sum", np.append(0, 1 + sums * 8 + np.arange(8)))
        standard = LikelyStandard(Limit(risk=0.5), Domain(0, len(odds) - 1, 1), insiders=1)
        question = LikelyKnowledge(system, standard).question([query])
        if not question.judge((int(query.of(values)),), Allowance(STEPS)).safe:
            break
        told = sums + 1
    assert told < 5
    exact = posterior(odds, values, 8, told)
    assert exact.max() < 0.9


def test_a_group_too_large_to_be_counted_is_not_relied_upon_where_it_is_no_bell() -> None:
    """Of 60 with 0 or 10 the sum leans to multiples of 10; of 2,000 nothing is seen of it."""
    for size, heaped in ((60, True), (2_000, False)):
        values = np.random.default_rng(1).choice(11, size, p=ENDS)
        system = AnsweredSystem(size, 0, 10, 1, prior=believed(ENDS))
        system.add_sum(range(size), int(values.sum()))
        found = likely(system)
        assert found.heaped.tolist() == [heaped]


def test_differences_of_two_sums_are_looked_at() -> None:
    """Two sums of hundreds that differ by six people: each is a bell, the difference is none."""
    values = np.random.default_rng(2).choice(11, 1_000, p=ENDS)
    system = AnsweredSystem(1_000, 0, 10, 1, prior=believed(ENDS))
    for members in (range(1_000), range(6, 1_000)):
        query = system.query("sum", np.array(members))
        system.accept([query.answered(int(query.of(values)))])
    found = likely(system)
    labels = found.known.atoms.labels
    assert found.heaped[labels[0]]
    assert not found.heaped[labels[6]]


@pytest.mark.parametrize("seed", range(4))
def test_without_a_prior_groups_of_a_dozen_are_bells(seed: int) -> None:
    """Twenty-five values, some groups poor: nobody is marked, so nothing is refused for it."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(12, 40, 12)
    means = chance.integers(4, 20, 12)
    system, first = AnsweredSystem(int(sizes.sum()), 0, 24, 1), 0
    for size, mean in zip(sizes.tolist(), means.tolist(), strict=True):
        system.add_sum(range(first, first + size), size * mean)
        first += size
    assert not likely(system).heaped.any()
