"""Protected tables that exist as cells alone: what the public instance and the vaults hold of them.

Promise: of what a source tells of cells (`auditor.data.sources.celling`), a table of the public instance with
one row for each, a view that repeats each as often as it has rows, and exact counts, sums and extremes.
Cells that agree in every public value are one, however the source told them. Their order, and so the numbers
of units, is the one that records of the same rows would have. What contradicts itself is not believed. Runs
before any client's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.data import units, vault
from auditor.data.arrow import numbers_of
from auditor.data.cells import Cells, CellTable, unused
from auditor.data.ordering import finer
from auditor.data.sources import Needed, celling
from auditor.data.sources.celling import GREATEST, KEY, LEAST, ON_GRID, ROWS, SUM, VALUES
from auditor.data.vault import CellValues, Vault
from auditor.errors import DatabaseError
from auditor.sql.schema import Column, folded, quoted
from auditor.sql.shape import DATA

_MERGED = f'{celling.CATALOG}."merged cells"'
_NUMBER = "number"


@dataclass(frozen=True, eq=False)
class Made:
    """One table."""

    name: str
    """As the source spells it."""
    columns: tuple[Column, ...]
    """The public columns, those that tell all rows apart marked."""
    table: CellTable
    rows: int
    """How many rows all cells have."""
    vaults: tuple[Vault, ...]
    """By protected column, as given."""
    cells: tuple[Cells, ...]
    """The same: which cell each unit is of."""


def make(
    connection: duckdb.DuckDBPyConnection,
    needed: Needed,
    name: str,
    shown: Sequence[Column],
    protected: Sequence[Column],
    taken: Sequence[str],
) -> Made:
    """Make a table of the cells that are there.

    Args:
        connection: The public instance.
        needed: What is wanted of the table.
        name: As the source spells it.
        shown: Its public columns, in table order.
        protected: The protected ones.
        taken: Names of all tables.

    Raises:
        DatabaseError: too many cells, none with a value, or cells that contradict themselves.
    """
    _merge(connection, needed, shown, protected)
    (cells, rows) = _only(connection, f"SELECT count(*), sum({ROWS}) FROM {_MERGED}")
    if cells > units.MOST:
        raise _too_many(connection, name, shown, f"{cells:,} cells")
    table = _create(connection, name, shown, protected, taken)
    found = [_vault(connection, needed, name, shown, column, cells) for column in protected]
    marked = _marked(connection, shown, rows or 0)
    connection.execute(f"DROP TABLE {_MERGED}")
    return Made(
        name, marked, table, rows or 0, tuple(each for each, _ in found), tuple(each for _, each in found)
    )


def _only(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    (row,) = connection.execute(sql).fetchall()
    return tuple(row)


def _keys(columns: Sequence[Column]) -> list[str]:
    return [quoted(KEY + each.name) for each in columns]


def _merge(
    connection: duckdb.DuckDBPyConnection,
    needed: Needed,
    shown: Sequence[Column],
    protected: Sequence[Column],
) -> None:
    """Cells that are alike down to their binary form as one, numbered in the order of records."""
    staged, keys = celling.staged(needed.table), _keys(shown)
    apart = finer(connection, staged, [KEY + each.name for each in shown])
    there = [f"{quoted(VALUES + each.name)} > 0" for each in protected]
    told = [f"sum({ROWS})::BIGINT AS {ROWS}"]
    for each in protected:
        counts = [quoted(before + each.name) for before in (VALUES, ON_GRID)]
        told += [f"sum({name})::BIGINT AS {name}" for name in counts]
        for before, how in ((SUM, "sum"), (LEAST, "min"), (GREATEST, "max")):
            value = quoted(before + each.name)
            # what has too many digits is NULL in one of the parts; it must not be left out of the sum
            whole = f"count({value}) = count(*) FILTER ({quoted(VALUES + each.name)} > 0)"
            told.append(f"CASE WHEN {whole} THEN {how}({value}) END AS {value}")
    further = [f"{name} AS f{place}" for place, name in enumerate(apart)]
    finest = [f"f{place}" for place in range(len(apart))]
    order = ", ".join([*(f"{quoted(VALUES + each.name)} = 0" for each in protected), *keys, *finest])
    grouped = ", ".join([*keys, *apart, *there])
    connection.execute(
        f"CREATE TABLE {_MERGED} AS SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS {quoted(_NUMBER)} "
        f"FROM (SELECT {', '.join([*keys, *told, *further])} FROM {staged} GROUP BY {grouped})"
    )


def _create(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    shown: Sequence[Column],
    protected: Sequence[Column],
    taken: Sequence[str],
) -> CellTable:
    """The table of cells, and the view of rows."""
    columns = [each.name for each in (*shown, *protected)]
    cells, weight, row = unused("_cells", taken), unused("_weight", columns), unused("_row", columns)
    number = quoted(_NUMBER)
    listed = [f"{quoted(KEY + each.name)} AS {quoted(each.name)}" for each in shown]
    listed += [
        f"CASE WHEN {quoted(VALUES + each.name)} > 0 THEN {number} END AS {quoted(each.name)}"
        for each in protected
    ]
    connection.execute(
        f"CREATE TABLE {DATA}.{quoted(cells)} AS SELECT {', '.join(listed)}, {ROWS} AS {quoted(weight)} "
        f"FROM {_MERGED} ORDER BY {number}"
    )
    connection.execute(
        f"CREATE VIEW {DATA}.{quoted(name)} AS SELECT {', '.join(map(quoted, columns))} FROM "
        f"(SELECT *, unnest(range({quoted(weight)})) AS {quoted(row)} FROM {DATA}.{quoted(cells)})"
    )
    return CellTable(
        cells,
        frozenset(folded(each.name) for each in shown),
        frozenset(folded(each.name) for each in protected),
        weight,
    )


def _vault(
    connection: duckdb.DuckDBPyConnection,
    needed: Needed,
    name: str,
    shown: Sequence[Column],
    column: Column,
    cells: int,
) -> tuple[Vault, Cells]:
    """What is known of a protected column, in the order that its records would have."""
    scale = celling.digits(column.type, celling.lattice_of(needed, column.name))
    values = [quoted(before + column.name) for before in (VALUES, ON_GRID, SUM, LEAST, GREATEST)]
    listed = [f"{value} AS v{place}" for place, value in enumerate(values)]
    # cells are numbered by which of all protected values are missing first, records by whether theirs is
    order = ", ".join([*_keys(shown), quoted(_NUMBER)])
    found = connection.sql(
        f"SELECT {quoted(_NUMBER)} AS number, {ROWS}::BIGINT AS n, {', '.join(listed)} FROM {_MERGED} "
        f"WHERE {values[0]} > 0 ORDER BY {order}"
    ).to_arrow_table()
    if not found.num_rows:
        raise DatabaseError(f"table {name} has no row with a value in {column.name}")
    numbers, rows, counts, on_grid = (
        numbers_of(found.column(each)).astype(np.int64) for each in ("number", "n", "v0", "v1")
    )
    if (counts != rows).any() or (on_grid > counts).any():
        raise _unsound(name, column.name)
    off_grid = int((counts - on_grid).sum())
    told = [found.column(each) for each in ("v2", "v3", "v4")]
    if off_grid and any(each.null_count for each in told):
        # values that no decimal of the grid is, such as NaN; nothing is to be made of the others
        told = [pa.chunked_array([pa.array([0] * found.num_rows, pa.decimal128(38, scale))])] * 3
    if any(each.null_count for each in told):
        raise vault.too_long(column.name)
    sums, least, greatest = (vault.exact(each, f"DECIMAL(38,{scale})", column.name)[0] for each in told)
    if not off_grid:
        _require_sound(name, column.name, (counts, sums, least, greatest))
    split = units.split(counts, units.MOST, units.ALONE)
    if split is None:
        raise _too_many(connection, name, shown, f"{len(counts):,} cells with {int(counts.sum()):,} values")
    of_unit = numbers[split.of_cell].astype(np.int32)
    of_unit.flags.writeable = False
    by_cell = np.zeros(cells, np.int64)
    by_cell[numbers] = counts
    known = CellValues(counts, sums, least, greatest, off_grid, split)
    held = Vault(np.zeros(0, np.int64), Fraction(1, 10**scale), None, cells=known)
    return held, Cells(of_unit, cells, by_cell)


def _require_sound(name: str, column: str, told: Sequence[NDArray[np.int64]]) -> None:
    """Check that sums of cells can be those of some values: an engine may let them overflow.

    Raises:
        DatabaseError: they cannot.
    """
    counts, sums, least, greatest = (each.astype(object) for each in told)
    lone = counts == 1
    among = np.where(lone, sums, sums - least - greatest)
    others = np.where(lone, 1, counts - 2)
    if (among < others * least).any() or (among > others * greatest).any() or (least > greatest).any():
        raise _unsound(name, column)


def _unsound(name: str, column: str) -> DatabaseError:
    return DatabaseError(
        f"the cells of table {name} contradict themselves: no values of {column} have these counts, sums, "
        "least and greatest; cast it to DECIMAL(38, s) at the source"
    )


def _marked(connection: duckdb.DuckDBPyConnection, shown: Sequence[Column], rows: int) -> tuple[Column, ...]:
    if not shown:
        return ()
    counts = _only(
        connection, f"SELECT {', '.join(f'count(DISTINCT {key})' for key in _keys(shown))} FROM {_MERGED}"
    )
    return tuple(
        Column(each.name, each.type, unique=count == rows) for each, count in zip(shown, counts, strict=True)
    )


def _too_many(
    connection: duckdb.DuckDBPyConnection, name: str, shown: Sequence[Column], what: str
) -> DatabaseError:
    """With how many values each public column has: those that have many make the cells."""
    listed = ""
    if shown:
        counted = ", ".join(f"approx_count_distinct({key})" for key in _keys(shown))
        about = zip(_only(connection, f"SELECT {counted} FROM {_MERGED}"), shown, strict=True)
        ranked = sorted(about, key=lambda pair: -pair[0])
        listed = "; its public columns have about so many values: " + ", ".join(
            f"{column.name} {count:,}" for count, column in ranked
        )
    return DatabaseError(
        f"table {name} has {what}, and at most {units.MOST:,} units are held{listed}. Leave out of public "
        "what has many, or give a view in which it is coarser"
    )
