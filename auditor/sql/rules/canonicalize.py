"""Other ways of writing the same, written the plain way before anything is judged.

Promises a tree with the meaning it had: aggregates are aggregates under all their names, what `EXISTS`
selects is a constant, and columns that a derived table or WITH query is given names for carry these names
themselves. What cannot be rewritten is left for `classify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from auditor.sql import ranges
from auditor.sql.context import Context
from auditor.sql.understood import NAMED_AGGREGATES


def canonicalize(tree: exp.Query, _: Context) -> exp.Query:
    """Write a tree the plain way."""
    for call in list(tree.find_all(exp.Anonymous)):
        _aggregate(call)
    for aggregate in list(tree.find_all(exp.AggFunc)):
        _plainer(aggregate)
    for date in list(tree.find_all(exp.Date)):
        if date.this is not None and not any(value for name, value in date.args.items() if name != "this"):
            date.replace(exp.cast(date.this, "DATE", dialect="duckdb"))
    ranges.plainer(tree)
    for select in tree.find_all(exp.Select):
        _joins_after(select)
    for collate in list(tree.find_all(exp.Collate)):
        _without_case(collate)
    for exists in tree.find_all(exp.Exists):
        _nothing_selected(exists)
    for alias in list(tree.find_all(exp.TableAlias)):
        columns = [column.name for column in alias.args.get("columns") or []]
        query = alias.parent.this if isinstance(alias.parent, exp.CTE | exp.Subquery) else None
        if columns and isinstance(query, exp.Query) and rename(query, columns):
            alias.set("columns", None)
    return tree


def _joins_after(select: exp.Select) -> None:
    """`FROM a JOIN b … SELECT …`: the joins belong to the SELECT, not to the table before them."""
    from_ = select.args.get("from_")
    table = from_.this if isinstance(from_, exp.From) else None
    joins = table.args.get("joins") if isinstance(table, exp.Table) else None
    if table is not None and joins:
        table.set("joins", None)
        select.set("joins", [*joins, *(select.args.get("joins") or [])])


def _aggregate(call: exp.Anonymous) -> None:
    """Let aggregates that sqlglot has no class for be aggregates to it."""
    name = call.name.lower()
    if name == "count_star" and not call.expressions:
        call.replace(exp.Count(this=exp.Star()))
    elif name == "mean" and len(call.expressions) == 1:
        call.replace(exp.Avg(this=call.expressions[0]))
    elif name in NAMED_AGGREGATES and isinstance(call.this, str):
        call.replace(exp.AnonymousAggFunc(this=name, expressions=call.expressions))


def _plainer(call: exp.AggFunc) -> None:
    """The extreme of different values is that of all; any value is one that is not NULL."""
    inner = call.this
    if (
        isinstance(call, exp.Max | exp.Min)
        and isinstance(inner, exp.Distinct)
        and len(inner.expressions) == 1
    ):
        call.set("this", inner.expressions[0])
    elif isinstance(call, exp.Mode) and isinstance(call.parent, exp.WithinGroup) and inner is None:
        order = call.parent.expression
        keys = order.expressions if isinstance(order, exp.Order) else []
        if len(keys) == 1:
            written = exp.Order(this=keys[0].this.copy(), expressions=[keys[0].copy()])
            call.parent.replace(exp.Mode(this=written))
    elif isinstance(call, exp.AnyValue) and isinstance(call.parent, exp.IgnoreNulls):
        call.parent.replace(exp.AnonymousAggFunc(this="any_value", expressions=[inner]))


_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In)
_FOLDED: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "nocase": lambda text: exp.Lower(this=text),
    "noaccent": lambda text: exp.Anonymous(this="STRIP_ACCENTS", expressions=[text]),
}
"""What DuckDB compares texts by under its own collations."""


def _without_case(collate: exp.Collate) -> None:
    """A comparison under COLLATE compares LOWER of both sides, or the like; elsewhere an order hangs on it.

    Other collations are left for `classify`, which knows none.
    """
    named = collate.expression
    plain = isinstance(named, exp.Var | exp.Identifier) or (isinstance(named, exp.Column) and not named.table)
    function = _FOLDED.get(str(named.name).lower()) if plain else None
    node: exp.Expr = collate
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    compared = node.parent
    if not isinstance(compared, _COMPARED) or compared.args.get("query") or function is None:
        return
    collate.replace(collate.this)
    sides = [compared.this, *([compared.expression] if compared.expression else compared.expressions)]
    if any(side.find(exp.Collate) for side in sides):
        return
    for side in sides:
        side.replace(function(side.copy()))


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
