"""Stored queries: what a view of the database says, and which tables it reads.

Promises to understand a view's text or to say that it does not; a view that is not understood is neither
public nor readable. Whether statements over a view may be answered is judged where they are asked, with the
view written out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import duckdb
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from auditor.errors import DatabaseError
from auditor.sql import agreement
from auditor.sql.names import nearest
from auditor.sql.schema import DEFAULT_SCHEMA, Table, View, folded, quoted
from cae_sql.cached import cached_property


@dataclass(frozen=True)
class Definition:
    """A view's text, taken apart."""

    query: str
    """Its SELECT."""
    columns: tuple[str, ...]
    """The names it gives its columns; empty where they are the query's."""
    text: str
    """The SELECT as it stands in the file."""


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
    begin = next(token.end for token in tokens if token.token_type == TokenType.ALIAS) + 1
    text = sql[begin:].strip().rstrip(";")
    return Definition(tree.expression.sql(dialect="duckdb", comments=False), columns, text)


def reads(found: Definition) -> set[tuple[str, str]]:
    """Schema, or "" where none is written, and name of everything that stands in the view's FROM.

    Its own WITH queries are among them: one may have the name of a table that it reads itself.
    """
    (tree,) = DuckDB().parse(found.query)
    assert tree is not None
    return {(table.db, table.name) for table in tree.find_all(exp.Table)}


class Stored:
    """The tables and views of a database file, and which of them each view reads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalog: str, path: str) -> None:
        """Read the catalogue of an attached file.

        Args:
            connection: Where it is attached.
            catalog: Under which name.
            path: The file, for errors.
        """
        self._path = path
        self._connection, self._catalog = connection, catalog
        names = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1 AND NOT internal "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE database_name = $1 AND NOT internal ORDER BY ALL",
            [catalog],
        ).fetchall()
        self._paths = [(str(schema), str(name)) for schema, name in names]
        self._names = [_full(*each) for each in self._paths]
        views = connection.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views() "
            "WHERE database_name = $1 AND NOT internal ORDER BY ALL",
            [catalog],
        ).fetchall()
        self._texts = {_full(schema, name): str(sql) for schema, name, sql in views}

    @cached_property
    def _macros(self) -> frozenset[str]:
        """Names of the file's own macros; asked only where there are views, for it takes a while."""
        macros = self._connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE database_name = $1 AND NOT internal",
            [self._catalog],
        ).fetchall()
        return frozenset(str(name) for (name,) in macros)

    def table(self, name: str) -> str:
        """A table or view as the file spells it.

        Raises:
            DatabaseError: there is none.
        """
        spelled = {folded(each): each for each in self._names}
        wanted = folded(name)
        found = spelled.get(wanted) or spelled.get(wanted.removeprefix(DEFAULT_SCHEMA + "."))
        if found is None or '"' in found:
            if any(wanted in (folded(bare), folded(f"{schema}.{bare}")) for schema, bare in self._paths):
                raise DatabaseError(
                    f"table {name} of {self._path} cannot be protected or read: there is a quotation mark "
                    "or a dot in its name; rename it"
                )
            there = [each for each in self._names if '"' not in each]
            near = nearest(name, there) if there else "It has no tables."
            raise DatabaseError(f"{self._path} has no table {name}. {near}")
        return found

    def read_by(self, name: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """The tables and views that a view reads, also through other views; nothing for a table."""
        if name not in self._texts or name in seen:
            return
        for schema, table in reads(self._definition(name)):
            for found in self._meant(schema, table):
                yield found
                yield from self.read_by(found, seen | {name})

    def computed(self, table: str, columns: Sequence[str]) -> list[str]:
        """The generated columns of a table that read any of some columns, directly or through others."""
        schema, name = Table(table, ()).path
        generated = self._connection.execute(
            "SELECT column_name, column_default FROM duckdb_columns() WHERE database_name = $1 "
            "AND schema_name = $2 AND table_name = $3 AND is_generated ORDER BY column_index",
            [self._catalog, schema, name],
        ).fetchall()
        words = {
            str(column): {folded(token.text) for token in DuckDB().tokenize(str(text))}
            for column, text in generated
        }
        found: list[str] = []
        for _ in words:
            reading = {folded(each) for each in (*columns, *found)}
            found += [each for each, used in words.items() if each not in found and used & reading]
        return found

    def require_apart(self, protected: Sequence[str]) -> None:
        """Check that no two protected tables are views of the same rows.

        Raises:
            DatabaseError: answers about the two would not be counted together.
        """
        behind = {name: name for name in protected}
        for name in protected:
            for read in set(self.read_by(name)):
                if read in behind:
                    also = "the protected table" if behind[read] == read else f"what {behind[read]} reads,"
                    raise DatabaseError(
                        f"view {name} reads {also} {read}: answers about the two would not be counted "
                        "together; protect one table alone, and name its views in tables.views"
                    )
            behind |= dict.fromkeys(self.read_by(name), name)

    def require_public(self, name: str, confidential: Collection[str]) -> None:
        """Check that a public table is no view of a protected one.

        Raises:
            DatabaseError: it would be shown whole.
        """
        for read in self.read_by(name):
            if read in confidential:
                raise DatabaseError(
                    f"view {name} reads the protected table {read}, so it cannot be public as a whole; "
                    "name it in tables.views instead"
                )

    def views(self, names: Sequence[str]) -> tuple[View, ...]:
        """The views that may be read, those that others read first.

        Raises:
            DatabaseError: one is no view, or could be taken for another.
        """
        wanted = list(dict.fromkeys(self.table(each) for each in names))
        for name in wanted:
            if name not in self._texts:
                raise DatabaseError(f"{name} is not a view; public tables belong in tables.public")
            named = all(schema for schema, _ in reads(self._definition(name)))
            if Table(name, ()).path[0] != DEFAULT_SCHEMA and not named:
                raise DatabaseError(f"view {name} reads tables without naming their schema; write it there")
        # a view that another reads through comes before it
        ordered = sorted(wanted, key=lambda name: len(set(self.read_by(name)) & set(wanted)))
        definitions = [(name, self._definition(name)) for name in ordered]
        for name, found in definitions:
            if not agreement.same(found.text, found.query):
                raise DatabaseError(f"view {name} could not be understood; store what it shows in a table")
        return tuple(View(name, found.query, found.columns) for name, found in definitions)

    def _definition(self, name: str) -> Definition:
        return definition(name, self._texts[name], self._macros)

    def _meant(self, schema: str, table: str) -> list[str]:
        """What a name in a view may stand for: without a schema, the tables of that name in all of them.

        None of them is a WITH query of the view.
        """
        return [
            _full(holder, bare)
            for holder, bare in self._paths
            if folded(bare) == folded(table) and (not schema or folded(holder) == folded(schema))
        ]


def _full(schema: str, name: str) -> str:
    if "." in schema + name:
        # not to be taken for a table of a schema; nothing is found by such a name
        return f"{quoted(schema)}.{quoted(name)}"
    return name if schema == DEFAULT_SCHEMA else f"{schema}.{name}"
