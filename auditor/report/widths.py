"""How much remains open for each record: widths of intervals before any answer, and after all of them.

Promise: every record is in exactly one row; a width of 0 has a row of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from auditor.history.findings import Findings, PartyFindings
from auditor.report.chart import Bar, Figure, Table, bars
from auditor.report.figures import number
from auditor.report.tally import leading
from auditor.report.visible import line
from auditor.report.words import party_name

MOST_ROWS = 12
"""Rows; of more different widths classes are made."""
MOST_PARTIES = 8
"""Columns of the table."""


@dataclass(frozen=True)
class Bin:
    """Widths above `low` up to `high`; both the same for a single width."""

    low: float
    high: float

    def holds(self, width: float) -> bool:
        """Whether a width belongs here."""
        return width == self.low if self.low == self.high else self.low < width <= self.high

    def __str__(self) -> str:
        if self.low == self.high:
            return "0 (known)" if self.low == 0 else number(self.low)
        return f"{number(self.low)} to {number(self.high)}"


def width_figure(found: Findings) -> Figure | None:
    """The distribution for the party that knows most, with a table for all; None where nothing was judged."""
    parties = [party for party in leading(found) if party.widths]
    if not parties:
        return None
    bins = _bins(parties, found.prior_width)
    counts = {party.party: _counted(party, bins) for party in parties[:MOST_PARTIES]}
    shown = parties[0].party
    total = sum(counts[shown])
    before = [total if one.holds(found.prior_width) else 0 for one in bins]
    caption = (
        "For how many records how wide a range of values remains possible. Outline: before the first "
        f"answer, {number(found.prior_width)} for all. Filled: after all answers, for {party_name(shown)}."
    )
    columns = ["Width that remains", "Before", *(f"After, {line(name, 60)}" for name in counts)]
    rows = [
        [str(one), f"{before[place]:,}", *(f"{column[place]:,}" for column in counts.values())]
        for place, one in enumerate(bins)
    ]
    left = len(parties) - len(counts)
    note = f"{left} more parties are in the JSON." if left else ""
    drawn = [
        Bar(str(one), counts[shown][place], f"{counts[shown][place]:,}", before[place], one.high == 0)
        for place, one in enumerate(bins)
    ]
    return bars("widths", "How wide the remaining ranges are", caption, drawn, Table(columns, rows, note))


def _bins(parties: Sequence[PartyFindings], prior: float) -> list[Bin]:
    widths = sorted({width for party in parties for width, _ in party.widths} | {0.0, prior})
    if len(widths) <= MOST_ROWS:
        return [Bin(width, width) for width in widths]
    most, count = max(widths[-1], prior), MOST_ROWS - 2
    edges = [most * place / count for place in range(count)] + [most]
    return [Bin(0.0, 0.0), *(Bin(low, high) for low, high in itertools.pairwise(edges))]


def _counted(party: PartyFindings, bins: Sequence[Bin]) -> list[int]:
    return [sum(count for width, count in party.widths if one.holds(width)) for one in bins]
