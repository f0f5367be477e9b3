"""Points by two figures, such as risk against utility: marked, joined by line, each with its name beside it.

Promise: every point is drawn inside the chart; of places beside a point its name takes the first where it
covers nothing that is there already, or if need be only a line, and none where there is no such place. The
table has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from auditor.report.chart import Dot, Drawing, Figure, Line, Table, Tick, both, frame, place
from auditor.report.figures import number
from auditor.report.scales import round_ticks

_LETTER, _HEIGHT, _MARK = 6.6, 12.0, 7.0
"""Pixels: width of a letter, height of a line, half the size of a mark with air around it."""

_PLACES = ((9, 4, "start"), (-9, 4, "end"), (0, -9, "middle"), (0, 17, "middle"), (7, -6, "start"),
           (-7, -6, "end"), (7, 14, "start"), (-7, 14, "end"))  # fmt: skip
"""Of a name, from its point: pixels to the right and down, and which end is there."""
_STRIDE = 4.0
"""Pixels between the places of a line that a name should not cover."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """One point of a series."""

    x: float
    y: float
    label: str
    kept: bool = False
    """Drawn full, others hollow."""


@dataclass(frozen=True)
class Series:
    """Points that belong together, joined in this order."""

    style: int
    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Axes:
    """What is drawn on which scale."""

    x_title: str
    """Of the axis to the right, and what is upwards."""
    least_x: float
    most_x: float
    most_y: float
    """The scale upwards begins at 0."""
    whole: bool = False
    """Whether the scale to the right has whole numbers only."""
    rule: tuple[float, str] | None = None
    """A height, and what it stands for."""


def scatter(
    name: str, title: str, caption: str, series: Sequence[Series], axes: Axes, table: Table
) -> Figure:
    """The chart, for a desk and for a phone."""
    wide, narrow = both(lambda width: _draw(series, axes, width))
    return Figure(name, title, caption, wide, narrow, table, [(each.style, each.name) for each in series])


def _draw(series: Sequence[Series], axes: Axes, width: int) -> Drawing:
    empty = frame(width)
    height = empty.height + 70
    empty = replace(empty, height=height, bottom=height - 40)
    left, right = empty.left + 10, empty.right - 10

    def x(value: float) -> float:
        return place(value, axes.least_x, axes.most_x, left, right)

    def y(value: float) -> float:
        return place(value, 0.0, axes.most_y, empty.bottom, empty.top + 8)

    taken = [_around(x(point.x), y(point.y)) for each in series for point in each.points]
    paths = [[(x(point.x), y(point.y)) for point in each.points] for each in series]
    lines = [box for path in paths for box in _along(path)]
    dots = []
    for each in series:
        for point in each.points:
            dots.append(_dot(point, each.style, x(point.x), y(point.y), taken, lines, empty))
    rule = None if axes.rule is None else Tick(y(axes.rule[0]), axes.rule[1], "end")
    across = round_ticks(axes.least_x, axes.most_x, 6 if width > 400 else 5, axes.whole)
    return replace(
        empty,
        x_ticks=[Tick(x(at), number(at)) for at in across],
        y_ticks=[Tick(y(at), number(at), "end") for at in round_ticks(0, axes.most_y, 6)],
        x_title=axes.x_title,
        lines=[Line(_path(path), each.style) for path, each in zip(paths, series, strict=True)],
        dots=dots,
        rule=rule,
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b) in enumerate(points))


def _around(x: float, y: float) -> Box:
    return x - _MARK, y - _MARK, x + _MARK, y + _MARK


def _along(path: Sequence[tuple[float, float]]) -> list[Box]:
    """Small boxes along a line."""
    found = []
    for (a, b), (c, d) in pairwise(path):
        count = int(max(abs(c - a), abs(d - b)) // _STRIDE) + 1
        for step in range(count):
            across, down = a + (c - a) * step / count, b + (d - b) * step / count
            found.append((across - 1, down - 1, across + 1, down + 1))
    return found


def _dot(
    point: Point, style: int, x: float, y: float, taken: list[Box], lines: Sequence[Box], inside: Drawing
) -> Dot:
    """A mark, with its name where there is room for it."""
    width = _LETTER * len(point.label)
    for avoided in (lines, ()):
        for across, down, anchor in _PLACES:
            at = x + across
            begin = at - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            box = (begin, y + down - _HEIGHT + 2, begin + width, y + down + 2)
            if box[0] < inside.left or box[2] > inside.right or box[1] < 0 or box[3] > inside.bottom:
                continue
            if not any(_meet(box, other) for other in (*taken, *avoided)):
                taken.append(box)
                return Dot(x, y, style, Tick(at, point.label, anchor), y + down, point.kept)
    return Dot(x, y, style, Tick(x, ""), y, point.kept)


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
