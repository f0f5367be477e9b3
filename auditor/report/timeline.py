"""Risk over time: how many records each party had located, and how near the worst class was to disclosure.

Promise: a step where a statement taught something; by time where the log gives times in order on one clock,
else by the statements' numbers, which the caption says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from auditor.history.findings import Findings, Moment
from auditor.report.chart import TICK_WIDTH, Drawing, Figure, Line, Table, Tick, both, frame, place, steps
from auditor.report.figures import brief_moment, number, one_clock
from auditor.report.figures import moment as time_text
from auditor.report.scales import round_ticks, round_times
from auditor.report.tally import leading
from auditor.report.visible import line

MOST_PARTIES = 5
"""Lines that can be told apart in one chart; the table of parties has the others."""
MOST_ROWS = 200
"""Rows of a chart's table."""


@dataclass(frozen=True)
class Axis:
    """Time, or the numbers of statements, as seconds or numbers."""

    low: float
    high: float
    by_time: bool
    zero: datetime | None

    def of(self, moment: Moment) -> float:
        """Where a moment stands on it."""
        if self.zero is None or moment.time is None:
            return float(moment.statement)
        return (moment.time - self.zero).total_seconds()

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round places on it."""
        if self.zero is None:
            return [(at, number(at)) for at in round_ticks(self.low, self.high, most, whole=True)]
        begin, end = self.zero, self.zero + timedelta(seconds=self.high)
        ticks = round_times(begin, end, most)
        if len(ticks) < 2:  # a short axis between two round times
            near = begin.date() == end.date()
            ticks = [(at, f"{at:%H:%M:%S}" if near else brief_moment(at)) for at in (begin, end)]
        return [((at - begin).total_seconds(), label) for at, label in ticks]


def timelines(found: Findings, limit: float | None) -> list[Figure]:
    """Two figures: records located, and the highest risk; none where nothing taught anything."""
    if not found.timeline:
        return []
    axis = _axis(found.timeline)
    parties = [party.party for party in leading(found)][:MOST_PARTIES]
    moments = sorted(found.timeline, key=lambda m: m.statement)
    histories = {name: [m for m in moments if m.party == name] for name in parties}
    histories = {name: history for name, history in histories.items() if history}
    what = "by time" if axis.by_time else "by the number of the statement, as the log has no times in order"
    most = max(m.located for history in histories.values() for m in history) if histories else 0
    legend = [(style, line(name, 60)) for style, name in enumerate(histories)]
    if not histories:
        return []
    located = _draw(histories, axis, lambda m: float(m.located), max(most, 1), None)
    risk = _draw(histories, axis, lambda m: m.risk, 1.0, limit)
    return [
        Figure(
            "located",
            "Records located",
            f"Records beyond the limit, as each party’s knowledge grew, {what}.",
            *both(located),
            _table(histories, "located"),
            legend,
        ),
        Figure(
            "risk",
            "Highest risk of any class",
            "0: nothing is excluded for anybody. 1: somebody’s value is known. " + _limit_words(limit),
            *both(risk),
            _table(histories, "risk"),
            legend,
        ),
    ]


def _limit_words(limit: float | None) -> str:
    return "" if limit is None else f"The policy’s limit is {number(limit)}."


def _axis(moments: Sequence[Moment]) -> Axis:
    ordered = sorted(moments, key=lambda m: m.statement)
    times = [m.time for m in ordered]
    if one_clock(times):
        known = [time for time in times if time is not None]
        if known == sorted(known) and known[0] < known[-1]:
            return Axis(0.0, (known[-1] - known[0]).total_seconds(), True, known[0])
    return Axis(float(ordered[0].statement), float(max(ordered[-1].statement, 1)), False, None)


Histories = dict[str, list[Moment]]


def _draw(
    histories: Histories, axis: Axis, value: Callable[[Moment], float], top: float, limit: float | None
) -> Callable[[int], Drawing]:
    def drawn(width: int) -> Drawing:
        empty = frame(width)

        def x(at: float) -> float:
            return place(at, axis.low, axis.high, empty.left, empty.right)

        def y(level: float) -> float:
            return place(level, 0.0, top, empty.bottom, empty.top)

        lines = []
        for style, history in enumerate(histories.values()):
            points = [(axis.low, 0.0), *((axis.of(m), value(m)) for m in history)]
            lines.append(Line(steps(points, x, y, empty.right), style))
        return replace(
            empty,
            x_ticks=_x_ticks(axis.ticks(max(2, (empty.right - empty.left) // TICK_WIDTH)), x, empty),
            y_ticks=[
                Tick(y(at), number(at), "end")
                for at in round_ticks(0, top, 6, whole=top > 1 or limit is None)
            ],
            x_title="" if axis.by_time else "number of the statement",
            lines=lines[::-1],  # the first is the most important and lies on top
            rule=None if limit is None else Tick(y(limit), "limit", "end"),
        )

    return drawn


def _x_ticks(ticks: list[tuple[float, str]], x: Callable[[float], float], drawing: Drawing) -> list[Tick]:
    edge = TICK_WIDTH / 3
    found = []
    for at, label in ticks:
        pixel = x(at)
        near_left, near_right = pixel - drawing.left < edge, drawing.right - pixel < edge
        found.append(Tick(pixel, label, "start" if near_left else "end" if near_right else "middle"))
    return found


def _table(histories: Histories, what: str) -> Table:
    """Rows where the figure changed; evenly thinned where there are too many."""
    rows: list[tuple[str, ...]] = []
    for name, history in histories.items():
        before: float | None = None
        for m in history:
            value = m.located if what == "located" else m.risk
            if value != before:
                rows.append(
                    (line(name, 60), f"{m.statement:,}", time_text(m.time), number(value), f"{m.exact:,}")
                )
                before = value
    note = ""
    if len(rows) > MOST_ROWS:
        note = f"{MOST_ROWS} of {len(rows):,} changes, evenly chosen; the JSON has all."
        rows = [rows[place * (len(rows) - 1) // (MOST_ROWS - 1)] for place in range(MOST_ROWS)]
    return Table(
        ("Party", "Statement", "Time", what.capitalize(), "Of these exact" if what == "located" else "Exact"),
        rows,
        note,
    )
