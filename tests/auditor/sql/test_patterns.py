"""Patterns of FORMAT and PRINTF that pass make texts of a bounded length."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.sql.patterns import LONGEST, WIDEST, is_bounded

PARTS = st.sampled_from(
    ["{}", "{:>9}", "{:.2f}", "{:{}}", "%d", "%*d", "%9d", "%1000d", "%1001d", "%.2f", "{:>1001}", "{{", "}}",
     "%%", "a", "12345", "{0}", "*"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=8).map("".join))
def test_what_passes_is_no_longer_than_its_places_allow(pattern: str) -> None:
    if not is_bounded(pattern):
        return
    with duckdb.connect(":memory:") as plain:
        for call in ("format", "printf"):
            for value in ("7", "7.5::DOUBLE", "'x'"):
                try:
                    found = plain.execute(f"SELECT {call}(?, {', '.join([value] * 9)})", [pattern]).fetchone()
                except duckdb.Error:
                    continue
                assert found is not None
                assert len(found[0]) <= (WIDEST + 400) * max(len(pattern), 1)


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [
        ("{:>10.2f} of {}", True),
        ("%5.1f%%", True),
        ("{{}} {}", True),
        ("{:>1000}", True),
        ("{:>1001}", False),
        ("{:{}}", False),
        ("%*d", False),
        ("%99999999999d", False),
        ("x" * (LONGEST + 1), False),
    ],
)
def test_widths_decide(pattern: str, passes: bool) -> None:
    assert is_bounded(pattern) is passes
