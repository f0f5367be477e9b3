"""The allow-list: every node of a statement's tree is one that the table names, in a form that it names.

Promises that what passes contains no construct, function, operator or type outside `understood`. Does not
know which columns are protected: that is `kinds`'s.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.linear import constant
from auditor.sql.patterns import WIDEST, is_bounded
from auditor.sql.ranges import QUANTILES, end_of
from auditor.sql.rules.write_rows import require_rows, require_series
from auditor.sql.schema import folded
from auditor.sql.understood import (
    AGGREGATE_NAMES,
    CODED_NODES,
    FUNCTIONS,
    NAMED_AGGREGATES,
    NAMED_FUNCTIONS,
    OPERATORS,
    ORDERED_AGGREGATES,
    PUBLIC_AGGREGATES,
    STRUCTURE,
    TYPES,
    VOLATILE_NAMES,
    WINDOW_FUNCTIONS,
    NotUnderstood,
)
from auditor.sql.windows import is_windowed

_ALLOWED = STRUCTURE | OPERATORS | FUNCTIONS | PUBLIC_AGGREGATES | WINDOW_FUNCTIONS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The clauses of each structural node; any other that is filled is unsupported.
_CLAUSES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: _words("""
    with_ distinct expressions from_ joins where group having qualify windows order limit offset kind
"""),
    exp.SetOperation: _words("""
    with_ this expression distinct by_name order limit offset
