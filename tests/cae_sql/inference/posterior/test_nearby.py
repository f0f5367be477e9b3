"""Bounds by bells that were measured before: never above what rows leave, and close to it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given as over
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Grid
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.nearby import Bells, Nearby
from cae_sql.inference.posterior.windows import Tilt, Windows
from cae_sql.inference.tables.priors import Prior

SEEDS = st.integers(0, 10**9)


def some(seed: int) -> tuple[Tilt, Domain, Bells]:
    """Boxes, tilts and bells of any stiffness, over a domain with or without a prior."""
    chance = np.random.default_rng(seed)
    step = int(chance.choice([1, 5, 300]))
    domain = Domain(0, 24 * step, step)
    odds = chance.dirichlet(np.ones(25 * step)) if step == 1 and seed % 2 else None
    prior = None if odds is None else Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds)
    tilt, top = (
        Tilt(Windows.of(Grid(Fraction(0), Fraction(1), Fraction(25 * step - 1), True), domain), prior),
        25 * step - 1,
    )
    ends = np.sort(chance.integers(0, top + 1, (2, 40)), axis=0)
    ends[:, chance.random(40) < 0.5] = np.array([[0], [top]])
    kappa = np.where(chance.random(40) < 0.2, 0.0, np.exp(chance.uniform(-8, 12, 40)) / top**2)
    theta = chance.normal(0, 5, 40) / top
    return tilt, domain, Bells(ends[0], ends[1], theta, chance.uniform(0, top, 40), kappa)


@over(SEEDS)
def test_no_row_leaves_less_than_the_bound(seed: int) -> None:
    tilt, domain, bells = some(seed)
    rows = bells.rows(tilt)
    others = np.random.default_rng(seed).dirichlet(np.ones(rows.shape[1]), len(rows))
    for left in (
        lambda rows: areas_of_rows(rows, domain),
        lambda rows: entropies_of_rows(rows, domain, 2.0 * float(domain.step)),
    ):
        nearby = Nearby(tilt, left)
        for each in (rows, others, (rows + others) / 2):
            assert (nearby.least(each, bells) <= left(each) * (1 + 1e-9) + 1e-12).all()


@over(SEEDS)
def test_of_a_bell_that_leaves_much_the_bound_is_close(seed: int) -> None:
    tilt, domain, bells = some(seed)
    rows = bells.rows(tilt)
    area = areas_of_rows(rows, domain)
    found = Nearby(tilt, lambda rows: areas_of_rows(rows, domain)).least(rows, bells)
    wide = area > 0.1 * domain.area
    assert (found[wide] >= 0.9 * area[wide]).all()


@over(SEEDS)
def test_a_bound_hangs_on_nothing_that_was_measured_before(seed: int) -> None:
    tilt, domain, bells = some(seed)
    rows = bells.rows(tilt)

    def left(rows: np.ndarray) -> np.ndarray:
        return areas_of_rows(rows, domain)

    together, apart = Nearby(tilt, left), Nearby(tilt, left)
    first = together.least(rows, bells)
    backwards = Bells(
        bells.low[::-1], bells.high[::-1], bells.theta[::-1], bells.middle[::-1], bells.kappa[::-1]
    )
    for _ in range(2):
        assert (np.abs(apart.least(rows[::-1], backwards)[::-1] - first) <= 1e-12 * (1 + first)).all()
