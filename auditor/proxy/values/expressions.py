"""The types of a statement's expressions, as far as open parameters need them.

Promises a type or None, in bounded time, and never an error: what is not known makes a parameter a text.
Names are resolved as SQL does, from the inside out, through subqueries and WITH; nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from sqlglot import exp

from auditor.proxy.values import types
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.results import result_type
from auditor.proxy.values.types import Type
from auditor.sql import limits
from auditor.sql.postgres import reading
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, folded
from auditor.sql.understood import NotUnderstood

Dialect = Literal["duckdb", "postgres"]
Columns = list[tuple[str, Type | None]]

MAX_STEPS = 50_000
"""Expressions that are looked at for one statement."""
MAX_DEPTH = 60
MAX_COLUMNS = 2_000
NUMBERS = (types.INT2, types.INT4, types.INT8, types.NUMERIC, types.FLOAT4, types.FLOAT8)
"""In the order in which one becomes the other."""
TEXTS = frozenset({types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.UNKNOWN})
MOMENTS = (types.DATE, types.TIMESTAMP, types.TIMESTAMPTZ)
_BOOLEAN = (exp.Boolean, exp.Connector, exp.Predicate, exp.Not, exp.Between, exp.In, exp.Exists, exp.Is)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow)
NAMES = {
    "SMALLINT": types.INT2, "INT": types.INT4, "BIGINT": types.INT8, "DECIMAL": types.NUMERIC,
    "FLOAT": types.FLOAT4, "DOUBLE": types.FLOAT8, "BOOLEAN": types.BOOL, "TEXT": types.TEXT,
    "VARCHAR": types.VARCHAR, "CHAR": types.BPCHAR, "BPCHAR": types.BPCHAR, "NAME": types.NAME,
    "VARBINARY": types.BYTEA, "DATE": types.DATE, "TIME": types.TIME, "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMPTZ": types.TIMESTAMPTZ, "INTERVAL": types.INTERVAL, "UUID": types.UUID, "JSON": types.JSON,
    "JSONB": types.JSONB,
}  # fmt: skip
"""By sqlglot's name, the types that PostgreSQL's casts name."""
_ALL_NAMES = {
    **NAMES, "TINYINT": types.INT2, "UTINYINT": types.INT2, "USMALLINT": types.INT4, "UINT": types.INT8,
    **dict.fromkeys(("INT128", "UINT128", "UBIGINT"), types.NUMERIC), "TIMETZ": types.TIMETZ,
    "TIMESTAMPNTZ": types.TIMESTAMP,
}  # fmt: skip
_RETURNS = {
    **dict.fromkeys(("count", "row_number", "rank", "dense_rank", "ntile", "count_star"), types.INT8),
    **dict.fromkeys(("lower", "upper", "trim", "btrim", "ltrim", "rtrim", "substring", "substr", "left",
                     "right", "concat", "concat_ws", "replace", "to_char", "string_agg", "lpad", "rpad",
                     "repeat", "reverse", "split_part", "initcap", "translate", "md5"), types.TEXT),
    **dict.fromkeys(("length", "char_length", "character_length", "octet_length", "strpos", "position",
                     "ascii"), types.INT4),
    **dict.fromkeys(("sqrt", "exp", "ln", "date_part", "random", "cbrt", "sin", "cos", "tan", "median",
                     "percent_rank", "cume_dist", "corr", "at_least", "at_most"), types.FLOAT8),
    **dict.fromkeys(("bool_and", "bool_or", "every", "starts_with"), types.BOOL),
    "now": types.TIMESTAMPTZ, "current_timestamp": types.TIMESTAMPTZ, "current_date": types.DATE,
    "to_date": types.DATE, "make_date": types.DATE, "age": types.INTERVAL, "extract": types.NUMERIC,
}  # fmt: skip
_FIRST_ARGUMENT = frozenset({
    "min", "max", "abs", "nullif", "any_value", "first", "last", "lag", "lead", "first_value", "last_value",
    "mod", "trunc", "date_trunc", "mode",
})  # fmt: skip
_COMMON = frozenset({"coalesce", "greatest", "least", "ifnull"})


def function_name(node: exp.Expr) -> str:
    """A function's name in lower letters; empty for what is none."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def arguments(node: exp.Expr) -> list[exp.Expr]:
    """A function's arguments, in order."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    given = (node.args.get(name) for name in node.arg_types)
    flat = (item for each in given for item in (each if isinstance(each, list) else [each]))
    return [item for item in flat if isinstance(item, exp.Expr)]


def parameter_number(node: exp.Expr) -> int:
    """The number of a parameter; 0 for any other expression."""
    if not isinstance(node, exp.Parameter | exp.Placeholder):
        return 0
    inner = node.this
    name = inner.name if isinstance(inner, exp.Expr) else str(inner or "")
    return int(name) if name.isdecimal() and name.isascii() and len(name) <= 5 else 0


def common(found: Sequence[Type | None]) -> Type | None:
    """The type that values of several types have together."""
    known = [each for each in found if each is not None]
    if not known:
        return None
    for family in (NUMBERS, MOMENTS):
        if all(each in family for each in known):
            return max(known, key=family.index)
    return next((each for each in known if each not in TEXTS), known[0])


def named_type(node: exp.Expr | None) -> Type | None:
    """The type that a cast names."""
    if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DType):
        return None
    if node.this is exp.DType.ARRAY or node.this is exp.DType.LIST:
        element = named_type(node.expressions[0]) if node.expressions else None
        return None if element is None else types.array_of(element)
    return _ALL_NAMES.get(node.this.value)


class Expressions:
    """The expressions of one statement."""

    def __init__(self, schema: Schema, dialect: Dialect, parameters: Callable[[int], Type | None]) -> None:
        """Prepare.

        Args:
            schema: What the statement may name.
            dialect: Whose types its numbers and aggregates have.
            parameters: The type of a parameter, where it is known.
        """
        self._schema, self._dialect, self._parameters = schema, dialect, parameters
        self._steps = 0
        self._views: dict[tuple[str, str], Columns] = {}

    def type_of(self, node: exp.Expr | None, depth: int = 0) -> Type | None:
        """An expression's type, or None."""
        self._steps += 1
        if node is None or depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return None
        if isinstance(node, exp.Paren | exp.Alias | exp.Neg | exp.Window | exp.Filter | exp.Ordered):
            return self.type_of(node.this, depth + 1)
        if isinstance(node, exp.Parameter | exp.Placeholder):
            return self._parameters(parameter_number(node))
        if isinstance(node, exp.Column):
            return self._column(node, depth)
        if isinstance(node, exp.Literal):
            return self._literal(node)
        if isinstance(node, exp.Cast):
            return named_type(node.args.get("to"))
        if isinstance(node, _BOOLEAN):
            return types.BOOL
        if isinstance(node, exp.Interval):
            return types.INTERVAL
        if isinstance(node, exp.DPipe):
            return types.TEXT
        if isinstance(node, _ARITHMETIC):
            left, right = self.type_of(node.this, depth + 1), self.type_of(node.expression, depth + 1)
            return self._arithmetic(node, left, right)
        if isinstance(node, exp.Case):
            return common([self.type_of(each, depth + 1) for each in results_of(node)])
        if isinstance(node, exp.Query):
            found = self.columns_of(node, depth + 1)
            return found[0][1] if found else None
        return self._function(node, depth)

    def _literal(self, node: exp.Literal) -> Type | None:
        if node.is_string:
            return None
        if not node.name.isdecimal():
            exponent = "e" in node.name.lower() and self._dialect == "duckdb"
            return types.FLOAT8 if exponent else types.NUMERIC
        size = len(node.name)
        number = int(node.name) if size < 20 else 2**63
        return types.INT4 if number < 2**31 else types.INT8 if number < 2**63 else types.NUMERIC

    def _arithmetic(self, node: exp.Expr, left: Type | None, right: Type | None) -> Type | None:
        if left is None or right is None:
            return left or right
        if left in NUMBERS and right in NUMBERS:
            if isinstance(node, exp.Pow) or (isinstance(node, exp.Div) and self._dialect == "duckdb"):
                return types.FLOAT8
            if types.FLOAT4 in (left, right) and left is not right:
                return types.FLOAT8
            return common([left, right])
        if isinstance(node, exp.Sub) and left in MOMENTS and right in MOMENTS:
            return types.INT4 if left == right == types.DATE else types.INTERVAL
        moment = left if left in MOMENTS else right
        if moment is types.DATE and types.INTERVAL in (left, right):
            return types.TIMESTAMP
        if moment in MOMENTS:
            return moment
        return types.INTERVAL if types.INTERVAL in (left, right) else None

    def _function(self, node: exp.Expr, depth: int) -> Type | None:
        name = function_name(node)
        if name in _RETURNS:
            return _RETURNS[name]
        if not name:
            return None
        if name in _COMMON:
            return common([self.type_of(each, depth + 1) for each in arguments(node)])
        first = [each for each in arguments(node) if not isinstance(each, exp.Var)]
        if isinstance(node, exp.Anonymous) and name == "date_trunc":
            first = first[1:]
        inner = self.type_of(first[0], depth + 1) if first else None
        if name in _FIRST_ARGUMENT:
            return inner
        if name in ("round", "ceil", "ceiling", "floor"):
            return inner if inner in (types.NUMERIC, types.FLOAT8) else types.FLOAT8 if inner else None
        return self._aggregate(name, inner)

    def _aggregate(self, name: str, inner: Type | None) -> Type | None:
        exact = inner in (types.INT2, types.INT4, types.INT8, types.NUMERIC)
        if name == "sum" and inner in NUMBERS:
            if inner in (types.INT2, types.INT4) and self._dialect == "postgres":
                return types.INT8
            return types.NUMERIC if exact else inner
        if name in ("avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"):
            return types.NUMERIC if exact and self._dialect == "postgres" else types.FLOAT8
        return None

    def _column(self, node: exp.Column, depth: int) -> Type | None:
        """From the SELECT it stands in outwards."""
        table, name = folded(node.table), folded(node.name)
        inside: exp.Expr = node
        for _ in range(MAX_DEPTH):
            select = inside.find_ancestor(exp.Select)
            if select is None:
                return None
            for alias, source in self._sources(select):
                if table and table != alias:
                    continue
                self._steps += 1
                for each, type_ in self._relation(source, depth + 1):
                    if folded(each) == name:
                        return type_
            inside = select
        return None

    def _sources(self, select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
        start = select.args.get("from_")
        each = [start.this] if isinstance(start, exp.From) else []
        each += [join.this for join in select.args.get("joins") or []]
        for source in each:
            yield folded(source.alias_or_name), source

    def columns_of(self, query: exp.Expr | None, depth: int) -> Columns:
        """Names and types of a query's columns."""
        self._steps += 1
        while isinstance(query, exp.Subquery | exp.SetOperation) and depth <= MAX_DEPTH:
            query, depth = query.this, depth + 1
        if not isinstance(query, exp.Select) or depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return []
        found: Columns = []
        for each in query.expressions:
            if each.is_star:
                qualifier = folded(each.table) if isinstance(each, exp.Column) else ""
                for alias, source in self._sources(query):
                    if qualifier in ("", alias):
                        found += self._relation(source, depth + 1)[:MAX_COLUMNS]
            else:
                found.append((each.alias_or_name, self.type_of(each, depth + 1)))
        return found

    def _relation(self, source: exp.Expr, depth: int) -> Columns:
        alias = source.args.get("alias")
        renamed = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
        if isinstance(source, exp.Table):
            found = self._table(source, depth)
        else:
            found = self.columns_of(source, depth + 1)
        self._steps += len(found)
        return _renamed(found, renamed)

    def _table(self, source: exp.Table, depth: int) -> Columns:
        name, schema = folded(source.name), folded(source.db)
        if not schema:
            common_table = _common_table(source, name)
            if common_table is not None:
                names = [each.name for each in common_table.args["alias"].columns]
                return _renamed(self.columns_of(common_table.this, depth + 1), names)
        schema = DEFAULT_SCHEMA if schema in ("", "public") else schema
        for table in self._schema.tables:
            if tuple(map(folded, table.path)) == (schema, name):
                return [(column, _of_duckdb(type_)) for column, type_ in self._schema.columns_of(table)]
        return self._view((schema, name), depth)

    def _view(self, path: tuple[str, str], depth: int) -> Columns:
        for view in self._schema.views:
            if tuple(map(folded, view.path)) == path:
                if path not in self._views:
                    self._views[path] = []  # what it reads it cannot be
                    self._views[path] = _renamed(self.columns_of(parsed(view.query), depth + 1), view.columns)
                return self._views[path]
        return []


def results_of(node: exp.Case) -> list[exp.Expr]:
    """What a CASE may give."""
    default = node.args.get("default")
    return [*(each.args["true"] for each in node.args["ifs"]), *([default] if default is not None else [])]


def _renamed(columns: Columns, names: Sequence[str]) -> Columns:
    """Columns of which the first ones have other names."""
    return [(names[i] if i < len(names) else name, type_) for i, (name, type_) in enumerate(columns)]


def parsed(query: str, dialect: Dialect = "duckdb") -> exp.Expr | None:
    """The tree of a query; None for a text that is not read."""
    try:
        return reading.read(query) if dialect == "postgres" else limits.parse(query)
    except (NotUnderstood, RecursionError):
        return None


def _common_table(source: exp.Expr, name: str) -> exp.CTE | None:
    """The WITH query of a name that a table's place can see."""
    inside: exp.Expr | None = source
    while inside is not None:
        clause = inside.args.get("with_")
        for each in clause.expressions if isinstance(clause, exp.With) else ():
            if folded(each.alias) == name and not _within(source, each):
                return each if isinstance(each, exp.CTE) else None
        inside = inside.parent
    return None


def _within(node: exp.Expr, ancestor: exp.Expr) -> bool:
    while node.parent is not None:
        node = node.parent
        if node is ancestor:
            return True
    return False


def _of_duckdb(text: str) -> Type | None:
    try:
        return result_type(text).type
    except NotRepresentable:
        return None
