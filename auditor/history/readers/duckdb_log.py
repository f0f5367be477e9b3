"""DuckDB's query log: the table `duckdb_logs` or the files of `enable_logging('QueryLog', storage = 'file')`.

It names no user and does not say what failed. Source: DuckDB documentation, "Logging"; seen with 2.0.
"""

from __future__ import annotations

from auditor.history.readers.columns import Row, Table, text


def _skip(row: Row) -> str:
    kind = text(row.get("type"))
    return "" if kind == "QueryLog" else kind or "log entry without a type"


TABLE = Table(
    "duckdb",
    {"sql": ("message",), "time": ("timestamp",), "type": ("type",)},
    dialect="duckdb",
    skip=_skip,
    session="connection_id",
    needs=("sql", "type"),
)
