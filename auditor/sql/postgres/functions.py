"""The functions that are carried over, by PostgreSQL's name: what is in no table is not.

Each takes translated arguments and gives a `Value`, or raises where PostgreSQL has no such function for those
types. Aggregates and window functions are told apart, since they stand in fewer places.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from auditor.sql import macros
from auditor.sql.postgres import casts, moments, numbers, spans, texts, zones
from auditor.sql.postgres.values import (
    ATOM,
    FLOATS,
    INTEGERS,
    MULTIPLIED,
    SIGNED,
    Value,
    cast,
    failing,
    no_operator,
    refuse,
)
from auditor.sql.understood import NotUnderstood

Handler = Callable[..., Value]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _number(value: Value) -> Value:
    if not value.is_number:
        # A text without type too: which of several functions it would choose is PostgreSQL's secret.
        raise no_operator(value)
    return value


def _text(value: Value) -> Value:
    value = casts.typed(value, "text")
    if value.kind not in ("text", "parameter"):
        raise no_operator(value)
    return value


def _int(value: Value) -> Value:
    value = casts.typed(value, "int4")
    if value.kind not in ("int2", "int4"):
        raise no_operator(value)
    return value


def constant(value: Value) -> int:
    """A whole number that is written out."""
    value = casts.typed(value, "int4")
    if value.constant is None or value.kind not in INTEGERS:
        raise refuse("a number of digits or places that is not written out", "Write a number.")
    return int(value.constant)


def unify(*values: Value) -> tuple[str, list[Value]]:
    """The kind that CASE, COALESCE, IN and set operations give their parts, and the parts as that.

    Raises:
        NotUnderstood: code "dialect", if the parts do not go together.
    """
    known = [value for value in values if value.kind not in ("unknown", "parameter")]
    if "bpchar" in {value.kind for value in values}:
        if any(value.kind == "parameter" for value in values):
            raise no_operator(*values[:2])  # blanks at its end would count here
        if "text" in {value.kind for value in known}:
            return unify(*(replace(each, kind="text") if each.kind == "bpchar" else each for each in values))
    if not known:
        kind = "text"
    elif all(value.is_number for value in known):
        kind = numbers.common(*known)
    elif {value.kind for value in known} == {"date", "timestamp"}:
        kind = "timestamp"
    elif zones.KIND in {value.kind for value in known} and all(
        value.kind in ("date", "timestamp", zones.KIND) for value in known
    ):
        kind = zones.KIND
    elif len({value.kind for value in known}) == 1:
        kind = known[0].kind
    else:
        raise no_operator(*known[:2])
    parts = [casts.typed(value, kind) for value in values]
    if any(part.protected for part in parts):
        # The gate reads constants and columns as they stand.
        return kind, parts
    scale = max(part.scale or 0 for part in parts) if all(part.is_exact for part in parts) else None
    return kind, [fitted(part, kind, scale) for part in parts]


def fitted(value: Value, kind: str, scale: int | None) -> Value:
    """A value as one of a kind and scale, where DuckDB would not make it one by itself.

    Beside a DECIMAL(38, 0) DuckDB rounds 5.4 to 5; a real and a numeric it takes together as real.
    """
    value = casts.typed(value, kind)
    if value.protected or value.kind in ("parameter", "other"):
        return value
    if kind == "timestamp" and value.kind == "date":
        return replace(value, text=cast(value, "TIMESTAMP"), kind=kind, level=ATOM, bare=False)
    if kind == zones.KIND and value.kind in ("date", "timestamp"):
        return zones.from_local(value)
    if kind in FLOATS and value.kind != kind and value.is_number:
        return Value(numbers.as_binary(value, kind), kind)
    if kind == "numeric" and scale and value.is_exact and value.scale != scale:
        text = cast(value, f"DECIMAL(38, {scale})")
        return replace(value, text=text, kind=kind, level=ATOM, scale=scale, bare=False, shown=None)
    return value


def combined(name: str, *values: Value) -> Value:
    """COALESCE, GREATEST, LEAST, and the branches of CASE: a value of the common kind."""
    kind, parts = unify(*values)
    return like(f"{name}({', '.join(part.text for part in parts)})", kind, *parts)


def like(text: str, kind: str, *parts: Value) -> Value:
    """A value that is one of the parts, of a kind that `unify` gave."""
    numerics = [part for part in parts if part.kind == "numeric"]
    scale = None
    if kind == "numeric" and all(part.is_exact for part in parts):
        scale = max(part.scale or 0 for part in parts)
    elif kind == "numeric" and not numerics:
        scale = 0
    return Value(
        text, kind, scale=scale, protected=any(part.protected for part in parts),
        far=any(part.far for part in parts),
    )  # fmt: skip


def require_equatable(*values: Value) -> None:
    """Check that values may be tested for equality: PostgreSQL rounds a numeric quotient, its own way.

    An exact number equals a quotient there if and only if it does here. What is computed from quotients,
    roots and deviations ends in digits that differ.
    """
    inexact = [value for value in values if value.kind == "numeric" and value.scale is None]
    if any(value.kind in ("float4", "float8") for value in values):
        inexact = [value for value in inexact if value.ratio is None]
    plain = all(value.ratio is not None and not value.derived for value in inexact)
    if len(inexact) > 1 or not plain:
        raise refuse(
            "whether an inexact numeric equals another number", "Round both, or compare with < and >."
        )


def _nullif(left: Value, right: Value) -> Value:
    require_equatable(left, right)
    if left.kind == "float4" and right.is_number and right.kind != "float4":
        # There is an operator for real and double precision, so it stays a real.
        text = (
            f"CASE WHEN {numbers.as_double(left)} = {numbers.as_double(right)} THEN NULL ELSE {left.text} END"
        )
        return Value(text, "float4", nonzero=right.constant == 0)
    _, (a, b) = unify(left, right)
    nonzero = b.constant == 0
    made = f"NULLIF({a.text}, {b.text})"
    if a.ratio is not None:
        a = replace(a, ratio=None)
    return replace(
        a, text=made, level=ATOM, nonzero=nonzero, constant=None, literal=None, bare=False, shown=None
    )


def _same(name: str) -> Handler:
    def make(value: Value) -> Value:
        value = _number(value)
        if value.ratio is not None and name == "ABS":
            return replace(value, text=f"ABS({value.text})", level=ATOM, ratio=_absolute(value.ratio))
        return replace(value, text=f"{name}({value.text})", level=ATOM, constant=None, bare=False, shown=None)

    return make


def _absolute(pair: tuple[Value, Value]) -> tuple[Value, Value]:
    a, b = (
        each if each.constant is not None and each.constant >= 0
        else replace(each, text=f"ABS({each.text})", level=ATOM, constant=each.constant and -each.constant)
        for each in pair
    )  # fmt: skip
    return a, b


def _floating(name: str, fails: str = "", exact_kind: bool = True) -> Handler:
    """A function of double precision, and of numeric unless there is only one of double precision."""

    def make(value: Value) -> Value:
        value = _number(value)
        kind = "numeric" if value.kind == "numeric" and exact_kind else "float8"
        text = numbers.as_double(value)
        if fails and len(text) < 4_000:
            return Value(f"CASE {failing(fails.format(x=text))} ELSE {name}({text}) END", kind)
        return Value(f"{name}({text})", kind)

    return make


def _exp(value: Value) -> Value:
    made = _floating("EXP")(value)
    return replace(made, text=numbers.finite(made.text))


def _rounding(name: str) -> Handler:
    def make(value: Value, digits: Value | None = None) -> Value:
        value = _number(value)
        if digits is not None:
            if value.kind in FLOATS:
                raise refuse(
                    f"{name.lower()} of {value.kind} to digits",
                    "Cast to numeric first: round(x::numeric, 2).",
                )
            places = constant(digits)
            made = numbers.rounded(value, places) if name == "ROUND" else numbers.truncated(value, places)
            return replace(made, shown=max(places, 0))
        if value.kind in INTEGERS or value.kind in FLOATS:
            text = numbers.as_double(value)
            if value.kind in INTEGERS:
                return Value(text, "float8")
            return Value(f"ROUND_EVEN({text}, 0)" if name == "ROUND" else f"{name}({text})", "float8")
        if name in ("FLOOR", "CEIL"):
            return numbers.floored(value, name)
        return numbers.rounded(value, 0) if name == "ROUND" else numbers.truncated(value, 0)

    return make


def _log(first: Value, second: Value | None = None) -> Value:
    if second is None:
        return _floating("LOG10", "{x} <= 0")(first)
    base, value = (numbers.as_double(_number(v)) for v in (first, second))
    fails = failing(f"{value} <= 0", f"{base} <= 0", f"{base} = 1")
    return Value(f"CASE {fails} ELSE LN({value}) / LN({base}) END", "numeric")


def _div(left: Value, right: Value) -> Value:
    a, b = _number(left), _number(right)
    if not (a.is_exact and b.is_exact):
        raise refuse("div of inexact numbers", "Use integers or numeric(p, s).")
    scale = max(a.scale or 0, b.scale or 0)
    a, b = numbers.whole_units(a, scale), numbers.whole_units(b, scale)
    return Value(f"{a.at(SIGNED)} // {b.at(SIGNED)}", "numeric", MULTIPLIED, scale=0)


def _trim(position: str) -> Handler:
    def make(value: Value, letters: Value | None = None) -> Value:
        what = "' '" if letters is None else _text(letters).text
        return Value(f"{position}({_text(value).text}, {what})", "text")

    return make


def _pad(name: str) -> Handler:
    def make(value: Value, length: Value, fill: Value | None = None) -> Value:
        if fill is not None and not _text(fill).literal:
            raise refuse(f"{name} with an empty or computed filling", "Write the filling.")
        size = max(constant(length), 0)
        return Value(
            f"{name}({_text(value).text}, {size}, {fill.text if fill else chr(39) + ' ' + chr(39)})", "text"
        )

    return make


def _substring(value: Value, start: Value, length: Value | None = None) -> Value:
    text = _text(value)
    if start.kind == "unknown":
        raise refuse("substring by a pattern", "Give positions: substring(x from 1 for 3).")
    first = constant(start)
    if length is None:
        return Value(f"SUBSTRING({text.text}, {max(first, 1)})", "text")
    size = constant(length)
    if size < 0:
        raise refuse("a negative length of a substring", "Use a length of 0 or more.")
    # Positions below 1 count in PostgreSQL, but hold no character.
    return Value(f"SUBSTRING({text.text}, {max(first, 1)}, {max(first + size - max(first, 1), 0)})", "text")


def _concat(name: str) -> Handler:
    def make(*values: Value) -> Value:
        texts = [casts.as_text(value) for value in values]
        if any(value.kind == "bool" for value in values):
            raise refuse(f"{name} of boolean", "Cast it to text.")
        return Value(f"{name}({', '.join(text.text for text in texts)})", "text")

    return make


def _texts(name: str, count: int, kind: str = "text") -> Handler:
    def make(*values: Value) -> Value:
        if len(values) != count:
            raise NotUnderstood("function", name=name.lower())
        made = f"{name}({', '.join(_text(value).text for value in values)})"
        return Value(f"CAST({made} AS INTEGER)" if kind == "int4" else made, kind)

    return make


def _side(name: str) -> Handler:
    def make(value: Value, length: Value) -> Value:
        size = constant(length)
        made = f"{name}({_text(value).text}, {size})"
        if size == 0:
            return Value(f"LEFT({_text(value).text}, 0)", "text")
        return Value(made, "text")

    return make


def _split_part(value: Value, delimiter: Value, place: Value) -> Value:
    if constant(place) < 1 or not _text(delimiter).literal:
        raise refuse(
            "split_part from the end, or by a computed delimiter", "Count from the start, and write it."
        )
    return Value(f"SPLIT_PART({_text(value).text}, {_text(delimiter).text}, {constant(place)})", "text")


def _mod(left: Value, right: Value) -> Value:
    return numbers.arithmetic("%", _number(left), _number(right))


def _strpos(value: Value, part: Value) -> Value:
    return Value(f"CAST(STRPOS({_text(value).text}, {_text(part).text}) AS INTEGER)", "int4")


def _sign(value: Value) -> Value:
    value = _number(value)
    if value.kind == "numeric":
        return Value(f"SIGN({value.text})", "numeric", scale=0)
    return Value(f"CAST(SIGN({value.text}) AS DOUBLE)", "float8")


def _atan2(left: Value, right: Value) -> Value:
    return Value(f"ATAN2({numbers.as_double(_number(left))}, {numbers.as_double(_number(right))})", "float8")


def _pi() -> Value:
    return Value("PI()", "float8", nonzero=True)


FUNCTIONS: dict[str, Handler] = {
    "coalesce": lambda *values: combined("COALESCE", *values),
    "greatest": lambda *values: combined("GREATEST", *values),
    "least": lambda *values: combined("LEAST", *values),
    "nullif": _nullif,
    "abs": _same("ABS"),
    "round": _rounding("ROUND"), "trunc": _rounding("TRUNC"),
    "ceil": _rounding("CEIL"), "ceiling": _rounding("CEIL"), "floor": _rounding("FLOOR"),
    "sqrt": _floating("SQRT", "{x} < 0"), "cbrt": _floating("CBRT", exact_kind=False),
    "exp": _exp, "ln": _floating("LN", "{x} <= 0"), "log": _log,
    "log10": _floating("LOG10", "{x} <= 0"), "power": numbers.power, "pow": numbers.power,
    "mod": _mod, "div": _div, "sign": _sign, "pi": _pi,
    "degrees": _floating("DEGREES", exact_kind=False), "radians": _floating("RADIANS", exact_kind=False),
    "sin": _floating("SIN", exact_kind=False), "cos": _floating("COS", exact_kind=False),
    "tan": _floating("TAN", exact_kind=False), "atan2": _atan2,
    "length": _texts("LENGTH", 1, "int4"), "char_length": _texts("LENGTH", 1, "int4"),
    "character_length": _texts("LENGTH", 1, "int4"), "lower": _texts("LOWER", 1), "upper": _texts("UPPER", 1),
    "reverse": _texts("REVERSE", 1), "replace": _texts("REPLACE", 3),
    "starts_with": _texts("STARTS_WITH", 2, "bool"),
    "ltrim": _trim("LTRIM"), "rtrim": _trim("RTRIM"), "btrim": _trim("TRIM"),
    "lpad": _pad("LPAD"), "rpad": _pad("RPAD"), "left": _side("LEFT"), "right": _side("RIGHT"),
    "substr": _substring, "substring": _substring, "strpos": _strpos, "split_part": _split_part,
    "concat": _concat("CONCAT"),
    "date_part": moments.part, "date_trunc": moments.truncated, "to_char": texts.shown,
    "make_date": moments.made_date,
    "initcap": texts.initcap, "concat_ws": texts.joined, "format": texts.formatted, "md5": texts.digest,
    "regexp_replace": texts.replaced, "to_date": texts.to_date, "to_timestamp": texts.to_timestamp,
    "date": texts.as_date, "width_bucket": texts.bucket, "date_bin": texts.binned,
    "translate": _texts("TRANSLATE", 3),
    "now": zones.now, "transaction_timestamp": zones.now, "statement_timestamp": zones.now, "age": zones.age,
    "isfinite": moments.finite,
    "justify_hours": partial(spans.justified, macros.JUSTIFY_HOURS),
    "justify_days": partial(spans.justified, macros.JUSTIFY_DAYS),
    "justify_interval": partial(spans.justified, macros.JUSTIFY_INTERVAL),
    "timezone": lambda zone, value: zones.at_zone(value, zone),
}  # fmt: skip
VOLATILE = _words("""
    random setseed clock_timestamp timeofday nextval
    currval gen_random_uuid current_setting version pg_sleep current_database current_schema txid_current
    pg_backend_pid
""")
SEVERAL_ROWS = frozenset(
    ["generate_series", "unnest", "regexp_matches", "regexp_split_to_table", "json_array_elements"]
)


def call(name: str, values: list[Value]) -> Value:
    """A plain function of translated arguments."""
    if name in VOLATILE:
        raise NotUnderstood("volatile", name=name)
    if name in SEVERAL_ROWS:
        raise NotUnderstood("table-function", tables="those that are listed as public")
    if name in ("row", "array_append"):
        raise NotUnderstood("nested-type")
    handler = FUNCTIONS.get(name)
    if handler is None:
        raise NotUnderstood("function", name=name)
    if name not in ("coalesce", "greatest", "least", "nullif", "concat") and any(
        value.kind == "parameter" for value in values
    ):
        raise no_operator(*[value for value in values if value.kind == "parameter"])
    try:
        inspect.signature(handler).bind(*values)
    except TypeError:
        # A number of arguments that the function does not take.
        raise NotUnderstood("function", name=name) from None
    return handler(*values)
