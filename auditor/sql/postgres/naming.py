"""Names of columns that a statement does not name, by PostgreSQL's rules (FigureColname in its parser).

For what is asked of data and for what is asked of the catalogue alike: each says what its casts are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from auditor.sql.postgres.types import type_of
from auditor.sql.schema import folded

NAMELESS = "?column?"
"""The name of a column that nothing names."""
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
    exp.CurrentCatalog: "current_catalog", exp.CurrentTimestamp: "current_timestamp", exp.Exists: "exists",
    exp.CurrentDate: "current_date", exp.Array: "array", exp.Substring: "substring", exp.StrPosition:
    "position", exp.Extract: "extract", exp.Overlay: "overlay", exp.AtTimeZone: "timezone",
    exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
TypeName = Callable[[exp.Expr], str]
"""PostgreSQL's name of the type that a cast names."""


def cast_name(node: exp.Expr) -> str:
    """The name of a cast to a type that statements about data may name."""
    kind, _ = type_of(node)
    return "varchar" if isinstance(node, exp.DataType) and node.this == exp.DType.VARCHAR else kind


def figured(node: exp.Expr, type_name: TypeName = cast_name) -> str:
    """The name of an expression without AS; "" if nothing names it, which is then `NAMELESS`."""
    return _figured(node, type_name)[0]


def _figured(node: exp.Expr, type_name: TypeName) -> tuple[str, bool]:
    """A name, and whether it is a good one: casts and CASE name a column only if nothing in them does."""
    if isinstance(node, exp.Column):
        return _written(node.this), True
    if isinstance(node, exp.Anonymous):
        return folded(str(node.name)), True
    if isinstance(node, exp.Dot):
        called = isinstance(node.expression, exp.Anonymous)
        return _figured(node.expression, type_name) if called else (_written(node.expression), True)
    if isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.WithinGroup | exp.Bracket | exp.Collate):
        return _figured(node.this, type_name)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        name, good = _figured(default, type_name) if default is not None else ("", False)
        return (name, True) if good else ("case", False)
    if isinstance(node, exp.Cast):
        name, good = _figured(node.this, type_name)
        return (name, True) if good else (type_name(node.args["to"]), False)
    if isinstance(node, exp.Interval):
        return "interval", False
    if (
        isinstance(node, exp.Subquery)
        and isinstance(node.this, exp.Select)
        and len(node.this.expressions) == 1
    ):
        inner = node.this.expressions[0]
        if isinstance(inner, exp.Alias):
            return _written(inner.args["alias"]), True
        return _figured(inner, type_name)
    if isinstance(node, exp.Trim):
        place = str(node.args.get("position") or "").upper()
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(place, "btrim"), True
    return _WORDS.get(type(node), ""), type(node) in _WORDS


def _written(name: object) -> str:
    """A name as PostgreSQL stores it."""
    if isinstance(name, exp.Identifier):
        return name.name if name.args.get("quoted") else folded(name.name)
    return folded(str(name))
