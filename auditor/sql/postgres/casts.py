"""Casts, and what a text without a type becomes where one is asked for.

Texts that are written out are read here, strictly: dates as 2020-01-31, times as 10:11:12.5. Texts that come
from data are checked while the statement runs: what PostgreSQL would not read as a number is an error there.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from auditor.sql.postgres import far, numbers, zones
from auditor.sql.postgres.values import (
    ADDED,
    FLOATS,
    INTEGERS,
    LONGEST,
    STORED,
    Value,
    cast,
    named,
    no_operator,
    number,
    quoted_text,
    refuse,
)

_SPACE = " \t\n\r\f\v"
_TIMESTAMP = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2})"
    r"(?:[ T](\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?)?",
    re.IGNORECASE,
)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?")
_SPAN = re.compile(r"([+-]?\d{1,9})\s*(year|month|mon|week|day|hour|minute|min|second|sec)s?", re.IGNORECASE)
_CLOCK_SPAN = re.compile(r"([+-]?)(\d{1,6}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?")
_TRUE, _FALSE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"), (
    "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0",
)  # fmt: skip
_RUNTIME = {
    "int": "^[ \\t\\n\\r\\f\\x0b]*[+-]?[0-9]+[ \\t\\n\\r\\f\\x0b]*$",
    "number": "^[ ]*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?[ ]*$",
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": "^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?$",
}


def typed(value: Value, kind: str) -> Value:
    """A text without type, or NULL, as a value of a kind; any other value as it is.

    Raises:
        NotUnderstood: code "dialect", if PostgreSQL or this module cannot read the text as that.
    """
    if value.kind != "unknown":
        return value
    if kind in ("parameter", "unknown", "other"):
        kind = "text"
    if value.is_null:
        return _null(kind, ())
    text = value.literal or ""
    if kind == "text":
        return Value(value.text, "text", literal=text)
    read = _READERS.get(kind)
    result = read(text if kind == "bpchar" else text.strip(_SPACE), kind) if read else None
    if result is None:
        hint = "Write numbers as 1.5 and dates as DATE '2020-01-31'."
        if kind == "interval":
            hint = "Write it with whole numbers, such as '1 month', '2 days 04:30' or '90 minutes'."
        raise refuse(f"{quoted_text(text[:40])} is read as {kind} here, and is none that is understood", hint)
    return result


def _integer(text: str, kind: str) -> Value | None:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return None
    value = int(text)
    if abs(value) >= 2 ** {"int2": 15, "int4": 31, "int8": 63}[kind]:
        return None
    return Value(f"CAST({value} AS {INTEGERS[kind]})", kind, constant=Decimal(value), nonzero=value != 0)


def _numeric(text: str, kind: str) -> Value | None:
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?", text):
        return None
    value = numbers.exact(number(text.lstrip("+-")))
    value = numbers.negated(value) if text.startswith("-") else value
    if kind == "numeric":
        return value
    return Value(f"CAST({quoted_text(text)} AS {FLOATS[kind]})", kind, nonzero=value.nonzero)


def _boolean(text: str, kind: str) -> Value | None:
    lowered = text.lower()
    if lowered not in _TRUE + _FALSE:
        return None
    return Value("TRUE" if lowered in _TRUE else "FALSE", kind)


def _moment(text: str, kind: str) -> Value | None:
    if text.lower() in ("infinity", "-infinity"):
        return Value(f"CAST('{text.lower()}' AS {STORED[kind]})", kind, far=True)
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) for part in found[1].split("-"))
    clock = _clock(found[2]) if found[2] else "00:00:00"
    try:
        date = datetime.date(year, month, day).isoformat()
    except ValueError:
        return None
    if clock is None:
        return None
    if kind == "date":
        return Value(f"CAST('{date}' AS DATE)", kind)
    # of a timestamp PostgreSQL reads over a zone
    shown = Value(f"CAST('{date} {clock}' AS TIMESTAMP)", "timestamp")
    if kind == "timestamp":
        return shown
    if found[3] is None:
        return zones.from_local(shown)
    return Value(f"CAST('{date} {clock}{_offset(found[3])}' AS TIMESTAMPTZ)", kind)


def _offset(zone: str) -> str:
    """A zone as hours and minutes."""
    if zone[0] not in "+-":
        return "+00:00"
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    return f"{zone[0]}{int(hours):02}:{minutes}"


def _clock(text: str) -> str | None:
    found = _TIME.fullmatch(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
        return None
    return f"{int(found[1]):02}:{found[2]}:{found[3] or '00'}{found[4] or ''}"


def _time(text: str, kind: str) -> Value | None:
    clock = _clock(text)
    return None if clock is None else Value(f"CAST('{clock}' AS TIME)", kind)


def interval(text: str, kind: str = "interval") -> Value | None:
    """An interval such as '1 year 2 days', '04:30' or '3 days 04:30:00'."""
    units = {"mon": "MONTH", "min": "MINUTE", "sec": "SECOND"}
    if re.fullmatch(r"[+-]?\d{1,9}", text):
        text += " seconds"
    pieces, position = [], 0
    clock = _CLOCK_SPAN.search(text)
    last = [] if clock is None else [_clock_span(clock)]
    if clock is not None:
        if clock.end() != len(text) or text[: clock.start()][-1:] not in ("", *_SPACE) or None in last:
            return None
        text = text[: clock.start()]
    for span in _SPAN.finditer(text):
        if text[position : span.start()].strip(_SPACE):
            return None
        unit = span[2].lower()
        pieces.append(f"INTERVAL '{int(span[1])}' {units.get(unit, unit.upper())}")
        position = span.end()
    pieces += [each for each in last if each is not None]
    if not pieces or text[position:].strip(_SPACE):
        return None
    if len(pieces) == 1:
        return Value(pieces[0], kind, level=ADDED)
    return Value(" + ".join(pieces), kind, level=ADDED)


def _clock_span(found: re.Match[str]) -> str | None:
    """Hours, minutes and seconds of an interval; None where PostgreSQL reads none."""
    sign, hours, minutes, seconds, fraction = found.groups()
    if int(minutes) > 59 or int(seconds or 0) > 59:
        return None
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    microseconds = whole * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return f"TO_MICROSECONDS({'-' if sign == '-' else ''}{microseconds})"


def _without_blanks(text: str, kind: str) -> Value | None:
    return None if text.endswith(" ") else Value(quoted_text(text), kind)


_READERS = {
    **dict.fromkeys(INTEGERS, _integer), "numeric": _numeric, **dict.fromkeys(FLOATS, _numeric),
    "bool": _boolean, "date": _moment, "timestamp": _moment, "timestamptz": _moment, "time": _time,
    "interval": interval, "bpchar": _without_blanks,
}  # fmt: skip


def converted(value: Value, kind: str, parameters: tuple[int, ...] = ()) -> Value:
    """`CAST(value AS kind(parameters))`.

    Raises:
        NotUnderstood: code "dialect", for a cast that PostgreSQL does not have or DuckDB does otherwise.
    """
    if kind == "bpchar":
        return _blank_padded(value, parameters)
    if value.kind == "bpchar":
        value = replace(value, kind="text")
    if value.is_null:
        return _null(kind, parameters)
    value = typed(value, kind)
    if kind == "numeric":
        return _to_numeric(value, parameters)
    if kind == "text":
        return _to_text(value, parameters)
    if parameters:
        raise refuse(f"{kind} with a precision", "Leave the precision out.")
    if value.kind == kind:
        return value if value.protected else replace(value, bare=False)
    if value.kind == "parameter" or value.protected:
        return Value(cast(value, STORED[kind]), kind, protected=value.protected)
    convert = _CASTS.get((value.kind, kind))
    if convert is None:
        raise no_operator(value, Value("", kind))
    return convert(value, kind)


def _blank_padded(value: Value, parameters: tuple[int, ...]) -> Value:
    """A text that is written out as `char(n)` or `bpchar`, where it has no blanks at its end.

    Of those PostgreSQL shows all and compares none; without any it is a text like others.
    """
    if value.is_null:
        return _null("text", ())
    if value.kind == "bpchar" and not parameters:
        return value
    text = None if value.kind != "unknown" else (value.literal or "")[: parameters[0] if parameters else None]
    if not text or (parameters and len(text) < parameters[0]) or text.endswith(" "):
        raise refuse("char(n) of anything but a text of that length", "Cast to text or varchar(n) instead.")
    return Value(quoted_text(text), "bpchar")


def _plainly(value: Value, kind: str) -> Value:
    return Value(cast(value, STORED[kind]), kind, nonzero=value.nonzero and kind in FLOATS)


def _number_to_integer(value: Value, kind: str) -> Value:
    if value.kind == "numeric":
        # As PostgreSQL: halves away from zero. Of a DOUBLE DuckDB rounds halves to even, as PostgreSQL does.
        value = numbers.rounded(value, 0)
    return Value(cast(value, INTEGERS[kind]), kind)


def _number_to_float(value: Value, kind: str) -> Value:
    return Value(cast(value, FLOATS[kind]), kind, constant=None, nonzero=value.nonzero)


def _checked(pattern: str) -> Callable[[Value, str], Value]:
    def convert(value: Value, kind: str) -> Value:
        if len(value.text) > LONGEST:
            raise refuse("the cast of a long expression", "Compute it in a derived table.")
        fits = f"{value.at(ADDED)} IS NULL OR REGEXP_MATCHES({value.text}, {quoted_text(_RUNTIME[pattern])})"
        # What PostgreSQL does not read must not be read here either: the question mark makes it an error.
        checked = f"CASE WHEN {fits} THEN {value.text} ELSE {value.at(ADDED)} || '?' END"
        return Value(f"CAST({checked} AS {STORED[kind]})", kind)

    return convert


def _as_shown(value: Value, kind: str) -> Value:
    moment = replace(zones.local(value), far=value.far)
    if kind == "time":
        return _clock_of(moment, kind)
    return moment if kind == "timestamp" else Value(cast(moment, STORED[kind]), kind)


def _clock_of(value: Value, kind: str) -> Value:
    made = cast(value, STORED[kind])
    return Value(f"CASE WHEN ISFINITE({value.text}) THEN {made} END" if value.far else made, kind)


def _table() -> dict[tuple[str, str], Callable[[Value, str], Value]]:
    table: dict[tuple[str, str], Callable[[Value, str], Value]] = {}
    for integer in INTEGERS:
        for source in (*INTEGERS, "numeric", *FLOATS):
            table[source, integer] = _number_to_integer
        table["text", integer] = _checked("int")
    for binary in FLOATS:
        for source in (*INTEGERS, "numeric", *FLOATS):
            table[source, binary] = _number_to_float
        table["text", binary] = _checked("number")
    table["bool", "int4"] = table["int4", "bool"] = _plainly
    table["date", "timestamp"] = table["timestamp", "date"] = _plainly
    table["timestamp", "time"] = _clock_of
    for source in ("date", "timestamp"):
        table[source, "timestamptz"] = lambda value, _: zones.from_local(value)
    for target in ("date", "timestamp", "time"):
        table["timestamptz", target] = _as_shown
    table["time", "interval"] = lambda value, kind: Value(f"TO_MICROSECONDS(EPOCH_US({value.text}))", kind)
    table["text", "date"] = _checked("date")
    table["text", "timestamp"] = _checked("timestamp")
    return table


_CASTS = _table()


def _to_numeric(value: Value, parameters: tuple[int, ...]) -> Value:
    if value.kind == "bool" or not (value.is_number or value.kind in ("text", "parameter")):
        raise no_operator(value, Value("", "numeric"))
    if value.kind == "text":
        raise refuse("a text from data as numeric", "Cast it to double precision first.")
    if not parameters:
        if value.is_number and value.kind not in FLOATS:
            return numbers.exact(value) if value.is_exact else value
        if value.kind in FLOATS:
            if value.kind == "float4":
                raise refuse("real as numeric", "Cast to double precision first.")
            # 15 digits in PostgreSQL; here they count when it is rounded.
            return Value(value.text, "numeric", value.level, protected=value.protected, nonzero=value.nonzero)
        raise refuse(f"{named(value)} as numeric without a scale", "Say how many digits: numeric(12, 2).")
    precision, scale = (*parameters, 0)[:2]
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise refuse("numeric of more than 38 digits or with an unusual scale", "Use numeric(p, s), p <= 38.")
    type_ = f"DECIMAL({precision}, {scale})"
    if value.kind in FLOATS:
        value = _to_numeric(value, ())
    if value.kind == "parameter" or value.protected:
        return Value(cast(value, type_), "numeric", scale=scale, protected=value.protected)
    return Value(cast(numbers.rounded(value, scale), type_), "numeric", scale=scale, shown=scale)


def _null(kind: str, parameters: tuple[int, ...]) -> Value:
    if kind != "numeric":
        return Value(f"CAST(NULL AS {STORED[kind]})", kind)
    precision, scale = (*parameters, 0)[:2] if parameters else (18, 3)
    return Value(f"CAST(NULL AS DECIMAL({precision}, {scale}))", "numeric", scale=scale)


def _to_text(value: Value, parameters: tuple[int, ...]) -> Value:
    if value.kind == "parameter":
        result = Value(cast(value, "VARCHAR"), "text")
    elif value.kind == "text":
        result = replace(value, kind="text")
    elif value.kind in (*INTEGERS, "bool", "date") and not value.protected:
        checked = replace(value, text=far.after_christ(value)) if value.far else value
        result = Value(cast(checked, "VARCHAR"), "text")
    elif value.kind == "numeric" and value.shown is not None and not value.protected:
        result = Value(f"CAST({cast(value, f'DECIMAL(38, {value.shown})')} AS VARCHAR)", "text")
    else:
        hint = "PostgreSQL and DuckDB write it differently; select it as it is."
        if value.kind == "numeric":
            hint = "How many digits it has is not known here: round(x, 2), or x::numeric(12, 2), says so."
        raise refuse(f"{named(value)} as text", hint)
    if not parameters:
        return result
    # An explicit cast cuts off; it does not complain.
    return Value(f"LEFT({result.text}, {parameters[0]})", "text")


def as_text(value: Value) -> Value:
    """An operand of `||` or concat, as text."""
    return converted(value, "text")
