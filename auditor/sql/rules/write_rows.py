"""Rows that stand in a statement, and joins in parentheses, as queries and joins that are read anyway.

    FROM (VALUES ('a'), ('b')) v(x)         FROM (SELECT 'a' AS x UNION ALL SELECT 'b' AS x) v
    FROM range(20, 70, 10) g(lo)            FROM (SELECT UNNEST(RANGE(20, 70, 10)) AS lo) g
    x IN (VALUES ('a'), ('b'))              x IN ('a', 'b'), and so x = ANY(['a', 'b'])
    FROM (a JOIN b ON …) JOIN c ON …        FROM a JOIN b ON … JOIN c ON …

Promise: each means what it meant; what is not one of these is left as it is. A series has literal ends and at
most `MOST` rows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.linear import constant
from auditor.sql.understood import NotUnderstood

MOST = 10_000
"""Rows of one series."""
_SECONDS = {
    "SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400, "WEEK": 604_800, "MONTH": 28 * 86_400,
    "QUARTER": 90 * 86_400, "YEAR": 365 * 86_400,
}  # fmt: skip
"""The least that a unit of time is."""
Named = Callable[[int], str]


_ALONE = re.compile(r"\s*VALUES\b", re.IGNORECASE)


def as_select(text: str) -> str:
    """VALUES that are a whole statement as a SELECT of them; any other text as it is.

    >>> as_select("VALUES (1), (2);")
    'SELECT * FROM (\\nVALUES (1), (2)\\n) AS _values'
    """
    return f"SELECT * FROM (\n{text.strip().rstrip(';')}\n) AS _values" if _ALONE.match(text) else text


def write_rows(tree: exp.Query, _: Context) -> exp.Query:
    """Write such rows and joins the plain way."""
    plainer(tree, "col{}".format)
    return tree


def plainer(tree: exp.Expr, named: Named) -> None:
    """Write such rows and joins the plain way, in place.

    Args:
        tree: What a parser made of the text.
        named: The name of a column of VALUES that has none, by its place from 0.
    """
    for node in list(tree.find_all(exp.In)):
        _listed(node)
    for equal in list(tree.find_all(exp.EQ)):
        _any_of(equal)
    for values in list(tree.find_all(exp.Values)):
        if isinstance(values.parent, exp.From | exp.Join):
            _as_query(values, named)
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.GenerateSeries):
            name = "range" if table.this.args.get("is_end_exclusive") else "generate_series"
            _unnested(table, table.this, name)
    for unnest in list(tree.find_all(exp.Unnest)):
        held = unnest.expressions
        if (
            isinstance(unnest.parent, exp.From | exp.Join)
            and len(held) == 1
            and not unnest.args.get("offset")
        ):
            _unnested(unnest, held[0], "unnest")
    for select in list(tree.find_all(exp.Select)):
        flat(select)


def _listed(node: exp.In) -> None:
    """`x IN (VALUES …)` as a list."""
    query = node.args.get("query")
    if query is None and len(node.expressions) == 1:
        query = node.expressions[0]
    values = query.unnest() if isinstance(query, exp.Subquery) else query
    if not isinstance(values, exp.Values):
        return
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in values.expressions]
    if all(len(row) == 1 for row in rows):
        node.set("query", None)
        node.set("expressions", [row[0].copy() for row in rows])


def _any_of(node: exp.EQ) -> None:
    """`x = ANY([1, 2])` as a list."""
    some = node.expression
    listed = some.this.unnest() if isinstance(some, exp.Any) else None
    if isinstance(listed, exp.Array) and listed.expressions:
        members = [each.copy() for each in listed.expressions]
        node.replace(exp.In(this=node.this.copy(), expressions=members))


def _as_query(values: exp.Values, named: Named) -> None:
    alias = values.args.get("alias")
    around = _with(values)
    columns = (around if around is not None else values).args.get("alias")
    names = [each.name for each in columns.args.get("columns") or []] if columns is not None else []
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in values.expressions]
    width = len(rows[0]) if rows else 0
    if not rows or len(rows) > 200 or any(len(row) != width for row in rows):
        return
    names += [named(place) for place in range(len(names), width)]
    query: exp.Query | None = None
    for row in rows:
        shown = [exp.alias_(cell.copy(), name, quoted=True) for cell, name in zip(row, names, strict=True)]
        select = exp.Select(expressions=shown)
        query = select if query is None else exp.Union(this=query, expression=select, distinct=False)
    assert query is not None
    if around is None:
        values.replace(_derived(query, alias))
    else:
        around.set("this", query)
        around.args["alias"].set("columns", None)


def _with(values: exp.Values) -> exp.CTE | None:
    """The WITH query that VALUES are all of: the parser writes `SELECT * FROM (VALUES …)` for it."""
    select = values.parent.parent if values.parent is not None else None
    if not isinstance(select, exp.Select) or not isinstance(select.parent, exp.CTE):
        return None
    clauses = {name for name, value in select.args.items() if value}
    alone = clauses == {"expressions", "from_"} and len(select.expressions) == 1
    return select.parent if alone and isinstance(select.expressions[0], exp.Star) else None


def _unnested(source: exp.Expr, rows: exp.Expr, name: str) -> None:
    alias = source.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or []] if alias is not None else []
    column = exp.alias_(exp.Explode(this=rows.copy()), names[0] if names else name, quoted=True)
    source.replace(_derived(exp.Select(expressions=[column]), alias))


def _derived(query: exp.Query, alias: exp.Expr | None) -> exp.Subquery:
    held = None if alias is None or alias.this is None else exp.TableAlias(this=alias.this.copy())
    return exp.Subquery(this=query, alias=held)


def flat(select: exp.Select) -> None:
    """Take the parentheses off joins, where that changes nothing, in place."""
    from_, joins = select.args.get("from_"), list(select.args.get("joins") or [])
    first = from_.this if from_ is not None else None
    inside = _inside(first)
    while from_ is not None and inside is not None:
        from_.set("this", inside[0])
        joins = [*inside[1], *joins]
        inside = _inside(from_.this)
    written: list[exp.Expr] = []
    for join in joins:
        held = _inside(join.this) if isinstance(join, exp.Join) else None
        if held is None or not _is_inner(join) or not all(_is_inner(each) for each in held[1]):
            written.append(join)
            continue
        # of inner joins the conditions may all stand at the end
        conditions = [each.args["on"] for each in (join, *held[1]) if each.args.get("on") is not None]
        sources = [held[0], *(each.this for each in held[1])]
        for place, source in enumerate(sources):
            last = place == len(sources) - 1 and conditions
            on = exp.and_(*(each.copy() for each in conditions)) if last else None
            written.append(exp.Join(this=source.copy(), on=on) if on is not None else
                           exp.Join(this=source.copy(), kind="CROSS"))  # fmt: skip
    if from_ is not None and (written != joins or len(written) != len(select.args.get("joins") or [])):
        select.set("joins", written)


def _inside(node: exp.Expr | None) -> tuple[exp.Expr, list[exp.Join]] | None:
    """What stands in parentheses that are no query's: a source and what is joined to it."""
    if not isinstance(node, exp.Subquery) or isinstance(node.this, exp.Query) or node.args.get("alias"):
        return None
    source = node.this
    if not isinstance(source, exp.Table | exp.Subquery):
        return None
    joins = source.args.get("joins") or []
    if isinstance(source, exp.Subquery) and not joins:
        return None
    source.set("joins", None)
    return source, list(joins)


