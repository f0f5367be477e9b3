"""Points by two figures, such as risk against utility: marked, joined by line, each with its name beside it.

Promise: every point is drawn inside the chart; of places beside a point its name takes the first where it
covers nothing that is there already, or if need be only a line, and none where there is no such place. The
table has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from auditor.report.chart import (
    BOTTOM,
    LEFT,
    RIGHT,
    STYLES,
    TOP,
    WIDE,
    Across,
    Figure,
    Layer,
    Table,
    Upwards,
    both,
    line,
    svg,
)

_LETTER, _HEIGHT, _MARK = 6.6, 12.0, 7.0
"""Pixels: width of a letter, height of a line, half the size of a mark with air around it."""

_PLACES = ((9, 4, "start"), (-9, 4, "end"), (0, -9, "middle"), (0, 17, "middle"), (7, -6, "start"),
           (-7, -6, "end"), (7, 14, "start"), (-7, 14, "end"))  # fmt: skip
"""Of a name, from its point: pixels to the right and down, and which end is there."""
_BESIDE, _ABOVE = 10, 8
"""Pixels between the ends of the scales and the edges."""
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


@dataclass(frozen=True)
class Name:
    """Where a point's name stands, from its point: in pixels from the left and from the top of the chart."""

    x: float
    y: float
    text: str
    """"": there is no room for it."""
    anchor: str = "middle"


def scatter(
    name: str, title: str, caption: str, series: Sequence[Series], axes: Axes, table: Table
) -> Figure:
    """The chart, for a desk and for a phone."""
    wide, narrow = both(lambda width: _draw(series, axes, width))
    legend = [(each.style, each.name) for each in series]
    return Figure(name, title, caption, wide, narrow, table, legend, marked=True)


def _draw(series: Sequence[Series], axes: Axes, width: int) -> str:
    height = 300 if width == WIDE else 270
    across = Across(axes.least_x, axes.most_x, axes.x_title, whole=axes.whole)
    upwards = Upwards(axes.most_y, rule=axes.rule)
    ticks = {"x": _inside(across.encoding(6 if width == WIDE else 5)), "y": _lower(upwards.encoding)}
    layers = [layer for each in series for layer in _of_series(each, ticks)]
    placed = names(series, axes, width - LEFT - RIGHT, height - TOP - BOTTOM)
    layers += [_written(each) for each in placed if each.text]
    return svg([*layers, *upwards.marked(width - LEFT - RIGHT - 4)], width, height)


def _of_series(series: Series, ticks: Layer) -> list[Layer]:
    """Its marks, and the line that joins them."""
    style = STYLES[series.style]
    colour = f"var(--{style.colour})"
    # full ones are as dark as the text, but for those that have a colour
    full = colour if style.colour == "accent" else "var(--ink)"
    data = {"values": [{"x": p.x, "y": p.y, "kept": p.kept} for p in series.points]}
    fill = {"condition": {"test": "datum.kept", "value": full}, "value": "transparent"}
    mark = {"type": "point", "shape": style.mark, "size": 4, "stroke": colour, "strokeWidth": 1.75}
    marks = {"data": data, "mark": mark, "encoding": {**ticks, "fill": fill}}
    if len(series.points) < 2:
        return [marks]
    joined = {**ticks, "order": {"value": 0}}  # in their own order, not from left to right
    return [{"data": data, "mark": {"type": "line", **line(series.style)}, "encoding": joined}, marks]


def _written(name: Name) -> Layer:
    align = {"start": "left", "middle": "center", "end": "right"}[name.anchor]
    mark = {"type": "text", "text": name.text, "align": align, "baseline": "alphabetic"}
    return {
        "mark": {**mark, "fill": "var(--muted)"},
        "encoding": {"x": {"value": name.x}, "y": {"value": name.y}},
    }


def names(series: Sequence[Series], axes: Axes, width: int, height: int) -> list[Name]:
    """Where the points' names stand, in the order of the points, in a chart of so many pixels."""

    def at(point: Point) -> tuple[float, float]:
        span = axes.most_x - axes.least_x
        share = (point.x - axes.least_x) / span if span > 0 else 0.0
        up = point.y / axes.most_y if axes.most_y > 0 else 0.0
        return _BESIDE + share * (width - 2 * _BESIDE), height - up * (height - _ABOVE)

    paths = [[at(point) for point in each.points] for each in series]
    taken = [_around(*place) for path in paths for place in path]
    lines = [box for path in paths for box in _along(path)]
    labels = [point.label for each in series for point in each.points]
    places = [place for path in paths for place in path]
    return [
        _name(label, *place, taken, lines, (width, height))
        for label, place in zip(labels, places, strict=True)
    ]


def _inside(encoding: Layer) -> Layer:
    """The scale to the right, with room at both ends."""
    scale = {**encoding["scale"], "range": [_BESIDE, {"expr": f"width - {_BESIDE}"}]}
    return {**encoding, "scale": scale}


def _lower(encoding: Layer) -> Layer:
    """The scale upwards, with room above."""
    return {**encoding, "scale": {**encoding["scale"], "range": [{"expr": "height"}, _ABOVE]}}


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


def _name(
    label: str, x: float, y: float, taken: list[Box], lines: Sequence[Box], inside: tuple[int, int]
) -> Name:
    """A point's name, where there is room for it."""
    width = _LETTER * len(label)
    for avoided in (lines, ()):
        for across, down, anchor in _PLACES:
            at = x + across
            begin = at - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            box = (begin, y + down - _HEIGHT + 2, begin + width, y + down + 2)
            if box[0] < 0 or box[2] > inside[0] or box[1] < -TOP or box[3] > inside[1]:
                continue
            if not any(_meet(box, other) for other in (*taken, *avoided)):
                taken.append(box)
                return Name(at, y + down, label, anchor)
    return Name(x, y, "")


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
