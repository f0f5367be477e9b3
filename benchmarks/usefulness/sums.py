"""A hundred sums over random ranges of the public columns, one after the other, of each kind of column."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks._people import RangeQueries, census
from benchmarks.usefulness.columns import KINDS, SALARIES, Column, yes_or_no
from benchmarks.usefulness.day import Day, Line, patient

ASKED = 100


def day(column: Column, records: int, asked: int, seed: int, folder: Path) -> Day:
    """People as a census has them, and ranges over one to three of its columns."""
    rng = np.random.default_rng([seed, records])
    public = census(rng, records)
    table = pa.table({**public, "value": column.draw(rng, records)})
    database = folder / "people.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.register("drawn", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM drawn")
    draws = RangeQueries(public, seed)
    statements = [draws.draw().sql("SUM(value)", "people") for _ in range(asked)]
    return Day(database, patient(column.policy("people", '"all"')), statements, "value")


def _line(column: Column, records: int, asked: int, drawn: int, budget: float) -> Line:
    name = f"sums: {asked} of {column.name}, {records:,}"
    return Line(name, partial(day, column, records, asked), drawn, budget)


LINES = (
    *(_line(column, 10_000, ASKED, 1, 120.0) for column in KINDS),
    *(_line(column, 100_000, ASKED, 1, 100.0) for column in KINDS),
)
QUICK = (_line(SALARIES, 300, 8, 1, 60.0), _line(yes_or_no(0.3), 2_000, 8, 1, 60.0))
