"""Cells: the rows of a protected table that agree on its public columns and on which values are missing.

Promises that no condition on the columns of a cell table can tell the rows of one cell apart: a column is one
of them only where equal values are the same value. Where nearly every row differs, the columns with the most
values are left out until cells repeat, and what reads such a column takes the rows. Nothing but speed hangs
on which columns are chosen. Runs when the database is opened; reads public columns and record numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.data.arrow import numbers_of
from auditor.sql.schema import Column, Schema, Table, folded, quoted
from auditor.sql.shape import DATA

LEAST_ROWS = 100_000
"""Smaller tables have no cells: their rows are read as quickly."""
MOST_CELLS = 0.5
"""Cells per row from which on they are not worth it."""

_WEIGHT = "_weight"
_SAME_IF_EQUAL = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
     "UHUGEINT", "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
     "TIMESTAMP WITH TIME ZONE", "UUID", "VARCHAR", "DOUBLE", "FLOAT"]
)  # fmt: skip


@dataclass(frozen=True)
class CellTable:
    """A table of the public instance with one row for each cell of another."""

    name: str
    """In the schema of readable tables, where no statement can name it."""
    columns: frozenset[str]
    """The public columns that it has, as `folded`: lowering writes names so."""
    protected: frozenset[str]
    """The protected columns, as `folded`: each holds the cell's number, NULL where there is no value."""
    weight: str
    """The column that says how many rows a cell stands for."""


