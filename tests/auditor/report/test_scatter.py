"""Marks lie inside the chart, and names cover neither marks nor each other."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.report.chart import BOTTOM, LEFT, NARROW, RIGHT, TOP, WIDE, Table
from auditor.report.scatter import Axes, Name, Point, Series, names, scatter

SHARES = st.floats(0, 1, allow_nan=False)
POINTS = st.lists(st.tuples(SHARES, SHARES, st.sampled_from(["5 %", "Q = 16", "p = 0.9"])), max_size=30)
SIZES = [(width - LEFT - RIGHT, height - TOP - BOTTOM) for width, height in ((WIDE, 300), (NARROW, 270))]


def series(points: list[tuple[float, float, str]]) -> list[Series]:
    return [Series(0, "a", [Point(*each) for each in points])]


def axes(most_x: float = 1.0) -> Axes:
    return Axes("x", 0.0, most_x, 1.0)


def marks(drawing: str) -> list[tuple[float, float]]:
    """Where the marks of a drawing are."""
    groups = re.findall(r'<g class="mark-symbol role-mark[^>]*>(.*?)</g>', drawing)
    found = [place for group in groups for place in re.findall(r"translate\(([-\d.e]+),([-\d.e]+)\)", group)]
    return [(float(x), float(y)) for x, y in found]


def box(name: Name) -> tuple[float, float, float, float]:
    """What a name covers, by a letter of 6 pixels and a line of 10."""
    width = 6.0 * len(name.text)
    left = name.x - {"start": 0.0, "middle": width / 2, "end": width}[name.anchor]
    return left, name.y - 9, left + width, name.y + 1


@given(POINTS)
@settings(max_examples=10)
def test_every_mark_is_inside_and_where_its_name_was_placed(points: list[tuple[float, float, str]]) -> None:
    figure = scatter("name", "t", "c", series(points), axes(), Table((), ()))
    for drawing, (width, height) in zip((figure.wide, figure.narrow), SIZES, strict=True):
        places = marks(drawing)
        assert len(places) == len(points)
        assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
        for (x, y), name in zip(places, names(series(points), axes(), width, height), strict=True):
            if not name.text:
                assert (name.x, name.y) == pytest.approx((x, y), abs=0.01)


@given(POINTS)
def test_names_that_are_shown_cover_nothing(points: list[tuple[float, float, str]]) -> None:
    for width, height in SIZES:
        placed = names(series(points), axes(), width, height)
        boxes = [box(each) for each in placed if each.text]
        for a, b in combinations(boxes, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for a in boxes:
            assert a[0] >= 0
            assert a[2] <= width
            for x, y, _ in points:
                across, down = 10 + x * (width - 20), height - y * (height - 8)
                assert not (a[0] < across < a[2] and a[1] < down < a[3])


def test_a_lone_point_has_its_name_at_the_right_and_one_at_the_edge_at_the_left() -> None:
    assert names(series([(0.5, 0.5, "5 %")]), axes(), *SIZES[0])[0].anchor == "start"
    assert names(series([(1.0, 0.5, "5 %")]), axes(), *SIZES[0])[0].anchor == "end"


def test_all_points_in_one_place_show_what_there_is_room_for() -> None:
    placed = names(series([(0.5, 0.5, "5 %")] * 9), axes(), *SIZES[0])
    assert 1 <= sum(bool(each.text) for each in placed) < 9


def test_points_that_do_not_spread_are_drawn() -> None:
    figure = scatter("name", "t", "c", series([(0.0, 0.0, "a")]), axes(0.0), Table((), ()))
    assert len(marks(figure.wide)) == 1
