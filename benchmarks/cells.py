"""What finding the records of a query costs on cells, against rows, and against plain DuckDB's aggregate.

Run as `python -m benchmarks.cells`. A million persons whose five public columns repeat, salaries uniform or
lognormal, each table opened twice: with cells, and without. What a statement asks is found in both in turn,
from its plan to the record numbers, and in the same turn plain DuckDB answers the statement from the file.
Query sets and true answers are compared in the run. Then the phases of one statement outside the decision,
and opening, with and without cells. CPU seconds of all threads, whatever else is running.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from unittest import mock

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from auditor.data import cells
from auditor.data.database import Asked, Database
from auditor.parties.party import Knowledge
from auditor.policy.policy import Policy
from auditor.sql import Plan, understand
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._results import Line, options, write

ROWS, TURNS = 1_000_000, 15
VALUES = {
    "uniform": "10 * (1 + hash(i + 9) % 25)",
    "lognormal": "10 * greatest(1, least(25, round(exp(3.6 + 0.7 * sqrt(-2 * ln((hash(i + 9) % 999983 + 1) "
    "/ 999984)) * cos(2 * pi() * (hash(i + 10) % 999983) / 999983)) / 10)))",
}
STATEMENTS = {
    "one range": "SELECT SUM(salary) FROM staff WHERE age BETWEEN 30 AND 44",
    "three ranges": "SELECT SUM(salary) FROM staff WHERE age BETWEEN 30 AND 60 AND hours >= 20 AND sex = 'f'",
    "one cell in 50": "SELECT MAX(salary) FROM staff WHERE age = 33",
    "by sector": "SELECT sector, AVG(salary) FROM staff GROUP BY sector ORDER BY sector",
    "subquery": "SELECT SUM(salary) FROM staff WHERE age IN (SELECT age FROM staff WHERE sector < 'S05')",
}
PHASES = ("understand", "find", "queries", "truth", "finish")
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["age", "sex", "sector", "hours", "city"]
[limit]
risk = 0.5
"""


@dataclass(frozen=True)
class Row:
    values: str
    statement: str
    records: int
    cells: float
    rows: float
    plain: float

    @property
    def ratio(self) -> float:
        return self.rows / self.cells

    @property
    def ratio_plain(self) -> float:
        return self.cells / self.plain


@dataclass
class Opened:
    """A database, and what opening it took."""

    database: Database
    seconds: float


