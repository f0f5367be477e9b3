"""Many ranges about one person: what they tell together stays within the limit, counted without the gate."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from benchmarks import brake

QUIET = Console(quiet=True)


@pytest.mark.slow
def test_a_star_of_counts_leaves_its_person_within_the_limit() -> None:
    row = brake.attack("star", "posterior", 25, 0, 0, QUIET)
    assert row.told
    assert row.worst <= brake.LIMIT


@pytest.mark.slow
def test_weighted_sums_of_random_halves_leave_everybody_within_the_limit() -> None:
    row = brake.attack("weighted", "posterior", 60, 50, 1_000_000, QUIET)
    assert row.told
    assert row.worst <= brake.LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["interval", "posterior"])
def test_counts_and_medians_of_random_halves_leave_everybody_within_the_limit(candidates: str) -> None:
    row = brake.attack("counts", candidates, 60, 50, 1_000_000, QUIET)
    assert row.told
    if candidates == "posterior":
        assert row.worst <= brake.LIMIT


def test_ranges_that_a_star_is_told_without_end_would_give_it_away() -> None:
    table, questions = brake.star_questions(400, 3)
    bounds = list[brake.Bound]()
    for each in questions:
        true = float(np.asarray(each.weights)[table[each.members]].sum())
        bounds += brake.bounds_of(each, 4 * (true // 4), 4 * (true // 4) + 3, brake.VALUES - 1)
    assert brake.star_risk(bounds) > brake.LIMIT
    assert brake.star_risk(bounds[:2]) < brake.LIMIT / 2


@pytest.mark.slow
def test_a_walk_finds_what_counting_all_tables_finds() -> None:
    members, weights = np.array([0, 1, 2]), (0.0, 0.0, 1.0)
    values = (0.0, 1.0, 2.0)
    bounds = [brake.Bound(members, weights, 2, 3), brake.Bound(np.array([1, 3]), values, 0, 1)]
    bounds.append(brake.Bound(np.array([1, 3]), values, 0, 1, np.array([1, 2])))
    grid = np.indices((3,) * 4).reshape(4, -1).T
    kept = np.array([each for each in grid if all(brake.holds(bound, each) for bound in bounds)])
    exact = np.array([[(kept[:, person] == value).mean() for value in range(3)] for person in range(4)])
    found = brake.posteriors(bounds, kept[0].copy(), 2, 400_000, 1)
    assert np.abs(found - exact).max() < 0.02


def test_programs_guess_what_exact_sums_tell() -> None:
    table = np.array([0, 1, 1, 0, 1])
    bounds = [
        brake.Bound(np.array([person]), (0.0, 1.0), float(x), float(x)) for person, x in enumerate(table)
    ]
    assert all((guess == table).all() for guess in brake.decoded(bounds, 5, 1))
    assert brake.determined(bounds, table) == 5
    assert brake.determined(bounds[:2], table) == 2
