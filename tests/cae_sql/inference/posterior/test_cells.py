"""Bounds by whole cells: never below the risk of a bell that is in one, alone or with an insider."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as over
from hypothesis import settings
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Grid
from cae_sql.inference.posterior import insiders
from cae_sql.inference.posterior.bell import rows_of, stiffness
from cae_sql.inference.posterior.cells import SHIFTS, STIFF, TILTS
from cae_sql.inference.posterior.insiders import Measure
from cae_sql.inference.posterior.keeping import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.members import BASELINES, Baseline, Baselines
from cae_sql.inference.posterior.windows import Tilt, Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import dense, likely

SEEDS = st.integers(0, 10**9)
COUNT = 6


def world(seed: int, baseline: Baseline, epsilon: float | None = None) -> tuple[Tilt, int, Measure]:
    """A domain of 25 windows or few, of one unit or some, with or without a prior."""
    chance = np.random.default_rng(seed)
    step, count = int(chance.choice([1, 1, 4])), int(chance.choice([2, 7, 25]))
    domain, top = Domain(0, (count - 1) * step, step), count * step - 1
    prior = None
    if seed % 3 == 0:
        odds = chance.dirichlet(np.ones(top + 1)) + 1e-6
        prior = Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds / odds.sum())
    tilt = Tilt(Windows.of(Grid(Fraction(0), Fraction(1), Fraction(top), True), domain), prior)
    return tilt, top, Measure(domain, Baselines(tilt, top, domain, baseline), epsilon)


@settings(max_examples=30)
@over(SEEDS, st.sampled_from(BASELINES), st.sampled_from([None, 0.0, 1.0]))
def test_no_insider_and_no_value_brings_more_than_the_bound(
    seed: int, baseline: Baseline, epsilon: float | None
) -> None:
    tilt, top, measure = world(seed, baseline, epsilon)
    chance, wide = np.random.default_rng(seed), top + 1
    theta = chance.normal(0, chance.choice([0.5, 5, 15]), COUNT) / wide
    moments = tilt.moments(np.zeros(COUNT, dtype=np.int64), np.full(COUNT, top))(theta)
    kappa = np.exp(chance.uniform(-6, 1.2, COUNT)) / wide**2
    shift = np.exp(chance.uniform(-6, 1.5, COUNT)) / wide
    low, high = np.zeros(COUNT, dtype=np.int64), np.full(COUNT, top)
    most = measure.most(theta, kappa, shift)
    assert np.isfinite(most).any()
    for part in (0.0, 1.0, -1.0, *chance.uniform(-1, 1, 4)):
        for less in (0.0, 1.0, chance.uniform()):
            stiff, moved = kappa * less, shift * part
            # the leverage h that goes with κ; s = δ / ((1 − h) σ²)
            left = 1.0 / (1.0 + stiff * moments.variances)
            rows = rows_of(tilt, low, high, theta + moved, moments.means, stiff)
            base = measure.baselines.areas(stiff, theta + moved * left)
            bad = measure.bad(measure.left(rows), base)
            assert (bad <= most + 1e-9).all()


def test_the_bound_of_a_bell_that_hardly_says_anything_is_close() -> None:
    _, top, measure = world(1, "members")
    wide, theta = top + 1, np.linspace(-8, 8, 50)
    bound = measure.most(theta / wide, np.full(50, 0.05) / wide**2, np.full(50, 0.5) / wide)
    assert bound.max() < 0.2


def test_outside_of_the_grid_nothing_is_said() -> None:
    _, top, measure = world(1, "members")
    wide, some = float(top + 1), np.array([0.1])
    assert np.isfinite(measure.most(some / wide, some / wide**2, some / wide)).all()
    for theta, kappa, shift in (
        (TILTS, 0.1, 0.1),
        (-TILTS, 0.1, 0.1),
        (0.1, STIFF, 0.1),
        (0.1, 0.1, SHIFTS),
        (np.nan, 0.1, 0.1),
        (0.1, np.inf, 0.1),
    ):
        far = measure.most(np.array([theta / wide]), np.array([kappa / wide**2]), np.array([shift / wide]))
        assert np.isinf(far).all()


def test_a_bound_hangs_on_nothing_that_was_bounded_before() -> None:
    chance = np.random.default_rng(4)
    theta, kappa, shift = chance.normal(0, 0.1, 40), chance.uniform(0, 0.003, 40), chance.uniform(0, 0.1, 40)
    together = world(1, "members")[2].most(theta, kappa, shift)
    one_by_one = world(1, "members")[2]
    for place in reversed(range(40)):
        alone = one_by_one.most(theta[[place]], kappa[[place]], shift[[place]])
        assert alone == pytest.approx(together[[place]], abs=1e-12)


@over(SEEDS, st.sampled_from(BASELINES))
def test_quick_bounds_are_above_all_pairs(seed: int, baseline: Baseline) -> None:
    one = dense(seed, 9, 3, int(np.random.default_rng(seed).integers(1, 4)))
    found, domain = likely(one.system), Domain(0, 3, 1)
    measure = Measure(domain, Baselines(found.tilt, found.top, domain, baseline))
    fit = found.fit
    values = np.stack([fit.observed.low, fit.observed.high], axis=1).astype(float)
    quick = insiders.most_risks(found, np.arange(fit.observed.people), insiders.bounds_at_once(fit), measure)
    exact = insiders.risks_with_insider(found, values, measure, -np.inf).risk[fit.observed.atoms]
    assert (exact <= quick + 1e-7).all()
    some = slice(0, fit.observed.people)
    base = measure.baselines.areas(stiffness(fit.leverage[some], fit.variances[some]), fit.theta[some])
    alone = measure.bad(measure.left(found.formula[fit.observed.atoms]), base)
    assert (alone[fit.variances[some] > 1e-6] <= quick[fit.variances[some] > 1e-6] + 1e-7).all()


@over(SEEDS)
def test_fewer_bits_are_counted_on_than_there_are(seed: int) -> None:
    for found in (likely(dense(seed, 8, 3, 3).system), likely(dense(seed, 9, 1, 4).system)):
        assert (found.least_bits <= found.bits + 1e-9).all()


@pytest.mark.parametrize("epsilon", [None, 1])
@pytest.mark.parametrize("seed", range(3))
def test_a_verdict_is_the_same_with_quick_bounds(seed, epsilon, monkeypatch):
    chance = np.random.default_rng(seed)
    true, system = chance.integers(0, 12, 400), AnsweredSystem(400, 0, 11, 1)
    for _ in range(4):
        members = np.flatnonzero(chance.random(400) < 0.4)
        system.add_sum(members, int(true[members].sum()))
    query = system.query("sum", np.flatnonzero(chance.random(400) < 0.3))
    told = (int(query.of(true)),)
    for risk in (0.02, 0.1, 0.3, 0.5):
        limit = Limit(risk=risk) if epsilon is None else Limit(risk=risk, epsilon=epsilon, min_entropy=1.5)
        standard = LikelyStandard(limit, Domain(0, 11, 1), "members", 1)
        judged = []
        for most in (10**9, 0):
            monkeypatch.setattr(insiders, "FOR_ALL", most)
            judged.append(LikelyKnowledge(system, standard).question([query]).judge(told, Allowance(10**9)))
        assert judged[0].safe == judged[1].safe
        assert judged[1].risk >= judged[0].risk - 1e-9 or judged[1].risk <= risk
