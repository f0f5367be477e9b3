"""A PostgreSQL server for as long as the tests run, and the same small tables in both databases.

Not a test: `test_dialects` and `test_dialects_generated` ask it what PostgreSQL itself answers.
"""

from __future__ import annotations

import contextlib
import datetime
import glob
import json
import math
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np

from auditor.sql import Column, Schema, Table, macros
from auditor.sql.schema import Protected

TABLES = {
    "items": {
        "id": "INTEGER", "s": "SMALLINT", "i": "INTEGER", "b": "BIGINT", "n": "DECIMAL(10,2)", "d": "DOUBLE",
        "f": "FLOAT", "x": "VARCHAR", "day": "DATE", "at": "TIMESTAMP", "ok": "BOOLEAN",
    },
    "kinds": {"kind": "INTEGER", "name": "VARCHAR", "since": "DATE"},
}  # fmt: skip
ROWS = {
    "items": [
        (1, 1, 7, 9, "2.50", 2.5, 1.5, "abc", "2020-02-29", "2020-02-29 10:11:12.5", True),
        (2, -3, -7, 4000000000, "-2.50", 3.5, 0.1, "ABC", "2019-12-31", "2019-12-31 23:59:59", False),
        (3, 2, 0, -5, "0.00", 0.0, 0.0, "", "2021-01-01", "2021-01-01 00:00:00", None),
        (4, None, None, None, None, None, None, None, None, None, None),
        (5, 3, 15, 15, "1.01", 1.005, 1.1, "a%b_c", "2020-12-28", "2020-12-28 06:30:00",
         True),
        (6, 100, 100, 100, "99999999.99", -0.5, -2.25, "Zoë", "2020-03-01", "2020-03-01 12:00:00", False),
        (7, 10, 3, 8, "0.05", 2.675, 3.75, " pad ", "2020-02-28", "2020-02-28 11:59:59", True),
        (8, -8, -3, -8, "-0.05", 1e15, 1000.5, "12", "1999-12-31", "1999-12-31 01:02:03", False),
        (9, 5, 7, 9, "12.35", 1e-7, 0.25, "a\\b", "2000-01-01", "2000-01-01 00:00:01", None),
        (10, 7, 8, 200, "3.33", 10.0, 10.0, "12.5", "2024-05-17", "2024-05-17 18:00:00", True),
    ],
    "kinds": [(1, "one", "2020-01-01"), (2, "two", "2020-02-29"), (3, "three", None),
              (7, "seven", "2021-06-30"),
              (None, "none", "2019-05-05")],
}  # fmt: skip
SCHEMA = Schema(
    tuple(
        Table(name, tuple(Column(each, type_) for each, type_ in columns.items()))
        for name, columns in TABLES.items()
    ),
    (Protected("items", "secret", "INTEGER"),),
)
_POSTGRES = {
    "DECIMAL(10,2)": "numeric(10,2)",
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "VARCHAR": "text",
}


def missing() -> str:
    """Why there is no server; empty if there is one."""
    return "" if _program("initdb") and _program("psql") else "no PostgreSQL server is installed"


def _program(name: str) -> str | None:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


class Server:
    """A running server; statements go through psql."""

    def __init__(self, folder: str, user: str | None) -> None:
        self._folder = folder
        self._user = user
        self._process: subprocess.Popen[str] | None = None

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A program as the server's user, since a server does not run as root."""
        return subprocess.run(
            command, user=self._user, cwd=self._folder, capture_output=True, text=True, check=check
        )

    def psql(self, text: str) -> tuple[str, str]:
        """Output and error of a text."""
        done = subprocess.run(
            [_program("psql") or "", "-h", self._folder, "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1"],
            input=text, user=self._user, cwd=self._folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PGTZ": "UTC", "PGOPTIONS": "-c statement_timeout=10000"},
        )  # fmt: skip
        return done.stdout, done.stderr

    def ask_all(self, statements: list[str]) -> list[list[list[tuple[str, object]]] | str]:
        """The rows, or the message, of each of many statements."""
        return [rows if isinstance(rows, str) else parsed(rows) for rows in self.ask_for_json(statements)]

    def ask_for_json(self, statements: list[str]) -> list[list[str] | str]:
        """The rows as JSON, or the message, of each of many statements, in one session."""
        text = "\\set ON_ERROR_STOP 0\n"
        for number, sql in enumerate(statements):
            text += f"\\echo @{number}\n\\warn @{number}\nSELECT row_to_json(_r) FROM (\n{sql}\n) _r;\n\\r\n"
        output, errors = self.psql(text)
        rows, messages = _numbered(output), _numbered(errors)
        return [
            "\n".join(messages[number]) if messages.get(number) else rows.get(number, [])
            for number in range(len(statements))
        ]


def parsed(rows: list[str]) -> list[list[tuple[str, object]]]:
    """Rows of JSON as names and values; numbers with a point are exact."""
    read = [json.loads(row, parse_float=Decimal, object_pairs_hook=list) for row in rows]
    return [[(name, value) for name, value in row] for row in read]


