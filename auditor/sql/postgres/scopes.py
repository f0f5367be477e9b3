"""Names as PostgreSQL resolves them: which column a name stands for, of what kind.

Names without quotes lose their case, names in quotes keep it. A table's column answers to its name as it is
spelled, and to that without case: DuckDB does not tell apart what PostgreSQL would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from auditor.sql.names import nearest, readable
from auditor.sql.postgres.values import Value, column, refuse
from auditor.sql.schema import DEFAULT_SCHEMA, Schema, Table, View, folded, quoted
from auditor.sql.shape import shape_of
from auditor.sql.spelling import written, written_table
from auditor.sql.understood import NotUnderstood

_CATALOGUES = ("information_schema", "pg_catalog")
_CATALOGUE_PREFIXES = ("pg_", "duckdb_", "sqlite_", "pragma_")


def name_of(node: exp.Expr | None) -> str:
    """An identifier's name as PostgreSQL stores it."""
    if not isinstance(node, exp.Identifier):
        raise NotUnderstood("construct", name="This name")
    return node.name if node.args.get("quoted") else folded(node.name)


@dataclass(frozen=True)
class Output:
    """A translated query."""

    text: str
    """DuckDB's SQL."""
    columns: tuple[tuple[str, Value], ...]
    """Names and values; of the values only what is known about them counts."""


@dataclass(frozen=True)
class Relation:
    """What one name in FROM stands for."""

    alias: str
    """The name by which its columns are reached."""
    columns: Mapping[str, Value]
    """By name, as PostgreSQL stores it."""
    base: bool = False
    """Whether it is a table or view of the schema, whose columns are found without case."""

    def find(self, name: str, quoted_: bool) -> Value | None:
        """The column of a name."""
        found = self.columns.get(name)
        if found is None and self.base and (not quoted_ or folded(name) == name):
            matches = [value for each, value in self.columns.items() if folded(each) == folded(name)]
            found = matches[0] if len(matches) == 1 else None
        return found


