"""Risk of posteriors against what is said of groups, or against the prior."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.baselines import Baselines, Risks, posterior_risks
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from tests.cae_sql.inference.posterior.oracles import likely, risk, star

DOMAIN = Domain(0, 24, 1)


def risks(system: AnsweredSystem, baseline: str = "members", epsilon: float | None = None) -> np.ndarray:
    found = likely(system)
    top = int(system.grid.top)
    judged = posterior_risks(found, Domain(0, top, 1), baseline, epsilon)  # type: ignore[arg-type]
    assert isinstance(judged, Risks)
    return judged.risk[found.known.atoms.labels[: system.size]]


def test_against_the_prior_it_is_the_risk_of_the_posterior() -> None:
    one = star(25, 8, 4, 3)
    found = risks(one.system, "prior")
    assert found[0] == pytest.approx(risk(one.posterior()), abs=1e-6)


def test_in_a_star_members_are_nearly_uniform_and_the_one_in_all_sums_is_not() -> None:
    found = risks(star(26, 200, 12, 1, centre=13).system)
    assert found[0] > 0.6
    assert found[1:].max() < 0.2


@pytest.mark.parametrize(("size", "most"), [(11, 0.48), (30, 0.22), (100, 0.08)])
def test_that_a_group_earns_little_is_less_and_less_of_a_disclosure_the_larger_it_is(
    size: int, most: float
) -> None:
    system = AnsweredSystem(1_000, 0, 24, 1)
    system.add_sum(range(1_000), 12_000)
    system.add_sum(range(size), 2 * size)
    assert risks(system)[:size].max() < most
    assert risks(system, "prior")[:size].min() > 0.5


def test_a_group_of_one_is_no_group() -> None:
    system = AnsweredSystem(100, 0, 24, 1)
    system.add_sum(range(100), 1_200)
    system.add_sum([0], 3)
    assert risks(system)[0] == 1


def test_who_is_in_no_answered_set_has_the_prior_and_no_risk() -> None:
    system = AnsweredSystem(30, 0, 24, 1)
    system.add_sum(range(10), 100)
    assert risks(system)[10:] == pytest.approx(0)
    assert risks(AnsweredSystem(5, 0, 24, 1)) == pytest.approx(0)


def test_a_poor_half_of_a_group_is_held_against_what_is_said_of_it() -> None:
    system = AnsweredSystem(60, 0, 24, 1)
    system.add_sum(range(60), 720)
    before = risks(system, "prior")
    system.add_sum(range(30), 60)
    both = risks(system)
    assert both[:30].max() < 0.2
    assert (risks(system, "prior")[:30] > before[:30]).all()


def test_entropy_at_a_range_is_told_where_it_is_asked_for() -> None:
    system = AnsweredSystem(5, 0, 24, 1)
    found = likely(system)
    judged = posterior_risks(found, DOMAIN, "prior", 24)
    assert judged.entropy_at_epsilon is not None
    assert judged.entropy_at_epsilon[0] == 0
    with pytest.raises(InvalidInput):
        posterior_risks(found, DOMAIN, "everybody")  # type: ignore[arg-type]


def test_an_end_of_a_low_group_is_no_disclosure_about_its_members() -> None:
    system = AnsweredSystem(50, 0, 24, 1)
    system.add_range(range(20), 30, 60)
    assert risks(system)[:20].max() < 0.2


@pytest.mark.parametrize("prior", [None, [(0, 6), (3, 1), (12, 1), (22, 5), (24, 2)]])
def test_no_tilt_between_two_has_a_greater_area_than_the_bound(prior: list[tuple[int, int]] | None) -> None:
    windows, odds = Windows.of(AnsweredSystem(1, 0, 24, 1).grid, DOMAIN), None
    if prior is not None:
        weights = np.full(25, 0.01)
        weights[[place for place, _ in prior]] = [weight for _, weight in prior]
        odds = Prior(lambda count, seed: np.zeros(count, dtype=np.int64), np.log(weights))
    held = Baselines(Tilt(windows, odds), 24, DOMAIN, "members")
    chance = np.random.default_rng(0)
    low, high = np.sort(chance.normal(0, 1, (2, 300)) * chance.choice([0.01, 0.3, 3.0], 300), axis=0)
    bound, widest = held.greatest(low, high), held.areas(np.zeros(1), np.zeros(1))[0]
    for part in np.linspace(0, 1, 30):
        assert (held.areas(np.zeros(300), low + part * (high - low)) <= bound + 1e-4 * widest).all()


@pytest.mark.parametrize("values", [2, 26])
@pytest.mark.parametrize("centre", ["any", "least", "greatest"])
def test_a_star_is_risky_before_long_whatever_the_value_in_it(values: int, centre: str) -> None:
    place = {"any": None, "least": 0, "greatest": values - 1}[centre]
    for seed in range(4):
        one = star(values, 60, 12, seed, place)
        assert risks(one.system)[0] > risk(one.posterior()) - 0.06


def test_who_is_in_many_poor_groups_is_poorer_than_each_and_little_is_said_of_him_alone() -> None:
    chance = np.random.default_rng(0)
    keys = chance.integers(0, 4, (6, 3_000))
    mean = 4.0 + (keys > 0).sum(axis=0) * 1.4
    true = np.minimum(chance.geometric(1 / mean), 25) - 1
    system = AnsweredSystem(3_000, 0, 24, 1)
    for key in keys:
        for level in range(4):
            system.add_sum(np.flatnonzero(key == level), int(true[key == level].sum()))
    found = likely(system)
    poorest = int(found.fit.theta.argmin())
    sums = found.fit.observed.rows[:, [poorest]].toarray()[:, 0] > 0
    groups = found.fit.observed.rows[sums] @ (found.fit.observed.sizes * found.fit.means)
    sizes = found.fit.observed.rows[sums] @ found.fit.observed.sizes
    assert found.fit.means[poorest] < 0.8 * (groups / sizes).min()
    assert risks(system).max() < 0.05
    assert risks(system, "prior").max() > 0.3


def test_where_a_parity_of_large_sets_leaves_a_few_people_risks_are_not_relied_upon() -> None:
    chance, X = np.random.default_rng(1), [0]
    A, B, C = (list(range(first, first + 100)) for first in (1, 101, 201))
    first, second = list(range(301, 501)), list(range(501, 701))
    true = chance.integers(0, 2, 701)
    true[301:], true[[306, 310, 331, 506, 510, 531]] = 0, 1
    sets = [first, second, X + A + B, X + A + C, X + B + C + [first[0], second[0]]]
    # so many that nothing is counted
    sets += [part for k in range(0, 70, 5) for part in [A[k : k + 5] + B[k : k + 5] + C[k : k + 5]]]
    system = AnsweredSystem(701, 0, 1, 1)
    for members in sets:
        system.add_sum(members, int(true[members].sum()))
    # X is what makes twice the others and the two even, but for the 3 in 200 that each of the two is 1
    found = likely(system)
    reliable = found.reliable[found.known.atoms.labels]
    assert not reliable[[0, first[0], second[0]]].any()
    assert reliable[1:301].all()