def _numbered(output: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in output.splitlines():
        if line.startswith("@") and line[1:].isdecimal():
            lines = found.setdefault(int(line[1:]), [])
        elif line:
            lines.append(line)
    return found


@contextlib.contextmanager
def started() -> Iterator[Server]:
    """A server on a socket of its own, with the tables; gone afterwards."""
    user = None
    if os.geteuid() == 0:
        names = {each.pw_name for each in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    # Short: the path of a socket has at most 107 characters.
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    server = Server(folder, user)
    try:
        if user is not None:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        # C.UTF-8 orders texts by code point, as DuckDB does.
        server.run(_program("initdb") or "", "-D", data, "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8",
                   "--no-sync", "-U", user or pwd.getpwuid(os.geteuid()).pw_name)  # fmt: skip
        control = _program("pg_ctl") or ""
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB"
        # pg_ctl leaves the server running; it must not hold our pipes open.
        subprocess.run(
            [control, "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start"],
            user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            server.psql(_created())
            yield server
        finally:
            server.run(control, "-D", data, "-m", "immediate", "stop", check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _created() -> str:
    text = ""
    for name, columns in TABLES.items():
        types = [_POSTGRES.get(type_, type_) for type_ in columns.values()]
        listed = ", ".join(f'"{column}" {type_}' for column, type_ in zip(columns, types, strict=True))
        text += f"CREATE TABLE {name} ({listed});\n"
        for row in ROWS[name]:
            values = (f"{_written(value)}::{type_}" for value, type_ in zip(row, types, strict=True))
            text += f"INSERT INTO {name} VALUES ({', '.join(values)});\n"
    return text


def _written(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def plain_duckdb(path: Path | str = ":memory:") -> duckdb.DuckDBPyConnection:
    """The same tables in DuckDB."""
    connection = duckdb.connect(str(path))
    for macro in macros.STATEMENTS if path == ":memory:" else ():
        connection.execute(macro)
    for name, columns in TABLES.items():
        listed = ", ".join(f'"{column}" {type_}' for column, type_ in columns.items())
        connection.execute(f"CREATE TABLE {name} ({listed})")
        for row in ROWS[name]:
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(row))
    return connection


def alike(ours: object, theirs: object, type_: str = "") -> bool:
    """Whether a value of DuckDB is one of PostgreSQL's, which comes as JSON.

    A numeric that is held as DOUBLE is alike to about 13 digits.
    """
    if ours is None or theirs is None or isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, datetime.datetime):
        # Of a date, date_trunc has a time zone there.
        return (
            str(theirs).removesuffix("+00:00") == ours.isoformat()[: len(str(theirs).removesuffix("+00:00"))]
        )
    if isinstance(ours, datetime.timedelta):
        return ours == _span(str(theirs))
    if isinstance(ours, datetime.time) and ours.microsecond:
        return str(theirs) == ours.isoformat().rstrip("0")
    if isinstance(ours, datetime.date | datetime.time):
        return str(theirs) == ours.isoformat()
    if type_ == "FLOAT" and isinstance(ours, float) and isinstance(theirs, Decimal | int):
        return np.isclose(np.float32(ours), np.float32(float(theirs)), rtol=3e-7, atol=0).item()
    if isinstance(ours, float):
        if isinstance(theirs, str):
            return theirs in ("NaN", "Infinity", "-Infinity") and str(ours).lower()[:3] == theirs.lower()[:3]
        return isinstance(theirs, Decimal | int) and math.isclose(
            ours, float(theirs), rel_tol=1e-13, abs_tol=1e-300
        )
    if isinstance(ours, int | Decimal):
        return isinstance(theirs, Decimal | int) and ours == theirs
    return ours == theirs


def _span(text: str) -> datetime.timedelta | None:
    """An interval as PostgreSQL writes it; a month has 30 days, as Python gets it from DuckDB."""
    found = re.fullmatch(
        r"(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?"
        r"(?:([+-]?)(\d+):(\d+):([\d.]+))?",
        text,
    )
    if found is None:
        return None
    years, months, days = (int(each or 0) for each in found.groups()[:3])
    clock = datetime.timedelta(
        hours=int(found[5] or 0), minutes=int(found[6] or 0), seconds=float(found[7] or 0)
    )
    return datetime.timedelta(days=360 * years + 30 * months + days) + (-clock if found[4] == "-" else clock)


def answers_alike(
    ours: duckdb.DuckDBPyConnection, theirs: list[list[tuple[str, object]]], ordered: bool
) -> str:
    """What is different between a result of DuckDB and PostgreSQL's rows; empty if nothing is."""
    names = [str(each[0]) for each in ours.description or []]
    types = [str(each[1]) for each in ours.description or []]
    rows = ours.fetchall()
    if theirs and [name for name, _ in theirs[0]] != names:
        return f"names {names}, not {[name for name, _ in theirs[0]]}"
    if len(rows) != len(theirs):
        return f"{len(rows)} rows, not {len(theirs)}"
    left = [[value for _, value in row] for row in theirs]
    for row in rows:
        candidates = left[:1] if ordered else left
        found = next((each for each in candidates if all(map(alike, row, each, types))), None)
        if found is None:
            return f"{row}, not one of {candidates[:3]}"
        left.remove(found)
    return ""
