"""How fast the exact whole curve is, against Algorithm 1 of the paper written plainly in Python.

Run as `python -m benchmarks.curve`. Both sides compute H at every width where it can change, for the same
distribution, in the same run. Where the plain side would take hours it is timed on a sample of widths, spread
evenly over all of them, and extrapolated; the table says so. The sampled values are compared with the curve,
so that what is timed is also right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import shown
from benchmarks._results import Line, options, write
from cae_sql.domain import exact
from cae_sql.measure import EntropyCurve, cae_curve, reference

SIZES = (25, 100, 1_000)
COLUMNS = (
    *("values", "n", "breakpoints", "H changes"),
    *("this package", "Algorithm 1", "how timed", "ratio", "worst |ΔH|"),
)
PLAIN_SECONDS = 8.0
"""About how long the plain side may run for one distribution."""


@dataclass(frozen=True)
class Row:
    kind: str
    n: int
    breakpoints: int
    changes: int
    curve_seconds: float
    plain_seconds: float
    sampled: int
    worst: float

    @property
    def ratio(self) -> float:
        return self.plain_seconds / self.curve_seconds


def equally_spaced(n: int, _: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(n)


def irregular(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Nearly every difference occurs once: the most breakpoints that n values can have."""
    return np.sort(rng.choice(10**12, n, replace=False))


def random_floats(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """As `irregular`, with some 17 decimals each: the exact grid is finer than a machine word holds."""
    return np.sort(rng.random(n))


def timed_curve(x: NDArray[Any], p: NDArray[np.float64], repeats: int) -> tuple[float, EntropyCurve]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        curve = cae_curve(x, p)
        times.append(time.perf_counter() - start)
    return float(np.median(times)), curve


def timed_plain(x: list[int], p: list[float], widths: list[int]) -> tuple[float, dict[int, float]]:
    """Seconds for all widths, extrapolated from an even sample if need be, and the sampled H by width."""
    start = time.perf_counter()
    reference.entropy(x, p, widths[len(widths) // 2])
    one = time.perf_counter() - start
    affordable = max(5, int(PLAIN_SECONDS / max(one, 1e-9)))
    count = min(affordable, len(widths))
    # Midpoints of equal stretches: the time of Algorithm 1 grows with the width.
    sample = [widths[int((k + 0.5) * len(widths) / count)] for k in range(count)]
    start = time.perf_counter()
    found = {width: reference.entropy(x, p, width) for width in sample}
    return (time.perf_counter() - start) / count * len(widths), found


def compare(kind: str, n: int, make: Callable[[int, np.random.Generator], NDArray[Any]]) -> Row:
    rng = np.random.default_rng(n)
    x = make(n, rng)
    weights = rng.random(n)
    p = weights / weights.sum()
    seconds, curve = timed_curve(x, p, repeats=5)
    places = 24 if x.dtype.kind == "f" else 0
    whole = [int(exact(v) * 10**places) for v in x]
    widths = reference.breakpoints(whole)
    plain, found = timed_plain(whole, p.tolist(), widths)
    # Just past the breakpoint, since the float nearest to a width of 17 digits may lie below it.
    worst = max(abs(float(curve.at(w / 10**places * (1 + 1e-13))) - h) for w, h in found.items())
    return Row(kind, n, len(widths), curve.epsilon.size, seconds, plain, len(found), worst)


def add(table: Table, row: Row) -> None:
    how = "in full" if row.sampled == row.breakpoints else f"sample of {row.sampled:,}, extrapolated"
    ratio, worst = f"{row.ratio:,.0f}", f"{row.worst:.0e}"
    counts = f"{row.n:,}", f"{row.breakpoints:,}", f"{row.changes:,}"
    table.add_row(row.kind, *counts, shown(row.curve_seconds), shown(row.plain_seconds), how, ratio, worst)


def line(row: Row) -> Line:
    """Of the table of all benchmarks."""
    size = f"{row.n:,} values, {row.breakpoints:,} breakpoints"
    rival = "Algorithm 1 in plain Python"
    return Line("all of H(ε) and its area", row.kind, size, row.curve_seconds, rival, row.plain_seconds)


def main(arguments: list[str] | None = None) -> None:
    given = options("curve", __doc__).parse_args(arguments)
    start = time.perf_counter()
    cae_curve([0, 1, 2.5])
    cae_curve([0, 1, 1000])
    compiled = time.perf_counter() - start
    table = Table(title="Exact whole curve against Algorithm 1 in plain Python, one run of it per breakpoint")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("values", "how timed") else "right")
    kinds = {"equally spaced": equally_spaced, "irregular": irregular, "random floats": random_floats}
    rows = []
    for kind, make in kinds.items():
        for n in SIZES[: 1 if given.quick else None]:
            rows.append(row := compare(kind, n, make))
            add(table, row)
    console = Console(width=150)
    console.print(table)
    console.print(
        f"Median of 5 curves each, after numba had loaded its kernels ({compiled:.2f} s in this process). "
        "Random weights; both sides on one core."
    )
    write(given.json, [line(row) for row in rows], [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
