"""Functions of texts, and of numbers as texts, that PostgreSQL has and DuckDB has otherwise or not at all."""

from __future__ import annotations

import re
from dataclasses import replace

from auditor.sql.macros import INITCAP
from auditor.sql.postgres import casts, moments, numbers, patterns, zones
from auditor.sql.postgres.values import (
    ATOM,
    FLOATS,
    INTEGERS,
    Value,
    cast,
    no_operator,
    quoted_text,
    refuse,
)

_MOST_BINS = 60
_NUMERIC_PATTERN = re.compile(r"(FM)?([90]+(?:,[90]{3})*)(?:[.D]([90]+))?")


def text(value: Value) -> Value:
    """A value that must be a text."""
    value = casts.typed(value, "text")
    if value.kind not in ("text", "parameter"):
        raise no_operator(value)
    return value


def initcap(value: Value) -> Value:
    """`initcap(x)`."""
    return Value(f"{INITCAP}({text(value).text})", "text")


def joined(separator: Value, *values: Value) -> Value:
    """`concat_ws(separator, …)`."""
    if any(value.kind == "bool" for value in values):
        raise refuse("concat_ws of boolean", "Cast it to text.")
    texts = [text(separator), *(casts.as_text(value) for value in values)]
    return Value(f"CONCAT_WS({', '.join(each.text for each in texts)})", "text")


def formatted(pattern: Value, *values: Value) -> Value:
    """`format('… %s …', …)`: %s and %% alone."""
    if pattern.literal is None:
        raise refuse("format by a pattern that is not written out", "Write the pattern.")
    pieces, given = [], list(values)
    for piece in re.findall(r"%.?|[^%]+", pattern.literal, re.DOTALL):
        if piece == "%s" and given:
            pieces.append(casts.as_text(given.pop(0)).text)
        elif piece == "%%" or not piece.startswith("%"):
            pieces.append(quoted_text(piece.replace("%%", "%")))
        else:
            raise refuse("this pattern of format", "Use %s, once for each value, and %%.")
    return Value(f"CONCAT({', '.join(pieces)}, '')" if pieces else "''", "text")


def digest(value: Value) -> Value:
    """`md5(x)`."""
    return Value(f"MD5({text(value).text})", "text")


def replaced(value: Value, pattern: Value, instead: Value, flags: Value | None = None) -> Value:
    """`regexp_replace(x, pattern, instead, flags)`, with patterns that both engines read alike."""
    flag = "" if flags is None else flags.literal
    if pattern.literal is None or instead.literal is None or flag is None or set(flag) - set("gi"):
        raise refuse("regexp_replace with a pattern or flags that are not written out", "Write them.")
    if re.search(r"\\[^0-9]", instead.literal) or "&" in instead.literal:
        raise refuse("this replacement of regexp_replace", "Use letters, and \\1 for a group.")
    source = patterns.source(pattern.literal, "i" in flag)
    tail = ", 'g'" if "g" in flag else ""
    return Value(f"REGEXP_REPLACE({text(value).text}, {quoted_text(source)}, {instead.text}{tail})", "text")


def overlaid(value: Value, placed: Value, start: int, length: int | None) -> Value:
    """`overlay(x placing y from start for length)`."""
    if start < 1 or (length is not None and length < 0):
        raise refuse("overlay outside of the text", "Start at 1 or later.")
    whole, part = text(value), text(placed)
    size = f"LENGTH({part.text})" if length is None else str(length)
    made = (
        f"LEFT({whole.text}, {start - 1}) || {part.at(ATOM)} || SUBSTRING({whole.text}, {start} + {size})"
        if start > 1
        else f"{part.at(ATOM)} || SUBSTRING({whole.text}, {start} + {size})"
    )
    return Value(f"({made})", "text")


def to_date(value: Value, pattern: Value) -> Value:
    """`to_date(text, pattern)`."""
    return Value(f"CAST({_read(value, pattern)} AS DATE)", "date")


def to_timestamp(value: Value, pattern: Value | None = None) -> Value:
    """`to_timestamp(seconds)`, and `to_timestamp(text, pattern)`."""
    if pattern is not None:
        return zones.from_local(Value(_read(value, pattern), "timestamp"))
    if not value.is_number:
        raise no_operator(value)
    return Value(f"TO_TIMESTAMP({numbers.as_double(value)})", zones.KIND)


def _read(value: Value, pattern: Value) -> str:
    letters = None if pattern.literal is None else moments.strftime(pattern.literal)
    if letters is None:
        raise refuse("this format of a date", "Understood are YYYY, MM, DD, HH24, MI, SS, MS and US.")
    return f"STRPTIME({text(value).text}, {quoted_text(letters)})"


def as_date(value: Value) -> Value:
    """`date(x)`."""
    return casts.converted(value, "date")


