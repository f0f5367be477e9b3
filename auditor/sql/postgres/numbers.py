"""Arithmetic as PostgreSQL does it: by type, with errors where DuckDB has infinities.

A numeric is *exact* where DuckDB can hold it as an integer or DECIMAL. Quotients are held as DOUBLE, and as
exact dividend and divisor beside it, so that rounding and comparing them go by the quotient and not by its
nearest DOUBLE. Everything else that is numeric (roots, logarithms, deviations) is a DOUBLE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from auditor.sql.postgres.values import (
    ADDED,
    ATOM,
    FLOATS,
    INTEGERS,
    LONGEST,
    MULTIPLIED,
    RANKS,
    SIGNED,
    Value,
    cast,
    failing,
    no_operator,
    refuse,
)

_DIGITS = 38


def common(*values: Value) -> str:
    """The kind that numbers take together."""
    return max((value.kind for value in values), key=RANKS.index)


def widened(value: Value, kind: str) -> Value:
    """A number as an operand beside one of that kind, where DuckDB would compute in a narrower type."""
    if kind == "float8" and value.kind == "float4" and not value.protected:
        return replace(value, text=cast(value, "DOUBLE"), kind=kind, level=ATOM)
    if kind in INTEGERS and value.kind == "int2" and kind != "int2" and not value.protected:
        return replace(value, text=cast(value, INTEGERS[kind]), kind=kind, level=ATOM)
    return value


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`+`, `-`, `*`, `/`, `%` of two numbers."""
    if not (left.is_number and right.is_number):
        raise no_operator(left, right)
    kind = common(left, right)
    if kind in FLOATS and left.kind != right.kind:
        # There is no operator for a real and another number: both become double precision.
        kind = "float8"
    if operator in "/%" and right.constant == 0:
        # PostgreSQL finds it before any row is read.
        raise refuse("a division by zero")
    if operator == "/":
        return _quotient(left, right, kind)
    if operator == "%":
        return _remainder(left, right, kind)
    if kind == "numeric" and (left.ratio or right.ratio):
        both = _of_ratios(operator, left, right)
        if both is not None:
            return both
    left, right = widened(left, kind), widened(right, kind)
    if operator == "*" and kind == "numeric" and left.is_exact and right.is_exact and not right.protected:
        left = _wide(left)
    level = MULTIPLIED if operator == "*" else ADDED
    scale = _scale(operator, left, right) if kind == "numeric" and left.is_exact and right.is_exact else None
    if kind in INTEGERS and left.kind != right.kind and not (left.protected or right.protected):
        # `small + 1` is a small number to DuckDB.
        left = replace(left, kind=kind)
    text = f"{left.at(level)} {operator} {right.at(level + 1)}"
    return Value(text, kind, level, scale=scale, protected=left.protected or right.protected)


def _wide(value: Value) -> Value:
    """A factor with all the digits that there are: DuckDB keeps products of short decimals at 18 digits."""
    if value.protected:
        return value
    return replace(value, text=cast(value, f"DECIMAL({_DIGITS}, {value.scale or 0})"), level=ATOM)


def _scale(operator: str, left: Value, right: Value) -> int:
    scales = (left.scale or 0), (right.scale or 0)
    scale = sum(scales) if operator == "*" else max(scales)
    if scale > _DIGITS:
        raise refuse("a product has more than 38 digits after the point", "Round the factors.")
    return scale


def negated(value: Value) -> Value:
    """`-x`."""
    if not value.is_number:
        raise no_operator(value)
    constant = -value.constant if value.constant is not None else None
    if constant is not None and value.kind in ("int8", "numeric") and constant == -(2**31):
        return Value("-2147483648", "int8", SIGNED, constant=constant, nonzero=True)
    ratio = (negated(value.ratio[0]), value.ratio[1]) if value.ratio else None
    return replace(value, text=f"-{value.at(ATOM)}", level=SIGNED, ratio=ratio, constant=constant, bare=False)


