"""Names: every table is one that may be read, every column has its table.

Promises a tree in which readable tables stand as `_data."name"` with an alias, stars are expanded, columns
carry the alias of their table, and GROUP BY positions are written out. The rules are sqlglot's
`qualify_tables` and `qualify_columns`; since only text generated from this tree runs, a rule that DuckDB
sees otherwise can make an answer wrong, not unsafe.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.schema import MappingSchema

from auditor.sql.schema import DEFAULT_SCHEMA, Schema, Table, folded
from auditor.sql.shape import DATA
from auditor.sql.understood import NotUnderstood

_CATALOGUES = ("information_schema", "pg_catalog")
_CATALOGUE_PREFIXES = ("duckdb_", "sqlite_", "pragma_", "pg_")


def readable(schema: Schema) -> str:
    """The readable tables, for hints."""
    return ", ".join(table.name for table in schema.tables)


def qualify(tree: exp.Query, schema: Schema) -> exp.Query:
    """Resolve the names of a tree; the tree is used up.

    Raises:
        NotUnderstood: codes "unknown-table", "unknown-column", "catalogue", "construct".
    """
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", folded(identifier.name))
    for call in list(tree.find_all(exp.Anonymous)):
        _plain_name(call)
    index = {tuple(folded(part) for part in table.path): table for table in schema.tables}
    for table in list(tree.find_all(exp.Table)):
        _resolve_table(table, index, schema)
    for column in tree.find_all(exp.Column):
        column.set("db", None)
        if column.name == "rowid":
            # sqlglot knows DuckDB's row numbers as a pseudocolumn of every table.
            raise NotUnderstood("unknown-column", name="rowid", near="Rows have no number here.")
        if column.args.get("catalog"):
            raise NotUnderstood("nested-type")
    try:
        tree = qualify_tables(tree, dialect="duckdb")
        return qualify_columns(tree, schema=_mapping(schema), dialect="duckdb")
    except OptimizeError:
        # An ambiguous or unknown name; the caller asks the engine for its words.
        raise NotUnderstood("translation") from None


def _plain_name(call: exp.Anonymous) -> None:
    """Write DuckDB's other names of plain aggregates as sqlglot knows them."""
    if call.name.lower() == "count_star" and not call.expressions:
        call.replace(exp.Count(this=exp.Star()))
    elif call.name.lower() == "mean" and len(call.expressions) == 1:
        call.replace(exp.Avg(this=call.expressions[0]))


@lru_cache(maxsize=16)
def _mapping(schema: Schema) -> MappingSchema:
    tables: dict[str, object] = {}
    for table in schema.tables:
        columns = {folded(column.name): "UNKNOWN" for column in table.columns}
        if table.name == schema.protected_table:
            columns[folded(schema.protected_column)] = "UNKNOWN"
        tables[folded(table.name)] = columns
    return MappingSchema({DATA: tables}, dialect="duckdb", normalize=False)


def _resolve_table(node: exp.Table, index: dict[tuple[str, ...], Table], schema: Schema) -> None:
    database, name = node.db, node.name
    if not database and not node.catalog and cte_of(node) is not None:
        return
    if database in _CATALOGUES or name.startswith(_CATALOGUE_PREFIXES):
        raise NotUnderstood("catalogue", tables=readable(schema))
    table = None if node.catalog else index.get((database or DEFAULT_SCHEMA, name))
    if table is None:
        near = nearest(f"{database}.{name}" if database else name, [table.name for table in schema.tables])
        raise NotUnderstood("unknown-table", name=name, near=near)
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    node.set("this", exp.to_identifier(folded(table.name), quoted=True))
    node.set("db", exp.to_identifier(DATA, quoted=True))


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The WITH query that a table's name stands for, or None."""
    if table.db:
        return None
    node: exp.Expr | None = table
    path = {id(table)}
    while node is not None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            visible: list[exp.CTE] = []
            for cte in with_.expressions:
                if id(cte) in path:
                    break
                visible.append(cte)
            for cte in reversed(visible):
                if cte.alias == table.name:
                    return cte
        node = node.parent
        path.add(id(node))
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that lists the names nearest to one that is unknown."""
    spelled = {folded(each): each for each in known}
    near = difflib.get_close_matches(folded(name), list(spelled), n=3, cutoff=0.5)
    if near:
        return "Did you mean " + " or ".join(spelled[each] for each in near) + "?"
    return "There are: " + ", ".join(list(spelled.values())[:20]) + "."