def bucket(value: Value, low: Value, high: Value, count: Value) -> Value:
    """`width_bucket(x, low, high, count)`."""
    given = [each.constant for each in (low, high, count)]
    if any(each is None for each in given) or not value.is_number:
        raise refuse("width_bucket by ends that are not written out", "Write numbers.")
    least, most, parts = (each for each in given if each is not None)
    if least >= most or parts < 1 or parts != int(parts):
        raise refuse("width_bucket by ends that are not in order", "Write the lower end first.")
    x = value.at(ATOM)
    if value.protected:
        # bins are read of conditions that compare with constants
        ends = [least + (most - least) * place / int(parts) for place in range(int(parts) + 1)]
        if int(parts) > _MOST_BINS or any(
            (end - least) * int(parts) != (most - least) * place for place, end in enumerate(ends)
        ):
            raise refuse("width_bucket of so many or such parts", "Write CASE WHEN … THEN … END.")
        whens = "".join(f" WHEN {x} < {end} THEN {place}" for place, end in enumerate(ends))
        return Value(f"CASE{whens} ELSE {int(parts) + 1} END", "int4", protected=True)
    if value.kind in FLOATS or (value.kind == "numeric" and value.scale is None):
        part = f"FLOOR(({x} - {least}) * {parts} / {most - least})"
    elif value.kind in INTEGERS and least == int(least) and most == int(most):
        part = f"(CAST({x} AS BIGINT) - {least}) * {parts} // {most - least}"
    else:
        raise refuse("width_bucket of this kind of number", "Cast it to double precision.")
    case = f"CASE WHEN {x} < {least} THEN 0 WHEN {x} >= {most} THEN {int(parts) + 1} "
    return Value(f"CAST({case}ELSE {part} + 1 END AS INTEGER)", "int4")


def binned(width: Value, value: Value, origin: Value) -> Value:
    """`date_bin(width, x, origin)`."""
    width = casts.typed(width, "interval")
    origin = casts.typed(origin, value.kind if value.kind == zones.KIND else "timestamp")
    kinds = {value.kind, origin.kind}
    if width.kind != "interval" or not kinds <= {"timestamp", zones.KIND}:
        raise no_operator(width, value)
    if kinds == {"timestamp"}:
        return Value(f"TIME_BUCKET({width.text}, {value.text}, {origin.text})", "timestamp")
    # a day has 24 hours in it, whatever the clocks do
    ends = (each if each.kind == zones.KIND else zones.from_local(each) for each in (value, origin))
    first, second = (f"timezone('UTC', {each.text})" for each in ends)
    return Value(f"timezone('UTC', TIME_BUCKET({width.text}, {first}, {second}))", zones.KIND)


def shown(value: Value, pattern: Value) -> Value:
    """`to_char` of a moment or of a number."""
    return (
        _number_shown(value, pattern)
        if value.is_number
        else moments.shown(replace(zones.plain(value), far=value.far), pattern)
    )


def _number_shown(value: Value, pattern: Value) -> Value:
    """By 9 and 0, commas for thousands, and digits after the point."""
    found = _NUMERIC_PATTERN.fullmatch((pattern.literal or "").upper())
    whole = "" if found is None else found[2].replace(",", "")
    commas = found is not None and "," in found[2]
    if found is None or "0" in whole[:-1] or value.protected or (commas and not _by_thousands(found[2])):
        raise refuse("this format of to_char", "Understood are such as FM999,990.00.")
    fill, decimals = found[1], found[3] or ""
    if "9" in decimals and fill:
        raise refuse("this format of to_char", "Write 0 after the point: FM990.00.")
    rounded = numbers.rounded(_exactly(value), len(decimals))
    held = cast(rounded, f"DECIMAL(38, {len(decimals)})")
    made = f"FORMAT({quoted_text('{:' + (',' if commas else '') + f'.{len(decimals)}f' + '}')}, {held})"
    if whole.endswith("9") and decimals:
        made = f"REGEXP_REPLACE({made}, '^(-?)0[.]', '\\1.')"
    elif whole.endswith("9"):
        made = f"CASE WHEN {held} = 0 THEN '0' ELSE {made} END"
    signs = re.sub("[90]", "#", found[2]) + ("." + "#" * len(decimals) if decimals else "")
    full = f"CASE WHEN ABS({held}) >= {10 ** len(whole)} THEN {quoted_text(signs)} ELSE {made} END"
    full = f"CASE WHEN {held} IS NOT NULL THEN {full} END"
    return Value(full if fill else f"LPAD({full}, {len(signs) + 1}, ' ')", "text")


def _by_thousands(digits: str) -> bool:
    return all(len(part) == 3 for part in digits.split(",")[1:])


def _exactly(value: Value) -> Value:
    if value.kind in FLOATS:
        return casts.converted(value, "numeric")
    return value
