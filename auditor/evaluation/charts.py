"""The pictures of an evaluation and of a sweep, each with a table that says the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from auditor.evaluation.evaluate import Evaluation
from auditor.evaluation.releases import NAMED
from auditor.evaluation.sweep import Point, Sweep
from auditor.report.chart import Bar, Figure, Table, bars
from auditor.report.curves import drawn
from auditor.report.scatter import Axes, Series, scatter
from auditor.report.scatter import Point as Mark
from auditor.report.visible import line

_EDGES = np.linspace(0.0, 1.0, 11)
_EXACT = 1e-9
"""Risks that differ by less are equal."""


def class_name(shared: Mapping[str, object]) -> str:
    """What the records of a class share, in one line."""
    return line(", ".join(f"{name} {value}" for name, value in shared.items()), 120) or "all records"


def risk_figure(found: Evaluation) -> Figure:
    """For how many records how high the risk is."""
    risk, matches = found.classes["risk"].to_numpy(), found.classes["matches"].to_numpy()
    beyond = found.classes["beyond"].to_numpy()
    chosen = [("1 (known)", risk >= 1 - _EXACT)]
    for low, high in zip(_EDGES[-2::-1], _EDGES[:0:-1], strict=True):
        chosen.append((f"{low:.1f} to {high:.1f}", (risk > low + _EXACT) & (risk <= high + _EXACT)))
    chosen[1] = (chosen[1][0], chosen[1][1] & ~chosen[0][1])
    chosen.append(("0 (nothing)", risk <= _EXACT))
    rows = [(name, int(matches[at].sum()), int(matches[at & beyond].sum())) for name, at in chosen]
    drawn = [Bar(name, count, f"{count:,}", grave=beyond > count / 2) for name, count, beyond in rows]
    caption = "How many records are in classes of which risk. Coloured: most of the bar is beyond the limit."
    table = Table(
        ("Risk", "Records", "Beyond the limit"),
        [(name, f"{all_of:,}", f"{out:,}") for name, all_of, out in rows],
    )
    return bars("risks", "Records by risk", caption, drawn, table)


def curves_figure(found: Evaluation) -> Figure:
    """H(ε) of the worst classes."""
    named = [(class_name(shared), points) for shared, points in found.curves]
    return drawn(named, ("somebody who has not seen the release", found.prior))


def numbers_figure(found: Evaluation) -> Figure | None:
    """Risk against how much is known; None where that was not asked for."""
    if not found.numbers:
        return None
    mean = [Mark(each.known, max(each.mean_risk, 0.0), f"{each.mean_risk:.2f}") for each in found.numbers]
    worst = [Mark(each.known, max(each.worst_risk, 0.0), f"{each.worst_risk:.2f}") for each in found.numbers]
    limit = found.subject.limit
    rule = None if limit is None or limit.risk is None else (limit.risk, "limit")
    axes = Axes("known columns; upwards: risk", 0, len(found.numbers) - 1, 1.0, whole=True, rule=rule)
    table = Table(
        ("Known columns", "Sets", "Mean bits", "Mean risk", "Highest risk", "Beyond the limit"),
        [
            (
                str(each.known),
                f"{each.subsets} of {each.all_subsets}",
                f"{each.mean_entropy:.3f}",
                f"{each.mean_risk:.3f}",
                f"{each.worst_risk:.3f}",
                f"{100 * each.beyond_share:.1f} %",
            )
            for each in found.numbers
        ],
    )
    return scatter(
        "numbers",
        "Risk by how much is known",
        "Of all sets of so many public columns that somebody may know: the mean risk over sets and records, "
        "and the highest of any class.",
        [Series(1, "mean", mean), Series(0, "highest", worst)],
        axes,
        table,
    )


def sweep_figures(found: Sweep) -> list[Figure]:
    """Risk against what users lose, by technique."""
    table = sweep_table(found)
    limit = found.subject.limit
    full = "" if limit is None else " Full marks: the limit is kept for every record."
    mean = (
        "risk-distance",
        "Mean risk against distance from the original",
        "Each mark is a setting, each line a technique. Down: less is learned about persons. Left: users are "
        f"nearer to the original.{full}",
    )
    worst = (
        "worst-distance",
        "Highest risk against distance from the original",
        f"The same for the class of persons about whom most is learned.{full}",
    )
    error = (
        "risk-error",
        "Mean risk against the error of sums",
        f"Users' sums by group, how far off on average.{full}",
    )
    rule = None if limit is None or limit.risk is None else (limit.risk, "limit")
    figures = [
        _figure(found, mean, _distance, lambda p: p.mean_risk, "distance", None, table),
        _figure(found, worst, _distance, lambda p: p.worst_risk, "distance", rule, table),
    ]
    if all(math.isfinite(point.utility.query_error) for point in found.points):
        figures.append(_figure(found, error, _error, lambda p: p.mean_risk, "error of sums", None, table))
    return figures


def _distance(point: Point) -> float:
    return point.utility.distance


def _error(point: Point) -> float:
    return point.utility.query_error


def _figure(
    found: Sweep,
    said: tuple[str, str, str],
    across: Callable[[Point], float],
    upwards: Callable[[Point], float],
    what: str,
    rule: tuple[float, str] | None,
    table: Table,
) -> Figure:
    techniques = list(dict.fromkeys(point.setting.technique.name for point in found.points))
    series = []
    for style, name in enumerate(techniques):
        own = [point for point in found.points if point.setting.technique.name == name]
        own.sort(key=lambda point: point.setting.value)
        marks = [Mark(across(p), max(upwards(p), 0.0), p.setting.label, p.keeps) for p in own]
        if found.subject.limit is None:
            marks = [Mark(mark.x, mark.y, mark.label) for mark in marks]
        series.append(Series(style, name, marks))
    most = max((across(point) for point in found.points), default=0.0) or 1.0
    axes = Axes(f"{what}; upwards: risk", 0.0, most, 1.0, rule=rule)
    return scatter(*said, series, axes, table)


def sweep_table(found: Sweep) -> Table:
    """All settings and all figures."""
    limited = found.subject.limit is not None
    columns = ["Setting", *(["Limit kept", "Records beyond the limit"] if limited else [])]
    columns += ["Mean risk", "Highest risk", "Anybody’s risk", "Mean bits", "Bits lost"]
    columns += ["Distance", "Error of sums", "Error of association"]
    more = [name for name in NAMED if any(name in point.figures for point in found.points)]
    columns += [NAMED[name] for name in more]
    rows: list[Sequence[str]] = []
    for point in found.points:
        used = point.utility
        figures = (point.mean_risk, point.worst_risk, point.anybody, point.mean_entropy, point.privacy_loss)
        losses = (used.distance, used.query_error, used.association_error)
        row = [_setting(point)]
        row += ["yes" if point.keeps else "no", f"{100 * point.beyond_share:.1f} %"] if limited else []
        row += [f"{value:.3f}" for value in (*figures, *losses)]
        row += [f"{point.figures[name]:.3f}" if name in point.figures else "–" for name in more]
        rows.append(row)
    return Table(columns, rows)


def kept_table(found: Sweep) -> Table | None:
    """The settings to choose from: those that keep the limit, nearest to the original first; None where there
    is no limit or none keeps it."""
    if found.best is None:
        return None
    kept = sorted((each for each in found.points if each.keeps), key=lambda each: each.utility.distance)
    columns = ["Setting", "Distance", "Error of sums", "Error of association", "Mean risk", "Highest risk"]
    rows: list[Sequence[str]] = []
    for point in kept:
        used = point.utility
        figures = (used.distance, used.query_error, used.association_error, point.mean_risk, point.worst_risk)
        rows.append([_setting(point), *(f"{value:.3f}" for value in figures)])
    return Table(columns, rows)


def _setting(point: Point) -> str:
    return f"{point.setting.technique.name}, {point.setting.label}".replace(" ", "\u00a0")
