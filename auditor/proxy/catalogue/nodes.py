"""Small trees that the rules of translation are made of."""

from __future__ import annotations

from sqlglot import exp

from auditor.proxy.catalogue.columns import kind_of, relation_of
from auditor.proxy.catalogue.errors import not_imitated
from auditor.proxy.catalogue.parameters import literal_array
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS

LONGEST = 1024
"""Characters of a text that longer ones are made of, as in functions.sql."""


def typed(node: exp.Expr, kind: str) -> exp.Expr:
    """A value cast to one of DuckDB's types."""
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="duckdb"))


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call of one of DuckDB's functions or of our macros."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def shown_as_text(node: exp.Expr) -> exp.Expr:
    """A value as the text that PostgreSQL shows."""
    kind = kind_of(node)
    if kind in OBJECT_NAMES:
        return call(f"cae_{registered(kind)}_text", node)
    if kind in VECTORS:
        return call("cae_vector_text", node)
    return node


def registered(kind: str) -> str:
    """The name in the macros of a type of names of objects."""
    if kind == "regrole":
        raise not_imitated("regrole")
    return "regproc" if kind == "regprocedure" else kind


def listed(node: exp.Expr) -> exp.Expr:
    """An array, also where it is written as a text."""
    inner = node.unnest()
    if isinstance(inner, exp.Literal) and inner.is_string:
        return literal_array(inner.name)
    return inner


def subscripts(node: exp.Expr) -> exp.Expr:
    """The subscripts of an array, as a list."""
    first = 0 if kind_of(node) in VECTORS else 1
    last = exp.Sub(this=call("len", node), expression=exp.Literal.number(1 - first))
    return call("generate_series", exp.Literal.number(first), last)


def unnested(lists: list[exp.Expr], alias: exp.Expr | None, name: str) -> exp.Expr:
    """A list as a table; without names for its columns, the table's is the column's."""
    table = alias.this if alias is not None and alias.this else exp.to_identifier(name, quoted=True)
    columns = list(alias.args.get("columns") or ()) if alias is not None else []
    if not columns and len(lists) == 1:
        columns = [table]
    return exp.Unnest(expressions=lists, alias=exp.TableAlias(this=table, columns=columns))


def bounded(node: exp.Expr) -> exp.Expr:
    """A value that a longer one is made of: short, whatever a client sends."""
    if isinstance(node, exp.Column) and relation_of(node) is not None:
        return node
    if isinstance(node, exp.Literal) and len(node.name) <= LONGEST:
        return node
    return call("cae_short", node)
