"""Digits, remainders and parities (Schwartz, Denning & Denning 1979; Kleinberg et al. 2000; our own).

Asked: one sum with weights 1 and 25; several persons as digits of one sum; three plain sums that are odd
together only if the person's value is, over a few others and over hundreds; 26 plain sums that give the value
modulo 25. No interval of real numbers moves in any of these.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people, policy


@pytest.mark.parametrize("name", some(["two-weights", "digits"], 1))
def test_weights_that_make_values_digits_locate_nobody(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, people(20, 8)), answered=False)


def test_three_sums_do_not_tell_a_bit_by_their_parity(tmp_path: Path) -> None:
    bits = [(*row[:-1], int(str(row[-1])) // 10 % 2) for row in people(31, 8)]
    rules = policy(minimum=0, maximum=1, step=1)
    outcome = attacked(tmp_path, "parity", bits, rules)
    locates_nobody(outcome, least_run=2)
    assert outcome.report.gate is not None
    assert outcome.report.gate.tally.answered == 2


@pytest.mark.slow
def test_the_parity_of_sums_over_hundreds_locates_nobody(tmp_path: Path) -> None:
    bits = [(*row[:-1], int(str(row[-1])) // 10 % 2) for row in people(601, 8)]
    rules = policy(minimum=0, maximum=1, step=1)
    locates_nobody(attacked(tmp_path, "remainder-of-crowds", bits, rules), least_run=2)


@pytest.mark.slow
def test_as_many_sums_as_values_do_not_tell_a_remainder(tmp_path: Path) -> None:
    coarse = [(*row[:-1], 10 + int(str(row[-1])) % 7 * 10) for row in people(40, 9)]
    rules = policy(minimum=10, maximum=70)
    outcome = attacked(tmp_path, "remainder", coarse, rules)
    locates_nobody(outcome, least_run=4)
