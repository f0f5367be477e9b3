"""Does everybody keep a limit by what is likely? Against posteriors worked out anew, and listed tables."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior import likely as counting
from cae_sql.inference.posterior.baselines import MARGIN, areas_of_rows, posterior_risks
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard, ModelJudgement, ends_of
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import Star, believed, coins, dense, likely, risk, star
from tests.quick import some


def ample() -> Allowance:
    return Allowance(10**9)


def knowledge(system: AnsweredSystem, limit: Limit, insiders: int = 0, baseline: str = "members"):
    domain = Domain(0, int(system.grid.top), 1)
    standard = LikelyStandard(limit, domain, baseline, insiders)  # type: ignore[arg-type]
    return LikelyKnowledge(system, standard)


def one_more(one: Star) -> tuple[np.ndarray, int]:
    """Another sum about record 0, over the first of each of the other sums' members."""
    members = np.append(0, 1 + np.arange(one.sums) * one.others)
    return members, int(one.values[members].sum())


@pytest.mark.parametrize("baseline", ["members", "prior"])
def test_a_question_is_judged_as_the_system_with_its_answer_is(baseline):
    one = star(26, 12, 8, seed=4)
    members, told = one_more(one)
    query = one.system.query("sum", members)
    asked = knowledge(one.system, Limit(risk=0.5), baseline=baseline).question([query])
    judged = asked.judge((told,), ample())
    one.system.accept([query.answered(told)])
    after = likely(one.system)
    anew = posterior_risks(after, Domain(0, 25, 1), baseline)  # type: ignore[arg-type]
    assert judged.risk == pytest.approx(anew.risk[after.known.protected].max(), abs=2e-3)
    as_it_stands = knowledge(one.system, Limit(risk=0.5), baseline=baseline).question([])
    assert as_it_stands.judge((), ample()).risk == pytest.approx(judged.risk, abs=2e-3)


def test_the_limit_decides_by_risk_and_by_entropy():
    one = star(26, 60, 12, seed=1, centre=13)

    def judged(limit: Limit):
        return knowledge(one.system, limit, baseline="prior").question([]).judge((), ample())

    found = judged(Limit(risk=0.99))
    assert found.risk == pytest.approx(risk(one.posterior()), abs=0.03)
    assert found.safe
    assert not judged(Limit(risk=found.risk - 0.01)).safe
    assert judged(Limit(epsilon=2, min_entropy=0.5)).safe
    assert not judged(Limit(epsilon=2, min_entropy=4.0)).safe


@pytest.mark.slow
def test_with_an_insider_the_risk_is_no_less():
    for seed in range(4):
        system = star(26, 5, 4, seed).system
        alone = knowledge(system, Limit(risk=0.5)).question([]).judge((), ample())
        told = knowledge(system, Limit(risk=0.5), insiders=1).question([]).judge((), ample())
        assert told.risk >= alone.risk - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_no_table_has_a_value_beyond_the_ends_that_single_sums_leave(seed):
    one = dense(seed, 7, 4, 3)
    found = likely(one.system)
    ends = ends_of(found.fit)[: found.fit.observed.people]
    labels = found.known.atoms.labels[: one.system.size]
    place = np.full(found.known.count, -1)
    place[found.fit.observed.atoms] = np.arange(found.fit.observed.people)
    for record in range(one.system.size):
        low, high = ends[place[labels[record]]]
        values = one.tables[:, record]
        assert low <= values.min()
        assert values.max() <= high


def test_one_sum_leaves_just_its_ends():
    system = AnsweredSystem(10, 0, 100, 1)
    system.add_sum(range(5), 30)
    system.add_sum(range(5, 10), 480)
    found = likely(system)
    ends = ends_of(found.fit)
    of = {tuple(each) for each in ends[: found.fit.observed.people].tolist()}
    assert of == {(0.0, 30.0), (80.0, 100.0)}


@pytest.mark.slow
def test_where_few_tables_are_left_and_they_are_not_counted_nothing_is_shown():
    chance = np.random.default_rng(2)
    true, system = chance.integers(0, 2, 40), AnsweredSystem(40, 0, 1, 1)
    for _ in range(17):
        members = np.flatnonzero(chance.random(40) < 0.5)
        system.add_sum(members, int(true[members].sum()))
    found = knowledge(system, Limit(risk=0.99), baseline="prior").question([]).judge((), ample())
    assert not found.counted
    assert not found.safe


@pytest.mark.parametrize("seed", range(5))
def test_what_is_counted_is_judged_by_all_tables(seed):
    one = coins(seed, 10, 3)
    found = knowledge(one.system, Limit(risk=0.5), baseline="prior").question([]).judge((), ample())
    worst = max(risk(one.posterior(record)) for record in range(10))
    assert found.risk == pytest.approx(worst, abs=1e-9)


def test_what_was_kept_of_fewer_answers_changes_no_figure():
    chance = np.random.default_rng(8)
    true = chance.integers(0, 10, 300)
    system, before = AnsweredSystem(300, 0, 9, 1), None
    standard = LikelyStandard(Limit(risk=0.5), Domain(0, 9, 1), "members", 1)
    for turn in range(8):
        members = np.flatnonzero(chance.random(300) < 0.4)
        query = system.query("sum" if turn % 4 < 3 else "max", members)
        told = int(query.of(true))
        if turn == 5:
            query = system.at_most(query, told + 7)  # with spare records from here on
            told += 7
        fresh = AnsweredSystem(300, 0, 9, 1)
        fresh.accept(system.answers)
        kept, anew = LikelyKnowledge(system, standard, before), LikelyKnowledge(fresh, standard)
        judged = [each.question([query]).judge((told,), ample()) for each in (kept, anew)]
        # bounds: next to a border between two cells a figure may be of either
        assert judged[0].risk == pytest.approx(judged[1].risk, abs=5e-3)
        assert (kept.likely.known.atoms.labels == anew.likely.known.atoms.labels).all()
        assert kept.likely.rows == pytest.approx(anew.likely.rows, abs=1e-6)
        before = kept.counts
        system.accept([query.answered(told)])


