"""Risk over time: how many records each party had located, and how near the worst class was to disclosure.

Promise: a step where a statement taught something; by time where the log gives times in order on one clock,
else by the statements' numbers, which the caption says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from auditor.history.findings import Findings, Moment
from auditor.report.chart import Across, Figure, Table, Upwards, stepped
from auditor.report.figures import moment as time_text
from auditor.report.figures import number, one_clock
from auditor.report.tally import leading
from auditor.report.visible import line

MOST_PARTIES = 5
"""Lines that can be told apart in one chart; the table of parties has the others."""
MOST_ROWS = 200
"""Rows of a chart's table."""
SHORTEST = 2.0
"""Seconds of an axis of time: labels tell seconds apart."""


@dataclass(frozen=True)
class Axis:
    """Time, or the numbers of statements."""

    across: Across

    @classmethod
    def of(cls, moments: Sequence[tuple[int, datetime | None]]) -> Axis:
        """Of statements by number and time: time where all have one, in order, on one clock."""
        ordered = sorted(moments, key=lambda each: each[0])
        times = [time for _, time in ordered]
        known = [time for time in times if time is not None]
        if one_clock(times) and known == sorted(known):
            span = (known[-1] - known[0]).total_seconds()
            if span >= SHORTEST:
                return cls(Across(0.0, span, since=known[0]))
        first, last = ordered[0][0], max(ordered[-1][0], 1)
        return cls(Across(float(first), float(last), "number of the statement", whole=True))

    @property
    def said(self) -> str:
        """What it shows, for a caption."""
        if self.across.since is not None:
            return "by time"
        return "by the number of the statement, as there are no times in order, or all are one"

    def at(self, number: int, time: datetime | None) -> float:
        """Where a statement stands on it."""
        zero = self.across.since
        return float(number) if zero is None or time is None else (time - zero).total_seconds()


def timelines(found: Findings, limit: float | None) -> list[Figure]:
    """Two figures: records located, and the highest risk; none where nothing taught anything."""
    if not found.timeline:
        return []
    axis = Axis.of([(m.statement, m.time) for m in found.timeline])
    parties = [party.party for party in leading(found)][:MOST_PARTIES]
    moments = sorted(found.timeline, key=lambda m: m.statement)
    histories = {name: [m for m in moments if m.party == name] for name in parties}
    histories = {name: history for name, history in histories.items() if history}
    if not histories:
        return []
    most = max(m.located for history in histories.values() for m in history)
    return [
        stepped(
            "located",
            "Records located",
            f"Records beyond the limit, as each party’s knowledge grew, {axis.said}.",
            _series(histories, axis, lambda m: float(m.located)),
            (axis.across, Upwards(max(most, 1), whole=True)),
            _table(histories, "located"),
        ),
        stepped(
            "risk",
            "Highest risk of any class",
            "0: nothing is excluded for anybody. 1: somebody’s value is known. " + limit_words(limit),
            _series(histories, axis, lambda m: m.risk),
            (axis.across, Upwards(1.0, rule=None if limit is None else (limit, "limit"))),
            _table(histories, "risk"),
        ),
    ]


def limit_words(limit: float | None) -> str:
    """What stands below a picture that has the limit in it."""
    return "" if limit is None else f"The policy’s limit is {number(limit)}."


Histories = Mapping[str, Sequence[Moment]]


def _series(
    histories: Histories, axis: Axis, value: Callable[[Moment], float]
) -> list[tuple[int, str, list[tuple[float, float]]]]:
    return [
        (
            style,
            line(name, 60),
            [(axis.across.low, 0.0), *((axis.at(m.statement, m.time), value(m)) for m in history)],
        )
        for style, (name, history) in enumerate(histories.items())
    ]


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
