"""Who may read a clock: figures, findings and verdicts hang on what was counted, on no machine's speed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLOCKS = {
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "thread_time",
    "time",
    "time_ns",
}

READERS = {
    "auditor/attacks/people.py": "timing attacks are about seconds",
    "auditor/attacks/runner.py": "how long an attack took, for people",
    "auditor/cli/auditing.py": "the progress bar",
    "auditor/gate/turns.py": "how long decisions join others, so that other processes have their turn",
    "auditor/history/audit.py": "progress, checkpoints, how long it took; what an interrupt leaves time for",
    "auditor/history/gateview.py": "how many statements a gate is asked: those not reached are in no figure",
    "auditor/history/lessons.py": "the engine's last resort: what it does not end is named as not read",
    "auditor/planning/plan.py": "how long runs took, and when a plan has had its seconds",
    "auditor/planning/players.py": "the last resort of a run: what it did not reach is named",
    "auditor/planning/playing.py": "how long a statement took, for people",
    "cae_sql/compiled.py": "time that compilers took, or Python in their place, which counts for nothing",
    "cae_sql/inference/allowance.py": "the last resort of a decision: who asked is told so",
}


def reads_a_clock(tree: ast.Module) -> bool:
    """Whether a module calls a clock of `time`."""
    from_time = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for alias in node.names
        if alias.name in CLOCKS
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in from_time:
            return True
        if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
            owner = called.value
            if isinstance(owner, ast.Name) and owner.id == "time":
                return True
    return False


def test_nobody_else_reads_a_clock() -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in ("cae_sql", "udfs", "auditor")
        for path in (ROOT / package).rglob("*.py")
        if reads_a_clock(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(READERS)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("import time\nx = time.monotonic()", True),
        ("from time import perf_counter as now\nx = now()", True),
        ("from datetime import time\nx = time(1)", False),
        ("import time\ntime.sleep(1)", False),
    ],
)
def test_a_reader_of_clocks_is_seen(text: str, reads: bool) -> None:
    assert reads_a_clock(ast.parse(text)) is reads
