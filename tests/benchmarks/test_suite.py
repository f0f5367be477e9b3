"""The suite as one command: it runs what is asked for, keeps the results, and makes one table of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    ended = suite("--quick", "--only", "curve", "--out", str(folder))
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.mark.slow
def test_only_what_is_asked_for_runs_and_its_result_is_kept_as_json(results: Path) -> None:
    assert [file.name for file in results.iterdir()] == ["curve.json"]
    kept = json.loads((results / "curve.json").read_text(encoding="utf-8"))
    assert kept["status"] == 0
    assert kept["command"] == ["python", "-m", "benchmarks.curve", "--quick"]
    assert kept["seconds"] > 0
    assert 20 < kept["peak_megabytes"] < 20_000
    line = kept["lines"][0]
    assert line["rival"] == "Algorithm 1 in plain Python"
    assert line["theirs"] > 0 < line["ours"]


@pytest.mark.slow
def test_the_table_has_a_row_for_each_line_with_rival_ratio_and_peak_memory(results: Path) -> None:
    ended = suite("--table", "--out", str(results))
    assert ended.returncode == 0, ended.stderr
    head, _, *rows = ended.stdout.strip().splitlines()
    kept = json.loads((results / "curve.json").read_text(encoding="utf-8"))
    assert len(rows) == len(kept["lines"]) >= 3
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert len(cells) == len(head.strip("|").split("|"))
    ratio = kept["lines"][0]["theirs"] / kept["lines"][0]["ours"]
    assert cells[6] == (f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}")
    assert cells[7] == f"{kept['peak_megabytes']:,.0f} MB"


def test_a_name_that_is_none_is_an_error() -> None:
    ended = suite("--quick", "--only", "nothing-of-the-kind")
    assert ended.returncode != 0
    assert "nothing-of-the-kind" in ended.stderr


def test_a_run_that_fails_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    from benchmarks import __main__ as whole

    missing = whole.Run("missing", "no_such_benchmark")
    told = whole.carried_out(missing, tmp_path, quick=True)
    assert told["status"] != 0
    assert told["lines"] == []
    assert whole.table(tmp_path).count("\n") == 1, "head and rule alone"


def test_every_benchmark_is_in_the_suite() -> None:
    from benchmarks.__main__ import RUNS

    files = {file.stem for file in (ROOT / "benchmarks").glob("[a-z]*.py")}
    packages = {file.parent.name for file in (ROOT / "benchmarks").glob("[a-z]*/__main__.py")}
    assert {run.module for run in RUNS} == files | packages
