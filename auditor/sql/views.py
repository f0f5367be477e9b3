"""Stored queries: what a view of the database says, and which tables it reads.

Promises to understand a view's text or to say that it does not; a view that is not understood is neither
public nor readable. Whether statements over a view may be answered is judged where they are asked, with the
view written out.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from auditor.errors import DatabaseError
from auditor.sql.schema import DEFAULT_SCHEMA


@dataclass(frozen=True)
class Definition:
    """A view's text, taken apart."""

    query: str
    """Its SELECT."""
    columns: tuple[str, ...]
    """The names it gives its columns; empty where they are the query's."""


def definition(name: str, sql: str) -> Definition:
    """Take `CREATE VIEW … AS SELECT …` apart.

    Raises:
        DatabaseError: the text is not understood.
    """
    try:
        (tree,) = DuckDB().parse(sql)
    except (SqlglotError, ValueError):
        tree = None
    if not isinstance(tree, exp.Create) or not isinstance(tree.expression, exp.Query):
        raise DatabaseError(f"view {name} could not be understood; store what it shows in a table")
    if any(not isinstance(table.this, exp.Identifier) for table in tree.expression.find_all(exp.Table)):
        raise DatabaseError(f"view {name} reads a table function; store what it shows in a table")
    columns: tuple[str, ...] = ()
    if isinstance(tree.this, exp.Schema):
        columns = tuple(column.name for column in tree.this.expressions)
    return Definition(tree.expression.sql(dialect="duckdb", comments=False), columns)


def reads(found: Definition) -> set[tuple[str, str]]:
    """Schema and name of everything that stands in the view's FROM.

    Its own WITH queries are among them: one may have the name of a table that it reads itself.
    """
    (tree,) = DuckDB().parse(found.query)
    assert tree is not None
    return {(table.db or DEFAULT_SCHEMA, table.name) for table in tree.find_all(exp.Table)}
