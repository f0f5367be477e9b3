"""Stored queries: what a view of the database says, and which tables it reads.

Promises to understand a view's text or to say that it does not; a view that is not understood is neither
public nor readable. Whether statements over a view may be answered is judged where they are asked, with the
view written out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from auditor.errors import DatabaseError


@dataclass(frozen=True)
class Definition:
    """A view's text, taken apart."""

    query: str
    """Its SELECT."""
    columns: tuple[str, ...]
    """The names it gives its columns; empty where they are the query's."""


def definition(name: str, sql: str, macros: Collection[str] = ()) -> Definition:
    """Take `CREATE VIEW … AS SELECT …` apart.

    Args:
        name: The view.
        sql: Its text.
        macros: Names of the database's own macros, in lower case; what they read does not stand in the text.

    Raises:
        DatabaseError: the text is not understood, or calls a macro.
    """
    tokens = DuckDB().tokenize(sql)
    for token, following in pairwise(tokens):
        if following.token_type == TokenType.L_PAREN and token.text.lower() in macros:
            raise DatabaseError(f"view {name} calls the macro {token.text}; write out what the macro does")
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
    """Schema, or "" where none is written, and name of everything that stands in the view's FROM.

    Its own WITH queries are among them: one may have the name of a table that it reads itself.
    """
    (tree,) = DuckDB().parse(found.query)
    assert tree is not None
    return {(table.db, table.name) for table in tree.find_all(exp.Table)}
