"""How large a statement becomes once it is written out: tables, columns, expressions, texts.

Promises an upper bound for what the parsers, the binder and the engine must hold, in time linear in the tree:
WITH queries count as often as they are read, a star as the columns it stands for, an alias as the expression
it names, an argument as often as its macro repeats it. What is understood is `classify`'s.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, fields

from sqlglot import exp

from auditor.sql import pure
from auditor.sql.schema import Schema, folded
from auditor.sql.understood import NotUnderstood

# What text of a column is taken to have, in bytes; real ones are seldom longer.
_COLUMN_TEXT = 256
_UNKNOWN_TABLE = 100


@dataclass(frozen=True)
class Size:
    """A bound of what one query becomes."""

    tables: int = 0
    """Tables read, each time they are."""
    columns: int = 0
    """Columns of the widest query inside."""
    nodes: int = 0
    """Parts of expressions."""
    text: int = 0
    """Bytes of the longest text that an expression makes of columns of 256."""

    def within(self, limit: Size) -> bool:
        """Whether nothing is beyond a limit."""
        return all(getattr(self, each.name) <= getattr(limit, each.name) for each in fields(self))


MOST = Size(tables=100, columns=4_000, nodes=20_000, text=1 << 18)
"""Beyond any of these a statement is too large."""
SELECTS = 200
"""Queries in one statement."""
DIGITS = 60
"""Characters of a number; DuckDB's widest has 39 digits."""
EXPONENT = 400
"""Decimal exponent of a number; a DOUBLE's greatest is 308."""


def bound(tree: exp.Query, schema: Schema) -> Size:
    """The size of a statement.

    Args:
        tree: What the parser made of it.
        schema: The readable tables, for the number of their columns.

    Raises:
        NotUnderstood: code "too-large".
    """
    selects = 0
    for node in tree.walk():
        selects += isinstance(node, exp.Query)
        if isinstance(node, exp.Literal) and not node.is_string:
            _number(node.name)
    widths: dict[str, int] = {}
    for table in schema.tables:
        name = folded(table.path[1])
        # A protected column more; of tables of one name in two schemas the wider counts.
        widths[name] = max(widths.get(name, 0), len(table.columns) + len(schema.protected))
    size = _Measure(widths).query(tree, ChainMap())
    if selects > SELECTS or not size.within(MOST):
        raise NotUnderstood("too-large")
    return size


def _number(text: str) -> None:
    exponent = text.lower().partition("e")[2].lstrip("+-")
    if len(text) > DIGITS or (exponent.isdecimal() and int(exponent) > EXPONENT):
        raise NotUnderstood("too-large")


def _repetitions() -> dict[str, tuple[int, ...]]:
    """How often each macro writes each argument, by DuckDB's name."""
    found = {}
    for entry in pure.ENTRIES:
        if "macro" in entry.kind:
            head, _, body = entry.signatures[0].partition(" := ")
            names = [name for name in head.strip("()").split(", ") if name]
            found[entry.name] = tuple(len(re.findall(rf"\b{name}\b", body)) for name in names)
    return found


_MACROS = _repetitions()
_MACRO_NODES: dict[type[exp.Expr], str] = {exp.Nullif: "nullif", exp.SplitPart: "split_part"}
# Texts that grow: by what factor a text becomes longer.
_LONGER = {
    "bin": 8,
    "to_binary": 8,
    "hex": 2,
    "to_hex": 2,
    "url_encode": 3,
    "regexp_escape": 4,
    "strftime": 12,
}
_LONGER_NODES: dict[type[exp.Expr], int] = {exp.Hex: 2, exp.ToBinary: 8, exp.TimeToStr: 12}
_REPLACING = (exp.Replace, exp.RegexpReplace, exp.Translate)
_JOINING = (exp.Concat, exp.ConcatWs, exp.Format, exp.DPipe, exp.Add)
Env = ChainMap[str, Size]


