"""A table of a source as pandas has it: for commands that look at tables and have no gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from auditor.data.sources.opening import Given, source_of
from auditor.data.sources.wanted import Needed, Wanted
from auditor.errors import DatabaseError
from auditor.sql.schema import Table, quoted

if TYPE_CHECKING:
    import pandas as pd

_CATALOG = "source"


def frame(given: Given, table: str = "data") -> pd.DataFrame:
    """All rows and columns of a table.

    Args:
        given: The source.
        table: Its table; where it is one table, any name.

    Raises:
        DatabaseError: it cannot be read.
    """
    source = source_of(given)
    schema, bare = Table(table, ()).path
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        source.attach(connection, _CATALOG, Wanted((Needed(table),)))
        try:
            return connection.sql(f"SELECT * FROM {_CATALOG}.{quoted(schema)}.{quoted(bare)}").df()
        except duckdb.Error as error:
            raise DatabaseError(f"{source.name}: {str(error).splitlines()[0]}") from None
