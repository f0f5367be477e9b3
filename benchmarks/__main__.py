"""The suite: every benchmark, each run a process of its own, its results kept as JSON; and one table of them.

    python -m benchmarks                     all of it: hours
    python -m benchmarks --quick             very little of each, to see that they run
    python -m benchmarks --only scale-100k   runs whose name begins so; may be given several times
    python -m benchmarks --list              the runs and their commands
    python -m benchmarks --table             one Markdown table of what the folder of results holds

`--out FOLDER` (default `benchmarks/results`) gets a file for each run: command, machine, versions, seconds,
peak memory of the process and its children, lines of the table, and the figures behind them. A run that
fails is reported, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks._data import shown
from benchmarks._results import Line, markdown

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("duckdb", "numpy", "scipy", "highspy", "numba", "sqlglot")
VALUES = ("uniform", "lognormal")


@dataclass(frozen=True)
class Run:
    """A benchmark with its options."""

    name: str
    module: str
    options: tuple[str, ...] = ()

    def command(self, file: Path, quick: bool) -> list[str]:
        """What is executed; a quick run has no options of its own, except what its data are like."""
        kept: Sequence[str] = self.options
        if quick:
            kept = _pair(self.options, "--values")
        more = ["--quick"] if quick else []
        return [sys.executable, "-m", f"benchmarks.{self.module}", *kept, "--json", str(file), *more]


def _pair(options: Sequence[str], name: str) -> list[str]:
    """An option and its value, if it is there."""
    return list(options[options.index(name) :][:2]) if name in options else []


def _each(name: str, module: str, *options: str) -> Iterator[Run]:
    """On both kinds of values."""
    for values in VALUES:
        yield Run(f"{name}-{values}", module, (*options, "--values", values))


HONEST = ("acs", "adult", "nls", "meps")
"""The days of `benchmarks.honest`; the last two need a package each, and say which."""
LISTED: tuple[Run, ...] = (
    Run("curve", "curve"),
    Run("query-restriction-acs", "query_restriction", ("--sample", "20")),
    *_each("query-restriction", "query_restriction", "--sample", "20"),
    *_each("decision", "decision"),
    Run("certain", "certain"),
    Run("widths", "widths"),
    Run("after_ranges", "after_ranges"),
    Run("brake-star", "brake", ("--attack", "star", "--ranges", "300")),
    *(Run(f"brake-{name}", "brake", ("--attack", name)) for name in ("counts", "random", "real")),
    *_each("repeated", "repeated"),
    *_each("dashboards", "dashboards"),
    *_each("scale-100k", "scale", "--records", "100000", "--answers", "100"),
    *_each("scale-1m", "scale", "--records", "1000000", "--answers", "300"),
    *_each("scale-hardest", "scale", "--records", "100000", "--public", "uniform"),
    Run("persons-5k", "persons", ("--persons", "5000")),
    Run("persons-100k", "persons", ("--persons", "100000")),
    *_each("growth", "growth"),
    *(Run(f"honest-{study}", "honest", ("--studies", study, "--risks", "0.5")) for study in HONEST),
    Run("usefulness", "usefulness"),
    Run("ablation", "ablation"),
    Run("ablation-pairs", "ablation", ("--pairs",)),
    Run("constants", "constants"),
    *(Run(f"coverage-{study}", "coverage", ("--studies", study)) for study in ("acs", "adult")),
    Run("reconstruction", "reconstruction"),
    Run("start", "start"),
    Run("newcomer-refuse", "newcomer"),
    Run("newcomer-suppress", "newcomer", ("--partial", "suppress")),
    Run("corpora", "corpora"),
    Run("analysts", "analysts"),
    Run("robustness", "robustness"),
    Run("releases", "releases"),
    Run("evaluate", "evaluate"),
    Run("udfs", "udfs"),
    Run("randomised", "randomised"),
    Run("posterior", "posterior"),
    Run("walks", "walks"),
)
RUNS = (
    *LISTED,
    *(
        Run(name, name)  # a benchmark that nobody has listed runs as it is
        for name in sorted(file.stem for file in (ROOT / "benchmarks").glob("[a-z]*.py"))
        if name not in {run.module for run in LISTED}
    ),
)
"""What the suite runs, in this order."""


def chosen(names: Sequence[str], quick: bool) -> list[Run]:
    """The runs whose names begin with one of these; all without any.

    Quick: each benchmark once for each kind of values, since its other options count for nothing.

    Raises:
        SystemExit: a name is none.
    """
    for name in names:
        if not any(run.name.startswith(name) for run in RUNS):
            sys.exit(f"no run begins with {name!r}; python -m benchmarks --list shows them")
    found = [run for run in RUNS if not names or any(run.name.startswith(name) for name in names)]
    if not quick:
        return found
    once = {(run.module, *_pair(run.options, "--values")): run for run in reversed(found)}
    return list(reversed(once.values()))


def carried_out(run: Run, folder: Path, quick: bool) -> dict[str, Any]:
    """Run it, and what is to be kept of it."""
    began = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "lines.json"
        command = run.command(file, quick)
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout as output:
            printed = output.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        told = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    print(printed, end="", flush=True)
    if not isinstance(told, dict) or "lines" not in told:
        told = {"lines": [], "figures": told}
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    kept = {
        "run": run.name,
        "command": ["python", *command[1 : command.index("--json")], *(["--quick"] if quick else [])],
        "began": began.isoformat(timespec="seconds"),
        "seconds": seconds,
        "peak_megabytes": peak,
        "status": process.returncode,
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "processor": platform.machine()},
        "versions": {
            "python": platform.python_version(),
            **{each: metadata.version(each) for each in PACKAGES},
        },
        "lines": told["lines"],
        "figures": told.get("figures"),
        "printed": printed,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{run.name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def table(folder: Path) -> str:
    """What a folder of results holds, in the order of the suite."""
    order = {run.name: place for place, run in enumerate(RUNS)}
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    lines = []
    for told in sorted(kept, key=lambda told: order.get(told["run"], len(order))):
        for each in told["lines"]:
            line = Line(**each)
            if line.peak_megabytes is None:
                line = replace(line, peak_megabytes=told["peak_megabytes"])
            lines.append(line)
    return markdown(lines)


def main(arguments: list[str] | None = None) -> int:
    """The suite, its list, or its table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="very little of each, to see that they run")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="runs that begin so")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where results are kept")
    parser.add_argument("--table", action="store_true", help="one Markdown table of the results kept")
    parser.add_argument("--list", action="store_true", help="the runs")
    given = parser.parse_args(arguments)
    if given.table:
        print(table(given.out))
        return 0
    runs = chosen(given.only, given.quick)
    if given.list:
        for run in runs:
            command = " ".join(["python -m", f"benchmarks.{run.module}", *run.options])
            print(f"{run.name:28} {command}")
        return 0
    failed = []
    for run in runs:
        print(f"--- {run.name}", flush=True)
        told = carried_out(run, given.out, given.quick)
        failed += [run.name] if told["status"] else []
        print(f"--- {run.name}: {shown(told['seconds'])}, {told['peak_megabytes']:,.0f} MB\n", flush=True)
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
