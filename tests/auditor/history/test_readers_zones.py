"""A session's statements are reckoned in the time zone that it has set, as far as its log tells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from auditor import Policy, audit
from auditor.errors import LogError
from auditor.history.readers import read
from auditor.history.readers.zones import SessionZone
from auditor.history.statement import Logged, Reading

ASKED = "SELECT 1"


def zones(*sent: str, tmp_path: Path, session: Sequence[str] = ()) -> list[str]:
    """The zone of each `SELECT 1` of a server's log."""
    lines = [
        f"2026-01-01 00:00:{number:02}.000 UTC [{(session or ['7'] * len(sent))[number]}] anna@acs LOG:  "
        f"statement: {sql}\n"
        for number, sql in enumerate(sent)
    ]
    path = tmp_path / "server.log"
    path.write_text("".join(lines))
    return [each.zone for each in read([path], reading=Reading()) if each.sql == ASKED]


@pytest.mark.parametrize(
    ("written", "zone"),
    [
        ("SET TIME ZONE 'Europe/Berlin'", "Europe/Berlin"),
        ("set timezone to 'europe/berlin';", "Europe/Berlin"),
        ("SET SESSION TimeZone = 'UTC'", "UTC"),
        ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", "<+02>-02"),
        ("SET TIME ZONE LOCAL", ""),
        ("SET TIME ZONE DEFAULT", ""),
        ("SET search_path TO public", ""),
    ],
)
def test_what_a_set_names_is_the_zone_from_then_on(written: str, zone: str, tmp_path: Path) -> None:
    assert zones(ASKED, written, ASKED, tmp_path=tmp_path) == ["", zone]


def test_each_session_has_a_zone_of_its_own(tmp_path: Path) -> None:
    said = zones("SET TIME ZONE 'Asia/Tokyo'", ASKED, ASKED, tmp_path=tmp_path, session=["1", "1", "2"])
    assert said == ["Asia/Tokyo", ""]


def test_reset_and_the_end_of_a_transaction_give_the_zone_back(tmp_path: Path) -> None:
    sent = [
        "SET TIME ZONE 'Asia/Tokyo'", "BEGIN", "SET LOCAL TIME ZONE 'UTC'", ASKED, "COMMIT", ASKED,
        "BEGIN", "SET TIME ZONE 'Europe/Paris'", ASKED, "ROLLBACK", ASKED, "RESET TimeZone", ASKED,
    ]  # fmt: skip
    assert zones(*sent, tmp_path=tmp_path) == ["UTC", "Asia/Tokyo", "Europe/Paris", "Asia/Tokyo", ""]


def test_outside_of_a_transaction_set_stays_and_set_local_does_nothing() -> None:
    zone = SessionZone()
    for sql in ("BEGIN", "COMMIT", "SET TIME ZONE 'Asia/Tokyo'", "SET LOCAL TIME ZONE 'UTC'", "ROLLBACK"):
        assert zone.take(sql)
        assert zone.now in ("", "Asia/Tokyo")
    assert zone.now == "Asia/Tokyo"


def test_a_rollback_to_a_savepoint_ends_no_transaction() -> None:
    zone = SessionZone()
    for sql in ("BEGIN", "SET TIME ZONE 'Asia/Tokyo'", "ROLLBACK TO SAVEPOINT a"):
        assert zone.take(sql)
    assert zone.now == "Asia/Tokyo"


def test_a_zone_that_is_not_known_is_said(tmp_path: Path) -> None:
    path, reading = tmp_path / "server.log", Reading()
    path.write_text("2026-01-01 00:00:00.000 UTC [7] anna@acs LOG:  statement: SET TIME ZONE 'Atlantis'\n")
    list(read([path], reading=reading))
    assert any("time zone" in reason for reason in reading.lost)


POLICY = Policy.parse("""[protect]
table = "stays"
column = "charge"
public = ["left_at"]
minimum = 0
maximum = 1000
step = 50
resolution = 50
[limit]
risk = 0.5
""")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A stay late in the evening, in UTC, beside nineteen at noon."""
    path = tmp_path / "stays.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE stays (left_at TIMESTAMPTZ, charge INTEGER)")
        connection.execute("INSERT INTO stays VALUES ('2026-01-01 23:30:00+00', 700)")
        for number in range(19):
            connection.execute("INSERT INTO stays VALUES ('2026-01-01 12:00:00+00', ?)", [number * 50])
    return path


FIRST = "SELECT sum(charge) FROM stays WHERE left_at::date = DATE '2026-01-01'"
SECOND = "SELECT sum(charge) FROM stays"


@pytest.mark.parametrize(("zone", "found"), [("UTC", 0), ("Europe/Berlin", 1)])
@pytest.mark.parametrize("by_log", [True, False])
def test_who_is_located_hangs_on_where_days_begin(
    zone: str, found: int, by_log: bool, database: Path
) -> None:
    asked = [Logged(1, FIRST, user="a", zone=zone if by_log else ""), Logged(2, SECOND, user="a")]
    said = audit(database, POLICY, asked, gate_seconds=0, timezone="UTC" if by_log else zone)
    assert sum(each.party == "user a" for each in said.findings) == found


def test_the_same_text_in_another_zone_is_another_statement(database: Path) -> None:
    asked = [Logged(n, FIRST, user="a", zone=zone) for n, zone in enumerate(("UTC", "Europe/Berlin"), 1)]
    said = audit(database, POLICY, asked, gate_seconds=0)
    assert sum(each.party == "user a" for each in said.findings) == 1


def test_a_time_zone_that_is_not_known_is_an_error(database: Path) -> None:
    with pytest.raises(LogError, match="Atlantis is no time zone"):
        audit(database, POLICY, [Logged(1, SECOND)], timezone="Atlantis")
