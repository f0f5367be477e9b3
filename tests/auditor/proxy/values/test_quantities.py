"""Settings that are times or sizes, as PostgreSQL reads and shows them."""

from __future__ import annotations

import pytest

from auditor.proxy.session.settings import Settings
from auditor.proxy.values import quantities

TIMES = [
    # as PostgreSQL 15 answered to SET and SHOW statement_timeout
    ("0", "0"), ("1", "1ms"), ("999", "999ms"), ("1000", "1s"), ("1500", "1500ms"), ("5s", "5s"),
    ("60000", "1min"), ("90s", "90s"), ("61s", "61s"), ("3600000", "1h"), ("1h", "1h"), ("1d", "1d"),
    ("36h", "36h"), ("25h", "25h"), ("2min", "2min"), ("1500us", "2ms"), ("0.5s", "500ms"),
    ("1.5s", "1500ms"), ("2147483647", "2147483647ms"), (" 5 s ", "5s"),
]  # fmt: skip
SIZES = [
    ("64", "64kB"), ("1024", "1MB"), ("4096", "4MB"), ("4MB", "4MB"), ("1GB", "1GB"), ("1500kB", "1500kB"),
    ("4097", "4097kB"), ("1048576", "1GB"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [("statement_timeout", *each) for each in TIMES] + [("work_mem", *each) for each in SIZES],
)
def test_a_setting_is_shown_as_postgresql_shows_it(name: str, given: str, shown: str) -> None:
    settings = Settings({})
    settings.change(name, given)
    assert settings.shown(name) == shown
    settings.change(name, shown)
    assert settings.shown(name) == shown


@pytest.mark.parametrize("text", ["-1", "2147483648", "5 hours", "5S", "1MB", "", "soon", "1e3", "25d"])
def test_what_is_no_time_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"Write a number|at most"):
        quantities.read(text, "ms")


def test_every_setting_with_a_unit_is_shown_with_it() -> None:
    settings = Settings({})
    for name, unit in quantities.UNITS.items():
        settings.change(name, "60000")
        assert settings.shown(name) == {"ms": "1min", "kB": "60000kB"}[unit]


@pytest.mark.parametrize(("value", "unit", "shown"), [("131072", "8kB", "1GB"), ("16777216", "B", "16MB")])
def test_fixed_sizes_are_shown_so_too(value: str, unit: str, shown: str) -> None:
    assert quantities.shown(value, unit) == shown
