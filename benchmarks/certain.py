"""What a refusal costs that bounds make certain: a question about one person, with few answers and many.

Run as `python -m benchmarks.certain`. The sum of one person's salary is asked through the gate, each time of
somebody else. The rival is the same gate in the same run without the look at bounds
(`cae_sql.inference.certify.certain`): it must search until enough hypothetical answers have failed. Turn by
turn, in process, kernels compiled before; medians of CPU time, so that what else the machine does hardly
counts. The table of the demonstration, enlarged to 240 persons, and the census' persons where the data are
there.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from benchmarks._data import acs_salaries, drawn_salaries, shown, timed
from benchmarks._results import Line, options, write
from cae_sql.inference.certify.question import Question

PERSONS, TURNS, ANSWERS = 240, 9, 20
MOST_ASKED = 120
"""Range sums that are asked for so many answers, at most."""
AIM = 0.05
SEED = 20130527
COLUMNS = ("table", "ledger", "with bounds", "worst", "without", "ratio")
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = "all"
[limit]
risk = 0.5
[decision]
"""


@dataclass(frozen=True)
class Row:
    data: str
    persons: int
    answers: int
    ours: float
    worst: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def build(path: Path, salaries: NDArray[np.int64]) -> None:
    """Persons with a number and a salary."""
    with duckdb.connect(str(path)) as connection:
        connection.register("drawn", {"id": np.arange(len(salaries)), "salary": salaries})
        connection.execute("CREATE TABLE staff AS SELECT id, salary::INTEGER AS salary FROM drawn")


@contextmanager
def without_bounds() -> Iterator[None]:
    """The former way: nothing is said before it is searched for."""
    kept = Question.certainly_lost
    Question.certainly_lost = lambda *_: None  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Question.certainly_lost = kept  # type: ignore[method-assign]


def refused(gate: Gate, person: int) -> float:
    """CPU seconds that the refusal took."""
    with timed(time.process_time) as watch:
        try:
            gate.execute(f"SELECT sum(salary) FROM staff WHERE id = {person}")
        except QueryRefused as refusal:
            if refusal.decision.code != "risk":
                raise
        else:
            raise AssertionError("a person's salary was answered")
    return watch.seconds


def answered(gate: Gate, persons: int, count: int) -> int:
    """Ask sums over ranges until so many are answered."""
    chance, found = np.random.default_rng(SEED), 0
    for _ in range(MOST_ASKED):
        if found == count:
            break
        first = int(chance.integers(0, persons - 20))
        last = int(chance.integers(first + 12, persons))
        try:
            gate.execute(f"SELECT sum(salary) FROM staff WHERE id BETWEEN {first} AND {last}")
            found += 1
        except QueryRefused:
            continue
    return found


def compare(data: str, gate: Gate, persons: int, answers: int, turns: int) -> Row:
    """Ours and the former way, turn by turn, each time about somebody else: a refusal is remembered."""
    others = iter(np.random.default_rng(SEED + answers).permutation(persons).tolist())
    ours, theirs = list[float](), list[float]()
    for turn in range(turns + 1):
        mine = refused(gate, next(others))
        with without_bounds():
            other = refused(gate, next(others))
        if turn:  # the first one compiles
            ours.append(mine)
            theirs.append(other)
    return Row(data, persons, answers, float(np.median(ours)), max(ours), float(np.median(theirs)))


def main(arguments: list[str] | None = None) -> None:
    given = options("certain", __doc__).parse_args(arguments)
    turns, wanted = (1, 2) if given.quick else (TURNS, ANSWERS)
    tables = {"lognormal": drawn_salaries(PERSONS, SEED)}
    census = acs_salaries()
    if census is not None and not given.quick:
        tables["ACS"] = census
    table = Table(title=f"A refusal for certain: CPU seconds, medians of {turns} turns")
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if number < 2 else "right")
    found = []
    for data, salaries in tables.items():
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "staff.duckdb"
            build(database, salaries)
            with Gate.open(database, Policy.parse(POLICY)) as gate:
                for count in (0, wanted):
                    answers = answered(gate, len(salaries), count)
                    found.append(row := compare(data, gate, len(salaries), answers, turns))
                    table.add_row(
                        *(f"{data}, {row.persons:,}", f"{answers} answers", shown(row.ours)),
                        *(shown(row.worst), shown(row.theirs), f"{row.ratio:.1f}"),
                    )
    console = Console(width=110)
    console.print(table)
    console.print(f"Ratio: without / with bounds. Aim: {shown(AIM)} each.")
    lines = [
        Line(
            f"one person's sum, refused, after {row.answers} answers", row.data, f"{row.persons:,} persons",
            row.ours, "search alone", row.theirs,
        )
        for row in found
    ]  # fmt: skip
    write(given.json, lines, [asdict(row) for row in found])


if __name__ == "__main__":
    main()
