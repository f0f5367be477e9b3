"""How likely totals are: held against counting in whole numbers, where floats would have been 0."""

from __future__ import annotations

from fractions import Fraction
from math import log
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from auditor.attacks.likelihood import Company
from auditor.attacks.totals import log_likely


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
