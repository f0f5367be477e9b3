"""PIVOT with a list of values, written as GROUP BY with a FILTER for each value; SUMMARIZE of public columns.

    SELECT * FROM t PIVOT (AVG(pay) FOR sex IN ('f', 'm') GROUP BY dept)
    SELECT * FROM (SELECT dept, AVG(pay) FILTER (WHERE sex = 'f') AS f, AVG(pay) FILTER (WHERE sex = 'm') AS m
                   FROM t GROUP BY dept)

What comes out is another text, which is read like any other; names and types of its columns are compared with
those that DuckDB gives the first.

Promise: None where there is no PIVOT, or none that is read. Without a list its columns are the values that
there are, which no text says.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.limits import parse
from auditor.sql.parameters import literal
from auditor.sql.schema import Schema, folded, quoted
from auditor.sql.shape import DATA, Describe
from auditor.sql.statement import Plan
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import generate

_PIVOT = re.compile(r"\bPIVOT\b", re.IGNORECASE)
_STATEMENT = re.compile(r"\s*PIVOT\b", re.IGNORECASE)
_SUMMARIZE = re.compile(
    r'\s*SUMMARIZE\s+(?:TABLE\s+)?((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)\s*;?\s*', re.IGNORECASE
)
_SUMMARIZE_QUERY = re.compile(r"\s*SUMMARIZE\s+((?:SELECT|FROM)\b.*)", re.IGNORECASE | re.DOTALL)
_LAST = re.compile(r"\s+ORDER\s+BY\s[^()\'\"]*$|\s+LIMIT\s+\d+\s*$", re.IGNORECASE)
"""What comes after a PIVOT that is a statement."""
MOST = 100
"""Columns that a PIVOT makes."""


@dataclass(frozen=True)
class _Pivot:
    """One PIVOT in a statement."""

    tree: exp.Query
    holder: exp.Expr
    """What the grouped query takes the place of."""
    source: exp.Expr
    fields: Sequence[exp.Expr]
    totals: Sequence[exp.Expr]
    group: exp.Group | None
    alias: exp.Expr | None

    def put(self, query: exp.Select) -> str:
        """The statement with a query in place of its PIVOT."""
        held = None if self.alias is None else exp.TableAlias(this=self.alias.this.copy())
        self.holder.replace(exp.Subquery(this=query, alias=held))
        return generate(self.tree)


def written_out(text: str, describe: Describe) -> str | None:
    """The text with GROUP BY in place of PIVOT; None where that cannot be written."""
    pivot = _pivot(text)
    query = None if pivot is None else _grouped(pivot, pivot.fields, describe)
    if pivot is None or query is None:
        return None
    written = pivot.put(query)
    return written if describe(written) == describe(text) else None


def values_wanted(text: str) -> str | None:
    """A query of the values that a PIVOT without a list makes columns of; None where there is none."""
    pivot = _pivot(text)
    if pivot is None or len(pivot.fields) != 1 or not isinstance(pivot.fields[0], exp.Column):
        return None
    (field,) = pivot.fields
    rows = exp.Select(expressions=[field.copy()], distinct=exp.Distinct())
    rows.set("from_", exp.From(this=pivot.source.copy()))
    rows.set("where", exp.Where(this=field.copy().is_(exp.null()).not_()))
    rows.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1))]))
    return generate(rows)


def with_values(text: str, values: Sequence[object], describe: Describe) -> str | None:
    """The text with GROUP BY in place of a PIVOT without a list, for these values; None as `written_out`."""
    pivot = _pivot(text)
    if pivot is None or len(pivot.fields) != 1 or not all(isinstance(each, str | int) for each in values):
        return None
    literals = [literal(each) for each in values]
    query = _grouped(pivot, [exp.In(this=pivot.fields[0].copy(), expressions=literals)], describe)
    return None if query is None else pivot.put(query)


def _pivot(text: str) -> _Pivot | None:
    if not _PIVOT.search(text):
        return None
    if _STATEMENT.match(text):
        body = text.strip().rstrip(";")
        last = _LAST.search(body)
        tail = "" if last is None else last[0]
        text = f"SELECT * FROM ({body[: len(body) - len(tail)]}){tail}"
    tree = parse(text)
    pivots = list(tree.find_all(exp.Pivot))
    # names of WITH queries mean nothing to what is described apart
    if len(pivots) != 1 or pivots[0].args.get("unpivot") or tree.find(exp.With):
        return None
    (pivot,) = pivots
    holder = pivot.parent
    group = pivot.args.get("group")
    if isinstance(holder, exp.Subquery) and holder.this is pivot:
        using = pivot.args.get("using") or []
        alias = holder.args.get("alias")
        return _Pivot(tree, holder, pivot.this.copy(), pivot.expressions, using, group, alias)
    if not isinstance(holder, exp.Table | exp.Subquery):
        return None
    source = holder.copy()
    source.set("pivots", None)
    fields = pivot.args.get("fields") or []
    alias = pivot.args.get("alias") or holder.args.get("alias")
    return _Pivot(tree, holder, source, fields, pivot.expressions, group, alias)


def _grouped(pivot: _Pivot, fields: Sequence[exp.Expr], describe: Describe) -> exp.Select | None:
    source, totals, group = pivot.source, pivot.totals, pivot.group
    if not fields or not totals or not all(isinstance(each, exp.In) and each.expressions for each in fields):
        return None
    if not all(isinstance(each.this, exp.Column) for each in fields):
        return None
    if group is not None:
        keys = [each.copy() for each in group.expressions]
        if not all(isinstance(each, exp.Column) for each in keys):
            return None
    else:
        rows = exp.Select(expressions=[exp.Star()])
        rows.set("from_", exp.From(this=source.copy()))
        read = {folded(column.name) for each in (*fields, *totals) for column in each.find_all(exp.Column)}
        keys = [
            exp.column(name, quoted=True) for name, _ in describe(generate(rows)) if folded(name) not in read
        ]
    combined = list(itertools.product(*(each.expressions for each in fields)))
    count = len(combined) * len(totals)
    if not keys or count > MOST:
        return None
    names = _names(combined, totals)
    shown = [key.copy() for key in keys]
    for place, values in enumerate(combined):
        for at, total in enumerate(totals):
            call = total.unalias().copy()
            inner, held = (call.this, [call.expression.this]) if isinstance(call, exp.Filter) else (call, [])
            if not isinstance(inner, exp.AggFunc):
                return None
            chosen = [
                exp.EQ(this=each.this.copy(), expression=value.unalias().copy())
                for each, value in zip(fields, values, strict=True)
            ]
            made = exp.Filter(this=inner, expression=exp.Where(this=exp.and_(*held, *chosen)))
            shown.append(exp.alias_(made, names[place * len(totals) + at], quoted=True))
    query = exp.Select(expressions=shown)
    query.set("from_", exp.From(this=source))
    query.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return query


def _names(combined: Sequence[Sequence[exp.Expr]], totals: Sequence[exp.Expr]) -> list[str]:
    """The names that DuckDB gives: the values, and an aggregate's name where it has one, or is not alone."""
    found = []
    for values in combined:
        words = [each.alias if each.alias else each.name for each in values]
        for total in totals:
            last = [total.alias] if total.alias else [generate(total)] if len(totals) > 1 else []
            found.append("_".join([*words, *last]))
    return found


