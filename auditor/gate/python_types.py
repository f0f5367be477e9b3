"""Rows of an answer in the Python types that plain DuckDB gives, from Arrow, which lacks some of them.

Promises DuckDB's values, column by column, and that nothing but a `ConversionError` is raised. As in DuckDB
an infinite date is the last day that Python has, or the first, and other dates beyond Python's are texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auditor.errors import ConversionError

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "DOUBLE",
    "FLOAT",
    "VARCHAR",
    "DATE",
    "DECIMAL",
)
"""Types whose Python values Arrow gives as DuckDB does, but for dates that Python does not have."""


def rows_of(table: pa.Table, types: Sequence[str], zone: str = "UTC") -> list[tuple[Any, ...]]:
    """All rows.

    Args:
        table: The rows, as DuckDB gave them to Arrow.
        types: DuckDB's type of each column, as text.
        zone: Of moments, as DuckDB names it.

    Raises:
        ConversionError: Python has no value for one of them.
    """
    columns = [_by_arrow(column, kind) for column, kind in zip(table.columns, types, strict=True)]
    rest = [place for place, column in enumerate(columns) if column is None]
    if rest:
        for place, column in zip(rest, _by_duckdb(table, types, rest, zone), strict=True):
            columns[place] = column
    return list(zip(*(column for column in columns if column is not None), strict=True))


def frame_of(table: pa.Table, types: Sequence[str], zone: str = "UTC") -> pd.DataFrame:
    """All rows, as DuckDB's `df()` gives them; a column that pandas has no type for as Python's values.

    Args:
        table: The rows, as DuckDB gave them to Arrow.
        types: DuckDB's type of each column, as text.
        zone: Of moments, as DuckDB names it.

    Raises:
        ConversionError: Python has no value for one of them.
    """
    import duckdb
    import pandas as pd

    places = range(table.num_columns)
    try:
        return _asked(table, types, places, "df", zone)
    except (duckdb.Error, OverflowError):
        return pd.concat([_series(table, types, place, zone) for place in places], axis=1)


def _series(table: pa.Table, types: Sequence[str], place: int, zone: str) -> Any:
    import duckdb
    import pandas as pd

    try:
        return _asked(table, types, [place], "df", zone).iloc[:, 0]
    except (duckdb.Error, OverflowError):
        (values,) = _by_duckdb(table, types, [place], zone)
        return pd.Series(values, name=table.column_names[place], dtype=object)


def _by_arrow(column: pa.ChunkedArray, kind: str) -> list[Any] | None:
    """A column's values; None for a type, or a date, that Arrow does not give as DuckDB does."""
    if "[" in kind or not (kind == "HUGEINT" or kind.startswith(_PLAIN)):
        return None
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        return None
    return [None if each is None else int(each) for each in values] if kind == "HUGEINT" else values


def _by_duckdb(table: pa.Table, types: Sequence[str], places: Sequence[int], zone: str) -> list[list[Any]]:
    import duckdb

    try:
        rows = _asked(table, types, places, "fetchall", zone)
        return [[row[place] for row in rows] for place in range(len(places))]
    except (duckdb.Error, OverflowError) as error:
        if len(places) > 1:
            # one by one, to name the column
            return [_by_duckdb(table, types, [place], zone)[0] for place in places]
        (place,) = places
        raise ConversionError(
            f"column {table.column_names[place]} holds a value of type {types[place]} that Python has no "
            "type for. Read the answer by arrow(), or ask for a number: extract(epoch FROM …)."
        ) from error


def _asked(table: pa.Table, types: Sequence[str], places: Sequence[int], method: str, zone: str) -> Any:
    """Some columns in DuckDB's types, which Arrow lacks, by an instance of their own."""
    import duckdb

    given = {f"c{place}": _readable(table.column(place), types[place]) for place in places}
    shown = ", ".join(
        f'CAST(c{place} AS {types[place]}) AS "{_escaped(table.column_names[place])}"' for place in places
    )
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        connection.register("released", pa.table(given))
        return getattr(connection.sql(f"SELECT {shown} FROM released"), method)()


def _escaped(name: str) -> str:
    return name.replace('"', '""')


def _readable(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray | pa.Array:
    """A column as DuckDB reads it back: those that Arrow holds in bytes or bits of its own, as texts."""
    if kind == "UHUGEINT":
        # 128 bits without a sign come as 128 bits with one
        numbers = (None if each is None else int(each) % 2**128 for each in column.to_pylist())
        return pa.array([None if each is None else str(each) for each in numbers], pa.string())
    if kind == "BIT":
        return pa.array([None if each is None else _bits(each) for each in column.to_pylist()], pa.string())
    return column


def _bits(content: bytes) -> str:
    """DuckDB's BIT: how many bits are padding, then the bits, padding first."""
    return "".join(f"{byte:08b}" for byte in content[1:])[content[0] :]
