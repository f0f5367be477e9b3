"""Ends instead of answers: what located persons when a true answer that broke the limit was refused.

Asked: MAX and MIN of sets for which `check` says yes. A refusal that came from the true answer said that
everybody in the set is on the near side of a known bound; where values are unlike random tables that happened
to most sets, however large. What is told now is fixed before the true answer is looked at.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor.policy.policy import Policy

from .arena import LEAST_RUN, Row, attacked, locates_nobody, people, policy


def low_paid(count: int) -> list[Row]:
    """Everybody earns 10 to 100 of a possible 250, as nobody would think who thinks all tables alike."""
    return [(*row[:-1], 10 + int(str(row[-1])) % 100) for row in people(count, 20)]


def lognormal(count: int) -> list[Row]:
    """Salaries as they are: most are low, few are high."""
    drawn = np.random.default_rng(3).lognormal(3.8, 0.6, count)
    pay = np.clip(np.rint(drawn / 10) * 10, 10, 250).astype(int).tolist()
    return [(*row[:-1], value) for row, value in zip(people(count, 20), pay, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "rows", "insiders"),
    [
        ("ends-of-groups", low_paid(40), 1),
        ("ends-of-groups", low_paid(40), 0),
        ("lucky-checks", people(24, 21), 1),
        ("lucky-checks", lognormal(24), 0),
        ("chosen-company", low_paid(40), 1),
        ("chosen-company", lognormal(40), 0),
    ],
)
def test_sets_chosen_by_check_locate_nobody(
    attack: str, rows: list[Row], insiders: int, tmp_path: Path
) -> None:
    rules: Policy = policy(f"[intruder]\ninsiders = {insiders}\n[decision]\ntimeout = 30\n")
    outcome = attacked(tmp_path, attack, rows, rules)
    locates_nobody(outcome, LEAST_RUN, None)
    assert outcome.report.gate is not None
    assert outcome.report.gate.located == 0
    assert outcome.report.gate.surprises <= 1
