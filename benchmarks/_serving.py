"""Servers to be measured, each in a process of its own: `python -m benchmarks._serving gate|plain FOLDER`.

Both are `cae-sql serve`'s own server; "plain" has a source that runs every statement in DuckDB and asks no
gate. That source is for comparison alone: it protects nothing. Prints its port, serves until it is ended.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from auditor import Gate, Policy
from auditor.proxy.catalogue import Context
from auditor.proxy.observing import Log
from auditor.proxy.scram import Verifier
from auditor.proxy.server import Address, Serving, run
from auditor.proxy.sources import Described, Result, Sources
from auditor.proxy.users import Role, User, add_user
from auditor.proxy.values import types
from auditor.proxy.values.placeholders import highest
from auditor.proxy.values.results import result_type

NAME, PASSWORD = "ana", "a password of twelve"
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


class Plain:
    """Answers from DuckDB, and asks nobody whether it may."""

    def __init__(self, file: Path) -> None:
        self.database = file.stem
        self._connection = duckdb.connect(str(file), read_only=True)
        self._own = threading.local()
        self._described: dict[tuple[str, tuple[int, ...]], Described] = {}

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._own, "cursor"):
            self._own.cursor = self._connection.cursor()
        cursor: duckdb.DuckDBPyConnection = self._own.cursor
        return cursor

    def answer(self, sql: str, values: Sequence[object], _: Context) -> Result:
        """Run a statement."""
        cursor = self._cursor().execute(sql, list(values))
        kinds = tuple(result_type(str(each[1])) for each in cursor.description or ())
        rows = cursor.to_arrow_table()
        assert isinstance(rows, pa.Table)
        return Result(tuple(rows.column_names), kinds, rows)

    def describe(self, sql: str, given: Sequence[int], context: Context) -> Described:
        """Run it once with numbers for its parameters."""
        key = (sql, tuple(given))
        if key not in self._described:
            count = highest(sql)
            found = self.answer(sql, [1] * count, context)
            kinds = (*(oid or types.INT4.oid for oid in given), *[types.INT4.oid] * (count - len(given)))
            self._described[key] = Described(kinds, found.names, found.types)
        return self._described[key]

    def reject(self, *_: object) -> None:
        """Nothing is."""

    def ahead(self, _: int) -> None:
        """Nothing is decided here."""

    def cancel(self, _: int) -> None:
        """Statements here are short."""


def main() -> None:
    """Serve."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    own = Path(tempfile.mkdtemp())
    try:
        add_user(own / "users", User(NAME, Role.ANALYST, Verifier.of_password(PASSWORD)))
        serving = Serving(Address("127.0.0.1", 0), own / "users", per_user=100)
        file = folder / "staff.duckdb"
        if kind == "plain":
            source: object = Plain(file)
        else:
            source = Sources(Gate.open(file, Policy.parse(POLICY), own / "ledger"), file.stem, [NAME])
        log = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- written to until the end
        run(source, serving, Log(log.write), lambda address: print(address.port, flush=True))  # type: ignore[arg-type]
    finally:
        shutil.rmtree(own, ignore_errors=True)


if __name__ == "__main__":
    main()
