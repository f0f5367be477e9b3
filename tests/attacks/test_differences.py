"""Difference attacks (DataSHIELD; Aircloak's list; PAC's small filters; pg_diffix's low-effect conditions).

Asked: pairs of statements whose sets differ by one person, as means, sums, ranges, groups and NULLs, in plain
words and in disguise, in the same units and in others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people

NAMES = [
    "with-and-without",
    "small-sets",
    "growing-ranges",
    "first-derivative",
    "counting-null",
    "low-effect",
    "same-set-other-text",
    "scaled-sums",
]


@pytest.mark.parametrize("name", some(NAMES, 1))
def test_a_difference_locates_nobody(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, people(18, 2)), answered=None)


@pytest.mark.slow
def test_the_spread_of_two_of_which_one_is_known_is_not_told(tmp_path: Path) -> None:
    """PAC's variance classifier: without noise, the deviation of two values is half their distance."""
    locates_nobody(attacked(tmp_path, "extreme-contribution", people(24, 2)), answered=False)
