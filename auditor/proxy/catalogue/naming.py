"""Names of columns that a statement does not name, by PostgreSQL's rules (FigureColname in its parser)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from auditor.proxy.catalogue.columns import kind_of, name_of, type_name
from auditor.proxy.catalogue.errors import not_imitated


def name_columns(select: exp.Select) -> None:
    """Give every column of a SELECT the name that PostgreSQL gives it."""
    if not select.expressions:
        if not isinstance(select.parent, exp.Exists):
            raise not_imitated("SELECT of nothing")
        select.set("expressions", [exp.Literal.number(1)])
    named = []
    for each in select.expressions:
        if isinstance(each, exp.Alias | exp.Star) or (
            isinstance(each, exp.Column) and isinstance(each.this, exp.Star)
        ):
            named.append(each)
            continue
        kind = kind_of(each)
        alias = exp.Alias(this=each, alias=exp.to_identifier(figured(each) or "?column?", quoted=True))
        alias.meta["kind"] = kind
        named.append(alias)
    select.set("expressions", named)


def figured(node: exp.Expr) -> str:
    """The name of a column without AS (FigureColname in PostgreSQL's parser); "" if nothing names it."""
    return _figured(node)[0]


_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
    exp.CurrentCatalog: "current_catalog", exp.CurrentTimestamp: "current_timestamp", exp.Exists: "exists",
    exp.CurrentDate: "current_date", exp.Array: "array", exp.Substring: "substring", exp.StrPosition:
    "position", exp.Extract: "extract",
}  # fmt: skip


def _figured(node: exp.Expr) -> tuple[str, bool]:
    """A name, and whether it is a good one: casts and CASE name a column only if nothing in them does."""
    if isinstance(node, exp.Column):
        return name_of(node.this), True
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower(), True
    if isinstance(node, exp.Dot):
        called = isinstance(node.expression, exp.Anonymous)
        return _figured(node.expression) if called else (name_of(node.expression), True)
    if isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.Bracket | exp.Collate):
        return _figured(node.this)
    if isinstance(node, exp.Cast):
        name, good = _figured(node.this)
        to = node.args["to"]
        kind = type_name(to)
        listed = isinstance(to, exp.DataType) and to.this == exp.DType.ARRAY
        return (name, True) if good else (kind.removeprefix("_") if listed else kind, False)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        name, good = _figured(default) if default is not None else ("", False)
        return (name, True) if good else ("case", False)
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
    if isinstance(node, exp.Interval):
        return "interval", False
    return _WORDS.get(type(node), ""), type(node) in _WORDS
