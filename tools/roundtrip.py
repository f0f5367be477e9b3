"""Whether a call means the same to DuckDB as it stands and after sqlglot has read and written it.

Promises for each name of the list either the sqlglot class that stands for its calls, or why it may not be
accepted in a client's statement. Every plain overload is called on columns and on literals, and answers and
types are compared. Run by `python -m tools.regenerate` and by the tests, on an instance of their own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from auditor.sql.limits import parse
from auditor.sql.pure import Pure
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import generate

_ROWS = 5
# Three columns for each type, so that an exchange of arguments shows.
_NUMBERS = (["1", "2", "3", "12", "NULL"], ["3", "1", "2", "5", "1"], ["2", "5", "1", "3", "4"])
_REALS = (
    ["0.5", "-0.25", "1.0", "0.125", "NULL"],
    ["1.5", "2", "0.75", "-3", "1"],
    ["2", "3", "1", "4", "5"],
)
_TEXTS = (
    ["'Ab c'", "'baab'", "'x%_y'", "'Äß 1'", "NULL"],
    ["'b'", "'aa'", "'%'", "'ß'", "'a'"],
    ["'c'", "'-'", "'z'", "'!'", "'b'"],
)
_DAYS = (
    ["'2020-02-29'", "'1999-12-31'", "'2024-07-01'", "'1969-01-05'", "NULL"],
    ["'2020-03-31'", "'2001-01-01'", "'2024-06-30'", "'1970-01-01'", "'2022-02-02'"],
    ["'2019-03-31'", "'2000-01-01'", "'2014-06-30'", "'1980-01-01'", "'2012-02-02'"],
)
_TIMES = (
    ["'01:02:03.5'", "'23:59:59'", "'12:00:00'", "'00:00:00'", "NULL"],
    ["'11:02:03'", "'03:59:59'", "'02:30:00'", "'20:00:00'", "'06:00:00'"],
    ["'10:02:03'", "'04:59:59'", "'02:20:00'", "'21:00:00'", "'07:00:00'"],
)
_SPANS = (
    ["'1 year 2 months'", "'3 days 04:05:06'", "'-1 month'", "'90 seconds'", "NULL"],
    ["'2 days'", "'1 hour'", "'1 month'", "'1 second'", "'5 days'"],
    ["'4 days'", "'3 hours'", "'7 months'", "'6 seconds'", "'8 days'"],
)
_SAMPLES: dict[str, tuple[list[str], ...]] = {
    "BOOLEAN": (["true", "false", "true", "false", "NULL"], ["true"] * 3 + ["false"] * 2, ["false"] * 5),
    "VARCHAR": _TEXTS, "DATE": _DAYS, "TIME": _TIMES, "INTERVAL": _SPANS, "FLOAT": _REALS, "DOUBLE": _REALS,
    "DECIMAL": _REALS,
}  # fmt: skip
_SAMPLES["TIMESTAMP"] = tuple(
    ["NULL" if "NULL" in (day, time) else f"{day[:-1]} {time[1:]}" for day, time in zip(*pair, strict=True)]
    for pair in zip(_DAYS, _TIMES, strict=True)
)
_SAMPLES["TIMESTAMP WITH TIME ZONE"] = _SAMPLES["TIMESTAMP"]
_ANY = ("INTEGER", "VARCHAR", "DOUBLE", "DATE", "BOOLEAN")

# Arguments that must be of a form, by name and position; a position may differ between overloads, so by type.
_PARTS = {"VARCHAR": ["'month'", "'day'", "'year'"]}
_FORMS: dict[str, dict[str, list[str]]] = {
    **dict.fromkeys(["date_part", "datepart", "date_trunc", "datetrunc", "date_diff", "datediff", "date_sub",
                     "datesub"], _PARTS),
    "strftime": {"VARCHAR": ["'%d.%m.%Y'"]},
    "timezone": {"VARCHAR": ["'Europe/Berlin'"]},
    "make_timestamptz": {"VARCHAR": ["'Europe/Berlin'"]},
}  # fmt: skip
_CALLS: dict[str, list[str]] = {
    "strptime": ["'2021-03-04', '%Y-%m-%d'"],
    "try_strptime": ["'2021-03-04', '%Y-%m-%d'", "'x', '%Y-%m-%d'"],
    "to_base": ["integer1, 16", "integer1, 2, 6", "7, 2, 5"],
    "regexp_extract": ["varchar1, '[a-c]+'", "varchar1, '([a-c])([a-c])', 1", "varchar1, '(B)', 1, 'i'"],
    "regexp_replace": ["varchar1, 'a', 'q'", "varchar1, '[ab]', 'q', 'g'", "varchar1, 'A', 'q', 'gi'"],
    "regexp_matches": ["varchar1, '[a-c]+'", "varchar1, varchar2", "varchar1, 'A', 'i'"],
    "regexp_full_match": ["varchar1, '[a-c]+'", "varchar1, 'BAAB', 'i'"],
    "like_escape": ["varchar1, 'x!%%', '!'", "varchar1, varchar2, '!'"],
    "ilike_escape": ["varchar1, 'X!%%', '!'", "varchar1, varchar2, '!'"],
    "not_like_escape": ["varchar1, 'x!%%', '!'", "varchar1, varchar2, '!'"],
    "not_ilike_escape": ["varchar1, 'X!%%', '!'", "varchar1, varchar2, '!'"],
    "url_decode": ["'a%20b'", "varchar1"],
    "chr": ["65", "integer1 + 64"],
    "format": ["'{} of {:>8.2f}', varchar1, double1", "'{:,}', integer1"],
    "printf": ["'%s of %8.2f', varchar1, double1", "'%05d', integer1"],
    "bar": ["double1, 0, 3", "integer1, 0, 12, 20"],
    "quantile": ["integer1, 0.25", "double1, 0.5"],
    "quantile_cont": ["integer1, 0.25", "double1, 0.5"],
    "quantile_disc": ["integer1, 0.25", "varchar1, 0.5"],
    "hamming": ["varchar1, 'BBBB'", "'Ab c', varchar1"],
    "mismatches": ["varchar1, 'BBBB'", "'Ab c', varchar1"],
    "ntile": ["2", "integer3"],
    "position": ["'a' IN varchar1", "varchar2 IN varchar1"],
    "split_part": ["varchar1, varchar2, 1", "varchar1, 'a', integer2", "'a-b', '-', 2"],
    "time_bucket": ["INTERVAL '1 month', date1", "INTERVAL '3 days', timestamp1",
                    "INTERVAL '1 month', date1, date2", "INTERVAL '3 days', timestamp1, INTERVAL '1 day'"],
    "date_add": ["date1, interval1", "timestamp1, INTERVAL '1 day'", "DATE '2020-01-31', INTERVAL 1 MONTH",
                 "date1, to_days(integer1)"],
    "if": ["boolean1, integer1, integer2", "integer1 > 2, varchar1, 'x'"],
    "nullif": ["integer1, integer2", "varchar1, 'baab'"],
    "acos": ["0.5", "double1 / 4"], "asin": ["0.5", "double1 / 4"],
    "acosh": ["1.5", "double1 + 2"], "atanh": ["0.5", "double1 / 4"],
    "make_date": ["2000, 2, 29", "integer1 + 2000, integer2, integer3", "integer1"],
    "make_timestamp": ["2000, 2, 29, 1, 2, 3.5", "integer1, integer2, integer3, 1, 2, 3.5", "integer1"],
    "make_timestamptz": ["2000, 2, 29, 1, 2, 3.5", "integer1 + 2000, integer2, integer3, 1, 2, 3.5",
                         "2000, 2, 29, 1, 2, 3.5, 'Europe/Berlin'", "integer1"],
    "timezone": ["'Europe/Berlin', timestamp1", "'Europe/Berlin', timestamp_with_time_zone1", "timestamp1"],
    "lpad": ["varchar1, 6, 'xy'", "varchar1, integer1, varchar2"],
    "rpad": ["varchar1, 6, 'xy'", "varchar1, integer1, varchar2"],
}  # fmt: skip
_MACRO_COLUMNS = ("double1", "double2", "double3")


@dataclass(frozen=True)
class Verdict:
    """What a round trip showed of one name."""

    node: str
    """sqlglot's classes for its calls, separated by spaces; `Anonymous` where it has none."""
    refusal: str = ""
    """Why calls by this name are not accepted in statements; empty if they are."""