@dataclass
class Scope:
    """The names of one SELECT, and of those around it."""

    schema: Schema
    """What may be read."""
    outer: Scope | None = None
    """The SELECT around this one, for correlated subqueries."""
    queries: dict[str, tuple[tuple[str, Value], ...]] = field(default_factory=dict)
    """Columns of the WITH queries that are visible."""
    relations: list[Relation] = field(default_factory=list)
    """What FROM lists."""
    merged: dict[str, Value] = field(default_factory=dict)
    """Columns of USING, which have no table."""
    computed_text: bool = False
    """Whether a text of a derived table was read since this was last set to False."""
    far: list[Value] = field(default_factory=list, repr=False)
    """The moments read so far, in the whole statement, that may be infinite or before the year 1."""
    work: Iterator[int] = field(default_factory=count, repr=False)
    """Counts the queries that were gone through for the statement."""

    def beside(self) -> Scope:
        """The empty scope of a query that sees the same WITH queries, and the same queries around it."""
        return Scope(self.schema, self.outer, dict(self.queries), far=self.far, work=self.work)

    def inside(self) -> Scope:
        """The empty scope of a subquery, which sees this one."""
        return Scope(self.schema, self, dict(self.queries), far=self.far, work=self.work)

    def add(self, relation: Relation) -> None:
        """Another name of FROM."""
        if any(each.alias == relation.alias for each in self.relations):
            raise refuse(
                f"the table name {relation.alias} stands twice in FROM", "Give one of them an alias."
            )
        self.relations.append(relation)

    def resolve(self, node: exp.Column) -> Value:
        """The value of a column's name.

        Raises:
            NotUnderstood: codes "unknown-column", "row-reference", "dialect".
        """
        name, is_quoted = name_of(node.this), bool(node.this.args.get("quoted"))
        if node.args.get("catalog") or (
            node.args.get("db") and folded(node.db) not in ("public", *self._schemas())
        ):
            raise NotUnderstood("nested-type")
        table = name_of(node.args["table"]) if node.args.get("table") else None
        scope: Scope | None = self
        while scope is not None:
            found = scope._own(table, name, is_quoted)
            if found is not None:
                self.far += [found] if found.far else []
                return found
            scope = scope.outer
        if table is None and any(relation.alias == name for relation in self.relations):
            raise NotUnderstood("row-reference", name=name)
        known = [each for relation in self.relations for each in relation.columns]
        raise NotUnderstood("unknown-column", name=name, near=nearest(name, known, written) if known else "")

    def _own(self, table: str | None, name: str, is_quoted: bool) -> Value | None:
        if table is None and name in self.merged:
            return self.merged[name]
        relations = [each for each in self.relations if table is None or each.alias == table]
        found = [value for each in relations if (value := each.find(name, is_quoted)) is not None]
        if any(value.kind == "text" for value in found) and not all(each.base for each in relations):
            self.computed_text = True
        if len(found) > 1:
            raise refuse(f"the column name {name} is ambiguous", "Write the table before it: table.column.")
        return found[0] if found else None

    def _schemas(self) -> list[str]:
        return [folded(table.path[0]) for table in self.schema.tables]

    def table(self, node: exp.Table) -> tuple[str, Relation]:
        """A table's name as DuckDB knows it, and its columns under the name that the statement gives it.

        Tools write the database's name before it, which is whatever they are connected to.
        """
        name = name_of(node.this)
        database = name_of(node.args["db"]) if node.args.get("db") else ""
        alias = name_of(node.args["alias"].this) if node.args.get("alias") else name
        if not database and name in self.queries:
            return quoted(name), _aliased(alias, dict(self.queries[name]))
        if database in _CATALOGUES or (not database and name.startswith(_CATALOGUE_PREFIXES)):
            raise NotUnderstood("catalogue", tables=readable(self.schema))
        wanted = (DEFAULT_SCHEMA if database in ("", "public") else database, folded(name))
        sources: list[Table | View] = [*self.schema.tables, *self.schema.views]
        for each in sources:
            schema, own = each.path
            if (folded(schema), folded(own)) == wanted and name in (own, folded(own)):
                columns = (
                    _columns(self.schema, each)
                    if isinstance(each, Table)
                    else _described(self.schema, each.path)
                )
                return f"{quoted(schema)}.{quoted(own)}", replace(_aliased(alias, columns), base=True)
        near = nearest(name, [each.name for each in self.schema.tables], written_table)
        raise NotUnderstood("unknown-table", name=name, near=near)


def _aliased(alias: str, columns: Mapping[str, Value]) -> Relation:
    """A relation whose columns are reached by its alias."""
    return Relation(alias, {name: _reached(alias, name, value) for name, value in columns.items()})


def _reached(alias: str, name: str, value: Value) -> Value:
    text = f"{quoted(alias)}.{quoted(name)}"
    if value.text.startswith("CAST("):
        # A column of the schema that is read through a cast, always.
        return replace(value, text=value.text.replace('"?"', text, 1))
    return replace(value, text=text)


def relation(alias: str, output: Output) -> Relation:
    """A derived table."""
    return _aliased(alias, dict(output.columns))


def _columns(schema: Schema, table: Table) -> dict[str, Value]:
    protected = {each.column for _, each in schema.protected_of(table)}
    far = {each.name for each in table.columns if each.far}
    return {
        name: replace(column('"?"', type_, protected=name in protected), far=name in far)
        for name, type_ in schema.columns_of(table)
    }


def _described(schema: Schema, path: tuple[str, str]) -> dict[str, Value]:
    """A view's columns. Some may be protected, so none is wrapped in casts; which are far is not known."""
    far = any(column.far for table in schema.tables for column in table.columns)
    text = ".".join(quoted(part) for part in path)
    described = shape_of(schema).describe(f"SELECT * FROM {text}")
    return {name: replace(column('"?"', type_, protected=True), far=far) for name, type_ in described}


def passed_on(name: str, value: Value) -> tuple[str, Value]:
    """A column as a derived table gives it to the query around it."""
    kind = "text" if value.kind == "unknown" else value.kind
    plain = Value('"?"', kind, scale=value.scale, protected=value.protected, far=value.far, bare=True)
    return name, plain