class Cells:
    """Which cell each record, or unit, of a protected column belongs to."""

    def __init__(
        self, of_record: NDArray[np.int32], count: int, rows: NDArray[np.int64] | None = None
    ) -> None:
        """Take the cell of each record, how many cells there are, and how many values each has.

        Where there are units in place of records (`auditor.data.units`), a cell may have more values.
        """
        self.of_record = of_record
        """By record."""
        self.sizes: NDArray[np.int64] = np.bincount(of_record, minlength=count)
        """By cell: its records; 0 where the cell's rows have no value."""
        self.values = self.sizes if rows is None else rows
        """By cell: how many rows have a value."""
        self._starts = np.cumsum(self.sizes) - self.sizes
        # records are numbered in an order of public columns: where it is that of the cells, none is needed
        ascending = bool((of_record[1:] >= of_record[:-1]).all())
        self._order = None if ascending else np.argsort(of_record, kind="stable").astype(np.int32)

    def records(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The records of some cells, which are given in ascending order, each once; ascending too."""
        sizes = self.sizes[cells]
        ends = np.cumsum(sizes)
        places = np.repeat(self._starts[cells] - ends + sizes, sizes)
        places += np.arange(len(places))
        if self._order is None:
            return places
        chosen = np.zeros(len(self.of_record), np.bool_)
        chosen[self._order[places]] = True
        return np.flatnonzero(chosen).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Celled:
    """What `group` found."""

    tables: dict[str, CellTable]
    """By name of the table that they stand for, as `folded`; tables without cells are absent."""
    of_protected: tuple[Cells | None, ...]
    """By protected column."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """Tables that exist as cells alone, as `folded`, with how many rows all of them have."""


def group(connection: duckdb.DuckDBPyConnection, schema: Schema) -> Celled:
    """Make the cell tables of a loaded public instance."""
    tables: dict[str, CellTable] = {}
    found: dict[int, Cells] = {}
    for number, table in enumerate(schema.tables):
        if not schema.protected_of(table):
            continue
        columns = _repeating(connection, table)
        if not columns:
            continue
        name = unused(f"_cells{number}", [each.name for each in schema.tables])
        made = _create(connection, schema, table, name, columns)
        cells = _cells_of(connection, schema, table, made)
        if cells is None:
            connection.execute(f"DROP TABLE {DATA}.{quoted(made.name)}")
            continue
        tables[folded(table.name)] = made
        found |= cells
    return Celled(tables, tuple(found.get(position) for position in range(len(schema.protected))))


# --- which columns


def _repeating(connection: duckdb.DuckDBPyConnection, table: Table) -> list[Column]:
    """The columns of a table whose combinations repeat: all, or those with the fewest values, or none."""
    source = f"{DATA}.{quoted(table.name)}"
    rows = _only(connection, f"SELECT count(*) FROM {source}")[0]
    if rows < LEAST_ROWS:
        return []
    candidates = [each for each in table.columns if not each.unique and _comparable(each.type)]

    def repeat(columns: Sequence[Column]) -> bool:
        names = ", ".join(quoted(each.name) for each in columns)
        (cells,) = _only(connection, f"SELECT approx_count_distinct(hash({names})) FROM {source}")
        return cells < MOST_CELLS * rows

    if candidates and not repeat(candidates):
        counts = ", ".join(f"approx_count_distinct({quoted(each.name)})" for each in candidates)
        about = _only(connection, f"SELECT {counts} FROM {source}")
        ranked = sorted(zip(about, range(len(candidates)), strict=True))
        candidates = [candidates[place] for _, place in ranked]
        # a column more never makes fewer cells; each alone would have to repeat
        low, high = 0, sum(n < MOST_CELLS * rows for n in about)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if repeat(candidates[:middle]) else (low, middle - 1)
        candidates = candidates[:low]
    return _told_apart(connection, source, candidates)


def _comparable(type_: str) -> bool:
    return type_ in _SAME_IF_EQUAL or type_.startswith(("DECIMAL(", "ENUM("))


def _told_apart(
    connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[Column]
) -> list[Column]:
    """The columns in which no two different values are equal.

    0.0 equals -0.0 and one NaN another, though functions tell them apart; so do texts under a collation.
    """
    checks = {}
    for column in columns:
        name = quoted(column.name)
        if column.type in ("DOUBLE", "FLOAT"):
            checks[column] = f"count(*) FILTER (isnan({name}) OR ({name} = 0 AND signbit({name})))"
        elif column.type == "VARCHAR":
            checks[column] = f"count(DISTINCT encode({name})) - count(DISTINCT {name})"
    if not checks:
        return list(columns)
    found = dict(
        zip(checks, _only(connection, f"SELECT {', '.join(checks.values())} FROM {source}"), strict=True)
    )
    return [column for column in columns if not found.get(column)]


def _only(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    (row,) = connection.execute(sql).fetchall()
    return tuple(row)


# --- making them


def _create(
    connection: duckdb.DuckDBPyConnection,
    schema: Schema,
    table: Table,
    name: str,
    columns: Sequence[Column],
) -> CellTable:
    """One row for each cell, in the order of their first rows, so that ties fall as they do among rows."""
    protected = [each.column for _, each in schema.protected_of(table)]
    weight = unused(_WEIGHT, [each for each, _ in schema.columns_of(table)])
    keys = [f"{quoted(each.name)} AS k{i}" for i, each in enumerate(columns)]
    keys += [f"{quoted(each)} IS NOT NULL AS m{i}" for i, each in enumerate(protected)]
    shown = [f"k{i} AS {quoted(each.name)}" for i, each in enumerate(columns)]
    shown += [f"CASE WHEN m{i} THEN c END AS {quoted(each)}" for i, each in enumerate(protected)]
    connection.execute(
        f"CREATE TABLE {DATA}.{quoted(name)} AS SELECT {', '.join(shown)}, n AS {quoted(weight)} "
        f"FROM (SELECT {', '.join(keys)}, count(*) AS n, "
        "(row_number() OVER (ORDER BY min(rowid)) - 1)::INTEGER AS c "
        f"FROM {DATA}.{quoted(table.name)} GROUP BY ALL) ORDER BY c"
    )
    return CellTable(
        name, frozenset(folded(each.name) for each in columns), frozenset(map(folded, protected)), weight
    )


def unused(name: str, used: Sequence[str]) -> str:
    """A name, with more underscores before it where it is used."""
    while folded(name) in map(folded, used):
        name = "_" + name
    return name


def _cells_of(
    connection: duckdb.DuckDBPyConnection, schema: Schema, table: Table, made: CellTable
) -> dict[int, Cells] | None:
    """The cell of each record, by protected column; None where a record did not find its cell."""
    protected = schema.protected_of(table)
    same = [f"s.{quoted(each)} IS NOT DISTINCT FROM c.{quoted(each)}" for each in sorted(made.columns)]
    same += [f"(s.{name} IS NULL) = (c.{name} IS NULL)" for name in map(quoted, sorted(made.protected))]
    columns = ", ".join(
        f"s.{quoted(each.column)} AS r{i}, c.{quoted(each.column)} AS c{i}" for i, each in protected
    )
    pairs = connection.sql(
        f"SELECT {columns} FROM {DATA}.{quoted(table.name)} AS s "
        f"JOIN {DATA}.{quoted(made.name)} AS c ON {' AND '.join(same)}"
    ).to_arrow_table()
    (count,) = _only(connection, f"SELECT count(*) FROM {DATA}.{quoted(made.name)}")
    (rows,) = _only(connection, f"SELECT count(*) FROM {DATA}.{quoted(table.name)}")
    if pairs.num_rows != rows or count >= MOST_CELLS * rows:
        return None
    return {i: _read(pairs.column(f"r{i}"), pairs.column(f"c{i}"), count) for i, _ in protected}


def _read(records: pa.ChunkedArray, cells: pa.ChunkedArray, count: int) -> Cells:
    numbers = numbers_of(records.drop_null())
    of_record = np.empty(len(numbers), np.int32)
    of_record[numbers] = numbers_of(cells.drop_null())
    of_record.flags.writeable = False
    return Cells(of_record, count)
