"""Somebody who reckons with their own value: V, its bound, and exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.posterior import insiders
from cae_sql.inference.posterior.baselines import BASELINES, Baseline, Baselines
from cae_sql.inference.posterior.insiders import (
    Given,
    Measure,
    both,
    bounds_of,
    given,
    narrowed,
    risks_with_insider,
    shared,
)
from cae_sql.inference.posterior.likely import Likely
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
        told = shared(fit, labels[[record]])[:, 0]
        V[record] = (np.sqrt(fit.variances[labels[record]] * fit.variances) * told)[labels]
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
    gain, shift = bounds_of(fit, values)
    for column in range(fit.observed.people):
        others = np.arange(len(fit.observed.sizes)) != column
        if fit.observed.sizes[column] > 1:
            others[column] = True
        told = given(fit, column, np.flatnonzero(others)[:, None], values[others])
        assert (told.leverage <= fit.leverage[column] + gain[column] + 1e-7).all()
        assert (np.abs(told.shift) <= shift[column] + 1e-6).all()


def test_pairs_are_gone_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    found, domain = likely(star(25, 8, 4, 1).system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    measure = Measure(domain, Baselines(found.tilt, 24, domain, "members"))
    whole = risks_with_insider(found, values, measure, 0.3)
    assert whole[1] > 3 * found.fit.observed.people
    monkeypatch.setattr(insiders, "PAIRS", 3 * found.fit.observed.people)
    parts = risks_with_insider(found, values, measure, 0.3)
    assert parts[1] == whole[1]
    assert parts[0] == pytest.approx(whole[0], abs=1e-6)


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


def by_all_pairs(found: Likely, measure: Measure, ends: np.ndarray) -> np.ndarray:
    """(a,) how bad each column is, alone or with any insider and value, each pair measured."""
    fit, seen = found.fit, found.fit.observed
    every = np.empty(seen.people)
    for column in range(seen.people):
        others = np.arange(seen.people)
        others = others[(others != column) | (seen.sizes[column] > 1)]
        told = given(fit, column, others[:, None], ends[others])
        told = Given(
            np.append(told.leverage.ravel(), fit.leverage[column]), np.append(told.shift.ravel(), 0.0)
        )
        every[column] = measure.of_pairs(found, np.full(len(told.shift), column), told).max()
    return every


@pytest.mark.slow
@over(
    st.integers(0, 10**9),
    st.floats(0.02, 0.98),
    st.sampled_from([None, 2.0]),
    st.sampled_from(BASELINES),
)
def test_what_is_said_is_a_bound_that_is_enough_or_what_some_pair_comes_to(
    seed: int, part: float, epsilon: float | None, baseline: Baseline
) -> None:
    """Against all pairs, each by itself."""
    found, domain = falling(seed), Domain(0, 24, 1)
    seen = found.fit.observed
    measure = Measure(domain, Baselines(found.tilt, 24, domain, baseline), epsilon)
    ends = np.tile([0.0, 24.0], (len(seen.sizes), 1))
    every = by_all_pairs(found, measure, ends)
    enough = float(every.min() + part * (every.max() - every.min()))
    for limit in (enough, float(every.max()) + 0.01, -np.inf):
        worst = risks_with_insider(found, ends, measure, limit)[0][seen.atoms]
        beyond = worst > limit
        assert (worst[beyond] <= every[beyond] + 1e-9).all()
        assert (every[~beyond] <= np.minimum(worst[~beyond], limit) + 1e-9).all()


@over(st.integers(0, 10**9), st.sampled_from(BASELINES))
def test_whom_the_bound_spares_no_pair_brings_beyond_what_is_enough(seed: int, baseline: Baseline) -> None:
    found, _ = projection(seed)
    domain, count = Domain(0, 3, 1), len(found.fit.observed.sizes)
    values = np.tile([0.0, 1.0, 3.0], (count, 1))
    measure = Measure(domain, Baselines(found.tilt, found.top, domain, baseline))
    everything = risks_with_insider(found, values, measure, -np.inf)
    spared = risks_with_insider(found, values, measure, 0.5)
    assert spared[1] <= everything[1]
    mine = found.known.protected
    over_limit = everything[0][mine] > 0.5 + 1e-9
    assert (spared[0][mine][over_limit] > 0.5).all()


def test_pairs_that_finer_cells_settle_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a limit that the worst pair keeps by a thousandth: few pairs are near it."""
    found, domain = falling(4), Domain(0, 24, 1)
    measure = Measure(domain, Baselines(found.tilt, 24, domain, "members"))
    ends = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    enough = float(by_all_pairs(found, measure, ends).max()) + 0.001
    measured, of_pairs = list[int](), Measure.of_pairs

    def counted(self: Measure, likely: Likely, columns: np.ndarray, told: Given) -> np.ndarray:
        measured[-1] += len(columns)
        return of_pairs(self, likely, columns, told)

    monkeypatch.setattr(Measure, "of_pairs", counted)
    for cells in (1, insiders.FINER):
        monkeypatch.setattr(insiders, "FINER", cells)
        measured.append(0)
        assert risks_with_insider(found, ends, measure, enough)[0].max() <= enough
    assert 0 < measured[1] < measured[0] / 4


def with_insider(system: AnsweredSystem, record: int, insider: int, unit: int) -> np.ndarray:
    """(2, w) by the formula, by pairs, without skewness and with it."""
    found = likely(system)
    labels, fit = found.known.atoms.labels, found.fit
    columns = labels[[record]]
    one = both(fit, columns, given(fit, labels[record], labels[[insider]], np.array([float(unit)])))
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
    found = likely(system)
    labels = found.known.atoms.labels
    assert given(found.fit, labels[1], labels[:1], np.array([13.0])).leverage == pytest.approx(1)


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
    assert risks_with_insider(found, values, measure, 0.3)[1] == 0


def test_one_of_great_leverage_does_not_spoil_the_bound_for_everybody() -> None:
    one = star(25, 60, 12, 1, centre=12)
    found, domain = likely(one.system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    measured = []

    class Counting(Measure):
        def left(self, rows: np.ndarray) -> np.ndarray:
            measured.append(len(rows))
            return super().left(rows)

    baselines = Baselines(found.tilt, found.top, domain, "members")
    for cells in (1, insiders.FINER):
        Measure(domain, baselines).table(cells)  # what its cells measure is not counted
    judged = risks_with_insider(found, values, Counting(domain, baselines), 0.4)
    assert sum(measured) < 10 * len(values)
    assert judged[0][found.known.atoms.labels[0]] > 0.3


def test_what_an_insider_knows_better_of_everybody_alike_is_no_disclosure_about_one() -> None:
    system = AnsweredSystem(400, 0, 24, 1)
    system.add_sum(range(400), 4_800)
    system.add_sum(range(40), 60)
    found, domain = likely(system), Domain(0, 24, 1)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    risk = {
        baseline: risks_with_insider(
            found, values, Measure(domain, Baselines(found.tilt, found.top, domain, baseline)), -np.inf
        )[0].max()
        for baseline in BASELINES
    }
    assert risk["members"] < 0.25
    assert risk["prior"] > 0.7
