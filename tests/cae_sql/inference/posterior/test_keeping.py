"""Does everybody keep a limit by what is likely? Against posteriors worked out anew, and listed tables."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.keeping import LikelyKnowledge, LikelyStandard, ends_of
from cae_sql.inference.posterior.members import posterior_risks
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import Star, coins, dense, likely, risk, star


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
        kept, anew = LikelyKnowledge(system, standard, before), LikelyKnowledge(system, standard)
        judged = [each.question([query]).judge((told,), ample()) for each in (kept, anew)]
        assert judged[0].risk == pytest.approx(judged[1].risk, abs=1e-6)
        assert (kept.likely.known.atoms.labels == anew.likely.known.atoms.labels).all()
        assert kept.likely.rows == pytest.approx(anew.likely.rows, abs=1e-6)
        before = kept
        system.accept([query.answered(told)])
