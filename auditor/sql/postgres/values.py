"""Values: a translated expression is DuckDB text together with what PostgreSQL says it is.

Promises that the text of a `Value` has, in DuckDB, the value that the expression has in PostgreSQL. How a
value is made from others is told by `numbers`, `casts` and `functions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from auditor.sql.understood import NotUnderstood

# How tightly the outermost operator of a text binds, in DuckDB as in PostgreSQL.
OR, AND, NOT, COMPARED, OTHER, ADDED, MULTIPLIED, SIGNED, ATOM = range(9)

INTEGERS = {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT"}
"""DuckDB's types of PostgreSQL's integers, narrowest first."""
FLOATS = {"float4": "FLOAT", "float8": "DOUBLE"}
"""DuckDB's types of PostgreSQL's binary numbers."""
RANKS = ("int2", "int4", "int8", "numeric", "float4", "float8")
"""Numbers in the order in which one kind gives way to the next where they meet."""
STORED = {
    **INTEGERS, **FLOATS,
    "bool": "BOOLEAN", "text": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME",
    "timestamptz": "TIMESTAMPTZ", "interval": "INTERVAL",
}  # fmt: skip
"""DuckDB's types of kinds that have one; numeric has as many as it has scales."""
LONGEST = 4_000
"""Characters up to which a text may stand several times in what is made of it."""


@dataclass(frozen=True)
class Value:
    """A translated expression."""

    text: str
    """DuckDB's SQL."""
    kind: str
    """PostgreSQL's type: a name of `RANKS` or `STORED`; "unknown" (a text or NULL that takes the type that
    its neighbours ask for), "parameter", or "other", about which nothing is known."""
    level: int = ATOM
    """How tightly the outermost operator binds."""
    scale: int | None = None
    """Of an exact numeric: digits after the point. None: held as DOUBLE, to about 15 digits."""
    ratio: tuple[Value, Value] | None = None
    """Of a numeric: exact dividend and divisor whose quotient `text` is."""
    derived: bool = False
    """Of a numeric: whether PostgreSQL rounded a quotient on the way, so that it may miss the exact value."""
    literal: str | None = None
    """Of an unknown: the text; None for NULL."""
    constant: Decimal | None = None
    """Of a number that is written out: itself."""
    protected: bool = False
    """Whether it reads a protected column outside an aggregate: such a text is not wrapped in casts."""
    nonzero: bool = False
    """Whether it is known not to be zero; NULL may be."""
    shown: int | None = None
    """Of a numeric: the digits after the point that PostgreSQL writes, where that is known."""
    far: bool = False
    """Of a moment: whether it may be infinite, or before the year 1."""
    bare: bool = False
    """Whether it is a column as it stands, so that DuckDB names it as PostgreSQL does."""

    def at(self, level: int) -> str:
        """The text, in parentheses if it binds less tightly than that."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def is_number(self) -> bool:
        """Whether the kind is a number's."""
        return self.kind in RANKS

    @property
    def is_null(self) -> bool:
        """Whether it is a bare NULL."""
        return self.kind == "unknown" and self.literal is None

    @property
    def is_exact(self) -> bool:
        """Whether it is an integer, or a numeric that is not held as DOUBLE."""
        return self.kind in INTEGERS or (self.kind == "numeric" and self.scale is not None)


NULL = Value("NULL", "unknown")
"""NULL without a type."""


def refuse(detail: str, hint: str = "") -> NotUnderstood:
    """The refusal of something whose meaning cannot be carried over."""
    return NotUnderstood("dialect", detail=detail, hint=hint)


def no_operator(*operands: Value) -> NotUnderstood:
    """The refusal of operands that do not go together, in PostgreSQL or in what is carried over of it."""
    names = " and ".join(named(operand) for operand in operands)
    hint = "Cast the parameter, for example $1::int." if any(o.kind == "parameter" for o in operands) else ""
    return refuse(
        f"this operation is not carried over for {names}", hint or "Cast to the types that you mean."
    )


def named(value: Value) -> str:
    """A kind in words."""
    if value.is_null:
        return "NULL without a type"
    return {
        "unknown": "a text without type", "parameter": "a parameter without type",
        "other": "a value of this type",
    }.get(value.kind, value.kind)  # fmt: skip


def cast(value: Value, type_: str) -> str:
    """DuckDB's cast."""
    return f"CAST({value.text} AS {type_})"


def quoted_text(text: str) -> str:
    """A text as a literal of DuckDB, which has no escapes in it."""
    return "'" + text.replace("'", "''") + "'"


def failing(*conditions: str) -> str:
    """An expression that fails where one of the conditions holds, for use as the first branch of a CASE."""
    return f"WHEN {' OR '.join(conditions)} THEN 1 // 0"


def integer(number: int) -> Value:
    """An integer that is written out."""
    kind = next((kind for kind, bits in (("int4", 31), ("int8", 63)) if abs(number) < 2**bits), "numeric")
    return Value(
        str(number),
        kind,
        SIGNED if number < 0 else ATOM,
        scale=0 if kind == "numeric" else None,
        constant=Decimal(number),
        nonzero=number != 0,
    )


def number(text: str) -> Value:
    """A number as PostgreSQL reads it: digits are an integer, anything else is numeric, `1e3` too."""
    if text.isdecimal():
        if len(text.lstrip("0")) > 38:
            raise refuse("a number of more than 38 digits")
        return integer(int(text))
    value = Decimal(text.replace("_", ""))
    shown = format(value, "f")
    whole, _, fraction = shown.partition(".")
    if len(whole.lstrip("0")) + len(fraction) > 38:
        raise refuse("a number of more than 38 digits", "Round it.")
    # A point keeps DuckDB from taking it for an integer.
    text = shown if fraction else f"{whole}.0"
    return Value(text, "numeric", scale=len(fraction) or 1, constant=value, nonzero=value != 0)


_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_COLUMNS = {
    "TINYINT": ("int2", "SMALLINT"), "UTINYINT": ("int2", "SMALLINT"), "USMALLINT": ("int4", "INTEGER"),
    "UINTEGER": ("int8", "BIGINT"), "SMALLINT": ("int2", None), "INTEGER": ("int4", None),
    "BIGINT": ("int8", None), "FLOAT": ("float4", None), "DOUBLE": ("float8", None),
    "BOOLEAN": ("bool", None), "VARCHAR": ("text", None), "DATE": ("date", None),
    "TIMESTAMP": ("timestamp", None), "TIME": ("time", None), "INTERVAL": ("interval", None),
    "TIMESTAMP WITH TIME ZONE": ("timestamptz", None),
}  # fmt: skip


def column(text: str, type_: str, protected: bool) -> Value:
    """A column of a table: its kind follows from DuckDB's type.

    PostgreSQL has no integers of one byte and none without sign: they count as the next wider one.
    """
    decimal = _DECIMAL.fullmatch(type_)
    if decimal:
        return Value(text, "numeric", scale=int(decimal[2]), protected=protected, bare=True)
    if type_ in ("HUGEINT", "UHUGEINT", "UBIGINT"):
        # Without a cast to DECIMAL: a value of 39 digits may not be read as one, but may be counted.
        return Value(text, "numeric", scale=0, protected=protected, bare=True)
    if type_.startswith("ENUM("):
        return Value(f"CAST({text} AS VARCHAR)", "text", protected=protected)
    kind, wider = _COLUMNS.get(type_, ("other", None))
    if wider and not protected:
        return Value(f"CAST({text} AS {wider})", kind)
    return Value(text, kind, protected=protected, bare=True)
