"""The text of a suggested policy: every key, and one plain line above each.

Promise: what is filled in cannot leave its line or its string, whatever tables and columns are called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import duckdb

from auditor.data.sources import Source
from auditor.policy.grid import Grid
from auditor.policy.policy import written
from auditor.sql.schema import quoted

ENOUGH = 100
"""Records from which on the overall mean is suggested as published: it locates nobody."""
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")

TEMPLATE = """\
# A policy for cae-sql, read off {file}. It is a suggestion: read every line before anyone asks anything.
{rows}
# Once something was answered, [protect] and scope cannot change: other ones need another ledger.
# Several confidential columns: a [[protect]] for each. SQL of PostgreSQL: dialect = "postgres", right here.

[protect]
# The table, and its confidential column: nobody is to find out anyone's value.
table = {table}
column = {column}
# Every value lies between these. Attackers know them: take round figures that anyone could guess.
minimum = {minimum}
maximum = {maximum}
{skewed}# Whoever knows a value to within one step knows it. These are {steps} steps.
step = {step}
# All stored values are whole multiples of this apart. The step is a multiple of it.
resolution = {resolution}
# The column that names each row once. By it `cae-sql renew` knows people again when the table has changed.
{key}
{unit}# What analysts may read, filter and group by. Attackers are taken to know all of it about everybody.
public = [
{public}
]

[tables]
# Other tables that analysts may read and join, and views that they may read.
public = []
views = []

[intruder]
# What attackers know about the person they look for: "all" public columns, or a list of them.
knows = "all"
# 1: an attacker may be a person in the table, and knows that one value. 0: attackers know nobody's value.
insiders = 1
# Figures that everybody knows anyway. They are asked first, and again of each later state of the table.
published = [{published}]
# How values are spread, if that is public. Take it from a census or a report, never from this table.
# prior = {{ shape = "lognormal", median = 40, sigma = 0.8 }}

[limit]
# How much of the uncertainty about anyone's value all answers together may take: 0 nothing, 1 everything.
risk = 0.5
# Another limit: so many bits must be left about anyone when values within epsilon count as one.
# epsilon = {step}
# min_entropy = 0.5

[decision]
# "simulatable": a refusal tells nothing. "answer-dependent": more is answered, but a refusal tells something.
mode = "simulatable"
# How many made-up tables an answer is tried on before the true one is looked at.
worlds = 20
# The share of those tables for which an answer may be unsafe and still be looked at.
delta = 0.05
# Seconds after which a statement is refused, as a last resort.
timeout = 60
# What a GROUP BY gets of which some groups are unsafe: "suppress" gives the others, "refuse" gives nothing.
partial = "suppress"
# Whether AT_LEAST(...) and AT_MOST(...) may say between which ends a value lies: "asked", or "never".
ranges = "asked"
# What SELECT * gets: "refuse" gives nothing, "null" gives rows without the confidential column.
preview = "refuse"
# How often each user may ask in a day what would become of a statement (EXPLAIN). Left out: without limit.
# checks = 1000

[ledger]
# The file that remembers every answer. Keep it: without it nothing may be asked.
path = {ledger}
# A small file that shows whether the ledger is whole. Keep it elsewhere.
# anchor = {anchor}
# "everyone": what one user was told counts for all. "user": only where users cannot talk to each other.
scope = "everyone"
"""


@dataclass(frozen=True)
class Named:
    """What names rows and whose they are."""

    key: str | None
    """The column that names each row once; None: there is none."""
    unit: str | None
    """The column that says whose rows they are; None: each is a person's only one."""
    why: str
    """What speaks for that column."""


def text_of(
    source: Source,
    protected: tuple[str, str, int],
    grid: Grid,
    named: Named,
    others: Sequence[str],
    reasons: Mapping[str, str],
) -> str:
    """The policy.

    Args:
        source: Where the data are.
        protected: Table, column, and how many people have a value.
        grid: Bounds and steps.
        named: What names rows, and whose they are.
        others: The table's other columns.
        reasons: Why some of these are left out of `public`.
    """
    table, column, records = protected
    return TEMPLATE.format(
        file=line(source.name if source.beside is None else source.beside.name),
        table=_text(table),
        column=_text(column),
        minimum=written(grid.minimum),
        maximum=written(grid.maximum),
        skewed=SKEWED if grid.cap is not None else "",
        step=written(grid.step),
        steps=grid.steps,
        resolution=written(grid.resolution),
        rows=ONE_ROW if named.unit is None else SEVERAL_ROWS,
        key=NO_KEY if named.key is None else f"key = {_text(named.key)}",
        unit="" if named.unit is None else UNIT.format(why=line(named.why), unit=_text(named.unit)),
        public="\n".join(
            f"    # {_text(name)},  # left out: {line(reasons[name])}"
            if name in reasons
            else f"    {_text(name)},"
            for name in others
        ),
        published=_mean(table, column) if records >= ENOUGH else "",
        ledger=_text(f"{source.database}.ledger"),
        anchor=_text(f"{source.database}.anchor"),
    )


SKEWED = (
    "# Most people are in a small part of it. A copy of the column with a round cap lets more be answered.\n"
)
ONE_ROW = (
    "# One row is one person. Of a table with several rows for a person, protect one with one row for each."
)
SEVERAL_ROWS = (
    "# Somebody may have several rows: protected are each of them, and every sum over some of somebody's."
)
UNIT = """\
# The column that says whose rows they are: {why}. Leave it out if one row is one person.
unit = {unit}
"""
NO_KEY = "# key =  # no column does; add one before anyone asks, or later states cannot be opened"


def line(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split())


def _mean(table: str, column: str) -> str:
    """The statement for the overall mean, as TOML."""
    named = ".".join(map(_in_sql, table.split("."))) if "." in table else _in_sql(table)
    return _text(f"SELECT AVG({_in_sql(column)}) FROM {named}")


def _in_sql(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _keywords() else quoted(name)


@cache
def _keywords() -> frozenset[str]:
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    return frozenset(str(name) for (name,) in rows)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
