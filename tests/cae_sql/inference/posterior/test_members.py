"""Risk of posteriors against what is said of groups, or against the prior."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.members import Risks, Sets, posterior_risks
from cae_sql.inference.system import AnsweredSystem
from tests.cae_sql.inference.posterior.oracles import likely, risk, star

DOMAIN = Domain(0, 24, 1)


def risks(system: AnsweredSystem, baseline: str = "members", epsilon: float | None = None) -> np.ndarray:
    found = likely(system)
    top = int(system.grid.top)
    judged = posterior_risks(
        found,
        Sets(found.known, system.answers),
        Domain(0, top, 1),
        baseline,
        epsilon,  # type: ignore[arg-type]
    )
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


def test_that_a_group_earns_little_is_no_disclosure_about_its_members() -> None:
    system = AnsweredSystem(100, 0, 24, 1)
    system.add_sum(range(100), 1_200)
    system.add_sum(range(11), 22)
    assert risks(system)[:11].max() < 0.1
    assert risks(system, "prior")[:11].min() > 0.5


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


def test_the_least_uncertain_of_the_sets_counts() -> None:
    system = AnsweredSystem(60, 0, 24, 1)
    system.add_sum(range(60), 720)
    before = risks(system, "prior")
    system.add_sum(range(30), 60)
    both = risks(system)
    assert both[:30].max() < 0.1
    assert (risks(system, "prior")[:30] > before[:30]).all()


def test_entropy_at_a_range_is_told_where_it_is_asked_for() -> None:
    system = AnsweredSystem(5, 0, 24, 1)
    found = likely(system)
    judged = posterior_risks(found, None, DOMAIN, "prior", 24)
    assert judged.entropy_at_epsilon is not None
    assert judged.entropy_at_epsilon[0] == 0
    for sets, baseline in ((None, "members"), (None, "everybody")):
        with pytest.raises(InvalidInput):
            posterior_risks(found, sets, DOMAIN, baseline)  # type: ignore[arg-type]


def test_spare_records_are_no_members() -> None:
    system = AnsweredSystem(50, 0, 24, 1)
    system.add_range(range(20), 30, 60)
    found = likely(system)
    shares = Sets(found.known, system.answers).shares
    assert shares.shape[0] == 1
    assert shares.sum() == pytest.approx(1)
    assert risks(system)[:20].max() < 0.1
