"""0/1 columns asked group by group: what can be told of disjoint groups is known in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor import Gate
from tests.attacks.arena import COLUMNS, Row, build, policy
from tests.auditor.staff import rows_or_none


def groups() -> list[Row]:
    """Twenty groups of 13, of whom 3 to 9 have 1: the group's number is the age."""
    ones = 3 + np.arange(20) % 7
    return [(13 * g + i, g, "m", "a", int(i < ones[g])) for g in range(20) for i in range(13)]


@pytest.mark.slow
def test_sums_of_disjoint_groups_with_room_to_both_sides_are_all_told(tmp_path: Path) -> None:
    """Both rooms of each group are 3 or more, so everybody may have 0 and 1 whatever an insider has."""
    assert COLUMNS.startswith("id INTEGER, age INTEGER")
    file = build(tmp_path / "staff.duckdb", groups())
    rules = policy("[decision]\ntimeout = 60\n", minimum=0, maximum=1, step=1)
    with Gate.open(file, rules) as gate:
        for group in range(4):
            told = rows_or_none(gate, f"SELECT sum(salary) FROM staff WHERE age = {group}")
            assert told == [(3 + group % 7,)]