def stopped(odds: np.ndarray, own: int, others: int, seed: int, limit: float) -> tuple[int, float]:
    """Record 0 in one sum after the other, each with others of its own, as long as it keeps a limit.

    Returns how many sums there were, and the exact risk against the prior then, by convolution.
    """
    values = np.arange(len(odds))
    true = np.random.default_rng(seed).choice(values, 2_001, p=odds)
    true[0] = own
    system = AnsweredSystem(len(true), 0, len(odds) - 1, 1, prior=believed(odds))
    ways = np.ones(1)
    for _ in range(others):
        ways = np.convolve(ways, odds)
    exact, answered = odds, 0
    for first in range(1, len(true) - others, others):
        members = np.append(0, first + np.arange(others))
        query, told = system.query("sum", members), int(true[members].sum())
        judged = knowledge(system, Limit(risk=limit), baseline="prior").question([query])
        if not judged.judge((told,), ample()).safe:
            break
        system.accept([query.answered(told)])
        answered += 1
        left = told - values
        inside = (left >= 0) & (left < len(ways))
        exact = exact * np.where(inside, ways[np.clip(left, 0, len(ways) - 1)], 0.0)
        exact = exact / exact.sum()
    return answered, 1 - (1 - risk(exact)) / (1 - risk(odds))


@pytest.mark.slow
@pytest.mark.parametrize(("others", "own"), some([(12, 24), (40, 0), (12, 0), (12, 3), (40, 3), (40, 24)], 2))
def test_under_a_prior_that_falls_off_a_star_is_stopped_before_its_exact_risk_is_past_the_limit(
    others, own, monkeypatch
):
    monkeypatch.setattr(counting, "MOST_UNITS", -1)  # nothing is counted
    odds, most = np.exp(-np.arange(25) / 4.0), 0
    for seed in range(3):
        answered, exact = stopped(odds / odds.sum(), own, others, seed, 0.5)
        assert exact <= 0.5
        most = max(most, answered)
    # sums of few people are no bells: where nothing is counted the star is stopped at them, whatever its risk
    assert most >= (10 if others > 12 or own == 24 else 7)


def test_under_a_prior_risk_is_with_skewness_and_without_it_up_to_a_margin(monkeypatch):
    monkeypatch.setattr(counting, "MOST_UNITS", -1)  # nothing is counted
    odds = np.array([0.97, 0.03])
    true = np.random.default_rng(0).choice(2, 401, p=odds)
    true[0] = 1
    system = AnsweredSystem(401, 0, 1, 1, prior=believed(odds))
    for first in range(1, 401, 40):
        members = np.append(0, first + np.arange(40))
        system.add_sum(members, int(true[members].sum()))
    found, domain = likely(system), Domain(0, 1, 1)
    worst = posterior_risks(found, domain, "prior").risk
    before = areas_of_rows(odds[None], domain)
    left = [1 - areas_of_rows(each.rows, domain) / before for each in (found, found.straight)]
    with_skew, without = left
    assert (with_skew > without + 1e-3).any()
    assert (without > with_skew + 1e-3).any()
    # the one without is a guide up to a margin, under a prior
    assert worst == pytest.approx(np.maximum(with_skew, np.minimum(without, with_skew + MARGIN)), abs=1e-6)


def test_without_a_prior_risk_is_the_greater_of_both():
    chance = np.random.default_rng(3)
    true = np.minimum(chance.exponential(3.0, 400), 24).astype(int)
    system = AnsweredSystem(400, 0, 24, 1)
    for _ in range(20):
        members = np.flatnonzero(chance.random(400) < 0.05)
        system.add_sum(members, int(true[members].sum()))
    found, domain = likely(system), Domain(0, 24, 1)
    assert not found.exact[1].all()
    left = [1 - areas_of_rows(each.rows, domain) / domain.area for each in found.both]
    assert (left[1] > left[0] + 1e-3).any()
    assert posterior_risks(found, domain, "prior").risk == pytest.approx(np.maximum(*left), abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_who_is_beyond_a_limit_alone_is_beyond_it_with_an_insider_too(seed: int) -> None:
    """Whoever may attain an extreme, or is counted, is no bell: nor is the bound that of one."""
    chance = np.random.default_rng(seed)
    size, top = int(chance.integers(12, 60)), int(chance.choice([4, 24]))
    true, system = chance.integers(0, top + 1, size), AnsweredSystem(size, 0, top, 1)
    for _ in range(int(chance.integers(2, 7))):
        members = np.flatnonzero(chance.random(size) < chance.uniform(0.1, 0.6))
        if len(members) > 2:
            kind = "max" if chance.random() < 0.5 else "sum"
            query = system.query(kind, members)
            system.accept([query.answered(int(query.of(true)))])

    def judged(limit: float, insiders: int) -> ModelJudgement:
        standard = LikelyStandard(Limit(risk=limit), Domain(0, top, 1), "members", insiders)
        return LikelyKnowledge(system, standard).question([]).judge((), ample())

    alone = judged(1.0, 0)
    if alone.risk is None or not 0.03 < alone.risk < 1:
        pytest.skip("nothing is told of anybody")
    assert not judged(alone.risk - 0.01, 0).safe
    assert not judged(alone.risk - 0.01, 1).safe
