"""Dates and times: arithmetic, fields, truncation, and the formats of to_char that are understood."""

from __future__ import annotations

import re
from dataclasses import replace

from auditor.sql.postgres import far, spans, zones
from auditor.sql.postgres.values import (
    ADDED,
    ATOM,
    INTEGERS,
    MULTIPLIED,
    OTHER,
    Value,
    cast,
    named,
    no_operator,
    quoted_text,
    refuse,
)

MOMENTS = ("date", "timestamp")
_DATE_FIELDS = (
    "year",
    "month",
    "day",
    "quarter",
    "week",
    "dow",
    "isodow",
    "doy",
    "isoyear",
    "century",
    "decade",
)
_TIME_FIELDS = ("hour", "minute")
_NAMES = {
    "years": "year", "y": "year", "yr": "year", "yrs": "year", "months": "month", "mon": "month",
    "mons": "month", "days": "day", "d": "day", "hours": "hour", "h": "hour", "hr": "hour", "hrs": "hour",
    "minutes": "minute", "min": "minute", "mins": "minute", "weeks": "week", "w": "week", "qtr": "quarter",
    "centuries": "century", "decades": "decade", "seconds": "second", "s": "second", "sec": "second",
    "secs": "second",
}  # fmt: skip
_TRUNCATED = ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade")
_FORMATS = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S", "IYYY": "%G",
            "IW": "%V", "DDD": "%j", "Mon": "%b", "Dy": "%a", "FMMonth": "%B", "FMDay": "%A", "YY": "%y",
            "HH12": "%I", "MS": "%g", "US": "%f"}  # fmt: skip


_LONGEST_FIRST = sorted(_FORMATS, key=len, reverse=True)


def arithmetic(operator: str, left: Value, right: Value) -> Value | None:
    """`+`, `-`, `*` where a date, a timestamp or an interval takes part; None if none does."""
    kinds = (left.kind, right.kind)
    if not any(kind in (*MOMENTS, "interval", "time", "timestamptz") for kind in kinds):
        return None
    if kinds == (zones.KIND, "interval") and operator in "+-":
        return zones.shifted(operator, left, right)
    if kinds == ("interval", zones.KIND) and operator == "+":
        return zones.shifted(operator, right, left)
    text = f"{left.at(ADDED)} {operator} {right.at(MULTIPLIED)}"
    if kinds == ("date", "date") and operator == "-":
        if left.far or right.far:
            left, right = far.ordinary(left), far.ordinary(right)
            text = f"{left.text} - {right.text}"
        return Value(f"CAST({text} AS INTEGER)", "int4")
    if all(kind in (*MOMENTS, zones.KIND) for kind in kinds) and operator == "-":
        return _difference(left, right)
    clock = _of_clocks(operator, left, right)
    if clock is not None:
        return clock
    if kinds[0] == "date" and kinds[1] in ("int2", "int4") and operator in "+-":
        return Value(f"{left.at(ADDED)} {operator} {cast(right, 'INTEGER')}", "date", ADDED)
    if kinds[1] == "date" and kinds[0] in ("int2", "int4") and operator == "+":
        return Value(f"{right.at(ADDED)} + {cast(left, 'INTEGER')}", "date", ADDED)
    if kinds[0] in MOMENTS and kinds[1] == "interval" and operator in "+-":
        return Value(text, "timestamp", ADDED)
    if kinds[1] in MOMENTS and kinds[0] == "interval" and operator == "+":
        return Value(f"{right.at(ADDED)} + {left.at(MULTIPLIED)}", "timestamp", ADDED)
    if kinds == ("interval", "interval") and operator in "+-":
        return Value(text, "interval", ADDED)
    if "interval" in kinds and kinds[0] != kinds[1] and operator == "*":
        span, times = (left, right) if kinds[0] == "interval" else (right, left)
        if times.kind in INTEGERS:
            return Value(f"{span.at(ATOM)} * {times.at(ATOM)}", "interval", MULTIPLIED)
        if times.kind == "numeric" and times.scale == 0 and not times.protected:
            # Whole numbers of it alone: of a part of a month the two make different days.
            return Value(f"{span.at(ATOM)} * {cast(times, 'BIGINT')}", "interval", MULTIPLIED)
    if kinds[0] == "interval" and operator == "/":
        return spans.divided(left, right)
    raise no_operator(left, right)


