"""A month of a table that grows: every day some are hired, leave or get a raise, and a few things are asked.

Run as `python -m benchmarks.editions`. The data are ACS; hires, leavers and raises are made up, with a fixed
seed: a hire has the public columns of one person and the salary of another, a raise is one or two steps. Each
evening the new state is opened as an edition of one ledger (`cae-sql renew`), and each day the same few
statements are asked: what a dashboard shows. What is not told exactly is asked again as a range, where
the hint says how.

Told by day: how many values were told exactly, known already as a whole statement, as ranges, and withheld;
seconds for renewing, opening and the slowest statement; the records of the system and the size of the ledger.
The rival is a connection without a gate, which tells everything. With `--afresh` each day has a ledger of its
own, which is what forgetting would give: the totals of a day less those before are then the changes of
that day's few people.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from auditor import Answer, Gate, Policy
from auditor.errors import CoarserGridWarning
from benchmarks._data import ACS, peak_megabytes, timed
from benchmarks._ranges import pasted, tried
from benchmarks._results import Line, options, write

SEED = 20130527
LOW, HIGH, STEP = 10, 250, 10
HIRED, LEFT, RAISED = 0.005, 0.005, 0.01
"""Parts of all, a day."""
STATEMENTS = (
    "SELECT AVG(salary) FROM person",
    "SELECT sex, AVG(salary) FROM person GROUP BY sex ORDER BY sex",
    "SELECT industry, AVG(salary) FROM person GROUP BY industry ORDER BY industry",
    "SELECT education >= 13 AS college, AVG(salary) FROM person GROUP BY college ORDER BY college",
    "SELECT age // 10 AS decade, SUM(salary) FROM person WHERE age BETWEEN 20 AND 69 GROUP BY decade "
    "ORDER BY decade",
    "SELECT AVG(salary) FROM person WHERE travel_time > 45",
)
COLUMNS = ("day", "persons", "system", "exact", "known", "ranges", "withheld", "renewing", "opening",
           "a statement, worst", "ledger", "peak MB")  # fmt: skip


@dataclass
class Day:
    """What was told on one day."""

    number: int
    persons: int = 0
    records: int = 0
    """Of the system: of all editions."""
    told: Counter[str] = field(default_factory=Counter)
    """Values by "exact", "known", "ranges" and "withheld"."""
    renewing: float = 0.0
    opening: float = 0.0
    seconds: list[float] = field(default_factory=list)
    ledger: int = 0
    """Bytes."""
    peak: float = 0.0


def policy() -> Policy:
    return Policy.parse(
        f'[protect]\ntable = "person"\ncolumn = "salary"\nminimum = {LOW}\nmaximum = {HIGH}\nstep = {STEP}\n'
        'key = "id"\npublic = ["age", "sex", "education", "industry", "occupation", "travel_time"]\n'
        "[limit]\nrisk = 0.5\n"
    )


def states(days: int, rows: int | None) -> Iterator[pd.DataFrame]:
    """The table as it is on each day."""
    with duckdb.connect() as connection:
        limit = "" if rows is None else f"LIMIT {rows}"
        table = connection.execute(f"SELECT * FROM read_csv('{ACS}') ORDER BY id {limit}").df()
    rng, latest = np.random.default_rng(SEED), int(table["id"].max())
    for day in range(days):
        if day:
            count = len(table)
            table = table[rng.permutation(count) >= max(1, round(LEFT * count))].reset_index(drop=True)
            chosen = rng.choice(len(table), max(1, round(RAISED * count)), replace=False)
            salaries = table["salary"].to_numpy().copy()
            raises = STEP * rng.integers(1, 3, len(chosen))
            # at the top of the domain nothing is left but to earn less
            salaries[chosen] += np.where(salaries[chosen] + raises <= HIGH, raises, -raises)
            table["salary"] = salaries
            new = table.sample(max(1, round(HIRED * count)), random_state=rng)
            new = new.assign(
                id=range(latest + 1, latest + 1 + len(new)), salary=rng.permutation(salaries)[: len(new)]
            )
            latest += len(new)
            table = pd.concat([table, new], ignore_index=True)
        yield table


def asked(gate: Gate, sql: str, groups: int, day: Day) -> None:
    """Ask for so many values, and once more for ranges where something is missing."""
    answer, decision, seconds = tried(gate, sql)
    day.seconds.append(seconds)
    exact = _values(answer)
    day.told["known" if decision.code == "known" else "exact"] += exact
    again = None if answer is not None and exact == groups else pasted(decision)
    ends = 0
    if again is not None:
        ranged, _, seconds = tried(gate, again)
        day.seconds.append(seconds)
        ends = (
            0
            if ranged is None
            else sum(row[-1] is not None and row[-2] is not None for row in ranged.fetchall())
        )
    ranges = max(0, ends - exact)
    day.told["ranges"] += ranges
    day.told["withheld"] += groups - exact - ranges


def _values(answer: Answer | None) -> int:
    """How many groups have a value."""
    return sum(row[-1] is not None for row in ([] if answer is None else answer.fetchall()))


def _groups(table: pd.DataFrame, sql: str) -> int:
    """How many values a connection without a gate gives."""
    with duckdb.connect() as plain:
        plain.register("person", table)
        return len(plain.execute(sql).fetchall())


def month(days: int, rows: int | None, afresh: bool, statements: Sequence[str] = STATEMENTS) -> Iterator[Day]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarserGridWarning)
        rules, ledger = policy(), Path(folder) / "person.ledger"
        for number, table in enumerate(states(days, rows)):
            day = Day(number + 1, persons=len(table))
            source = {"person": table}
            if afresh:
                ledger = Path(folder) / f"{number}.ledger"
            elif number:
                with timed() as renewing:
                    Gate.renew(source, rules, ledger)
                day.renewing = renewing.seconds
            with timed() as opening:
                gate = Gate.open(source, rules, ledger)
            day.opening = opening.seconds
            with gate:
                for sql in statements:
                    asked(gate, sql, _groups(table, sql), day)
                day.records = gate._knowledge.columns[0].size
            day.ledger = sum(each.stat().st_size for each in Path(folder).glob(f"{ledger.name}*"))
            day.peak = peak_megabytes()
            yield day


def main(arguments: list[str] | None = None) -> None:
    parser = options("editions", __doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--afresh", action="store_true", help="a ledger of its own for each day")
    given = parser.parse_args(arguments)
    if not ACS.is_file():
        print("the data are not beside the project (../shared/data)")
        write(given.json, [], [])
        return
    days, rows, statements = (2, 300, STATEMENTS[:2]) if given.quick else (given.days, None, STATEMENTS)
    console, found = Console(width=150), list[Day]()
    table = Table(title="One ledger" if not given.afresh else "A ledger for each day")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for day in month(days, rows, given.afresh, statements):
        found.append(day)
        table.add_row(
            *map(str, (day.number, day.persons, day.records)),
            *(str(day.told[kind]) for kind in ("exact", "known", "ranges", "withheld")),
            f"{day.renewing:.2f} s", f"{day.opening:.2f} s", f"{max(day.seconds):.1f} s",
            f"{day.ledger / 1e6:.2f} MB", f"{day.peak:.0f}",
        )  # fmt: skip
    console.print(table)
    last, tells = found[-1], sum((day.told for day in found), Counter())
    values = sum(tells.values())
    whole, worst = f"{len(found)} days", max(max(day.seconds) for day in found)
    exact = (tells["exact"] + tells["known"]) / values
    lines = [
        Line("editions: values told exactly", "ACS", whole, exact, "no gate", 1.0, unit="share"),
        Line("editions: told as ranges", "ACS", whole, tells["ranges"] / values, unit="share"),
        Line("editions: renewing, the last day", "ACS", f"{last.persons:,} persons", last.renewing),
        Line("editions: a statement, worst", "ACS", f"{last.records:,} records", worst),
    ]
    write(given.json, lines, [asdict(day) | {"told": dict(day.told)} for day in found])


if __name__ == "__main__":
    main()
