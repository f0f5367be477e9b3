"""Infinity and days before the year 1 are read as PostgreSQL reads them, or the statement fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from postgres_server import Server, missing, started

from auditor import Gate, Policy
from auditor.proxy.values.writing import RowWriter
from auditor.sql import Column, Schema, Table, macros
from auditor.sql.dialects import translate
from auditor.sql.understood import NotUnderstood

MOMENTS = {"ts": "TIMESTAMP", "d": "DATE", "tz": "TIMESTAMP WITH TIME ZONE"}
SCHEMA = Schema(
    (
        Table(
            "far",
            (
                Column("id", "INTEGER"),
                *(Column(name, type_, far=True) for name, type_ in MOMENTS.items()),
            ),
        ),
    ),
    (),
)
ROWS = ("infinity", "-infinity", "2024-02-29 10:11:12.5", None, "0044-03-15 BC", "12345-01-01", "0001-01-01")
FIELDS = ("second", "minute", "hour", "day", "week", "month", "quarter", "dow", "isodow", "doy", "year",
          "isoyear", "decade", "century", "epoch")  # fmt: skip
EXPRESSIONS = [
    each
    for name in MOMENTS
    for each in [
        *(f"extract({field} from {name})" for field in FIELDS if name != "d" or field not in FIELDS[:3]),
        *(f"date_part('{field}', {name})" for field in FIELDS if name != "d" or field not in FIELDS[:3]),
        *(f"date_trunc('{field}', {name}::timestamp)" for field in ("hour", "week", "month", "decade")),
        f"date_trunc('day', {name}, 'Europe/Berlin')", f"date_trunc('hour', {name}, 'Europe/Berlin')",
        f"{name} + interval '1 day'", f"{name} - interval '1 month'", f"isfinite({name})", f"{name}::date",
        f"{name}::timestamp", f"{name}::timestamptz", f"to_char({name}, 'YYYY-MM-DD')",
        f"to_char({name}, 'DD')", f"{name} AT TIME ZONE 'Europe/Berlin'",
        f"age({name}, timestamp '2020-01-01')", f"age(timestamp '2020-01-01', {name})",
        f"{name} - timestamp '2020-01-01'", f"{name} - date '2020-01-01'", f"date '2020-01-01' - {name}",
        f"{name} - {name}", f"{name} > '2020-01-01'", f"{name} = 'infinity'", f"{name} < 'infinity'",
        f"{name} BETWEEN '-infinity' AND '2020-01-01'", f"greatest({name}, '2020-01-01')",
        f"coalesce({name}, '-infinity')", f"{name}::date - date '2020-01-01'",
        f"date_bin('1 hour', {name}::timestamp, '2020-01-01')",
    ]
] + ["ts::time", "tz::time", "d + 1", "1 + d", "d - 1", "d::text",
     "extract(year from greatest(ts, '2020-01-01'))",
     "extract(year from q.m) FROM (SELECT max(ts) AS m FROM far) q, far"]  # fmt: skip
"""Of a date PostgreSQL's date_trunc has a zone: here it is cast first."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if missing():
        pytest.skip(missing())
    with started() as running:
        rows = ", ".join(f"({place}, {', '.join([_written(row)] * 3)})" for place, row in enumerate(ROWS))
        types = "ts timestamp, d date, tz timestamptz"
        running.psql(f"CREATE TABLE far (id int, {types}); INSERT INTO far VALUES {rows};")
        yield running


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for macro in macros.STATEMENTS:
            connection.execute(macro)
        connection.execute("CREATE TABLE far (id INTEGER, ts TIMESTAMP, d DATE, tz TIMESTAMPTZ)")
        for place, row in enumerate(ROWS):
            read = row.replace(" BC", " (BC)") if row else None
            connection.execute("INSERT INTO far VALUES (?, ?, ?::TIMESTAMP, ?)", [place, read, read, read])
        yield connection


def _written(row: str | None) -> str:
    return "NULL" if row is None else f"'{row}'"


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ROWS)))
def test_each_expression_gives_what_the_server_gives_or_fails(
    place: int, server: Server, plain: duckdb.DuckDBPyConnection
) -> None:
    asked = [
        f"SELECT {each}{'' if ' FROM (' in each else ' FROM far'} WHERE id = {place}" for each in EXPRESSIONS
    ]
    failed = 0
    for sql, theirs in zip(asked, server.ask_all(asked), strict=True):
        try:
            relation = plain.sql(translate(sql, "postgres", SCHEMA))
            type_, table = str(relation.types[0]), relation.to_arrow_table()
            ((ours,),) = RowWriter((type_,)).rows(table)
        except (NotUnderstood, duckdb.Error):
            failed += 1
            continue
        assert not isinstance(theirs, str), f"{sql}: {ours!r}, {theirs}"
        assert _same(ours, theirs[0][0][1]), f"{sql}: {ours!r}, not {theirs[0][0][1]!r}"
    # what is finite and of our time is all answered, but for decades of what might not be
    assert failed <= (6 if ROWS[place] in (ROWS[2], None, ROWS[6]) else 40), failed


def _same(ours: bytes | None, theirs: object) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    text = ours.decode()
    if isinstance(theirs, bool):
        return text == ("t" if theirs else "f")
    if not isinstance(theirs, str) or theirs in ("Infinity", "-Infinity"):
        return abs(float(text) - float(str(theirs))) <= 1e-6 or float(text) == float(str(theirs))
    return text == theirs.replace("T", " ").replace("+00:00", "+00")


POLICY = """
dialect = "postgres"
[protect]
table = "t"
column = "x"
minimum = 0
maximum = 250
step = 10
public = "all"
[limit]
risk = 0.5
"""


def test_a_gate_groups_infinities_apart(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 50 = 0 THEN 'infinity'::TIMESTAMP "
            "WHEN i % 51 = 0 THEN '-infinity'::TIMESTAMP "
            "ELSE TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR END AS ts, "
            "DATE '2020-01-01' + i::INTEGER AS d, 20 + (i * 37) % 23 * 10 AS x FROM range(240) r(i)"
        )
    with Gate.open(str(tmp_path / "t.duckdb"), Policy.parse(POLICY), tmp_path / "ledger") as gate:
        years = gate.execute(
            "SELECT extract(year FROM ts) AS y, count(*) FROM t GROUP BY y ORDER BY y"
        ).fetchall()
        assert years == [(float("-inf"), 4), (2024.0, 231), (float("inf"), 5)]
        # a column without infinities keeps its type
        assert gate.execute("SELECT extract(year FROM min(d)) FROM t").types == ("BIGINT",)
        assert gate.execute("SELECT count(*) FROM t WHERE isfinite(ts)").fetchall() == [(231,)]
        ((day,),) = gate.execute("SELECT max(ts)::date FROM t").fetchall()
        assert day.isoformat() == "9999-12-31"
