"""`cae-sql init`: a policy read off the data, with comments that say what each key does.

Promise: the text loads with `Policy.load`, fits the data it was read off, and names no confidential extreme:
bounds are rounded outwards to a coarse unit and never are the least or greatest value itself. Columns that
seem to give the protected one away are left out of `public`, each with the reason.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import ceil, floor, gcd, lcm

import duckdb
import numpy as np
import pandas as pd

from auditor.data.sources import Given, Needed, Source, Wanted, source_of
from auditor.errors import DatabaseError
from auditor.policy.giveaways import giveaway
from auditor.policy.policy import MOST_VALUES, written
from auditor.sql.schema import DEFAULT_SCHEMA, folded, quoted
from cae_sql.domain import exact

SAMPLE = 200_000
"""Rows looked at for giveaways; bounds and grid are read off all."""

MOST_STEPS = 64
"""The suggested step gives between 25 and this many steps, unless the data's own grid is coarser."""

PLAIN = ("DECIMAL", "DOUBLE", "FLOAT", "REAL", "VARCHAR", "BOOLEAN", "DATE", "TIME", "ENUM", "UUID")
"""Types, besides the integers, that analysts can condition on, by how their names begin."""


@dataclass(frozen=True)
class Grid:
    """Where the values of a column lie."""

    minimum: Fraction
    """Rounded downwards, below the least value (0 where nothing is negative)."""
    maximum: Fraction
    """Rounded upwards, above the greatest."""
    step: Fraction
    """Resolution at which risk is judged."""
    resolution: Fraction
    """Grid of the stored values."""


@dataclass(frozen=True)
class Suggestion:
    """A policy's text and what its reader should know."""

    text: str
    """The policy, commented."""
    warnings: tuple[str, ...]
    """Columns left out of `public`, each with the reason."""


def suggest(database: Given, table: str, column: str) -> Suggestion:
    """Read a policy off a table.

    Args:
        database: The source; see `Gate.open`.
        table: Its table; of a source that is one table, the name that statements will call it by.
        column: The confidential column.

    Raises:
        DatabaseError: no such source, table or column, or a column that cannot be protected as it is.
    """
    source_ = source_of(database)
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        try:
            source_.attach(connection, "source", Wanted((Needed(table, None, (column,)),)))
            columns = _columns(connection, table)
            column = _column(columns, table, column)
            schema, _, bare = table.rpartition(".")
            source = f"source.{quoted(schema or 'main')}.{quoted(bare)}"
            grid = grid_of(_values(connection, source, column, columns[column]))
            others = [name for name in columns if name != column]
            listed = ", ".join(map(quoted, [*others, column]))
            sampled = f"USING SAMPLE reservoir({SAMPLE} ROWS) REPEATABLE (1)"
            frame = connection.execute(f"SELECT {listed} FROM {source} {sampled}").df()
            key = _key(connection, source, columns, others)
            ((records,),) = connection.execute(f"SELECT count({quoted(column)}) FROM {source}").fetchall()
        except duckdb.Error as error:
            raise DatabaseError(f"database {source_.name}: {str(error).splitlines()[0]}") from error
    reasons = _reasons(frame, columns, column, others)
    warnings = tuple(f"{name}: {reason}; left out of public" for name, reason in reasons.items())
    return Suggestion(_policy(source_, (table, column, records), grid, key, others, reasons), warnings)


def grid_of(values: list[Fraction]) -> Grid:
    """Bounds, step and resolution that values suggest.

    Raises:
        DatabaseError: fewer than two different values, or a grid too fine to be one.
    """
    if len(set(values)) < 2:
        raise DatabaseError("the column has fewer than two different values; there is nothing to protect")
    scale = lcm(*(value.denominator for value in values))
    resolution = Fraction(gcd(*(int(value * scale) for value in values)), scale)
    low, high = min(values), max(values)
    unit = _at_least((high - low) / 20, resolution)
    minimum = floor(low / unit) * unit
    maximum = ceil(high / unit) * unit
    if minimum == low:
        minimum -= unit
    if maximum == high:
        maximum += unit
    if low >= 0:
        minimum = max(minimum, Fraction(0))
    if (maximum - minimum) / resolution > MOST_VALUES:
        raise DatabaseError(
            "the column's values lie on no grid that can be worked with; protect a rounded copy of it, "
            "for example round(column, 2)"
        )
    return Grid(minimum, maximum, _at_least((maximum - minimum) / MOST_STEPS, resolution), resolution)


