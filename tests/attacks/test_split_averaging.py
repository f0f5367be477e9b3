"""Split averaging (Aircloak).

Asked: everybody split in two, four ways, and everybody but one split in the same ways. Made against noise;
without noise one pair of pairs is a difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .arena import attacked, locates_nobody, people


@pytest.mark.slow
def test_splitting_a_set_many_ways_locates_nobody(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "split-averaging", people(24, 3)))
