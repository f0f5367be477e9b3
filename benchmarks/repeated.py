"""What a repeated question costs through the gate, against plain DuckDB on the same million rows.

Run as `python -m benchmarks.repeated`. The same statement is asked again and again, of the gate and of a
plain DuckDB connection to the same file, turn by turn, each fetched whole; medians and their ratio. The
gate writes one ledger entry for each repetition, committed to disk before anything is released, and keeps
the result in memory: the same statement in other words is looked up in what past answers settle instead
("other words": another text each time). The first time, with its decision, is given for information: DuckDB
has nothing to compare it with.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy
from benchmarks._data import drawn_values, peak_megabytes, shown, timed
from benchmarks._results import Line, options, write

ROWS, TURNS = 1_000_000, 60
AIM = 1.3
SEED = 20130527
STATEMENTS = {
    "grouped": "SELECT sector, AVG(salary) AS mean FROM staff GROUP BY sector ORDER BY sector",
    "filtered": "SELECT SUM(salary) FROM staff WHERE age BETWEEN 30 AND 44 AND sex = 'f'",
}
COLUMNS = ("statement", "first time", "repeated", "worst", "DuckDB", "ratio", "other words", "ratio")
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
timeout = 120
"""


@dataclass(frozen=True)
class Row:
    statement: str
    first: float
    repeated: float
    worst: float
    plain: float
    reworded: float

    @property
    def ratio(self) -> float:
        return self.repeated / self.plain

    @property
    def ratio_reworded(self) -> float:
        return self.reworded / self.plain


def build(path: Path, rows: int, values: str) -> None:
    """Persons whose public columns follow from their number, and whose salaries are drawn."""
    drawn = pa.table({"i": np.arange(rows), "salary": drawn_values(values, rows, SEED)})
    with duckdb.connect(str(path)) as connection:
        connection.register("drawn", drawn)
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, 16 + (hash(i) % 60)::INTEGER AS age, "
            "CASE WHEN hash(i + 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
            "'S' || lpad((hash(i + 2) % 18)::VARCHAR, 2, '0') AS sector, salary::INTEGER AS salary "
            "FROM drawn"
        )


def compare(name: str, sql: str, gate: Gate, plain: duckdb.DuckDBPyConnection, turns: int) -> Row:
    with timed() as first:
        rows = gate.execute(sql).fetchall()
    if rows != plain.execute(sql).fetchall():
        raise AssertionError(f"the gate's answer is not DuckDB's: {sql}")
    repeated, reworded, rival = [], [], []
    for turn in range(turns):
        with timed() as watch:
            gate.execute(sql).fetchall()
        repeated.append(watch.seconds)
        with timed() as watch:
            plain.execute(sql).fetchall()
        rival.append(watch.seconds)
        if turn % 3 == 0:
            other = f"{sql} -- {turn}"
            with timed() as watch:
                gate.execute(other).fetchall()
            reworded.append(watch.seconds)
    medians = (float(np.median(each)) for each in (rival, reworded))
    return Row(name, first.seconds, float(np.median(repeated)), max(repeated), *medians)


def main(arguments: list[str] | None = None) -> None:
    parser = options("repeated", __doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    given = parser.parse_args(arguments)
    rows, turns = (2_000, 6) if given.quick else (given.rows, TURNS)
    table = Table(title=f"A repeated statement over {rows:,} rows, median of {turns} turns")
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if not number else "right")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "staff.duckdb"
        build(database, rows, given.values)
        with timed() as opening:
            gate = Gate.open(database, Policy.parse(POLICY))
        with gate, duckdb.connect(str(database), read_only=True) as plain:
            for name, sql in STATEMENTS.items():
                found.append(row := compare(name, sql, gate, plain, turns))
                table.add_row(
                    *(name, shown(row.first), shown(row.repeated), shown(row.worst), shown(row.plain)),
                    *(f"{row.ratio:.2f}", shown(row.reworded), f"{row.ratio_reworded:.2f}"),
                )
    console = Console(width=130)
    console.print(table)
    console.print(
        f"Ratio: gate / DuckDB, aimed at {AIM}. Opening the gate took {shown(opening.seconds)}; "
        f"peak memory {peak_megabytes():,.0f} MB, plain DuckDB included."
    )
    for name, sql in STATEMENTS.items():
        console.print(f"{name}: {sql}", style="dim")
    lines = []
    for each in found:
        size = f"{rows:,} rows, {each.statement}"
        for what, ours in (("same text", each.repeated), ("other words", each.reworded)):
            lines.append(
                Line(f"a repeated question, {what}", given.values, size, ours, "plain DuckDB", each.plain)
            )
        lines.append(
            Line("the same, the first time", given.values, size, each.first, "plain DuckDB", each.plain)
        )
    write(given.json, lines, [asdict(each) for each in found])


if __name__ == "__main__":
    main()
