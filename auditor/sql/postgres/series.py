"""Rows that a function in FROM makes of constants: generate_series and unnest.

What they may be is for `rules.write_rows` to say, of DuckDB's text.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from auditor.sql.postgres import aggregates, casts, functions, zones
from auditor.sql.postgres.scopes import name_of
from auditor.sql.postgres.values import INTEGERS, STORED, Value, cast, no_operator
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


def in_from(tree: exp.Expr) -> None:
    """`SELECT generate_series(1, 3) AS y`, of unnest too, with the function in FROM, in place.

    In a SELECT without FROM the function alone makes the rows: each value shown is one of them, or the same
    in all. Several such functions in one SELECT are walked side by side: those are left to be refused.
    """
    for select in list(tree.find_all(exp.Select)):
        clauses = {name for name, value in select.args.items() if value}
        if "expressions" not in clauses or clauses - {
            "expressions",
            "distinct",
            "order",
            "limit",
            "offset",
            "with_",
        }:
            continue
        calls = [each for shown in select.expressions for each in _calls(shown)]
        if len(calls) == 1 and not _is_in_aggregate(calls[0], select):
            _move(select, calls[0])


def _calls(shown: exp.Expr) -> list[exp.Expr]:
    """Such functions of an expression, but for those of a query in it."""
    return [each for each in shown.walk(prune=lambda node: isinstance(node, exp.Query)) if _is_call(each)]


def _is_call(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and str(node.this).lower() in _NAMES
    return named or isinstance(node, exp.Unnest)


def _is_in_aggregate(call: exp.Expr, select: exp.Select) -> bool:
    """Whether what stands around such a call asks for one value: PostgreSQL has none for it."""
    around = call.parent
    while around is not None and around is not select:
        name = str(around.this).lower() if isinstance(around, exp.Anonymous) else ""
        if isinstance(around, exp.Case | exp.Window) or name == "coalesce" or aggregates.is_aggregate(name):
            return True
        around = around.parent
    return False


def _move(select: exp.Select, call: exp.Expr) -> None:
    called = str(call.this).lower() if isinstance(call, exp.Anonymous) else "unnest"
    shown = next(each for each in select.expressions if each is call or call in each.walk())
    name = shown.alias if isinstance(shown, exp.Alias) and shown.this is call else called
    identifier = exp.to_identifier(name, quoted=True)
    alias = exp.TableAlias(this=identifier, columns=[identifier.copy()])
    source = exp.Table(this=call.copy(), alias=alias) if isinstance(call, exp.Anonymous) else call.copy()
    source.set("alias", alias)
    column = exp.column(identifier.copy(), table=identifier.copy())
    if shown is call:
        select.set("expressions", [column if each is call else each for each in select.expressions])
    else:
        call.replace(column)
    select.set("from_", exp.From(this=source))


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
    if step.kind != "interval" or ends[0].kind not in ("date", "timestamp", zones.KIND):
        raise no_operator(ends[0], step)
    # of dates PostgreSQL makes moments with a zone
    kind = "timestamp" if ends[0].kind == "timestamp" else zones.KIND
    rows = f"GENERATE_SERIES({', '.join([cast(each, STORED[kind]) for each in ends])}, {step.text})"
    return rows, Value(row, kind)


def _unnested(arguments: list[exp.Expr], translator: Translator) -> tuple[str, Value]:
    array = arguments[0].unnest() if isinstance(arguments[0], exp.Paren) else arguments[0]
    if len(arguments) != 1 or not isinstance(array, exp.Array) or not array.expressions:
        raise NotUnderstood("nested-type")
    kind, parts = functions.unify(*(translator.value(each) for each in array.expressions))
    return f"[{', '.join(part.text for part in parts)}]", functions.like('"_rows"."_row"', kind, *parts)
