"""A public prior shapes worlds and excludes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import AnsweredSystem
from cae_sql.inference import system as systems
from cae_sql.inference.tables.priors import UNLIKELY, Prior


def prior_of(odds: np.ndarray) -> Prior:
    return Prior.of(lambda count, seed: np.random.default_rng(seed).choice(len(odds), count, p=odds), odds)


LOW_ONES = prior_of(np.array([0.5, 0.3, 0.2, 0.0, 0.0]))


def test_what_a_prior_rules_out_is_unlikely_and_not_impossible() -> None:
    assert np.isfinite(LOW_ONES.odds).all()
    assert LOW_ONES.odds.min() == UNLIKELY
    assert LOW_ONES.odds[:3].tolist() == pytest.approx(np.log([0.5, 0.3, 0.2]).tolist())


def test_without_probabilities_there_are_draws_alone() -> None:
    prior = Prior.of(lambda count, seed: np.full(count, seed), None)
    assert len(prior.odds) == 0
    assert prior.draw(3, 7).tolist() == [7, 7, 7]


@pytest.mark.parametrize("most_in_a_pool", [1, 5_000])
def test_worlds_have_what_the_prior_rules_out_where_answers_leave_nothing_else(
    monkeypatch: pytest.MonkeyPatch, most_in_a_pool: int
) -> None:
    monkeypatch.setattr(systems, "SMALL", most_in_a_pool)
    system = AnsweredSystem(6, 0, 4, 1, prior=LOW_ONES)
    system.add_sum([0, 1, 2], 11)
    system.add_max([3, 4], 3)
    worlds = np.asarray(system.worlds(20))
    assert (worlds[:, :3].sum(axis=1) == 11).all()
    assert (worlds[:, 3:5].max(axis=1) == 3).all()


@pytest.mark.parametrize("most_in_a_pool", [1, 5_000])
def test_before_any_answer_worlds_are_spread_as_the_prior_says(
    monkeypatch: pytest.MonkeyPatch, most_in_a_pool: int
) -> None:
    monkeypatch.setattr(systems, "SMALL", most_in_a_pool)
    system = AnsweredSystem(2_000, 0, 4, 1, prior=LOW_ONES)
    shares = np.bincount(np.asarray(system.pool().values).ravel(), minlength=5) / (24 * 2_000)
    assert np.abs(shares - [0.5, 0.3, 0.2, 0.0, 0.0]).max() < 0.02
