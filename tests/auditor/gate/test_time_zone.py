"""The session's time zone is part of the question: in another one it is another, and is recorded as that."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy, QueryRefused
from auditor.errors import StatementError

LOG = """CREATE TABLE t AS SELECT i AS id, 20 + (i * 37) % 23 * 10 AS x,
  TIMESTAMPTZ '2023-11-05 08:00:00+00' + INTERVAL (i * 10) MINUTE AS tz FROM range(240) r(i)"""
POLICY = """{before}
[protect]
table = "t"
column = "x"
minimum = 0
maximum = 250
step = 10
key = "id"
public = "all"
[limit]
risk = 0.5
[intruder]
insiders = 0
{more}
"""
BY_DAY = "SELECT tz::date AS day, COUNT(*), SUM(x) FROM t GROUP BY 1 ORDER BY 1"
LATE = "SELECT SUM(x) FROM t WHERE tz >= '2023-11-06 07:50:00'"
"""Of 97 records in UTC, of 49 in Los Angeles."""
LOS_ANGELES = "America/Los_Angeles"


@pytest.fixture(params=["duckdb", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def gate(tmp_path: Path, dialect: str) -> Iterator[Gate]:
    with opened(tmp_path, dialect) as made:
        yield made


def opened(folder: Path, dialect: str, more: str = "") -> Gate:
    path = folder / "t.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.execute(LOG)
    policy = POLICY.format(before=f'dialect = "{dialect}"', more=more)
    return Gate.open(path, Policy.parse(policy), folder / "ledger")


def test_days_are_those_of_the_session(gate: Gate) -> None:
    fifth, sixth = datetime.date(2023, 11, 5), datetime.date(2023, 11, 6)
    assert gate.execute(BY_DAY, timezone=LOS_ANGELES).fetchall() == [(fifth, 144, 18550), (sixth, 96, 12560)]
    before = gate.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'", timezone=LOS_ANGELES)
    assert before.fetchall() == [(144,)]
    assert gate.execute("SELECT count(*) FROM t WHERE tz < '2023-11-06'").fetchall() == [(96,)]


def test_the_same_text_in_another_zone_is_another_question(gate: Gate) -> None:
    first = gate.execute(LATE)
    other = gate.execute(LATE, timezone=LOS_ANGELES)
    assert first.decision.code == other.decision.code == "answered"
    assert first.fetchall() != other.fetchall()
    assert gate.execute(LATE, timezone=LOS_ANGELES).decision.code == "known"
    assert gate.execute(LATE, timezone="america/los_angeles").decision.code == "known"
    assert gate.execute(LATE).decision.code == "known"


def test_two_zones_that_leave_one_record_between_them_are_a_tracker(tmp_path: Path, dialect: str) -> None:
    """Ten minutes of difference are one record."""
    with opened(tmp_path, dialect) as gate:
        sql = "SELECT SUM(x) FROM t WHERE tz < '2023-11-06 00:05:00'"
        assert gate.execute(sql, timezone="<+00:20>-00:20").decision.code == "answered"
        with pytest.raises(QueryRefused):
            gate.execute(sql, timezone="<+00:10>-00:10")


@pytest.mark.slow
def test_the_zone_is_on_record_and_told_after_opening_again(tmp_path: Path, dialect: str) -> None:
    with opened(tmp_path, dialect) as gate:
        gate.execute(LATE, timezone="est5edt")
        gate.execute(LATE)
        gate.check(LATE, timezone="5.5")
        entries = list(gate._ledger.entries())
        assert [each.zone for each in entries] == ["EST5EDT", "UTC", "<+05:30>-05:30"]
        assert [each.parameters for each in entries] == ["", "", ""]
        told = gate.execute(LATE, timezone="est5edt").fetchall()
    with opened(tmp_path, dialect) as gate:
        assert list(gate.history()["zone"]) == ["EST5EDT", "UTC", "<+05:30>-05:30", "EST5EDT"]
        again = gate.execute(LATE, timezone="EST5EDT")
        assert (again.decision.code, again.fetchall()) == ("known", told)
        assert gate.execute("SELECT SUM(x) FROM t WHERE id < $1", [200], timezone="EST5EDT").columns
        assert list(gate._ledger.entries())[-1].parameters == "[200]"
        assert gate.verify().problems == ()


def test_what_is_published_is_published_in_utc(tmp_path: Path, dialect: str) -> None:
    with opened(tmp_path, dialect) as gate:
        gate.execute(LATE, timezone=LOS_ANGELES)
    more = f'published = ["{LATE}"]'
    with opened(tmp_path, dialect, more) as gate:
        assert [each.zone for each in gate._ledger.entries()] == [LOS_ANGELES, "UTC"]


@pytest.mark.parametrize("zone", ["Nowhere", "PST", "", "UTC'; SELECT 1 --", None, 5])
def test_an_unknown_zone_is_an_error_and_nothing_is_asked(gate: Gate, zone: object) -> None:
    for ask in (gate.execute, gate.check, gate.describe):
        with pytest.raises(StatementError, match="timezone must be one such as Europe/Berlin"):
            ask(LATE, timezone=zone)  # type: ignore[operator]
    assert gate.history().empty


def test_moments_are_shown_in_the_zone(gate: Gate) -> None:
    sql, moment = "SELECT min(tz) AS first FROM t", datetime.datetime(2023, 11, 5, 8, tzinfo=datetime.UTC)
    for zone in ("UTC", LOS_ANGELES, "+05:30"):
        (shown,) = gate.execute(sql, timezone=zone).fetchone() or ()
        (value,) = gate.execute(sql, timezone=zone).arrow().column(0).to_pylist()
        frame = gate.execute(sql, timezone=zone).df()["first"]
        # of an hour that comes twice Python compares no moments of two zones
        assert shown.timestamp() == value.timestamp() == frame[0].timestamp() == moment.timestamp()
        if zone == LOS_ANGELES:
            assert (shown.hour, value.hour) == (1, 1)
        if zone == "+05:30":
            assert value.utcoffset() == datetime.timedelta(hours=-5.5)


def test_the_clock_is_read_in_the_zone(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 23:30 of the fifth in UTC it is the sixth in Kolkata."""
    moment = datetime.datetime(2023, 11, 5, 23, 30, tzinfo=datetime.UTC)
    monkeypatch.setattr("auditor.gate.request.datetime", _At(moment))
    sql = "SELECT CURRENT_DATE AS d, now() AS n, LOCALTIMESTAMP AS l, COUNT(*) AS c FROM t "
    sql += "WHERE tz < CURRENT_DATE"
    assert gate.execute(sql).fetchall() == [
        (datetime.date(2023, 11, 5), moment, datetime.datetime(2023, 11, 5, 23, 30), 0)
    ]
    assert gate.execute(sql, timezone="Asia/Kolkata").fetchall() == [
        (datetime.date(2023, 11, 6), moment, datetime.datetime(2023, 11, 6, 5, 0), 63)
    ]


class _At:
    def __init__(self, moment: datetime.datetime) -> None:
        self._moment = moment

    def now(self, zone: datetime.tzinfo) -> datetime.datetime:
        return self._moment.astimezone(zone)
