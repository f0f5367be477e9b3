"""Marks lie inside the chart, and names cover neither marks nor each other."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from auditor.report.chart import Dot, Drawing, Table
from auditor.report.scatter import Axes, Point, Series, scatter

SHARES = st.floats(0, 1, allow_nan=False)
POINTS = st.lists(st.tuples(SHARES, SHARES, st.sampled_from(["5 %", "Q = 16", "p = 0.9"])), max_size=30)


def drawings(points: list[tuple[float, float, str]], most_x: float = 1.0) -> list[Drawing]:
    series = [Series(0, "a", [Point(*each) for each in points])]
    figure = scatter("name", "t", "c", series, Axes("x", 0.0, most_x, 1.0), Table((), ()))
    return [figure.wide, figure.narrow]


def box(dot: Dot) -> tuple[float, float, float, float]:
    """What a name covers, by a letter of 6 pixels and a line of 10."""
    width = 6.0 * len(dot.label.label)
    left = dot.label.at - {"start": 0.0, "middle": width / 2, "end": width}[dot.label.anchor]
    return left, dot.label_y - 9, left + width, dot.label_y + 1


@given(POINTS)
def test_every_mark_is_inside(points: list[tuple[float, float, str]]) -> None:
    for drawing in drawings(points):
        assert len(drawing.dots) == len(points)
        for dot in drawing.dots:
            assert drawing.left <= dot.x <= drawing.right
            assert drawing.top <= dot.y <= drawing.bottom


@given(POINTS)
def test_names_that_are_shown_cover_nothing(points: list[tuple[float, float, str]]) -> None:
    for drawing in drawings(points):
        named = [(dot, box(dot)) for dot in drawing.dots if dot.label.label]
        for (_, a), (_, b) in combinations(named, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for _, a in named:
            assert drawing.left <= a[0]
            assert a[2] <= drawing.right
            assert not any(a[0] < dot.x < a[2] and a[1] < dot.y < a[3] for dot in drawing.dots)


def test_a_lone_point_has_its_name_at_the_right_and_one_at_the_edge_at_the_left() -> None:
    wide, _ = drawings([(0.5, 0.5, "5 %")])
    assert wide.dots[0].label.anchor == "start"
    wide, _ = drawings([(1.0, 0.5, "5 %")])
    assert wide.dots[0].label.anchor == "end"


def test_all_points_in_one_place_show_what_there_is_room_for() -> None:
    wide, _ = drawings([(0.5, 0.5, "5 %")] * 9)
    assert 1 <= sum(bool(dot.label.label) for dot in wide.dots) < 9


def test_points_that_do_not_spread_are_drawn() -> None:
    wide, _ = drawings([(0.0, 0.0, "a")], most_x=0.0)
    assert len(wide.dots) == 1
