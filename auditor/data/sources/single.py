"""Sources of one table, which has the name that the policy gives it; several of them are several tables.

Promise: each table comes from the one source that is given under its name, and is of a moment of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import duckdb

from auditor.data.sources import staging
from auditor.data.sources.wanted import Needed, Wanted, same
from auditor.errors import DatabaseError
from auditor.sql.names import nearest


class Single(ABC):
    """A `Source` that is one table."""

    name: str
    database: str = "data"
    beside: Path | None = None
    elsewhere: str | None = None

    @property
    def far(self) -> bool:
        """See `Source`."""
        return False

    def attach(self, connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        """See `Source.attach`."""
        staging.begin(connection, catalog, self.name, wanted)
        if len(wanted.tables) != 1:
            named = ", ".join(each.table for each in wanted.tables)
            raise DatabaseError(
                f"{self.name} is one table, and the policy names {named}; in Python a mapping gives a source "
                'for each: {"staff": …, "regions": …}'
            )
        self.put(connection, catalog, wanted.tables[0])

    @abstractmethod
    def put(self, connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed) -> None:
        """Make the table, in a catalogue that is there.

        Raises:
            DatabaseError: as for `Source.attach`.
        """


class Several:
    """See `Source`."""

    def __init__(self, sources: Mapping[str, Single]) -> None:
        self._sources = {same(table): source for table, source in sources.items()}
        self._tables = list(sources)
        self.name = ", ".join(f"{table}: {source.name}" for table, source in sources.items())
        self.database = "data"
        self.beside: Path | None = None
        self.elsewhere: str | None = None

    @property
    def far(self) -> bool:
        """See `Source`."""
        return any(source.far for source in self._sources.values())

    def attach(self, connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        """See `Source.attach`."""
        staging.begin(connection, catalog, self.name, wanted)
        for needed in wanted.tables:
            source = self._sources.get(same(needed.table))
            if source is None:
                near = nearest(needed.table, self._tables) if self._tables else ""
                raise DatabaseError(f"no source is given for table {needed.table}. {near}".strip())
            source.put(connection, catalog, needed)
