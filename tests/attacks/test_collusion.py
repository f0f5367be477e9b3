"""Collusion: the halves of a difference asked by different users (Kenthapadi et al. 2005)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .arena import attacked, locates_nobody, people, policy


@pytest.mark.slow
def test_users_together_learn_no_more_than_one(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "collusion", people(24, 17)))


def test_with_a_ledger_for_each_user_they_do(tmp_path: Path) -> None:
    """Documented: `scope = "user"` is for users who cannot talk to each other."""
    rules = policy('[ledger]\nscope = "user"')
    outcome = attacked(tmp_path, "collusion", people(24, 17), rules)
    assert outcome.report.gate is not None
    assert outcome.report.gate.located > 0
