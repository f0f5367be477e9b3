"""Joins (DataSHIELD's duplicated rows; Aircloak's and pg_diffix's outer joins; "wide then narrow").

Asked: a sum in which the person's row stands twice; outer, semi and anti joins that leave the person in or
out; a join that lets rows through only where the person's value is large.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people


@pytest.mark.parametrize("name", some(["repeated-rows", "outer-joins", "wide-then-narrow"], 1))
def test_a_join_locates_nobody(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, people(24, 4)), answered=None)
