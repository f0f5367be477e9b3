"""Charts as SVG, drawn by Vega-Lite inside of this process (vl-convert): no browser, no network, no script.

Promise: what is drawn has shapes and texts alone, and names the style sheet's colours, so that it is dark
where the page is. Texts are escaped. Each chart is made twice, wide and narrow, so that its letters have the
size of the text on a desk and on a phone; whoever shows it adds the table that says the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Points = Sequence[tuple[float, float]]
Layer = Mapping[str, Any]
"""One of Vega-Lite."""

WIDE, NARROW = 500, 340
"""Pixels across."""
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 12, 40
"""Pixels around what is drawn, for the labels of axes."""
SMALLEST = 0.006
"""Of the longest bar, how long one is at least that stands for anything."""
_ROW = 26
_APART = 400
"""Steps of less than so small a part of the height no eye can tell apart: long histories make short paths."""


@dataclass(frozen=True)
class Style:
    """How a series looks; also where there are no colours."""

    colour: str
    """A name of the style sheet's."""
    width: float
    dash: tuple[int, ...]
    mark: str
    """A closed path about 0, in pixels."""


STYLES = (
    Style("accent", 2.5, (), "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0"),
    Style("second", 1.75, (), "M-4-4H4V4H-4Z"),
    Style("second", 1.75, (7, 4), "M0-5L5 4H-5Z"),
    Style("third", 1.75, (2, 3), "M0-6L5 0L0 6L-5 0Z"),
    Style("third", 1.75, (9, 3, 2, 3), "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z"),
    Style("third", 1.75, (), "M-1.8-5.5H1.8V-1.8H5.5V1.8H1.8V5.5H-1.8V1.8H-5.5V-1.8H-1.8Z"),
    Style("second", 1.75, (1, 4), "M0 5L5-4H-5Z"),
    Style("third", 1.75, (14, 4), "M-2.7-4.6H2.7L5.3 0L2.7 4.6H-2.7L-5.3 0Z"),
    Style("accent", 1.75, (5, 3), "M0-6L1.5-2H6L2.4.7L3.7 5L0 2.4L-3.7 5L-2.4.7L-6-2H-1.5Z"),
)
"""By number: circle, square, triangle, diamond, saltire, cross, triangle upside down, hexagon, star."""


@dataclass(frozen=True)
class Table:
    """What a chart shows, in words and numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, its legend and its table."""

    name: str
    """Made of letters and "-": identifiers in the page begin with it."""
    title: str
    caption: str
    wide: str
    """SVG."""
    narrow: str
    table: Table
    legend: Sequence[tuple[int, str]] = ()
    """(style, what it stands for)"""
    marked: bool = False
    """Whether its series have marks."""


@dataclass(frozen=True)
class Across:
    """The scale to the right: numbers, or seconds since some moment."""

    low: float
    high: float
    title: str = ""
    since: datetime | None = None
    """What the scale shows is the clock of this moment."""
    whole: bool = False
    """Whether there are whole numbers only."""

    def place(self, value: float) -> float:
        """A value as Vega-Lite takes it: of moments milliseconds, as if every clock were UTC's."""
        if self.since is None:
            return value
        return (self.since.replace(tzinfo=UTC).timestamp() + value) * 1000

    def encoding(self, ticks: int) -> Layer:
        """Of the axis, with about so many ticks."""
        axis = {
            "grid": False, "tickCount": ticks, "labelFlush": True, "labelOverlap": "greedy",
            "labelSeparation": 12,
            "title": self.title or None, "titleAlign": "right", "titleAnchor": "end",
            **({"tickMinStep": 1} if self.whole else {}),
        }  # fmt: skip
        ends = [self.place(self.low), self.place(self.high)]
        scale: dict[str, Any] = {"domain": ends, "nice": False, "zero": False}
        if self.since is None:
            return {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}
        axis["labelExpr"] = _CLOCK
        return {"field": "x", "type": "temporal", "scale": scale | {"type": "utc"}, "axis": axis}


_CLOCK = (
    "utcFormat(datum.value, {milliseconds: '%H:%M:%S.%L', seconds: '%H:%M:%S', minutes: '%H:%M', "
    "hours: '%H:%M', date: '%-d %b', day: '%-d %b', week: '%-d %b', month: '%b %Y', quarter: '%b %Y', "
    "year: '%Y'})"
)


@dataclass(frozen=True)
class Upwards:
    """The scale upwards, from 0."""

    most: float
    whole: bool = False
    rule: tuple[float, str] | None = None
    """A height that is marked, such as the limit, and what it is."""

    @property
    def encoding(self) -> Layer:
        """Of the axis."""
        axis = {"tickCount": 5, "domain": False, "ticks": False, "title": None, "labelPadding": 8,
                **({"tickMinStep": 1} if self.whole else {})}  # fmt: skip
        scale = {"domain": [0, self.most], "nice": False}
        return {"field": "y", "type": "quantitative", "scale": scale, "axis": axis}

    def marked(self, right: float) -> list[Layer]:
        """The rule, and its name at the right."""
        if self.rule is None:
            return []
        height, name = self.rule
        here = {"y": {"datum": height, "type": "quantitative"}}
        rule = {"type": "rule", "stroke": "var(--accent)", "strokeDash": [2, 3]}
        said = {"type": "text", "text": name, "align": "right", "dy": -6, "fill": "var(--muted)"}
        return [{"mark": rule, "encoding": here},
                {"mark": said, "encoding": {**here, "x": {"value": right}}}]  # fmt: skip


def both(draw: Callable[[int], str]) -> tuple[str, str]:
    """A drawing for a desk and one for a phone."""
    return draw(WIDE), draw(NARROW)


