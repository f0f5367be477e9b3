"""What a unit of protection costs at scale: hospital stays of many persons, by row and by person.

Run as `python -m benchmarks.persons --persons 100000 --rows 10`. A table of stays is made up: sex, age and
region hang on the person, month and ward on the stay, and charges are skewed. A gate is opened, and some
GROUP BYs are asked in order, once as if each row were a person and once with `unit = "person"`, each in a
process of its own, so that its peak of memory is its own. A statement that takes more CPU seconds than
`--seconds`, or a process that wants more than `--gigabytes`, ends its side there, and the table says so.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._ranges import tried
from benchmarks._results import Line, options, write
from benchmarks.usefulness.asking import Spent, budget
from benchmarks.usefulness.told import decided
from cae_sql.warming import warm

STAYS = """
CREATE TABLE stays AS SELECT
  i AS id, p AS person, (hash(i * 3) % 12)::INTEGER + 1 AS month, (hash(i * 7) % 40)::INTEGER AS ward,
  ['F', 'M'][1 + (hash(p * 13) % 2)::INTEGER] AS sex, 20 + (hash(p * 11) % 70)::INTEGER AS age,
  (hash(p * 5) % 10)::INTEGER AS region,
  least(100, round(exp(0.6 + 0.8 * (hash(i * 17) % 1000 + hash(i * 19) % 1000 + hash(i * 23) % 1000) / 500)))
    ::INTEGER AS charge
FROM (SELECT i, i // {rows} AS p FROM range({persons} * {rows}) each(i))
"""
POLICY = """
[protect]
table = "stays"
column = "charge"
minimum = 0
maximum = 100
step = 1
public = ["person", "month", "ward", "sex", "age", "region"]
{unit}
[intruder]
insiders = {insiders}
[limit]
risk = 0.5
[decision]
partial = "suppress"
timeout = 3600
[ledger]
editions = false
"""
STATEMENTS = (
    "SELECT sex, AVG(charge) FROM stays GROUP BY sex",
    "SELECT month, AVG(charge) FROM stays GROUP BY month",
    "SELECT region, SUM(charge) FROM stays GROUP BY region",
    "SELECT ward, AVG(charge) FROM stays GROUP BY ward",
    "SELECT age // 10, sex, AVG(charge) FROM stays GROUP BY ALL",
    "SELECT region, month, AVG(charge) FROM stays GROUP BY ALL",
    "SELECT AVG(charge) FROM stays WHERE age > 60 AND ward < 5",
)


@dataclass(frozen=True)
class Setting:
    """What is measured on one side."""

    persons: int
    rows: int
    insiders: int
    unit: bool
    seconds: float
    gigabytes: float
    statements: tuple[str, ...] = STATEMENTS


@dataclass
class Side:
    """What it came to."""

    opening: float = 0.0
    seconds: list[float] = field(default_factory=list)
    """Of each statement, by the wall clock."""
    exact: list[int] = field(default_factory=list)
    """Groups that are told exactly, of each."""
    groups: list[int] = field(default_factory=list)
    megabytes: float = 0.0
    ended: str = ""
    """What ended it before all was asked."""


def measured(setting: Setting) -> Side:
    """One side, in this process."""
    most = int(setting.gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    warm()
    found, unit = Side(), 'unit = "person"' if setting.unit else ""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "stays.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute(STAYS.format(rows=setting.rows, persons=setting.persons))
        policy = Policy.parse(POLICY.format(unit=unit, insiders=setting.insiders))
        with timed() as opening:
            gate = Gate.open(database, policy, Path(folder) / "stays.ledger")
        found.opening = opening.seconds
        with gate:
            for number, sql in enumerate(setting.statements, 1):
                try:
                    with budget(setting.seconds):
                        answer, decision, seconds = tried(gate, sql)
                except Spent:
                    found.ended = f"more than {setting.seconds:g} CPU seconds"
                    break
                except MemoryError:
                    found.ended = f"more than {setting.gigabytes:g} GB"
                    break
                told = [each.told for each in decided(number, sql, "charge", answer, decision)]
                found.seconds.append(seconds)
                found.exact.append(told.count("exact"))
                found.groups.append(len(told))
    found.megabytes = peak_megabytes()
    return found


def apart(setting: Setting) -> Side:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, setting).result()


def cells(side: Side, place: int) -> tuple[str, str]:
    """Groups told exactly, and seconds."""
    if place < len(side.seconds):
        return f"{side.exact[place]} of {side.groups[place]}", shown(side.seconds[place])
    return ("", side.ended) if place == len(side.seconds) else ("", "")


def main(arguments: list[str] | None = None) -> None:
    """Both sides, side by side."""
    parser = options("persons", __doc__)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=10, help="of each person")
    parser.add_argument("--insiders", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="CPU seconds of one statement, at most")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="of one side, at most")
    given = parser.parse_args(arguments)
    persons, rows = (300, 4) if given.quick else (given.persons, given.rows)
    asked = STATEMENTS[:3] if given.quick else STATEMENTS
    each = (given.seconds, given.gigabytes, asked)
    one, other = (apart(Setting(persons, rows, given.insiders, unit, *each)) for unit in (False, True))
    table = Table(title=f"{persons:,} persons with {rows} rows each")
    for name in ("", "by row", "seconds", "by person", "seconds"):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("open", "", shown(one.opening), "", shown(other.opening))
    for place, sql in enumerate(asked):
        table.add_row(sql, *cells(one, place), *cells(other, place))
    table.add_row("peak MB", "", f"{one.megabytes:,.0f}", "", f"{other.megabytes:,.0f}")
    Console(width=140).print(table)
    size = f"{persons:,} persons, {persons * rows:,} rows"
    both = min(len(one.seconds), len(other.seconds))
    lines = [
        Line("opening, by person", "skewed", size, other.opening, "by row", one.opening),
        Line(
            f"{both} GROUP BYs, by person", "skewed", size, sum(other.seconds[:both]), "by row",
            sum(one.seconds[:both]), peak_megabytes=other.megabytes, note=other.ended,
        ),
    ]  # fmt: skip
    write(given.json, lines, [asdict(one), asdict(other)])


if __name__ == "__main__":
    main()
