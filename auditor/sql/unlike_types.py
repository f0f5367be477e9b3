"""What a statement that failed may have failed of: a text beside a number or a date, which the engine casts.

    SELECT SUM(pay) FROM staff WHERE age = 'M'  ->  It compares age, which is BIGINT, with 'M', a text …

Promise: what is said follows from the statement's text and the types of its columns, never from what these
hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from auditor.sql.dialects import Dialect
from auditor.sql.limits import reread
from auditor.sql.schema import Schema, folded
from auditor.sql.shape import Shape, shape_of
from auditor.sql.spelling import written
from auditor.sql.trees import copied
from auditor.sql.understood import NotUnderstood

_TEXT = "VARCHAR"
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_MOST = 40
"""Comparisons and casts that are looked at: a hint is not worth more."""


def unlike(normalised: str, schema: Schema, said: str, dialect: Dialect) -> str:
    """A sentence about the first text beside another type; empty if there is none to be seen.

    Args:
        normalised: The statement, as `Plan.normalised` has it.
        schema: What it may name.
        said: What the analyst wrote: nothing else is quoted, such as a view's conditions.
        dialect: Whose words the types are named in.
    """
    try:
        tree = reread(normalised)
        words = folded(said)
        for place, (kind, left, right) in enumerate(_pairs(tree)):
            if place >= _MOST:
                break
            quoted = left.find_all(exp.Column) if kind == "cast" else _named(left, right)
            if not all(folded(each.name) in words for each in quoted):
                continue
            sentence = _compared(tree, shape_of(schema), kind, left, right, dialect)
            if sentence:
                return sentence
    except (SqlglotError, RecursionError, NotUnderstood, duckdb.Error):
        pass  # then nothing more is said than before
    return ""


def _pairs(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr, exp.Expr]]:
    """What is compared with what, then what is cast to what."""
    for node in tree.find_all(*_COMPARED, exp.In, exp.Between):
        others = [node.args.get(each) for each in ("expression", "low", "high")] + list(node.expressions)
        for other in others:
            if isinstance(other, exp.Expr) and not other.find(exp.Query) and not node.this.find(exp.Query):
                yield "compared", node.this, other
    for node in tree.find_all(exp.Cast):
        if type(node) is exp.Cast:
            yield "cast", node.this, node.args["to"]


def _named(*nodes: exp.Expr) -> Iterator[exp.Expr]:
    for node in nodes:
        yield from node.find_all(exp.Column, exp.Literal)


def _compared(
    tree: exp.Expr, shape: Shape, kind: str, left: exp.Expr, right: exp.Expr, dialect: Dialect
) -> str:
    if kind == "cast":
        columns = list(dict.fromkeys(left.find_all(exp.Column)))
        ((_, to),) = shape.describe(f"SELECT CAST(NULL AS {right.sql(dialect='duckdb')})")
        if len(columns) != 1 or to == _TEXT or _types(tree, shape, columns) != [_TEXT]:
            return ""
        cast = f"{_type(_TEXT, dialect)}, to {_type(to, dialect)}"
        return f"It casts {_shown(columns[0])}, which is {cast}: some text may be none."
    types = _types(tree, shape, [left, right])
    if (types[0] == _TEXT) == (types[1] == _TEXT) or _fits(shape, left, right, types):
        return ""
    text, other = (left, right) if types[0] == _TEXT else (right, left)
    type_ = _type(types[1] if types[0] == _TEXT else types[0], dialect)
    if isinstance(text, exp.Literal):
        compared = f"{_shown(other)}, which is {type_}, with {_shown(text)}, a text that is none"
        return f"It compares {compared}: compare values of one type."
    compared = f"{_shown(text)}, which is {_type(_TEXT, dialect)}, with {_shown(other)}, which is {type_}"
    return f"It compares {compared}: compare texts with texts."


def _types(tree: exp.Expr, shape: Shape, nodes: Sequence[exp.Expr]) -> list[str]:
    """DuckDB's types of expressions of one SELECT, by asking for nothing but them."""
    select = nodes[0].find_ancestor(exp.Select)
    if select is None:
        return [""] * len(nodes)
    held = exp.Select(expressions=[exp.alias_(each.copy(), f"c{place}") for place, each in enumerate(nodes)])
    copied(select, ("from_", "joins", "laterals"), held)
    copied(tree, ("with_",), held)
    return [type_ for _, type_ in shape.describe(held.sql(dialect="duckdb"))]


def _fits(shape: Shape, left: exp.Expr, right: exp.Expr, types: list[str]) -> bool:
    """Whether a text that is written out is a value of the other side's type."""
    text, type_ = (left, types[1]) if types[0] == _TEXT else (right, types[0])
    if not isinstance(text, exp.Literal):
        return False
    return shape.reads(text.name, type_)


def _shown(node: exp.Expr) -> str:
    copy = node.copy()
    for column in list(copy.find_all(exp.Column)):
        column.set("table", None)
        column.set("db", None)
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", written(name.name) != name.name)
    return copy.sql(dialect="duckdb")


def _type(type_: str, dialect: Dialect) -> str:
    if dialect == "duckdb":
        return type_
    return "text" if type_ == _TEXT else exp.DataType.build(type_, dialect="duckdb").sql("postgres").lower()