def stepped(
    name: str,
    title: str,
    caption: str,
    series: Sequence[tuple[int, str, Points]],
    axes: tuple[Across, Upwards],
    table: Table,
) -> Figure:
    """Lines of steps that keep each value until the next point, and the last to the end.

    Args:
        name: Of the figure.
        title: Of the figure.
        caption: What it shows.
        series: By style and name; the first is the most important and lies on top.
        axes: To the right and upwards.
        table: What says the same.
    """
    across, upwards = axes

    def draw(width: int) -> str:
        height = 230 if width == WIDE else 200
        ticks = {"x": across.encoding(5 if width == WIDE else 4), "y": upwards.encoding}
        layers = [
            {
                "data": _data([(across.place(x), y) for x, y in _kept(points, across.high, upwards.most)]),
                "mark": {"type": "line", "interpolate": "step-after", **line(style)},
                "encoding": ticks,
            }
            for style, _, points in series[::-1]
        ]
        return svg([*layers, *upwards.marked(width - LEFT - RIGHT - 4)], width, height)

    legend = [(style, said) for style, said, _ in series]
    return Figure(name, title, caption, *both(draw), table, legend)


@dataclass(frozen=True)
class Bar:
    """A horizontal bar."""

    label: str
    value: float
    said: str
    """What stands at its end."""
    before: float = 0.0
    """Length of the outline of what there was before, where there was something."""
    grave: bool = False


def bars(name: str, title: str, caption: str, rows: Sequence[Bar], table: Table) -> Figure:
    """Bars, one below the other."""
    most = max(max(each.value, each.before) for each in rows) or 1.0

    def length(value: float) -> float:
        return max(value, SMALLEST * most) if value else 0.0

    values = [
        {"label": each.label, "said": each.said, "before": length(each.before), "y": length(each.value),
         "end": max(length(each.value), length(each.before)), "grave": each.grave}
        for each in rows
    ]  # fmt: skip
    by_row = {"field": "label", "type": "nominal", "sort": None, "axis": {
        "domain": False, "ticks": False, "title": None, "labelPadding": 8, "labelLimit": 0}}  # fmt: skip

    def encoding(field: str) -> Layer:
        scale = {"domain": [0, most], "nice": False}
        return {"y": by_row, "x": {"field": field, "type": "quantitative", "scale": scale, "axis": None}}

    outline = {
        "type": "bar",
        "height": _ROW - 6,
        "fill": None,
        "stroke": "var(--third)",
        "strokeDash": [3, 2],
    }
    colour = {"condition": {"test": "datum.grave", "value": "var(--accent)"}, "value": "var(--third)"}
    layers: list[Layer] = [
        {"mark": {"type": "bar", "height": _ROW - 8}, "encoding": {**encoding("y"), "fill": colour}},
        {"mark": {"type": "text", "align": "left", "dx": 6, "fill": "var(--muted)"},
         "encoding": {**encoding("end"), "text": {"field": "said"}}},
    ]  # fmt: skip
    if any(each.before for each in rows):
        layers.insert(0, {"mark": outline, "encoding": encoding("before")})
    left = 20 + round(6.4 * max(len(each.label) for each in rows))
    right = 16 + round(7.2 * max(len(each.said) for each in rows))
    height = _ROW * len(rows)

    def draw(width: int) -> str:
        return svg(layers, width, height + 12, (left, right, 8, 4), values)

    return Figure(name, title, caption, *both(draw), table)


def line(style: int) -> Layer:
    """How a line looks."""
    found = STYLES[style]
    dash = {"strokeDash": list(found.dash)} if found.dash else {}
    return {"stroke": f"var(--{found.colour})", "strokeWidth": found.width, "strokeJoin": "round", **dash}


def svg(
    layers: Sequence[Layer],
    width: int,
    height: int,
    around: tuple[int, int, int, int] = (LEFT, RIGHT, TOP, BOTTOM),
    values: Sequence[Mapping[str, object]] = ({},),
) -> str:
    """Layers as SVG of so many pixels.

    Args:
        layers: From below.
        width: Of all.
        height: Of all.
        around: Pixels left, right, above and below of what is drawn.
        values: The data of layers without any of their own; by default what is drawn once.
    """
    import vl_convert  # late: few commands draw, and it is large

    left, right, top, bottom = around
    drawn = vl_convert.vegalite_to_svg(
        {
            "width": width - left - right,
            "height": height - top - bottom,
            "padding": {"left": left, "right": right, "top": top, "bottom": bottom},
            "autosize": {"type": "none"},
            "background": None,
            "data": {"values": list(values)},
            "layer": list(layers),
            "config": _CONFIG,
        }
    )
    # in a page it needs no names of namespaces, which are addresses
    return re.sub(r"^<svg [^>]*(viewBox=\"[^\"]*\")[^>]*>", r"<svg \1>", drawn)


_CONFIG = {
    "aria": False,  # a chart is one picture with a title and a table
    "font": "Inter, system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": "var(--muted)", "labelFontSize": 12, "titleColor": "var(--muted)",
             "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "var(--edge)",
             "domainColor": "var(--third)", "tickColor": "var(--third)"},
    "text": {"fontSize": 12},
    "point": {"opacity": 1},
}  # fmt: skip


def _data(points: Points) -> Layer:
    return {"values": [{"x": x, "y": y} for x, y in points]}


def _kept(points: Points, end: float, most: float) -> Points:
    """The steps that can be told apart, and the last value to the end."""
    if not points:
        return []
    found = [points[0]]
    for at, value in points[1:]:
        if abs(value - found[-1][1]) * _APART >= most or value == points[-1][1] != found[-1][1]:
            found.append((at, value))
    return [*found, (end, found[-1][1])]
