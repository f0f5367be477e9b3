"""An instance of DuckDB without tables, files or settings that can be changed: its parser and its own names.

Promise: nothing that a text names is reached, whatever the text; one instance serves all who ask.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb

from auditor.sql import pure


class Instance:
    """One connection, for one thread at a time."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        # what the list says of the release that it was derived from need not be asked of that release
        listed = duckdb.__version__ == pure.VERSION
        self.withdrawn = frozenset[str]() if listed else pure.withdrawn(self._connection)
        """Names of the list that this DuckDB no longer calls pure, or defines otherwise."""
        self._connection.execute(
            "SET temp_directory = ''; SET memory_limit = '512MB'; SET enable_external_access = false; "
            "SET lock_configuration = true"
        )
        self._lock = threading.Lock()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query of ours over the instance's own catalogue, or over the parameters."""
        with self._lock:
            return self._connection.execute(sql, list(parameters)).fetchall()


@cache
def empty() -> Instance:
    """The instance, made once."""
    return Instance()
