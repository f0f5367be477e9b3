"""Which public columns hold moments that dialects read in two ways: infinity, and days before the year 1.

Promise: looks at public columns alone, once, when a database is opened.
"""

from __future__ import annotations

from dataclasses import replace

import duckdb

from auditor.sql.schema import Column, Table, quoted

_MOMENTS = ("DATE", "TIMESTAMP")
"""How the types begin that hold days."""


def marked(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> Table:
    """A table whose columns say whether they hold such moments.

    Args:
        connection: Where it is read.
        table: The table.
        source: Its name there.
    """
    asked = [each for each in table.columns if each.type.startswith(_MOMENTS) and "[" not in each.type]
    if not asked:
        return table
    tests = ", ".join(_test(each) for each in asked)
    ((*found,),) = connection.execute(f"SELECT {tests} FROM {source}").fetchall()
    far = {each.name for each, there in zip(asked, found, strict=True) if there}
    return replace(table, columns=tuple(replace(each, far=each.name in far) for each in table.columns))


def _test(column: Column) -> str:
    name = quoted(column.name)
    early = f"min({name}) < CAST('0001-01-01' AS DATE)"
    return f"coalesce({early} OR max({name}) = CAST('infinity' AS {column.type}), FALSE)"
