"""Worlds as a sample: the same for the same history, all of them reachable, and how even the draw is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cae_sql import AnsweredSystem

from .oracles import cases_at_random


def drawn(system: AnsweredSystem, count: int) -> Counter[tuple[float, ...]]:
    return Counter(tuple(float(x) for x in world) for world in system.worlds(count, seed=1).tolist())


def test_the_same_answers_give_the_same_pool_and_the_same_certificates() -> None:
    for case in cases_at_random(seed=7, count=12):
        one, two = case.system(), case.system()
        assert one.worlds(6).tolist() == two.worlds(6).tolist()
        assert one.certified().lower.tolist() == two.certified().lower.tolist()
        assert one.certified().upper.tolist() == two.certified().upper.tolist()


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


@pytest.mark.parametrize(("kind", "worlds"), [("max", 61), ("weighted", 5)])
def test_all_worlds_are_drawn_sooner_or_later(kind: str, worlds: int) -> None:
    assert len(drawn(uneven(kind), 100 * worlds)) == worlds


@pytest.mark.parametrize(
    "kind",
    [
        "max",
        pytest.param(
            "weighted",
            marks=pytest.mark.xfail(
                strict=True, reason="only steps of 1 move what no coefficient of 1 reaches"
            ),
        ),
    ],
)
def test_worlds_are_drawn_alike(kind: str) -> None:
    counts = drawn(uneven(kind), 6000)
    even = 6000 / len(counts)
    assert min(counts.values()) > even / 2
    assert max(counts.values()) < even * 2
