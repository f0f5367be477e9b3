"""`risk` and `history` of the schema `cae_sql`: what administrators read of the gate, as tables.

Promises that a statement of anybody else that names the schema is refused before anything is looked at, and
that an administrator's statement runs over copies of these two tables in an instance that reaches nothing
else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from sqlglot import exp

from auditor.data.running import LargeResult, Limits, fetch, watched
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.sql import limits
from auditor.sql.schema import Column, Table, folded, quoted
from auditor.sql.time_zones import session_zone
from auditor.sql.understood import NotUnderstood

if TYPE_CHECKING:
    import pandas as pd

    from auditor.gate.gate import Gate

SCHEMA = "cae_sql"
LIMITS = Limits(seconds=30.0, rows=1_000_000, bytes=256 << 20)
MEMORY = "512MB"
_FIGURES = {
    "records": "BIGINT",
    **dict.fromkeys(("lower", "upper", "initial_entropy", "entropy_at_epsilon", "area", "risk"), "DOUBLE"),
    **dict.fromkeys(("risk_at_most", "excluded", "possible", "not_known"), "DOUBLE"),
    "looked_at": "BOOLEAN",
}
_HISTORY = tuple(
    Column(*each)
    for each in (
        ("number", "BIGINT"), ("time", "TIMESTAMP WITH TIME ZONE"), ("user", "VARCHAR"), ("sql", "VARCHAR"),
        ("zone", "VARCHAR"), ("verdict", "VARCHAR"), ("code", "VARCHAR"), ("check", "BOOLEAN"),
        ("surprise", "BIGINT"), ("risk_before", "DOUBLE"), ("risk_after", "DOUBLE"),
        ("because", "VARCHAR"), ("by", "VARCHAR"),
    )
)  # fmt: skip
_NAMED = re.compile(r"\bcae_sql\b", re.IGNORECASE)
_DENIED = ProtocolError(
    SqlState.INSUFFICIENT_PRIVILEGE,
    f"permission denied for schema {SCHEMA}",
    hint="Risk and history are for administrators.",
)
_ONLY = ProtocolError(
    SqlState.FEATURE_NOT_SUPPORTED,
    f"a statement over {SCHEMA} reads {SCHEMA}.risk and {SCHEMA}.history, and nothing else",
    hint="Ask for the two apart from other tables, with a plain SELECT without parameters.",
)


def tables(gate: Gate) -> tuple[Table, ...]:
    """The two tables as the catalogue shows them to administrators; nothing is worked out for it."""
    risk = tuple(Column(name, kind) for name, kind in _risk_columns(gate).items())
    return Table(f"{SCHEMA}.risk", risk), Table(f"{SCHEMA}.history", _HISTORY)


def _risk_columns(gate: Gate) -> dict[str, str]:
    """The columns of `Gate.risk` and their types: what is known, figures, and in front whose they are."""
    types = {table.name: {each.name: each.type for each in table.columns} for table in gate.schema.tables}
    found: dict[str, str] = {}
    for protected, known in zip(gate.schema.protected, gate.known_columns, strict=True):
        spelled = {folded(name): name for name in types[protected.table]}
        names = [spelled[folded(name)] for name in known]
        found |= {name: types[protected.table][name] for name in names} | _FIGURES
    front = ["column", "table"] if len(gate.schema.protected) > 1 else []
    for name in [*front, *(["user"] if gate.policy.ledger.scope == "user" else [])]:
        while name in found:
            name += "_"
        found = {name: "VARCHAR", **found}
    return found


def named(sql: str) -> bool:
    """Whether a statement reads a table of the schema; a text that does not parse reads none."""
    if not _NAMED.search(sql):
        return False
    try:
        return any(table.db.lower() == SCHEMA for table in limits.parse(sql).find_all(exp.Table))
    except (NotUnderstood, RecursionError):
        return False


def answer(
    gate: Gate, sql: str, values: Sequence[object], administrator: bool, zone: str = "UTC"
) -> tuple[tuple[str, ...], tuple[str, ...], pa.Table]:
    """Names, DuckDB's types and rows of a statement over the schema, reckoned in a session's time zone.

    Raises:
        ProtocolError: the user is no administrator, or the statement is more than a SELECT over the two.
    """
    wanted = _wanted(sql, administrator)
    if values:
        raise _ONLY
    with closing(_instance(gate, wanted, zone)) as instance, watched(instance, LIMITS.seconds):
        try:
            relation = instance.sql(sql)
            names, kinds = tuple(relation.columns), tuple(map(str, relation.types))
            return names, kinds, fetch(instance, sql, LIMITS)
        except LargeResult:
            raise ProtocolError(SqlState.PROGRAM_LIMIT_EXCEEDED, "the result is too large") from None
        except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
            raise _failed(error) from None


def describe(gate: Gate, sql: str, administrator: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and DuckDB's types of the columns of such a statement.

    Raises:
        ProtocolError: as `answer`.
    """
    _wanted(sql, administrator)
    with closing(_instance(gate)) as instance:
        try:
            relation = instance.sql(sql)
            return tuple(relation.columns), tuple(map(str, relation.types))
        except (duckdb.Error, RuntimeError) as error:
            raise _failed(error) from None


def _wanted(sql: str, administrator: bool) -> tuple[str, ...]:
    if not administrator:
        raise _DENIED
    tree = limits.parse(sql)
    names = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    wanted = set()
    for table in tree.find_all(exp.Table):
        if table.db.lower() == SCHEMA and table.name.lower() in ("risk", "history") and not table.catalog:
            wanted.add(table.name.lower())
        elif table.db or table.name.lower() not in names:
            raise _ONLY
    return tuple(sorted(wanted))


def _instance(gate: Gate, wanted: Sequence[str] = (), zone: str = "UTC") -> duckdb.DuckDBPyConnection:
    """A database that holds the tables, those wanted with their rows, and is closed to everything else."""
    frames: dict[str, pd.DataFrame] = {}
    if "risk" in wanted:
        frames["risk"] = gate.risk()
    if "history" in wanted:
        frames["history"] = gate.history()
    instance = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY})
    instance.execute(f"CREATE SCHEMA {SCHEMA}")
    for table in tables(gate):
        columns = ", ".join(f"{quoted(each.name)} {each.type}" for each in table.columns)
        instance.execute(f"CREATE TABLE {table.name} ({columns})")
        frame = frames.get(table.name.removeprefix(f"{SCHEMA}."))
        if frame is not None and len(frame):
            instance.register("given", frame)
            listed = ", ".join(f"CAST({quoted(each.name)} AS {each.type})" for each in table.columns)
            instance.execute(f"INSERT INTO {table.name} SELECT {listed} FROM given")
            instance.unregister("given")
    instance.execute("SET python_enable_replacements = false")
    instance.execute(f"SET TimeZone = '{session_zone(zone).engine}'")
    instance.execute(
        "SET temp_directory = ''; SET enable_external_access = false; SET lock_configuration = true"
    )
    return instance


def _failed(error: Exception) -> ProtocolError:
    return ProtocolError(SqlState.SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION, str(error).splitlines()[0][:200])
