"""`cae-sql init`: a policy read off the data, with comments that say what each key does.

Promise: the text loads with `Policy.load`, fits the data it was read off, and names no confidential extreme:
bounds are rounded outwards to a coarse unit and never are the least or greatest value itself. Columns that
seem to give the protected one away, or that name rows or persons, are left out of `public`, each with the
reason.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

import duckdb
import numpy as np
import pandas as pd

from auditor.data.sources import Given, Needed, Source, Wanted, source_of
from auditor.data.sources.duckdb_file import DuckDBFile
from auditor.data.sources.single import Single
from auditor.errors import DatabaseError
from auditor.policy.giveaways import giveaway
from auditor.policy.grid import Grid, grid_of
from auditor.policy.policy import written
from auditor.policy.recurring import is_key_name, recurring, unit_of
from auditor.policy.template import Named, text_of
from auditor.sql.schema import DEFAULT_SCHEMA, folded, quoted
from cae_sql.domain import exact

SAMPLE = 200_000
"""Rows looked at for giveaways; bounds, grid and keys are read off all."""

PLAIN = ("DECIMAL", "DOUBLE", "FLOAT", "REAL", "VARCHAR", "BOOLEAN", "DATE", "TIME", "ENUM", "UUID")
"""Types, besides the integers, that analysts can condition on, by how their names begin."""


@dataclass(frozen=True)
class Suggestion:
    """A policy's text and what its reader should know."""

    text: str
    """The policy, commented."""
    warnings: tuple[str, ...]
    """What its reader should know: columns left out of `public`, each with the reason, and more."""


def suggest(database: Given, table: str | None, column: str) -> Suggestion:
    """Read a policy off a table.

    Args:
        database: The source; see `Gate.open`.
        table: Its table; of a source that is one table, the name that statements will call it by. None: the
            file's or folder's name, or the only table that there is.
        column: The confidential column.

    Raises:
        DatabaseError: no such source, table or column, or a column that cannot be protected as it is.
    """
    source_ = source_of(database)
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        try:
            table = table or _only_table(source_)
            source_.attach(connection, "source", Wanted((Needed(table or "", None, (column,)),)))
            table = table or _the_table(connection, source_)
            columns = _columns(connection, table)
            column = _column(columns, table, column)
            schema, _, bare = table.rpartition(".")
            source = f"source.{quoted(schema or DEFAULT_SCHEMA)}.{quoted(bare)}"
            values = _values(connection, source, column, columns[column])
            grid = grid_of(values)
            others = [name for name in columns if name != column]
            listed = ", ".join(map(quoted, [*others, column]))
            sampled = f"USING SAMPLE reservoir({SAMPLE} ROWS) REPEATABLE (1)"
            frame = connection.execute(f"SELECT {listed} FROM {source} {sampled}").df()
            keys = _keys(connection, source, columns, others)
            persons = recurring(connection, table, columns, others)
        except duckdb.Error as error:
            raise DatabaseError(f"database {source_.name}: {str(error).splitlines()[0]}") from error
    reasons = _reasons(frame, columns, column, others)
    reasons |= dict.fromkeys(keys, "it names each row once")
    unit = unit_of(persons, keys)
    several = SEVERAL_ROWS if unit is None else OTHER_UNIT.format(unit)
    reasons |= {name: f"{each.reason}; {several}" for name, each in persons.items()}
    key = keys[0] if keys else None
    if unit is not None:
        reasons[unit] = f"{persons[unit].reason}; it is taken for the unit"
    said = {name: reason for name, reason in reasons.items() if name != key}
    warnings = [f"{name}: {reason}; left out of public" for name, reason in said.items()]
    if key is None:
        warnings.append(NO_KEY)
    if grid.cap is not None:
        warnings.append(_crowded(column, grid, values))
    named = Named(key, unit, "" if unit is None else persons[unit].reason)
    people = sum(values.values()) if unit is None else persons[unit].different
    return Suggestion(
        text_of(source_, (table, column, people), grid, named, others, reasons), tuple(warnings)
    )


