"""Worlds as a sample: the same for the same history, all of them reachable, and how even the draw is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cae_sql import AnsweredSystem

from .oracles import cases_at_random


def drawn(system: AnsweredSystem, count: int) -> Counter[tuple[float, ...]]:
    return Counter(tuple(float(x) for x in world) for world in system.worlds(count, seed=1).tolist())


@pytest.mark.slow
def test_the_same_answers_give_the_same_pool_and_the_same_certificates() -> None:
    for case in cases_at_random(seed=7, count=12):
        one, two = case.system(), case.system()
        assert one.worlds(6).tolist() == two.worlds(6).tolist()
        assert one.certified().lower.tolist() == two.certified().lower.tolist()
        assert one.certified().upper.tolist() == two.certified().upper.tolist()


@pytest.mark.slow
def test_asking_does_not_change_what_is_drawn() -> None:
    for case in cases_at_random(seed=8, count=12):
        quiet, asked = case.system(), case.system()
        asked.bounds()
        asked.certified()
        asked.explain(0, "upper")
        asked.worlds(3, seed=5)
        assert asked.worlds(6).tolist() == quiet.worlds(6).tolist()


def test_the_seven_worlds_of_three_salaries_are_drawn_alike() -> None:
    system = AnsweredSystem(3, 100, 300, 100)
    system.add_mean([0, 1, 2], 200)
    counts = drawn(system, 2100)
    assert len(counts) == 7
    assert min(counts.values()) > 225
    assert max(counts.values()) < 375


def test_a_record_of_many_is_drawn_as_its_exact_distribution_says() -> None:
    system = AnsweredSystem(30, 0, 24, 1)
    system.add_sum(range(30), 200)
    values = np.asarray(system.worlds(1000, seed=1)).ravel().astype(np.int64)
    rest = np.ones(1)
    for _ in range(29):
        rest = np.convolve(rest, np.ones(25))
    exact = rest[200 - np.arange(25)] / rest[200 - np.arange(25)].sum()
    found = np.bincount(values, minlength=25) / len(values)
    assert np.abs(found - exact).sum() < 0.03


def uneven(kind: str) -> AnsweredSystem:
    if kind == "max":
        system = AnsweredSystem(3, 0, 4, 1)
        system.add_max([0, 1, 2], 4)
    else:
        system = AnsweredSystem(2, 0, 24, 1)
        system.add_sum([0, 1], 24, [2, 3])
    return system


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "worlds"), [("max", 61), ("weighted", 5)])
def test_all_worlds_are_drawn_sooner_or_later(kind: str, worlds: int) -> None:
    assert len(drawn(uneven(kind), 100 * worlds)) == worlds


@pytest.mark.parametrize("kind", ["max", "weighted"])
def test_worlds_are_drawn_alike(kind: str) -> None:
    counts = drawn(uneven(kind), 6000)
    even = 6000 / len(counts)
    assert min(counts.values()) > even / 2
    assert max(counts.values()) < even * 2


@pytest.mark.parametrize(("size", "share"), [(30, 0.5), (150, 0.8), (600, 0.3)])
def test_totals_of_large_atoms_are_drawn_as_the_worlds_have_them(size: int, share: float) -> None:
    """Two overlapping sums make three atoms; convolution gives the posterior of the middle one's total."""
    third, top = size // 3, 24
    truth = np.random.default_rng(1).binomial(top, share, size)
    system = AnsweredSystem(size, 0, top, 1)
    for members in (np.arange(2 * third), np.arange(third, size)):
        system.add_sum(members, int(truth[members].sum()))
    ways = np.ones(1)
    for _ in range(third):
        ways = np.convolve(ways, np.ones(top + 1) / (top + 1))
    log = np.log(np.maximum(ways, 1e-300))
    middle = np.arange(third * top + 1)
    left, right = truth[: 2 * third].sum() - middle, truth[third:].sum() - middle
    possible = (left >= 0) & (left < len(log)) & (right >= 0) & (right < len(log))
    weight = np.where(possible, 0.0, -np.inf)
    weight[possible] = log[middle[possible]] + log[left[possible]] + log[right[possible]]
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = (weight * middle).sum()
    spread = np.sqrt((weight * (middle - mean) ** 2).sum())
    drawn_totals = np.asarray(system.worlds(24))[:, third : 2 * third].sum(axis=1)
    assert np.abs((drawn_totals - mean) / spread).max() < 6
    assert abs(drawn_totals.mean() - mean) / spread < 3


@pytest.mark.slow
def test_sums_beyond_what_floats_hold_are_kept_exactly() -> None:
    size, top = 1_201, 10**13
    system = AnsweredSystem(size, 0, top, 1)
    values = np.random.default_rng(3).integers(top - 10**6, top, size)
    one, two = np.arange(600), np.arange(600, size)
    for members in (one, two, np.arange(size)):
        system.add_sum(members, int(values[members].sum()))
    worlds = np.asarray(system.worlds(2))
    assert (worlds[:, one].sum(axis=1) == values[one].sum()).all()
    assert (worlds[:, two].sum(axis=1) == values[two].sum()).all()
