"""How a decision's cost grows with records and with answers: `scale` at several sizes, and a plot.

Run as `python -m benchmarks.growth --records 10000 100000 1000000 --answers 10 100 300`. Each number of
records is a process of its own, so that its peak memory is, too; within it decisions are measured when so
many answers are known. The plot (median and worst, log-log) goes to `docs/images/growth-<values>.svg`.

The rival is that of `scale`: exact intervals by linear programs, timed in the same process after the last
answer. A size at which the programs are stopped gives a lower limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks._data import shown
from benchmarks._results import Line, options, write

ROOT = Path(__file__).resolve().parents[1]
PLOTS = ROOT / "docs" / "images"
COLUMNS = (
    "records",
    "answers",
    "median",
    "worst",
    "SQL",
    "answered",
    "surprises",
    "peak MB",
    "rival",
    "ratio",
)
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7d4e9e")


def measured(records: int, answers: Sequence[int], passed_on: Sequence[str]) -> dict[str, Any]:
    """What `scale` finds at one size, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scale.json"
        command = [sys.executable, "-m", "benchmarks.scale", "--records", str(records), "--json", str(file)]
        command += ["--answers", *map(str, answers), *passed_on]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def plot(sizes: Sequence[dict[str, Any]], path: Path) -> None:
    """Seconds against records, and against answers; one line for each of the other."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "growth"  # the same figure for the same figures
    from matplotlib import pyplot

    points = [
        (found["records"], wanted, stage["median"], stage["worst"])
        for found in sizes
        for wanted, stage in zip(found["wanted"], found["stages"], strict=True)
        if stage["median"] is not None
    ]
    figure, both = pyplot.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for axes, (x, group, names) in zip(both, ((0, 1, "records"), (1, 0, "answers known")), strict=True):
        for colour, each in zip(COLOURS, sorted({point[group] for point in points}), strict=False):
            mine = sorted(point for point in points if point[group] == each)
            label = f"{each:,} {'answers' if group else 'records'}"
            xs = [point[x] for point in mine]
            axes.plot(xs, [point[2] for point in mine], "o-", color=colour, label=label)
            axes.plot(xs, [point[3] for point in mine], "x:", color=colour, alpha=0.6)
        axes.set(xscale="log", yscale="log", xlabel=names)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    both[0].set_ylabel("seconds a decision\n(solid: median, dotted: worst)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def rows(found: dict[str, Any]) -> list[list[str]]:
    """The table's rows for one number of records."""
    told = []
    for stage in found["stages"]:
        sql = sorted(each["phases"]["sql"] for each in stage["measured"])
        program, last = found["rival"], stage is found["stages"][-1]
        naive, ratio = "–", "–"
        if program is not None and last and stage["median"]:
            every = program["first"] + (2 * program["variables"] - 1) * (program["warm"] or program["first"])
            mark = "" if program["solved"] else "≥ "
            naive, ratio = mark + shown(every), f"{mark}{every / stage['median']:,.0f}"
        times = [
            shown(each) for each in (stage["median"], stage["worst"], sql[len(sql) // 2] if sql else 0.0)
        ]
        counts = f"{stage['share_answered']:.0%}", str(stage["surprises"]), f"{stage['peak_megabytes']:,.0f}"
        told.append([f"{found['records']:,}", str(stage["answers"]), *times, *counts, naive, ratio])
    return told


def main(arguments: list[str] | None = None) -> None:
    parser = options("growth", __doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--answers", type=int, nargs="+", default=[10, 100, 300])
    parser.add_argument("--measured", type=int, default=20)
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    parser.add_argument("--insiders", type=int, default=1)
    parser.add_argument(
        "--most-seconds", type=float, default=1_800.0, help="asking, then measuring, each time"
    )
    parser.add_argument("--rival-seconds", type=float, default=60.0)
    parser.add_argument("--timeout", type=float, default=30.0, help="of a decision")
    parser.add_argument("--plot", type=Path, help=f"where the plot goes (default: {PLOTS.relative_to(ROOT)})")
    parser.add_argument("--from", type=Path, dest="earlier", help="plot the figures of an earlier --json")
    given = parser.parse_args(arguments)
    if given.quick:
        given.records, given.answers, given.measured = [200, 400], [1, 2], 1
        given.most_seconds, given.rival_seconds, given.timeout = 10.0, 1.0, 1.0
    names = ("measured", "values", "insiders", "most_seconds", "rival_seconds", "timeout")
    passed_on = [
        text for name in names for text in (f"--{name.replace('_', '-')}", str(getattr(given, name)))
    ]
    console = Console(width=130)
    sizes, lines = [], []
    if given.earlier:
        sizes = json.loads(given.earlier.read_text(encoding="utf-8"))["figures"]
    for records in [] if given.earlier else given.records:
        told = measured(records, sorted(given.answers), passed_on)
        sizes.append({**told["figures"], "wanted": sorted(given.answers)})
        lines += [Line(**{**line, "what": f"growth: {line['what']}"}) for line in told["lines"]]
        write(given.json, lines, sizes)  # after each: a long run may be cut short
    table = Table(title=f"A new decision by records and answers, {given.values} values")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for found in sizes:
        for row in rows(found):
            table.add_row(*row)
    console.print(table)
    with tempfile.TemporaryDirectory() as folder:
        # a quick run shows that the plot can be made and leaves the real one alone
        path = given.plot or (Path(folder) if given.quick else PLOTS) / f"growth-{given.values}.svg"
        plot(sizes, path)
        console.print(f"plot: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