def _at_least(least: Fraction, unit: Fraction) -> Fraction:
    """The least of 1, 2, 5, 10, 20, … units that is not below `least`."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if unit * digit * power >= least:
                return unit * digit * power
        power *= 10


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    schema, _, bare = table.rpartition(".")
    found = connection.execute(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = 'source' AND NOT internal ORDER BY column_index"
    ).fetchall()
    wanted = (folded(schema or DEFAULT_SCHEMA), folded(bare))
    columns = {name: kind for *home, name, kind in found if tuple(map(folded, home)) == wanted}
    named = {(home, name) for home, name, _, _ in found}
    odd = {folded(name) for home, name in named if set('".') & set(home + name)}
    if folded(table) in odd:
        raise DatabaseError(
            f"table {table!r}: there is a quotation mark or a dot in its name, so it cannot be protected; "
            "rename it"
        )
    if not columns:
        tables = sorted(name if home == DEFAULT_SCHEMA else f"{home}.{name}" for home, name in named)
        raise DatabaseError(f"table {table!r}: no such table; {_near(table, tables)}")
    return columns


def _column(columns: dict[str, str], table: str, column: str) -> str:
    exactly = next((name for name in columns if name.casefold() == column.casefold()), None)
    if exactly is None:
        raise DatabaseError(f"column {column!r}: table {table!r} has none; {_near(column, list(columns))}")
    return exactly


def _near(name: str, known: list[str]) -> str:
    spelled = {folded(each): each for each in known}
    # a name without its schema is near to all of that name
    alike = [each for each in spelled if each.rpartition(".")[2] == folded(name)]
    near = alike[:1] or difflib.get_close_matches(folded(name), list(spelled), n=1)
    return f"did you mean {spelled[near[0]]!r}?" if near else f"there are {', '.join(known) or 'none'}"


def _values(connection: duckdb.DuckDBPyConnection, source: str, column: str, kind: str) -> list[Fraction]:
    """The different values of the column, exactly as they are written."""
    if not kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "REAL")) and "INT" not in kind:
        raise DatabaseError(f"column {column!r} is {kind}; only columns of numbers can be protected")
    name = quoted(column)
    rows = connection.execute(f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL").fetchall()
    if any(isinstance(value, float) and not np.isfinite(value) for (value,) in rows):
        raise DatabaseError(f"column {column!r} has values that are not finite numbers; make them NULL")
    return [Fraction(value) if isinstance(value, Decimal) else exact(value) for (value,) in rows]


def _key(
    connection: duckdb.DuckDBPyConnection, source: str, columns: dict[str, str], others: list[str]
) -> str | None:
    """A column that names records: unique, never NULL, of whole numbers or text; one called id first."""
    named = sorted(others, key=lambda name: not name.casefold().endswith(("id", "key", "no", "number")))
    for name in named:
        if "INT" not in columns[name] and not columns[name].startswith(("VARCHAR", "UUID")):
            continue
        named_so = quoted(name)
        query = f"SELECT count(*) = count(DISTINCT {named_so}) AND count(*) > 0 FROM {source}"
        if connection.execute(query).fetchall()[0][0]:
            return name
    return None


def _reasons(frame: pd.DataFrame, columns: dict[str, str], column: str, others: list[str]) -> dict[str, str]:
    protected = pd.to_numeric(frame.iloc[:, -1]).to_numpy(dtype=np.float64)
    reasons: dict[str, str] = {}
    for place, name in enumerate(others):
        kind = columns[name]
        if kind.endswith("]") or not ("INT" in kind[:8] or kind.startswith(PLAIN)):
            reasons[name] = f"its type {kind} cannot be conditioned on"
            continue
        reason = giveaway(frame.iloc[:, place], protected)
        if reason is not None:
            reasons[name] = reason.replace("the protected column", column)
    return reasons


def _policy(
    source: Source,
    protected: tuple[str, str, int],
    grid: Grid,
    key: str | None,
    others: list[str],
    reasons: dict[str, str],
) -> str:
    table, column, records = protected
    public = "\n".join(
        f"    # {json.dumps(name, ensure_ascii=False)},  # left out: {_line(reasons[name])}"
        if name in reasons
        else f"    {json.dumps(name, ensure_ascii=False)},"
        for name in others
    )
    steps = floor((grid.maximum - grid.minimum) / grid.step) + 1
    key_line = "# key =  # no column names each record once" if key is None else f"key = {_text_toml(key)}"
    return TEMPLATE.format(
        file=_line(source.name if source.beside is None else source.beside.name),
        table=_text_toml(table),
        column=_text_toml(column),
        minimum=written(grid.minimum),
        maximum=written(grid.maximum),
        step=written(grid.step),
        steps=steps,
        resolution=written(grid.resolution),
        key=key_line,
        public=public,
        published=_mean(table, column) if records >= ENOUGH else "",
        path="# path" if source.beside is not None else "path",
        ledger=_text_toml(f"{source.database}.ledger"),
        anchor=_text_toml(f"{source.database}.anchor"),
    )


ENOUGH = 100
"""Records from which on the overall mean is suggested as published: it locates nobody."""
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")

TEMPLATE = """\
# A policy for cae-sql, read off {file}. It is a suggestion: read every line before anyone asks anything.
# Once something was answered, [protect] cannot change without losing the ledger.
# Several confidential columns: [[protect]], once for each. SQL of PostgreSQL: dialect = "postgres", up here.

