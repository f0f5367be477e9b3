"""Statements that give no row whatever the data are: programs ask them for names and types of columns.

`LIMIT 0` around anything, `WHERE FALSE` or `WHERE 1 = 0` over anything that is not aggregated. Drivers,
notebooks and BI tools send them before each question.

Promise: a statement that is called a probe gives no row from any database, so that nothing of it need be
judged, run or recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from auditor.sql.schema import quoted
from auditor.sql.scopes import conjuncts
from auditor.sql.statement import Plan

_PLAIN = (
    *(exp.Star, exp.Column, exp.Identifier, exp.Alias, exp.Cast, exp.DataType, exp.DataTypeParam),
    *(exp.Literal, exp.Boolean, exp.Null, exp.Paren),
)
"""What is worked out for each row: an aggregate among what is selected would make a row of none."""


def gives_no_row(tree: exp.Query) -> bool:
    """Whether a statement gives no row from any database."""
    query = tree.unnest()
    if _limited(query):
        return True
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("having"):
        return False
    where = query.args.get("where")
    plain = all(isinstance(node, _PLAIN) for each in query.expressions for node in each.walk())
    return plain and where is not None and any(_false(each) for each in conjuncts(where.this))


def probed(normalised: str, columns: Sequence[tuple[str, str]]) -> Plan:
    """The plan of a probe: these columns, and no row."""
    cells = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in columns)
    names, types = zip(*columns, strict=True)
    return Plan(normalised, (), f"SELECT {cells} WHERE FALSE", names, types, probe=True)


def _limited(query: exp.Expr) -> bool:
    limit = query.args.get("limit")
    if limit is not None and limit.args.get("limit_options"):
        return False
    count = limit.expression if isinstance(limit, exp.Limit) else None
    return isinstance(count, exp.Literal) and not count.is_string and count.this == "0"


def _false(condition: exp.Expr) -> bool:
    """Whether a condition holds for no row: FALSE, or two whole numbers compared."""
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if not isinstance(condition, exp.EQ | exp.NEQ):
        return False
    sides = condition.this.unnest(), condition.expression.unnest()
    if not all(
        isinstance(each, exp.Literal) and not each.is_string and each.this.isdigit() for each in sides
    ):
        return False
    alike = int(sides[0].this) == int(sides[1].this)
    return alike == isinstance(condition, exp.NEQ)
