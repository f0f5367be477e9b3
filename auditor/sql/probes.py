"""Statements that give no row whatever the data are: programs ask them for names and types of columns.

`LIMIT 0` around anything, `WHERE FALSE` or `WHERE 1 = 0` over anything that is not aggregated. Drivers,
notebooks and BI tools send them before each question.

Promise: a statement that is called a probe gives no row from any database, so that nothing of it need be
judged, run or recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from sqlglot import exp

from auditor.sql.schema import quoted
from auditor.sql.scopes import conjuncts
from auditor.sql.statement import Plan

_MAKES_ROWS = (exp.AggFunc, exp.Query, exp.Explode)
"""An aggregate among what is selected would make a row of none; all else is worked out for each row."""
_COMPARED: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.GT: operator.gt, exp.LTE: operator.le,
    exp.GTE: operator.ge,
}  # fmt: skip


def gives_no_row(tree: exp.Query) -> bool:
    """Whether a statement gives no row from any database."""
    query = tree.unnest()
    if _limited(query):
        return True
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("having"):
        return False
    where = query.args.get("where")
    plain = not any(isinstance(node, _MAKES_ROWS) for each in query.expressions for node in each.walk())
    return plain and where is not None and any(_false(each) for each in conjuncts(where.this))


def probed(normalised: str, columns: Sequence[tuple[str, str]]) -> Plan:
    """The plan of a probe: these columns, and no row."""
    cells = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in columns)
    names, types = zip(*columns, strict=True)
    return Plan(normalised, (), f"SELECT {cells} WHERE FALSE", names, types, probe=True)


def _limited(query: exp.Expr) -> bool:
    limit = query.args.get("limit")
    options = None if limit is None else limit.args.get("limit_options")
    if options is not None and options.args.get("percent"):
        return False
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(limit, exp.Fetch):
        count = limit.args.get("count")
    return isinstance(count, exp.Literal) and not count.is_string and count.this == "0"


def _false(condition: exp.Expr) -> bool:
    """Whether a condition holds for no row: FALSE, NULL, or two whole numbers compared."""
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if isinstance(condition, exp.Null):
        return True
    compared = _COMPARED.get(type(condition))
    if compared is None:
        return False
    sides = condition.this.unnest(), condition.expression.unnest()
    if not all(
        isinstance(each, exp.Literal) and not each.is_string and each.this.isdigit() for each in sides
    ):
        return False
    return not compared(int(sides[0].this), int(sides[1].this))
