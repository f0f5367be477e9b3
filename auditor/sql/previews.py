"""Rows of a protected table with NULL in the protected column: what viewers of tables ask for first.

A program that shows a table sends `SELECT * FROM staff LIMIT 1000`. Where the owner allows previews, such a
statement is read as if the protected column held NULL alone. It may show the column, and do nothing else with
it: a condition, a group or an aggregate over NULLs would be an answer that is wrong.

Promise: what comes out names the protected column nowhere but as NULL of its type.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.limits import parse
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, folded, quoted
from auditor.sql.trees import derived
from auditor.sql.writing import generate

_NOT_SHOWN = ("group", "having", "distinct", "qualify", "windows")
_NEVER = (exp.SetOperation, exp.With, exp.AggFunc, exp.Window, exp.Columns)


def with_nulls(text: str, schema: Schema) -> str | None:
    """A statement over tables whose protected columns are NULL; None where it does more than show them."""
    tree = parse(text)
    protected = {folded(each.column) for each in schema.protected}
    if tree.find(*_NEVER) or any(
        select.args.get(each) for select in tree.find_all(exp.Select) for each in _NOT_SHOWN
    ):
        return None
    if _is_renamed(tree) or not all(_shows_rows(each) for each in tree.find_all(exp.Star)):
        return None
    shown = _names_of(tree, protected)
    if not all(_is_shown(each) for each in tree.find_all(exp.Column) if folded(each.name) in shown):
        return None
    tables = {folded(each.table) for each in schema.protected}
    for node in list(tree.find_all(exp.Table)):
        plain = folded(node.db or DEFAULT_SCHEMA) == DEFAULT_SCHEMA and not node.catalog
        if plain and folded(node.name) in tables:
            node.replace(_in_place_of(node, schema))
    return generate(tree)


def _is_renamed(tree: exp.Expr) -> bool:
    """Whether columns get names or values by their place in a list or in a *."""
    if any(alias.args.get("columns") for alias in tree.find_all(exp.TableAlias)):
        return True
    return any(star.args.get("rename") or star.args.get("replace") for star in tree.find_all(exp.Star))


def _names_of(tree: exp.Expr, columns: set[str]) -> set[str]:
    """Some columns' names and those that any SELECT gives to what has one of these."""
    given = [
        (folded(alias.alias), {folded(each.name) for each in alias.this.find_all(exp.Column)})
        for alias in tree.find_all(exp.Alias)
    ]
    names, before = set(columns), 0
    while len(names) > before:
        before = len(names)
        names |= {name for name, inner in given if inner & names}
    return names


def _is_shown(column: exp.Column) -> bool:
    """Whether a column is a column of the rows, and nothing is worked out from it."""
    node = column.parent if isinstance(column.parent, exp.Alias) else column
    holder = node.parent
    return isinstance(holder, exp.Select) and node.arg_key == "expressions" and _gives_rows(holder)


def _shows_rows(star: exp.Star) -> bool:
    select = star.find_ancestor(exp.Select)
    return select is not None and (_gives_rows(select) or isinstance(select.parent, exp.Exists))


def _gives_rows(select: exp.Select) -> bool:
    """Whether a SELECT is the statement, or stands in FROM: what it shows is compared with nothing."""
    node = select.parent
    while isinstance(node, exp.Subquery):
        node = node.parent
    return node is None or isinstance(node, exp.From | exp.Join | exp.Select)


def _in_place_of(node: exp.Table, schema: Schema) -> exp.Subquery:
    """A query of the same columns, NULL where they are protected."""
    table = next(each for each in schema.tables if folded(each.name) == folded(node.name))
    hidden = {folded(each.column) for each in schema.protected if folded(each.table) == folded(table.name)}
    cells = [
        f"CAST(NULL AS {type_}) AS {quoted(name)}" if folded(name) in hidden else quoted(name)
        for name, type_ in schema.columns_of(table)
    ]
    query = parse(f"SELECT {', '.join(cells)} FROM {quoted(table.name)}")
    return derived(query, node.alias_or_name)
