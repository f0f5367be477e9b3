"""`python -m tests.fuzz --statements 100000 --seed 1`: fuzz the SQL layer; status 1 when a fault is found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tests.fuzz.runner import Run, Tally, Watched

_GRAVITY = ("influence", "crash", "rows", "hang", "failed")


def main() -> int:
    """Run, show, and say whether there were faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minimise", type=float, default=20.0, help="seconds for each finding; 0: do not")
    given = parser.parse_args()
    console = Console()
    watched = Watched(Run(given.statements, given.seed, given.processes, given.seconds, given.minimise))
    started = time.monotonic()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("no faults", total=given.statements)

        def show(tally: Tally, faults: int) -> None:
            progress.update(task, completed=tally.statements, description=f"{faults or 'no'} faults")

        watched.go(show)
    report(console, watched, given.seed, time.monotonic() - started)
    return 1 if watched.tally.found else 0


def report(console: Console, watched: Watched, seed: int, seconds: float) -> None:
    """The counts, then the faults, worst first."""
    tally = watched.tally

    def line(text: str) -> None:
        console.print(escape(text), soft_wrap=True, highlight=False)

    speed = tally.statements / seconds
    line(f"{tally.statements} statements, seed {seed}, {seconds:.0f} s, {speed:.1f} per second")
    line(f"origin: {_counts(tally.origins)}")
    line(f"code: {_counts(tally.codes)}")
    line(f"asked of whole gates, over permuted and changed values: {tally.gated}")
    asked = sum(tally.valid.values())
    line(f"answered and compared with plain DuckDB: {_counts(tally.compared)}")
    line(f"meant to be valid and asked of DuckDB: {asked}, of them invalid: {tally.valid[False]}")
    line(f"findings before they were minimised: {_counts(tally.found)}")
    for fault in sorted(watched.faults, key=lambda each: _GRAVITY.index(each.finding.kind)):
        line(fault.line)
        if fault.finding.detail:
            line("    " + " ".join(fault.finding.detail.split()))


def _counts(counts: Mapping[object, int]) -> str:
    listed = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{' '.join(k) if isinstance(k, tuple) else k} {n}" for k, n in listed) or "none"


if __name__ == "__main__":
    sys.exit(main())
