"""BigQuery's INFORMATION_SCHEMA.JOBS, and jobs as `bq ls -j` or the API give them.

The view has no values of query parameters; the API's jobs have those of positional ones. Source: BigQuery
documentation, "JOBS view", and REST reference, "Job".
"""

from __future__ import annotations

from collections.abc import Mapping

from auditor.history.readers.columns import Row, Table, text


def _answered(row: Row) -> bool | None:
    for name in ("error_result", "error_result.reason", "error_result_reason", "error_reason", "errorresult"):
        error = row.get(name)
        if isinstance(error, Mapping):
            if any(error.values()):
                return False
        elif text(error).strip() not in ("", "null", "{}", "NULL"):
            return False
    state = text(row.get("state")).strip().upper()
    return True if state == "DONE" else None


def _skip(row: Row) -> str:
    kind = text(row.get("job_type")).strip().upper()
    return f"{kind} job" if kind not in ("", "QUERY") else ""


def flattened(row: Row) -> Row:
    """A job of the API as a row of the view; other rows as they are."""
    configuration, status, statistics = (row.get(name) for name in ("configuration", "status", "statistics"))
    if not isinstance(configuration, Mapping):
        return row
    asked = configuration.get("query")
    asked = asked if isinstance(asked, Mapping) else {}
    status = status if isinstance(status, Mapping) else {}
    statistics = statistics if isinstance(statistics, Mapping) else {}
    return {
        "query": asked.get("query"),
        "user_email": row.get("user_email"),
        "creation_time": statistics.get("creationTime"),
        "state": status.get("state"),
        "error_result": status.get("errorResult"),
        "job_type": configuration.get("jobType"),
        "query_parameters": _positional(asked.get("queryParameters")),
    }


def _positional(parameters: object) -> list[object] | None:
    """Values of `?`; named ones cannot be told from here, and none are given rather than wrong ones."""
    if not isinstance(parameters, list) or any(
        not isinstance(each, Mapping) or each.get("name") for each in parameters
    ):
        return None
    found = [each.get("parameterValue") for each in parameters]
    return [each.get("value") if isinstance(each, Mapping) else None for each in found] or None


TABLE = Table(
    "bigquery",
    {
        "sql": ("query",),
        "user": ("user_email",),
        "time": ("creation_time", "start_time", "end_time"),
        "database": ("project_id",),
        "parameters": ("query_parameters",),
    },
    dialect="bigquery",
    skip=_skip,
    answered=_answered,
)
