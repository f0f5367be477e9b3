"""Decisions on exact sums with ranges in the history, and without them.

    python -m benchmarks.after_ranges [--table acs] [--measured 40]

Two gates of their own are asked for the same sums over random conditions on public columns. One was asked
before for ranges of a count, a quantile and a deviation of everybody, the rival was not. What is told exactly
differs too: ranges use up room.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from auditor import Gate
from benchmarks._ranges import tried
from benchmarks._results import Line, options, write
from benchmarks.newcomer import PLACES, Place

AGE = "age"
"""A public column of both tables."""


def ranges(place: Place) -> Iterator[str]:
    """Statements that ask for ranges of everybody."""
    limit = place.domain[0] + 0.4 * (place.domain[1] - place.domain[0])
    for each in (f"COUNT_IF({place.column} >= {limit:g})", f"QUANTILE_DISC({place.column}, 0.9)",
                 f"STDDEV_POP({place.column})"):  # fmt: skip
        yield f"SELECT AT_LEAST({each}), AT_MOST({each}) FROM {place.name}"


def sums(place: Place, path: Path, count: int) -> Iterator[str]:
    """Sums over ages between two, of one sex or both."""
    chance = np.random.default_rng(7)
    with duckdb.connect(str(path), read_only=True) as plain:
        ages = plain.execute(f"SELECT min({AGE}), max({AGE}) FROM {place.name}").fetchall()[0]
        sexes = [
            row[0] for row in plain.execute(f"SELECT DISTINCT sex FROM {place.name} ORDER BY 1").fetchall()
        ]
    for _ in range(count):
        low = int(chance.integers(ages[0], ages[1] - 10))
        high = int(chance.integers(low + 10, ages[1] + 1))
        sex = f" AND sex = '{sexes[int(chance.integers(len(sexes)))]}'" if chance.random() < 0.5 else ""
        yield f"SELECT SUM({place.column}) FROM {place.name} WHERE {AGE} BETWEEN {low} AND {high}{sex}"


def asked(
    place: Place, path: Path, with_ranges: bool, count: int, console: Console
) -> tuple[list[float], int, int]:
    """Seconds of each sum, how many were told exactly, and how many ranges were told before."""
    ledger = path.with_suffix(f".{with_ranges}.ledger")
    with Gate.open(path, place.policy(0.5, "suppress", 60.0), ledger) as gate:
        tried(gate, f"SELECT AVG({place.column}) FROM {place.name}")
        before = sum(tried(gate, sql)[0] is not None for sql in ranges(place)) if with_ranges else 0
        seconds, told = list[float](), 0
        what = "with ranges" if with_ranges else "without"
        for sql in track(list(sums(place, path, count)), f"{place.name}, {what}", console=console):
            answer, _, each = tried(gate, sql)
            seconds.append(each)
            told += answer is not None and not answer.ranges
    return seconds, told, before


def main(arguments: list[str] | None = None) -> None:
    """Ask both gates, compare."""
    parser = options("after_ranges", __doc__)
    parser.add_argument("--table", choices=[place.name for place in PLACES])
    parser.add_argument("--measured", type=int, default=40, help="sums that are asked")
    given = parser.parse_args(arguments)
    count = min(given.measured, 2) if given.quick else given.measured
    console, lines = Console(width=120), list[Line]()
    table = Table("table", "ranges before", "told exactly", "median s", "worst s", "median of ratios")
    with tempfile.TemporaryDirectory() as folder:
        for place in PLACES:
            if given.table not in (None, place.name) or not place.source.exists():
                continue
            path = Path(folder) / f"{place.name}.duckdb"
            place.build(path, 400 if given.quick else None)
            # what is compiled and loaded is no decision's
            asked(place, path, False, 1 if given.quick else 2, console)
            path.with_suffix(".False.ledger").unlink()
            plain = asked(place, path, False, count, console)
            ranged = asked(place, path, True, count, console)
            ratio = float(np.median(np.array(ranged[0]) / np.array(plain[0])))
            for seconds, told, before in (plain, ranged):
                middle, worst = float(np.median(seconds)), max(seconds)
                shown = f"{ratio:.2f}" if before else "–"
                table.add_row(
                    place.name, str(before), f"{told} of {count}", f"{middle:.3f}", f"{worst:.2f}", shown
                )
            what = "a sum after ranges, median"
            lines.append(
                Line(what, place.name.upper(), f"{count} sums", float(np.median(ranged[0])), "without ranges",
                     float(np.median(plain[0])), "s")
            )  # fmt: skip
    console.print(table)
    write(given.json, lines)


if __name__ == "__main__":
    main()
