"""Values of a column as Python has them: dates end there at the years 1 and 9999, and none is infinite.

Promise: no value raises an error; what Python has no type for is given in DuckDB's words, `infinity` or
`0044-03-15 (BC)`.
"""

from __future__ import annotations

import pyarrow as pa

_BEYOND_PYTHON = (OverflowError, ValueError)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """All values of a column."""
    try:
        found: list[object] = column.to_pylist()
        return found
    except _BEYOND_PYTHON:
        return [_value(cell, text) for cell, text in zip(column, _texts(column), strict=True)]


def _value(cell: pa.Scalar, text: object) -> object:
    try:
        return cell.as_py()
    except _BEYOND_PYTHON:
        return text


def _texts(column: pa.Array | pa.ChunkedArray) -> list[object]:
    import duckdb

    table = pa.table({"v": column})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("held", table)
        found: list[object] = (
            connection.sql("SELECT CAST(v AS VARCHAR) AS v FROM held").to_arrow_table()["v"].to_pylist()
        )
        return found
