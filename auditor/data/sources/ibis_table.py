"""Any Ibis table expression: Spark, Databricks, Snowflake, BigQuery, Trino, ClickHouse, and others.

Promise: one query is made, of the wanted columns and nothing else, and Ibis writes it; the engine is asked
nothing more. It gives records, or cells (`auditor.data.sources.celling`). Ibis is never imported here: an
expression comes with it.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from auditor.data import vault
from auditor.data.sources import celling, staging
from auditor.data.sources.single import Single
from auditor.data.sources.wanted import Lattice, Needed
from auditor.errors import AuditorError, DatabaseError
from auditor.sql.schema import quoted

_HERE = frozenset({"duckdb", "polars", "datafusion", "sqlite"})
"""Backends that are in this process."""
_FLOATS = ("DOUBLE", "FLOAT")
_SUMMED_SCALE = 9
_SUMMED = f"decimal(38, {_SUMMED_SCALE})"
"""In which numbers are added up: the one decimal of 38 digits that BigQuery has. 29 are before the point."""


class IbisTable(Single):
    """See `Source`."""

    def __init__(self, expression: Any) -> None:
        self._expression = expression
        self.name = "the Ibis table"

    @classmethod
    def takes(cls, given: object) -> bool:
        """Whether something is a table expression of Ibis."""
        return any(
            each.__module__.startswith("ibis.expr.types") and each.__name__ == "Table"
            for each in type(given).__mro__
        )

    @property
    def far(self) -> bool:
        """See `Source`."""
        try:
            return self._expression.get_backend().name not in _HERE
        except Exception:  # noqa: BLE001 -- there is none, or several: said when it is read
            return False

    def put(self, connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed) -> None:
        """The rows, or the cells, that its engine gives."""
        try:
            chosen = needed.chosen(list(self._expression.columns))
            table = self._expression.select(*chosen)
            if needed.lattices:
                _put_cells(connection, catalog, needed, table)
            else:
                staging.put_stream(connection, catalog, needed, _stream(table), list(map(quoted, chosen)))
        except AuditorError:
            raise
        except ImportError as error:
            # Ibis imports an engine's driver when it is needed
            missing = error.name or "a driver"
            wanted = "'cae-sql[ibis]', and Ibis's extra for the engine"
            if missing.partition(".")[0] in ("pyspark", "py4j"):
                wanted = "'cae-sql[spark]'"
            raise DatabaseError(
                f"{self.name} could not be read: {missing} is not installed; pip install {wanted}"
            ) from None
        except Exception as error:  # noqa: BLE001 -- an engine's, of whatever kind, and its text may say anything
            raise DatabaseError(
                f"{self.name} could not be read: its engine says {type(error).__name__}; try "
                "expression.limit(1).to_pyarrow() to see what it says"
            ) from None


def _stream(expression: Any) -> pa.RecordBatchReader:
    if expression.get_backend().name == "duckdb":
        # for batches Ibis 12 calls a method that DuckDB 2 has no more
        table: pa.Table = expression.to_pyarrow()
        return table.to_reader()
    return expression.to_pyarrow_batches()


def _put_cells(connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed, table: Any) -> None:
    columns = _types(connection, table)
    grouped, selected = (_by_value if needed.by_value else _cells)(table, columns, needed)
    staging.put_cells(connection, catalog, needed, _stream(grouped), columns, selected)


def _types(connection: duckdb.DuckDBPyConnection, table: Any) -> celling.Columns:
    """DuckDB's types of the columns; the engine is not asked."""
    connection.register("_types", table.schema().to_pyarrow().empty_table())
    try:
        rows = connection.execute("DESCRIBE FROM _types").fetchall()
    finally:
        connection.unregister("_types")
    return [(str(row[0]), str(row[1])) for row in rows]


def _by_value(table: Any, columns: celling.Columns, needed: Needed) -> tuple[Any, list[str]]:
    """Rows that agree in all columns, counted, and what is selected of that."""
    del needed
    short = {f"k{place}": table[name] for place, (name, _) in enumerate(columns)}
    rows = table.select(**short)
    selected = [f"k{place} AS {quoted(celling.KEY + name)}" for place, (name, _) in enumerate(columns)]
    selected.append(f"CAST(n AS BIGINT) AS {celling.ROWS}")
    return rows.group_by(list(short)).aggregate(n=rows.count()), selected


