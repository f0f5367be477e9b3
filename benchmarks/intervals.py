"""Feasibility intervals at scale, against one full linear program for each end.

Run as `python -m benchmarks.intervals --records 100000 --answers 100 --values lognormal`. Random range
queries (`benchmarks/_people.py`; public columns of a million values each, so nearly everybody is alone in an
atom) are answered by an `AnsweredSystem`; `--small N` adds N sums over four of 300 persons, which pin some of
them between narrow bounds, so that programs must decide. This side, in CPU seconds, translation included:

- *all*: `bounds()` of all records; *programs*: how many linear programs that took, of two for each record;
  *an interval*: all, by record;
- *one*: `bounds([record])` in a system that nothing was asked of before;
- *priced*: one end by the linear program over few columns, whether or not it is needed, once the point
  inside is there: median and worst over both ends of random persons, half of them from small sums.

The rival: scipy.optimize.linprog (HiGHS) with one variable for each atom's total and a sparse A_eq. *rival's*
are the CPU seconds of both ends of a person, stating the program left out; *ratio* compares two programs for
each atom with *all*, *priced, ratio* one program with one. Ends are compared wherever both sides have them,
and those found by priced programs with `bounds()`.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import optimize, sparse

from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._people import SEED, People, RangeQueries
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem
from cae_sql.inference.intervals.bounds import ByPrograms
from cae_sql.inference.intervals.pricing import Priced
from cae_sql.inference.solver import Program

LOW, HIGH, STEP = 10, 250, 10
TEAM, SIZE = 300, 4
COLUMNS = (
    *("values", "records", "answers", "atoms", "narrow", "all", "programs", "one", "priced", "worst"),
    *("an interval", "rival's", "ratio", "priced, ratio", "max |Δ|", "peak MB"),
)

Sets = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Row:
    """What one setting gave. Seconds are CPU seconds."""

    values: str
    records: int
    answers: int
    atoms: int
    narrow: int
    """Records whose interval is not the whole domain."""
    everybody: float
    programs: int
    one: float
    priced: float
    worst: float
    rival: float
    """Of both ends of one record."""
    sampled: int
    solved: bool
    """Whether the rival solved all; else its figure is a lower limit."""
    difference: float
    peak: float

    @property
    def interval(self) -> float:
        return self.everybody / self.records

    @property
    def ratio(self) -> float:
        """Of an interval, where all are asked for."""
        return self.rival * self.atoms / self.everybody


def system_of(values: NDArray[np.int64], sets: Sets) -> AnsweredSystem:
    system = AnsweredSystem(len(values), LOW, HIGH, STEP)
    for members in sets:
        system.add_sum(members, int(values[members].sum()))
    return system


def query_sets(people: People, answers: int, small: int) -> tuple[Sets, NDArray[np.int64]]:
    """Who is covered, and of whom there are small sums."""
    queries = RangeQueries(people.columns)
    sets = [np.flatnonzero(queries.draw().members) for _ in range(answers)]
    rng = np.random.default_rng([SEED, 3])
    team = rng.choice(len(people.income), min(TEAM, len(people.income)), replace=False)
    return sets + [np.sort(rng.choice(team, SIZE, replace=False)) for _ in range(small)], team


def programs_of(system: AnsweredSystem, atom: int) -> ByPrograms:
    """The programs of the component that an atom is in."""
    solved = system.solved
    component = np.flatnonzero(solved.known.components == solved.known.components[atom])
    return solved.programs.get(int(component[0])) or ByPrograms(solved, component)


def priced_ends(system: AnsweredSystem, persons: NDArray[np.int64], found: Any) -> tuple[list[float], float]:
    """CPU seconds of each end by a program over few columns, and the greatest difference from `bounds()`."""
    labels = system.solved.known.atoms.labels
    seconds, worst = [], 0.0
    for person in persons.tolist():
        programs = programs_of(system, int(labels[person]))
        column = int(np.searchsorted(programs.atoms, labels[person]))
        for sign, end in ((1, found.lower[person]), (-1, found.upper[person])):
            with timed(time.process_time) as watch:
                outcome = programs.linear.minimise({column: float(sign)})
                bound = programs.proof.best(column, sign, outcome).bound
            seconds.append(watch.seconds)
            worst = max(worst, abs(LOW + STEP * float(bound) - end))
    return seconds[2:] if len(seconds) > 2 else seconds, worst  # the first states the program


def by_full_programs(
    system: AnsweredSystem, persons: NDArray[np.int64], found: Any, patience: float
) -> tuple[float, bool, float]:
    """Seconds of both ends of a person, whether all were solved, and the greatest difference."""
    solved = system.solved
    known = solved.known
    A = sparse.csr_array(known.matrix.astype(np.float64))
    boxes = np.column_stack([known.sizes * known.low, known.sizes * known.high])
    total, worst, everything = 0.0, 0.0, True
    for person in persons.tolist():
        for sign, end in ((1.0, found.lower[person]), (-1.0, found.upper[person])):
            cost = np.zeros(known.count)
            cost[known.atoms.labels[person]] = sign
            with timed(time.process_time) as watch:
                done = optimize.linprog(
                    cost,
                    A_eq=A,
                    b_eq=solved.sums,
                    bounds=boxes,
                    method="highs",
                    options={"time_limit": patience},
                )
            total += watch.seconds
            everything = everything and done.status == 0
            if done.status == 0:
                worst = max(worst, abs(LOW + STEP * sign * done.fun - end))
    return total / len(persons), everything, worst


def measured(given: Any, values: str) -> Row:
    people = People.draw(given.records, "uniform", values)
    sets, team = query_sets(people, given.answers, given.small)
    system = system_of(people.income, sets)
    programs = 0

    def counted(self: Program, *arguments: Any, **named: Any) -> Any:
        nonlocal programs
        programs += 1
        return solve(self, *arguments, **named)

    solve = Program.minimise
    with mock.patch.object(Program, "minimise", counted), timed(time.process_time) as everybody:
        found = system.bounds()
    count = programs
    labels = system.solved.known.atoms.labels
    single = np.flatnonzero(system.solved.known.sizes[labels] == 1)
    rng = np.random.default_rng([SEED, 4])
    fresh = system_of(people.income, sets)
    with timed(time.process_time) as one:
        again = fresh.bounds([int(single[0])])
    if again.lower[0] != found.lower[single[0]] or again.upper[0] != found.upper[single[0]]:
        raise AssertionError("one record alone has another interval")
    others = rng.choice(single, given.programs // 2 + 1, replace=False)
    mine = np.intersect1d(team, single)[: given.programs - given.programs // 2]
    seconds, difference = priced_ends(system, np.concatenate([others, mine]), found)
    if not isinstance(programs_of(system, int(labels[mine[0]])).linear, Priced) and given.records > 10_000:
        raise AssertionError("the program is not over few columns")
    peak = peak_megabytes()
    sample = np.concatenate([mine[:1], others])[: given.sample]
    rival, solved, wrong = by_full_programs(system, sample, found, given.patience)
    return Row(
        *(values, given.records, len(sets), system.solved.known.count),
        int(((found.lower > LOW) | (found.upper < HIGH)).sum()),
        *(everybody.seconds, count, one.seconds, float(np.median(seconds)), max(seconds)),
        *(rival, len(sample), solved, max(difference, wrong), peak),
    )


def lines_of(row: Row, small: int) -> list[Line]:
    size = f"{row.records:,} records, {row.answers - small} range sums" + (
        f", {small} small" if small else ""
    )
    full = "two full LPs (SciPy)"
    return [
        Line(
            *("an interval, all asked for", row.values, size, row.interval, full),
            *(row.rival * row.atoms / row.records, "s", not row.solved, row.peak),
        ),
        Line(
            *("an interval's end by a priced LP, median", row.values, size, row.priced, "a full LP (SciPy)"),
            *(row.rival / 2, "s", not row.solved, row.peak),
        ),
        Line(
            *("one interval, nothing prepared", row.values, size, row.one, full),
            *(row.rival, "s", not row.solved, row.peak),
        ),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = options("intervals", __doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--small", type=int, default=0, help="sums over four persons of a few")
    parser.add_argument("--values", choices=("uniform", "lognormal"), help="default: both")
    parser.add_argument(
        "--programs", type=int, default=20, help="persons whose ends are found by priced programs"
    )
    parser.add_argument("--sample", type=int, default=1, help="persons that the rival is timed on")
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds for one of the rival's programs"
    )
    given = parser.parse_args(arguments)
    if given.quick:
        given.records, given.answers, given.programs = 4_000, 20, 4
    warm = People.draw(300, "uniform", "uniform")
    system_of(warm.income, query_sets(warm, 8, 0)[0]).bounds()  # kernels are loaded once
    rows = [
        measured(given, values) for values in ([given.values] if given.values else ("uniform", "lognormal"))
    ]
    table = Table(title=f"Feasibility intervals, {given.small} small sums among the answers")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for row in rows:
        mark = "" if row.solved else "≥ "
        table.add_row(
            *(row.values, f"{row.records:,}", str(row.answers), f"{row.atoms:,}", f"{row.narrow:,}"),
            *(shown(row.everybody), f"{row.programs:,}", shown(row.one), shown(row.priced), shown(row.worst)),
            *(shown(row.interval), mark + shown(row.rival)),
            *(f"{mark}{row.ratio:,.0f}", f"{mark}{row.rival / 2 / row.priced:,.0f}"),
            *(f"{row.difference:.0e}", f"{row.peak:,.0f}"),
        )
    Console(width=190).print(table)
    write(
        given.json,
        [line for row in rows for line in lines_of(row, given.small)],
        [asdict(row) for row in rows],
    )


if __name__ == "__main__":
    main()
