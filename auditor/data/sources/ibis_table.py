"""Any Ibis table expression: Spark, Databricks, Snowflake, BigQuery, Trino, ClickHouse, and others.

Promise: one query is made, of the wanted columns and nothing else, and Ibis writes it; the engine is asked
nothing more. Ibis is never imported here: an expression comes with it.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from auditor.data.sources import staging
from auditor.data.sources.single import Single
from auditor.data.sources.wanted import Needed
from auditor.errors import AuditorError, DatabaseError
from auditor.sql.schema import quoted


class IbisTable(Single):
    """See `Source`."""

    def __init__(self, expression: Any) -> None:
        self._expression = expression
        self.name = "the Ibis table"

    @classmethod
    def takes(cls, given: object) -> bool:
        """Whether something is a table expression of Ibis."""
        return any(
            each.__module__.startswith("ibis.expr.types") and each.__name__ == "Table"
            for each in type(given).__mro__
        )

    def put(self, connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed) -> None:
        """The rows that its engine gives."""
        try:
            chosen = needed.chosen(list(self._expression.columns))
            stream = _stream(self._expression.select(*chosen))
            staging.put_stream(connection, catalog, needed.table, stream, list(map(quoted, chosen)))
        except AuditorError:
            raise
        except ImportError as error:
            # Ibis imports an engine's driver when it is needed
            missing = error.name or "a driver"
            wanted = "'cae-sql[ibis]', and Ibis's extra for the engine"
            if missing.partition(".")[0] in ("pyspark", "py4j"):
                wanted = "'cae-sql[spark]'"
            raise DatabaseError(
                f"{self.name} could not be read: {missing} is not installed; pip install {wanted}"
            ) from None
        except Exception as error:  # noqa: BLE001 -- an engine's, of whatever kind, and its text may say anything
            raise DatabaseError(
                f"{self.name} could not be read: its engine says {type(error).__name__}; try "
                "expression.limit(1).to_pyarrow() to see what it says"
            ) from None


def _stream(expression: Any) -> pa.RecordBatchReader:
    if expression.get_backend().name == "duckdb":
        # for batches Ibis 12 calls a method that DuckDB 2 has no more
        table: pa.Table = expression.to_pyarrow()
        return table.to_reader()
    return expression.to_pyarrow_batches()
