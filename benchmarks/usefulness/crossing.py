"""Groups that cross: by one column, by another, then by both with subtotals, of 300 to 20,000 persons."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.usefulness.columns import SALARIES, Column, yes_or_no
from benchmarks.usefulness.day import Day, Line, patient

BRANCHES, GRADES = 6, 5
STATEMENTS = (
    "SELECT branch, SUM(value) AS total FROM staff GROUP BY branch ORDER BY branch",
    "SELECT grade, AVG(value) AS mean FROM staff GROUP BY grade ORDER BY grade",
    "SELECT branch, grade, SUM(value) AS total FROM staff GROUP BY ROLLUP (branch, grade) ORDER BY ALL",
)


def day(column: Column, persons: int, seed: int, folder: Path) -> Day:
    """Persons in thirty cells; the value has nothing to do with them."""
    rng = np.random.default_rng([seed, persons])
    table = pa.table(
        {
            "branch": rng.integers(0, BRANCHES, persons),
            "grade": rng.integers(0, GRADES, persons),
            "value": column.draw(rng, persons),
        }
    )
    database = folder / "staff.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.register("drawn", table)
        connection.execute("CREATE TABLE staff AS SELECT * FROM drawn")
    return Day(database, patient(column.policy("staff", '["branch", "grade"]')), STATEMENTS, "value")


def _line(column: Column, persons: int, drawn: int) -> Line:
    return Line(f"crossing: {column.name}, {persons:,}", partial(day, column, persons), drawn)


LINES = tuple(
    _line(column, persons, drawn)
    for persons, drawn in ((300, 5), (2_000, 2), (20_000, 1))
    for column in (SALARIES, yes_or_no(0.3))
)
QUICK = (_line(SALARIES, 150, 1), _line(yes_or_no(0.3), 300, 1))
