"""What the benchmarks share: where the data lie, DuckDB files made of them, figures as text, peak memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

MICRODATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "microdata"
ACS = MICRODATA / "acs2011_us_paperlike.csv"
ADULT = MICRODATA / "adult_complete_45222.csv.gz"


@dataclass
class Watch:
    """Seconds between two moments."""

    seconds: float = 0.0


@contextmanager
def timed(clock: Callable[[], float] = time.perf_counter) -> Iterator[Watch]:
    """How long the block takes; with `time.process_time` in CPU seconds, whatever else is running."""
    watch = Watch()
    start = clock()
    try:
        yield watch
    finally:
        watch.seconds = clock() - start


def shown(seconds: float) -> str:
    """A duration with three digits."""
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (300.0, "s", 1.0), (3e4, "min", 1 / 60)):
        if seconds < limit:
            return f"{seconds * factor:,.3g} {unit}"
    return f"{seconds / 3600:,.3g} h"


def peak_megabytes() -> float:
    """Most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def acs_salaries() -> NDArray[np.int64] | None:
    """The salaries of the paper-like ACS records, or None where the data are absent."""
    if not ACS.is_file():
        return None
    with duckdb.connect() as connection:
        found = connection.execute("SELECT salary FROM read_csv(?) ORDER BY id", [str(ACS)]).fetchnumpy()
    salaries: NDArray[np.int64] = found["salary"].astype(np.int64)
    return salaries


def drawn_salaries(count: int, seed: int) -> NDArray[np.int64]:
    """Skewed salaries from 10 to 250 in steps of 10."""
    drawn = np.random.default_rng(seed).lognormal(3.6, 0.7, count)
    salaries: NDArray[np.int64] = (np.clip(np.round(drawn / 10), 1, 25) * 10).astype(np.int64)
    return salaries


def drawn_values(kind: str, count: int, seed: int) -> NDArray[np.int64]:
    """Protected values from 10 to 250 in steps of 10: "uniform", or "lognormal" as salaries are."""
    if kind == "lognormal":
        return drawn_salaries(count, seed)
    return np.random.default_rng(seed).integers(1, 26, count) * 10
