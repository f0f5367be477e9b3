"""Calls of everything that PostgreSQL's dialect carries over, with NULL in each place of each.

Not a test: `test_null_places` asks a server, and the translation, for each of them. A NULL is written bare,
with a type, and as an expression that is NULL in some rows alone: engines treat these apart.
"""

from __future__ import annotations

from collections.abc import Iterator

SCALAR: dict[str, list[tuple[str, ...]]] = {
    "coalesce": [("i", "7"), ("x", "'none'"), ("day", "date '2020-01-01'")],
    "greatest": [("i", "3", "s"), ("x", "'b'"), ("day", "date '2020-01-01'")],
    "least": [("i", "3", "s"), ("x", "'b'"), ("day", "date '2020-01-01'")],
    "nullif": [("i", "7"), ("x", "'abc'")],
    "abs": [("i",), ("n",)], "round": [("n",), ("n", "1")], "trunc": [("n",), ("n", "1")],
    "ceil": [("n",)], "ceiling": [("d",)], "floor": [("d",)], "sign": [("i",), ("n",)],
    "sqrt": [("id",)], "cbrt": [("d",)], "exp": [("s / 10",)], "ln": [("id",)], "log10": [("id",)],
    "log": [("id",), ("2", "id")], "power": [("id", "2")], "pow": [("2.0", "s")], "mod": [("i", "4")],
    "div": [("i", "2")], "pi": [()], "degrees": [("d",)], "radians": [("d",)], "sin": [("d",)],
    "cos": [("d",)], "tan": [("d",)], "atan2": [("d", "n")],
    "length": [("x",)], "char_length": [("x",)], "character_length": [("x",)], "lower": [("x",)],
    "upper": [("x",)], "reverse": [("x",)], "replace": [("x", "'a'", "'b'")],
    "starts_with": [("x", "'a'")], "ltrim": [("x",), ("x", "'a '")], "rtrim": [("x",), ("x", "'c '")],
    "btrim": [("x",), ("x", "'a '")], "lpad": [("x", "5"), ("x", "5", "'*'")],
    "rpad": [("x", "5"), ("x", "5", "'*'")], "left": [("x", "2")], "right": [("x", "2")],
    "substr": [("x", "2"), ("x", "2", "1")], "substring": [("x", "2"), ("x", "2", "1")],
    "strpos": [("x", "'b'")], "split_part": [("x", "'b'", "1")], "concat": [("x", "'a'", "i")],
    "date_part": [("'year'", "day"), ("'year'", "at")], "date_trunc": [("'month'", "day"), ("'hour'", "at")],
    "to_char": [("day", "'YYYY-MM'"), ("i", "'FM999'")], "make_date": [("2020", "1", "id")],
    "initcap": [("x",)], "concat_ws": [("'-'", "x", "'a'", "i")], "format": [("'%s-%s'", "x", "i")],
    "md5": [("x",)], "regexp_replace": [("x", "'a'", "'b'"), ("x", "'a'", "'b'", "'g'")],
    "to_date": [("'2020-02-03'", "'YYYY-MM-DD'")],
    "to_timestamp": [("id",), ("'2020-02-03'", "'YYYY-MM-DD'")],
    "date": [("at",)], "width_bucket": [("i", "0", "10", "5")],
    "date_bin": [("interval '1 hour'", "at", "timestamp '2020-01-01'")],
    "translate": [("x", "'ab'", "'AB'")],
    "age": [("at", "timestamp '2020-01-01'"), ("day", "date '2020-01-01'")],
    "timezone": [("'UTC'", "at")], "isfinite": [("day",), ("at",)], "justify_hours": [("at - day",)],
    "justify_days": [("at - day",)], "justify_interval": [("at - day",)],
}  # fmt: skip
"""Functions of one row's values, with arguments that suit the table `items`."""
AGGREGATES: dict[str, list[tuple[str, ...]]] = {
    "count": [("i",)], "sum": [("i",), ("n",), ("at - day",)], "avg": [("i",), ("n",), ("at - day",)],
    "min": [("i",), ("x",), ("day",)],
    "max": [("i",), ("x",), ("day",)], "bool_and": [("ok",)], "every": [("ok",)], "bool_or": [("ok",)],
    "stddev": [("d",)], "stddev_samp": [("d",)], "stddev_pop": [("d",)], "variance": [("d",)],
    "var_samp": [("d",)], "var_pop": [("d",)],
    "corr": [("i", "s")], "covar_pop": [("i", "s")], "covar_samp": [("i", "s")], "regr_slope": [("i", "s")],
    "regr_intercept": [("i", "s")], "regr_r2": [("i", "s")], "regr_avgx": [("i", "s")],
    "regr_avgy": [("i", "s")], "regr_sxx": [("i", "s")], "regr_sxy": [("i", "s")], "regr_syy": [("i", "s")],
    "regr_count": [("i", "s")],
}  # fmt: skip
ORDERED: dict[str, list[tuple[str, ...]]] = {
    "string_agg": [("x", "','")], "array_agg": [("i",), ("x",)],
}  # fmt: skip
"""Aggregates whose value depends on the order of rows: ORDER BY id stands in them."""
WITHIN: dict[str, list[tuple[str, ...]]] = {
    "percentile_cont": [("0.5", "i")], "percentile_disc": [("0.5", "i")], "mode": [("s",)],
}  # fmt: skip
"""Aggregates WITHIN GROUP: what is ordered comes last."""
WINDOWS: dict[str, list[tuple[str, ...]]] = {
    "row_number": [()], "rank": [()], "dense_rank": [()], "percent_rank": [()], "cume_dist": [()],
    "ntile": [("3",)], "lag": [("i",), ("i", "1"), ("i", "2", "0"), ("x", "1", "'z'")],
    "lead": [("i",), ("i", "1"), ("i", "2", "0"), ("x", "1", "'z'")],
    "first_value": [("i",)], "last_value": [("i",)], "nth_value": [("i", "2")],
}  # fmt: skip
"""Window functions, with OVER (ORDER BY id)."""
FORMS: list[tuple[str, tuple[str, ...]]] = [
    *((f"{{0}} {sign} {{1}}", ("i", "3")) for sign in ("+", "-", "*", "/", "%", "^", "=", "<>", "<", ">=")),
    *((f"{{0}} {sign} {{1}}", ("day", "1")) for sign in "+-"),
    *((f"{{0}} {sign} {{1}}", ("at", "interval '1 day'")) for sign in "+-"),
    ("{0} - {1}", ("at", "day")), ("{0} / {1}", ("at - day", "2")),
    ("{0} - {1}", ("day", "date '2020-01-01'")),
    ("{0} || {1}", ("x", "'a'")),
    ("{0} * {1}", ("interval '1 day'", "id")),
    ("{0} LIKE {1}", ("x", "'a%'")),
    ("{0} ILIKE {1}", ("x", "'a%'")),
    ("{0} SIMILAR TO {1}", ("x", "'a%'")),
    ("{0} LIKE {1} ESCAPE '!'", ("x", "'a%'")),
    ("{0} ~ {1}", ("x", "'^a'")),
    ("{0} !~* {1}", ("x", "'^a'")),
    ("{0} AND {1}", ("ok", "id > 3")),
    ("{0} OR {1}", ("ok", "id > 3")),
    ("NOT {0}", ("ok",)),
    ("-{0}", ("i",)),
    ("{0} IS NULL", ("i",)),
    ("{0} IS NOT NULL", ("x",)),
    ("{0} IS TRUE", ("ok",)),
    ("{0} IS NOT FALSE", ("ok",)),
    ("{0} IS DISTINCT FROM {1}", ("i", "7")), ("{0} IS NOT DISTINCT FROM {1}", ("i", "7")),
    ("{0} IN ({1}, {2})", ("i", "7", "15")), ("{0} NOT IN ({1}, {2})", ("i", "7", "15")),
    ("({0}, {1}) IN (({2}, {3}), (2, -7))", ("id", "i", "1", "7")),
    ("({0}, {1}) = ({2}, {3})", ("id", "i", "1", "7")),
    ("{0} = ANY(ARRAY[{1}, {2}])", ("i", "7", "15")), ("{0} <> ALL(ARRAY[{1}, {2}])", ("i", "7", "15")),
    ("{0} BETWEEN {1} AND {2}", ("i", "0", "8")), ("{0} NOT BETWEEN {1} AND {2}", ("i", "0", "8")),
    ("{0} BETWEEN SYMMETRIC {1} AND {2}", ("i", "8", "0")),
    ("CASE WHEN {0} THEN {1} ELSE {2} END", ("ok", "i", "3")),
    ("CASE {0} WHEN {1} THEN {2} ELSE {3} END", ("i", "7", "1", "2")),
    ("substring({0} from {1} for {2})", ("x", "1", "2")), ("trim(both {1} from {0})", ("x", "'a'")),
    ("position({1} in {0})", ("x", "'b'")),
    ("overlay({0} placing {1} from {2} for {3})", ("x", "'zz'", "2", "1")),
    ("extract(year from {0})", ("day",)),
    ("extract(epoch from {0})", ("at",)),
    ("{0} AT TIME ZONE {1}", ("at", "'UTC'")),
    ("CAST({0} AS integer)", ("n",)), ("CAST({0} AS text)", ("day",)), ("CAST({0} AS date)", ("at",)),
    ("array_to_string(array_agg({0} ORDER BY id), {1})", ("x", "','")),
    ("count(*) FILTER (WHERE {0})", ("ok",)), ("sum({0}) FILTER (WHERE {1})", ("i", "ok")),
    ("count(DISTINCT {0})", ("x",)), ("string_agg(DISTINCT {0}, {1})", ("x", "','")),
    ("string_agg({0}, {1} ORDER BY {0})", ("x", "','")),
    ("(SELECT count(*) FROM generate_series({0}, {1}, {2}) g)", ("1", "3", "1")),
    ("(SELECT count(*) FROM (SELECT generate_series({0}, {1}) AS g) q)", ("1", "3")),
    ("(SELECT count(u) FROM unnest(ARRAY[{0}, {1}]) u)", ("1", "3")),
    ("(SELECT count(*) FROM kinds LIMIT {0})", ("1",)), ("(SELECT count(*) FROM kinds OFFSET {0})", ("0",)),
    ("{0} IN (SELECT kind FROM kinds)", ("i",)),
    ("{0} NOT IN (SELECT kind FROM kinds WHERE kind > {1})", ("i", "0")),
]  # fmt: skip
"""Operators and the like, as patterns with their operands."""
LATER = frozenset({"any_value", "now", "transaction_timestamp", "statement_timestamp"})
"""What PostgreSQL 15 does not have, and what reads the clock."""