"""),
    exp.Subquery: frozenset(["this", "alias", "with_"]),
    exp.Table: frozenset(["this", "db", "catalog", "alias"]),
    exp.TableAlias: frozenset({"this"}),
    exp.From: frozenset({"this"}),
    exp.Join: frozenset(["this", "on", "using", "side", "kind", "method"]),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset(["this", "alias", "materialized"]),
    exp.Star: frozenset(["except_", "replace", "rename"]),
    exp.Columns: frozenset({"this"}),
    exp.Window: frozenset(["this", "partition_by", "order", "spec", "alias", "over"]),
    exp.WindowSpec: frozenset(["kind", "start", "start_side", "end", "end_side", "exclude"]),
    exp.Group: frozenset(["expressions", "all"]),
    exp.Ordered: frozenset(["this", "desc", "nulls_first"]),
    exp.Order: frozenset(["this", "expressions"]),
    exp.Limit: frozenset(["expression", "limit_options"]),
    exp.Fetch: frozenset(["direction", "count", "limit_options"]),
    exp.LimitOptions: frozenset(["rows", "percent"]),
    exp.Offset: frozenset({"expression"}),
    exp.Distinct: frozenset(["expressions", "on"]),
    exp.In: frozenset(["this", "expressions", "query"]),
    exp.Cast: frozenset(["this", "to", "safe"]),
    exp.DataType: frozenset(["this", "expressions", "nested", "kind"]),
    exp.Interval: frozenset(["this", "unit"]),
}
_BY_CLASS: dict[type[exp.Expr], frozenset[str] | None] = {}
_CLAUSE_CODES = {
    "sample": "sample", "pivots": "pivot", "laterals": "lateral",
    "into": "into", "recursive": "recursive", "columns": "alias-columns", "percent": "limit-percent",
    "limit_options": "limit-percent",
}  # fmt: skip
_JOIN_KINDS = {"", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"}
_JOIN_METHODS = {"", "NATURAL"}
_DATE_PARTS = _words("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND DAYOFWEEK DAYOFYEAR DOW DOY ISOYEAR")


def classify(tree: exp.Query, context: Context) -> exp.Query:
    """Check every node.

    Raises:
        NotUnderstood: with the code of the first construct that is not understood.
    """
    for node in tree.walk():
        name = type(node).__name__
        if isinstance(node, exp.Anonymous):
            _named_function(node)
        elif isinstance(node, exp.AnonymousAggFunc):
            if str(node.this).lower() not in NAMED_AGGREGATES:
                raise NotUnderstood("aggregate", name=node.name)
        elif name not in _ALLOWED:
            _reject(node, name, context.tables)
        # The rule first: it may have a better name for what `_clauses` finds.
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(node)
        _clauses(node)
    return tree


# What people write, where sqlglot calls it otherwise.
_SPOKEN = {
    "Rand": "RANDOM", "GroupConcat": "STRING_AGG", "ArrayAgg": "LIST", "Lock": "FOR UPDATE",
    "ByteString": "A text of bytes", "PositionalColumn": "A column by its position",
}  # fmt: skip


_CLAUSE_NAMES = {
    "locks": "FOR UPDATE", "windows": "WINDOW … AS (…)", "except_": "* EXCLUDE", "replace": "* REPLACE",
    "rename": "* RENAME", "method": "This kind of join", "only": "ONLY", "ordinality": "WITH ORDINALITY",
    "exclude": "EXCLUDE in a window", "match": "MATCH", "cluster": "CLUSTER BY",
    "with_": "WITH in this place", "kind": "SELECT AS", "by_name": "BY NAME",
    "totals": "WITH TOTALS", "limit_options": "LIMIT with a percentage", "null": "NULL treatment",
}  # fmt: skip


def clause_name(clause: str) -> str:
    """A clause as people write it, of which sqlglot has another name."""
    return _CLAUSE_NAMES.get(clause, clause.strip("_").replace("_", " ").upper())


def _reject(node: exp.Expr, name: str, tables: str) -> None:
    if isinstance(node, exp.Dot):
        _dot(node)
    sql_name = _SPOKEN.get(name) or (node.sql_name() if isinstance(node, exp.Func) else name.upper())
    code = CODED_NODES.get(name)
    if code is None:
        code = "aggregate" if isinstance(node, exp.AggFunc) else "construct"
        code = "function" if isinstance(node, exp.Func) and code == "construct" else code
    if isinstance(node, exp.TableColumn):
        sql_name = node.name
    raise NotUnderstood(code, name=sql_name, tables=tables)


def _named_function(node: exp.Anonymous) -> None:
    name = node.name.lower()
    if end_of(node) is not None:
        return  # what it may stand around is for `kinds` to say
    if name in VOLATILE_NAMES or (name == "age" and len(node.expressions) == 1):
        # the age of a date is counted until today
        raise NotUnderstood("volatile", name=name)
    if name in AGGREGATE_NAMES:
        raise NotUnderstood("aggregate", name=name)
    if name in ("row", "struct_pack", "list_value", "unpack"):
        raise NotUnderstood("nested-type")
    if name not in NAMED_FUNCTIONS or not isinstance(node.this, str):
        raise NotUnderstood("function", name=name)
    if name == "printf":
        _pattern(node.expressions[0] if node.expressions else exp.null(), name)
    if name == "bar" and len(node.expressions) > 3:
        width = node.expressions[3]
        if not (isinstance(width, exp.Literal) and width.is_int and int(width.name) <= WIDEST):
            raise NotUnderstood("construct", name=f"BAR wider than {WIDEST:,} characters")


def _allowed_clauses(kind: type[exp.Expr]) -> frozenset[str] | None:
    """The clauses that a class of nodes may have; None: any that its functions take."""
    if kind not in _BY_CLASS:
        _BY_CLASS[kind] = next(
            (allowed for base, allowed in _CLAUSES.items() if issubclass(kind, base)), None
        )
    return _BY_CLASS[kind]


def _clauses(node: exp.Expr) -> None:
    allowed = _allowed_clauses(type(node))
    if allowed is None:
        return
    for clause, value in node.args.items():
        if clause not in allowed and value is not None and value is not False and value != []:
            code = _CLAUSE_CODES.get(clause, "construct")
            raise NotUnderstood(code, name=clause_name(clause))


def _type(node: exp.DataType) -> None:
    kind = node.this
    name = kind.value if isinstance(kind, exp.DType) else str(kind)
    if name not in TYPES or node.args.get("nested"):
        raise NotUnderstood("type", name=name.lower())


def _star(node: exp.Star) -> None:
    parent = node.parent
    counted = isinstance(parent, exp.Count)
    of_table = isinstance(parent, exp.Column) and isinstance(parent.parent, exp.Select)
    chosen = isinstance(parent, exp.Columns)
    if not (
        counted or of_table or chosen or (isinstance(parent, exp.Select) and node.arg_key == "expressions")
    ):
        raise NotUnderstood("star")


def _table(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise NotUnderstood("table-function", tables="those that are listed as public")


def _join(node: exp.Join) -> None:
    kind, method = (str(node.args.get(name) or "").upper() for name in ("kind", "method"))
    if kind not in _JOIN_KINDS or method not in _JOIN_METHODS:
        raise NotUnderstood("join-kind")


def _subquery(node: exp.Subquery) -> None:
    if not isinstance(node.this, exp.Select | exp.SetOperation | exp.Subquery):
        raise NotUnderstood("construct", name="A table in parentheses")


def _distinct(node: exp.Distinct) -> None:
    if isinstance(node.parent, exp.AggFunc) and len(node.expressions) != 1:
        raise NotUnderstood("aggregate-arguments", name=node.parent.sql_name())


def _select(node: exp.Select) -> None:
    if node.args.get("kind"):
        raise NotUnderstood("construct", name=str(node.args["kind"]))
    _merged_once(node)
    _stars_apart(node)


def _merged_once(node: exp.Select) -> None:
    """A column that RIGHT or FULL JOIN … USING merges is in no further USING: sqlglot takes the left one's.

    Which columns NATURAL merges is not known here.
    """
    outer, unknown = set[str](), False
    for join in node.args.get("joins") or []:
        names = _using(join)
        natural = join.method == "NATURAL"
        if names & outer or (unknown and (names or natural)) or (natural and outer):
            raise NotUnderstood("join-kind")
        if join.side in ("RIGHT", "FULL"):
            outer |= names
            unknown |= natural


def _stars_apart(node: exp.Select) -> None:
    """What one * changes is not read as another's, and not lost of a column that USING merges."""
    stars = [each for each in node.expressions if isinstance(each, exp.Star)]
    if len(stars) > 1 and any(each.args.get("except_") or _changed(each) for each in stars):
        raise NotUnderstood("star")
    joins = node.args.get("joins") or []
    merged = {name for join in joins for name in _using(join)}
    natural = any(join.method == "NATURAL" for join in joins)
    for each in node.expressions:
        star = each.this if isinstance(each, exp.Column) else each
        changed = _changed(star) if isinstance(star, exp.Star) else set[str]()
        if changed & merged or (natural and changed):
            raise NotUnderstood("star")


