"""H(ε) of the worst classes against the uninformed intruder's.

Promise: the curves are the steps that the audit found; the table reads them at even widths.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from auditor.history.findings import ClassRisk, Findings
from auditor.report.chart import Across, Figure, Points, Table, Upwards, stepped
from auditor.report.figures import number
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
    most = max(max(curve[-1][0] for _, _, curve in curves), 1e-300)
    top = max(max(bits for _, _, curve in curves for _, bits in curve), 1e-300)
    axes = Across(0.0, most, "ε, in units of the column; upwards: bits"), Upwards(top)
    return stepped("curves", "Uncertainty left in the worst classes", caption, curves, axes, _table(curves))


def class_name(risk: ClassRisk) -> str:
    """What the records of a class share, in one line."""
    known = ", ".join(f"{line(name, 40)} {line(value, 40)}" for name, value in risk.known.items())
    return line(known, 120) if known else "all records"


def height(curve: Points, width: float) -> float:
    """H at a width: the value of the last step at or before it."""
    return curve[max(bisect_right([epsilon for epsilon, _ in curve], width) - 1, 0)][1]


def round_widths(most: float) -> list[float]:
    """Thirteen at most, from 0 on: multiples of 1, 2 or 5 times a power of ten.

    >>> round_widths(240)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0, 160.0, 180.0, 200.0, 220.0, 240.0]
    """
    if not most > 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(most / 12))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if most / (power * factor) <= 12)
    return [round(place * step, 12) for place in range(int(most / step + 1e-9) + 1)]


def _table(curves: Sequence[tuple[int, str, Points]]) -> Table:
    most = max(curve[-1][0] for _, _, curve in curves)
    rows = [
        [number(width), *(f"{height(curve, width):.3f}" for _, _, curve in curves)]
        for width in round_widths(most)
    ]
    return Table(("ε", *(f"Bits: {name}" for _, name, _ in curves)), rows)
