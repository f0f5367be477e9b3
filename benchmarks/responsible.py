"""Leaving out every record: rank-one updates against fitting anew; and Tables 1 and 2 of paper 002 once more.

Run as `python -m benchmarks.responsible`. The rival is ComputeRisk2 as it is printed: mean and covariance by
NumPy, without each record in turn, in the same process on the same data. Times are the processor's.

The tables have the paper's designs (means, deviations, numbers of attributes and points, outliers),
covariances 0, since it gives none, and the mean (2, −2, 5, −5, 10) where it prints the four numbers 2, −2.5,
−5, 10 for five attributes. Data are drawn with seeds 0 … 99: the figures are those of seed 0 and the median,
beside what is printed. Table 2's columns are read in the order in which risk rises.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._results import Line, options, write
from cae_sql.releases.responsible import Floats, mean_risk, parameter_risk

MEANS = (
    (0, 0),
    (2, -2, 5, -5, 10),
    (1, -1, 6, -6, 8, 11, -14, 17, 20, -24),
    (2, -2, 5, -6, 10, 14, -12, 18, -22, 25, 27, -30, 33, 36, -38, 40, 43, -45, 47, -47),
)
DEVIATIONS = (0.5, 0.4, 0.25, 0.1)
OUTLIERS = (0, 5, 10, 15)
"""How many deviations one attribute of one point is moved by."""
PRINTED = {
    100: (
        (8.81, 14.48, 18.09, 35.12), (3.26, 7.19, 9.89, 14.32), (3.30, 4.22, 17.23, 16.87),
        (3.04, 5.25, 8.68, 16.66), (16.23, 17.10, 17.36, 33.77), (3.42, 4.54, 7.22, 12.31),
        (4.88, 4.95, 10.85, 8.59), (2.59, 4.57, 5.89, 9.94), (22.31, 22.27, 27.55, 30.79),
        (4.52, 5.38, 6.16, 6.19), (4.93, 6.91, 7.86, 7.17), (3.65, 5.49, 5.57, 6.48),
        (27.12, 40.89, 49.48, 66.87), (6.00, 3.96, 5.26, 5.81), (5.09, 7.05, 8.30, 5.48),
        (4.33, 4.41, 4.42, 5.68),
    ),
    1000: (
        (1.05, 1.71, 1.94, 8.18), (0.46, 0.50, 0.50, 1.22), (0.53, 0.67, 1.24, 2.64),
        (0.45, 0.65, 1.40, 1.88), (1.34, 2.48, 3.03, 3.45), (0.57, 0.60, 0.75, 1.76),
        (0.61, 0.72, 0.68, 0.83), (0.42, 0.81, 1.00, 1.72), (2.65, 2.65, 2.70, 3.43),
        (0.67, 0.64, 0.62, 0.78), (0.70, 0.54, 0.73, 0.76), (0.53, 0.54, 0.89, 0.91),
        (4.35, 8.58, 8.65, 13.07), (0.80, 0.93, 0.95, 1.02), (1.16, 0.76, 0.75, 0.78),
        (0.81, 0.78, 0.64, 0.81),
    ),
}  # fmt: skip
"""By number of points: a row for each deviation and mean, a figure for each outlier, in per cent."""


def drawn(mean: tuple[int, ...], sigma: float, points: int, outlier: int, seed: int) -> Floats:
    """One data set; the same for every outlier but for the one value that is moved."""
    data = np.random.default_rng(seed).normal(mean, sigma, (points, len(mean)))
    data[0, 0] += outlier * sigma
    return data


def by_refits(data: Floats) -> float:
    """ComputeRisk2 as it is printed."""

    def parameters(x: Floats) -> Floats:
        return np.concatenate([x.mean(axis=0), np.cov(x, rowvar=False).ravel()])

    whole = parameters(data)
    moved = [np.linalg.norm(whole - parameters(np.delete(data, i, axis=0))) for i in range(len(data))]
    return 100 * float(max(moved)) / float(np.linalg.norm(whole))


def mean_by_refits(x: Floats, confidence: float, draws: int) -> float:
    """ComputeRisk1 as it is printed, the expected T_M for a drawn one."""

    def parameters(values: Floats) -> tuple[float, float]:
        return float(values.mean()), float(values.var(ddof=1)) * (1 / len(values) + 2 / draws)

    mu, spread = parameters(x)
    worst = 0.0
    for i in range(len(x)):
        other, others = parameters(np.delete(x, i))
        pooled = np.sqrt((spread + others) / 2)
        reach = pooled * np.sqrt(-2 * np.log(np.sqrt(2 * np.pi) * (1 - confidence)))
        risk = (1 - confidence) * pooled / reach * np.exp(reach * abs(other - mu) / pooled**2)
        worst = max(worst, float(risk))
    return worst


def seconds(work: Callable[[], float], times: int) -> tuple[float, float]:
    """The quickest of some, and what it found."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def races(console: Console, sizes: tuple[int, ...]) -> list[Line]:
    lines = []
    for points in sizes:
        times = 3 if points <= 1000 else 1
        for mean in (MEANS[0], MEANS[3]):
            data = drawn(mean, 0.5, points, 0, 0)
            ours, one = seconds(lambda data=data: parameter_risk(data), 20)  # type: ignore[misc]
            theirs, two = seconds(lambda data=data: by_refits(data), times)  # type: ignore[misc]
            size = f"{points:,} points, {len(mean)} attributes"
            console.print(f"ComputeRisk2, {size}: {one:.6f} %, by refits {two:.6f} % ({one / two - 1:+.0e})")
            lines.append(Line("ComputeRisk2", "normal", size, ours, "n refits, NumPy", theirs))
        x = drawn(MEANS[0], 0.5, points, 0, 0)[:, 0]
        ours, one = seconds(lambda x=x: mean_risk(x, 0.95, len(x)).risk, 20)  # type: ignore[misc]
        theirs, two = seconds(lambda x=x: mean_by_refits(x, 0.95, len(x)), times)  # type: ignore[misc]
        console.print(
            f"ComputeRisk1, {points:,} points: {one:.6f}, by refits {two:.6f} ({one / two - 1:+.0e})"
        )
        lines.append(Line("ComputeRisk1", "normal", f"{points:,} points", ours, "n refits, NumPy", theirs))
    return lines


