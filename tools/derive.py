"""What DuckDB documents as pure, read off a connection: the rule behind `auditor/sql/pure.csv`.

Promises one rule for every name: functions and aggregates must be consistent and without side effects in
every overload, none of them denied by name below, and only overloads over plain types are recorded. Run by
`python -m tools.regenerate` and by the tests; statements are checked against the frozen file alone.
"""

from __future__ import annotations

from collections import defaultdict

import duckdb

from auditor.sql.pure import Entry, Pure, impure, macros

PLAIN = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
     "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
     "TIMESTAMP WITH TIME ZONE", "INTERVAL"]
)  # fmt: skip
"""Types of values that statements may compute with."""
_ANY = frozenset({"ANY", "T"})
COLLECTING = frozenset({"list", "array_agg", "histogram"})
"""Aggregates that give a list or a map of plain values; nothing may be done with it but show it."""
_COLLECTED = frozenset({"T[]", "MAP"})
# Written otherwise by casts, or of another category in DuckDB's list.
_NOT_PLAIN_NAMES = frozenset({"JSON", "oid"})

_DENIED_PREFIXES = {
    "__": "DuckDB's own",
    "icu_": "collations",
    "json": "JSON",
    "from_json": "JSON",
    "parse_": "files and logs",
    "enum_": "types of the catalogue",
    "array_": "lists",
    "list_": "lists",
    "has_": "catalogue",
    "pg_": "catalogue",
}
_DENIED: dict[str, frozenset[str]] = {
    # What the session, the clock or the catalogue say, whatever DuckDB calls its stability.
    "the clock": frozenset({"current_localtime", "current_localtimestamp"}),
    "session and catalogue": frozenset({
        "version", "hive_partition_component", "path_join", "getenv", "stats", "vector_type",
    }),
    # Lowering changes what these see: names, types and storage of expressions.
    "how a statement is written": frozenset({
        "alias", "typeof", "can_cast_implicitly", "cast_to_type", "replace_type", "constant_or_null",
        "cardinality", "remap_struct", "is_histogram_other_bin",
    }),
    "differs between releases": frozenset({"hash"}),
    # One call can allocate gigabytes past DuckDB's memory limit, or run for hours between two interrupts.
    "time or memory without bound": frozenset({
        "repeat", "levenshtein", "editdist3", "damerau_levenshtein",
        "jaro_similarity", "jaro_winkler_similarity", "jaccard",
    }),
    "JSON": frozenset({"->>"}),
    "states of aggregates": frozenset({"combine", "combine_aggr", "finalize"}),
    # Which value comes out depends on chance.
    "samples": frozenset({"approx_quantile", "reservoir_quantile"}),
    "rounds by order": frozenset({"fsum", "sumkahan", "kahan_sum", "favg", "decimal_average"}),
    "written after its argument": frozenset({"!__postfix"}),
    "overflows silently": frozenset({"sum_no_overflow"}),
    "interpolates by order": frozenset({"fill"}),
}  # fmt: skip
# Overloads that are not what their stability says: with one argument `age` reads the clock.
_DENIED_OVERLOADS = {("age", 1)}


def denied(name: str) -> str | None:
    """Why a name is not on the list although DuckDB calls it consistent; None if nothing is against it."""
    for prefix, reason in _DENIED_PREFIXES.items():
        if name.startswith(prefix) and name not in COLLECTING:
            return reason
    return next((reason for reason, names in _DENIED.items() if name in names), None)


def derive(connection: duckdb.DuckDBPyConnection) -> list[Pure]:
    """Everything that the rule admits in the DuckDB of a connection, sorted."""
    return sorted([*_functions(connection), *macros(connection), *_types(connection)])


def changes(connection: duckdb.DuckDBPyConnection, entries: tuple[Entry, ...]) -> list[str]:
    """What a connection's DuckDB says otherwise of names in a list; not what is new there."""
    now = {(pure.kind, pure.name): pure.signatures for pure in derive(connection)}
    found = []
    for entry in entries:
        signatures = now.get((entry.kind, entry.name))
        what = f"{entry.kind} {entry.name}"
        if signatures is None:
            found.append(f"{what}: gone, or no longer pure. Read duckdb_functions() for its stability.")
            continue
        gone = sorted(set(entry.signatures) - set(signatures))
        new = sorted(set(signatures) - set(entry.signatures))
        if gone or new:
            found.append(f"{what}: overloads or definition differ. Gone: {gone}. New: {new}.")
    return found


def _functions(connection: duckdb.DuckDBPyConnection) -> list[Pure]:
    rows = connection.execute(
        "SELECT function_type, function_name, parameter_types, varargs, return_type FROM duckdb_functions() "
        "WHERE internal AND function_type IN ('scalar', 'aggregate', 'window')"
    ).fetchall()
    unsuitable = impure(connection)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for kind, name, parameters, varargs, result in rows:
        types = [*parameters, *([varargs] if varargs else [])]
        types += [] if name in COLLECTING and result in _COLLECTED else [result]
        if name in unsuitable or denied(name) or not all(each in PLAIN | _ANY for each in types):
            continue
        if (name, len(parameters)) in _DENIED_OVERLOADS:
            continue
        if kind == "scalar" and not name.replace("_", "a").isalnum():
            kind = "operator"
        written = [*parameters, *([f"{varargs}..."] if varargs else [])]
        found[kind, name].add(f"{', '.join(written)} -> {result}".strip())
    return [Pure(kind, name, tuple(sorted(overloads))) for (kind, name), overloads in found.items()]


def _types(connection: duckdb.DuckDBPyConnection) -> list[Pure]:
    rows = connection.execute(
        "SELECT DISTINCT type_name, logical_type FROM duckdb_types() WHERE internal"
    ).fetchall()
    return [
        Pure("type", str(name).lower(), (logical,))
        for name, logical in rows
        if logical in PLAIN and name not in _NOT_PLAIN_NAMES
    ]
