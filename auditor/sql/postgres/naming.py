"""Names of columns that a statement does not name, by PostgreSQL's rules (FigureColname in its parser)."""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.postgres.scopes import name_of
from auditor.sql.postgres.types import type_of

_NAMED: dict[type[exp.Expr], str] = {
    exp.Extract: "extract", exp.Substring: "substring", exp.StrPosition: "position",
}  # fmt: skip


def figured(node: exp.Expr) -> str:
    """The name of an expression without AS."""
    return _figured(node)[0] or "?column?"


def _figured(node: exp.Expr) -> tuple[str, bool]:
    """A name, and whether it is a good one: casts and CASE name a column only if nothing in them does."""
    if isinstance(node, exp.Column):
        return name_of(node.this), True
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower(), True
    if isinstance(node, exp.Paren | exp.Filter | exp.Window):
        return _figured(node.this)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        name, good = _figured(default) if default is not None else ("", False)
        return (name, True) if good else ("case", False)
    if isinstance(node, exp.Cast):
        name, good = _figured(node.this)
        return (name, True) if good else (_type_name(node.args["to"]), False)
    if isinstance(node, exp.Interval):
        return "interval", False
    if isinstance(node, exp.Exists):
        return "exists", True
    if (
        isinstance(node, exp.Subquery)
        and isinstance(node.this, exp.Select)
        and len(node.this.expressions) == 1
    ):
        inner = node.this.expressions[0]
        return (name_of(inner.args["alias"]), True) if isinstance(inner, exp.Alias) else _figured(inner)
    if isinstance(node, exp.Trim):
        place = str(node.args.get("position") or "").upper()
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(place, "btrim"), True
    return _NAMED.get(type(node), ""), type(node) in _NAMED


def _type_name(node: exp.Expr) -> str:
    kind, _ = type_of(node)
    return "varchar" if isinstance(node, exp.DataType) and node.this == exp.DType.VARCHAR else kind
