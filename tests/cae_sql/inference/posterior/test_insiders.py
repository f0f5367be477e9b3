"""Somebody who reckons with their own value: V, its bound, and exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.posterior import insiders, pairs
from cae_sql.inference.posterior.insiders import (
    Measure,
    both,
    bounds_of,
    covariances,
    given,
    narrowed,
)
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.members import BASELINES, Baseline, Baselines
from cae_sql.inference.posterior.pairs import Given, greatest_given
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from tests.cae_sql.inference.posterior.oracles import dense, likely, risk, star, variation


def projection(seed: int) -> tuple[Likely, np.ndarray]:
    """V of a small system, record by record."""
    small = dense(seed, 9, 3, int(np.random.default_rng(seed).integers(1, 6)))
    found = likely(small.system)
    fit, labels = found.fit, found.known.atoms.labels
    V = np.empty((9, 9))
    for record in range(9):
        V[record] = covariances(fit, labels[record])[labels]
        V[record, record] = 1 - fit.leverage[labels[record]]
    return found, V


@over(st.integers(0, 10**9))
def test_what_the_sums_leave_is_a_projection(seed: int) -> None:
    found, V = projection(seed)
    moving = (found.fit.variances > 1e-6).all()
    if not moving:
        return
    assert pytest.approx(V, abs=1e-6) == V.T
    assert pytest.approx(V, abs=1e-6) == V @ V
    assert np.trace(V) == pytest.approx(9 - len(found.fit.observed.sums), abs=1e-6)
    h = 1 - np.diag(V)
    for i in range(9):
        others = np.arange(9) != i
        assert (V[i, others] ** 2 <= h[i] * (1 - h[i]) + 1e-9).all()
        assert (V[i, others] ** 2).sum() == pytest.approx(h[i] * (1 - h[i]), abs=1e-6)


@over(st.integers(0, 10**9))
def test_the_bound_holds_for_every_pair_and_value(seed: int) -> None:
    found, _ = projection(seed)
    fit = found.fit
    values = np.tile([0.0, 3.0], (len(fit.observed.sizes), 1))
    outer = bounds_of(fit, values)
    exact = greatest_given(fit, np.arange(fit.observed.people), values)
    for column in range(fit.observed.people):
        others = np.arange(len(fit.observed.sizes)) != column
        if fit.observed.sizes[column] > 1:
            others[column] = True
        plain = given(fit, column, values)
        at = np.full(plain.shift[others].size, column)
        told = both(fit, at, Given(plain.leverage[others].ravel(), plain.shift[others].ravel()))
        assert (told.leverage <= outer.leverage[column] + 1e-7).all()
        assert (np.abs(told.shift) <= outer.shift[column] + 1e-6).all()
        # floats of 32 bits: never less, and hardly more but for skewness, whose sign is left out
        greatest = told.leverage.max(initial=0.0), np.abs(told.shift).max(initial=0.0)
        loose = 0.0, 2 * abs(fit.shift[column])
        ours = exact.leverage[column], exact.shift[column]
        for mine, theirs, more in zip(ours, greatest, loose, strict=True):
            assert theirs - 1e-6 <= mine <= theirs + more + 1e-4 * (1 + theirs)


def test_insiders_are_gone_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = likely(star(25, 8, 4, 1).system).fit
    values, columns = np.tile([0.0, 24.0], (len(fit.observed.sizes), 1)), np.arange(fit.observed.people)
    whole = greatest_given(fit, columns, values)
    monkeypatch.setattr(pairs, "HELD", 3 * len(fit.factor.root))
    parts = greatest_given(fit, columns, values)
    assert parts.leverage == pytest.approx(whole.leverage, abs=1e-6)
    assert parts.shift == pytest.approx(whole.shift, abs=1e-4)


def falling(seed: int) -> Likely:
    """Sixty people, few of whom have much, in up to eleven sums; every other one under a prior."""
    chance = np.random.default_rng(seed)
    odds = chance.dirichlet(np.full(25, 2.0)) if seed % 2 else None
    prior = None if odds is None else Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds)
    system = AnsweredSystem(60, 0, 24, 1, prior=prior)
    true = np.minimum(chance.geometric(0.2, 60), 24)
    for _ in range(int(chance.integers(1, 12))):
        members = np.flatnonzero(chance.random(60) < chance.uniform(0.1, 0.7))
        if len(members) > 1:
            system.add_sum(members, int(true[members].sum()))
    return likely(system)


@pytest.mark.slow
@over(
    st.integers(0, 10**9),
    st.floats(0.02, 0.98),
    st.sampled_from([None, 2.0]),
    st.sampled_from(BASELINES),
    st.sampled_from([1, 4]),
)
def test_what_is_said_is_a_bound_that_is_enough_or_what_some_pair_comes_to(
    seed: int, part: float, epsilon: float | None, baseline: Baseline, most: int
) -> None:
    """Against all pairs, each by itself."""
    found, domain = falling(seed), Domain(0, 24, 1)
    fit, seen = found.fit, found.fit.observed
    measure = Measure(domain, Baselines(found.tilt, 24, domain, baseline), epsilon)
    ends = np.tile([0.0, 24.0], (len(seen.sizes), 1))
    every = np.empty(seen.people)
    for column in range(seen.people):
        told, others = given(fit, column, ends), np.arange(len(seen.sizes)) < seen.people
        others[column] = seen.sizes[column] > 1
        told = Given(
            np.append(told.leverage[others].ravel(), fit.leverage[column]),
            np.append(told.shift[others].ravel(), 0.0),
        )
        pairs = np.arange(len(told.shift))
        every[column] = insiders._of_pairs(found, np.full(len(pairs), column), told, pairs, measure).max()
    enough = float(every.min() + part * (every.max() - every.min()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insiders, "MOST_TELLING", most)
        for limit in (enough, float(every.max()) + 0.01, -np.inf):
            worst = insiders.risks_with_insider(found, ends, measure, limit).risk[seen.atoms]
            beyond = worst > limit
            assert (worst[beyond] <= every[beyond] + 1e-9).all()
            assert (every[~beyond] <= np.minimum(worst[~beyond], limit) + 1e-9).all()


@pytest.mark.slow
@over(st.integers(0, 10**9))
def test_what_a_pair_tells_is_within_the_ranges_of_its_levels(seed: int) -> None:
    fit = falling(seed).fit
    seen, people = fit.observed, np.arange(fit.observed.people)
    ends = np.tile([0.0, 24.0], (len(seen.sizes), 1))
    outer = greatest_given(fit, people, ends)
    most, told = insiders._most(fit, people, outer), insiders._insiders(fit, ends)
    told_of = -(seen.matrix[:, people].T @ fit.factor.solve(seen.matrix[:, people].toarray()))
    marks = np.zeros((len(people), pairs.LEVELS, 2 * pairs.LEVELS), dtype=np.bool_)
    mine = insiders._factors(fit, people, most)
    every = told_of, mine, np.where(seen.sizes[people] == 1, people, -1), told.levels
    pairs.levels_of_pairs(*every, marks, people, np.empty((1, 0), dtype=np.int64))
    listed = 0
    for who, level, place in np.argwhere(marks)[:: max(1, int(marks.sum()) // 60)]:
        one = np.zeros_like(marks)
        one[who, level, place] = True
        found = np.empty((len(people) * 2, 3), dtype=np.int64)
        count = pairs.levels_of_pairs(*every, one, people, found)
        gains, shifts = insiders.ranges_of_levels(
            most[0][[who]], most[1][[who]], np.array([level]), np.array([place])
        )
        exact = given(fit, int(who), ends)
        for _, by, value in found[:count]:
            gain, shift = exact.leverage[by, value] - fit.leverage[who], exact.shift[by, value]
            assert gains[0, 0] - 1e-9 <= gain <= gains[1, 0] + 1e-9
            assert shifts[0, 0] - 1e-6 <= shift <= shifts[1, 0] + 1e-6
        listed += count
    assert listed or not marks.any()


@over(st.integers(0, 10**9), st.sampled_from(BASELINES))
def test_whom_the_bound_spares_no_pair_brings_beyond_what_is_enough(seed: int, baseline: Baseline) -> None:
    found, _ = projection(seed)
    domain, count = Domain(0, 3, 1), len(found.fit.observed.sizes)
    values = np.tile([0.0, 1.0, 3.0], (count, 1))
    measure = Measure(domain, Baselines(found.tilt, found.top, domain, baseline))
    everything = insiders.risks_with_insider(found, values, measure, -np.inf)
    spared = insiders.risks_with_insider(found, values, measure, 0.5)
    assert spared.pairs <= everything.pairs
    mine = found.known.protected
    over_limit = everything.risk[mine] > 0.5 + 1e-9
    assert (spared.risk[mine][over_limit] > 0.5).all()


def with_insider(system: AnsweredSystem, record: int, insider: int, unit: int) -> np.ndarray:
    """(2, w) by the formula, by pairs, without skewness and with it."""
    found = likely(system)
    labels, fit = found.known.atoms.labels, found.fit
    values = np.full((len(fit.observed.sizes), 1), float(unit))
    told = given(fit, labels[record], values)
    place, columns = labels[insider], labels[[record]]
    one = both(fit, columns, Given(told.leverage[place], told.shift[place]))
    return narrowed(found, np.tile(columns, 2), one)


@pytest.mark.parametrize(("values", "sums", "others"), [(2, 60, 12), (25, 60, 12), (25, 8, 4), (4, 20, 6)])
def test_in_a_star_an_insider_is_told_what_the_star_without_him_tells(
    values: int, sums: int, others: int
) -> None:
    off, below = [], []
    for seed in range(3):
        one = star(values, sums, others, seed)
        for unit in (0, values - 1):
            if seed == 0 and unit != one.values[1]:
                continue
            one.values[1] = unit  # what is told of the rest changes with it
            told = one.values[0] + one.values[1 : 1 + others].sum()
            system = AnsweredSystem(len(one.values), 0, values - 1, 1)
            query = system.query("sum", np.arange(1 + others))
            system.accept([query.answered(int(told)), *one.system.answers[1:]])
            exact = exact_with_insider(one.values, values, sums, others)
            found = with_insider(system, 0, 1, unit)
            off += [variation(exact, each) for each in found]
            below.append(risk(exact) - max(risk(each) for each in found))
            # the same by one more answer, worked out anew
            assert variation(system.posterior([0], insider=(1, unit))[1][0], exact) < 0.06
    assert max(off) < 0.08
    assert max(below) < 0.03


def exact_with_insider(true: np.ndarray, count: int, sums: int, others: int) -> np.ndarray:
    """Of record 0 where record 1 is known, by convolution."""
    logs = np.zeros(count)
    for place in range(sums):
        members = true[1 + place * others : 1 + (place + 1) * others]
        known = int(members[0]) if place == 0 else 0
        ways = np.ones(1)
        for _ in range(others - (place == 0)):
            ways = np.convolve(ways, np.ones(count) / count)
        rest = int(true[0] + members.sum()) - known - np.arange(count)
        inside = (rest >= 0) & (rest < len(ways))
        with np.errstate(divide="ignore"):
            logs += np.log(np.where(inside, ways[np.clip(rest, 0, len(ways) - 1)], 0.0))
    p = np.exp(logs - logs.max())
    return p / p.sum()


def test_one_of_two_in_a_sum_is_told_the_other() -> None:
    system = AnsweredSystem(40, 0, 24, 1)
    system.add_sum([0, 1], 30)
    system.add_sum(range(40), 500)
    values, p = system.posterior([1], insider=(0, 13))
    assert values[p[0].argmax()] == 17
    assert p[0].max() == pytest.approx(1)
    assert with_insider(system, 1, 0, 13)[:, 17] == pytest.approx(1)
    assert given(likely(system).fit, likely(system).known.atoms.labels[1], np.full((2, 1), 13.0)).leverage[
        likely(system).known.atoms.labels[0], 0
    ] == pytest.approx(1)


def test_in_dense_systems_the_formula_with_an_insider_is_off_by_so_much() -> None:
    off = []
    for seed in range(10):
        small = dense(seed, 8, 3, 3)
        for unit in (0, 3):
            tables = small.tables[small.tables[:, 1] == unit]
            if len(tables) < 20:
                continue
            exact = np.bincount(tables[:, 0], minlength=4) / len(tables)
            off += [variation(exact, each) for each in with_insider(small.system, 0, 1, unit)]
            assert small.system.posterior([0], insider=(1, unit))[1][0] == pytest.approx(exact, abs=1e-9)
    assert np.median(off) < 0.1


def test_large_groups_need_no_pairs() -> None:
    chance = np.random.default_rng(0)
    system, true = AnsweredSystem(2_000, 0, 24, 1), chance.integers(0, 25, 2_000)
    for key in (chance.integers(0, 10, 2_000), chance.integers(0, 8, 2_000)):
        for level in np.unique(key):
            members = np.flatnonzero(key == level)
            system.add_sum(members, int(true[members].sum()))
    found, domain = likely(system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    measure = Measure(domain, Baselines(found.tilt, found.top, domain, "members"))
    assert insiders.risks_with_insider(found, values, measure, 0.3).pairs == 0


def test_one_of_great_leverage_does_not_spoil_the_bound_for_everybody() -> None:
    one = star(25, 60, 12, 1, centre=12)
    found, domain = likely(one.system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    measure = Measure(domain, Baselines(found.tilt, found.top, domain, "members"))
    judged = insiders.risks_with_insider(found, values, measure, 0.4)
    assert judged.pairs < 10 * len(values)
    assert judged.risk[found.known.atoms.labels[0]] > 0.3


def test_what_an_insider_knows_better_of_everybody_alike_is_no_disclosure_about_one() -> None:
    system = AnsweredSystem(400, 0, 24, 1)
    system.add_sum(range(400), 4_800)
    system.add_sum(range(40), 60)
    found, domain = likely(system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    risk = {
        baseline: insiders.risks_with_insider(
            found, values, Measure(domain, Baselines(found.tilt, found.top, domain, baseline)), -np.inf
        ).risk.max()
        for baseline in BASELINES
    }
    assert risk["members"] < 0.25
    assert risk["prior"] > 0.7
