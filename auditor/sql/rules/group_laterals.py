"""LATERAL aggregates over a group of the row beside them, written as the groups that they are.

    FROM d, LATERAL (SELECT AVG(pay) AS m FROM t WHERE t.dept = d.dept) x
    FROM d LEFT JOIN (SELECT AVG(pay) AS m, t.dept AS _k0 FROM t GROUP BY t.dept) x ON x._k0 = d.dept

Promise: both give the same rows: without GROUP BY such a query has one row, of NULL where there is nobody,
and a count of nobody is 0 wherever it is read. What is not of this form is left as it is, and refused.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.scopes import conjuncts, own_nodes
from auditor.sql.trees import copied, names_of, put, tables_of, where_of

_NULL_OF_NOBODY = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div,
    exp.Round, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Filter, exp.Where, exp.Alias, *_NULL_OF_NOBODY,
)  # fmt: skip
"""What is NULL where its aggregates are."""


def group_laterals(tree: exp.Query, _: Context) -> exp.Query:
    """Write such joins as joins of groups."""
    for select in list(tree.find_all(exp.Select)):
        if any(each.is_star for each in select.expressions):
            continue
        for join in list(select.args.get("joins") or []):
            if isinstance(join.this, exp.Lateral):
                _rewrite(select, join, join.this)
    return tree


def _rewrite(select: exp.Select, join: exp.Join, lateral: exp.Lateral) -> None:
    query = lateral.this.this if isinstance(lateral.this, exp.Subquery) else None
    alias = lateral.args.get("alias")
    if not isinstance(query, exp.Select) or alias is None or alias.args.get("columns"):
        return
    clauses = {name for name, value in query.args.items() if value}
    if not {"expressions", "from_", "where"} <= clauses <= {"expressions", "from_", "where", "joins"}:
        return
    on = join.args.get("on")
    if join.side not in ("", "LEFT") or not (on is None or (isinstance(on, exp.Boolean) and on.this)):
        return
    pairs, rest = [], []
    own = names_of(query)
    for each in conjuncts(query.args["where"].this):
        if tables_of(each) <= own | {""}:
            rest.append(each)
            continue
        sides = [each.this, each.expression] if type(each) is exp.EQ else []
        mine = [side for side in sides if tables_of(side) and tables_of(side) <= own | {""}]
        theirs = [side for side in sides if tables_of(side) and not tables_of(side) & (own | {""})]
        if len(mine) != 1 or len(theirs) != 1 or each.find(exp.Query):
            return
        pairs.append((mine[0], theirs[0]))
    counts = _counts(query)
    if not pairs or counts is None or not _apart(select, counts):
        return
    group = exp.Select(expressions=[each.copy() for each in query.expressions])
    for place, (inner, _) in enumerate(pairs):
        group.append("expressions", exp.alias_(inner.copy(), f"_k{place}", quoted=True))
    copied(query, ("from_", "joins"), group)
    group.set("where", where_of(rest))
    group.set("group", exp.Group(expressions=[inner.copy() for inner, _ in pairs]))
    conditions = [
        exp.EQ(
            this=exp.column(f"_k{place}", table=alias.this.copy(), quoted=True),
            expression=exp.paren(theirs.copy()),
        )
        for place, (_, theirs) in enumerate(pairs)
    ]
    for column in list(select.find_all(exp.Column)):
        if column.table == alias.name and column.name in counts:
            put(column, exp.Coalesce(this=column.copy(), expressions=[exp.Literal.number(0)]))
    held = exp.Subquery(this=group, alias=exp.TableAlias(this=alias.this.copy()))
    join.replace(exp.Join(this=held, side="LEFT", on=exp.and_(*conditions)))


def _counts(query: exp.Select) -> set[str] | None:
    """Names of the columns that are counts; None where one is neither a count nor NULL of nobody."""
    found = set[str]()
    for each in query.expressions:
        value = each.unalias().unnest()
        inner = value.this if isinstance(value, exp.Filter) else value
        if isinstance(inner, exp.Count):
            found.add(each.alias_or_name)
            continue
        nodes = [node for node in own_nodes(value) if node.find_ancestor(exp.AggFunc) is None]
        if not all(isinstance(node, _PLAIN) for node in nodes) or value.find(exp.Query):
            return None
        if not any(isinstance(node, _NULL_OF_NOBODY) for node in nodes):
            return None
    return found


def _apart(select: exp.Select, counts: set[str]) -> bool:
    """Whether it is plain where counts are read."""
    return not any(not column.table and column.name in counts for column in select.find_all(exp.Column))
