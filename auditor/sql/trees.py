"""Parts of trees as rules read and write them: sources, FILTER, derived tables, names that stay.

Pure, and of no column does it know whether it is protected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp


def sources(select: exp.Expr) -> list[exp.Expr]:
    """What stands in FROM and its joins."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [*([from_.this] if from_ is not None else []), *(each.this for each in joins)]


def names_of(select: exp.Expr) -> set[str]:
    """The names of what a SELECT reads."""
    return {each.alias_or_name for each in sources(select)}


def tables_of(node: exp.Expr) -> set[str]:
    """The tables of the columns in an expression; "" for a column without one."""
    return {column.table for column in node.find_all(exp.Column)}


def ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    """What stands around a node, from the inside out."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def holder_of(aggregate: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER."""
    parent = aggregate.parent
    return parent if isinstance(parent, exp.Filter) else aggregate


def filters(holder: exp.Expr) -> list[exp.Expr]:
    """The condition of an aggregate's FILTER, if it has one."""
    return [holder.expression.this] if isinstance(holder, exp.Filter) else []


def filtered(aggregate: exp.Expr, conditions: Iterable[exp.Expr]) -> exp.Filter:
    """An aggregate over the rows that keep conditions."""
    return exp.Filter(this=aggregate, expression=where_of(conditions))


def where_of(conditions: Iterable[exp.Expr]) -> exp.Where | None:
    """WHERE with copies of conditions; None without any."""
    copies = [each.copy() for each in conditions]
    return exp.Where(this=exp.and_(*copies)) if copies else None


def derived(query: exp.Expr, name: str) -> exp.Subquery:
    """A query as a table of a name."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def copied(select: exp.Expr, clauses: Sequence[str], into: exp.Expr) -> None:
    """Copy clauses of a SELECT to another."""
    for clause in clauses:
        value = select.args.get(clause)
        into.set(
            clause, [each.copy() for each in value] if isinstance(value, list) else value and value.copy()
        )


def put(node: exp.Expr, value: exp.Expr) -> None:
    """Replace a node; a column of the answer keeps its name."""
    if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
        node.replace(exp.alias_(value, node.alias_or_name or "_col", quoted=True))
    else:
        node.replace(value)
