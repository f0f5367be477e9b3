"""An instance with the client's tables and no rows: the engine's own word on names, types and errors.

Promises that nothing said here depends on a record, since there is none. The tables stand twice: under the
client's names for the original statement, and in schema `DATA` as `auditor.sql.names` writes them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import duckdb

from auditor.sql import macros
from auditor.sql.ranges import MACROS
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, Table, View, quoted
from auditor.sql.understood import NotUnderstood

DATA = "_data"
"""The schema of readable tables in lowered SQL: no WITH query can be mistaken for one of them."""

Parameters = Sequence[object] | Mapping[str, object] | None
Describe = Callable[[str], list[tuple[str, str]]]
"""Names and types of a query's columns."""


class Shape:
    """Describes statements without running them."""

    def __init__(self, schema: Schema) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._lock = threading.Lock()
        self._connection.execute(f"CREATE SCHEMA {DATA}")
        for macro in (*MACROS, *macros.STATEMENTS):
            self._connection.execute(macro)
        for table in schema.tables:
            columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in schema.columns_of(table))
            self._create(table, columns)
        for view in schema.views:
            self._view(view)
        self._connection.execute(
            "SET temp_directory = ''; SET enable_external_access = false; SET lock_configuration = true"
        )

    def _create(self, table: Table, columns: str) -> None:
        schema, name = table.path
        if schema != DEFAULT_SCHEMA:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        self._connection.execute(f"CREATE TABLE {quoted(schema)}.{quoted(name)} ({columns})")
        self._connection.execute(f"CREATE TABLE {DATA}.{quoted(table.name)} ({columns})")

    def _view(self, view: View) -> None:
        schema, name = view.path
        if schema != DEFAULT_SCHEMA:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        named = f" ({', '.join(quoted(each) for each in view.columns)})" if view.columns else ""
        self._connection.execute(f"CREATE VIEW {quoted(schema)}.{quoted(name)}{named} AS {view.query}")

    def describe(self, sql: str, parameters: Parameters = None) -> list[tuple[str, str]]:
        """Names and types of a query's columns.

        Raises:
            NotUnderstood: code "engine", with the first line of DuckDB's message.
        """
        bound = dict(parameters) if isinstance(parameters, Mapping) else list(parameters or ())
        with self._lock:
            try:
                statements = self._connection.extract_statements(f"DESCRIBE {sql}")
                # DuckDB must see one query too, should the two parsers disagree on where a comment ends.
                if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                    raise NotUnderstood("translation")
                rows = self._connection.execute(statements[0], bound or None).fetchall()
            except duckdb.Error as error:
                raise NotUnderstood("engine", detail=str(error).strip().split("\n")[0]) from None
        return [(str(row[0]), str(row[1])) for row in rows]

    def reads(self, text: str, type_: str) -> bool:
        """Whether a text is a value of a type, which DESCRIBE named."""
        with self._lock:
            try:
                asked = f"SELECT TRY_CAST($1 AS {type_}) IS NOT NULL"
                ((found,),) = self._connection.execute(asked, [text]).fetchall()
            except duckdb.Error:
                return False
        return bool(found)


@lru_cache(maxsize=16)
def shape_of(schema: Schema) -> Shape:
    """The shape instance of a schema, made once."""
    return Shape(schema)
