"""The same small table in a DuckDB file and everywhere else, and a gate before each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa

from auditor import Gate, Policy

ROWS = """
SELECT i::INTEGER AS id, (20 + (i * 7) % 45)::INTEGER AS age, ['F', 'M'][1 + i % 2] AS sex,
    ['Sales', 'Research', 'Finance'][1 + (i * 5) % 3] AS dept, DATE '2020-01-01' + (i % 30)::INTEGER AS since,
    TIMESTAMP '2020-01-01' + to_hours(i) + to_microseconds(i) AS at, (i % 5 = 0) AS ok,
    CASE WHEN i % 11 = 0 THEN NULL WHEN i % 7 = 0 THEN '' ELSE 'x,"' || chr(10) || i END AS note,
    (i * 4000000000)::BIGINT AS big, (i / 4)::DECIMAL(9, 2) AS dist, (i / 8)::DOUBLE AS part,
    CASE WHEN i % 13 <> 12 THEN (20 + (i * 37) % 23 * 10)::INTEGER END AS salary
FROM range(150) AS t(i)
"""
"""Of every type that all sources have."""
POSTGRES = (
    "id int, age int, sex text, dept varchar(20), since date, at timestamp, ok bool, note text, big bigint, "
    "dist numeric(9, 2), part float8, salary int"
)
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = "all"
key = "id"

[source]
mode = "records"

[limit]
risk = 0.5
"""


def policy(**protect: object) -> Policy:
    """POLICY, with some of its lines replaced; "" leaves one out."""
    lines = []
    for line in POLICY.splitlines():
        key = line.partition(" =")[0]
        if key not in protect:
            lines.append(line)
        elif protect[key] != "":
            lines.append(f"{key} = {protect[key]}")
    return Policy.parse("\n".join(lines))


def staff() -> pa.Table:
    """The rows, as an Arrow table."""
    with duckdb.connect() as connection:
        return connection.sql(ROWS).to_arrow_table()


def duckdb_file(path: Path, query: str = ROWS) -> Path:
    """The table in a DuckDB file."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE staff AS {query}")
    return path


def written(path: Path, options: str = "", query: str = ROWS) -> Path:
    """What COPY makes of it."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' {options}")
    return path


@contextmanager
def opened(source: Any, folder: Path, rules: Policy | None = None) -> Iterator[Gate]:
    """A gate with a ledger of its own."""
    ledger = folder / f"{len(list(folder.iterdir()))}.ledger"
    with Gate.open(source, rules or policy(), ledger) as gate:
        yield gate


def fingerprint(source: Any, folder: Path, rules: Policy | None = None) -> str:
    """What a ledger would be bound to."""
    with opened(source, folder, rules) as gate:
        return gate._database.fingerprint


def url(place: dict[str, Any], user: str = "postgres", password: str = "geheim") -> str:
    """Of a server of the tests."""
    return f"postgresql://{user}:{password}@/{place['dbname']}?host={quote(place['host'])}"


def fill(connection: Any, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Put rows into a table of a server."""
    marks = ", ".join(["%s"] * len(rows[0]))
    connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
