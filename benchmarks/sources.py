"""What cells of a source save: TPC-H's lineitem in Parquet, opened as cells and as records, and asked.

Run as `python -m benchmarks.sources --scale 0.1`; `tpchgen-cli` (from PyPI) makes the table, 6,000,000 rows
for each unit of scale. l_quantity is protected, five columns are public, and 100 questions are asked. Each of
cells, records and plain DuckDB over the file is a process of its own: seconds to open, seconds for the
questions, and its peak memory. The rival of cells is `mode = "records"` in the same run; plain DuckDB answers
the same questions with no gate between. Rows of what a gate answers are compared with those of DuckDB. Of
more than 3,000,000 rows records are left out: they would fill the memory. `--quick` asks two questions of a
table of 6,000 rows that is made here.

`--beside PostgreSQL Spark` has the same questions answered by these too, without a gate, and the cells made
by them: a server of the benchmark's own over a table that was loaded, and a cluster of a master and two
workers of one core each over the file. The peak is that of the process that asks, not of the engine.

`--streamed 1000000000` asks a table that is never there as a whole: made-up batches of so many rows in
100,000 cells, which the gate reads once, as cells.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused, QueryUnsupported
from benchmarks import _postgres, _spark, _tpch
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._results import Line, options, write

QUESTIONS, FEW = 100, 2
MOST_RECORDS = 3_000_000
"""Of more rows no gate is opened by records."""
BATCH = 5_000_000
HERE, ENGINES = ("cells", "records", "DuckDB"), ("PostgreSQL", "Spark")
MODES = (*HERE, *ENGINES, *(f"cells by {engine}" for engine in ENGINES))
POLICY = """
[protect]
table = "lineitem"
column = "l_quantity"
minimum = 1
maximum = 50
step = 1
public = ["l_returnflag", "l_linestatus", "l_shipmode", "l_shipinstruct", "l_linenumber"]
[limit]
risk = 0.5
[source]
mode = "{mode}"
"""
COLUMNS = {
    "l_quantity": "NUMERIC(15, 2)", "l_returnflag": "TEXT", "l_linestatus": "TEXT", "l_shipmode": "TEXT",
    "l_shipinstruct": "TEXT", "l_linenumber": "INTEGER",
}  # fmt: skip
"""With PostgreSQL's types."""
GROUPS = (
    "l_returnflag", "l_linestatus", "l_shipmode", "l_shipinstruct", "l_linenumber",
    "l_returnflag, l_linestatus", "l_shipmode, l_shipinstruct", "l_shipmode, l_linenumber",
)  # fmt: skip
AGGREGATES = ("SUM(l_quantity) AS q", "AVG(l_quantity) AS q, COUNT(*) AS n", "MAX(l_quantity) AS q")
CONDITIONS = (
    "", "WHERE l_linenumber <= 3", "WHERE l_shipmode IN ('AIR', 'REG AIR')", "WHERE l_returnflag = 'N'",
    "WHERE l_shipinstruct <> 'NONE' AND l_linenumber > 2",
)  # fmt: skip