class _Measure:
    """Adds up sizes; numbers may become huge, the work stays linear."""

    def __init__(self, widths: Mapping[str, int]) -> None:
        self._widths = widths

    def query(self, query: exp.Expr, ctes: Env) -> Size:
        """The size of a query; WITH queries around it are in `ctes`."""
        while isinstance(query, exp.Subquery):
            ctes = self._with(query, ctes)
            query = query.this
        ctes = self._with(query, ctes)
        if isinstance(query, exp.SetOperation):
            return self._union(query, ctes)
        if isinstance(query, exp.Select):
            return self._select(query, ctes)
        return Size(1, _UNKNOWN_TABLE, 1, _COLUMN_TEXT)

    def _with(self, query: exp.Expr, ctes: Env) -> Env:
        with_ = query.args.get("with_")
        if with_ is None:
            return ctes
        inside = ctes.new_child()
        for cte in with_.expressions:
            inside[folded(cte.alias)] = self.query(cte.this, inside)
        return inside

    def _union(self, query: exp.SetOperation, ctes: Env) -> Size:
        parts, node = [], query
        while isinstance(node, exp.SetOperation):
            parts.append(self.query(node.expression, ctes))
            node = node.this
            if node.args.get("with_"):
                break
        parts.append(self.query(node, ctes))
        return Size(
            sum(part.tables for part in parts),
            max(part.columns for part in parts),
            sum(part.nodes for part in parts),
            max(part.text for part in parts),
        )

    def _select(self, select: exp.Select, ctes: Env) -> Size:
        nodes = _sources(select)
        sources = [self._source(node, ctes) for node in nodes]
        named = {folded(node.alias_or_name): size for node, size in zip(nodes, sources, strict=True)}
        wide = sum(source.columns for source in sources)
        scope = _Scope(self, ctes, wide, max((source.text for source in sources), default=_COLUMN_TEXT))
        columns = 0
        for projection in select.expressions:
            times = _written(projection, named, wide)
            columns += times
            size = scope.expression(projection.unalias())
            scope.total(size, times)
            if projection.alias:
                scope.aliases[folded(projection.alias)] = size
        for name, value in select.args.items():
            if name not in ("expressions", "from_", "joins", "with_", "laterals"):
                for node in value if isinstance(value, list) else [value]:
                    if isinstance(node, exp.Expr):
                        scope.total(scope.expression(node), 1)
        for join in select.args.get("joins") or ():
            for name in ("on", "using", "match_condition"):
                node = join.args.get(name)
                for each in node if isinstance(node, list) else [node]:
                    if isinstance(each, exp.Expr):
                        scope.total(scope.expression(each), 1)
        return Size(
            scope.tables + sum(source.tables for source in sources),
            max([columns, *(source.columns for source in sources)]),
            scope.nodes + columns + sum(source.nodes for source in sources),
            max([scope.text, *(source.text for source in sources)]),
        )

    def _source(self, node: exp.Expr, ctes: Env) -> Size:
        if isinstance(node, exp.Table):
            name = folded(node.name)
            inner = [self._source(join.this, ctes) for join in node.args.get("joins") or ()]
            if not node.db and name in ctes:
                own = ctes[name]
            else:
                own = Size(1, self._widths.get(name, _UNKNOWN_TABLE), 1, _COLUMN_TEXT)
            return _both([own, *inner])
        if isinstance(node, exp.Subquery):
            inner = [self._source(join.this, ctes) for join in node.args.get("joins") or ()]
            if isinstance(node.this, exp.Table):
                return _both([self._source(node.this, ctes), *inner])
            return _both([self.query(node, ctes), *inner])
        query = node.find(exp.Query)
        return self.query(query, ctes) if query is not None else Size(1, _UNKNOWN_TABLE, 1, _COLUMN_TEXT)


