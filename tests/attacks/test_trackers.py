"""Trackers (Schlörer 1975 and 1980; Denning, Denning & Schwartz 1979).

Asked: sums of broad sets, and of the same sets with one person more or fewer. The difference is the person.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people


@pytest.mark.parametrize(
    "name", some(["individual-tracker", "general-tracker", "double-tracker", "union-tracker"], 1)
)
def test_a_tracker_locates_nobody(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, people(30, 1)))
