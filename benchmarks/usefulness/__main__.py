"""What is told, counted, line by line, and held against the bands that are kept; or two logs side by side.

    python -m benchmarks.usefulness                      all lines, each with its seeds
    python -m benchmarks.usefulness --quick              what the README's tests count
    python -m benchmarks.usefulness --only "day: ACS"    lines whose names begin so; several may be given
    python -m benchmarks.usefulness --log FOLDER         a log of decisions for each line and seed
    python -m benchmarks.usefulness --write-bands        what was measured becomes the bands
    python -m benchmarks.usefulness compare A B          two logs or folders: what was lost and gained

Exit status 3 where a count left its band downwards. docs/usefulness.md says how to read the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import _results
from benchmarks.usefulness import bands, log
from benchmarks.usefulness.counted import Counted, count
from benchmarks.usefulness.counting import counts
from benchmarks.usefulness.day import Line
from benchmarks.usefulness.lines import FULL, QUICK, chosen
from cae_sql.warming import warm

COLUMNS = ("line", "seeds", "optimum", "exact", "of it", "told", "withheld", "refused", "surprises", "late")
TIMES = ("seconds", "CPU", "worst", "")


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = _results.options("usefulness", __doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="lines whose names begin so")
    parser.add_argument("--seeds", type=int, help="how many; by default as many as each line says")
    parser.add_argument(
        "--seconds", type=float, help="CPU seconds for one seed of a line, in place of its own"
    )
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="keep a log of decisions for each seed")
    parser.add_argument("--bands", type=Path, default=bands.BANDS, metavar="FILE", help="which bands")
    parser.add_argument("--write-bands", action="store_true", help="what was measured becomes the bands")
    parser.add_argument("--busy", action="store_true", help="the machine is not idle: write no seconds")
    parser.add_argument("--list", action="store_true", help="the lines, and what is not there")
    return parser


def compare(before: Path, after: Path) -> int:
    """Print what differs between two logs, or between files of the same name in two folders."""
    console = Console(width=160, highlight=False)
    names = [Path()]
    if before.is_dir():
        one, other = ({each.name for each in folder.glob("*.csv")} for folder in (before, after))
        names = [Path(name) for name in sorted(one & other)]
        for name in sorted(one ^ other):
            console.print(f"[bold]{name}[/bold]: in {before if name in one else after} alone")
    for name in names:
        changes = log.compared(log.read(before / name), log.read(after / name))
        if before.is_dir():
            console.print(f"[bold]{name}[/bold]: {log.summary(changes)}")
        for change in changes:
            console.print(str(change), markup=False)
        if not before.is_dir():
            console.print(log.summary(changes))
    return 0


def cells(counted: Counted) -> list[str]:
    """A line as the table shows it: least to greatest over the seeds."""
    each, runs = [counts(run) for run in counted.runs], counted.runs
    optimum = sum(one.get("optimum", 0) for one in each)
    share = f"{sum(one['exact'] for one in each) / optimum:.0%}" if optimum else ""
    told = [_between([one[name] for one in each]) for name in COLUMNS[5:]]
    most = [max(getattr(run, name) for run in runs) for name in ("seconds", "cpu", "worst")]
    return [
        *(counted.name, str(len(runs)), _between([one["optimum"] for one in each if "optimum" in one])),
        *(_between([one["exact"] for one in each]), share, *told),
        *(*(f"{figure:.1f}" for figure in most), counted.cut),
    ]


def _between(values: Sequence[int]) -> str:
    if not values:
        return ""
    return str(min(values)) if min(values) == max(values) else f"{min(values)}–{max(values)}"


def figures(counted: Counted) -> list[_results.Line]:
    """Of the table of all benchmarks."""
    each = [counts(run) for run in counted.runs]
    size = f"{len(each)} seeds" if len(each) > 1 else "one run"
    exact = sum(one["exact"] for one in each) / len(each)
    if all("optimum" in one for one in each):
        optimum = sum(one["optimum"] for one in each) / len(each)
        told = _results.Line("told exactly", counted.name, size, exact, "closed form", optimum, "groups")
    else:
        told = _results.Line("told exactly", counted.name, size, exact, unit="groups")
    seconds = max(run.seconds for run in counted.runs)
    return [told, _results.Line("one day", counted.name, size, seconds)]


def asked_for(given: argparse.Namespace, lines: Sequence[Line], console: Console) -> Iterator[Counted]:
    """Count line by line, with a bar; what is not there is said."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(lines))

        def began(words: str) -> None:
            progress.update(task, description=words)

        for line in lines:
            if line.absent:
                console.print(f"{line.name}: {line.absent}", markup=False)
            else:
                yield count(line, given.seeds, given.seconds, given.log, began)
            progress.advance(task)


def table_of(measured: Sequence[Counted]) -> Table:
    """What was measured."""
    table = Table(title="What is told")
    for name in (*COLUMNS, *TIMES):
        table.add_column(name, justify="left" if name in ("line", "") else "right")
    for counted in measured:
        table.add_row(*cells(counted))
    return table


def main(arguments: list[str] | None = None) -> int:
    """Count, or compare."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["compare"]:
        parser = argparse.ArgumentParser(prog="python -m benchmarks.usefulness compare")
        for name in ("before", "after"):
            parser.add_argument(name, type=Path)
        logs = parser.parse_args(words[1:])
        return compare(logs.before, logs.after)
    parser = options()
    given = parser.parse_args(words)
    try:
        lines = chosen(given.only, given.quick)
    except ValueError as error:
        parser.error(str(error))
    console = Console(width=190, highlight=False)
    if given.list:
        for line in lines:
            console.print(f"{line.name}  {line.absent}", markup=False)
        return 0
    kept, measured, lost = bands.read(given.bands), list[Counted](), list[str]()
    warm()
    for counted in asked_for(given, lines, console):
        measured.append(counted)
        lost += bands.fallen(counted, kept)
        # after each: a long run may be cut short
        if given.write_bands:
            bands.write(measured, [each.name for each in (*QUICK, *FULL)], given.bands, not given.busy)
        _results.write(given.json, [each for found in measured for each in figures(found)])
    console.print(table_of(measured))
    for each in lost:
        console.print(f"left its band: {each}", markup=False)
    return 3 if lost and not given.write_bands else 0


if __name__ == "__main__":
    sys.exit(main())
