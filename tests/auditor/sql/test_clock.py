"""What reads the clock is one moment, that of the statement's arrival, wherever it stands."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from gate_double import ROOT

from auditor.sql import Column, Dialect, Plan, Protected, Schema, Table, Unsupported, understand

SCHEMA = Schema(
    (Table("t", (Column("day", "DATE"), Column("stamp", "TIMESTAMP"))),), (Protected("t", "pay", "INTEGER"),)
)
ARRIVED = datetime.datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=datetime.UTC)


def planned(sql: str, dialect: Dialect = "duckdb", schema: Schema = SCHEMA) -> Plan:
    found = understand(sql, None, schema, dialect, arrived=ARRIVED)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    "word",
    ["CURRENT_DATE", "today()", "now()", "current_timestamp", "LOCALTIMESTAMP", "get_current_timestamp()",
     "transaction_timestamp()", "age(stamp)", "age(day)"],
)  # fmt: skip
def test_a_word_of_the_clock_is_a_constant_of_the_same_type(word: str) -> None:
    plan = planned(f"SELECT {word} AS x, SUM(pay) AS s FROM t GROUP BY x")
    assert plan.clock
    assert "2026-03-01" in plan.normalised
    with duckdb.connect(":memory:") as plain:
        plain.execute("CREATE TABLE t (day DATE, stamp TIMESTAMP)")
        (described,) = plain.execute(f"DESCRIBE SELECT {word} AS x FROM t").fetchall()
    assert plan.types[0] == described[1]


@pytest.mark.parametrize("word", ["now()", "CURRENT_DATE", "current_timestamp", "localtimestamp", "age(day)"])
def test_in_postgresqls_dialect_it_is_the_moment_in_utc(word: str) -> None:
    plan = planned(f"SELECT {word} AS x, sum(pay) AS s FROM t GROUP BY {word}", "postgres")
    assert plan.clock
    assert "2026-03-01 12:30:15" in plan.normalised


def test_all_conditions_of_a_statement_have_the_same_moment() -> None:
    plan = planned(
        "SELECT SUM(pay) FROM t WHERE stamp < now() AND stamp > now() - INTERVAL 3 DAY AND day < now()"
    )
    assert plan.normalised.count("2026-03-01 12:30:15.000250+00:00") == 3


@pytest.mark.parametrize("sql", ["SELECT current_time", "SELECT current_timestamp(3)", "SELECT random()"])
def test_other_words_stay_refused(sql: str) -> None:
    for dialect in ("duckdb", "postgres"):
        found = understand(sql, None, SCHEMA, dialect)
        assert isinstance(found, Unsupported), dialect


def test_a_column_of_such_a_name_would_be_meant() -> None:
    columns = (Column("current_date", "DATE"), Column("day", "DATE"))
    schema = Schema((Table("t", columns),), (Protected("t", "pay", "INTEGER"),))
    found = understand("SELECT SUM(pay) FROM t WHERE day < current_date", None, schema)
    assert isinstance(found, Unsupported)
    assert found.code == "volatile"


def test_a_statement_without_is_not_marked() -> None:
    assert not planned("SELECT SUM(pay) FROM t WHERE day < DATE '2026-01-01'").clock


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_days_begin_and_end_in_utc_wherever_a_statement_arrives(dialect: Dialect) -> None:
    there = datetime.datetime(2026, 3, 1, 23, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
    found = understand(
        "SELECT sum(pay) FROM t WHERE day = CURRENT_DATE", None, SCHEMA, dialect, arrived=there
    )
    assert isinstance(found, Plan)
    assert "2026-03-0" + ("2" if dialect == "duckdb" else "2 04:30") in found.normalised


@pytest.mark.slow
def test_what_reckons_in_a_zone_gives_the_same_on_every_machine(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, i % 9 AS pay, "
            "TIMESTAMPTZ '2026-03-01 23:30:00-05' + i * INTERVAL 1 HOUR AS stamp FROM range(30) r(i)"
        )
    program = (
        "import sys; from auditor import Gate; from tests.auditor.staff import policy\n"
        "text = policy(table='\"t\"', column='\"pay\"', minimum=0, maximum=9, step=1)\n"
        "gate = Gate.open(sys.argv[1], text, sys.argv[2])\n"
        "print(gate.execute('SELECT stamp::DATE, hour(stamp) FROM t ORDER BY id LIMIT 1').fetchall(),"
        " gate.execute('SELECT CURRENT_DATE, LOCALTIMESTAMP::DATE, now()::DATE').fetchall())"
    )
    told = set()
    for zone in ("America/New_York", "Asia/Tokyo", "UTC"):
        command = [sys.executable, "-c", program, str(path), str(tmp_path / f"{zone[:3]}.ledger")]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
        )
        told.add(done.stdout)
    assert len(told) == 1
    assert "[(datetime.date(2026, 3, 2), 4)]" in told.pop()