def _written(projection: exp.Expr, named: Mapping[str, Size], wide: int) -> int:
    """How many columns a projection becomes: COLUMNS(…) + 1 is as wide as a star."""
    star = projection.find(exp.Star, exp.Columns)
    if star is None or isinstance(star.parent, exp.Count):
        return 1
    if (
        isinstance(star.parent, exp.Column)
        and star.parent is projection
        and folded(projection.table) in named
    ):
        return named[folded(projection.table)].columns
    return wide


def _both(sizes: list[Size]) -> Size:
    return Size(
        sum(size.tables for size in sizes),
        sum(size.columns for size in sizes),
        sum(size.nodes for size in sizes),
        max(size.text for size in sizes),
    )


def _sources(select: exp.Select) -> list[exp.Expr]:
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    laterals = select.args.get("laterals") or []
    return [*([from_.this] if from_ is not None else []), *(join.this for join in joins), *laterals]


class _Scope:
    """The expressions of one SELECT."""

    def __init__(self, measure: _Measure, ctes: Env, wide: int, text: int) -> None:
        self.tables = self.nodes = 0
        self.text = 0
        self.aliases: dict[str, Size] = {}
        self._measure, self._ctes, self._wide, self._column_text = measure, ctes, wide, text

    def total(self, size: Size, times: int) -> None:
        """Count an expression of the SELECT."""
        self.tables += size.tables * times
        self.nodes += size.nodes * times
        self.text = max(self.text, size.text)

    def expression(self, node: exp.Expr) -> Size:
        """The size of an expression: nodes with what repeats them, tables of the queries inside."""
        if isinstance(node, exp.Query):
            inner = self._measure.query(node, self._ctes)
            return Size(inner.tables, 0, inner.nodes + 1, inner.text)
        if isinstance(node, exp.Column) and not node.table:
            known = self.aliases.get(folded(node.name))
            if known is not None:
                # What is meant may be the column as well.
                return Size(known.tables, 0, known.nodes, max(known.text, self._column_text))
        if isinstance(node, exp.Column):
            return Size(0, 0, 1, self._column_text)
        if isinstance(node, exp.Literal):
            return Size(0, 0, 1, len(node.name.encode("utf-8", "surrogatepass")))
        if isinstance(node, exp.Binary):
            return self._chain(node)
        return self._call(node)

    def _chain(self, node: exp.Expr) -> Size:
        # Long chains lean to the left; a loop keeps the stack short.
        parts, joining = [], False
        while isinstance(node, exp.Binary):
            joining = joining or isinstance(node, _JOINING)
            parts.append(self.expression(node.expression))
            node = node.this
        parts.append(self.expression(node))
        texts = [part.text for part in parts]
        return Size(
            sum(part.tables for part in parts),
            0,
            2 * len(parts) - 1 + sum(part.nodes - 1 for part in parts),
            sum(texts) if joining else max(texts),
        )

    def _call(self, node: exp.Expr) -> Size:
        inner = [
            (self.expression(child), self._repeated(node, child, at))
            for at, child in enumerate(node.iter_expressions())
        ]
        texts = [size.text for size, _ in inner] or [0]
        text = max(texts)
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, _REPLACING):
            text = (texts[0] + 1) * max([1, *texts[1:]])
        elif isinstance(node, (*_JOINING, exp.Anonymous)):
            text = sum(texts)
        factor = _LONGER.get(name, 1) * _LONGER_NODES.get(type(node), 1)
        return Size(
            sum(size.tables * times for size, times in inner),
            0,
            1 + sum(size.nodes * times for size, times in inner),
            text * factor,
        )

    def _repeated(self, node: exp.Expr, child: exp.Expr, at: int) -> int:
        if isinstance(node, exp.Case) and child is node.this:
            # DuckDB writes `x = …` for each WHEN.
            return max(1, len(node.args["ifs"]))
        name = node.name.lower() if isinstance(node, exp.Anonymous) else _MACRO_NODES.get(type(node), "")
        counts = _MACROS.get(name)
        return max(1, counts[at]) if counts is not None and at < len(counts) else 1
