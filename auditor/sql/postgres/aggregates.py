"""Aggregates with FILTER and DISTINCT, window functions with OVER, and ORDER BY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from auditor.sql.postgres import casts, collecting, functions, numbers, spans
from auditor.sql.postgres.inside_ends import plain
from auditor.sql.postgres.values import FLOATS, Value, no_operator, refuse
from auditor.sql.statement import ENDS
from auditor.sql.understood import NotUnderstood


class Translator(Protocol):
    """Translates what stands inside an aggregate."""

    def value(self, node: exp.Expr) -> Value:
        """Any expression."""

    def condition(self, node: exp.Expr) -> Value:
        """An expression that must be boolean."""


def _sum(value: Value, text: str) -> Value:
    if not value.is_number:
        raise no_operator(value)
    if value.kind in ("int2", "int4"):
        return Value(f"CAST({text} AS BIGINT)", "int8")
    if value.kind == "int8" or value.is_exact:
        return Value(text, "numeric", scale=value.scale or 0)
    if value.kind == "float4" and not value.protected:
        # PostgreSQL rounds to real at every step, in the order in which it meets the rows.
        raise refuse("the sum of real", "Cast to double precision: sum(x::float8).")
    return Value(f"CAST({text} AS FLOAT)" if value.kind == "float4" else text, value.kind)


def _kept(value: Value, text: str) -> Value:
    if value.kind in ("bool", "other", "parameter"):
        raise no_operator(value)
    return Value(text, value.kind, scale=value.scale)


def _deviation(value: Value, text: str) -> Value:
    if not value.is_number:
        raise no_operator(value)
    return Value(text, "float8" if value.kind in FLOATS else "numeric")


def _logical(value: Value, text: str) -> Value:
    if value.kind != "bool":
        raise no_operator(value)
    return Value(text, "bool")


_AGGREGATES: dict[str, tuple[str, Callable[[Value, str], Value]]] = {
    "sum": ("SUM", _sum), "min": ("MIN", _kept), "max": ("MAX", _kept),
    "bool_and": ("BOOL_AND", _logical), "every": ("BOOL_AND", _logical), "bool_or": ("BOOL_OR", _logical),
    "stddev": ("STDDEV", _deviation), "stddev_samp": ("STDDEV_SAMP", _deviation),
    "stddev_pop": ("STDDEV_POP", _deviation), "variance": ("VARIANCE", _deviation),
    "var_samp": ("VAR_SAMP", _deviation), "var_pop": ("VAR_POP", _deviation),
}  # fmt: skip
"""Aggregates of one argument besides COUNT and AVG: DuckDB's name, and what the result is."""
_PAIRED = frozenset({"corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"})
"""Aggregates of two columns of which ranges are told, inside of AT_LEAST and AT_MOST alone."""
OTHER_AGGREGATES = frozenset(
    [
        "string_agg",
        "array_agg",
        "any_value",
        "json_agg",
        "jsonb_agg",
        "json_object_agg",
        "xmlagg",
        "corr",
        "covar_pop",
        "covar_samp",
        "regr_slope",
        "regr_intercept",
        "regr_count",
        "regr_r2",
        "regr_avgx",
        "regr_avgy",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "mode",
        "percentile_cont",
        "percentile_disc",
        "bit_and",
        "bit_or",
        "bit_xor",
        "range_agg",
    ]
)
"""Aggregates that are aggregates, and not understood but where `collecting` carries them over."""
_QUANTILES = {"percentile_cont": "QUANTILE_CONT", "percentile_disc": "QUANTILE_DISC"}
"""Those that AT_LEAST and AT_MOST may stand around all the same."""


def _average(value: Value, text: str, total: str, count: str) -> Value:
    """AVG: of integers and exact numerics a numeric, known as a quotient.

    Args:
        value: The argument.
        text: `AVG(…)` with its FILTER.
        total: `SUM(…)` likewise.
        count: `COUNT(…)` likewise.
    """
    if not value.is_number:
        raise no_operator(value)
    if value.kind in FLOATS:
        return Value(text, "float8")
    if not value.is_exact:
        return Value(text, "numeric")
    dividend = Value(total, "numeric", scale=value.scale or 0)
    # NULL and not an error where there are no rows.
    divisor = Value(f"NULLIF({count}, 0)", "int8", nonzero=True)
    return numbers.ratio(dividend, divisor, text)


WINDOWS: dict[str, tuple[int, int]] = {
    "row_number": (0, 0), "rank": (0, 0), "dense_rank": (0, 0), "percent_rank": (0, 0), "cume_dist": (0, 0),
    "ntile": (1, 1), "lag": (1, 3), "lead": (1, 3), "first_value": (1, 1), "last_value": (1, 1),
    "nth_value": (2, 2),
}  # fmt: skip
"""Window functions and how many arguments they take."""


