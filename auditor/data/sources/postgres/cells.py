"""Cells made by PostgreSQL: one GROUP BY in the snapshot, whatever types the columns have.

Promise: values are added up as `numeric`, which is exact and has no greatest number. Public columns are
grouped by the text that is sent, byte by byte, so that what PostgreSQL takes for equal and writes differently
stays apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from auditor.data import vault
from auditor.data.sources import celling
from auditor.data.sources.postgres.columns import Carried
from auditor.data.sources.postgres.relations import Relation
from auditor.data.sources.wanted import Lattice
from auditor.sql.schema import quoted

_FINITE = "^[-+0-9.e]+$"


@dataclass(frozen=True)
class Made:
    """What is selected there, and what becomes of it here."""

    there: Sequence[str]
    """What PostgreSQL selects."""
    names: Sequence[str]
    """The names of that, by which `here` reads it."""
    here: Sequence[str]
    """What DuckDB makes of the texts."""
    columns: celling.Columns = ()
    """Of cells: those of the rows, with DuckDB's types."""
    groups: str = ""
    """What follows the table's name."""


def made(connection: duckdb.DuckDBPyConnection, relation: Relation) -> Made:
    """How cells of a relation are made; `connection` is asked for names of types."""
    needed, columns = relation.needed, _types(connection, relation.columns)
    there, names, here, groups = list[str](), list[str](), list[str](), list[str]()

    def select(expression: str, name: str, read: str) -> None:
        there.append(expression)
        names.append(name)
        here.append(read)

    for place, (each, (_, type_)) in enumerate(zip(relation.columns, columns, strict=True)):
        if needed.by_value or not needed.protects(each.name):
            text = f'(({each.there})::text COLLATE "C")'
            select(text, each.name, _named(each, celling.KEY + each.name))
            groups.append(text)
        elif vault.supported(type_):
            lattice = celling.lattice_of(needed, each.name)
            exact, on_grid = _exact(each.there, type_, lattice)
            decimal = f"DECIMAL(38, {celling.digits(type_, lattice)})"
            groups.append(f"({each.there}) IS NULL")
            for before, told, kind in (
                (celling.VALUES, f"count({each.there})", "BIGINT"),
                (celling.ON_GRID, f"count(*) FILTER (WHERE {on_grid})", "BIGINT"),
                (celling.SUM, f"sum({exact})", decimal),
                (celling.LEAST, f"min({exact})", decimal),
                (celling.GREATEST, f"max({exact})", decimal),
            ):
                name = _apart(f"{before}{place}", relation.columns)
                read = f"TRY_CAST({quoted(name)} AS {kind}) AS {quoted(before + each.name)}"
                select(told, name, read)
    name = _apart(celling.ROWS, relation.columns)
    select("count(*)", name, f"CAST({quoted(name)} AS BIGINT) AS {celling.ROWS}")
    return Made(there, names, here, columns, f" GROUP BY {', '.join(groups)}")


def _types(connection: duckdb.DuckDBPyConnection, columns: Sequence[Carried]) -> celling.Columns:
    texts = ", ".join(f"NULL::VARCHAR AS {quoted(each.name)}" for each in columns)
    read = ", ".join(each.here for each in columns)
    rows = connection.execute(f"DESCRIBE SELECT {read} FROM (SELECT {texts})").fetchall()
    return [(str(row[0]), str(row[1])) for row in rows]


def _named(column: Carried, name: str) -> str:
    return f"{column.here.removesuffix(f' AS {quoted(column.name)}')} AS {quoted(name)}"


def _apart(name: str, columns: Sequence[Carried]) -> str:
    while any(each.name.lower() == name.lower() for each in columns):
        name = "_" + name
    return name


def _exact(value: str, type_: str, lattice: Lattice) -> tuple[str, str]:
    """A value as `numeric`, NULL where it is none, and whether it is on the grid."""
    if type_ in ("DOUBLE", "FLOAT"):
        # the shortest text that reads back as it; NaN and infinities have none
        text = f"({value})::text"
        exact = f"CASE WHEN {text} ~ '{_FINITE}' THEN {text}::numeric END"
    else:
        exact = f"({value})::int::numeric" if type_ == "BOOLEAN" else f"({value})::numeric"
    least, step = celling.text(lattice.least), celling.text(lattice.step)
    return exact, f"mod(({exact}) - ({least}), {step}) = 0"
