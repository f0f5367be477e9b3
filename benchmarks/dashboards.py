"""What dashboards cost through the gate: thousands of statements about few groups, against plain DuckDB.

Run as `python -m benchmarks.dashboards`. Sums, means, maxima, minima and counts of 48 groups, of their unions
and of GROUP BYs over them are asked again and again, hardly ever in the same words; one statement in fifty
asks about a single person, and is refused. What all of them ask has a small rank, so nearly everything
follows from what was answered before. The question is whether the n-th statement costs what the rank costs,
or what n does: medians of each tenth of the statements, beside those of plain DuckDB on the same file asked
the same, turn by turn, each fetched whole. Every answer is compared with DuckDB's. Every statement is on the
ledger before anything of it is released; the answers on record are what was new.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from benchmarks._data import drawn_values, peak_megabytes, shown, timed
from benchmarks._results import Line, options, write

ROWS, STATEMENTS, PARTS = 100_000, 5_000, 10
SECTORS, REGIONS = 12, 4
SINGLE = 0.02
"""Share of statements about one person."""
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
COLUMNS = ("statements", "gate", "worst", "DuckDB", "gate / DuckDB", "memory now", "new", "known", "refused")


@dataclass
class Part:
    """One tenth of the statements."""

    gate: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    megabytes: float = 0.0

    @property
    def medians(self) -> tuple[float, float]:
        """The gate's, and DuckDB's."""
        return float(np.median(self.gate)), float(np.median(self.plain))


def build(path: Path, rows: int, kind: str) -> None:
    """Persons with a sector, a region and a sex, and a salary that has nothing to do with them."""
    generator = np.random.default_rng(1)
    drawn = pa.table(
        {
            "id": np.arange(rows),
            "sector": generator.integers(0, SECTORS, rows),
            "region": generator.integers(0, REGIONS, rows),
            "age": generator.integers(18, 68, rows),
            "salary": drawn_values(kind, rows, 2),
        }
    )
    with duckdb.connect(str(path)) as connection:
        connection.register("drawn", drawn)
        connection.execute("CREATE TABLE staff AS SELECT * FROM drawn")


def statements(count: int, seed: int) -> Iterator[str]:
    """Questions about sectors × regions and their unions, hardly ever in the same words."""
    generator = np.random.default_rng(seed)
    wholes = list(range(SECTORS))
    for number in range(count):
        sector, region = int(generator.integers(SECTORS)), int(generator.integers(REGIONS))
        few = ", ".join(str(each) for each in sorted(generator.choice(wholes, 3, replace=False).tolist()))
        kind = ("SUM", "AVG", "AVG", "COUNT", "MAX", "MIN")[int(generator.integers(6))]
        condition = (
            f"sector = {sector} AND region = {region}",
            f"region = {region} AND sector BETWEEN {sector} AND {sector}",
            f"sector = {sector}",
            f"sector IN ({few})",
            f"region = {region}",
            f"sector IN ({few}) AND region <> {region}",
        )[int(generator.integers(6))]
        grouped = f"{kind}(salary) AS v{number} FROM staff"
        if generator.random() < SINGLE:
            yield f"SELECT SUM(salary) AS v{number} FROM staff WHERE id = {region}"
        else:
            yield (
                f"SELECT {grouped} WHERE {condition}",
                f"SELECT sector, {grouped} WHERE region = {region} GROUP BY sector ORDER BY sector",
                f"SELECT region, {kind}(salary) AS v FROM staff GROUP BY region ORDER BY region",
            )[int(generator.choice(3, p=(0.7, 0.2, 0.1)))]


def resident_megabytes() -> float:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


def ask(sql: str, part: Part, gate: Gate, plain: duckdb.DuckDBPyConnection) -> None:
    with timed() as watch:
        expected = plain.execute(sql).fetchall()
    part.plain.append(watch.seconds)
    with timed() as watch:
        try:
            answer = gate.execute(sql)
            found, code = answer.fetchall(), answer.decision.code
        except QueryRefused as error:
            found, code = expected, error.decision.code
    part.gate.append(watch.seconds)
    part.codes[code] += 1
    part.megabytes = resident_megabytes()
    # what is withheld, or told as an end, is NULL
    cells = [
        (mine, theirs)
        for row, other in zip(found, expected, strict=True)
        for mine, theirs in zip(row, other, strict=True)
    ]
    if any(mine != theirs for mine, theirs in cells if mine is not None):
        raise AssertionError(f"the gate's answer is not DuckDB's: {sql}")


def run(kind: str, rows: int, count: int, folder: Path) -> tuple[list[Part], int]:
    """Ask all statements, of the gate and of DuckDB, turn by turn; and how many answers are on record."""
    database = folder / f"{kind}.duckdb"
    build(database, rows, kind)
    parts = [Part() for _ in range(PARTS)]
    with (
        Gate.open(database, Policy.parse(POLICY)) as gate,
        duckdb.connect(str(database), read_only=True) as plain,
    ):
        for number, sql in enumerate(statements(count, seed=3)):
            ask(sql, parts[number * PARTS // count], gate, plain)
        return parts, gate.verify().answers


def main(arguments: list[str] | None = None) -> None:
    parser = options("dashboards", __doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--statements", type=int, default=STATEMENTS)
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    given = parser.parse_args(arguments)
    rows, count = (1_000, 10) if given.quick else (given.rows, given.statements)
    with tempfile.TemporaryDirectory() as folder:
        parts, recorded = run(given.values, rows, count, Path(folder))
    table = Table(
        title=f"{count:,} statements of dashboards over {rows:,} rows ({given.values}), by tenths, medians"
    )
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if not number else "right")
    for number, part in enumerate(parts):
        gate, plain = part.medians
        refused = sum(part.codes[code] for code in ("risk", "range", "time"))
        table.add_row(
            *(f"to {(number + 1) * count // PARTS:,}", shown(gate), shown(max(part.gate)), shown(plain)),
            *(f"{gate / plain:.1f}", f"{part.megabytes:,.0f} MB"),
            *(f"{each:,}" for each in (part.codes["answered"], part.codes["known"], refused)),
        )
    console = Console(width=130)
    console.print(table)
    whole = [
        sum(sum(each) for each in lists) for lists in zip(*((p.gate, p.plain) for p in parts), strict=True)
    ]
    console.print(
        f"All of them took {shown(whole[0])}, DuckDB {shown(whole[1])}. {recorded:,} answers are on record. "
        f"Peak memory {peak_megabytes():,.0f} MB, plain DuckDB included."
    )
    size = f"{rows:,} rows, {count:,} statements"
    lines = [
        Line(f"dashboards, {what}", given.values, size, ours, "plain DuckDB", theirs)
        for what, (ours, theirs) in (
            ("a statement of the third tenth", parts[2].medians),
            ("a statement of the last tenth", parts[-1].medians),
            ("all statements", whole),
        )
    ]
    write(given.json, lines, {"parts": [asdict(part) for part in parts], "recorded": recorded})


if __name__ == "__main__":
    main()