def instance() -> duckdb.DuckDBPyConnection:
    """An instance with one table of samples."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    columns = []
    for type_ in [*_SAMPLES, "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
                  "UINTEGER", "UBIGINT", "UHUGEINT"]:  # fmt: skip
        for number, values in enumerate(_SAMPLES.get(type_, _NUMBERS), 1):
            cases = " ".join(f"WHEN {row} THEN {value}" for row, value in enumerate(values))
            columns.append(f"CAST(CASE k {cases} END AS {type_}) AS {_column(type_, number)}")
    connection.execute(f"CREATE TABLE sample AS SELECT k, {', '.join(columns)} FROM range({_ROWS}) t(k)")
    return connection


def round_trip(connection: duckdb.DuckDBPyConnection, pure: Pure) -> Verdict:
    """Compare every sample call of a name before and after sqlglot."""
    nodes: set[str] = set()
    tried = 0
    for expression in _expressions(pure):
        text = _statement(pure, expression)
        before = _outcome(connection, text)
        if before is None:
            continue
        tried += 1
        try:
            tree = parse(text)
            written = generate(tree)
        except (SqlglotError, NotUnderstood):
            return Verdict("", f"sqlglot cannot read or write {expression}")
        assert isinstance(tree, exp.Select)
        call = _call(tree.expressions[1])
        # A sign that changes nothing is left out.
        if not (pure.kind == "operator" and isinstance(call, exp.Column | exp.Literal | exp.Cast)):
            nodes.add(type(call).__name__)
        if _outcome(connection, written) != before:
            return Verdict("", f"{expression} becomes {_written(written)}")
    if not tried:
        return Verdict("", "no sample call succeeds")
    return Verdict(" ".join(sorted(nodes)))


def _call(projection: exp.Expr) -> exp.Expr:
    node = projection.unalias()
    while isinstance(node, exp.Paren | exp.Window):
        node = node.this
    return node


def _written(statement: str) -> str:
    match = re.search(r'SELECT (?:"k"|1), (.*) AS "v"', statement)
    return match[1] if match else statement


def _statement(pure: Pure, expression: str) -> str:
    if pure.kind in ("aggregate", "aggregate macro"):
        return f"SELECT 1, {expression} AS v FROM sample"
    if pure.kind == "window":
        return f"SELECT k, {expression} OVER (ORDER BY integer3) AS v FROM sample ORDER BY k"
    return f"SELECT k, {expression} AS v FROM sample ORDER BY k"


def _outcome(connection: duckdb.DuckDBPyConnection, text: str) -> object:
    """Types and rows; where the whole fails, rows that stand alone; None if nothing succeeds."""
    try:
        types = [str(row[1]) for row in connection.execute(f"DESCRIBE {text}").fetchall()]
    except duckdb.Error:
        return None
    try:
        return types, repr(connection.execute(text).fetchall())
    except duckdb.Error:
        pass
    found = []
    for row in range(_ROWS):
        one = text.replace("FROM sample", f"FROM (FROM sample WHERE k = {row}) AS sample").replace(
            'FROM "sample"', f"FROM (FROM sample WHERE k = {row}) AS sample"
        )
        try:
            found.append(repr(connection.execute(one).fetchall()))
        except duckdb.Error:
            found.append("fails")
    return None if set(found) == {"fails"} else (types, found)


def _expressions(pure: Pure) -> Iterator[str]:
    if pure.kind == "operator":
        for types in _overloads(pure):
            for arguments in _arguments(pure.name, types):
                if len(arguments) == 1:
                    yield f"{pure.name} {arguments[0]}"
                elif len(arguments) == 2:
                    yield f"{arguments[0]} {pure.name} {arguments[1]}"
        return
    if pure.name in _CALLS:
        yield from (f"{pure.name}({arguments})" for arguments in _CALLS[pure.name])
        return
    if "macro" in pure.kind:
        for signature in pure.signatures:
            count = signature.partition(")")[0].count(",") + 1
            yield f"{pure.name}({', '.join(_MACRO_COLUMNS[:count])})"
            yield f"{pure.name}({', '.join(['date1', 'date2'][:count])})"
    for types in _overloads(pure):
        for arguments in _arguments(pure.name, types):
            yield f"{pure.name}({', '.join(arguments)})"


def _overloads(pure: Pure) -> Iterator[list[str]]:
    if pure.kind not in ("scalar", "operator", "aggregate", "window"):
        return
    for signature in pure.signatures:
        words = [word for word in signature.partition("->")[0].strip().split(", ") if word]
        plain = [word for word in words if not word.endswith("...")]
        yield plain
        if len(plain) < len(words):
            yield [*plain, *[words[-1].removesuffix("...")] * 2]


def _arguments(name: str, types: list[str]) -> Iterator[list[str]]:
    """Columns, and literals, of the types; every type in turn for ANY."""
    for any_ in _ANY if set(types) & {"ANY", "T"} else ("INTEGER",):
        seen: dict[str, itertools.count[int]] = {}
        columns, literals = [], []
        for type_ in types:
            known = any_ if type_ in ("ANY", "T") else type_
            number = next(seen.setdefault(known, itertools.count(1)))
            forms = _FORMS.get(name, {}).get(known)
            columns.append(forms[0] if forms else _column(known, 1 + (number - 1) % 3))
            value = _SAMPLES.get(known, _NUMBERS)[(number - 1) % 3][0]
            literals.append(forms[-1] if forms else f"CAST({value} AS {known})")
        yield columns
        if types:
            yield literals
    # As people write them: bare numbers and texts.
    if types and all(each in ("VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "ANY") for each in types):
        yield ["'b a'" if each == "VARCHAR" else str(2 + at) for at, each in enumerate(types)]


def _column(type_: str, number: int) -> str:
    return f"{type_.replace(' ', '_').lower()}{number}"
