"""Columns of PostgreSQL as those of DuckDB: their types, what is selected there, how it is read here.

Promise: a type that is not in the table below is not carried over. A numeric without a precision is DOUBLE,
whatever its values, and read only where that loses no digit of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.sql.schema import quoted

TYPES: Mapping[str, str] = {
    "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "bool": "BOOLEAN", "text": "VARCHAR", "varchar": "VARCHAR", "bpchar": "VARCHAR", "name": "VARCHAR",
    "date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL", "uuid": "UUID", "bytea": "BLOB", "json": "VARCHAR", "jsonb": "VARCHAR",
}  # fmt: skip
"""By `pg_type.typname`; numeric and enumerations besides."""
_MOST_DIGITS = 38


@dataclass(frozen=True)
class Carried:
    """A column that is carried over."""

    name: str
    there: str
    """What PostgreSQL selects."""
    here: str
    """What DuckDB makes of its text."""
    check: str | None = None
    """A condition that no row may meet."""


def carried(name: str, type_: str, modifier: int, labels: tuple[str, ...]) -> Carried | None:
    """How a column is carried over; None: its type is none that is.

    Args:
        name: The column.
        type_: `pg_type.typname` of its type, or "enum"; "" for what is neither built in nor an enumeration.
        modifier: `atttypmod`.
        labels: An enumeration's values, in their order.
    """
    column = quoted(name)
    if type_ == "numeric":
        precision, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
        if modifier >= 4 and precision <= _MOST_DIGITS and scale <= precision:
            return Carried(name, column, _cast(column, f"DECIMAL({precision},{scale})"))
        lost = f"{column}::float8::numeric IS DISTINCT FROM {column}"
        return Carried(name, f"{column}::float8", _cast(column, "DOUBLE"), lost)
    if type_ == "enum":
        listed = ", ".join("'" + label.replace("'", "''") + "'" for label in labels)
        return Carried(name, column, _cast(column, f"ENUM({listed})"))
    known = TYPES.get(type_)
    if known is None:
        return None
    if type_ == "bpchar":
        # its blanks at the end mean nothing there, and would here
        return Carried(name, f"{column}::text", f"{column}")
    if known == "INTERVAL":
        # each part by itself: what PostgreSQL writes of a mixture of signs, DuckDB does not read
        parts = f"(extract(hour FROM {column}) * 3600000000 + extract(minute FROM {column}) * 60000000 + "
        parts += f"extract(microseconds FROM {column}))::bigint || ' microseconds'"
        months = (
            f"(extract(year FROM {column}) * 12 + extract(month FROM {column}))::bigint || ' months ' || "
        )
        days = f"extract(day FROM {column})::bigint || ' days ' || "
        return Carried(name, months + days + parts, _cast(column, known))
    if known == "BLOB":
        return Carried(name, column, f"unhex(substr({column}, 3)) AS {column}")
    return Carried(name, column, column if known == "VARCHAR" else _cast(column, known))


def _cast(column: str, type_: str) -> str:
    return f"CAST({column} AS {type_}) AS {column}"
