"""A public prior in heaps: nearly everybody has one of two values, and somebody has another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor import Gate
from tests.attacks.arena import build, policy
from tests.auditor.staff import rows_or_none

ODDS = np.array([49.0, *[2 / 9] * 9, 49.0]) / 100
SIZE, OTHERS = 2_000, 8


def posterior(told: list[int]) -> np.ndarray:
    """Of somebody in sums with eight others each, by convolution."""
    company = np.ones(1)
    for _ in range(OTHERS):
        company = np.convolve(company, ODDS)
    found = ODDS.copy()
    for total in told:
        found *= [company[total - v] if 0 <= total - v < len(company) else 0.0 for v in range(11)]
    return np.asarray(found / found.sum())


@pytest.mark.slow
def test_after_a_total_few_sums_do_not_name_somebody_between_the_heaps(tmp_path: Path) -> None:
    values = np.random.default_rng(0).choice(11, SIZE, p=ODDS)
    values[0] = 5
    rows = [(i, i % 40, "m", "a", int(value)) for i, value in enumerate(values)]
    prior = "[[0, 49], [1, 2], [10, 49]]"
    rules = policy("[decision]\ntimeout = 60\n", minimum=0, maximum=10, step=1, prior=prior)
    with Gate.open(build(tmp_path / "staff.duckdb", rows), rules) as gate:
        assert rows_or_none(gate, "SELECT sum(salary) FROM staff") == [(int(values.sum()),)]
        told = list[int]()
        for first in range(1, 1 + 5 * OTHERS, OTHERS):
            some = f"id = 0 OR id BETWEEN {first} AND {first + OTHERS - 1}"
            found = rows_or_none(gate, f"SELECT sum(salary) FROM staff WHERE {some}")
            if found is not None and found[0][0] is not None:
                told.append(int(str(found[0][0])))
    assert posterior(told).max() < 0.9, told
