"""Moments that may be infinite or before the year 1, which PostgreSQL and DuckDB read in two ways.

A year of infinity is Infinity there and NULL here; the year before 1 is -1 there and 0 here. Only where a
column holds such moments are they asked about, so that whatever else is asked stays as short as it was.
"""

from __future__ import annotations

from dataclasses import replace

from auditor.sql.postgres.values import ATOM, LONGEST, STORED, Value, refuse

GROWING = ("year", "isoyear", "decade", "century", "epoch")
"""Fields of which infinity has one: Infinity. Of others it has none, here and there."""
_FIRST = "CAST('0001-01-01' AS DATE)"


def _short(value: Value) -> str:
    if len(value.text) > LONGEST:
        raise refuse("this function of a long expression", "Compute it in a derived table.")
    return value.at(ATOM)


def extracted(field: str, value: Value) -> Value:
    """A field that grows with time: double precision, since no numeric of DuckDB is infinite."""
    text = _short(value)
    number = f"EXTRACT({field} FROM {text})"
    if field in ("year", "isoyear"):
        number = f"CASE WHEN {number} <= 0 THEN {number} - 1 ELSE {number} END"
    elif field == "decade":
        number = f"FLOOR(EXTRACT(year FROM {text}) / 10)"
    infinite = (
        f"CASE WHEN {text} > {_FIRST} THEN CAST('Infinity' AS DOUBLE) ELSE CAST('-Infinity' AS DOUBLE) END"
    )
    return Value(
        f"CASE WHEN NOT ISFINITE({text}) THEN {infinite} ELSE CAST({number} AS DOUBLE) END", "float8"
    )


def ordinary(value: Value) -> Value:
    """A moment that must be finite: of others PostgreSQL makes an error."""
    text = _short(value)
    checked = f"CASE {_fails(value, f'NOT ISFINITE({text})')} ELSE {text} END"
    return replace(value, text=checked, level=ATOM)


def after_christ(value: Value) -> str:
    """A moment that is written as text: before the year 1 the two write it differently."""
    text = _short(value)
    return f"CASE {_fails(value, f'{text} < {_FIRST} AND ISFINITE({text})')} ELSE {text} END"


def kept(made: Value, moment: Value) -> Value:
    """What is made of a moment; infinity as it is."""
    text = _short(moment)
    return replace(made, text=f"CASE WHEN ISFINITE({text}) THEN {made.text} ELSE {text} END", level=ATOM)


def _fails(value: Value, condition: str) -> str:
    """A first branch of CASE, of the moment's type, that fails."""
    return f"WHEN {condition} THEN CAST(CAST(1 // 0 AS VARCHAR) AS {STORED[value.kind]})"