def build(path: Path, rows: int, values: str) -> None:
    """Persons whose public columns and salaries follow from their number."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, (16 + hash(i) % 50)::INTEGER AS age, "
            "CASE WHEN hash(i + 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
            "'S' || lpad((hash(i + 2) % 18)::VARCHAR, 2, '0') AS sector, "
            "(5 * (hash(i + 3) % 9))::INTEGER AS hours, "
            f"(hash(i + 4) % 4)::INTEGER AS city, ({values})::INTEGER AS salary FROM range({rows}) t(i)"
        )


def opened(path: Path, least: int) -> Opened:
    """Open a database; tables of fewer rows than `least` get no cells."""
    protects = Policy.parse(POLICY).protects
    with mock.patch.object(cells, "LEAST_ROWS", least), timed(time.process_time) as watch:
        database = Database.open(path, protects)
    return Opened(database, watch.seconds)


def plan_of(sql: str, database: Database) -> Plan:
    plan = understand(sql, None, database.schema)
    if not isinstance(plan, Plan):
        raise AssertionError(f"not understood: {sql}")
    return plan


def asked_afresh(database: Database, plan: Plan) -> list[Asked]:
    # what was found last is kept for `finish`; here every turn finds it anew
    database._groups.clear()
    return database.ask(plan)


def middle(runs: list[float]) -> float:
    return float(np.median(runs))


def compare(
    values: str, name: str, coarse: Database, fine: Database, plain: duckdb.DuckDBPyConnection, turns: int
) -> Row:
    """Time one statement on all sides."""
    sql = STATEMENTS[name]
    plan = plan_of(sql, coarse)
    sides: dict[str, Callable[[], object]] = {
        "cells": lambda: asked_afresh(coarse, plan),
        "rows": lambda: asked_afresh(fine, plan),
        "plain": lambda: plain.execute(sql).fetchall(),
    }
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(turns):
        for side, run in sides.items():
            with timed(time.process_time) as watch:
                run()
            seconds[side].append(watch.seconds)
    found, expected = asked_afresh(coarse, plan), asked_afresh(fine, plan)
    same = all(
        np.array_equal(one.records, two.records) and one.kind == two.kind and one.divisor == two.divisor
        for one, two in zip(found, expected, strict=True)
    )
    vault = coarse.vaults[0]
    picked = [vault.integers[each.records] for each in found]
    totals = [
        Fraction(int(units.sum() if each.kind == "sum" else units.max())) * vault.scale
        for each, units in zip(found, picked, strict=True)
    ]
    rows = [tuple(row.values()) for row in coarse.finish(plan, totals).to_pylist()]
    if not same or rows != plain.execute(sql).fetchall():
        raise AssertionError(f"cells, rows and DuckDB do not agree: {sql}")
    medians = {side: middle(runs) for side, runs in seconds.items()}
    return Row(values, name, sum(len(each.records) for each in found), **medians)


def phases(sql: str, database: Database, knowledge: Knowledge, turns: int) -> dict[str, float]:
    """Median seconds of each phase of one statement outside the decision."""
    seconds: dict[str, list[float]] = {name: [] for name in PHASES}
    party = knowledge.of("benchmark")
    for turn in range(turns):
        with timed(time.process_time) as watch:
            plan = plan_of(f"{sql} -- {turn}", database)
        seconds["understand"].append(watch.seconds)
        with timed(time.process_time) as watch:
            asked = asked_afresh(database, plan)
        seconds["find"].append(watch.seconds)
        with timed(time.process_time) as watch:
            reads = party.reads(asked)
        seconds["queries"].append(watch.seconds)
        with timed(time.process_time) as watch:
            for position, queries in reads.items():
                knowledge.truth(position, queries)
        seconds["truth"].append(watch.seconds)
        with timed(time.process_time) as watch:
            database.finish(plan, [Fraction(10)] * len(asked))
        seconds["finish"].append(watch.seconds)
    return {name: middle(runs) for name, runs in seconds.items()}


def lines_of(row: Row, rows: int) -> list[Line]:
    """Against the same by rows, and against DuckDB's own answer."""
    what, size = f"the records of a statement: {row.statement}", f"{rows:,} rows"
    return [
        Line(what, row.values, size, row.cells, "the same by rows", row.rows),
        Line(what, row.values, size, row.cells, "plain DuckDB, answered", row.plain),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = options("cells", __doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args(arguments)
    rows, turns = (20_000, 3) if given.quick else (given.rows, TURNS)
    console = Console(width=130)
    finding = Table(title=f"Finding the records of a statement, {rows:,} rows, median of {turns} turns")
    for name in (
        "values",
        "statement",
        "records",
        "cells",
        "rows",
        "rows / cells",
        "DuckDB",
        "cells / DuckDB",
    ):
        finding.add_column(name, justify="left" if name in ("values", "statement") else "right")
    around = Table(title="Outside of the decision, with cells and without")
    for name in ("values", "statement", "", *PHASES):
        around.add_column(name, justify="left" if name in ("values", "statement", "") else "right")
    found, notes = [], []
    for values, salary in VALUES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "staff.duckdb"
            build(path, rows, salary)
            coarse, fine = opened(path, 0), opened(path, rows + 1)
            (made,) = (each for each in coarse.database._loaded.cells.of_protected if each is not None)
            notes.append(
                f"{values}: {len(made.sizes):,} cells; opening {shown(coarse.seconds)} with cells, "
                f"{shown(fine.seconds)} without."
            )
            with coarse.database, fine.database, duckdb.connect(str(path), read_only=True) as plain:
                for name in STATEMENTS:
                    row = compare(values, name, coarse.database, fine.database, plain, turns)
                    found.append(row)
                    finding.add_row(
                        *(values, name, f"{row.records:,}", shown(row.cells), shown(row.rows)),
                        *(f"{row.ratio:.1f}", shown(row.plain), f"{row.ratio_plain:.1f}"),
                    )
                for side, one in (("cells", coarse.database), ("rows", fine.database)):
                    knowledge = Knowledge(Policy.parse(POLICY), one)
                    for name in ("one range", "by sector"):
                        taken = phases(STATEMENTS[name], one, knowledge, turns)
                        around.add_row(values, name, side, *(shown(taken[phase]) for phase in PHASES))
    console.print(finding)
    console.print(around)
    for note in notes:
        console.print(note)
    console.print(f"Peak memory {peak_megabytes():,.0f} MB, both databases and plain DuckDB included.")
    for name, sql in STATEMENTS.items():
        console.print(f"{name}: {sql}", style="dim")
    write(given.json, [line for row in found for line in lines_of(row, rows)], [asdict(row) for row in found])


if __name__ == "__main__":
    main()
