"""Days of analysis: ACS, Adult, wages, health, each under its own policy and under the one that init writes.

And wages of 1988, under that of init.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from auditor.policy.suggest import suggest
from benchmarks._packaged import CPS
from benchmarks.honest import STUDIES, How, Study
from benchmarks.usefulness.day import Day, Line, patient

OWN = How("suppress", 1, 0, candidates="posterior")
WAGES_1988 = Study(
    *("cps1988", CPS, "worker", "wage"),
    ("education", "experience", "ethnicity", "smsa", "region", "parttime"),
    (0, 20_000, 50),
    check=False,
)
NAMES = {"acs": "ACS", "adult": "Adult", "nls": "wages", "meps": "health"}
MOST = 240.0
"""CPU seconds of a day."""
BUDGETS = {"adult": 600.0, "meps": 400.0, "acs": 400.0}
"""Of those that took longer under their own policy."""


def day(study: Study, own: bool, seed: int, folder: Path) -> Day:
    """All statements in the order of the file; nothing is drawn."""
    del seed
    database = folder / f"{study.name}.duckdb"
    study.build(database, None)
    text = study.text(0.5, "simulatable", OWN) if own else suggest(database, study.table, study.column).text
    return Day(database, patient(text), study.statements(), study.column)


def _line(study: Study, name: str, own: bool) -> Line:
    policy = "its own policy" if own else "init's policy"
    budget = BUDGETS.get(study.name, MOST) if own else MOST
    return Line(f"day: {name}, {policy}", partial(day, study, own), budget=budget, absent=study.absent)


LINES = (
    *(
        _line(study, NAMES[study.name], own)
        for study in STUDIES
        if study.name in NAMES
        for own in (True, False)
    ),
    _line(WAGES_1988, "wages of 1988", own=False),
)
