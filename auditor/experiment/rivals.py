"""Paper 004's Figures 3 to 7, drawn by Matplotlib: randomised response by its cases and by sizes of tables,
then beside anatomy and l-diversity.

Promise: the paper's axes, from 0; what is drawn is `cae_sql.releases.rivals.Points` and nothing else. Where a
technique cannot keep a limit its line has no point there; a figure without any point is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.experiment.figures import MARKERS, STYLE, finish, require, save

if TYPE_CHECKING:
    import pandas as pd

    from cae_sql.releases.rivals import Points, Study

ADULT = {
    "EMGRW": (("education", "marital_status", "sex", "race"), "workclass"),
    "ESGRO": (("education", "income", "sex", "race"), "occupation"),
}
"""The paper's sets of attributes: quasi-identifiers, the sensitive one."""
DISTANCES = (("euclidean", "Euclidean"), ("kullback_leibler", "KL"), ("chi_squared", "χ²"))
ERRORS = (("group_by_error", "(a) base GROUP BY"), ("cube_error", "(b) CUBE"))
UNCERTAINTIES = (("uncertainty_sensitive", "(a) QI and S"), ("uncertainty_quasi", "(b) among QI"))


def studies(table: pd.DataFrame, name: str, column: str | None, public: Sequence[str]) -> tuple[Study, Study]:
    """The attributes of Figures 3 and 4, and of 5 to 7: those that are named, or else the paper's.

    Raises:
        InvalidInput: columns that the table does not have, or only one of the two named.
    """
    from cae_sql.errors import InvalidInput
    from cae_sql.releases.diversity import ADULT as LADDERS
    from cae_sql.releases.rivals import Study

    if (column is None) != (not public):
        raise InvalidInput("--column and --public belong together; with neither, Adult's columns are taken")
    if column is not None:
        study = Study(name, table, tuple(public), column)
        return study, study
    first, second = (
        Study(key, table, quasi, sensitive, LADDERS) for key, (quasi, sensitive) in ADULT.items()
    )
    return first, second


def draw(points: Points, folder: Path, form: str) -> list[Path]:
    """Write Figures 3 to 7, those that there are points for.

    Raises:
        StatementError: no Matplotlib, or a file that cannot be written.
    """
    require()
    import matplotlib as mpl
    from matplotlib.figure import Figure  # not pyplot, which may look for a screen

    rows = points.averages
    third, fourth, rest = (rows[rows.figure == name] for name in ("3", "4", "5 to 7"))
    base = rest[rest.technique == "original"]
    rest = rest[rest.technique != "original"]
    plans: list[tuple[int, pd.DataFrame, Sequence[tuple[str, str]], str, Callable[..., None]]] = [
        (3, third, DISTANCES, "distance", against_l),
        (4, fourth, DISTANCES, "distance", against_size),
        (5, rest, DISTANCES, "distance", against_l),
        (6, rest, ERRORS, "mean relative error", against_l),
        (7, rest, UNCERTAINTIES, "mean U (× 10⁻²)", against_l),
    ]
    written = []
    with mpl.rc_context(STYLE):
        for number, part, measures, label, panel in plans:
            if part.empty:
                continue
            figure = Figure(figsize=(3.3 * len(measures) + 1.4, 2.9), layout="constrained")
            for axes, (measure, title) in zip(figure.subplots(1, len(measures)), measures, strict=True):
                panel(axes, part, measure)
                if number == 7 and len(base):
                    axes.axhline(base[measure].iloc[0], color="grey", linestyle=":", label="original")
                axes.set(title=f"{title}, {part.study.iloc[0]}", ylabel=label)
                finish(axes)
                if measure != measures[-1][0]:
                    axes.get_legend().remove()
            written.append(save(figure, folder / f"figure-{number}.{form}"))
    return written


def against_l(axes: Any, points: pd.DataFrame, measure: str) -> None:
    """A line for each technique."""
    for marker, (technique, line) in zip(MARKERS, points.groupby("technique", sort=False), strict=False):
        style = "--" if technique.endswith("projected") else "-"
        axes.plot(line.l, line[measure], style, marker=marker, markersize=4, linewidth=1, label=technique)
    axes.set(xlabel="l")
    axes.set_xticks(sorted(set(points.l)))


def against_size(axes: Any, points: pd.DataFrame, measure: str) -> None:
    """A line for each l."""
    for marker, (ell, line) in zip(MARKERS, points.groupby("l"), strict=False):
        axes.plot(line["size"], line[measure], marker=marker, markersize=4, linewidth=1, label=f"l = {ell}")
    axes.set(xlabel="records, in terms of N")
    axes.set_xticks(sorted(set(points["size"])))
