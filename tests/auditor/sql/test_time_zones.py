"""Names of time zones: PostgreSQL's meaning, or none."""

from __future__ import annotations

import datetime

import pytest

from auditor.sql.time_zones import UTC_ZONE, session_zone, written_zone

SHOWN = [
    # what is set, what is shown, hours ahead of UTC in July: as PostgreSQL 15 answered
    ("UTC", "UTC", 0), ("utc", "UTC", 0), ("europe/BERLIN", "Europe/Berlin", 2), ("zulu", "Zulu", 0),
    ("+05:30", "+05:30", -5.5), ("-05:30", "-05:30", 5.5), ("5", "<+05>-05", 5), ("+05", "<+05>-05", 5),
    ("5.5", "<+05:30>-05:30", 5.5), ("-3.5", "<-03:30>+03:30", -3.5), ("-0", "<+00>-00", 0),
    ("UTC+5", "UTC+5", -5), ("UTC5:30", "UTC5:30", -5.5), ("<+05>-5", "<+05>-5", 5), ("FOO5", "FOO5", -5),
    ("<+05:30>-05:30", "<+05:30>-05:30", 5.5), ("EST", "EST", -5), ("EST5EDT", "EST5EDT", -4),
    ("GMT+5", "GMT+5", -5), ("Etc/GMT+5", "Etc/GMT+5", -5), ("16", "<+16>-16", 16), ("CET", "CET", 2),
]  # fmt: skip
UNKNOWN = [
    "PST", "IST", "Z", "Nowhere", "Europe/Berlin ", "US/Pacific-New", "America", "", "right/UTC", "168", "24",
    "FOO5BAR", "EST5EDT,M3.2.0,M11.1.0", "posix/Europe/Berlin", "localtime", "../../etc/passwd", "UTC'; DROP",
    "a" * 1_000, "SystemV/PST8", "Europe/Berlin\0",
]  # fmt: skip
"""The first are unknown to PostgreSQL; some it knows, and they are refused here."""
WRITTEN = [("UTC+5", -5), ("5", -5), ("+05:30", -5.5), ("est5edt", -4), ("Europe/Berlin", 2), ("Z", 0)]
ABBREVIATED = ["PST", "EST", "IST", "CET", "bst", "MST", "HST", "EET"]


def ahead(clocks: datetime.tzinfo) -> float:
    offset = datetime.datetime(2023, 7, 5, 8, tzinfo=datetime.UTC).astimezone(clocks).utcoffset()
    assert offset is not None
    return offset / datetime.timedelta(hours=1)


@pytest.mark.parametrize(("text", "shown", "hours"), SHOWN)
def test_a_sessions_zone_is_read_and_shown_as_postgresql_does(text: str, shown: str, hours: float) -> None:
    zone = session_zone(text)
    assert (zone.name, ahead(zone.clocks)) == (shown, hours)
    assert session_zone(zone.name) == zone


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_no_zone_is_none(text: str) -> None:
    with pytest.raises(KeyError):
        session_zone(text)


@pytest.mark.parametrize(("text", "hours"), WRITTEN)
def test_at_time_zone_reads_a_number_as_hours_behind(text: str, hours: float) -> None:
    assert ahead(written_zone(text).clocks) == hours


@pytest.mark.parametrize("text", ABBREVIATED)
def test_at_time_zone_takes_no_abbreviation(text: str) -> None:
    with pytest.raises(KeyError):
        written_zone(text)


def test_the_zone_of_who_says_nothing_is_utc() -> None:
    assert session_zone("UTC") is UTC_ZONE
