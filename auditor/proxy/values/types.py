"""PostgreSQL's types as far as the proxy speaks them, with PostgreSQL's numbers and names.

A table and look-ups; how values of a type are written and read is `writing`'s and `reading`'s.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """One of PostgreSQL's types, as its catalogue describes it."""

    oid: int
    name: str
    """`pg_type.typname`."""
    length: int
    """`pg_type.typlen`: bytes; -1: varies."""
    array: int = 0
    """Of a type that has one, the OID of its array type."""
    element: int = 0
    """Of an array type, the OID of its elements."""
    sql: str = ""
    """The name that PostgreSQL prints, as in its messages."""


def _scalar(oid: int, name: str, length: int, array: int, sql: str = "") -> Type:
    return Type(oid, name, length, array, 0, sql or name)


BOOL = _scalar(16, "bool", 1, 1000, "boolean")
BYTEA = _scalar(17, "bytea", -1, 1001)
CHAR = _scalar(18, "char", 1, 1002, '"char"')
NAME = _scalar(19, "name", 64, 1003)
INT8 = _scalar(20, "int8", 8, 1016, "bigint")
INT2 = _scalar(21, "int2", 2, 1005, "smallint")
INT4 = _scalar(23, "int4", 4, 1007, "integer")
TEXT = _scalar(25, "text", -1, 1009)
OID = _scalar(26, "oid", 4, 1028)
JSON = _scalar(114, "json", -1, 199)
FLOAT4 = _scalar(700, "float4", 4, 1021, "real")
FLOAT8 = _scalar(701, "float8", 8, 1022, "double precision")
UNKNOWN = _scalar(705, "unknown", -2, 0)
BPCHAR = _scalar(1042, "bpchar", -1, 1014, "character")
VARCHAR = _scalar(1043, "varchar", -1, 1015, "character varying")
DATE = _scalar(1082, "date", 4, 1182)
TIME = _scalar(1083, "time", 8, 1183, "time without time zone")
TIMESTAMP = _scalar(1114, "timestamp", 8, 1115, "timestamp without time zone")
TIMESTAMPTZ = _scalar(1184, "timestamptz", 8, 1185, "timestamp with time zone")
INTERVAL = _scalar(1186, "interval", 16, 1187)
TIMETZ = _scalar(1266, "timetz", 12, 1270, "time with time zone")
NUMERIC = _scalar(1700, "numeric", -1, 1231)
REGCLASS = _scalar(2205, "regclass", 4, 2210)
REGTYPE = _scalar(2206, "regtype", 4, 2211)
VOID = _scalar(2278, "void", 4, 0)
UUID = _scalar(2950, "uuid", 16, 2951)
JSONB = _scalar(3802, "jsonb", -1, 3807)

SCALARS = (
    BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR,
    DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, NUMERIC, REGCLASS, REGTYPE, VOID, UUID, JSONB,
)  # fmt: skip
ARRAYS = tuple(
    Type(each.array, f"_{each.name}", -1, 0, each.oid, f"{each.sql}[]") for each in SCALARS if each.array
)
BY_OID = {each.oid: each for each in (*SCALARS, *ARRAYS)}
"""Every type that is spoken, by OID."""
BY_NAME = {each.name: each for each in (*SCALARS, *ARRAYS)}
"""The same by `typname`."""


def array_of(type_: Type) -> Type:
    """The array type of a type; of an array itself, as in PostgreSQL.

    Raises:
        KeyError: if it has none.
    """
    return type_ if type_.element else BY_OID[type_.array]


def numeric_modifier(precision: int, scale: int) -> int:
    """`atttypmod` of numeric(precision, scale)."""
    return ((precision << 16) | (scale & 0x7FF)) + 4
