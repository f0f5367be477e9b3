"""What may stand in SQL that runs, by DuckDB's own names: functions, operators, aggregates, windows, types.

The list is `pure.csv`, derived once from what DuckDB documents (`tools/derive.py`) and read from then on:
a new release of DuckDB adds nothing to it. `python -m tools.regenerate` derives it anew; read the
difference before you commit it. Knows names only; whether they stand in a statement is `auditor.sql.guard`'s.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files

import duckdb

FILE = "pure.csv"
COLUMNS = ("kind", "name", "node", "refusal", "signatures")
_UNBOUNDED = 1 << 20


MACROS = frozenset(
    ["split_part", "nullif", "if", "date_add", "days_in_month", "fdiv", "fmod", "geomean", "geometric_mean",
     "weighted_avg", "wavg"]
)  # fmt: skip
"""Macros that analysts use; their definitions are part of the file. `fmod` is one in DuckDB 2.0.0 alone."""
_AGGREGATE_MACROS = frozenset({"geomean", "geometric_mean", "weighted_avg", "wavg"})
_ZONED = frozenset({"TIME WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"})


@dataclass(frozen=True, order=True)
class Pure:
    """A name of the list."""

    kind: str
    """"scalar", "operator", "aggregate", "window", "macro", "aggregate macro" or "type"."""
    name: str
    """DuckDB's name."""
    signatures: tuple[str, ...]
    """Plain overloads, `VARCHAR, BIGINT -> VARCHAR`; a macro's definitions; a type's logical type."""


@dataclass(frozen=True)
class Entry(Pure):
    """A line of the list."""

    node: str = ""
    """sqlglot's classes for its calls, separated by spaces; empty if statements may not contain it."""
    refusal: str = ""
    """Why a client's statement may not contain it; empty if it may."""

    @property
    def arities(self) -> tuple[tuple[int, int], ...]:
        """Least and greatest number of arguments, by overload."""
        return tuple(_arity(signature) for signature in self.signatures)


def _arity(signature: str) -> tuple[int, int]:
    if signature.startswith("("):
        words = [word for word in signature[1:].partition(")")[0].split(", ") if word]
    else:
        words = [word for word in signature.partition("->")[0].strip().split(", ") if word]
    if words and words[-1].endswith("..."):
        return len(words) - 1, _UNBOUNDED
    return len(words), len(words)


def read(text: str) -> tuple[str, tuple[Entry, ...]]:
    """DuckDB's version and the lines of a list."""
    first, _, rest = text.partition("\n")
    entries = [
        Entry(row["kind"], row["name"], tuple(row["signatures"].split("; ")), row["node"], row["refusal"])
        for row in csv.DictReader(io.StringIO(rest))
    ]
    return first.removeprefix("# DuckDB ").strip(), tuple(entries)


def impure(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Names that have an overload with side effects, or whose value may differ between two calls.

    DuckDB 2.0.1 says of overloads that reckon in a time zone that they are consistent within a query only,
    since the zone is a setting. No statement can change it, so two calls agree. The clock's functions take no
    arguments, but for `age` with one, which is not on the list.
    """
    rows = connection.execute(
        "SELECT function_name, stability, has_side_effects, parameter_types, return_type "
        "FROM duckdb_functions() WHERE internal AND function_type IN ('scalar', 'aggregate', 'window')"
    ).fetchall()
    return frozenset(
        str(name)
        for name, stability, side_effects, parameters, result in rows
        if side_effects is not False
        or not (
            stability == "CONSISTENT"
            or (stability == "CONSISTENT_WITHIN_QUERY" and parameters and _ZONED & {*parameters, result})
        )
    )


def macros(connection: duckdb.DuckDBPyConnection) -> list[Pure]:
    """Those of `MACROS` that a connection's DuckDB has, as it defines them."""
    rows = connection.execute(
        "SELECT function_name, parameters, macro_definition FROM duckdb_functions() "
        "WHERE internal AND function_type = 'macro' AND list_contains($1, function_name)",
        [sorted(MACROS)],
    ).fetchall()
    found: dict[str, set[str]] = defaultdict(set)
    for name, parameters, definition in rows:
        found[name].add(f"({', '.join(parameters)}) := {definition}")
    return [
        Pure("aggregate macro" if name in _AGGREGATE_MACROS else "macro", name, tuple(sorted(definitions)))
        for name, definitions in found.items()
    ]


def withdrawn(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Names of the list that the running DuckDB no longer calls pure, or defines otherwise."""
    derived = {pure.name: pure.signatures for pure in macros(connection)}
    # a function of the list that is a macro there is written out, and `sizes` does not count how long it gets
    redefined = {
        entry.name
        for entry in ENTRIES
        if derived.get(entry.name) != (entry.signatures if "macro" in entry.kind else None)
    }
    return (impure(connection) & frozenset(entry.name for entry in ENTRIES)) | redefined


def _named(*kinds: str) -> frozenset[str]:
    return frozenset(entry.name for entry in ENTRIES if entry.kind in kinds)


VERSION, ENTRIES = read((files("auditor.sql") / FILE).read_text("utf-8"))
"""The release of DuckDB that the list was derived from, and its lines."""
scalars = _named("scalar", "macro")
"""Functions of one row's values that may run."""
aggregates = _named("aggregate", "aggregate macro")
"""Aggregates over public columns, and over released aggregates, whose value no order of rows changes."""
windows = _named("window")
"""Window functions that are no aggregates."""
ordered = windows - {"rank", "rank_dense", "dense_rank", "percent_rank", "cume_dist"}
"""Window functions whose value depends on the order of rows that ORDER BY leaves equal."""
operators = _named("operator")
"""Operators, as DuckDB's parser names them."""
types = _named("type")
"""Names of plain types, in lower case."""
short_texts = {"lpad": 1, "rpad": 1}
"""Functions that can make a text of any length, by the position of the length: a literal of at most 1,000."""

value_functions = frozenset(
    ["current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp",
     "current_user", "localtime", "localtimestamp", "session_user", "system_user", "user"]
)  # fmt: skip
"""Names that DuckDB calls, quoted or not, where no table has such a column; on no list."""


def accepted(kind: str, node: str) -> frozenset[str]:
    """Names of a kind whose calls a statement may contain and which sqlglot reads as a class.

    Args:
        kind: As in `Entry`; "scalar" and "aggregate" include macros.
        node: The class's name, `Anonymous` for names that sqlglot does not know.
    """
    return frozenset(
        entry.name
        for entry in ENTRIES
        if entry.kind.replace("aggregate macro", "aggregate").replace("macro", "scalar") == kind
        and node in entry.node.split()
        and not entry.refusal
    )


def classes(*kinds: str) -> frozenset[str]:
    """sqlglot's classes for accepted calls of the kinds, without `Anonymous` and `AnonymousAggFunc`."""
    nodes = {
        node for entry in ENTRIES if entry.kind in kinds and not entry.refusal for node in entry.node.split()
    }
    return frozenset(nodes - {"Anonymous", "AnonymousAggFunc"})