def _window_function(name: str, values: list[Value]) -> Value:
    """A window function, without its OVER."""
    least, most = WINDOWS[name]
    if not least <= len(values) <= most:
        raise NotUnderstood("function", name=name)
    if name in ("percent_rank", "cume_dist"):
        return Value(f"{name.upper()}()", "float8")
    if name == "ntile":
        return Value(f"NTILE({functions.constant(values[0])})", "int4")
    if not values:
        return Value(f"{name.upper()}()", "int8")
    first = values[0]
    if first.kind in ("unknown", "parameter"):
        raise no_operator(first)
    texts = [first.text]
    if len(values) > 1:
        texts.append(str(functions.constant(values[1])))
    if len(values) > 2:
        _, (_, default) = functions.unify(first, values[2])
        texts.append(default.text)
    return Value(f"{name.upper()}({', '.join(texts)})", first.kind, scale=first.scale)


def is_aggregate(name: str) -> bool:
    """Whether a function is an aggregate, understood or not."""
    return name in ("count", "avg") or name in _AGGREGATES or name in OTHER_AGGREGATES


def named(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """An aggregate's name and arguments."""
    if not isinstance(node, exp.Anonymous):
        raise NotUnderstood("aggregate", name="here")
    return str(node.name).lower(), node.expressions


def aggregate(
    translator: Translator, name: str, arguments: list[exp.Expr], condition: exp.Expr | None, over: str = ""
) -> Value:
    """An aggregate, with its FILTER and, as a window function, its OVER."""
    return _aggregated(translator, name, arguments, condition, over)[1]


def end(translator: Translator, word: str, arguments: list[exp.Expr]) -> Value:
    """AT_LEAST or AT_MOST, whatever they stand around: what that may be is said of DuckDB's text."""

    def leaf(node: exp.Expr) -> Value:
        call, condition = node, None
        if isinstance(node, exp.Filter):
            call, condition = node.this, node.args["expression"].this
        if isinstance(call, exp.WithinGroup):
            return Value(_quantile(translator, call, condition), "numeric")
        if isinstance(call, exp.Anonymous) and str(call.name).lower() in _PAIRED:
            return Value(_paired(translator, call, condition), "float8")
        if isinstance(call, exp.Anonymous) and is_aggregate(name := str(call.name).lower()):
            # as it stands: what PostgreSQL makes of its type is nothing to an end
            text, value = _aggregated(translator, name, call.expressions, condition)
            return Value(text, value.kind)
        return translator.value(node)

    texts = [plain(node, leaf, _has_aggregate).text for node in arguments]
    return Value(f"{word}({', '.join(texts)})", "float8")


def _has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate stands somewhere below a node that is none itself."""
    call = node.this if isinstance(node, exp.Filter) else node
    below = not isinstance(call, exp.WithinGroup | exp.Window) and not _is_call(call)
    return below and any(isinstance(each, exp.WithinGroup) or _is_call(each) for each in node.walk())


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and is_aggregate(str(node.name).lower())


def _paired(translator: Translator, node: exp.Anonymous, condition: exp.Expr | None) -> str:
    """An aggregate of two columns, as DuckDB has it by the same name."""
    name, arguments = named(node)
    if len(arguments) != 2:
        raise NotUnderstood("aggregate-arguments", name=name.upper())
    sides = ", ".join(translator.value(each).text for each in arguments)
    tail = "" if condition is None else f" FILTER (WHERE {translator.condition(condition).text})"
    return f"{name.upper()}({sides}){tail}"


def quantile(translator: Translator, node: exp.Expr, condition: exp.Expr | None) -> Value:
    """A quantile that no end is asked of: of a protected column that it is told as a range alone is said."""
    assert isinstance(node, exp.WithinGroup)
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not any(translator.value(each).protected for each in node.expression.find_all(exp.Column)):
        name, arguments = named(node.this)
        if len(order) != 1:
            raise NotUnderstood("aggregate", name=name.upper())
        return collecting.within(translator, name, arguments, order[0], _filtered(translator, condition))
    text = _quantile(translator, node, condition)
    return Value(text, "float8")


def _filtered(translator: Translator, condition: exp.Expr | None) -> str:
    return "" if condition is None else f" FILTER (WHERE {translator.condition(condition).text})"


def _quantile(translator: Translator, node: exp.WithinGroup, condition: exp.Expr | None) -> str:
    """DuckDB's quantile, for `percentile_cont(p) WITHIN GROUP (ORDER BY x)`."""
    name, arguments = named(node.this)
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if name not in _QUANTILES or len(arguments) != 1 or len(order) != 1:
        raise NotUnderstood("aggregate", name=name.upper())
    (ordered,) = order
    if isinstance(ordered, exp.Ordered):
        if ordered.args.get("desc"):
            raise refuse(f"{name} in descending order", "Leave DESC out.")
        ordered = ordered.this
    collecting.require_one(name, arguments[0], ordered)
    tail = "" if condition is None else f" FILTER (WHERE {translator.condition(condition).text})"
    return (
        f"{_QUANTILES[name]}({translator.value(ordered).text}, {translator.value(arguments[0]).text}){tail}"
    )


def _aggregated(
    translator: Translator, name: str, arguments: list[exp.Expr], condition: exp.Expr | None, over: str = ""
) -> tuple[str, Value]:
    """DuckDB's aggregate, and what has the value that it has in PostgreSQL."""
    if name.upper() in ENDS:
        raise refuse(f"{name} with FILTER or OVER after it", "Write FILTER inside, after the aggregate.")
    if name in _PAIRED and not over and any(translator.value(each).protected for each in arguments):
        # that no end is asked of it is said of DuckDB's text
        text = _paired(translator, exp.Anonymous(this=name, expressions=arguments), condition)
        return text, Value(text, "float8")
    if name in collecting.NAMES:
        tail = _filtered(translator, condition) + over
        made = collecting.collected(translator, name, arguments, tail, ordered)
        return made.text, made
    if name in collecting.FLOATING:
        made = collecting.paired(translator, name, arguments, _filtered(translator, condition) + over)
        return made.text, made
    if name in OTHER_AGGREGATES:
        raise NotUnderstood("aggregate", name=name)
    if name not in ("count", "avg") and name not in _AGGREGATES:
        raise NotUnderstood("function", name=name)
    tail = over
    if condition is not None:
        tail = f" FILTER (WHERE {translator.condition(condition).text}){over}"
    if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return f"COUNT(*){tail}", Value(f"COUNT(*){tail}", "int8")
    distinct = ""
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        distinct, arguments = "DISTINCT ", arguments[0].expressions
    if len(arguments) != 1 or isinstance(arguments[0], exp.Order | exp.Star):
        raise NotUnderstood("aggregate-arguments", name=name.upper())
    value = translator.value(arguments[0])
    if value.kind == "parameter":
        raise no_operator(value)
    value = casts.typed(value, "text")
    if (
        condition is not None
        and not value.protected
        and any(sign in value.text for sign in ("//", "CAST(", "%"))
    ):
        # DuckDB computes the argument for rows that FILTER leaves out too, and may fail there.
        kept = translator.condition(condition).text
        inner = f"({distinct}CASE WHEN {kept} THEN {value.text} END){over}"
    else:
        inner = f"({distinct}{value.text}){tail}"
    if name == "count":
        return f"COUNT{inner}", Value(f"COUNT{inner}", "int8")
    if value.kind == spans.KIND and name in ("sum", "avg") and not distinct:
        opening, closing = inner.split(value.text, 1)
        made = (
            spans.total(value, f"SUM{opening}", closing)
            if name == "sum"
            else spans.mean(value, f"SUM{opening}", closing, f"COUNT{inner}")
        )
        return made.text, made
    if name == "avg":
        return f"AVG{inner}", _average(value, f"AVG{inner}", f"SUM{inner}", f"COUNT{inner}")
    word, result = _AGGREGATES[name]
    return f"{word}{inner}", result(value, f"{word}{inner}")


def over(translator: Translator, node: exp.Expr) -> Value:
    """A window function."""
    for clause in ("alias", "first"):
        if node.args.get(clause):
            raise NotUnderstood("construct", name="WINDOW")
    tail = f" OVER ({_window(translator, node)})"
    call, condition = node.this, None
    if isinstance(call, exp.Filter):
        call, condition = call.this, call.args["expression"].this
    name, arguments = named(call)
    if name not in WINDOWS:
        return aggregate(translator, name, arguments, condition, tail)
    if condition is not None:
        raise refuse(f"FILTER after {name}")
    value = _window_function(name, [translator.value(each) for each in arguments])
    text = f"{value.text}{tail}"
    return Value(f"CAST({text} AS INTEGER)" if name == "ntile" else text, value.kind, scale=value.scale)


def _window(translator: Translator, node: exp.Expr) -> str:
    parts = []
    if node.args.get("partition_by"):
        keys = [translator.value(each).text for each in node.args["partition_by"]]
        parts.append(f"PARTITION BY {', '.join(keys)}")
    order = node.args.get("order")
    if order is not None:
        parts.append(
            f"ORDER BY {', '.join(ordered(each, translator.value(each.this)) for each in order.expressions)}"
        )
    spec = node.args.get("spec")
    if spec is not None:
        parts.append(_frame(spec))
    return " ".join(parts)


def _frame(spec: exp.Expr) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    start, end = (_bound(spec, each) for each in ("start", "end"))
    if kind == "RANGE" and any(letter.isdecimal() for letter in start + end):
        raise refuse("RANGE with an offset", "Use ROWS.")
    frame = f"{kind} BETWEEN {start} AND {end}" if end else f"{kind} {start}"
    exclude = spec.args.get("exclude")
    return f"{frame} EXCLUDE {exclude.name}" if exclude is not None else frame


def _bound(spec: exp.Expr, which: str) -> str:
    bound, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    if bound is None:
        return ""
    if isinstance(bound, exp.Expr):
        if not isinstance(bound, exp.Literal) or not bound.name.isdecimal():
            raise refuse("a frame whose bound is not written out", "Write a number.")
        return f"{bound.name} {side}"
    return f"{bound} {side}".upper().strip()


def ordered(node: exp.Expr, value: Value) -> str:
    """One key of ORDER BY: NULL is greater than everything, unless NULLS says otherwise."""
    if value.kind == "other":
        raise no_operator(value)
    word = " DESC" if node.args.get("desc") else ""
    # The parser writes down what PostgreSQL does where the statement says nothing.
    return f"{value.text}{word} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"
