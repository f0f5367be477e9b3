"""Linear reconstruction (Dinur & Nissim 2003; Cohen & Nissim 2020).

Asked: sums over random halves of 24 persons, and over sets drawn by arithmetic on the key, then an integer
program over all that was answered. Their real attack is in `tests/auditor/gate/test_real_attack.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people, policy


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["random-subsets", "arithmetic-subsets"], 1))
def test_many_sums_reconstruct_nobody(name: str, tmp_path: Path) -> None:
    outcome = attacked(tmp_path, name, people(14, 13))
    locates_nobody(outcome)
    assert outcome.report.without is not None
    assert outcome.report.without.located == 14


@pytest.mark.slow
def test_many_sums_reconstruct_no_bits(tmp_path: Path) -> None:
    bits = [(*row[:-1], int(str(row[-1])) // 10 % 2) for row in people(24, 14)]
    outcome = attacked(tmp_path, "random-subsets", bits, policy(minimum=0, maximum=1, step=1))
    locates_nobody(outcome, least_run=2)