def _difference(left: Value, right: Value) -> Value:
    """Days and hours between two moments: of moments with a zone, those that pass everywhere."""
    if zones.KIND in (left.kind, right.kind):
        left, right = (
            zones.in_utc(each if each.kind == zones.KIND else zones.from_local(each))
            for each in (left, right)
        )
    left, right = (
        each if each.kind != "date" else Value(cast(each, "TIMESTAMP"), "timestamp") for each in (left, right)
    )
    return Value(f"{left.at(ADDED)} - {right.at(MULTIPLIED)}", "interval", ADDED)


def _of_clocks(operator: str, left: Value, right: Value) -> Value | None:
    """`time ± interval`, which begins anew at midnight; `time - time`; `date + time`. None for others."""
    kinds = (left.kind, right.kind)
    if kinds == ("time", "interval") and operator in "+-":
        return Value(f"{left.at(ADDED)} {operator} {right.at(MULTIPLIED)}", "time", ADDED)
    if kinds == ("interval", "time") and operator == "+":
        return Value(f"{right.at(ADDED)} + {left.at(MULTIPLIED)}", "time", ADDED)
    if kinds == ("time", "time") and operator == "-":
        return Value(f"TO_MICROSECONDS(EPOCH_US({left.text}) - EPOCH_US({right.text}))", "interval")
    if set(kinds) == {"date", "time"} and operator == "+":
        day, clock = (left, right) if left.kind == "date" else (right, left)
        return Value(f"{day.at(ADDED)} + {clock.at(MULTIPLIED)}", "timestamp", ADDED)
    return None


def _field(name: str) -> str:
    lowered = name.lower()
    return _NAMES.get(lowered, lowered)


def extracted(name: str, value: Value) -> Value:
    """`EXTRACT(field FROM …)`: a numeric."""
    field = _field(name)
    if field == "epoch" and value.kind == zones.KIND:
        # the second of two hours that the clocks show alike is another moment
        value = replace(zones.in_utc(value), far=value.far)
    value = replace(zones.plain(value), far=value.far)
    if value.kind == "interval":
        found = spans.extracted(field, value)
        if found is not None:
            return found
        raise refuse(
            f"EXTRACT of {field} from interval", "Use year, month, day, hour, minute, second or epoch."
        )
    if value.kind == "time" and field in (*_TIME_FIELDS, "second", "epoch"):
        return _of_time(field, value)
    if value.kind not in MOMENTS:
        raise refuse(f"EXTRACT from {named(value)}", "Use a date, timestamp, time or interval.")
    if value.far and field in far.GROWING:
        return far.extracted(field, value)
    if field == "epoch":
        epoch = f"EXTRACT(epoch FROM {value.text})"
        if value.kind == "date":
            return Value(f"CAST({epoch} AS BIGINT)", "numeric", scale=0)
        return Value(f"CAST({epoch} AS DECIMAL(38, 6))", "numeric", scale=6)
    if field in _DATE_FIELDS or (field in _TIME_FIELDS and value.kind == "timestamp"):
        return Value(f"EXTRACT({field} FROM {value.text})", "numeric", scale=0)
    if field == "second" and value.kind == "timestamp":
        # With its fraction, which DuckDB's seconds leave out.
        exact = f"CAST(EXTRACT(microsecond FROM {value.text}) AS DECIMAL(18, 0)) * 0.000001"
        return Value(exact, "numeric", MULTIPLIED, scale=6)
    raise refuse(
        f"EXTRACT of {field} from {value.kind}",
        "Use year, quarter, month, week, day, dow, isodow, doy or epoch; of timestamps hour, minute, second.",
    )


def _of_time(field: str, value: Value) -> Value:
    """A field of a time of day."""
    if field in _TIME_FIELDS:
        return Value(f"EXTRACT({field} FROM {value.text})", "numeric", scale=0)
    unit = f"EPOCH_US({value.text})" if field == "epoch" else f"EXTRACT(microsecond FROM {value.text})"
    return Value(f"CAST({unit} AS DECIMAL(18, 0)) * 0.000001", "numeric", MULTIPLIED, scale=6)


