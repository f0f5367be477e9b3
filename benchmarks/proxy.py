"""What the proxy costs: throughput and latency at 1, 8 and 32 connections, beside the same without a gate.

Run as `python -m benchmarks.proxy`. pgbench asks one statement again and again (simple queries, and prepared
ones) of `cae-sql serve`; of the same server with a source that runs each statement in DuckDB and asks no gate
("no gate"); and of PostgreSQL on the same rows. Besides, threads ask DuckDB in the process. Statements: one
that is repeated; new ones that read public columns alone; new ones over the protected column, for each run
with a fresh ledger, decided on until what was answered settles the rest. A refusal would end pgbench, so for
these psycopg in threads asks, and a refusal counts as an answer.

Aim: a repeated statement costs the proxy no more than 1.5 times of what it costs without gate, in latency at
one connection and in throughput at 8 and 32. Without PostgreSQL there is no pgbench, and nothing is measured.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks._data import peak_megabytes, shown
from benchmarks._pgbench import Measured, pgbench, program
from benchmarks._results import Line, options, write
from benchmarks._serving import NAME, PASSWORD
from benchmarks.repeated import build

ROWS, SECONDS, CONNECTIONS = 100_000, 3.0, (1, 8, 32)
AIM = 1.5
TARGETS = ("proxy", "no gate", "PostgreSQL", "DuckDB")


@dataclass(frozen=True)
class Question:
    """What is asked."""

    script: str
    """For pgbench."""
    sql: str
    """For DuckDB in the process."""
    draws: tuple[tuple[int, int], ...] = ()
    """Least and greatest of each parameter."""
    decided: bool = False
    """Whether the gate has to decide: each run then begins a ledger."""


GROUPED = "SELECT sector, AVG(salary) AS mean FROM staff GROUP BY sector ORDER BY sector"
SUMMED = "SELECT SUM(salary) FROM staff WHERE age BETWEEN {} AND {} AND sex = 'f'"
COUNTED = "SELECT COUNT(*) FROM staff WHERE age >= {} AND id < {}"
DECIDED = "SELECT SUM(salary) FROM staff WHERE age BETWEEN {} AND {}"
QUESTIONS = {
    "repeated": Question(
        f"\\set low 30\n\\set high 44\n{SUMMED.format(':low', ':high')};\n", SUMMED.format("?", "?"),
        ((30, 30), (44, 44)),
    ),
    "repeated, 18 rows": Question(f"{GROUPED};\n", GROUPED),
    "new, public columns": Question(
        f"\\set low random(16, 60)\n\\set most random(1, {ROWS})\n{COUNTED.format(':low', ':most')};\n",
        COUNTED.format("?", "?"), ((16, 60), (1, ROWS)),
    ),
    "new, to be decided": Question(
        f"\\set low random(16, 60)\n\\set high :low + random(0, 15)\n{DECIDED.format(':low', ':high')};\n",
        DECIDED.format("?", "?"),
        ((16, 60), (16, 75)), decided=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One cell of the table."""

    question: str
    mode: str
    connections: int
    target: str
    per_second: float
    median: float
    late: float
    count: int


@contextlib.contextmanager
def served(kind: str, folder: Path) -> Iterator[list[str]]:
    """A server in a process of its own; how pgbench finds it."""
    command = [sys.executable, "-m", "benchmarks._serving", kind, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"the server ({kind}) did not start")
            yield ["-h", "127.0.0.1", "-p", port, "-U", NAME, "staff"]
        finally:
            process.terminate()
            process.wait(30)


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[list[str]]:
    """PostgreSQL on a free port of loopback, with the same table."""
    from tests.auditor.proxy import postgres_server

    with contextlib.suppress(FileNotFoundError):
        (folder / "staff.csv").unlink()
    with duckdb.connect(str(folder / "staff.duckdb"), read_only=True) as connection:
        connection.execute(f"COPY staff TO '{folder / 'staff.csv'}' (HEADER false)")
    import psycopg

    with postgres_server.running() as place:
        with psycopg.connect(**place, autocommit=True) as connection:
            connection.execute("CREATE TABLE staff (id bigint, age int, sex text, sector text, salary int)")
            with connection.cursor().copy("COPY staff FROM STDIN (FORMAT csv)") as copy:
                copy.write((folder / "staff.csv").read_bytes())
            connection.execute("VACUUM ANALYZE staff")
        yield ["-h", place["host"], "-U", place["user"], place["dbname"]]


def in_process(database: Path, question: Question, clients: int, seconds: float) -> Measured:
    """Threads, each with a cursor of its own, on one DuckDB."""
    with duckdb.connect(str(database), read_only=True) as connection:
        cursors = [connection.cursor() for _ in range(clients)]

        def ask(place: int, values: list[int]) -> None:
            cursors[place].execute(question.sql, values).fetchall()

        return at_once(ask, question, clients, seconds)


def with_psycopg(question: Question, mode: str, clients: int, seconds: float, place: list[str]) -> Measured:
    """Threads, each with a connection of its own; a refusal is an answer too."""
    import psycopg

    given = dict(zip(place[:-1:2], place[1::2], strict=True))
    text = question.sql.replace("?", "%s")
    where = {"host": given["-h"], "port": given.get("-p", "5432"), "user": given["-U"], "dbname": place[-1]}
    threshold = 0 if mode == "prepared" else None
    with contextlib.ExitStack() as opened:
        connections = [
            opened.enter_context(
                psycopg.connect(
                    **where,  # type: ignore[arg-type]
                    password=PASSWORD,
                    autocommit=True,
                    prepare_threshold=threshold,
                    cursor_factory=psycopg.Cursor if threshold == 0 else psycopg.ClientCursor,
                )
            )
            for _ in range(clients)
        ]

        def ask(place: int, values: list[int]) -> None:
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                connections[place].execute(text, values).fetchall()

        return at_once(ask, question, clients, seconds)


