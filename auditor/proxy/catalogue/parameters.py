"""Parameters of statements about the catalogue: their types, and their values as literals."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal

from sqlglot import exp

from auditor.proxy.catalogue.columns import kind_of, type_name
from auditor.proxy.catalogue.errors import CatalogueError, not_imitated
from auditor.proxy.catalogue.relations import stored_as
from auditor.proxy.values.arrays import parse_text
from auditor.proxy.values.errors import BadParameter

_OID_FUNCTIONS = ("_is_visible", "description", "pg_get_", "format_type")


def kinds(tree: exp.Expr) -> dict[int, str]:
    """PostgreSQL's types of the parameters of an annotated tree, by number; text where nothing tells."""
    found: dict[int, str] = {}
    for node in tree.find_all(exp.Parameter):
        if not node.this.name.isdecimal():
            raise not_imitated("a parameter without a number")
        kind = _kind(node)
        number = int(node.this.name)
        if kind or number not in found:
            found[number] = kind or "text"
    return found


def _kind(node: exp.Expr) -> str:
    inner, parent = node, node.parent
    while isinstance(parent, exp.Paren):
        inner, parent = parent, parent.parent
    if isinstance(parent, exp.Cast):
        return type_name(parent.args["to"])
    if isinstance(parent, exp.Any):
        outer = parent.parent
        other = kind_of(outer.this) if isinstance(outer, exp.Binary) else ""
        return f"_{other}" if other and other != "unknown" else ""
    if isinstance(parent, exp.Binary):
        other = kind_of(parent.expression if inner is parent.this else parent.this)
        return "text" if other == "unknown" else other
    if isinstance(parent, exp.In):
        return kind_of(parent.this)
    if isinstance(parent, exp.Limit | exp.Offset):
        return "int8"
    if not isinstance(parent, exp.Anonymous) or parent.expressions[0] is not inner:
        return ""
    return "oid" if any(each in str(parent.this).lower() for each in _OID_FUNCTIONS) else ""


def unknown(kind: str) -> exp.Expr:
    """A value that is not given yet, of a type: what a statement is described with."""
    made = exp.cast(exp.null(), exp.DataType.build(stored_as(kind), dialect="duckdb"))
    made.meta["kind"] = kind
    return made


def literal(value: object) -> exp.Expr:
    """A value as a literal.

    Raises:
        CatalogueError: for a value of a type that the catalogue has no use for.
    """
    if isinstance(value, exp.Expr):
        return value.copy()
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, Decimal) and not value.is_finite():
        return exp.Literal.string(str(value))
    if isinstance(value, int | Decimal):
        return exp.Literal.number(str(value)) if value >= 0 else exp.Neg(this=exp.Literal.number(str(-value)))
    if isinstance(value, str):
        made: exp.Expr = exp.Literal.string(value)
        made.meta["kind"] = "unknown"
        return made
    if isinstance(value, datetime.datetime | datetime.date | uuid.UUID | float):
        return exp.Literal.string(str(value))
    if isinstance(value, list | tuple):
        return exp.Array(expressions=[literal(each) for each in value])
    raise CatalogueError("a parameter of this type has no use in a statement about the catalogue", "42804")


def literal_array(text: str) -> exp.Expr:
    """The elements of an array that is written as a text, such as `{a,"b c"}`."""
    try:
        elements = parse_text(text, str)
    except BadParameter as error:
        raise CatalogueError(f'{error}: "{text[:40]}"', error.sqlstate) from None
    if any(isinstance(each, list) for each in elements):
        raise not_imitated("an array of arrays")
    return exp.Array(
        expressions=[exp.null() if each is None else exp.Literal.string(each) for each in elements]
    )
