"""A chart as a value: geometry worked out here, drawn as SVG by a template, never by a script.

Promise: coordinates lie inside the chart. Each chart is made twice, wide and narrow, so that its letters
have the size of the text on a desk and on a phone; whoever shows it adds the table that says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Points = Sequence[tuple[float, float]]

TICK_WIDTH = 84
"""Pixels that the label of a tick may need."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where, in pixels, and what it says."""

    at: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Line:
    """A line of steps: an SVG path, and its style by number."""

    path: str
    style: int


@dataclass(frozen=True)
class Bar:
    """A horizontal bar with what stands left and right of it."""

    y: float
    height: float
    width: float
    label: str
    count: str
    before: float = 0.0
    """Width of the outline of what there was before, where there was something."""
    grave: bool = False


@dataclass(frozen=True)
class Dot:
    """A marked point and what stands beside it; its style is that of its line."""

    x: float
    y: float
    style: int
    label: Tick
    """`at` is from the left."""
    label_y: float
    kept: bool = False
    """Drawn full, others hollow."""


@dataclass(frozen=True)
class Drawing:
    """One SVG."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    """The rectangle in which data are drawn, in pixels from the left and from the top."""
    x_ticks: Sequence[Tick] = ()
    y_ticks: Sequence[Tick] = ()
    x_title: str = ""
    lines: Sequence[Line] = ()
    bars: Sequence[Bar] = ()
    dots: Sequence[Dot] = ()
    rule: Tick | None = None
    """A horizontal rule, such as the policy's limit."""


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
    wide: Drawing
    narrow: Drawing
    table: Table
    legend: Sequence[tuple[int, str]] = ()
    """(style, what it stands for)"""


def both(draw: Callable[[int], Drawing]) -> tuple[Drawing, Drawing]:
    """A drawing for a desk and one for a phone."""
    return draw(500), draw(340)


def frame(width: int) -> Drawing:
    """An empty drawing for lines."""
    height = 230 if width > 400 else 200
    return Drawing(width, height, left=44, right=width - 14, top=12, bottom=height - 40)


def place(value: float, low: float, high: float, start: float, end: float) -> float:
    """Where a value stands between two pixels, kept inside."""
    share = (value - low) / (high - low) if high > low else 0.0
    return start + min(max(share, 0.0), 1.0) * (end - start)


def steps(points: Points, x: Callable[[float], float], y: Callable[[float], float], end: float) -> str:
    """The path of a step function that keeps each value until the next point, and the last until `end`.

    Points that no eye could tell apart are left out, so that a long history makes a short path.
    """
    if not points:
        return ""
    at, level = round(x(points[0][0]), 1), round(y(points[0][1]), 1)
    path = [f"M{at:g} {level:g}"]
    for across, value in points[1:]:
        new = round(y(value), 1)
        if abs(new - level) < 0.5 and value != points[-1][1]:
            continue
        if new != level:
            path.append(f"H{round(x(across), 1):g}V{new:g}")
            level = new
    path.append(f"H{round(end, 1):g}")
    return "".join(path)
