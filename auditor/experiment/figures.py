"""The paper's figures: Figure 2, H0 and area against the number of known attributes, two panels a technique;
Figure 4 (c), (d), both against the amount of noise.

Promise: the paper's axes, from 0, the same for all techniques; what is drawn is `averages` and nothing else.
Text in SVG stays text.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.drawing import require_matplotlib
from auditor.errors import StatementError

if TYPE_CHECKING:
    import pandas as pd

_MEASURES = (("initial_entropy", "H0 (bits)"), ("area", "area (bits × units)"))
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cae-sql",
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans"],
}
MARKERS = "osDv^<>ph*"
_LABELS = {"sampling": "{:g} %", "query restriction": "Q = {:g}", "noise addition": "{:g} %"}


def require() -> None:
    """Say at once that pictures cannot be drawn, not after minutes of work.

    Raises:
        StatementError: Matplotlib is missing.
    """
    require_matplotlib("pictures need matplotlib: pip install 'cae-sql[experiment]', or --picture none")


def draw(averages: pd.DataFrame, folder: Path, form: str) -> list[Path]:
    """Write the figures that there are data for.

    Args:
        averages: As `cae_sql.releases.experiment.averages` gives them.
        folder: Exists.
        form: "svg" or "png".

    Raises:
        StatementError: no Matplotlib, or a file that cannot be written.
    """
    require()
    import matplotlib as mpl
    from matplotlib.figure import Figure  # not pyplot, which may look for a screen

    names = list(dict.fromkeys(averages.technique))
    written = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.9 * len(names)), layout="constrained")
        panels = figure.subplots(len(names), 2, squeeze=False, sharex=True, sharey="col")
        for technique, row in zip(names, panels, strict=True):
            for (measure, title), axes in zip(_MEASURES, row, strict=True):
                against_knowledge(axes, averages[averages.technique == technique], technique, measure, title)
        written.append(save(figure, folder / f"figure-2.{form}"))
        noise = averages[averages.technique == "noise addition"]
        if noise.parameter.nunique() > 1:
            figure = Figure(figsize=(8, 2.9), layout="constrained")
            for (measure, title), axes in zip(_MEASURES, figure.subplots(1, 2), strict=True):
                against_noise(axes, noise, measure, title)
            written.append(save(figure, folder / f"figure-4.{form}"))
    return written


def against_knowledge(axes: Any, points: pd.DataFrame, technique: str, measure: str, title: str) -> None:
    """One panel of Figure 2: a line for each parameter of a technique."""
    for marker, (parameter, line) in zip(MARKERS, points.groupby("parameter"), strict=False):
        label = _LABELS[technique].format(parameter)
        axes.plot(line.known, line[measure], marker=marker, markersize=4, linewidth=1, label=label)
    axes.set(title=technique.capitalize(), xlabel="number of known attributes", ylabel=title)
    axes.set_xticks(sorted(set(points.known)))
    finish(axes)


def against_noise(axes: Any, points: pd.DataFrame, measure: str, title: str) -> None:
    """One panel of Figure 4: a line for each number of known attributes."""
    for marker, (known, line) in zip(MARKERS, points.groupby("known"), strict=False):
        axes.plot(
            line.parameter, line[measure], marker=marker, markersize=4, linewidth=1, label=f"SK {known}"
        )
    axes.set(title="Noise addition", xlabel="noise (%)", ylabel=title)
    finish(axes)


def finish(axes: Any) -> None:
    """Both axes as all panels have them, and the legend beside the panel."""
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.tick_params(labelbottom=True)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def save(figure: Any, path: Path) -> Path:
    """Write a picture, the same each time.

    Raises:
        StatementError: a file that cannot be written.
    """
    try:
        if path.suffix != ".svg":
            figure.savefig(path)
            return path
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        # six places each make a file half as large again; a tenth of a point is less than a line's width
        short = re.sub(r"\n +", "\n", re.sub(r"(\d\.\d)\d+", r"\1", text.getvalue()))
        path.write_text(short, encoding="utf-8")
    except OSError as error:
        raise StatementError(f"{path}: {error.strerror or error}") from error
    return path
