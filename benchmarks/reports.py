"""What a ledger of many answers costs when it is opened, and what reports about everybody cost then.

Run as `python -m benchmarks.reports --records 1000000 --answers 60`. Random range sums
(`benchmarks/_people.py`, public columns of a million values each: the hardest case) are told to an
`AnsweredSystem` as a ledger tells them, unchecked and all at once. CPU seconds of each step, and the
process's peak memory after it:

- *taken in*: worlds and roomy table brought to all answers; the rival takes the same answers in one by one,
as a
  gate does while it is asked (`--rival` records, since it takes so long);
- *certified*: a run for every record, bases chosen for it; *worlds*: two tables; *bounds*: all intervals.

The worlds drawn are compared with every answer.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._people import People, RangeQueries
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem
from cae_sql.inference import system_state

LOW, HIGH, STEP = 10, 250, 10
STEPS = ("taken in", "certified", "worlds", "bounds")


@dataclass(frozen=True)
class Row:
    """What one setting gave: CPU seconds, and megabytes of the process at most so far, by step."""

    values: str
    records: int
    answers: int
    before: float
    """Megabytes before anything was told."""
    seconds: dict[str, float]
    megabytes: dict[str, float]
    width: float
    """Mean width of the certified runs."""
    one_by_one: float | None = None
    """The rival's seconds."""


def told(people: People, sets: list[NDArray[np.int64]]) -> AnsweredSystem:
    """A system that was given the answers, and has not looked at them."""
    system = AnsweredSystem(len(people.income), LOW, HIGH, STEP)
    for members in sets:
        query = system.query("sum", members)
        system.accept([query.answered(int((people.income[members] - LOW).sum()) // STEP)])
    return system


def drawn(records: int, answers: int, values: str) -> tuple[People, list[NDArray[np.int64]]]:
    people = People.draw(records, "uniform", values)
    queries = RangeQueries(people.columns)
    return people, [np.flatnonzero(queries.draw().members).astype(np.int64) for _ in range(answers)]


def measured(records: int, answers: int, values: str) -> Row:
    """One setting."""
    people, sets = drawn(records, answers, values)
    before, system = peak_megabytes(), told(people, sets)
    seconds, megabytes, width = dict[str, float](), dict[str, float](), 0.0
    for step in STEPS:
        with timed(time.process_time) as watch:
            if step == "taken in":
                system.pool()
            elif step == "certified":
                runs = system.certified()
            elif step == "worlds":
                worlds = system.worlds(2)
            else:
                system.bounds()
        seconds[step], megabytes[step] = watch.seconds, peak_megabytes()
    width = float((runs.upper - runs.lower).mean())
    for members in sets:
        if any(int(world[members].sum()) != int(people.income[members].sum()) for world in worlds):
            raise AssertionError("a world does not agree with an answer")
    return Row(values, records, answers, before, seconds, megabytes, width)


def one_by_one(records: int, answers: int, values: str) -> float:
    """The rival."""
    system = told(*drawn(records, answers, values))
    with mock.patch.object(system_state, "AT_ONCE", answers + 1), timed(time.process_time) as watch:
        system.pool()
    return watch.seconds


def lines_of(row: Row) -> list[Line]:
    """For the table of all benchmarks."""
    size = f"{row.records:,} records, {row.answers} range sums"
    names = {
        "taken in": ("a ledger taken in", "one by one", row.one_by_one),
        "certified": ("runs of all records", "none", None),
        "worlds": ("two worlds", "none", None),
        "bounds": ("intervals of all records", "none", None),
    }
    return [
        Line(what, row.values, size, row.seconds[step], rival, theirs, peak_megabytes=row.megabytes[step])
        for step, (what, rival, theirs) in names.items()
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = options("reports", __doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--rival", type=int, default=100_000, help="most records that the rival is timed on")
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    given = parser.parse_args(arguments)
    if given.quick:
        given.records, given.answers = 6_000, 14
    told(*drawn(6_000, 14, "uniform")).worlds(1)  # kernels are loaded once
    row = measured(given.records, given.answers, given.values)
    if given.records <= given.rival:
        row = Row(**{**asdict(row), "one_by_one": one_by_one(given.records, given.answers, given.values)})
    table = Table(title=f"{row.records:,} records, {row.answers} range sums, {row.values} values")
    for name in ("", "CPU", "peak so far"):
        table.add_column(name, justify="right")
    for step in STEPS:
        table.add_row(step, shown(row.seconds[step]), f"{row.megabytes[step]:,.0f} MB")
    console = Console(width=120)
    console.print(table)
    rival = "not timed" if row.one_by_one is None else shown(row.one_by_one)
    console.print(
        f"One by one: {rival}. Before: {row.before:,.0f} MB. Certified runs: {row.width:.0f} wide on average."
    )
    write(given.json, lines_of(row), asdict(row))


if __name__ == "__main__":
    main()
