"""Where data come from: what every source promises, whatever it is.

Promise of `attach`: afterwards a catalogue of the given connection has the tables that are wanted, as they
were at one moment; nothing that was read lies on a disk; what cannot be is one `DatabaseError`, and no
message has a password or a protected value. Who reads the catalogue need not know where it came from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import duckdb

from auditor.data.sources.wanted import Wanted


class Source(Protocol):
    """A place that holds tables."""

    @property
    def name(self) -> str:
        """For messages; without a password."""

    @property
    def database(self) -> str:
        """What clients that ask for a database's name are told."""

    @property
    def beside(self) -> Path | None:
        """The file or folder beside which a ledger lies by default; None: there is no such place."""

    @property
    def elsewhere(self) -> str | None:
        """What names the source in another process and another working directory; None: nothing does."""

    @property
    def far(self) -> bool:
        """Whether an engine holds the data that is not on this machine: by default its cells are read."""

    def attach(self, connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        """Put what is wanted into a new catalogue of a connection.

        Of a table whose cells are wanted, these are put into `celling.CATALOG`, which is there, and a table
        without rows into the new one. A DuckDB file is attached as it is: who reads it makes them.

        Raises:
            DatabaseError: the source is not there, cannot be read, or lacks what is wanted.
        """
