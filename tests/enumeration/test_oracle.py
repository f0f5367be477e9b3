"""The oracle itself, against what can be worked out by hand and against figures in the papers."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import cae_area, cae_entropy
from cae_sql.domain import Domain
from cae_sql.risk import Limit

from .oracle import (
    Bound,
    Breach,
    Likely,
    Possible,
    Question,
    area,
    entropy_at,
    longest_run,
)

PAIR = Question("sum", (1, 1))


def told(size: int, top: int, *answers: tuple[Question, int]) -> Possible:
    possible = Possible.everything(size, top)
    for question, value in answers:
        possible = possible.told(question, value)
    return possible


def test_two_values_far_apart_have_one_bit_over_their_distance() -> None:
    assert area([50, 107]) == 57.0
    assert area([77, 80]) == 3.0
    assert area([4]) == 0.0


def test_entropy_falls_where_a_window_reaches_the_next_value() -> None:
    """1, 3, 8, 9 equally likely: all apart, 8 and 9 as one, and so on, each by hand."""
    values = [1, 3, 8, 9]
    assert entropy_at(values, 0) == pytest.approx(2.0)
    assert entropy_at(values, 1) == pytest.approx(1.5)
    assert entropy_at(values, 2) == pytest.approx(1.0)
    assert entropy_at(values, 4) == pytest.approx(1.0)
    assert entropy_at(values, 6) == pytest.approx(0.811278, abs=1e-6)
    assert entropy_at(values, 8) == 0.0


def test_all_tables_are_there_once_before_any_answer() -> None:
    tables = Possible.everything(3, 2).tables
    assert tables.shape == (27, 3)
    assert len(np.unique(tables, axis=0)) == 27


def test_a_sum_of_two_and_the_greater_of_them_leave_two_values_each() -> None:
    possible = told(2, 5, (PAIR, 4), (Question("max", (1, 1)), 3))
    assert [possible.values(record) for record in (0, 1)] == [(1, 3), (1, 3)]


def test_parity_gives_away_a_bit_that_every_interval_hides() -> None:
    """X, A, A, B, B, C, C are 0 or 1; three sums add up to X + 2 (A + B + C) = 9."""
    sets = ((1, 1, 1, 1, 1, 0, 0), (1, 1, 1, 0, 0, 1, 1), (1, 0, 0, 1, 1, 1, 1))
    possible = told(7, 1, *((Question("sum", signs), 3) for signs in sets))
    assert possible.values(0) == (1,)
    assert [possible.values(record) for record in range(1, 7)] == [(0, 1)] * 6


def test_coefficients_of_minus_one_count_against_the_others() -> None:
    assert told(2, 3, (Question("sum", (1, -1)), 3)).tables.tolist() == [[3, 0]]


def test_what_an_insider_knows_of_a_sum_of_two_is_the_other() -> None:
    possible = told(2, 4, (PAIR, 4))
    assert possible.values(0) == (0, 1, 2, 3, 4)
    assert possible.values_given(0, 1, 3) == (1,)
    bound = Bound(4, risk=0.5)
    assert bound.breach(possible, insiders=0) is None
    assert bound.breach(possible, insiders=1) == Breach(1, (4,), 0, 0)


def test_an_insider_among_three_leaves_the_other_two_room_only_where_the_value_does() -> None:
    """The three have 4 together: who has 4 knows that the others have 0."""
    possible = told(3, 4, (Question("sum", (1, 1, 1)), 4))
    assert possible.values_given(0, 1, 1) == (0, 1, 2, 3)
    breach = Bound(4, risk=0.5).breach(possible, insiders=1)
    assert breach is not None
    assert (breach.insider, breach.known) == (0, 2)


def test_a_run_counts_neighbours_only() -> None:
    assert longest_run([0, 2, 3, 4, 6]) == 3
    assert longest_run([]) == 0


def test_a_set_with_gaps_may_do_where_no_run_is_long_enough() -> None:
    bound = Bound(5, risk=0.6)
    assert longest_run((0, 5)) <= bound.need
    assert bound.keeps((0, 5))
    assert not bound.keeps((0, 1))


def test_a_coarser_step_joins_values_into_windows() -> None:
    bound = Bound(5, ratio=2, risk=0.5)
    assert bound.need == 2 * Bound(2, risk=0.5).need
    assert not bound.accepts((2, 3))


def test_answers_split_the_tables_and_lose_none() -> None:
    possible = told(3, 2, (Question("sum", (1, 1, 1)), 3))
    parts = dict(possible.split([Question("max", (1, 1, 0)), Question("min", (0, 1, 1))]))
    assert sum(len(part.tables) for part in parts.values()) == len(possible.tables) == 7
    assert parts[2, 0].tables.tolist() == [[1, 2, 0], [2, 0, 1], [2, 1, 0]]


def test_the_measure_is_that_of_the_package() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = np.unique(rng.integers(0, 12, int(rng.integers(1, 8)))).tolist()
        epsilon = int(rng.integers(0, 12))
        assert area(values) == pytest.approx(cae_area(values), abs=1e-9)
        assert entropy_at(values, epsilon) == pytest.approx(cae_entropy(values, epsilon=epsilon), abs=1e-9)


@pytest.mark.parametrize("top", range(1, 6))
def test_the_least_run_is_that_of_the_package(top: int) -> None:
    domain = Domain(0, top, 1)
    for risk in (0.0, 0.2, 0.5, 0.7, 0.9, 0.99):
        assert Bound(top, risk=risk).need + 1 == Limit(risk=risk).least_run(domain)
    for epsilon in range(top):
        assert Bound(top, epsilon=epsilon).need + 1 == Limit(epsilon=epsilon).least_run(domain)


def test_what_all_tables_make_likely_is_the_measure_of_the_package() -> None:
    weights, grid = np.array([4, 3, 2, 1]), np.arange(4)
    found = 1 - cae_area(grid, weights / 10) / cae_area(grid, np.full(4, 0.25))
    possible = told(3, 3, (Question("sum", (1, 1, 1)), 3))
    assert Bound(3, risk=found + 1e-6).likely(possible, 0) is None
    assert Bound(3, risk=found - 1e-6).likely(possible, 0) == Likely(0, (4, 3, 2, 1))


def test_to_an_insider_of_three_the_other_two_are_likely_to_share_what_is_left() -> None:
    possible = told(3, 3, (Question("sum", (1, 1, 1)), 3))
    assert Bound(3, risk=0.9).likely(possible, 0) is None
    assert Bound(3, risk=0.9).likely(possible, 1) == Likely(1, (1, 0, 0, 0), 0, 3)
