"""What ranges of spreads and of weighted sums make likely, held against what they make likely exactly.

The exact side is convolution: how the weighted sum, or sum and squares, of the others are spread. It shares
nothing with the formula but how a range is put to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditor.deciding.cells import Rung
from auditor.deciding.statistics import about, possible, rungs
from cae_sql import AnsweredSystem, cae_area
from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.noisy import TIMES, parabolas
from cae_sql.risk import Limit

Floats = NDArray[np.float64]

DRAWS = 200
MOST = 64
"""Ranges about one person."""


@dataclass(frozen=True)
class Star:
    """One person in many ranges, each with other people, all values alike before anything is told."""

    top: int
    weights: tuple[int, ...]
    """Of the others in each range; of a spread all 1."""
    mine: int = 0
    """The person's weight; 0: ranges are of the spread."""
    box: tuple[int, int] | None = None
    """Between which values all others are known to lie, by an answered MIN and MAX."""

    @property
    def others(self) -> int:
        """In each range."""
        return len(self.weights)

    def query(self, number: int) -> Query:
        """The statistic of one range."""
        members = np.append(0, np.arange(1, 1 + self.others) + number * self.others)
        if not self.mine:
            return Query(kind="spread", members=members)
        coefficients = np.array([self.mine, *self.weights], dtype=np.int64)
        return Query(kind="weighted", members=members, coefficients=coefficients)

    @property
    def rung(self) -> Rung:
        """The narrowest cells that a gate tells, with nobody an insider."""
        return next(rungs(self.query(0), self.top, 1))

    def chances(self) -> Floats:
        """(values, cells) how likely each cell is, by the person's value."""
        low, high = self.box or (0, self.top)
        likely = np.where((np.arange(self.top + 1) >= low) & (np.arange(self.top + 1) <= high), 1.0, 0.0)
        likely /= likely.sum()
        found = np.zeros((self.top + 1, self.rung.last + 1))
        start = possible(self.query(0), self.top)[0]
        for value in range(self.top + 1):
            answers, p = self._weighted(likely, value) if self.mine else self._spread(likely, value)
            np.add.at(found[value], np.minimum((answers - start) // self.rung.width, self.rung.last), p)
        return found

    def _weighted(self, likely: Floats, value: int) -> tuple[NDArray[np.int64], Floats]:
        total, least = np.ones(1), 0
        for weight in self.weights:
            one = np.zeros(abs(weight) * self.top + 1)
            one[np.arange(self.top + 1) * abs(weight)] = likely if weight > 0 else likely[::-1]
            total, least = np.convolve(total, one), least + min(weight, 0) * self.top
        return np.arange(len(total)) + least + self.mine * value, total

    def _spread(self, likely: Floats, value: int) -> tuple[NDArray[np.int64], Floats]:
        joint = np.zeros((self.top * self.others + 1, self.top**2 * self.others + 1))
        joint[0, 0] = 1.0
        for number in range(self.others):
            before, joint = joint, np.zeros_like(joint)
            for x in np.flatnonzero(likely).tolist():
                last, size = self.top * number + 1, self.top**2 * number + 1
                joint[x : x + last, x * x : x * x + size] += likely[x] * before[:last, :size]
        sums, squares = np.nonzero(joint)
        people, p = self.others + 1, joint[sums, squares]
        return ((squares + value**2) * people - (sums + value) ** 2) // people, p

    def by_formula(self, ranges: int) -> float:
        """The person's risk, with so many ranges told."""
        system = AnsweredSystem(1 + ranges * self.others, 0, self.top, 1)
        if self.box:
            everybody_else = np.arange(1, system.size)
            system.add_min(everybody_else, self.box[0])
            system.add_max(everybody_else, self.box[1])
        cell = min(1, self.rung.last - 1)
        for number in range(ranges):
            query = self.query(number)
            told = self.rung.told(cell, cell)
            system.observed.append(about(query, told, self.top))
        return self.risk(system.posterior([0])[1][0])

    def risk(self, probabilities: Floats) -> float:
        """1 − A / A of all values alike."""
        values = list(range(self.top + 1))
        return 1 - float(cae_area(values, probabilities.tolist())) / float(cae_area(values))

    def most_ranges(self, limit: float) -> int:
        """How many are told before the formula is past a limit."""
        good, bad = 0, MOST + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.by_formula(middle) <= limit else (good, middle)
        return good


def beyond(star: Star, limit: float, seed: int = 0) -> float:
    """The greatest share of draws in which the exact risk is past a limit that the formula still keeps."""
    ranges, chances = star.most_ranges(limit), star.chances()
    logs, chance = np.log(np.maximum(chances, 1e-300)), np.random.default_rng(seed)
    shares = list[float]()
    for own in sorted({0, star.top // 2, star.top}):
        cells = chance.choice(chances.shape[1], (DRAWS, ranges), p=chances[own] / chances[own].sum())
        past = 0
        for told in logs[:, cells].sum(axis=2).T:
            p = np.exp(told - told.max())
            past += star.risk(p / p.sum()) > limit
        shares.append(past / DRAWS)
    return max(shares)


EVEN, FEW, UNEVEN = (1,) * 40, (1,) * 20, (1, 2, 3, 5, 8) * 8
STARS = {
    "spread": Star(4, (1,) * 36),
    "spread, others in the middle": Star(4, (1,) * 92, box=(1, 3)),
    "sum": Star(24, EVEN, 1),
    "sum with uneven weights": Star(4, UNEVEN, 8),
}
MORE = {
    "spread, three values": Star(2, (1,) * 60),
    "spread of more": Star(4, (1,) * 100),
    "spread, others in the middle, more": Star(4, (1,) * 190, box=(1, 3)),
    "sum, three values": Star(2, EVEN, 1),
    "sum, five values": Star(4, (1,) * 100, 1),
    "sum of few": Star(4, FEW, 1),
    "difference": Star(10, (1, -1) * 30, 1),
    "one who counts five times": Star(24, (1,) * 100, 5),
    "one who counts a fifth": Star(10, (5,) * 40, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STARS)
def test_whom_ranges_leave_within_a_limit_the_exact_posterior_does_too(name: str) -> None:
    assert beyond(STARS[name], 0.5) <= 0.02
    assert beyond(STARS[name], 0.3) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_whom_ranges_leave_within_a_limit_the_exact_posterior_does_too_in_more_stars(name: str) -> None:
    assert beyond(MORE[name], 0.5, 1) <= 0.03
    assert beyond(MORE[name], 0.3, 1) <= 0.06


@given(st.integers(2, 12), st.floats(-0.6, 0.6), st.data())
def test_parabolas_are_what_listed_values_say(top: int, theta: float, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, top - 1))
    high = data.draw(st.integers(low + 1, top))
    system = AnsweredSystem(4, 0, top, 1)
    system.add_min(np.arange(3), low)
    system.add_max(np.arange(3), high)
    fit = LikelyKnowledge(system, LikelyStandard(Limit(0.5), Domain(0, top, 1))).likely.fit
    fit = replace(fit, theta=np.full(len(fit.theta), theta))
    centers, variances = parabolas(fit)
    for column in range(len(centers)):
        x = np.arange(fit.observed.low[column], fit.observed.high[column] + 1).astype(float)
        p = np.exp(theta * x) / np.exp(theta * x).sum()
        away = x - p @ x
        two, three, four = (p @ away**power for power in (2, 3, 4))
        assert centers[column] == pytest.approx(p @ x + three / (2 * two), abs=0.01 * top)
        assert variances[column] == pytest.approx(four - two**2 - three**2 / two, abs=0.01 * two**2)


def test_one_who_varies_most_hides_nobody_from_himself() -> None:
    """Two may be anywhere, all others are known nearly: either sees how far off the other one is."""
    top, system = 24, AnsweredSystem(60, 0, 24, 1)
    system.add_min(np.arange(2, 60), 11)
    system.add_max(np.arange(2, 60), 13)
    query = Query(kind="spread", members=np.arange(60))
    told = Rung(possible(query, top), 64).told(1, 1)
    known = LikelyKnowledge(system, LikelyStandard(Limit(0.5), Domain(0, top, 1))).likely
    system.observed.append(about(query, told, top))
    x, found = np.arange(25), system.posterior([0])[1][0]
    others = 58 * parabolas(known.fit)[1][-1] + 64**2 / 12
    bell = np.exp(-0.5 * TIMES * 12**2 / others * (x - 12.0) ** 2)
    bell /= bell.sum()
    assert bell @ (x - 12.0) ** 2 < 2
    assert found @ (x - found @ x) ** 2 <= bell @ (x - 12.0) ** 2 + 1e-9