def tables(console: Console, seeds: int) -> dict[str, list[list[float]]]:
    """Tables 1 and 2: (rows, outliers · 2) figures, of seed 0 and medians in turn."""
    kept = {}
    for number, points in enumerate(PRINTED, 1):
        shown = Table(
            title=f"Table {number}: {points:,} points; ours, seed 0 / median of {seeds} seeds / printed, %"
        )
        for name in ("mean", "σ", "attributes", "without", "µ + 5σ", "µ + 10σ", "µ + 15σ"):
            shown.add_column(name, justify="right")
        rows = []
        designs = [(sigma, place, mean) for sigma in DEVIATIONS for place, mean in enumerate(MEANS, 1)]
        for (sigma, place, mean), printed in zip(
            track(designs, f"{points:,} points", console=console), PRINTED[points], strict=True
        ):
            cells, row = [], list[float]()
            for outlier, theirs in zip(OUTLIERS, printed, strict=True):
                risks = [parameter_risk(drawn(mean, sigma, points, outlier, seed)) for seed in range(seeds)]
                row += [risks[0], float(np.median(risks))]
                cells.append(f"{risks[0]:.2g} / {np.median(risks):.2g} / {theirs:.2f}")
            rows.append(row)
            shown.add_row(f"µ{place}", str(sigma), str(len(mean)), *cells)
        console.print(shown)
        kept[str(points)] = rows
    return kept


def main(arguments: list[str] | None = None) -> None:
    given = options("responsible", __doc__).parse_args(arguments)
    console = Console(width=150)
    lines = races(console, (100,) if given.quick else (100, 1000, 10_000))
    for line in lines:
        console.print(
            f"{line.what}, {line.size}: {line.ours:.2e} s, refits {line.theirs:.2e} s: {line.ratio:,.0f}"
        )
    write(given.json, lines, tables(console, 3 if given.quick else 100))


if __name__ == "__main__":
    main()
