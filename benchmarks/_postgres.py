"""A PostgreSQL server of the benchmark's own, set up for large tables, and a table loaded into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks._pgbench import program

if TYPE_CHECKING:
    import psycopg

SETTINGS = {
    "listen_addresses": "''", "fsync": "off", "shared_buffers": "1GB", "work_mem": "64MB",
    "max_wal_size": "8GB", "max_parallel_workers_per_gather": "2",
}  # fmt: skip


@contextmanager
def running() -> Iterator[str]:
    """Start one on a socket, give its address, stop it and leave nothing behind.

    Raises:
        SystemExit: there is no PostgreSQL here.
    """
    initdb, control = program("initdb"), program("pg_ctl")
    if initdb is None or control is None:
        raise SystemExit("PostgreSQL is not installed")
    home = Path(tempfile.mkdtemp(prefix="cae-pg-"))  # a socket's path must be short
    as_owner: list[str] = []
    if os.geteuid() == 0:  # which it does not run as
        shutil.chown(home, "postgres", "postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]

    def run(*command: str) -> None:
        subprocess.run([*as_owner, *command], check=True, cwd=home, capture_output=True)

    data = ["-D", str(home / "data")]
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    try:
        run(initdb, *data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        start = ["-w", "-s", "-l", str(home / "log"), "-o", f"-k {home} {options}", "start"]
        # it goes on running, and must not hold our pipes open
        subprocess.run(
            [*as_owner, control, *data, *start],
            check=True, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield f"postgresql://postgres@/postgres?host={home}"
        finally:
            subprocess.run(
                [*as_owner, control, *data, "-m", "immediate", "stop"], check=False, capture_output=True
            )
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that is closed afterwards."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def load(url: str, path: Path, table: str, columns: Mapping[str, str]) -> None:
    """Copy columns of a Parquet file into a new table.

    Args:
        url: The server's address.
        path: The file.
        table: Name.
        columns: With PostgreSQL's types.
    """
    listed = ", ".join(columns)
    made = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    copied = f"COPY {table} ({listed}) FROM STDIN (FORMAT csv)"
    with connected(url) as connection, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        duckdb.execute(f"COPY (SELECT {listed} FROM '{path}') TO '{file}' (FORMAT csv, HEADER false)")
        connection.execute(f"CREATE TABLE {table} ({made})".encode())
        with file.open("rb") as rows, connection.cursor().copy(copied.encode()) as copy:
            while block := rows.read(1 << 20):
                copy.write(block)
        connection.execute(f"VACUUM ANALYZE {table}".encode())