def _remainder(left: Value, right: Value, kind: str) -> Value:
    if kind in FLOATS or not (left.is_exact and right.is_exact):
        raise refuse(f"% of {kind}", "Use integers or numeric(p, s).")
    protected = left.protected or right.protected
    scale = _scale("%", left, right) if kind == "numeric" else 0
    if scale and not protected:
        # In whole numbers: DuckDB divides long decimals as DOUBLE.
        a, b = (whole_units(value, scale) for value in (left, right))
        return _in_units(f"{a.at(MULTIPLIED)} % {b.at(MULTIPLIED + 1)}", scale)
    left, right = widened(left, kind), widened(right, kind)
    text = f"{left.at(MULTIPLIED)} % {right.at(MULTIPLIED + 1)}"
    return Value(text, kind, MULTIPLIED, scale=scale if kind == "numeric" else None, protected=protected)


def _quotient(left: Value, right: Value, kind: str) -> Value:
    protected = left.protected or right.protected
    if kind in INTEGERS:
        left, right = widened(left, kind), widened(right, kind)
        text = f"{left.at(MULTIPLIED)} // {right.at(MULTIPLIED + 1)}"
        return Value(text, kind, MULTIPLIED, protected=protected)
    if kind == "numeric":
        pair = _of_ratios("/", left, right)
        if pair is not None:
            return pair
    left, right = widened(left, kind), widened(right, kind)
    quotient = guarded_quotient(left, right)
    if kind == "float4":
        return Value(f"CAST({quotient.text} AS FLOAT)", kind)
    return replace(quotient, kind=kind)


def guarded_quotient(left: Value, right: Value) -> Value:
    """A quotient in DOUBLE that fails where the divisor is zero, as PostgreSQL's does."""
    protected = left.protected or right.protected
    text = f"{left.at(MULTIPLIED)} / {right.at(MULTIPLIED + 1)}"
    if right.nonzero:
        return Value(text, "numeric", MULTIPLIED, protected=protected)
    if len(right.text) > LONGEST:
        raise refuse("a divisor is too long", "Compute it in a derived table.")
    zero = failing(f"{right.at(ADDED)} = 0 AND {left.at(ADDED)} IS NOT NULL")
    return Value(f"CASE {zero} ELSE {text} END", "numeric", protected=protected)


