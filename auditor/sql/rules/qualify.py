"""Names: every table is one that may be read, every column has its table.

Promises a tree in which readable tables stand as `_data."name"` with an alias, stars are expanded, columns
carry the alias of their table, and GROUP BY positions are written out. The rules are sqlglot's
`qualify_tables` and `qualify_columns`; since only text generated from this tree runs, a rule that DuckDB
sees otherwise can make an answer wrong, not unsafe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.schema import MappingSchema

from auditor.sql import agreement
from auditor.sql.context import Context
from auditor.sql.grouping import note_spelling
from auditor.sql.limits import parse
from auditor.sql.names import cte_of, drop_unread, nearest
from auditor.sql.rules.canonicalize import canonicalize, rename
from auditor.sql.rules.classify import classify
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, View, folded
from auditor.sql.shape import DATA
from auditor.sql.spelling import written_table
from auditor.sql.trees import derived
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import bracketed

_CATALOGUES = ("information_schema", "pg_catalog")
_CATALOGUE_PREFIXES = ("duckdb_", "sqlite_", "pragma_", "pg_")


def qualify(tree: exp.Query, context: Context) -> exp.Query:
    """Resolve the names of a tree; the tree is used up.

    Raises:
        NotUnderstood: codes "unknown-table", "unknown-column", "catalogue", "nested-type", "translation".
    """
    _fold(tree)
    _resolve_tables(tree, context, context.schema.views)
    drop_unread(tree)
    for column in tree.find_all(exp.Column):
        column.set("db", None)
        if column.name == "rowid":
            # sqlglot knows DuckDB's row numbers as a pseudocolumn of every table.
            raise NotUnderstood("unknown-column", name="rowid", near="Rows have no number here.")
        if column.args.get("catalog"):
            raise NotUnderstood("nested-type")
    note_spelling(tree)
    try:
        tree = qualify_tables(tree, dialect="duckdb")
        tree = qualify_columns(tree, schema=_mapping(context.schema), dialect="duckdb")
    except OptimizeError:
        # An ambiguous or unknown name; the caller asks the engine for its words.
        raise NotUnderstood("translation") from None
    for identifier in tree.find_all(exp.Identifier):
        # sqlglot quotes some and not others, and takes the two for different names
        identifier.set("quoted", True)
    return tree


def _fold(tree: exp.Expr) -> None:
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", folded(identifier.name))


@lru_cache(maxsize=16)
def _mapping(schema: Schema) -> MappingSchema:
    tables: dict[str, object] = {}
    for table in schema.tables:
        tables[folded(table.name)] = {folded(name): "UNKNOWN" for name, _ in schema.columns_of(table)}
    return MappingSchema({DATA: tables}, dialect="duckdb", normalize=False)


def _resolve_tables(tree: exp.Query, context: Context, views: Sequence[View]) -> None:
    """Point every table at the readable one of its name, and write views out."""
    schema = context.schema
    index = {tuple(folded(part) for part in table.path): table for table in schema.tables}
    stored = {tuple(folded(part) for part in view.path): place for place, view in enumerate(views)}
    names = [table.name for table in schema.tables] + [view.name for view in views]
    for node in list(tree.find_all(exp.Table)):
        database, name = node.db, node.name
        if not database and not node.catalog and cte_of(node) is not None:
            continue
        if database in _CATALOGUES or name.startswith(_CATALOGUE_PREFIXES):
            raise NotUnderstood("catalogue", tables=context.tables)
        path = (database or DEFAULT_SCHEMA, name)
        place = None if node.catalog else stored.get(path)
        if place is not None:
            # a view reads those before it only, so this ends
            _write_out(node, views[place], context, views[:place])
            continue
        table = None if node.catalog else index.get(path)
        if table is None:
            full = f"{database}.{name}" if database else name
            near = nearest(full, names, written_table)
            raise NotUnderstood("unknown-table", name=full, near=near)
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        node.set("this", exp.to_identifier(folded(table.name), quoted=True))
        node.set("db", exp.to_identifier(DATA, quoted=True))


def _write_out(node: exp.Table, view: View, context: Context, views: Sequence[View]) -> None:
    """Replace a view's name by its query, in which names mean what they mean to the view."""
    query = parse(view.query)
    if not agreement.same(view.query, bracketed(query)):
        raise NotUnderstood("translation")
    canonicalize(query, context)
    _fold(query)
    classify(query, context)
    _resolve_tables(query, context, views)
    if view.columns and not rename(query, [folded(name) for name in view.columns]):
        raise NotUnderstood("star")
    node.replace(derived(query, node.alias or node.name))
