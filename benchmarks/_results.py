"""What a benchmark found, as lines that all share: what, on which data, against whom, how much memory.

Every benchmark takes `--json FILE` and writes its lines there, with whatever figures of its own lie behind
them. `python -m benchmarks` runs the suite, keeps such a file for each run, and makes one table of all lines.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._data import peak_megabytes, shown

HEAD = ("what", "data", "size", "this package", "rival", "the rival's", "rival / this", "peak memory")


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    data: str
    """Where the protected values come from: "uniform", "lognormal", "ACS" …, or "–" where there are none."""
    size: str
    ours: float | None
    """This package's figure, in `unit`; None where nothing could be measured."""
    rival: str = "none"
    """Who is compared with, by name."""
    theirs: float | None = None
    """The rival's figure in the same run, unless `rival` says otherwise."""
    unit: str = "s"
    """"s" for seconds, "share" for a part of one, else a word for what is counted."""
    at_least: bool = False
    """The rival's figure is a lower limit: it was stopped."""
    peak_megabytes: float | None = None
    """Of a process that did nothing else; by default that of the whole run."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The rival's figure in terms of this package's: of seconds, how many times faster this one is."""
        return None if self.theirs is None or not self.ours else self.theirs / self.ours

    def cells(self) -> list[str]:
        """As the table shows them."""
        mark = "≥ " if self.at_least else ""
        theirs = "–" if self.theirs is None else mark + figure(self.theirs, self.unit)
        ratio = "–" if self.ratio is None else mark + rounded(self.ratio)
        memory = "–" if self.peak_megabytes is None else f"{self.peak_megabytes:,.0f} MB"
        ours = "–" if self.ours is None else figure(self.ours, self.unit)
        return [self.what, self.data, self.size, ours, self.rival, theirs, ratio, memory]


def figure(value: float, unit: str) -> str:
    """A figure with its unit."""
    if unit == "s":
        return shown(value)
    return f"{value:.1%}" if unit == "share" else f"{rounded(value)} {unit}"


def rounded(value: float) -> str:
    """Three digits, more before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markdown(lines: Iterable[Line]) -> str:
    """One Markdown table."""
    rows = [line.cells() for line in lines]
    marks = ["---" if place in (0, 1, 4) else "---:" for place in range(len(HEAD))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(HEAD), marks, *rows])


def options(name: str, description: str | None) -> argparse.ArgumentParser:
    """A benchmark's parser, with what all of them take."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """What all benchmarks take."""
    parser.add_argument("--json", type=Path, help="write lines and figures here too")
    parser.add_argument("--quick", action="store_true", help="very little of it, to see that it runs")


def write(path: Path | None, lines: Sequence[Line], figures: object = None) -> None:
    """Keep what was found, if a file is given; what is there already is replaced."""
    if path is None:
        return
    told = {"lines": [asdict(line) for line in lines], "figures": figures, "peak_megabytes": peak_megabytes()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_plain(told), indent=1, default=str) + "\n", encoding="utf-8")


def _plain(told: object) -> object:
    """As every reader of JSON takes it: what was not measured is null, not NaN."""
    if isinstance(told, Mapping):
        return {str(key): _plain(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [_plain(each) for each in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told
