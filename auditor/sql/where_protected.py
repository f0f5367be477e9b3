"""Which columns of which SELECT are protected, before anything is judged: for those who write trees anew.

A hint, not a promise: what is written anew is read by `kinds` like any other statement.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from auditor.sql.schema import Protected, Schema, folded
from auditor.sql.scopes import sources_of
from auditor.sql.shape import DATA

Names = dict[tuple[str, str], Protected]
"""By alias and name."""


def protected_by_select(tree: exp.Query, schema: Schema) -> dict[int, Names]:
    """By id of a SELECT: its sources' protected columns, those that inner queries pass on among them."""
    own = {
        folded(table.name): {folded(each.column): each for _, each in schema.protected_of(table)}
        for table in schema.tables
    }
    found: dict[int, Names] = {}
    passed: dict[int, dict[str, Protected]] = {}
    for scope in traverse_scope(tree):
        select = scope.expression
        if not isinstance(select, exp.Select):
            continue
        names: Names = {}
        for alias, source in sources_of(scope):
            if isinstance(source, Scope):
                given = passed.get(id(first_select(source.expression)), {})
            else:
                given = own.get(source.name, {}) if source.db == DATA else {}
            names |= {(alias, name): each for name, each in given.items()}
        found[id(select)] = names
        shown = [(each.alias_or_name, name_of(each.unalias())) for each in select.expressions]
        passed[id(select)] = {alias: names[name] for alias, name in shown if name in names}
    return found


def reads(node: exp.Expr, names: Names) -> bool:
    """Whether one of the columns stands in an expression."""
    return any(name_of(column) in names for column in node.find_all(exp.Column))


def name_of(node: exp.Expr) -> tuple[str, str]:
    """Alias and name of a column; empty of anything else."""
    return (node.table, node.name) if isinstance(node, exp.Column) else ("", "")


def first_select(query: exp.Expr) -> exp.Expr:
    """The SELECT that gives a query's columns their names."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query
