"""Disjoint groups in one GROUP BY over nothing before: what may be told is known in closed form."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.usefulness.columns import AMOUNTS, FIVE_POINT, SALARIES, SCORES, Column, yes_or_no
from benchmarks.usefulness.day import Day, Line, patient
from benchmarks.usefulness.optimum import may_be_told, needed

RATES = (0.5, 0.3, 0.1)
DRAWN = 5
DEAR = 2
"""Seeds of lines of which one takes the best part of a minute."""


def day(column: Column, groups: int, size: int, seed: int, folder: Path) -> Day:
    """`groups` of `size` records each."""
    values = column.draw(np.random.default_rng([seed, groups, size]), groups * size)
    database = folder / "groups.duckdb"
    table = pa.table({"part": np.repeat(np.arange(groups), size), "value": values})
    with duckdb.connect(str(database)) as connection:
        connection.register("drawn", table)
        connection.execute("CREATE TABLE answers AS SELECT * FROM drawn")
    policy = patient(column.policy("answers", '["part"]'))
    totals = values.reshape(groups, size).sum(axis=1).tolist()
    top, need = (column.maximum - column.minimum) // column.step, needed(policy)
    told = {
        str(group): str(total)
        for group, total in enumerate(totals)
        if may_be_told(size, (total - size * column.minimum) // column.step, top, need)
    }
    sql = "SELECT part, SUM(value) AS total FROM answers GROUP BY part ORDER BY part"
    return Day(database, policy, [sql], "value", told)


def _line(column: Column, groups: int, size: int, what: str = "", drawn: int = DRAWN) -> Line:
    name = f"groups: {column.name}, {groups} of {size}{what}"
    return Line(name, partial(day, column, groups, size), drawn)


LINES = (
    *(
        _line(yes_or_no(rate), groups, size, f", rate {rate:g}", drawn)
        for groups, size, drawn in ((20, 13, DRAWN), (60, 20, DEAR), (400, 15, 1))
        for rate in RATES
    ),
    _line(FIVE_POINT, 40, 15, drawn=DEAR),
    _line(SCORES, 50, 20, drawn=DEAR),
    _line(AMOUNTS, 50, 40, drawn=DEAR),
    _line(SALARIES, 60, 12, drawn=DEAR),
    _line(SALARIES, 300, 20, drawn=1),
)
QUICK = (
    _line(yes_or_no(0.3), 8, 20, ", rate 0.3", drawn=2),
    _line(yes_or_no(0.3), 6, 13, ", rate 0.3", drawn=1),
    _line(FIVE_POINT, 6, 15, drawn=2),
    _line(SALARIES, 12, 12, drawn=2),
)
