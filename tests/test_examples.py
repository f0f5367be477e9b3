"""Each example runs as its reader would run it, in an empty folder, and says what its text promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import some

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

SAYS = {
    "01_measure.py": [
        "Ann: 50 or 107   entropy 1.0 bit, within 5 thousand 1.0 bit, area 57",
        "Bob: 77 or 80   entropy 1.0 bit, within 5 thousand 0.0 bit, area 3",
        "initial entropy 1.319 bit, area 6.5144",
        "a limit of 0.5 is broken; it asks for 14 neighbouring values of 25",
    ],
    "02_infer.py": [
        "Ann   nothing outside  10 to 220, anything from  10 to 220",
        "Cleo  nothing outside  60 to 140, anything from  60 to 140",
        "Cleo: record 2 is at least 60, because of A1, the domain and the limits A2",
        "An answer that cannot be:\n  Dan and Eve earn 270 together?",
        "there are still 3 answers",
    ],
    "03_gate.py": [
        "dept Finance, persons 50, average 127.6",
        "average 129.13333333333333\n  (known)",
        "refused (risk): Together with earlier answers this could tell too much about somebody's salary.",
        "unsupported (row-level): salary is protected",
        "     5  ann unsupported row-level\nproblems found by verify: 0",
    ],
    "04_tracker.py": [
        "Without a gate: 3910 - 3740 = 170, Dana's salary.",
        "11410  SELECT sum(salary) FROM staff\n        no  SELECT sum(salary) FROM staff WHERE NOT",
        "  3910  SELECT sum(salary) FROM staff WHERE dept = 'Finance'\n        no  ",
        "All that is known of Dana: between 0 and 250.",
    ],
    "05_why_not_intervals.py": [
        "Feasibility intervals, of everybody: [(0.0, 1.0)]",
        "The patient of ward X in 200 tables that agree: {1}",
        "wards X, A, B: 8\n  wards X, A, C: 9\n  wards X, B, C: refused (risk)",
    ],
    "06_compare_releases.py": [
        "risk, if what is known is      nothing  sex, job   and age",
        "a sample of 50 %                  0.18      0.19      0.39",
        "sums over 8 people each           0.11      0.11      0.15",
        "10 % of noise on everything       0.62      0.63      0.73",
        "ages in bands, no job             0.64      0.65      0.67",
    ],
}
"""By example: pieces of what it prints."""


def test_every_example_is_tested() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAYS)


def test_every_example_is_short() -> None:
    lines = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in EXAMPLES.glob("*.py")}
    assert {name: count for name, count in lines.items() if count >= 80} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(SAYS, 3))
def test_an_example_runs_and_says_what_it_promises(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [piece for piece in SAYS[name] if piece not in done.stdout] == []
    assert list(tmp_path.iterdir()) == [], "it leaves something behind"


@pytest.mark.slow
def test_the_tracker_never_learns_what_it_is_after(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "04_tracker.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    gated = done.stdout.partition("Through the gate:")[2]
    assert "11410" in gated
    assert not {"170", "3740", "11240"} & set(gated.split())