def _using(join: exp.Join) -> set[str]:
    return {folded(each.name) for each in join.args.get("using") or []}


def _changed(star: exp.Star) -> set[str]:
    """Columns to which a * gives another value or name."""
    values = {folded(each.alias) for each in star.args.get("replace") or []}
    return values | {folded(each.this.name) for each in star.args.get("rename") or []}


def _is(node: exp.Is) -> None:
    if node.args.get("negate"):  # IS NOT is read as NOT … IS
        raise NotUnderstood("construct", name="IS NOT")


def _extreme(node: exp.Max | exp.Min) -> None:
    if node.args.get("count") or node.expressions:
        raise NotUnderstood("aggregate-arguments", name=node.sql_name())


def _order(node: exp.Order) -> None:
    if type(node.parent).__name__ in ORDERED_AGGREGATES and node.arg_key == "this":
        return
    if isinstance(node.parent, exp.AnonymousAggFunc):
        return
    if not isinstance(node.parent, exp.Select | exp.SetOperation | exp.Window):
        name = node.parent.sql_name() if isinstance(node.parent, exp.Func) else "This"
        raise NotUnderstood("aggregate-arguments", name=name)


def _first(node: exp.First | exp.Last) -> None:
    # which row is the first is not known of a table
    if not isinstance(node.this, exp.Order) and not is_windowed(node):
        raise NotUnderstood("aggregate", name=f"{node.sql_name()} without ORDER BY in it")


def _arg(node: exp.ArgMax | exp.ArgMin) -> None:
    if node.args.get("count"):
        raise NotUnderstood("aggregate-arguments", name=node.sql_name())


def _format(node: exp.Format) -> None:
    _pattern(node.this, node.sql_name())


def _pattern(pattern: exp.Expr, name: str) -> None:
    # a width of a billion makes a text past the engine's memory limit
    if not (isinstance(pattern, exp.Literal) and pattern.is_string and is_bounded(pattern.name)):
        name = f"{name.upper()} by a pattern that is not written out, or wider than {WIDEST:,},"
        raise NotUnderstood("construct", name=name)


def _columns(node: exp.Columns) -> None:
    argument = node.this
    named = argument.expressions if isinstance(argument, exp.Array) else [argument]
    if isinstance(argument, exp.Star):
        if _changed(argument):
            raise NotUnderstood("star")  # names alone are read of it
    elif not all(each.is_string for each in named):
        raise NotUnderstood("star")


