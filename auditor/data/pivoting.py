"""PIVOT without a list of values: its columns are the values that a public column has.

Promise: what is looked at is public, by a query that is understood like any other; nothing is known of a
column that is not.
"""

from __future__ import annotations

from auditor.data.database import Database, StatementFailed
from auditor.data.python_values import python_values
from auditor.sql import Schema, Unsupported
from auditor.sql.pivots import MOST, values_wanted, with_values
from auditor.sql.sandbox import understand
from auditor.sql.shape import shape_of
from auditor.sql.understood import NotUnderstood


def with_list(sql: str, zone: str, schema: Schema, database: Database) -> str | None:
    """The statement with a column for each value, in DuckDB's SQL; None where that is not what is lacking."""
    try:
        wanted = values_wanted(sql)
        plan = None if wanted is None else understand(wanted, None, schema, zone=zone)
        if plan is None or isinstance(plan, Unsupported) or not plan.public:
            return None
        values = python_values(database.run_public(plan).column(0))
        return with_values(sql, values, shape_of(schema).describe) if len(values) <= MOST else None
    except (NotUnderstood, StatementFailed):
        return None
