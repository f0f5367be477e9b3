"""A long list of answers is taken in at once as it would be one by one: every world agrees with all of it."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import AnsweredSystem
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference import system as systems
from cae_sql.inference import system_state
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.start import Tilted, all_at_once
from tests.cae_sql.inference.told import Ints, Told, told_at_random, values_at_random


def system_of(told: Told, prior: Prior | None = None, pool: int = 4) -> AnsweredSystem:
    system = AnsweredSystem(told.size, 0, told.top, 1, pool=pool, prior=prior)
    system.accept([q.answered(v) for q, v in zip(told.queries, told.values, strict=True)])
    return system


def ranges(size: int, top: int, count: int, seed: int) -> Told:
    """Sums over random ranges of four public columns; skewed values."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 100, (4, size))
    told = Told(np.minimum((rng.lognormal(0, 1, size) * top / 8).astype(np.int64), top), top)
    for _ in range(count):
        first, last = rng.integers(0, 60, 2), rng.integers(65, 100, 2)
        one, two = rng.choice(4, 2, replace=False)
        inside = (columns[one] >= first[0]) & (columns[one] < last[0])
        told.ask("sum", np.flatnonzero(inside & (columns[two] >= first[1]) & (columns[two] < last[1])))
    return told


@pytest.fixture
def always_at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whatever the size; and whether that found tables, each time."""
    found: list[bool] = []

    def watched(known: Knowledge, sums: Ints, large_pool: Pool) -> object:
        outcome = all_at_once(known, sums, large_pool)
        found.append(outcome is not None)
        return outcome

    monkeypatch.setattr(systems, "SMALL", 1)
    monkeypatch.setattr(system_state, "MOST_SEARCHED", 1)
    monkeypatch.setattr(system_state, "AT_ONCE", 1)
    monkeypatch.setattr(system_state, "all_at_once", watched)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("top", [1, 2, 7, 100, 10**9])
def test_every_world_and_the_center_agree_with_every_answer(always_at_once: list[bool], top: int) -> None:
    rng, agreed = np.random.default_rng(top), 0
    for _ in range(40):
        told = told_at_random(rng, int(rng.integers(5, 80)), top, int(rng.integers(1, 8)))
        system = system_of(told)
        try:
            worlds = system.worlds(4)
        except OutOfTime:
            continue
        agreed += 1
        assert not told.impossible(system.roomy_table)
        large_pool = system.pool()
        assert isinstance(large_pool, Pool)
        for world in [*large_pool.values, *np.asarray(worlds)]:
            assert not told.disagrees(world)
    assert agreed > 25
    assert np.mean(always_at_once) > 0.5


@pytest.mark.parametrize("extremes", [False, True])
@pytest.mark.slow
def test_many_records_and_many_sums_are_agreed_with(always_at_once: list[bool], extremes: bool) -> None:
    told = ranges(12_000, 120, 50, seed=3)
    if extremes:
        told.ask("max", np.arange(500, 2_500))
        told.ask("min", np.arange(4_000, 9_000))
        told.ask("max", np.arange(40))
    system = system_of(told)
    large_pool = system.pool()
    assert isinstance(large_pool, Pool)
    assert always_at_once == [True]
    assert not told.impossible(system.roomy_table)
    for world in [*large_pool.values.astype(np.int64), *np.asarray(system.worlds(2, seed=5))]:
        assert not told.disagrees(world)
    assert (large_pool.values[0] != large_pool.values[1]).mean() > 0.5


def test_answers_go_on_from_there_one_by_one(always_at_once: list[bool]) -> None:
    told = ranges(8_000, 24, 40, seed=4)
    told.queries, later = told.queries[:36], told.queries[36:]
    system = system_of(told)
    system.pool()
    for query in later:
        told.queries.append(query)
        question = system.question([query])
        value = told.values[-1]
        learned = question.learn([value], Allowance())
        system.accept([query.answered(value)], learned)
        assert not told.impossible(system.roomy_table)
        for world in np.asarray(system.worlds(2)):
            assert not told.disagrees(world)
    assert always_at_once == [True]


def test_worlds_look_like_the_truth_where_the_answers_say_so(always_at_once: list[bool]) -> None:
    """Half of the records add up to little, the others to much: worlds have it so record by record."""
    rng, size = np.random.default_rng(5), 10_000
    told = Told(np.concatenate([rng.integers(0, 11, size), rng.integers(90, 101, size)]), 100)
    told.ask("sum", np.arange(size))
    told.ask("sum", np.arange(size, 2 * size))
    large_pool = system_of(told, pool=6).pool()
    assert always_at_once == [True]
    low, high = large_pool.values[:, :size], large_pool.values[:, size:]
    assert low.mean() == pytest.approx(told.truth[:size].mean())
    # an exponential distribution of this mean, cut off and in whole numbers
    assert np.std(low) == pytest.approx(np.sqrt(5 * 6), rel=0.1)
    assert 100 - np.median(high) == pytest.approx(3, abs=1)


def test_a_public_prior_shapes_the_worlds(always_at_once: list[bool]) -> None:
    """Values are 0 or 60 as far as everybody knows: most are, in a world that agrees."""
    odds = np.full(61, 1e-9)
    odds[[0, 60]] = 0.5
    odds /= odds.sum()
    prior = Prior.of(lambda count, seed: np.random.default_rng(seed).choice(61, count, p=odds), odds)
    rng, size = np.random.default_rng(6), 6_000
    told = Told(60 * (rng.random(size) < 0.2).astype(np.int64), 60)
    told.ask("sum", np.arange(size))
    told.ask("sum", np.arange(size // 3))
    large_pool = system_of(told, prior).pool()
    assert always_at_once == [True]
    # what chance missed is made up for by single units
    assert np.isin(large_pool.values, [0, 60]).mean() > 0.7
    assert not told.disagrees(large_pool.values[0].astype(np.int64))


def test_what_no_table_agrees_with_is_said(always_at_once: list[bool]) -> None:
    system = AnsweredSystem(100, 0, 9, 1, pool=4)
    told = Told(values_at_random(np.random.default_rng(0), 100, 9), 9)
    for members in (np.arange(50), np.arange(50, 100), np.arange(100)):
        told.ask("sum", members)
    answers = [q.answered(v) for q, v in zip(told.queries, told.values, strict=True)]
    system.accept([*answers[:2], told.queries[2].answered(told.values[2] + 1)])
    with pytest.raises(InconsistentAnswers):
        system.pool()
    assert not always_at_once


def test_what_is_not_found_at_once_is_sought_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_state, "all_at_once", lambda *_: None)
    told = ranges(6_000, 24, 14, seed=7)
    for world in np.asarray(system_of(told).worlds(2)):
        assert not told.disagrees(world)


def test_expected_sums_are_the_answered_ones() -> None:
    rng = np.random.default_rng(8)
    told = ranges(3_000, 30, 12, seed=8)
    answers = [q.answered(v) for q, v in zip(told.queries, told.values, strict=True)]
    known, sums = Knowledge.of(3_000, 30, answers)
    odds = rng.dirichlet(np.ones(31))
    for prior in (None, Prior.of(lambda count, seed: np.zeros(count, np.int64), odds)):
        found = Tilted.to(known.without_sums(), sparse_columns(known.matrix), sums, prior)
        values = np.array([found.draw(seed) for seed in range(200)])
        means = known.matrix @ (known.sizes * found.moments.means)
        spread = np.sqrt(known.matrix.astype(float) ** 2 @ (known.sizes * found.moments.variances))
        assert (np.abs(means - sums) < 0.5 * spread).all()
        drawn = np.array([q.of(values).mean() for q in told.queries])
        assert (
            np.abs(drawn - np.array(told.values)) < 0.5 * spread.max() + 4 * spread.max() / 200**0.5
        ).all()
        assert np.std(values, axis=0).mean() == pytest.approx(
            np.sqrt(found.moments.variances[known.atoms.labels]).mean(), rel=0.03
        )
