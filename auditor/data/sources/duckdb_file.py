"""A DuckDB file: attached read-only as it is, with its views and schemas; the one source that has any."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from auditor.data.sources.wanted import Wanted
from auditor.errors import DatabaseError

MAGIC = b"DUCK"
"""What stands at byte 8 of a DuckDB file."""


class DuckDBFile:
    """See `Source`."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.database = Path(path).stem
        self.beside: Path | None = Path(path)
        self.far = False
        self.elsewhere: str | None = os.path.abspath(path)

    def attach(self, connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        """The whole file: nothing is read until a table is."""
        del wanted
        path = self.name
        if not os.path.isfile(path):
            raise DatabaseError(f"there is no database file {path}")
        literal = path.replace("'", "''")
        try:
            connection.execute(f"ATTACH '{literal}' AS {catalog} (TYPE duckdb, READ_ONLY)")
        except duckdb.Error as error:
            if "lock" in str(error).lower():
                raise DatabaseError(
                    f"{path} is open for writing in another program; close it there"
                ) from None
            if "same database file" in str(error).lower() or "already attached" in str(error).lower():
                raise DatabaseError(f"{path} is open in this process; close that connection first") from None
            raise DatabaseError(f"{path} is not a DuckDB database that this version can read") from None