SEVERAL_ROWS = (
    "several rows of one person are not protected together, since one row is one person here: protect a "
    "table with one row for each person"
)
"""What is wrong with a table of visits whose persons nothing names for certain."""
OTHER_UNIT = "several rows of one are not protected together, since {} is taken for the unit"
"""What is wrong with further columns that may name persons."""
NO_KEY = (
    "no column names each row once: without protect.key no ledger can be renewed when the table has changed; "
    "add such a column before anyone asks, for example a number"
)
"""What is wrong with a table without a key."""


def _crowded(column: str, grid: Grid, values: dict[Fraction, int]) -> str:
    """What is to be done about a few values that are far from all others."""
    assert grid.cap is not None
    inside = sum(count for value, count in values.items() if value <= grid.cap) / sum(values.values())
    share, cap = floor(1000 * inside) / 10, written(grid.cap)
    return (
        f"{column} is skewed: {share} % of the values are at most {cap}, and the domain ends at "
        f"{written(grid.maximum)}; more is answered of a copy with a cap, least({column}, {cap})"
    )


def _only_table(source: Source) -> str | None:
    """What a source of one table is called; None: it holds tables of its own, which it names.

    Raises:
        DatabaseError: its tables have to be named.
    """
    if isinstance(source, Single):
        return source.database
    if isinstance(source, DuckDBFile):
        return None
    raise DatabaseError(f"{source.name} may hold several tables; say which: --table TABLE")


def _the_table(connection: duckdb.DuckDBPyConnection, source: Source) -> str:
    """The only table of a catalogue.

    Raises:
        DatabaseError: there are several, or none.
    """
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' AND NOT internal "
        "ORDER BY ALL"
    ).fetchall()
    found = [name if home == DEFAULT_SCHEMA else f"{home}.{name}" for home, name in rows]
    if len(found) == 1:
        return found[0]
    text = "holds no table" if not found else f"holds {', '.join(found)}; say which: --table {found[0]}"
    raise DatabaseError(f"{source.name} {text}")


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


def _values(
    connection: duckdb.DuckDBPyConnection, source: str, column: str, kind: str
) -> dict[Fraction, int]:
    """How many rows have each value of the column, exactly as it is written."""
    if not kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "REAL")) and "INT" not in kind:
        raise DatabaseError(f"column {column!r} is {kind}; only columns of numbers can be protected")
    name = quoted(column)
    rows = connection.execute(
        f"SELECT {name}, count(*) FROM {source} WHERE {name} IS NOT NULL GROUP BY 1"
    ).fetchall()
    if any(isinstance(value, float) and not np.isfinite(value) for value, _ in rows):
        raise DatabaseError(f"column {column!r} has values that are not finite numbers; make them NULL")
    found = dict[Fraction, int]()
    for value, count in rows:
        written_as = Fraction(value) if isinstance(value, Decimal) else exact(value)
        found[written_as] = found.get(written_as, 0) + count
    return found


def _keys(
    connection: duckdb.DuckDBPyConnection, source: str, columns: dict[str, str], others: list[str]
) -> list[str]:
    """Columns that name rows, the likeliest key first: each value once, never NULL, and it reads like a key.

    That is text, or whole numbers that are called so (id) or have no gaps.
    """
    found = []
    for name in sorted(others, key=lambda name: not is_key_name(name)):
        number, column = "INT" in columns[name], quoted(name)
        if not number and not columns[name].startswith(("VARCHAR", "UUID")):
            continue
        dense = (
            f"max({column}) - min({column}) + 1 = count(*)" if number and not is_key_name(name) else "true"
        )
        query = f"SELECT count(*) = count(DISTINCT {column}) AND count(*) > 0 AND {dense} FROM {source}"
        if connection.execute(query).fetchall()[0][0]:
            found.append(name)
    return found


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
