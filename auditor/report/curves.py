"""H(ε) of the worst classes against the uninformed intruder's.

Promise: the curves are the steps that the audit found; the table reads them at even widths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from auditor.history.findings import ClassRisk, Findings
from auditor.report.chart import Drawing, Figure, Line, Points, Table, Tick, both, frame, place, steps
from auditor.report.figures import number
from auditor.report.scales import round_ticks
from auditor.report.visible import line

MOST_CLASSES = 3
"""Curves beside that of the uninformed intruder."""
UNINFORMED = 5
"""Style of the uninformed intruder's line."""


def curve_figure(found: Findings) -> Figure | None:
    """The curves; None where the audit has drawn none."""
    worst = [risk for risk in found.classes if risk.curve][:MOST_CLASSES]
    if not worst or not found.prior_curve:
        return None
    named = [(f"{class_name(risk)} ({line(risk.party, 40)})", risk.curve) for risk in worst]
    return drawn(named, ("somebody who has seen no answer", found.prior_curve))


def drawn(worst: Sequence[tuple[str, Points]], uninformed: tuple[str, Points]) -> Figure:
    """Curves by name beside that of somebody who knows the domain alone, with a table."""
    curves = [(style, name, curve) for style, (name, curve) in enumerate(worst)]
    curves.append((UNINFORMED, *uninformed))
    caption = (
        "How many bits of uncertainty are left when knowing a value to within ε counts as knowing it. "
        "The nearer a line is to the corner at 0, the less is left to guess."
    )
    wide, narrow = both(lambda width: _draw(curves, width))
    legend = [(style, name) for style, name, _ in curves]
    return Figure(
        "curves", "Uncertainty left in the worst classes", caption, wide, narrow, _table(curves), legend
    )


def class_name(risk: ClassRisk) -> str:
    """What the records of a class share, in one line."""
    known = ", ".join(f"{line(name, 40)} {line(value, 40)}" for name, value in risk.known.items())
    return line(known, 120) if known else "all records"


def height(curve: Points, width: float) -> float:
    """H at a width: the value of the last step at or before it."""
    return curve[max(bisect_right([epsilon for epsilon, _ in curve], width) - 1, 0)][1]


def _draw(curves: Sequence[tuple[int, str, Points]], width: int) -> Drawing:
    empty = frame(width)
    most = max(max(curve[-1][0] for _, _, curve in curves), 1e-300)
    top = max(max(bits for _, _, curve in curves for _, bits in curve), 1e-300)

    def x(at: float) -> float:
        return place(at, 0.0, most, empty.left, empty.right)

    def y(bits: float) -> float:
        return place(bits, 0.0, top, empty.bottom, empty.top)

    lines = [Line(steps(curve, x, y, empty.right), style) for style, _, curve in curves]
    return replace(
        empty,
        x_ticks=[Tick(x(at), number(at)) for at in round_ticks(0, most, 6 if width > 400 else 5)],
        y_ticks=[Tick(y(bits), number(bits), "end") for bits in round_ticks(0, top, 6)],
        x_title="ε, in units of the column; upwards: bits",
        lines=lines[::-1],
    )


def _table(curves: Sequence[tuple[int, str, Points]]) -> Table:
    most = max(curve[-1][0] for _, _, curve in curves)
    at = round_ticks(0, most, 13) if most > 0 else [0.0]
    rows = [[number(width), *(f"{height(curve, width):.3f}" for _, _, curve in curves)] for width in at]
    return Table(("ε", *(f"Bits: {name}" for _, name, _ in curves)), rows)
