"""What is asked in a session's time zone is what PostgreSQL, or DuckDB, answers in that zone."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from postgres_server import Server, missing, started

from auditor.data.database import Database, StatementFailed
from auditor.policy.policy import Protect
from auditor.proxy.values.results import result_type
from auditor.proxy.values.writing import RowWriter
from auditor.sql import Plan, Unsupported, understand
from auditor.sql.time_zones import session_zone
from tests.quick import some

ZONES = [
    "America/Los_Angeles", "+05:30", "UTC", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe",
    "America/Sao_Paulo", "<+05:30>-05:30", "5.5", "UTC+8", "est5edt",
]  # fmt: skip
MOMENTS = [
    "2023-11-05 07:59:59+00", "2023-11-05 08:30:00+00", "2023-11-05 09:30:00.25+00", "2023-11-06 07:59:59+00",
    "2023-03-12 09:59:59+00", "2023-03-12 10:00:00+00", "2023-03-26 00:59:00+00", "2023-03-26 01:00:00+00",
    "2023-10-29 00:30:00+00", "2023-10-29 01:30:00+00", "2018-11-04 03:00:00+00", "2018-11-03 12:00:00+00",
    "2023-01-31 18:31:00+00", "2024-02-29 23:00:00+00", "2023-12-31 23:59:59.999+00",
    "1999-06-30 12:00:00+00",
]  # fmt: skip
"""On both sides of midnights and of the hours at which clocks are changed."""
LOCAL = [
    "2023-03-12 02:30:00", "2023-11-05 01:30:00", "2023-03-26 02:30:00", "2023-10-29 02:30:00",
    "2018-11-04 00:30:00", "2023-10-01 02:15:00", "2023-06-30 12:00:00",
]  # fmt: skip
"""Some that a zone's clocks never show, and some that they show twice."""
STATEMENTS = [
    "SELECT id, date_trunc('day', tz, 'Asia/Tokyo') AS t FROM log ORDER BY id",
    "SELECT id, tz FROM log ORDER BY id",
    "SELECT id, tz::date AS d, tz::timestamp AS t, tz::time AS c FROM log ORDER BY id",
    "SELECT id, ts::timestamptz AS t, d::timestamptz AS m FROM log ORDER BY id",
    "SELECT tz::date AS day, count(*) AS n FROM log GROUP BY 1 ORDER BY 1",
    *[f"SELECT id, date_trunc('{part}', tz) AS t FROM log ORDER BY id"
      for part in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")],
    "SELECT date_trunc('day', tz) AS day, count(*) AS n FROM log GROUP BY 1 ORDER BY 1",
    "SELECT id, extract(hour FROM tz) AS h, extract(isodow FROM tz) AS w, date_part('day', tz) AS d FROM log "
    "ORDER BY id",
    "SELECT id, extract(epoch FROM tz) AS e, extract(second FROM tz) AS s, extract(week FROM tz) AS w "
    "FROM log ORDER BY id",
    "SELECT id, to_char(tz, 'YYYY-MM-DD HH24:MI:SS') AS t FROM log ORDER BY id",
    "SELECT id FROM log WHERE tz < '2023-11-06' ORDER BY id",
    "SELECT id FROM log WHERE tz >= DATE '2023-11-05' AND tz < TIMESTAMP '2023-11-05 01:30:00' ORDER BY id",
    "SELECT id FROM log WHERE tz BETWEEN '2023-03-26' AND '2023-10-29 03:00:00' ORDER BY id",
    "SELECT id FROM log WHERE tz BETWEEN SYMMETRIC '2023-12-31 22:00:00+01' AND '2023-03-12' ORDER BY id",
    "SELECT id FROM log WHERE tz IN ('2023-11-05 01:30:00', '2023-10-29 02:30:00+02') ORDER BY id",
    "SELECT id FROM log WHERE tz > ts ORDER BY id",
    "SELECT id FROM log WHERE tz > d ORDER BY id",
    "SELECT id, greatest(tz, '2023-06-01') AS g, coalesce(NULL, ts, tz) AS c FROM log ORDER BY id",
    "SELECT id, CASE WHEN id > 3 THEN tz ELSE d END AS c FROM log ORDER BY id",
    *[f"SELECT id, tz {sign} INTERVAL '{span}' AS t FROM log ORDER BY id" for sign in "+-"
      for span in ("1 day", "24 hours", "1 month", "1 month 1 day", "1 day 5 hours", "90 minutes")],
    "SELECT id, tz + id * INTERVAL '1 day' AS t, tz - id * INTERVAL '7 hours' AS s FROM log ORDER BY id",
    "SELECT id, tz + -INTERVAL '1 day 5 hours' AS t FROM log ORDER BY id",
    "SELECT id, age(tz, TIMESTAMP '2000-02-29 12:00:00') AS a, age(tz, ts) AS b FROM log ORDER BY id",
    "SELECT id, tz AT TIME ZONE 'Asia/Tokyo' AS t, ts AT TIME ZONE 'Asia/Tokyo' AS s FROM log ORDER BY id",
    "SELECT id, tz AT TIME ZONE 'utc+5' AS t, d AT TIME ZONE '+02:30' AS s FROM log ORDER BY id",
    "SELECT id, timezone('EST5EDT', tz) AS t FROM log ORDER BY id",
    "SELECT id, date_bin('1 day', tz, '2000-01-01') AS b, date_bin('90 minutes', tz, ts) AS c FROM log "
    "ORDER BY id",
    "SELECT g FROM generate_series('2023-11-03'::date, '2023-11-07'::date, INTERVAL '1 day') g ORDER BY g",
    "SELECT g FROM generate_series('2018-11-03'::date, '2018-11-06'::date, INTERVAL '1 day') g ORDER BY g",
    "SELECT g FROM generate_series('2023-11-05'::timestamptz, '2023-11-06'::timestamptz, INTERVAL '1 hour') "
    "g ORDER BY g",
    "SELECT g, count(id) AS n FROM generate_series('2023-11-04'::date, '2023-11-07'::date, INTERVAL '1 day') "
    "g LEFT JOIN log ON tz >= g AND tz < g + INTERVAL '1 day' GROUP BY g ORDER BY g",
    "SELECT to_timestamp('2023-11-05 01:30', 'YYYY-MM-DD HH24:MI') AS t, to_timestamp(1699173000) AS s",
    "SELECT min(tz)::date AS a, max(date_trunc('month', tz)) AS b, count(DISTINCT tz::date) AS n FROM log",
    "SELECT array_agg(tz ORDER BY id) AS a FROM log WHERE id < 4",
]  # fmt: skip
REFUSED = [
    "SELECT tz AT TIME ZONE 'PST' AS t FROM log",
    "SELECT tz AT TIME ZONE 'IST' AS t FROM log",
    "SELECT tz AT TIME ZONE 'CET' AS t FROM log",
    "SELECT tz AT TIME ZONE 'Nowhere' AS t FROM log",
    "SELECT tz AT TIME ZONE 'EST5EDT,M3.2.0,M11.1.0' AS t FROM log",
    "SELECT timezone('bst', tz) AS t FROM log",
    "SELECT tz::text AS t FROM log",
    "SELECT extract(timezone FROM tz) AS t FROM log",
    "SELECT id FROM log WHERE tz > '2023-11-05 01:30 America/New_York'",
    "SELECT id FROM log WHERE tz > '2023-11-05 01:30 PST'",
    "SELECT to_char(tz, 'YYYY-MM-DD TZ') AS t FROM log",
]
ROWS = [
    (place, moment, LOCAL[place % len(LOCAL)], LOCAL[place % len(LOCAL)][:10], place % 3)
    for place, moment in enumerate(MOMENTS)
]
COLUMNS = "id INTEGER, tz TIMESTAMPTZ, ts TIMESTAMP, d DATE, secret INTEGER"


def made() -> list[str]:
    return [
        f"CREATE TABLE log ({COLUMNS})",
        *(f"INSERT INTO log VALUES ({', '.join(repr(each) for each in row)})" for row in ROWS),
    ]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("zones") / "log.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for sql in made():
            connection.execute(sql)
    protect = Protect(table="log", column="secret", minimum=0, maximum=2, step=1, public="all")
    with Database.open(path, [protect]) as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if missing():
        pytest.skip(missing())
    with started() as running:
        assert running.psql(";\n".join(made()) + ";")[1] == ""
        yield running


def shown(database: Database, plan: Plan) -> list[list[str | None]]:
    """The rows of a public statement, as the proxy writes them in the session's zone."""
    table = database.run_public(plan)
    writer = RowWriter([result_type(each) for each in plan.types], (), plan.zone)
    return [[None if each is None else each.decode() for each in row] for row in writer.rows(table)]


def on_server(server: Server, zone: str) -> list[list[list[str | None]] | str]:
    """The rows of each statement there, or the error."""
    text = f"SET TIME ZONE '{zone}';\n\\set ON_ERROR_STOP 0\n\\pset null '\\\\N'\n\\pset fieldsep '\\t'\n"
    for number, sql in enumerate(STATEMENTS):
        text += f"\\echo @{number}\n\\warn @{number}\n{sql};\n"
    output, errors = server.psql(text)
    found: list[list[list[str | None]]] = [[] for _ in STATEMENTS]
    place = 0
    for line in output.splitlines():
        if line.startswith("@"):
            place = int(line[1:])
        else:
            found[place].append([None if each == "\\N" else each for each in line.split("\t")])
    assert "ERROR" not in errors, errors
    return list(found)


@pytest.mark.slow
@pytest.mark.parametrize("zone", some(ZONES, 3))
def test_postgresqls_statements_are_answered_as_a_server_does(
    zone: str, database: Database, server: Server
) -> None:
    wrong = {}
    for sql, theirs in zip(STATEMENTS, on_server(server, zone), strict=True):
        plan = understand(sql, None, database.schema, "postgres", zone=session_zone(zone).name)
        ours = shown(database, plan) if isinstance(plan, Plan) else plan
        if ours != theirs:
            wrong[sql] = (ours, theirs)
    assert wrong == {}


@pytest.mark.parametrize("zone", some(ZONES, 3))
def test_what_cannot_be_reckoned_is_refused(zone: str, database: Database) -> None:
    for sql in REFUSED:
        found = understand(sql, None, database.schema, "postgres", zone=session_zone(zone).name)
        assert isinstance(found, Unsupported), sql


@pytest.mark.slow
@pytest.mark.parametrize("zone", some(ZONES, 3))
def test_duckdbs_statements_are_answered_as_duckdb_does(zone: str, database: Database) -> None:
    meant, refused = session_zone(zone), list[str]()
    with duckdb.connect() as plain:
        plain.execute("SET TimeZone = 'UTC'")
        for sql in made():
            plain.execute(sql)
        plain.execute(f"SET TimeZone = '{meant.engine}'")
        for sql in (
            *(each for each in STATEMENTS if "generate_series" not in each and "to_" not in each),
            "SELECT id, CAST(tz AS VARCHAR) AS t, strftime(tz, '%H %z') AS s, hour(tz) FROM log ORDER BY 1",
            "SELECT id, time_bucket(INTERVAL 1 DAY, tz) AS t, dayname(tz) AS d FROM log ORDER BY id",
        ):
            plan = understand(sql, None, database.schema, zone=meant.name)
            try:
                theirs = plain.sql(sql).to_arrow_table()
            except duckdb.Error:
                with pytest.raises((StatementFailed, AttributeError)):
                    database.run_public(plan)  # type: ignore[arg-type]
                continue
            if isinstance(plan, Unsupported):
                refused.append(plan.code)
                continue
            ours = database.run_public(plan)
            assert ours.cast(theirs.schema).equals(theirs), sql
    assert len(refused) <= 5, refused


def test_a_zone_of_one_statement_is_none_of_the_next(database: Database) -> None:
    def days(zone: str) -> object:
        plan = understand("SELECT tz::date AS d FROM log ORDER BY id", None, database.schema, zone=zone)
        assert isinstance(plan, Plan)
        return database.run_public(plan).column(0).to_pylist()

    before = days("UTC")
    assert days("Asia/Kolkata") != before
    assert days("UTC") == before