def questions(count: int) -> list[str]:
    """A day's: groups, aggregates, conditions."""
    found = [
        f"SELECT {group}, {aggregate} FROM lineitem {condition} GROUP BY {group} ORDER BY {group}"
        for condition, aggregate, group in product(CONDITIONS, AGGREGATES, GROUPS)
    ]
    return found[:: len(found) // count][:count]


def made(folder: Path, scale: float, quick: bool) -> Path:
    """The table in a Parquet file.

    Raises:
        SystemExit: what makes it is not installed.
    """
    path = folder / "lineitem.parquet"
    if quick:
        with duckdb.connect(str(_tpch.build(folder / "tpch.duckdb")), read_only=True) as connection:
            connection.execute(f"COPY lineitem TO '{path}'")
        return path
    program = shutil.which("tpchgen-cli") or shutil.which(
        "tpchgen-cli", path=str(Path(sys.executable).parent)
    )
    if program is None:
        sys.exit("tpchgen-cli is not installed; pip install tpchgen-cli")
    arguments = ["parquet", "-s", f"{scale:g}", "--tables=lineitem", f"--output-dir={folder}"]
    subprocess.run([program, *arguments], check=True, capture_output=True)
    return path


def asked(path: str, mode: str, count: int) -> dict[str, Any]:
    """Open the table and ask: what it takes, and what is answered, by question.

    Args:
        path: Of the Parquet file; of PostgreSQL the server's address.
        mode: One of `MODES`.
        count: How many questions.
    """
    with ExitStack() as running:
        source: Any = path
        if mode.endswith("Spark"):
            folder = running.enter_context(tempfile.TemporaryDirectory())
            session = running.enter_context(_spark.cluster(Path(folder)))
            session.read.parquet(path).createOrReplaceTempView("lineitem")
            session.sql("SELECT count(*) FROM lineitem").collect()  # both workers are up
        if mode == "DuckDB":
            connection = running.enter_context(duckdb.connect())
            return plainly(
                count,
                lambda sql: connection.execute(sql.replace("FROM lineitem", f"FROM '{path}'")).fetchall(),
            )
        if mode == "PostgreSQL":
            server = running.enter_context(_postgres.connected(path))
            return plainly(count, lambda sql: server.execute(sql).fetchall())
        if mode == "Spark":
            return plainly(count, lambda sql: list(map(tuple, session.sql(sql).collect())))
        if mode == "cells by Spark":
            import ibis

            source = ibis.pyspark.connect(session).table("lineitem")
        return gated(source, "records" if mode == "records" else "cells", count)


def plainly(count: int, ask: Callable[[str], Sequence[Sequence[Any]]]) -> dict[str, Any]:
    """The same without a gate."""
    with timed() as asking:
        rows = [ask(sql) for sql in questions(count)]
    return told(0.0, asking.seconds, list(map(_written, rows)))


def gated(source: Any, mode: str, count: int) -> dict[str, Any]:
    """Through a gate."""
    answers: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        with timed() as opening:
            gate = Gate.open(source, Policy.parse(POLICY.format(mode=mode)), Path(folder) / "one.ledger")
        with gate, timed() as asking:
            for sql in questions(count):
                try:
                    answer = gate.execute(sql)
                    exact = answer.decision.code in ("answered", "known")
                    answers.append(_written(answer.fetchall()) if exact else None)
                except (QueryRefused, QueryUnsupported):
                    answers.append(None)
    return told(opening.seconds, asking.seconds, answers)


def _written(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows as JSON has them."""
    return [[each if isinstance(each, str) else float(each) for each in row] for row in rows]


def differs(ours: Sequence[Sequence[Any]], theirs: Sequence[Sequence[Any]], engine: bool) -> bool:
    """Whether rows are others.

    A gate's numbers are DuckDB's but for the last bit of a mean; another engine may round to six decimals.
    """
    closest: dict[str, float] = {"rel_tol": 1e-12, "abs_tol": 1e-6} if engine else {"rel_tol": 2.0**-52}
    return len(ours) != len(theirs) or any(
        a != b if isinstance(a, str) else not math.isclose(a, b, **closest)
        for one, other in zip(ours, theirs, strict=True)
        for a, b in zip(one, other, strict=True)
    )


class Streamed:
    """Rows that are made as they are read; every reading of them gives the same."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        schema = pa.schema([("a", pa.int16()), ("b", pa.int16()), ("c", pa.int16()), ("v", pa.int16())])

        def batches() -> Iterator[pa.RecordBatch]:
            rng = np.random.default_rng(0)
            for first in range(0, self.rows, BATCH):
                count = min(BATCH, self.rows - first)
                cell = rng.integers(0, 100_000, count, dtype=np.int32)
                value = np.minimum(rng.integers(0, 60, count, dtype=np.int16) + cell % 37, 100)
                columns = [cell // 2_000, cell // 100 % 20, cell % 100, value]
                yield pa.record_batch([pa.array(each.astype(np.int16)) for each in columns], schema)

        return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__(requested_schema)


def streamed(rows: int, count: int) -> dict[str, Any]:
    """Open so many rows as cells, and ask about groups and ranges of the public columns."""
    rng, answers = np.random.default_rng(1), list[str | None]()
    policy = (
        POLICY[: POLICY.index("public")] + 'public = ["a", "b", "c"]' + POLICY[POLICY.index("\n[limit]") :]
    )
    for old, new in (("lineitem", "t"), ("l_quantity", "v"), ("minimum = 1", "minimum = 0"), ("50", "100")):
        policy = policy.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        with timed() as opening:
            gate = Gate.open(Streamed(rows), Policy.parse(policy.format(mode="cells")), Path(folder) / "l")
        with gate, timed() as asking:
            for _ in range(count):
                a, b, c = (sorted(rng.integers(0, most, 2).tolist()) for most in (50, 20, 100))
                where = f"a BETWEEN {a[0]} AND {a[1]} AND b BETWEEN {b[0]} AND {b[1]} AND c <= {c[1]}"
                try:
                    answer = gate.execute(f"SELECT AVG(v), COUNT(*) FROM t WHERE {where}")
                    answers.append(str(answer.fetchall()) if answer.decision.code == "answered" else None)
                except (QueryRefused, QueryUnsupported):
                    answers.append(None)
    return told(opening.seconds, asking.seconds, answers)


def told(opening: float, asking: float, answers: list[Any]) -> dict[str, Any]:
    """As one process tells it to the other."""
    return {"opening": opening, "asking": asking, "peak": peak_megabytes(), "answers": answers}


def apart(path: Path | str, mode: str, count: int) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.sources",
        "--inner",
        mode,
        "--table",
        str(path),
        "--questions",
        f"{count}",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{mode}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = options("sources", __doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="how many")
    parser.add_argument("--beside", nargs="*", choices=ENGINES, default=(), help="engines that answer too")
    parser.add_argument("--streamed", type=int, metavar="ROWS", help="rows that are never there as a whole")
    parser.add_argument("--inner", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.inner:
        try:
            print(json.dumps(asked(given.table, given.inner, given.questions)))
        except _spark.NoCluster as missing:
            sys.exit(str(missing))
        return
    count = FEW if given.quick else given.questions
    if given.streamed:
        of_stream = streamed(given.streamed, count)
        answered = sum(each is not None for each in of_stream["answers"])
        print(
            f"{given.streamed:,} rows as cells: opening {shown(of_stream['opening'])}, {answered} of {count} "
            f"questions exactly in {shown(of_stream['asking'])}, at most {of_stream['peak']:,.0f} MB"
        )
        return
    began = time.perf_counter()
    rows, found = measured(given.scale, given.quick, count, given.beside)
    lines = compared(rows, found, count, given.beside)
    print(f"All of it took {shown(time.perf_counter() - began)}.")
    write(given.json, lines, found)


Found = dict[str, dict[str, Any]]
"""By mode what one process told."""


def measured(scale: float, quick: bool, count: int, beside: Sequence[str]) -> tuple[int, Found]:
    """How many rows the table has, and every mode, each in a process of its own, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder), scale, quick)
        rows = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
        found = {mode: apart(path, mode, count) for mode in HERE if mode != "records" or rows <= MOST_RECORDS}
        if "Spark" in beside:
            found |= {mode: apart(path, mode, count) for mode in MODES if mode.endswith("Spark")}
        if "PostgreSQL" in beside:
            with _postgres.running() as url:
                _postgres.load(url, path, "lineitem", COLUMNS)
                found |= {mode: apart(url, mode, count) for mode in MODES if mode.endswith("PostgreSQL")}
    return rows, found


def compared(rows: int, found: Found, count: int, beside: Sequence[str]) -> list[Line]:
    """A table of it, and its lines; ends where rows are not those of DuckDB."""
    console = Console(width=120)
    table = Table(title=f"lineitem, {rows:,} rows, {count} questions")
    for name in ("read as", "opening", "questions", "answered exactly", "peak memory"):
        table.add_column(name, justify="left" if name == "read as" else "right")
    lines, plain = list[Line](), found["DuckDB"]
    for mode, each in found.items():
        exact = [place for place, rows_ in enumerate(each["answers"]) if rows_ is not None]
        wrong = [
            place
            for place in exact
            if differs(each["answers"][place], plain["answers"][place], mode in ENGINES)
        ]
        if wrong:
            sys.exit(f"{mode} answers otherwise than DuckDB: {questions(count)[wrong[0]]}")
        table.add_row(
            mode, shown(each["opening"]), shown(each["asking"]), str(len(exact)), f"{each['peak']:,.0f} MB"
        )
    size, cells, records = f"{rows:,} rows", found["cells"], found.get("records")
    for what, key in (
        (
            ("opening a source as cells", "opening"),
            (f"{count} questions of cells", "asking"),
        )
        if records
        else ()
    ):
        assert records
        lines.append(
            Line(what, "TPC-H", size, cells[key], "as records", records[key], peak_megabytes=cells["peak"])
        )
    lines.append(Line(
        f"{count} questions of cells", "TPC-H", size, cells["asking"], "plain DuckDB, no gate",
        plain["asking"], peak_megabytes=cells["peak"],
    ))  # fmt: skip
    for engine in beside:
        lines.append(
            Line(f"{count} questions of cells", "TPC-H", size, cells["asking"], f"plain {engine}, no gate",
                 found[engine]["asking"])
        )  # fmt: skip
    if records:
        lines.append(
            Line("memory of cells", "TPC-H", size, cells["peak"], "as records", records["peak"], unit="MB")
        )
    console.print(table)
    return lines


if __name__ == "__main__":
    main()
