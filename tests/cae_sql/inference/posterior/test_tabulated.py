"""Bounds by tables of bells: never above what bells leave, and close to it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example
from hypothesis import given as over
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Grid
from cae_sql.inference.posterior.baselines import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import Bells
from cae_sql.inference.posterior.insiders import FINER
from cae_sql.inference.posterior.tabulated import Table
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.posterior.weights import Floats
from cae_sql.inference.tables.priors import Prior

SEEDS = st.integers(0, 10**9)


def some(seed: int, count: int = 40) -> tuple[Tilt, Domain, Bells]:
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
    ends = np.sort(chance.integers(0, top + 1, (2, count)), axis=0)
    ends[:, chance.random(count) < 0.5] = np.array([[0], [top]])
    kappa = np.where(chance.random(count) < 0.2, 0.0, np.exp(chance.uniform(-8, 12, count)) / top**2)
    theta = chance.normal(0, 5, count) / top
    return tilt, domain, Bells(ends[0], ends[1], theta, chance.uniform(0, top, count), kappa)


def alone(table: Table, bells: Bells) -> Floats:
    """Bounds of bells, each by itself."""
    slope = bells.theta + bells.kappa * (bells.middle - table.centre)
    return table.least(bells.low, bells.high, np.stack([slope] * 2), np.stack([bells.kappa] * 2))


def measures(domain: Domain) -> list[tuple[Callable[[Floats], Floats], float]]:
    """The area and H(ε), and what ε goes up to."""
    step = float(domain.step)
    return [
        (lambda rows: areas_of_rows(rows, domain), step * domain.count),
        (lambda rows: entropies_of_rows(rows, domain, 2.0 * step), 1.0),
    ]


@over(SEEDS, st.sampled_from([1, FINER]))
def test_no_bell_leaves_less_than_the_table_says(seed: int, cells: int) -> None:
    tilt, domain, bells = some(seed)
    for left, most in measures(domain):
        bound = alone(Table(tilt, left, most, cells), bells)
        assert (bound <= left(bells.rows(tilt)) * (1 + 1e-9) + 1e-12).all()


@over(SEEDS, st.sampled_from([(1, 0.6, 0.8), (FINER, 0.9, 0.95)]))
def test_of_a_bell_that_leaves_much_the_table_says_nearly_all(
    seed: int, by_cells: tuple[int, float, float]
) -> None:
    tilt, domain, bells = some(seed)
    (left, most), _ = measures(domain)
    area, (cells, least, median) = left(bells.rows(tilt)), by_cells
    found = alone(Table(tilt, left, most, cells), bells)
    wide = area > 0.1 * domain.area
    assert (found[wide] >= least * area[wide]).all()
    assert np.median(found[wide] / area[wide]) > median


@over(SEEDS)
def test_no_bell_of_a_range_leaves_less_than_the_table_says_of_all(seed: int) -> None:
    tilt, domain, bells = some(seed)
    (left, most), _ = measures(domain)
    table, chance = Table(tilt, left, most), np.random.default_rng(seed)
    slope = bells.theta + bells.kappa * (bells.middle - table.centre)
    by = np.abs(slope) * chance.uniform(0, 0.1, 40) + chance.uniform(0, 0.3, 40) / table.centre
    kappas = np.stack([bells.kappa, bells.kappa * chance.uniform(1, 1.3, 40)])
    found = table.least(bells.low, bells.high, np.stack([slope - by, slope + by]), kappas)
    for _ in range(5):
        inside, kappa = chance.uniform(slope - by, slope + by), chance.uniform(*kappas)
        each = Bells(bells.low, bells.high, inside, np.full(40, table.centre), kappa)
        assert (found <= left(each.rows(tilt)) * (1 + 1e-9) + 1e-12).all()
    assert (alone(table, bells) > 0).any()


@over(SEEDS)
def test_a_bound_hangs_on_nothing_that_was_looked_up_before(seed: int) -> None:
    tilt, domain, bells = some(seed)
    (left, most), _ = measures(domain)
    together, apart = (Table(tilt, left, most) for _ in range(2))
    first = alone(together, bells)
    backwards = Bells(
        bells.low[::-1], bells.high[::-1], bells.theta[::-1], bells.middle[::-1], bells.kappa[::-1]
    )
    for _ in range(2):
        assert (alone(apart, backwards)[::-1] == first).all()


@over(SEEDS)
@example(23621701)
def test_a_range_of_cells_some_of_which_were_looked_up_before_has_the_bound_of_all(seed: int) -> None:
    """To the last bit: a range with a known cell after missing ones had the bound of the known one.

    The example: areas that are measured beside others differ in their last bits.
    """
    tilt, domain, bells = some(seed)
    (left, most), _ = measures(domain)
    slope = bells.theta + bells.kappa * (bells.middle - Table(tilt, left, most).centre)
    spread = 0.2 / np.sqrt(bells.kappa + 1.0 / 24**2)
    slopes = np.stack([slope, slope + spread])
    kappas = np.stack([bells.kappa, bells.kappa * 1.2])

    def bounds(table: Table) -> Floats:
        return table.least(bells.low, bells.high, slopes, kappas)

    fresh, used = Table(tilt, left, most), Table(tilt, left, most)
    for end, stiff in ((slopes[1], kappas[1]), (slope, bells.kappa)):
        used.least(bells.low, bells.high, np.stack([end] * 2), np.stack([stiff] * 2))
    assert (bounds(used) == bounds(fresh)).all()


def test_a_table_grows_and_begins_anew_without_a_bound_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    tilt, domain, bells = some(5, 4_000)
    (left, most), _ = measures(domain)
    table = Table(tilt, left, most)
    monkeypatch.setattr("cae_sql.inference.posterior.tabulated.MOST", 100)
    first = alone(table, bells)
    assert (alone(table, bells) == first).all()


def test_boxes_of_more_units_than_31_bits_hold_are_told_apart() -> None:
    """Of ten thousand million units two ends were one number, and a box was taken for another one."""
    tilt, domain, _ = some(0)
    table = Table(tilt, *measures(domain)[0])
    low, high = np.array([0, 4, 0, 4]), np.array([10**10, 1_410_065_408, 10**10, 10**10])
    numbers = table._numbered(low, high)
    assert numbers.tolist() == [numbers[0], numbers[1], numbers[0], numbers[3]]
    assert [list(table._boxes)[each] for each in numbers] == list(zip(low, high, strict=True))