def _of_ratios(operator: str, left: Value, right: Value) -> Value | None:
    """The result as dividend and divisor; None if they are not known exactly, or too long."""
    pairs = [value.ratio or (value, ONE) for value in (left, right)]
    parts = [part for pair in pairs for part in pair]
    if not all(part.is_exact for part in parts) or any(len(part.text) > LONGEST // 8 for part in parts):
        return None
    (a, b), (c, d) = pairs
    if operator == "/" and not d.nonzero:
        # As a factor it would no longer fail where it is zero.
        return None
    if operator == "/":
        made = ratio(_product(a, d), _product(b, c))
    elif operator == "*":
        made = ratio(_product(a, c), _product(b, d))
    else:
        made = ratio(arithmetic(operator, _product(a, d), _product(c, b)), _product(b, d))
    return replace(made, derived=left.ratio is not None or right.ratio is not None)


ONE = Value("1", "int4", constant=Decimal(1), nonzero=True)


def _product(left: Value, right: Value) -> Value:
    if right is ONE or right.constant == 1:
        return left
    if left is ONE or left.constant == 1:
        return right
    # As numeric: PostgreSQL would not overflow here.
    product = arithmetic("*", exact(left), exact(right))
    return replace(product, nonzero=left.nonzero and right.nonzero)


def exact(value: Value) -> Value:
    """An integer as numeric."""
    if value.kind not in INTEGERS:
        return value
    if value.protected:
        return replace(value, kind="numeric", scale=0)
    text = cast(value, "DECIMAL(38, 0)") if value.constant is None else value.text
    level = ATOM if value.constant is None else value.level
    return replace(value, text=text, kind="numeric", scale=0, level=level, bare=False)


def ratio(dividend: Value, divisor: Value, text: str | None = None) -> Value:
    """A numeric quotient of two exact numbers.

    Args:
        dividend: An integer or exact numeric.
        divisor: The same.
        text: What gives the quotient as DOUBLE, where that is known.
    """
    scale = max(_places(dividend), _places(divisor))
    plain = dividend.protected or divisor.protected
    # Two whole numbers divide to the nearest DOUBLE, two fractions do not: 0.3 / 0.1 is not 3 there.
    whole = (dividend, divisor) if plain else (whole_units(dividend, scale), whole_units(divisor, scale))
    quotient = Value(text, "numeric") if text is not None else guarded_quotient(*whole)
    return replace(quotient, kind="numeric", ratio=None if plain else (dividend, divisor))


def _places(value: Value) -> int:
    """Digits after the point that a value can have."""
    if value.constant is not None:
        return max(-int(value.constant.normalize().as_tuple().exponent), 0)
    return value.scale or 0


def whole_units(value: Value, scale: int) -> Value:
    """An exact number times a power of ten, as a whole number that `//` divides as one."""
    if value.constant is not None:
        whole = int(value.constant.scaleb(scale))
        return Value(str(whole), "numeric", SIGNED if whole < 0 else ATOM, scale=0, nonzero=whole != 0)
    if value.kind in INTEGERS and scale == 0:
        return value
    factor = "" if scale == 0 else f" * {10**scale}"
    text = f"CAST({_wide(value).at(MULTIPLIED)}{factor} AS HUGEINT)"
    return Value(text, "numeric", scale=0, nonzero=value.nonzero)


def rounded(value: Value, digits: int) -> Value:
    """A number rounded to digits after the point, halves away from zero, as numeric."""
    if value.is_exact:
        scale = value.scale or 0
        if digits >= scale:
            return exact(value)
        text = f"ROUND({exact(value).text}, {digits})"
        return Value(text, "numeric", scale=max(digits, 0))
    if value.kind in FLOATS or value.kind != "numeric":
        raise refuse(f"round of {value.kind} to digits", "Cast to numeric first: round(x::numeric, 2).")
    if value.ratio is not None:
        return _rounded_ratio(*value.ratio, digits, half=True)
    return _banded(value, lambda decimal: f"ROUND({decimal}, {digits})", digits)


def truncated(value: Value, digits: int) -> Value:
    """A number with the digits after that place cut off, as numeric."""
    if value.is_exact:
        scale = value.scale or 0
        if digits >= scale:
            return exact(value)
        if digits < 0:
            raise refuse("trunc to tens or hundreds", "Divide, truncate and multiply.")
        return Value(f"TRUNC({exact(value).text}, {digits})", "numeric", scale=digits)
    if value.kind != "numeric":
        raise refuse(f"trunc of {value.kind} to digits", "Cast to numeric first: trunc(x::numeric, 2).")
    if value.ratio is not None:
        return _rounded_ratio(*value.ratio, digits, half=False)
    return _banded(value, lambda decimal: f"TRUNC({decimal}, {digits})", digits)


def _rounded_ratio(dividend: Value, divisor: Value, digits: int, half: bool) -> Value:
    if abs(digits) > 12:
        raise refuse("rounding a quotient to so many digits", "Use 0 to 12 digits after the point.")
    scale = max(_places(dividend), _places(divisor))
    a, b = (whole_units(value, scale) for value in (dividend, divisor))
    size, unit = f"ABS(CAST({a.text} AS HUGEINT))", f"ABS({b.text})"
    up, down = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    if half and down > 1:
        text = f"({size} * 2 + {unit} * {down}) // ({unit} * {2 * down}) * {down}"
    elif half:
        text = f"({size} * {2 * up} + {unit}) // (2 * {unit})"
    else:
        text = f"{size} * {up} // ({unit} * {down}) * {down}" if down > 1 else f"{size} * {up} // {unit}"
    sign = (
        f"SIGN({a.text}) * SIGN({b.text})" if b.constant is None and not _positive(b) else f"SIGN({a.text})"
    )
    return _in_units(f"{sign} * ({text})", max(digits, 0))


def _in_units(text: str, digits: int) -> Value:
    """A whole number of tenths, hundredths, …, as numeric."""
    text = f"CAST({text} AS DECIMAL({_DIGITS}, 0))"
    if not digits:
        return Value(text, "numeric", scale=0)
    return Value(f"{text} * {Decimal(1).scaleb(-digits):f}", "numeric", MULTIPLIED, scale=digits)


def _positive(value: Value) -> bool:
    return value.text.isdecimal() or value.text.upper().startswith(("COUNT(", "NULLIF(COUNT("))


def floored(value: Value, name: str) -> Value:
    """FLOOR or CEIL of a numeric."""
    if value.is_exact:
        return Value(f"{name}({exact(value).text})", "numeric", scale=0)
    if value.ratio is None:
        return _banded(value, lambda decimal: f"{name}({decimal})", 0)
    cut = truncated(value, 0)
    # One unit of the quotient beyond what was cut off, if anything was.
    sign, step = ("<", "- 1") if name == "FLOOR" else (">", "+ 1")
    a, b = (exact(part) for part in value.ratio)
    rest = f"{a.at(MULTIPLIED)} % {b.at(ATOM)} <> 0 AND SIGN({a.text}) * SIGN({b.text}) {sign} 0"
    return Value(f"CASE WHEN {rest} THEN {cut.at(ADDED)} {step} ELSE {cut.text} END", "numeric", scale=0)


def _banded(value: Value, function: Callable[[str], str], digits: int) -> Value:
    """A DOUBLE rounded by its first 15 digits, as PostgreSQL makes a numeric of one."""
    if len(value.text) > LONGEST // 8:
        raise refuse("the rounding of a long expression", "Compute it in a derived table.")
    if digits < 0 or digits > 12:
        raise refuse("rounding to so many digits", "Use 0 to 12 digits after the point.")
    # What is too large to have so many digits among its first 15 fails.
    branches = [f"WHEN {value.at(ADDED)} IS NULL THEN NULL"]
    for before in range(16 - digits):
        decimal = f"CAST({value.text} AS DECIMAL(38, {15 - before}))"
        shown = cast(Value(function(decimal), ""), f"DECIMAL(38, {digits})")
        branches.append(f"WHEN ABS({value.text}) < {10**before} THEN {shown}")
    return Value(f"CASE {' '.join(branches)} ELSE 1 // 0 END", "numeric", scale=digits)


def power(base: Value, exponent: Value) -> Value:
    """`a ^ b`: numeric if a numeric takes part and no binary number, else double precision."""
    if not (base.is_number and exponent.is_number):
        raise no_operator(base, exponent)
    kind = "numeric" if common(base, exponent) == "numeric" else "float8"
    a, b = (as_double(value) for value in (base, exponent))
    text = f"POW({a}, {b})"
    checks = []
    if exponent.constant is None or exponent.constant < 0:
        checks.append(f"{a} = 0 AND {b} < 0")
    if exponent.constant is None or exponent.constant != exponent.constant.to_integral_value():
        checks.append(f"{a} < 0 AND {b} <> FLOOR({b})")
    if base.constant is not None and base.constant > 0:
        checks = []
    if len(a) + len(b) > LONGEST // 4:
        raise refuse("a power of long expressions", "Compute them in a derived table.")
    text = finite(text)
    return Value(f"CASE {failing(*checks)} ELSE {text} END" if checks else text, kind)


def finite(text: str) -> str:
    """A DOUBLE that fails where it is too large, as PostgreSQL's does, and is not infinite."""
    return f"CASE WHEN NOT ISFINITE({text}) THEN 1 // 0 ELSE {text} END"


def as_binary(value: Value, kind: str) -> str:
    """A number as the text of a real or double precision."""
    return (
        as_double(value) if kind == "float8" else value.text if value.kind == kind else cast(value, "FLOAT")
    )


def as_double(value: Value) -> str:
    """A number as a DOUBLE's text."""
    if value.constant is not None and value.kind != "float8":
        return cast(value, "DOUBLE")
    if value.kind == "float8" or (value.kind == "numeric" and value.scale is None):
        return value.at(ATOM)
    return cast(value, "DOUBLE")
