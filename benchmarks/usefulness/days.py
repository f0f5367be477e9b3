"""Days of analysis: ACS, Adult, wages, health, each under its own policy and under the one that init writes.

And wages of 1988, under that of init. And two panels, where a person has several rows, under their own
policy: once as if each row were a person, once by person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from auditor.policy.suggest import suggest
from benchmarks._packaged import CPS, HIE, PANEL
from benchmarks.honest import STUDIES, How, Study
from benchmarks.usefulness.day import Day, Line, patient

OWN = How("suppress", 1, 0, candidates="posterior")
WAGES_1988 = Study(
    *("cps1988", CPS, "worker", "wage"),
    ("education", "experience", "ethnicity", "smsa", "region", "parttime"),
    (0, 20_000, 50),
    check=False,
)
PANELS = {
    "panel of wages": Study(
        *("panel", PANEL, "pay", "wage"),
        (
            *("person", "year", "race", "education", "experience", "married", "in_union", "rural", "region"),
            *("industry", "occupation"),
        ),
        (0.5, 18, 0.5),
        check=False,
    ),
    "panel of health": Study(
        *("hie", HIE, "care", "spending"),
        (
            *("person", "year", "site", "coinsurance", "age", "sex", "race", "education", "health"),
            *("limited", "family", "deductible", "income"),
        ),
        (0, 2400, 25),
        check=False,
    ),
}
"""Of each person there are several rows."""
NAMES = {"acs": "ACS", "adult": "Adult", "nls": "wages", "meps": "health"}
MOST = 240.0
"""CPU seconds of a day."""
BUDGETS = {"adult": 600.0, "meps": 400.0, "acs": 400.0, "panel": 900.0, "hie": 900.0}
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


def _panel(study: Study, name: str) -> Iterator[Line]:
    """Each row a person, and by person."""
    for told, unit in (("by row", ""), ("by person", "person")):
        asked = partial(day, replace(study, unit=unit), True)
        yield Line(f"day: {name}, {told}", asked, budget=BUDGETS[study.name], absent=study.absent)


LINES = (
    *(
        _line(study, NAMES[study.name], own)
        for study in STUDIES
        if study.name in NAMES
        for own in (True, False)
    ),
    _line(WAGES_1988, "wages of 1988", own=False),
    *(line for name, study in PANELS.items() for line in _panel(study, name)),
)
