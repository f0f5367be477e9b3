"""All pairs of a record and an insider, and what is known of them before the last question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.deciding.statistics import about
from auditor.told import Told
from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior import pairs
from cae_sql.inference.posterior.asked import Asked
from cae_sql.inference.posterior.keeping import LikelyKnowledge, LikelyStandard, ends_of
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.pairs import KeptPairs, greatest_given
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import likely


def asked(seed: int, away: int = 20) -> tuple[Likely, Likely]:
    """A system of sums by two keys, before and after one more sum, or an end of it."""
    chance = np.random.default_rng(seed)
    system, true = AnsweredSystem(300, 0, 24, 1), chance.integers(0, 25, 300)
    for levels in chance.integers(2, 8, 2).tolist():
        key = chance.integers(0, levels, 300)
        for level in np.unique(key):
            query = system.query("sum", np.flatnonzero(key == level))
            system.accept([query.answered(int(query.of(true)))])
    plain = system.query("sum", np.flatnonzero(chance.random(300) < chance.uniform(0.05, 0.6)))
    value = int(plain.of(true)) + int(chance.integers(-away, away + 1))
    query = system.at_most(plain, value) if chance.random() < 0.5 else None
    past = likely(system)
    return past, Asked(past, [query or plain]).given([value])


def kept_by(past: Likely) -> KeptPairs:
    return KeptPairs(past.fit, ends_of(past.fit))


@given(st.integers(0, 10**9), st.sampled_from([20, 200]), st.sampled_from([1, 8, 64]))
def test_what_is_known_of_pairs_before_a_question_bounds_what_they_say_after_it(
    seed: int, away: int, grown: int
) -> None:
    past, after = asked(seed, away)
    columns, ends = np.arange(after.fit.observed.people), ends_of(after.fit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "GROWN", grown)
        found = kept_by(past).bounds(after.fit, columns, ends)
    if found is None:
        return
    exact = greatest_given(after.fit, columns, ends)
    assert (found.leverage >= exact.leverage - 1e-6).all()
    assert (found.shift >= exact.shift - 1e-5 * (1 + exact.shift)).all()


@pytest.mark.parametrize("away", [10, 200])
def test_the_bound_is_near_also_where_a_factor_is_worked_out_anew(away: int) -> None:
    looked, anew = 0, 0
    for seed in range(60):
        past, after = asked(seed, away)
        columns, ends = np.arange(after.fit.observed.people), ends_of(after.fit)
        found = kept_by(past).bounds(after.fit, columns, ends)
        exact = greatest_given(after.fit, columns, ends)
        if found is None or max(past.fit.leverage.max(), after.fit.leverage.max()) > 0.5:
            continue
        assert after.fit.added is not None
        looked, anew = looked + 1, anew + int(after.fit.added.changed is not None)
        gain = exact.leverage - after.fit.leverage[columns]
        assert (found.leverage - after.fit.leverage[columns] <= 4 * gain + 0.01).all()
    assert looked > 10
    assert anew > 5 or away == 10


def test_sums_that_are_nearly_dependent_are_looked_at_anew() -> None:
    past, after = asked(3)
    assert after.fit.added is not None
    turned = replace(after.fit, factor=Factor(after.fit.factor.root.T))
    ends = ends_of(after.fit)
    assert kept_by(past).bounds(turned, np.arange(after.fit.observed.people), ends) is None


def test_pairs_are_looked_at_once_for_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    past, after = asked(3)
    assert after.fit.added is not None
    columns, ends, kept = np.arange(after.fit.observed.people), ends_of(after.fit), kept_by(past)
    first = kept.bounds(after.fit, columns, ends)
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)  # nothing more is looked at
    again = kept.bounds(after.fit, columns, ends)
    assert first is not None
    assert again is not None
    assert (first.leverage == again.leverage).all()
    assert kept_by(past).bounds(after.fit, columns, ends) is None


def test_nothing_is_said_of_what_another_past_was_asked() -> None:
    (past, _), (_, after) = asked(3), asked(4)
    ends = ends_of(after.fit)
    assert kept_by(past).bounds(after.fit, np.arange(after.fit.observed.people), ends) is None


def grid_of_counts(side: int) -> AnsweredSystem:
    """Counts told as ranges, of the rows and columns of a square of people."""
    system, people = AnsweredSystem(side**2, 0, 24, 1), np.arange(side**2)
    for key in (people // side, people % side):
        for level in range(side):
            query = Query(kind="count", members=np.flatnonzero(key == level), region=((13, 24),))
            told = Told(side // 2 - 1, side // 2 + 2)
            system.accept_range([], about(query, told, 24), 2, None)
    return system


def test_what_is_observed_with_noise_is_looked_at_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "GROWN", 1)
    system, standard = grid_of_counts(12), LikelyStandard(Limit(risk=0.5), Domain(0, 24, 1), insiders=1)
    new = about(Query(kind="count", members=np.arange(70), region=((13, 24),)), Told(30, 37), 24)
    for queries, value in (([new], 0), ([system.query("sum", np.arange(30))], 30 * 20)):
        past = LikelyKnowledge(system, standard)
        after = Asked(past.likely, queries).given([value])
        columns, ends = np.arange(after.fit.observed.people), ends_of(after.fit)
        found, exact = past.pairs.bounds(after.fit, columns, ends), greatest_given(after.fit, columns, ends)
        assert exact.leverage.max() > after.fit.leverage[columns].max()
        assert found is None or (found.leverage >= exact.leverage - 1e-6).all()
        assert past.question(queries).judge((value,), Allowance(1e9)).counted
