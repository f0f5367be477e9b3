"""From DuckDB's text of a type, as `Plan.types` has it, to the type under which PostgreSQL's clients get it.

| DuckDB | PostgreSQL |
|---|---|
| TINYINT, UTINYINT | smallint |
| USMALLINT | integer |
| UINTEGER | bigint |
| UBIGINT, HUGEINT, UHUGEINT, BIGNUM | numeric |
| DECIMAL(p, s) | numeric(p, s) |
| TIMESTAMP of seconds, milliseconds, nanoseconds | timestamp; nanoseconds are cut off |
| ENUM, BIT | text |
| STRUCT, MAP, UNION | json |
| T[], T[][], T[3] | array of T |

What stands in no table is no guess but an error: TIME WITH TIME ZONE, whose zone does not come through
Arrow, VARIANT, GEOMETRY.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auditor.proxy.values import types
from auditor.proxy.values.arrays import MAX_DIMENSIONS
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.types import Type

_TYPES = {
    "BOOLEAN": types.BOOL, "TINYINT": types.INT2, "UTINYINT": types.INT2, "SMALLINT": types.INT2,
    "USMALLINT": types.INT4, "INTEGER": types.INT4, "UINTEGER": types.INT8, "BIGINT": types.INT8,
    "UBIGINT": types.NUMERIC, "HUGEINT": types.NUMERIC, "UHUGEINT": types.NUMERIC, "BIGNUM": types.NUMERIC,
    "FLOAT": types.FLOAT4, "DOUBLE": types.FLOAT8, "VARCHAR": types.TEXT, "BLOB": types.BYTEA,
    "BIT": types.TEXT, "DATE": types.DATE, "TIME": types.TIME, "TIME_NS": types.TIME,
    "TIMESTAMP": types.TIMESTAMP, "TIMESTAMP_S": types.TIMESTAMP, "TIMESTAMP_MS": types.TIMESTAMP,
    "TIMESTAMP_NS": types.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": types.TIMESTAMPTZ,
    "INTERVAL": types.INTERVAL, "UUID": types.UUID, "JSON": types.JSON, "NULL": types.TEXT,
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d{1,2}), ?(\d{1,2})\)")
_LIST = re.compile(r"(?:\[\d*\])+$")
_NESTED = {"STRUCT": types.JSON, "MAP": types.JSON, "UNION": types.JSON, "ENUM": types.TEXT}


@dataclass(frozen=True)
class ResultType:
    """A column's type, on both sides."""

    type: Type
    """PostgreSQL's."""
    modifier: int = -1
    """`atttypmod`, as RowDescription has it."""
    duckdb: str = ""
    """DuckDB's, which says how Arrow holds the values."""
    element: ResultType | None = None
    """Of a list, or of lists of lists, what the innermost hold."""


def result_type(duckdb: str) -> ResultType:
    """The type under which a column of DuckDB's type is sent.

    Raises:
        NotRepresentable: 0A000, if there is none.
    """
    text = duckdb.strip()
    text = text[1:-1] if text.startswith('"') and text.endswith('"') and len(text) > 1 else text
    found = _TYPES.get(text)
    if found is not None:
        return ResultType(found, -1, text)
    ending = _LIST.search(text)
    if ending is not None:
        if ending[0].count("[") > MAX_DIMENSIONS:
            raise NotRepresentable("54000", f"lists of more than {MAX_DIMENSIONS} dimensions cannot be sent")
        element = result_type(text[: ending.start()])
        return ResultType(types.array_of(element.type), element.modifier, text, element)
    decimal = _DECIMAL.fullmatch(text)
    if decimal is not None:
        return ResultType(types.NUMERIC, types.numeric_modifier(int(decimal[1]), int(decimal[2])), text)
    nested = _NESTED.get(text.partition("(")[0])
    if nested is not None and text.endswith(")"):
        return ResultType(nested, -1, text)
    raise NotRepresentable(
        "0A000", f"values of type {text[:40]} cannot be sent", "Cast the column to VARCHAR."
    )
