"""The names of types, as casts and literals write them."""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.understood import NotUnderstood

_TYPES = {
    "SMALLINT": "int2", "INT": "int4", "BIGINT": "int8", "DECIMAL": "numeric", "FLOAT": "float4",
    "DOUBLE": "float8", "BOOLEAN": "bool", "TEXT": "text", "VARCHAR": "text", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz", "TIME": "time", "INTERVAL": "interval",
    "BPCHAR": "bpchar", "CHAR": "bpchar",
}  # fmt: skip


def type_of(node: exp.Expr) -> tuple[str, tuple[int, ...]]:
    """PostgreSQL's type, and the numbers in parentheses behind it."""
    if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DType):
        raise NotUnderstood("type", name=node.name.lower())
    kind = _TYPES.get(node.this.value)
    if kind is None or node.args.get("nested") or node.args.get("values"):
        raise NotUnderstood("type", name=node.this.value.lower())
    parameters = tuple(int(each.name) for each in node.expressions if each.name.isdecimal())
    if len(parameters) != len(node.expressions) or (
        kind == "text" and node.this.value == "TEXT" and parameters
    ):
        raise NotUnderstood("type", name=node.this.value.lower())
    if node.this.value == "CHAR" and not parameters:
        return kind, (1,)
    if kind in ("float8", "float4") and parameters:
        # float(24) is real, float(25) double precision.
        return ("float4" if parameters[0] <= 24 else "float8"), ()
    return kind, parameters