def at_once(
    ask: Callable[[int, list[int]], None], question: Question, clients: int, seconds: float
) -> Measured:
    """Threads that ask on and on, each with values of its own."""
    took: list[list[float]] = [[] for _ in range(clients)]
    ready = threading.Barrier(clients + 1)

    def run(place: int) -> None:
        rng = np.random.default_rng(place)
        ready.wait()
        end = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < end:
            ask(place, [int(rng.integers(low, high + 1)) for low, high in question.draws])
            took[place].append(time.perf_counter() - begun)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    lasted = time.perf_counter() - begun
    every = np.concatenate([np.array(each) for each in took])
    late = float(np.quantile(every, 0.95))
    return Measured(len(every) / lasted, float(np.median(every)), late, len(every))


def measured(folder: Path, wanted: list[str], connections: tuple[int, ...], seconds: float) -> list[Row]:
    """Every cell."""
    found: list[Row] = []
    total = len(wanted) * len(connections) * (3 * 2 + 1)
    environment = {"PGPASSWORD": PASSWORD}
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("asking", total=total)

        def ask(name: str, mode: str, n: int, place: list[str], lasts: float) -> Measured:
            if QUESTIONS[name].decided:
                return with_psycopg(QUESTIONS[name], mode, n, lasts, place)
            return pgbench(QUESTIONS[name].script, mode, n, lasts, place, environment)

        def keep(question: str, mode: str, clients: int, target: str, given: Measured) -> None:
            found.append(Row(question, mode, clients, target, **asdict(given)))
            progress.advance(task)

        cells = [(name, mode, n) for name in wanted for mode in ("simple", "prepared") for n in connections]
        with postgres(folder) as place:
            for name, mode, n in cells:
                keep(name, mode, n, "PostgreSQL", ask(name, mode, n, place, seconds))
        for target, kind in (("proxy", "gate"), ("no gate", "plain")):
            with contextlib.ExitStack() as running:
                place = running.enter_context(served(kind, folder))
                for name, mode, n in cells:
                    if QUESTIONS[name].decided and kind == "gate":
                        running.close()
                        place = running.enter_context(served(kind, folder))
                    elif n == connections[0]:
                        # what is asked first is not what is measured
                        ask(name, mode, n, place, min(1, seconds))
                    keep(name, mode, n, target, ask(name, mode, n, place, seconds))
        for name in wanted:
            for n in connections:
                given = in_process(folder / "staff.duckdb", QUESTIONS[name], n, seconds)
                keep(name, "in process", n, "DuckDB", given)
    return found


def told(rows: list[Row], console: Console, seconds: float) -> list[Line]:
    """The tables, and the lines of the suite."""
    lines = []
    by = {(row.question, row.mode, row.connections, row.target): row for row in rows}
    for question in dict.fromkeys(row.question for row in rows):
        table = Table(
            title=f"{question}: transactions per second; median and 95 % latency; {seconds:g} s each"
        )
        for name in ("mode", "connections", *TARGETS, "proxy / no gate"):
            table.add_column(name, justify="left" if name == "mode" else "right")
        for mode in ("simple", "prepared"):
            for n in dict.fromkeys(row.connections for row in rows):
                cells = []
                for target in TARGETS:
                    row = by[question, "in process" if target == "DuckDB" else mode, n, target]
                    cells.append(f"{row.per_second:,.0f}/s {shown(row.median)} {shown(row.late)}")
                ours, bare = by[question, mode, n, "proxy"], by[question, mode, n, "no gate"]
                ratio = ours.median / bare.median if n == 1 else bare.per_second / ours.per_second
                table.add_row(mode, str(n), *cells, f"{ratio:.2f}")
                size = f"{question}, {mode}, {n} connections"
                lines.append(
                    Line(
                        "a statement through the proxy",
                        "lognormal",
                        size,
                        ours.median,
                        "no gate",
                        bare.median,
                    )
                )
        console.print(table)
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = options("proxy", __doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--question", action="append", choices=list(QUESTIONS), help="only these")
    given = parser.parse_args(arguments)
    if program("pgbench") is None or program("initdb") is None:
        sys.exit("PostgreSQL is not installed: there is no pgbench to ask with")
    rows, seconds = (2_000, 0.05) if given.quick else (given.rows, given.seconds)
    connections = (2,) if given.quick else CONNECTIONS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chmod(folder, 0o755)  # PostgreSQL runs as somebody else
        build(folder / "staff.duckdb", rows, "lognormal")
        found = measured(folder, given.question or list(QUESTIONS), connections, seconds)
    console = Console(width=150)
    lines = told(found, console, seconds)
    console.print(
        f"{rows:,} rows; aim: a repeated statement at no more than {AIM} times of no gate (median at one "
        f"connection, throughput at more). Peak memory here {peak_megabytes():,.0f} MB."
    )
    write(given.json, lines, [asdict(row) for row in found])


if __name__ == "__main__":
    main()