def _is_inner(join: exp.Join) -> bool:
    plain = not any(join.args.get(each) for each in ("using", "side", "method"))
    return plain and str(join.args.get("kind") or "").upper() in ("", "INNER", "CROSS")


def require_series(node: exp.GenerateSeries) -> None:
    """Check that a series has literal ends and few rows.

    Raises:
        NotUnderstood: code "table-function".
    """
    given = [node.args.get(each) for each in ("start", "end", "step")]
    places = [_place(each) for each in given[:2] if each is not None]
    step = _step(given[2]) if given[2] is not None else Fraction(1)
    known = [each for each in places if each is not None]
    if len(known) != len(places) or not step or not places:
        raise NotUnderstood("table-function", tables="those that are listed as public")
    low, high = (Fraction(0), known[0]) if len(known) == 1 else known
    if abs((high - low) / step) > MOST:
        raise NotUnderstood("too-large")


def _place(node: exp.Expr) -> Fraction | None:
    """A number, or seconds since a fixed moment."""
    number = constant(node)
    if number is not None:
        return number
    while isinstance(node, exp.Cast) and isinstance(node.this, exp.Cast):
        node = node.this
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            moment = datetime.datetime.fromisoformat(node.this.name)
        except ValueError:
            return None
        return Fraction((moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds())
    return None


def _step(node: exp.Expr) -> Fraction | None:
    number = constant(node)
    if number is not None:
        return number
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and node.args.get("unit"):
        unit = node.args["unit"].name.upper().rstrip("S")
        try:
            return Fraction(node.this.name) * _SECONDS.get(unit, 0)
        except ValueError:
            return None
    return None


def require_rows(node: exp.Explode, literals: Sequence[type[exp.Expr]] = (exp.Literal, exp.Null)) -> None:
    """Check that what is made rows of is a series, or a list of constants, alone in a SELECT.

    Raises:
        NotUnderstood: code "table-function".
    """
    holder = node.parent if isinstance(node.parent, exp.Alias) else node
    select = holder.parent
    alone = (
        isinstance(select, exp.Select) and len(select.expressions) == 1 and holder.arg_key == "expressions"
    )
    clauses = (
        {name for name, value in select.args.items() if value} if isinstance(select, exp.Select) else set()
    )
    rows = node.this
    plain = isinstance(rows, exp.GenerateSeries) or (
        isinstance(rows, exp.Array)
        and all(isinstance(each, tuple(literals)) or _place(each) is not None for each in rows.expressions)
    )
    if not alone or clauses != {"expressions"} or not plain or node.expressions:
        raise NotUnderstood("table-function", tables="those that are listed as public")
