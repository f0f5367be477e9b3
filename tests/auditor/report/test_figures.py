"""Exact values lose nothing; ticks stand inside of their axis and are round."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.report.figures import exact, interval, moment, number, one_clock, percent

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.fractions())
def test_an_exact_value_can_be_read_back(value: Fraction) -> None:
    assert Fraction(exact(value)) == value


@given(st.integers(), st.integers(0, 20))
def test_a_value_with_finitely_many_decimals_is_written_with_them(digits: int, places: int) -> None:
    assert "/" not in exact(Fraction(digits, 10**places))


@given(FINITE)
def test_a_figure_is_near_the_number_it_shows(value: float) -> None:
    shown = float(number(value).replace(",", "").replace("−", "-"))
    assert shown == pytest.approx(value, rel=1e-3, abs=1e-300)


def test_what_is_no_number_is_said_in_words() -> None:
    assert [number(float(text)) for text in ("inf", "-inf", "nan")] == ["unbounded", "unbounded", "not known"]


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_share_is_called_all_or_nothing_only_if_it_is(part: int, more: int) -> None:
    assert percent(part, part + more) not in {"0\xa0%", "100\xa0%"}


def test_times_with_and_without_a_zone_are_not_compared() -> None:
    with_zone, without = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1)
    assert one_clock([with_zone, with_zone])
    assert one_clock([without])
    assert not one_clock([with_zone, without])
    assert not one_clock([with_zone, None])
    assert not one_clock([])


def test_a_moment_names_its_zone_if_it_has_one() -> None:
    assert moment(datetime(2026, 3, 3, 10, 0, 5, tzinfo=UTC)) == "3 March 2026, 10:00:05 UTC"
    assert moment(datetime(2026, 3, 3, 10, 0)) == "3 March 2026, 10:00:00"
    assert moment(None) == ""


def test_a_single_value_is_no_range() -> None:
    assert interval(41.0, 41.0) == "41"
    assert interval(-1.5, 1200.0) == "−1.5 to 1,200"