def _nulls(argument: str) -> list[str]:
    """A NULL instead of an argument, in each way."""
    typed = {
        "i": "NULL::int", "x": "NULL::text", "day": "NULL::date", "at": "NULL::timestamp", "ok": "NULL::bool"
    }  # fmt: skip
    whole = typed.get(argument) or ("NULL::text" if argument.startswith("'") else "NULL::int")
    return ["NULL", whole, f"CASE WHEN id > 5 THEN {argument} END"]


def _places(arguments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield arguments
    for place, argument in enumerate(arguments):
        for null in _nulls(argument):
            yield (*arguments[:place], null, *arguments[place + 1 :])
    if len(arguments) > 1:
        yield ("NULL",) * len(arguments)


def statements() -> Iterator[str]:
    """One SELECT for each place of each call."""
    for name, calls in SCALAR.items():
        for arguments in (each for call in calls for each in _places(call)):
            yield f"SELECT id, {name}({', '.join(arguments)}) FROM items ORDER BY id"
    for names, order in ((AGGREGATES, ""), (ORDERED, " ORDER BY id")):
        for name, calls in names.items():
            for arguments in (each for call in calls for each in _places(call)):
                yield f"SELECT {name}({', '.join(arguments)}{order}) FROM items"
    for name, calls in WITHIN.items():
        for arguments in (each for call in calls for each in _places(call)):
            given = ", ".join(arguments[:-1])
            yield f"SELECT {name}({given}) WITHIN GROUP (ORDER BY {arguments[-1]}) FROM items"
    for name, calls in WINDOWS.items():
        for arguments in (each for call in calls for each in _places(call)):
            yield f"SELECT id, {name}({', '.join(arguments)}) OVER (ORDER BY id) FROM items ORDER BY id"
    for form, operands in FORMS:
        for arguments in _places(operands):
            yield f"SELECT {form.format(*arguments)} FROM items"
