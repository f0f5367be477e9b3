"""Every benchmark still runs: its quick mode, to the end, without a look at the times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import some

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted(file.stem for file in (ROOT / "benchmarks").glob("[a-z]*.py"))

FEWER = {"robustness": ["--sections", "kill", "interrupts"]}
"""Parts of a benchmark that are enough: the others are tests of their own (`test_robustness.py`)."""


def test_the_benchmarks_are_found() -> None:
    assert {"curve", "decision", "honest", "query_restriction", "repeated"} <= set(BENCHMARKS)


@pytest.mark.parametrize("name", some(sorted(BENCHMARKS, key=lambda name: name != "curve"), 1))
def test_its_quick_mode_runs_to_the_end(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", *FEWER.get(name, [])]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
