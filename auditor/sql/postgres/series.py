"""Rows that a function in FROM makes of constants: generate_series and unnest.

What they may be is for `auditor.sql.written_rows` to say, of DuckDB's text.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from auditor.sql.postgres import casts, functions, zones
from auditor.sql.postgres.scopes import name_of
from auditor.sql.postgres.values import INTEGERS, Value, cast, no_operator
from auditor.sql.schema import quoted
from auditor.sql.understood import NotUnderstood

_NAMES = ("generate_series", "unnest")


class Translator(Protocol):
    """Translates arguments."""

    def value(self, node: exp.Expr) -> Value:
        """Any expression."""


def source(node: exp.Expr, translator: Translator) -> tuple[str, str, tuple[tuple[str, Value], ...]]:
    """Alias, text and columns of such a source.

    Raises:
        NotUnderstood: code "table-function", for any other function in FROM.
    """
    if isinstance(node, exp.Unnest):
        called, arguments = "unnest", list(node.expressions)
        if node.args.get("offset"):
            raise NotUnderstood("construct", name="WITH ORDINALITY")
    else:
        called = str(node.this.name).lower() if isinstance(node.this, exp.Anonymous) else ""
        arguments = list(node.this.expressions) if called in _NAMES else []
    alias = node.args.get("alias")
    given = alias.args.get("columns") or [] if alias is not None else []
    table = name_of(alias.this) if alias is not None and alias.this is not None else called
    column = name_of(given[0]) if given else table
    if called not in _NAMES or not arguments or len(given) > 1:
        raise NotUnderstood("table-function", tables="those that are listed as public")
    rows, value = _unnested(arguments, translator) if called == "unnest" else _series(arguments, translator)
    inner = f'SELECT UNNEST({rows}) AS "_row"'
    text = f'(SELECT {value.text} AS {quoted(column)} FROM ({inner}) AS "_rows") AS {quoted(table)}'
    return table, text, ((column, Value('"?"', value.kind, scale=value.scale, bare=True)),)


def alone(tree: exp.Expr) -> None:
    """`SELECT generate_series(1, 3)`, and of unnest, with the function in FROM, in place."""
    clauses = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or clauses != {"expressions"} or len(tree.expressions) != 1:
        return
    (shown,) = tree.expressions
    call = shown.unalias()
    named = isinstance(call, exp.Anonymous) and str(call.this).lower() in _NAMES
    if not named and not isinstance(call, exp.Unnest):
        return
    name = exp.to_identifier(shown.alias or (str(call.this).lower() if named else "unnest"), quoted=True)
    alias = exp.TableAlias(this=name, columns=[name.copy()])
    source = exp.Table(this=call.copy(), alias=alias) if named else call.copy()
    source.set("alias", alias)
    tree.set("expressions", [exp.Star()])
    tree.set("from_", exp.From(this=source))


def _series(arguments: list[exp.Expr], translator: Translator) -> tuple[str, Value]:
    values = [translator.value(each) for each in arguments]
    row = '"_rows"."_row"'
    if values[0].kind in INTEGERS and all(each.kind in INTEGERS for each in values) and len(values) in (2, 3):
        kind = "int8" if any(each.kind == "int8" for each in values) else "int4"
        rows = f"GENERATE_SERIES({', '.join(each.text for each in values)})"
        return rows, Value(cast(Value(row, "int8"), INTEGERS[kind]), kind)
    if len(values) != 3:
        raise no_operator(*values[:2])
    step = casts.typed(values[2], "interval")
    _, ends = functions.unify(*values[:2])
    if step.kind != "interval" or ends[0].kind not in ("date", "timestamp"):
        raise no_operator(ends[0], step)
    rows = f"GENERATE_SERIES({', '.join([cast(each, 'TIMESTAMP') for each in ends])}, {step.text})"
    shown = Value(row, "timestamp")
    # of dates PostgreSQL makes moments with a zone
    return rows, zones.from_utc(shown) if ends[0].kind == "date" else shown


def _unnested(arguments: list[exp.Expr], translator: Translator) -> tuple[str, Value]:
    array = arguments[0].unnest() if isinstance(arguments[0], exp.Paren) else arguments[0]
    if len(arguments) != 1 or not isinstance(array, exp.Array) or not array.expressions:
        raise NotUnderstood("nested-type")
    kind, parts = functions.unify(*(translator.value(each) for each in array.expressions))
    return f"[{', '.join(part.text for part in parts)}]", functions.like('"_rows"."_row"', kind, *parts)
