"""Other ways of writing the same, written the plain way before anything is judged.

Promises a tree with the meaning it had: what `EXISTS` selects is a constant, and columns that a derived table
or WITH query is given names for carry these names themselves. What cannot be rewritten is left for `classify`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def rewrite(tree: exp.Query) -> None:
    """Write a tree the plain way, in place."""
    for exists in tree.find_all(exp.Exists):
        _nothing_selected(exists)
    for alias in list(tree.find_all(exp.TableAlias)):
        columns = [column.name for column in alias.args.get("columns") or []]
        query = alias.parent.this if isinstance(alias.parent, exp.CTE | exp.Subquery) else None
        if columns and isinstance(query, exp.Query) and rename(query, columns):
            alias.set("columns", None)


def _nothing_selected(exists: exp.Exists) -> None:
    """`EXISTS (SELECT * …)` asks for rows, whatever is selected."""
    query = exists.this
    if not isinstance(query, exp.Select) or query.args.get("limit") or query.args.get("offset"):
        return
    if any(query.args.get(clause) for clause in ("group", "having", "distinct", "qualify")):
        return
    if all(isinstance(projection, exp.Star | exp.Column) for projection in query.expressions):
        query.set("expressions", [exp.Literal.number(1)])


def rename(query: exp.Query, names: Sequence[str]) -> bool:
    """Give the first columns of a query these names; False if it is not plain which these are."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or len(names) > len(query.expressions):
        return False
    if any(projection.is_star or projection.find(exp.Columns) for projection in query.expressions):
        return False
    for projection, name in zip(list(query.expressions), names, strict=False):
        projection.replace(exp.alias_(projection.unalias().copy(), name, quoted=True))
    return True
