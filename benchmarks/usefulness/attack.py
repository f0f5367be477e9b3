"""The first queries of the real attack: 73 people, 0/1, without and with an insider."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb

from benchmarks.reconstruction import LOANS, POLICY, QUERIES
from benchmarks.usefulness.day import Day, Line, patient

ASKED = 100
ABSENT = "" if LOANS.is_file() else "the data are not beside the project (../shared/data)"


def day(insiders: int, asked: int, seed: int, folder: Path) -> Day:
    """In the order in which they were asked; nothing is drawn."""
    del seed
    database = folder / "loans.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE loans AS SELECT client_id, good FROM read_csv('{LOANS}')")
        found = connection.execute("SELECT sum_sql FROM read_csv(?) ORDER BY number", [str(QUERIES)])
        statements = [sql for (sql,) in found.fetchmany(asked)]
    text = POLICY.format(mode="simulatable", insiders=insiders, timeout=0)
    return Day(database, patient(text), statements, "good")


def _line(insiders: int, asked: int) -> Line:
    name = f"attack: first {asked}, insiders = {insiders}"
    return Line(name, partial(day, insiders, asked), budget=180.0, absent=ABSENT)


LINES = (_line(0, ASKED), _line(1, ASKED))
QUICK = (_line(1, 4),)
