"""Snowflake's QUERY_HISTORY, as a view of ACCOUNT_USAGE or ORGANIZATION_USAGE or as a table function.

Neither has the values of bind variables. Source: Snowflake documentation, "QUERY_HISTORY view" and
"QUERY_HISTORY, QUERY_HISTORY_BY_*".
"""

from __future__ import annotations

from auditor.history.readers.columns import Row, Table, text


def _answered(row: Row) -> bool | None:
    status = text(row.get("execution_status")).strip().upper()
    if status == "SUCCESS":
        return True
    if status.startswith(("FAIL", "INCIDENT")):
        return False
    if status:
        # still running or waiting as it was exported: what came of it is not known
        return None
    failed = text(row.get("error_code")).strip() or text(row.get("error_message")).strip()
    return False if failed else None


def _skip(row: Row) -> str:
    return (
        "statement of the client itself"
        if text(row.get("is_client_generated_statement")).lower() == "true"
        else ""
    )


TABLE = Table(
    "snowflake",
    {
        "sql": ("query_text",),
        "user": ("user_name",),
        "time": ("start_time", "end_time"),
        "database": ("database_name",),
        "application": ("query_tag", "role_name"),
    },
    dialect="snowflake",
    skip=_skip,
    answered=_answered,
)
