"""Too many, slow, lost and impatient clients, and kill -9: `load` in small. No figure is held to a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditor.proxy.load import Size, load


@pytest.mark.slow
def test_a_server_under_load_keeps_its_promises(tmp_path: Path) -> None:
    report = load(
        Size(rows=20_000, half_open=40, connected=40, slow=6, lost=10, kills=1, kept=5_000), tmp_path
    )
    assert report.problems == []
    said = dict(report.lines)
    assert said["40 connected: came in"] == "40"
    assert said["of them not on record, with another value now"] == "0, 0"
    assert said["cae-sql verify"].startswith("exit 0")