[protect]
table = {table}
column = {column}
# Bounds that anyone could guess, rounded outwards; the true extremes are confidential. Intruders know these.
minimum = {minimum}
maximum = {maximum}
# Risk is judged in steps of this size ({steps} values). Coarser is stricter about narrow ranges.
step = {step}
# The grid of the stored values; step is a multiple of it.
resolution = {resolution}
# Names records in your own findings; never shown to analysts for that reason alone.
{key}
# What analysts may read and condition on, and what an intruder is taken to know of everyone.
public = [
{public}
]

[tables]
# Further tables that may be read and joined, and stored queries that may be read like tables.
public = []
views = []

[intruder]
# "all", or a list of public columns: what an intruder knows of the person looked for.
knows = "all"
# Everyone knows their own value, and could reckon with it: two people's average tells each the other's.
# 1: whoever asks may be one of the people in the table. 0: nobody is taken to use their own value.
insiders = 1
# What everybody knows anyway. With the overall mean, the tables that the gate thinks up look like yours;
# without it, refusals of MAX and MIN tell more where most values are small, or most are large.
published = [{published}]
# How values are spread, where that is public (a census): [value, weight] pairs, or a shape. Never read it off
# this table. It only makes the tables that the gate thinks up more like yours; nothing is excluded by it.
# prior = {{ shape = "lognormal", median = 40, sigma = 0.8 }}

[limit]
# How much of the uncertainty about anyone may be taken away: 0 nothing, 1 all.
risk = 0.5
# Also possible: at least min_entropy bits must remain when values within epsilon count as one.
# epsilon = {step}
# min_entropy = 0.5

[decision]
# "simulatable": refusals are computed from past answers alone, and tell nothing.
mode = "simulatable"
# Hypothetical answers judged per decision, the fraction of them that may break the limit, and
# the seconds after which a decision is given up. What decides is work, not time: they are a last resort.
worlds = 20
delta = 0.05
timeout = 60
# What a GROUP BY with an unsafe group gets: "suppress" the other groups, "refuse" nothing.
partial = "suppress"
# Whether AT_LEAST(...) and AT_MOST(...) say where a value lies that is not exact: "asked", or "never".
ranges = "asked"
# What tools that show tables get for SELECT *: "refuse", or "null", rows with NULL in the protected column.
preview = "refuse"

[ledger]
# Where answers are remembered (default: beside the database), and, kept elsewhere, a proof that none is lost.
{path} = {ledger}
# anchor = {anchor}
# "everyone": what any user was told counts for all. "user": only if users cannot talk to each other.
# Once something was answered, this cannot change either.
scope = "everyone"
"""


def _mean(table: str, column: str) -> str:
    """The statement for the overall mean, as TOML."""
    named = ".".join(map(_in_sql, table.split("."))) if "." in table else _in_sql(table)
    return _text_toml(f"SELECT AVG({_in_sql(column)}) FROM {named}")


def _in_sql(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _keywords() else quoted(name)


@cache
def _keywords() -> frozenset[str]:
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    return frozenset(str(name) for (name,) in rows)


def _line(text: str) -> str:
    return " ".join(text.split())


def _text_toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
