"""Statements that others wrote: a verdict for each, and a table of codes and counts.

    python -m benchmarks.corpora

The corpora are another gate's tests (smartnoise, statements to parse and to turn down) and the 22 queries of
TPC-H, the latter with several columns of `lineitem` protected in turn and every understood one compared with
plain DuckDB. There is no rival: what counts is that none crashes and that none differs.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import duckdb
from rich.console import Console
from rich.progress import track
from rich.table import Table

from auditor.data.database import Asked, Database, StatementFailed
from auditor.sql import Plan, Schema, Unsupported, understand
from benchmarks import _tpch
from benchmarks._results import Line, options, write

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "sql"
PROTECTED_LINES = ("l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_linenumber")

SMARTNOISE = """
CREATE SCHEMA "PUMS"; CREATE SCHEMA "Telemetry";
CREATE TABLE "PUMS"."PUMS" AS SELECT i % 90 AS age, (i % 2)::VARCHAR AS sex, (i % 16)::VARCHAR AS educ,
    (i % 6)::VARCHAR AS race, (i * 7919 % 500) * 1000 AS income, (i % 2)::VARCHAR AS married
    FROM range(200) t(i);
CREATE TABLE "Telemetry"."Crashes" AS SELECT i % 2 = 0 AS "Refurbished", 25 + i % 40 AS "Temperature",
    'B' || i % 12 AS "Building", 'R' || i % 13 AS "Region", i AS "DeviceID", i % 11 AS "Crashes"
    FROM range(200) t(i);
CREATE TABLE "Telemetry"."Census" AS SELECT i AS "DeviceID", 'O' || i % 9 AS "OEM", 'M' || i % 5 AS "Memory",
    100 + i AS "Disk" FROM range(200) t(i);
CREATE TABLE "Telemetry"."Rollouts" AS SELECT i AS "DeviceID", i % 7 AS "RolloutID",
    TIMESTAMP '2020-01-01' + i * INTERVAL 1 DAY AS "StartTrial", TIMESTAMP '2020-02-01' + i * INTERVAL 1 DAY
    AS "EndTrial", i % 3 AS "TrialGroup" FROM range(200) t(i);
"""


@dataclass(frozen=True)
class Protection:
    """A protected column whose table is public in all else."""

    table: str
    column: str
    public: Literal["all"] = "all"
    key: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of a statement."""

    source: str
    sql: str
    code: str
    """A code of `auditor.sql`, "understood", "public"; where compared "…, same" or "DIFFERENT"."""


def smartnoise(folder: Path, shared: Path = SHARED) -> Iterator[Verdict]:
    """A verdict for each statement of smartnoise's corpora."""
    path = folder / "smartnoise.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SMARTNOISE)
    protects = [Protection("PUMS.PUMS", "income"), Protection("Telemetry.Crashes", "Temperature")]
    others = ["Telemetry.Census", "Telemetry.Rollouts"]
    with Database.open(path, protects, public_tables=others) as database:
        for file in sorted((shared / "smartnoise").glob("*.sql")):
            for sql in file.read_text("utf-8", "replace").split(";"):
                if sql.strip():
                    yield Verdict(file.stem, sql.strip(), verdict(sql, database.schema))


def tpch(folder: Path, shared: Path = SHARED) -> Iterator[Verdict]:
    """A verdict for each TPC-H query and protected column; what is understood is compared with DuckDB."""
    path = _tpch.build(folder / "tpch.duckdb")
    tables = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders"]
    for column in PROTECTED_LINES:
        with Database.open(path, [Protection("lineitem", column)], public_tables=tables) as database:
            for name, sql in _tpch.queries(shared).items():
                yield Verdict(f"{name} {column}", sql, compared(sql, database, path))


def verdict(sql: str, schema: Schema) -> str:
    """The code of a statement."""
    found = understand(sql, None, schema)
    if isinstance(found, Unsupported):
        return found.code
    return "public" if found.public else "understood"


def compared(sql: str, database: Database, path: Path) -> str:
    """The code of a statement; where it is understood, whether its rows are those of plain DuckDB."""
    plan = understand(sql, None, database.schema)
    if isinstance(plan, Unsupported):
        return plan.code
    try:
        rows = answered(plan, database)
    except StatementFailed as failed:
        return failed.code
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.execute(sql).fetchall()
    kind = "public, same" if plan.public else "aggregates, same"
    return kind if alike(rows, expected) else "DIFFERENT"


def answered(plan: Plan, database: Database) -> list[tuple[object, ...]]:
    """The rows, with every aggregate computed exactly and none refused."""
    values = [exactly(database, each) for each in database.ask(plan)]
    table = database.finish(plan, values)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def exactly(database: Database, asked: Asked) -> Fraction:
    """The sum or extreme that is asked for."""
    vault = database.vaults[asked.protected]
    chosen = [int(value) for value in vault.integers[asked.records]]
    if asked.kind == "sum":
        signs = [1] * len(chosen) if asked.signs is None else asked.signs.tolist()
        return sum(s * v for s, v in zip(signs, chosen, strict=True)) * vault.scale
    return (max(chosen) if asked.kind == "max" else min(chosen)) * vault.scale


def alike(rows: list[tuple[object, ...]], expected: list[tuple[object, ...]]) -> bool:
    """Whether rows are the same in any order, floats to twelve digits."""

    def plain(row: tuple[object, ...]) -> list[str]:
        return [f"{v:.12g}" if isinstance(v, float) else str(v) for v in row]

    return sorted(map(plain, rows)) == sorted(map(plain, expected))


def counts(verdicts: list[Verdict], title: str) -> Table:
    """Codes and counts by source."""
    table = Table("source", "statements", "codes", title=title)
    by_source: dict[str, list[str]] = {}
    for each in verdicts:
        by_source.setdefault(each.source, []).append(each.code)
    for source, codes in by_source.items():
        table.add_row(
            source, str(len(codes)), ", ".join(f"{code} {n}" for code, n in Counter(codes).most_common())
        )
    total = Counter(each.code for each in verdicts)
    table.add_row("all", str(len(verdicts)), ", ".join(f"{code} {n}" for code, n in total.most_common()))
    return table


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
    given = options("corpora", __doc__).parse_args(arguments)
    console = Console(width=120)
    if not SHARED.exists():
        console.print("the corpora are not here: ../shared/data/sql")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        statements = list(track(smartnoise(folder), "smartnoise", console=console))
        console.print(counts(statements, "smartnoise"))
        found = list(
            track(tpch(folder), "TPC-H", total=_tpch.QUERIES * len(PROTECTED_LINES), console=console)
        )
    by_column = [Verdict(each.source.split()[1], each.sql, each.code) for each in found]
    console.print(counts(by_column, f"TPC-H, {_tpch.LINES:,} lines"))
    lines = []
    for name, verdicts in (("smartnoise", statements), ("TPC-H", found)):
        codes = [each.code.split(",")[0] for each in verdicts]
        understood = sum(code in ("public", "aggregates", "understood") for code in codes)
        size = f"{len(codes)} statements"
        lines.append(Line("statements understood", name, size, understood / len(codes), unit="share"))
    differ, size = sum(each.code == "DIFFERENT" for each in found), f"{len(found)} statements"
    lines.append(Line("answers that differ", "TPC-H", size, differ, "plain DuckDB", 0, "statements"))
    write(given.json, lines, [asdict(each) for each in (*statements, *found)])


if __name__ == "__main__":
    main()
