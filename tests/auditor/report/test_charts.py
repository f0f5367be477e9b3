"""Charts draw what the findings say: steps where they are, each record in one row, curves at their height."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.history.findings import Findings, Moment
from auditor.history.unread import unread
from auditor.report.chart import BOTTOM, TOP, Across, Bar, Figure, Table, Upwards, bars, stepped
from auditor.report.curves import class_name, curve_figure, height
from auditor.report.reading import reading_view, span
from auditor.report.timeline import MOST_ROWS, timelines
from auditor.report.widths import MOST_ROWS as MOST_WIDTHS
from auditor.report.widths import width_figure

from .made import curve, made

FOUND = made(200)
NOON = datetime(2026, 3, 3, 12, tzinfo=UTC)


HEIGHT = 230 - TOP - BOTTOM
"""Pixels of a wide drawing of steps."""
NONE = Table((), ())


def paths(drawing: str, kind: str = "line") -> list[str]:
    """Of the marks of a kind, from below."""
    groups = re.findall(f'<g class="mark-{kind} role-mark[^>]*>(.*?)</g>', drawing)
    return [path for group in groups for path in re.findall(r'<path [^>]*?d="([^"]*)"', group)]


def texts(drawing: str, of: str = "") -> list[str]:
    """What is written in a drawing, or on its axes alone ("role-axis-label")."""
    groups = re.findall(f'<g class="mark-text {of}[^>]*>(.*?)</g>', drawing)
    return [text for group in groups for text in re.findall(r"<text[^>]*>([^<]*)</text>", group)]


def to_the_right(figure: Figure) -> list[list[str]]:
    """Labels of the axis to the right, of both drawings."""
    upwards = re.compile(r'<text text-anchor="end" transform="translate\(-8,')
    return [texts(upwards.sub("<none ", each), "role-axis-label") for each in (figure.wide, figure.narrow)]


def drawn(path: str) -> list[tuple[float, float]]:
    """Corners of a path of steps."""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.e]+),([-\d.e]+)", path)]


def at(corners: Sequence[tuple[float, float]], x: float) -> float:
    """The height of a path of steps just right of x."""
    return [y for across, y in corners if across <= x + 0.01][-1]


def of_steps(points: Sequence[tuple[float, float]], right: float, top: float) -> Figure:
    """A single line."""
    return stepped("a", "A", "a", [(0, "a", points)], (Across(0, right), Upwards(top)), NONE)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100)), min_size=1, max_size=40))
@settings(max_examples=20)
def test_a_line_has_each_value_from_its_place_on(points: list[tuple[int, int]]) -> None:
    points = sorted({x: (x, y) for x, y in points}.values())
    corners = drawn(*paths(of_steps(points, 442.0, 100.0).wide))
    assert corners[-1][0] == pytest.approx(442)
    for x, y in points:
        assert at(corners, x) == pytest.approx(HEIGHT * (1 - y / 100), abs=0.02)


def test_steps_that_no_eye_can_tell_apart_are_left_out_but_not_the_last() -> None:
    points = [(float(n), n / 1000) for n in range(100_000)]
    path = paths(of_steps(points, 100_000.0, 100_000.0).wide)[0]
    assert len(path) < 400
    last = drawn(paths(of_steps(points, 100_000.0, 1000.0).wide)[0])[-1]
    assert last == pytest.approx((442, HEIGHT * 0.9), abs=0.01)


def test_what_is_drawn_asks_for_nothing_and_takes_its_colours_from_the_page() -> None:
    name = "<script>alert(1)</script>&"
    drawing = bars("b", "B", "b", [Bar(name, 3, name, before=5)], NONE).wide
    assert "<script" not in drawing
    assert texts(drawing).count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;") == 2
    for each in (drawing, of_steps([(0, 1)], 1, 1).wide):
        assert not re.search(r"<(?!/?(svg|g|path|line|text)\b)", each)
        assert not re.search(r"style=|href=|url\(| on\w+=|#[0-9a-f]{3}", each)
        used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', each))
        assert all(colour in {"none", "transparent"} or colour.startswith("var(--") for colour in used)


def moments(times: Sequence[datetime | None], located: Sequence[int]) -> list[Moment]:
    return [
        Moment(number, time, "user anna", number, count, 0, 0, 0.5)
        for number, (time, count) in enumerate(zip(times, located, strict=True), 1)
    ]


def timed(times: Sequence[datetime | None]) -> Figure:
    party = replace(FOUND.parties[1], party="user anna")
    return timelines(replace(FOUND, parties=[party], timeline=moments(times, range(len(times)))), 0.5)[0]


def test_time_is_the_axis_where_the_log_has_it_in_order() -> None:
    figure = timed([NOON + timedelta(hours=hour) for hour in range(8)])
    assert figure.caption.endswith("by time.")
    assert to_the_right(figure)[0][:2] == ["12:00", "13:00"]
    assert "number of the statement" not in figure.wide


@pytest.mark.parametrize(
    "times",
    [
        [None, None, None],
        [NOON, None, NOON + timedelta(hours=1)],
        [NOON, NOON - timedelta(hours=1), NOON],
        [NOON, datetime(2026, 3, 3, 13), NOON],
        [NOON, NOON, NOON],
    ],
    ids=["none", "some", "out of order", "with and without zone", "one instant"],
)
def test_without_usable_times_the_statements_numbers_are_the_axis(times: list[datetime | None]) -> None:
    figure = timed(times)
    assert "by the number of the statement" in figure.caption
    assert "number of the statement" in texts(figure.wide)


def test_a_log_of_seconds_has_an_axis_of_seconds() -> None:
    figure = timed([NOON + timedelta(seconds=second) for second in (1, 2, 9)])
    labels = to_the_right(figure)[0]
    assert labels
    assert all(label.startswith("12:00:0") for label in labels)


def test_a_log_of_less_than_labels_tell_apart_has_the_statements_numbers() -> None:
    figure = timed([NOON, NOON + timedelta(milliseconds=200), NOON + timedelta(milliseconds=900)])
    assert "number of the statement" in texts(figure.wide)


def test_an_axis_shows_the_logs_own_clock() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    figure = timed([datetime(2026, 3, 3, 9, tzinfo=zone) + timedelta(hours=hour) for hour in range(5)])
    assert to_the_right(figure)[0] == ["09:00", "10:00", "11:00", "12:00", "13:00"]


@pytest.mark.parametrize("span", [2.0, 3.0, 7.0, 70.0, 4_000.0, 90_000.0, 1e7])
@pytest.mark.parametrize("begin", [0.0, 0.1, 0.95, 59.7])
def test_ends_and_places_between_them_are_told_apart_on_an_axis_however_short(
    span: float, begin: float
) -> None:
    start = NOON + timedelta(seconds=begin)
    figure = timed([start, start + timedelta(seconds=span / 3), start + timedelta(seconds=span)])
    for labels in to_the_right(figure):
        assert len(labels) > 1
        assert all(one != other for one, other in pairwise(labels))


def test_each_party_has_a_line_of_its_own_and_its_last_value() -> None:
    located, risk = timelines(FOUND, None)
    assert [name for _, name in located.legend] == ["everyone", "user anna", "user ben", "user dashboard"]
    top = max(party.located for party in FOUND.parties)
    for path, party in zip(paths(located.wide)[::-1], FOUND.parties, strict=True):
        share = 1 - drawn(path)[-1][1] / HEIGHT
        assert share * top == pytest.approx(party.located, abs=0.5)
    assert "limit" not in texts(risk.wide)


def test_the_limit_is_drawn_where_the_policy_states_one() -> None:
    risk = timelines(FOUND, 0.5)[1]
    assert "limit" in texts(risk.wide)
    assert f'translate(442,{HEIGHT / 2:g})" x2="-442"' in risk.wide
    assert "limit is 0.5" in risk.caption


@pytest.mark.slow
def test_a_long_history_makes_a_short_picture_and_a_table_with_first_and_last_row() -> None:
    times = [NOON + timedelta(minutes=minute) for minute in range(50_000)]
    figure = timed(times)
    assert len(paths(figure.wide)[0]) < 20_000
    assert len(figure.table.rows) == MOST_ROWS
    assert figure.table.rows[-1][3] == "49,999"
    assert "50,000" in figure.table.note


@given(st.lists(st.tuples(st.floats(0, 240), st.integers(1, 1000)), min_size=1, max_size=60))
def test_every_record_is_in_one_row_of_the_widths(widths: list[tuple[float, int]]) -> None:
    widths = sorted(dict(widths).items())
    figure = width_figure(with_widths(widths))
    assert figure is not None
    assert len(figure.table.rows) <= MOST_WIDTHS
    total = sum(count for _, count in widths)
    assert sum(int(row[2].replace(",", "")) for row in figure.table.rows) == total
    assert sum(int(row[1].replace(",", "")) for row in figure.table.rows) == total
    assert figure.table.rows[0][0] == "0 (known)"
    known = sum(count for width, count in widths if width == 0)
    assert int(figure.table.rows[0][2].replace(",", "")) == known


def with_widths(widths: Sequence[tuple[float, int]]) -> Findings:
    return replace(FOUND, parties=[replace(FOUND.parties[0], widths=widths)])


def test_a_single_record_among_many_is_still_seen() -> None:
    figure = width_figure(with_widths([(0.0, 1), (240.0, 45_221)]))
    assert figure is not None
    first = re.search(r'd="M0,[^h"]*h([\d.]+)[^"]*" fill="var\(--accent\)"', figure.wide)
    assert first is not None
    assert float(first[1]) >= 1.5


@given(st.integers(1, 30), st.floats(0, 300))
def test_a_curve_is_read_at_the_last_step_before(count: int, width: float) -> None:
    points = curve([10.0 * n for n in range(count)])
    place = bisect_right([epsilon for epsilon, _ in points], width)
    assert height(points, width) == points[place - 1][1]


def test_the_uninformed_intruder_is_in_the_picture_of_the_worst_classes() -> None:
    figure = curve_figure(FOUND)
    assert figure is not None
    assert figure.legend[-1][1] == "somebody who has seen no answer"
    assert figure.table.rows[0][-1] == f"{FOUND.prior_curve[0][1]:.3f}"
    assert curve_figure(replace(FOUND, prior_curve=[])) is None
    assert class_name(replace(FOUND.classes[0], known={})) == "all records"


def test_everything_that_was_read_is_shown_under_plain_names() -> None:
    reading = {"files": ["a.csv"], "broken": {"torn": 2, "binary": 1}, "odd": {"late": 4}, "more": "x\x00"}
    view = reading_view({**reading, "formats": {"a.csv": "csvlog"}, "examples": ["a.csv, line 1: torn"]})
    assert ("Lines and records that were not read", ["2 × torn", "1 × binary"]) in view.rows
    assert ("Read as", ["a.csv: csvlog"]) in view.rows
    assert ("more", ["x␀"]) in view.rows
    assert view.examples == ["a.csv, line 1: torn"]
    assert unread(reading, ()).lines == 3
    assert unread({"broken": 7}, ()).lines == 7


@pytest.mark.parametrize("names", [("first", "last"), ("earliest", "latest")])
@pytest.mark.parametrize("text", [False, True])
def test_the_span_of_the_log_is_known_by_either_name_and_as_text(names: tuple[str, str], text: bool) -> None:
    times = (NOON, NOON + timedelta(days=3))
    values = [time.isoformat() if text else time for time in times]
    assert span(dict(zip(names, values, strict=True))) == times
    assert span({names[0]: values[0]}) is None
    assert span({names[0]: "yesterday", names[1]: values[1]}) is None
