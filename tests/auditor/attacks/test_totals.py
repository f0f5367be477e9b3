"""How likely totals are: held against counting in whole numbers, where floats would have been 0."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from auditor.attacks import likelihood
from auditor.attacks.likelihood import Company, Star, people_like
from auditor.attacks.totals import log_likely, log_likely_near
from auditor.told import Range


def counted(count: int, top: int) -> list[int]:
    """How many ways there are to each total of so many whole numbers from 0 to `top`."""
    ways = [1]
    for _ in range(count):
        before = [0, *np.cumsum(np.array(ways, dtype=object)).tolist()]
        reach = range(len(ways) + top)
        ways = [before[min(total + 1, len(ways))] - before[max(total - top, 0)] for total in reach]
    return ways


def logarithm(whole: int) -> float:
    """Of a whole number that may be too great for a float."""
    shift = max(0, whole.bit_length() - 60)
    return log(whole >> shift) + shift * log(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "top", "values"), [(300, 26, 27), (5, 3, 9), (1, 1, 2), (0, 3, 4), (3, 0, 4), (2000, 1, 2)]
)
def test_every_possible_total_has_its_logarithm(count: int, top: int, values: int) -> None:
    expected = [logarithm(ways) - count * log(values) for ways in counted(count, top)]
    assert log_likely(count, top, values) == pytest.approx(expected, abs=1e-8)


def test_a_total_that_is_rarer_than_any_float_does_not_count_as_impossible() -> None:
    """As the star of groups met it: 1,714 people, most of whom earn little."""
    scene = SimpleNamespace(minimum=Fraction(0), maximum=Fraction(260), resolution=Fraction(10))
    company = Company(cast(Any, SimpleNamespace(scene=scene)))
    assert np.isfinite(company.of(1714, np.arange(6691, 8226, 59))).all()


def test_a_greatest_value_leaves_the_tables_that_have_it() -> None:
    scene = SimpleNamespace(minimum=Fraction(0), maximum=Fraction(3), resolution=Fraction(1))
    company = Company(cast(Any, SimpleNamespace(scene=scene)))
    found = np.exp(company.of(2, np.arange(7), most=2)) * 16
    assert found == pytest.approx([0, 0, 2, 2, 1, 0, 0])


@pytest.mark.slow
@pytest.mark.parametrize(("top", "mean"), [(26, 3.1), (26, 13.0), (1, 0.1), (4, 3.5)])
def test_of_thousands_totals_near_each_other_fare_as_when_all_are_counted(top: int, mean: float) -> None:
    totals = round(3_000 * mean) + 4 * np.arange(-top, top + 1)
    expected = log_likely(3_000, top, top + 1)[totals]
    found = log_likely_near(3_000, top, totals)
    assert found - found[top] == pytest.approx(expected - expected[top], abs=0.01)


@pytest.mark.parametrize("many", [False, True])
def test_a_star_beside_a_known_total_is_what_all_tables_say(
    many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person in two sums with two others each, and two people beside: by a list of all tables."""
    if not many:
        monkeypatch.setattr(likelihood, "MOST_BESIDE", 0)
    scene = SimpleNamespace(minimum=Fraction(0), maximum=Fraction(2), resolution=Fraction(1))
    target = cast(Any, SimpleNamespace(scene=scene, size=7))
    tables = np.array(list(product(range(3), repeat=7)))
    sums, whole = (tables[:, [0, 1, 2]].sum(axis=1), tables[:, [0, 3, 4]].sum(axis=1)), tables.sum(axis=1)
    for first, second, of_all in [(2, 3, 5), (1, 1, 3), (4, 5, 9)]:
        agree = tables[(sums[0] == first) & (sums[1] == second) & (whole == of_all)]
        star = Star(target, Company(target), Fraction(of_all))
        star.told(2, Fraction(first))
        star.told(2, Fraction(second))
        likely = np.exp(star.says() - star.says().max())
        expected = np.bincount(agree[:, 0], minlength=3) / len(agree)
        assert likely / likely.sum() == pytest.approx(expected, abs=1e-9 if many else 0.2)


@pytest.mark.parametrize(("least", "most"), [(None, 2), (3, None), (1, 4)])
def test_a_sum_that_was_told_as_a_range_counts_as_one(least: int | None, most: int | None) -> None:
    """One person in two sums with two others each, one of them a range: by a list of all tables."""
    scene = SimpleNamespace(minimum=Fraction(0), maximum=Fraction(2), resolution=Fraction(1))
    target = cast(Any, SimpleNamespace(scene=scene, size=7))
    tables = np.array(list(product(range(3), repeat=7)))
    first, second = tables[:, [0, 1, 2]].sum(axis=1), tables[:, [0, 3, 4]].sum(axis=1)
    inside = (second >= (least or 0)) & (second <= (6 if most is None else most))
    for whole in (None, 5, 7):
        agree = tables[(first == 2) & inside & ((tables.sum(axis=1) == whole) | (whole is None))]
        star = Star(target, Company(target), None if whole is None else Fraction(whole))
        star.told(2, Fraction(2))
        low, high = (None if each is None else Fraction(each) for each in (least, most))
        star.told_between(2, Range("sum(x)", {}, low, high))
        likely = np.exp(star.says() - star.says().max())
        expected = np.bincount(agree[:, 0], minlength=3) / len(agree)
        assert likely / likely.sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kappa", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("centre", [-3.0, 2.0, 4.5, 11.0])
def test_people_like_somebody_have_the_tilt_less_what_the_own_value_has_in_it(
    kappa: float, centre: float
) -> None:
    """Of a bell, by the formulas of `docs/measure.md`: both tilts looked for among many."""
    every, tilts = np.arange(9), np.linspace(-40, 40, 80_001)
    weights = np.exp(tilts[:, None] * every - np.maximum(tilts * 8, 0.0)[:, None])
    means = weights @ every / weights.sum(axis=1)
    theta = tilts[np.abs(tilts - kappa * (centre - means)).argmin()]
    t = tilts[np.abs(tilts + kappa * (means - 4.0) - theta).argmin()]
    expected = np.exp(t * every)
    found = people_like(-0.5 * kappa * (np.arange(-9, 18) - centre) ** 2)
    # slopes are taken from one value to the next
    assert found == pytest.approx(expected / expected.sum(), abs=2e-3)