def _cells(table: Any, columns: celling.Columns, needed: Needed) -> tuple[Any, list[str]]:
    """The cells as an expression with short names, and what is selected of its rows."""
    short = {f"x{place}": table[name] for place, (name, _) in enumerate(columns)}
    rows, keys, more = table.select(**short), list[str](), dict[str, Any]()
    selected = [f"CAST(n AS BIGINT) AS {celling.ROWS}"]
    for place, (name, type_) in enumerate(columns):
        if not needed.protects(name):
            keys.append(f"x{place}")
            selected.append(f"x{place} AS {quoted(celling.KEY + name)}")
        elif vault.supported(type_):
            lattice = celling.lattice_of(needed, name)
            exact, on_grid = _exact(rows[f"x{place}"], type_, lattice)
            keys.append(f"m{place}")
            more |= {f"m{place}": rows[f"x{place}"].isnull(), f"d{place}": exact, f"o{place}": on_grid}
    rows = rows.mutate(**more)
    told: dict[str, Any] = {"n": rows.count()}
    for place, (name, type_) in enumerate(columns):
        if f"d{place}" not in more:
            continue
        value = rows[f"d{place}"]
        told |= {
            f"c{place}": rows[f"x{place}"].count(), f"g{place}": rows[f"o{place}"].ifelse(1, 0).sum(),
            f"s{place}": value.sum(), f"l{place}": value.min(), f"h{place}": value.max(),
        }  # fmt: skip
        exactly = _decimal(type_, celling.digits(type_, celling.lattice_of(needed, name)))
        for letter, before in (("c", celling.VALUES), ("g", celling.ON_GRID)):
            selected.append(f"COALESCE(CAST({letter}{place} AS BIGINT), 0) AS {quoted(before + name)}")
        for letter, before in (("s", celling.SUM), ("l", celling.LEAST), ("h", celling.GREATEST)):
            selected.append(f"{exactly.format(f'{letter}{place}')} AS {quoted(before + name)}")
    return rows.group_by(keys).aggregate(**told), selected


def _exact(value: Any, type_: str, lattice: Lattice) -> tuple[Any, Any]:
    """A value as a decimal number that engines add up exactly, and whether it is on the grid."""
    decimals = celling.digits(type_, lattice)
    whole = 10**decimals
    step = int(lattice.step * whole)
    offset = int(lattice.least * whole) % step
    if type_ in _FLOATS:
        # as a number of the last decimal; what lies outside of the domain is not on the grid, NaN among it
        inside = value.between(float(lattice.least), float(lattice.most)).ifelse(value, None)
        units = (inside.cast("float64") * whole).round().cast("int64")
        again = (units.cast("float64") / float(whole)).cast("float64" if type_ == "DOUBLE" else "float32")
        return units.cast(_SUMMED), (again == value) & ((units - offset) % step == 0)
    if type_ == "BOOLEAN":
        # not every engine casts these to numbers
        value = value.isnull().ifelse(None, value.ifelse(1, 0))
    if type_.startswith("DECIMAL("):
        scale = value.type().scale
        exact = value.cast(_SUMMED if scale <= _SUMMED_SCALE else f"decimal(38, {scale})")
        units = (value * whole).cast("int64")
    else:
        exact, units = value.cast(_SUMMED), value.cast("int64") * whole
    return exact, (units - offset) % step == 0


def _decimal(type_: str, decimals: int) -> str:
    """How DuckDB reads an engine's decimal; NULL where it has too many digits."""
    if type_ in _FLOATS and decimals:
        last = f"CAST('0.{1:0{decimals}}' AS DECIMAL({decimals + 1}, {decimals}))"
        return f"TRY_CAST({{}} AS DECIMAL({37 - decimals}, 0)) * {last}"
    return f"TRY_CAST({{}} AS DECIMAL(38, {decimals}))"