def _pad(node: exp.Pad) -> None:
    # the engine makes texts of any length past its memory limit
    length = node.expression
    if not (isinstance(length, exp.Literal) and length.is_int and int(length.name) <= WIDEST):
        raise NotUnderstood("construct", name=f"LPAD or RPAD to more than {WIDEST:,} characters")


def _cte(node: exp.CTE) -> None:
    if not isinstance(node.this, exp.Query) and type(node.this).__name__ in _ALLOWED:
        raise NotUnderstood("syntax")


def _array(node: exp.Array) -> None:
    listed = isinstance(node.parent, QUANTILES) and node.arg_key in ("expression", "quantile")
    if listed and node.expressions and all(constant(each) is not None for each in node.expressions):
        return  # of a public column; of a protected one it is said elsewhere what to write
    if not isinstance(node.parent, exp.Columns | exp.Explode):
        raise NotUnderstood("nested-type")


def _dot(node: exp.Dot) -> None:
    part, column = node.expression.name, node.this
    if isinstance(column, exp.Column) and part.upper() in _DATE_PARTS:
        detail = f"{column.name} has no fields. A part of a date is {part.lower()}({column.name})"
        raise NotUnderstood("engine", detail=f"{detail}, or EXTRACT({part.upper()} FROM {column.name}).")
    raise NotUnderstood("nested-type")


def _series(node: exp.GenerateSeries) -> None:
    if not isinstance(node.parent, exp.Explode):
        raise NotUnderstood("table-function", tables="those that are listed as public")
    require_series(node)


def _nulls(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.Window):
        inner = node.this
        raise NotUnderstood("aggregate", name=inner.sql_name() if isinstance(inner, exp.Func) else "here")


def _window_function(node: exp.Func) -> None:
    if not is_windowed(node):
        raise NotUnderstood("aggregate", name=node.sql_name())


def _var(node: exp.Var) -> None:
    # `ORDER BY ALL`, `LIMIT ALL`, units of time; nothing else is written as a bare word.
    if not isinstance(node.parent, exp.Ordered | exp.Limit | exp.Func | exp.Interval):
        raise NotUnderstood("construct", name=node.name)


def _quantified(node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Query):
        raise NotUnderstood("nested-type")


def _tuple(node: exp.Tuple) -> None:
    places = exp.In | exp.Group | exp.Rollup | exp.Cube | exp.GroupingSets | exp.Distinct
    if not isinstance(node.parent, places):
        raise NotUnderstood("nested-type")


def _limit(node: exp.Limit | exp.Offset) -> None:
    # Nothing that is read from data: the number of rows is moved about freely.
    if node.expression.find(exp.Column, exp.Query) is not None:
        raise NotUnderstood("construct", name="LIMIT with an expression")


def _limit_options(node: exp.LimitOptions) -> None:
    """A percentage is of all rows, which are counted after everything else, as LIMIT of a number is."""
    if not node.args.get("percent"):
        return
    limit = node.parent
    given = limit.expression if isinstance(limit, exp.Limit) else None
    if not (isinstance(given, exp.Literal) and not given.is_string and float(given.name) <= 100):
        raise NotUnderstood("limit-percent")


_RULES: dict[type[exp.Expr], Callable[..., None]] = {
    exp.DataType: _type, exp.Star: _star, exp.Table: _table, exp.Join: _join, exp.Subquery: _subquery,
    exp.Distinct: _distinct, exp.Select: _select, exp.Max: _extreme, exp.Min: _extreme, exp.Is: _is,
    exp.Limit: _limit, exp.Offset: _limit, exp.LimitOptions: _limit_options, exp.Order: _order, exp.Var: _var,
    exp.Any: _quantified, exp.All: _quantified, exp.Columns: _columns, exp.Array: _array, exp.CTE: _cte,
    exp.Pad: _pad, exp.First: _first, exp.Last: _first, exp.ArgMax: _arg, exp.ArgMin: _arg,
    exp.Format: _format, exp.Explode: require_rows, exp.GenerateSeries: _series, exp.Tuple: _tuple,
    exp.IgnoreNulls: _nulls, exp.RespectNulls: _nulls,
    **{getattr(exp, name): _window_function for name in WINDOW_FUNCTIONS},
}  # fmt: skip
