"""A line, asked with each of its seeds."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.usefulness import log
from benchmarks.usefulness.asking import Asked, asked
from benchmarks.usefulness.day import Line
from benchmarks.usefulness.switched import switched


@dataclass
class Counted:
    """What became of a line."""

    name: str
    runs: list[Asked] = field(default_factory=list)
    """By seed."""

    @property
    def cut(self) -> str:
        """How far the first run came that its budget ended; empty where all came to their end."""
        cut = [run for run in self.runs if run.cut]
        return f"cut after {cut[0].ended} of {cut[0].statements} statements" if cut else ""


def count(
    line: Line,
    seeds: int | None = None,
    seconds: float | None = None,
    folder: Path | None = None,
    began: Callable[[str], None] = lambda _: None,
) -> Counted:
    """Ask a line.

    Args:
        line: What is asked.
        seeds: How many; by default as many as the line says. Where nothing is drawn other worlds are.
        seconds: CPU seconds for each seed; by default the line's budget.
        folder: Where a log of decisions is kept for each seed.
        began: Told what begins.
    """
    found = Counted(line.name)
    for seed in range(max(line.drawn, 1) if seeds is None else seeds):
        began(f"{line.name}, seed {seed}")
        of_worlds, of_data = (0, seed) if line.drawn else (seed, 0)
        with tempfile.TemporaryDirectory() as place, switched(seed=of_worlds):
            day = line.day(of_data, Path(place))
            run = asked(day, Path(place) / "day.ledger", line.budget if seconds is None else seconds)
        found.runs.append(run)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            log.write(folder / f"{file_name(line.name)}.{seed}.csv", run.decided)
    return found


def file_name(line: str) -> str:
    """A line's name, as a file may be called."""
    return re.sub(r"[^a-z0-9.]+", "-", line.lower()).strip("-")
