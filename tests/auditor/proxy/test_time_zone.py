"""A client's time zone is what its questions are reckoned in, however it is set."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from auditor import Gate, Policy
from tests.auditor.gate.test_time_zone import LOG, LOS_ANGELES, POLICY
from tests.auditor.proxy.serving import Running, running_with

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")
duckdb = pytest.importorskip("duckdb")

DAYS = "SELECT tz::date AS day, COUNT(*), SUM(x) FROM t GROUP BY 1 ORDER BY 1"
COUNTS = "SELECT tz::date, COUNT(*) FROM t GROUP BY 1 ORDER BY 1"
IN_LOS_ANGELES = [(datetime.date(2023, 11, 5), 144, 18550), (datetime.date(2023, 11, 6), 96, 12560)]
IN_UTC = [(datetime.date(2023, 11, 5), 96), (datetime.date(2023, 11, 6), 144)]


@pytest.fixture(scope="module", params=["postgres", "duckdb"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("zone")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(LOG)
    policy = POLICY.format(before=f'dialect = "{request.param}"', more="")
    with (
        Gate.open(folder / "t.duckdb", Policy.parse(policy), folder / "ledger") as gate,
        running_with(gate, folder, tls=False) as made,
    ):
        yield made


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


def test_it_may_be_set_by_a_statement(server: Running) -> None:
    with connect(server) as connection:
        assert connection.execute(COUNTS).fetchall() == IN_UTC
        connection.execute(f"SET TIME ZONE '{LOS_ANGELES}'")
        assert connection.execute(DAYS).fetchall() == IN_LOS_ANGELES
        before = connection.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'")
        assert before.fetchall() == [(144,)]
        day = datetime.datetime(2023, 11, 6)
        assert connection.execute("SELECT count(*) FROM t WHERE tz < %s", (day,)).fetchall() == [(144,)]
        connection.execute("RESET TIME ZONE")
        assert connection.execute(COUNTS).fetchall() == IN_UTC


@pytest.mark.parametrize("given", [f"-c TimeZone={LOS_ANGELES}", "-c timezone=UTC+8"])
def test_it_may_be_set_when_a_client_connects(server: Running, given: str) -> None:
    with connect(server, options=given) as connection:
        found = connection.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'").fetchall()
        assert found == [(144,)]
        connection.execute("SET TIME ZONE 'UTC'; RESET TIME ZONE")
        assert connection.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'").fetchall() == found


def test_pgtz_sets_it(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGTZ", "Asia/Kolkata")
    with connect(server) as connection:
        assert connection.execute("SHOW TimeZone").fetchone() == ("Asia/Kolkata",)
        assert connection.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'").fetchall() == [(63,)]


def test_it_ends_with_its_transaction(server: Running) -> None:
    sql = "SELECT count(*) FROM t WHERE tz < '2023-11-06'"
    with connect(server) as connection:
        with connection.transaction(force_rollback=True):
            connection.execute("SET TIME ZONE 5.5")
            assert connection.execute(sql).fetchone() == (63,)
        assert connection.execute(sql).fetchone() == (96,)
        with connection.transaction():
            connection.execute(f"SET LOCAL TIME ZONE '{LOS_ANGELES}'")
            assert connection.execute(sql).fetchone() == (144,)
        assert connection.execute(sql).fetchone() == (96,)


def test_a_prepared_statement_is_reckoned_in_the_zone_in_which_it_runs(server: Running) -> None:
    with connect(server, prepare_threshold=0) as connection:
        sql = "SELECT count(*) FROM t WHERE tz < '2023-11-06' AND id >= %s"
        for zone, count in (("UTC", 96), (LOS_ANGELES, 144), ("Asia/Kolkata", 63), ("UTC", 96)):
            connection.execute(f"SET TIME ZONE '{zone}'")
            assert connection.execute(sql, (0,), prepare=True).fetchone() == (count,)


@pytest.mark.parametrize("binary", [False, True])
def test_moments_come_with_the_zones_offset(server: Running, binary: bool) -> None:
    sql, utc = "SELECT min(tz), max(tz) FROM t", datetime.UTC
    first, last = (
        datetime.datetime(2023, 11, 5, 8, tzinfo=utc),
        datetime.datetime(2023, 11, 6, 23, 50, tzinfo=utc),
    )
    with connect(server) as connection, connection.cursor(binary=binary) as cursor:
        cursor.execute(f"SET TIME ZONE '{LOS_ANGELES}'")
        found = cursor.execute(sql).fetchone()
        assert [each.timestamp() for each in found] == [first.timestamp(), last.timestamp()]
        if not binary:
            raw = cursor.pgresult
            assert [raw.get_value(0, 0), raw.get_value(0, 1)] == [
                b"2023-11-05 01:00:00-07", b"2023-11-06 15:50:00-08",
            ]  # fmt: skip
        cursor.execute("SET TIME ZONE '+05:30'")
        assert [each.timestamp() for each in cursor.execute(sql).fetchone()] == [
            first.timestamp(), last.timestamp(),
        ]  # fmt: skip


def test_the_clock_of_the_catalogue_is_the_sessions(server: Running) -> None:
    with connect(server) as connection:
        for zone in ("<+14>-14", "<-12>+12"):
            connection.execute(f"SET TIME ZONE '{zone}'")
            today, now, _ = connection.execute("SELECT current_date, now(), pg_backend_pid()").fetchone()
            hours = 14 if "14" in zone else -12
            assert today == now.astimezone(datetime.timezone(datetime.timedelta(hours=hours))).date()


@pytest.mark.parametrize("zone", ["Nowhere", "PST", "EST5EDT,M3.2.0,M11.1.0"])
def test_an_unknown_zone_is_refused_as_postgresql_does(server: Running, zone: str) -> None:
    with connect(server) as connection:
        with pytest.raises(
            psycopg.errors.InvalidParameterValue, match='invalid value for parameter "TimeZone"'
        ):
            connection.execute(f"SET TIME ZONE '{zone}'")
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SELECT set_config('TimeZone', %s, false)", (zone,))
        assert connection.execute("SHOW TIME ZONE").fetchone() == ("UTC",)
    with pytest.raises(psycopg.OperationalError, match='invalid value for parameter "TimeZone"'):
        connect(server, options=f"-c TimeZone={zone}")


def test_the_zone_is_on_record(server: Running) -> None:
    with connect(server) as connection:
        connection.execute("SET TIME ZONE 'Europe/Berlin'")
        connection.execute("SELECT count(*) FROM t WHERE id > 7 AND tz > '2023-11-06'")
    with connect(server, user="grace") as connection:
        found = connection.execute("SELECT zone FROM cae_sql.history ORDER BY number DESC LIMIT 1").fetchone()
        assert found == ("Europe/Berlin",)
        hours = "SELECT extract('hour' FROM time) FROM cae_sql.history WHERE number = 1"
        (in_utc,) = connection.execute(hours).fetchone()
        connection.execute("SET TIME ZONE 2")
        assert connection.execute(hours).fetchone() == ((in_utc + 2) % 24,)