def summarized(text: str, schema: Schema, describe: Describe) -> Plan | None:
    """SUMMARIZE of a table, or of some columns of one: of public columns, as the engine words it.

    None where that is not asked.

    Raises:
        NotUnderstood: code "summarize", for anything but a readable table and its public columns.
    """
    query = _SUMMARIZE_QUERY.fullmatch(text)
    found = _SUMMARIZE.fullmatch(text) if query is None else None
    if query is not None:
        name, chosen = _columns_of(query[1])
    elif found is not None:
        name, chosen = folded(found[1].replace('"', "")), None
    else:
        return None
    for table in schema.tables:
        if name not in (folded(table.name), folded(table.path[1]), folded(".".join(table.path))):
            continue
        public = {folded(each.name): each.name for each in table.columns}
        names = list(public) if chosen is None else chosen(list(public))
        if not names or not set(names) <= public.keys():
            break
        columns = ", ".join(quoted(public[each]) for each in names)
        sql = f"SELECT * FROM (SUMMARIZE SELECT {columns} FROM {DATA}.{quoted(table.name)})"
        shown, types = zip(*describe(sql), strict=True)
        return Plan(sql, (), sql, shown, types)
    raise NotUnderstood("summarize")


def _columns_of(text: str) -> tuple[str, Callable[[list[str]], list[str]]]:
    """The table of a query that lists columns and does nothing else, and which of the public ones it lists.

    Raises:
        NotUnderstood: code "summarize", for any other.
    """
    tree = parse(text)
    source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
    asked = {key for key, value in tree.args.items() if value} - {"expressions", "from_", "kind"}
    if source is None or asked or type(source.this) is not exp.Table:
        raise NotUnderstood("summarize")
    if {key for key, value in source.this.args.items() if value} - {"this", "db"}:
        raise NotUnderstood("summarize")  # a sample, an alias
    table = ".".join(folded(part.name) for part in source.this.parts)
    listed = tree.expressions

    def chosen(public: list[str]) -> list[str]:
        if len(listed) == 1 and isinstance(listed[0], exp.Star):
            rest = {key: value for key, value in listed[0].args.items() if value}
            left_out = {folded(each.name) for each in rest.pop("except_", [])}
            return [] if rest else [each for each in public if each not in left_out]
        plain = [each for each in listed if type(each) is exp.Column and len(each.parts) == 1]
        return [folded(each.name) for each in plain] if len(plain) == len(listed) else []

    return table, chosen