def part(field: Value, value: Value) -> Value:
    """`date_part('field', …)`: double precision."""
    if field.literal is None:
        raise refuse("date_part of a field that is not written out", "Write date_part('year', …).")
    return Value(cast(extracted(field.literal, value), "DOUBLE"), "float8")


def truncated(field: Value, value: Value, zone: Value | None = None) -> Value:
    """`date_trunc('field', …)`, and by the clocks of a zone `date_trunc('field', …, 'Europe/Berlin')`.

    Of a date PostgreSQL makes a timestamp with time zone, at midnight of the session's zone; here it is the
    timestamp of that midnight.
    """
    name, zoned = _field(field.literal or ""), value.kind == zones.KIND
    if zone is not None:
        return _truncated_there(name, value, zone)
    if name not in _TRUNCATED or value.kind not in (*MOMENTS, zones.KIND):
        raise refuse("this date_trunc", "Use date_trunc('month', …) of a date or timestamp.")
    if value.far and name == "decade":
        raise refuse("date_trunc of decades of days that may be before the year 1", "Use the year.")
    if not zoned:
        return Value(f"DATE_TRUNC({quoted_text(name)}, {value.text})", "timestamp")
    made = zones.truncated(name, value)
    return far.kept(made, value) if value.far else made


def _truncated_there(name: str, value: Value, zone: Value) -> Value:
    """The moment at which a zone's clocks showed the beginning of the field."""
    if name not in _TRUNCATED or value.kind not in (*MOMENTS, zones.KIND) or (value.far and name == "decade"):
        raise refuse("this date_trunc", "Use date_trunc('month', …, 'Europe/Berlin') of a date or timestamp.")
    moment = value if value.kind == zones.KIND else zones.from_local(value)
    there = zones.at_zone(moment, zone)
    begun = Value(f"DATE_TRUNC({quoted_text(name)}, {there.text})", "timestamp")
    if name not in ("second", "minute", "hour"):
        return zones.at_zone(begun, zone)
    # an hour that clocks show twice begins in itself
    since = f"({there.at(ADDED)} - {begun.at(MULTIPLIED)})"
    made = zones.shifted("-", moment, Value(since, "interval"))
    return far.kept(made, moment) if value.far else made


def finite(value: Value) -> Value:
    """`isfinite(x)`."""
    if value.kind == "interval":
        return Value(f"CASE WHEN {value.at(OTHER)} IS NOT NULL THEN TRUE END", "bool")
    if value.kind not in (*MOMENTS, zones.KIND):
        raise no_operator(value)
    return Value(f"ISFINITE({value.text})", "bool")


def shown(value: Value, pattern: Value) -> Value:
    """`to_char(…, 'YYYY-MM-DD HH24:MI:SS')`, by parts that both engines write alike."""
    if value.kind not in MOMENTS or pattern.literal is None:
        raise refuse("to_char of anything but numbers, dates and timestamps", "Select the value as it is.")
    letters = strftime(pattern.literal)
    if letters is None:
        raise refuse(
            "this format of to_char",
            "Understood are YYYY, YY, MM, Mon, DD, DDD, Dy, IYYY, IW, HH24, HH12, MI, SS, MS and US.",
        )
    made = f"STRFTIME({far.after_christ(value) if value.far else value.text}, {quoted_text(letters)})"
    return Value(f"CASE WHEN ISFINITE({value.text}) THEN {made} END" if value.far else made, "text")


def strftime(pattern: str) -> str | None:
    """A pattern of PostgreSQL as DuckDB's; None where the two do not write it alike."""
    pieces = [_letters(piece) for piece in re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9]+", pattern)]
    known = [piece for piece in pieces if piece is not None]
    return "".join(known) if len(known) == len(pieces) else None


def _letters(piece: str) -> str | None:
    if not piece[0].isalnum():
        return piece if re.fullmatch(r"[-/:., ]+", piece) else None
    made = ""
    while piece:
        part = next((part for part in _LONGEST_FIRST if piece.startswith(part)), None)
        if part is None:
            return None
        made, piece = made + _FORMATS[part], piece[len(part) :]
    return made


def made_date(year: Value, month: Value, day: Value) -> Value:
    """`make_date(y, m, d)`."""
    if any(part.kind not in ("int2", "int4") for part in (year, month, day)):
        raise no_operator(year, month, day)
    return Value(f"MAKE_DATE({year.text}, {month.text}, {day.text})", "date")
