"""Which PostgreSQL type each expression of a statement has, as far as its columns' relations decide it.

Promises nothing that is not certain: an expression that is not understood has type "", and the type that
DuckDB finds is taken. The types are kept in the tree: `kind_of` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from auditor.proxy.catalogue.errors import CatalogueError, not_imitated
from auditor.proxy.catalogue.functions import ABOUT, PLAIN
from auditor.proxy.catalogue.relations import VECTORS, Relation, relations
from auditor.proxy.values.expressions import NAMES

MOST_COLUMNS = 1664
"""Of a result or of anything that one is made of, as in PostgreSQL."""
Columns = list[tuple[str, str]]
"""Names and PostgreSQL types; "" where unknown."""
_KIND, _RELATION, _WORD = "kind", "relation", "word"
_NAMES = frozenset({exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog})
_TRUTHS = (exp.Connector, exp.Predicate, exp.Not, exp.Exists, exp.In, exp.Between, exp.Is)
ACCESS = {"grantor": "oid", "grantee": "oid", "privilege_type": "text", "is_grantable": "bool"}
"""The fields of what aclexplode() gives, and their types."""
FIELDS = {"x": "int4", "n": "int4", **ACCESS}
"""The fields of rows that functions give."""
_DOMAINS = {
    "sql_identifier": "name", "cardinal_number": "int4", "character_data": "varchar", "yes_or_no": "varchar",
    "information_schema.sql_identifier": "name", "integer": "int4",
}  # fmt: skip


@dataclass
class _Frame:
    """What the names of one SELECT refer to."""

    outer: _Frame | None
    sources: dict[str, tuple[Columns, Relation | None]] = field(default_factory=dict)

    def find(self, table: str, column: str) -> tuple[str, Relation | None]:
        """Type of a column and the relation it is of; ("", None) if it is not known."""
        for name, (columns, relation) in self.sources.items():
            if table and name != table:
                continue
            if relation is not None and column in ("tableoid", "xmin"):
                return ("oid", relation)
            kind = next((kind for each, kind in columns if each == column), None)
            if kind is not None:
                return kind, relation
            if table:
                return "", None
        return self.outer.find(table, column) if self.outer else ("", None)


def name_of(identifier: object) -> str:
    """A name as PostgreSQL folds it."""
    if isinstance(identifier, exp.Identifier):
        return identifier.name if identifier.args.get("quoted") else identifier.name.lower()
    return str(identifier).lower()


def is_session_word(node: exp.Column) -> bool:
    """Whether a column is written as one of the words for the user that the parser takes for columns."""
    quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted")
    return not quoted and not node.args.get("table") and name_of(node.this) in ("user", "current_role")


def is_join(node: exp.Expr) -> bool:
    """Whether what stands in parentheses in FROM is a join, or one table, and no query."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.args.get("alias") or inner.args.get("joins")) or is_join(inner)
    return not isinstance(inner, exp.Query)


def says_user(node: exp.Expr) -> bool:
    """Whether a column turned out to be such a word."""
    return bool(node.meta.get(_WORD))


def kind_of(node: exp.Expr | None) -> str:
    """PostgreSQL's type of an expression, "" if it is not known."""
    return str(node.meta.get(_KIND, "")) if isinstance(node, exp.Expr) else ""


def relation_of(node: exp.Expr) -> Relation | None:
    """The relation of a column, where one is certain."""
    return relations().get(node.meta.get(_RELATION, ("", "")))


def element(kind: str) -> str:
    """The type of an array's elements."""
    return {"int2vector": "int2", "oidvector": "oid"}.get(kind, kind[1:] if kind.startswith("_") else "")


def type_name(node: exp.Expr | None) -> str:
    """PostgreSQL's internal name of a type that a cast names."""
    if isinstance(node, exp.ObjectIdentifier):
        return str(node.this).lower()
    if not isinstance(node, exp.DataType):
        raise not_imitated("this type")
    if node.this == exp.DType.ARRAY and len(node.expressions) == 1:
        inner = type_name(node.expressions[0])
        return inner if inner.startswith("_") else f"_{inner}"
    if node.this == exp.DType.USERDEFINED:
        kind = node.args.get("kind")
        last = kind.expression if isinstance(kind, exp.Dot) else kind
        name = name_of(last)
        return _DOMAINS.get(name, name)
    text = str(node.this.value) if isinstance(node.this, exp.DType) else ""
    if text not in NAMES:
        raise not_imitated(f"the type {text.lower()}")
    return NAMES[text].name


def annotate(query: exp.Expr, known: Mapping[tuple[str, str], Relation]) -> Columns:
    """Write types into a tree, and return the columns of its result.

    Args:
        query: The statement; its tables carry the schema that they are of.
        known: The relations of the catalogue.
    """
    return _Annotator(known).query(query, None, {})


class _Annotator:
    def __init__(self, known: Mapping[tuple[str, str], Relation]) -> None:
        self._known = known

    def query(self, node: exp.Expr, outer: _Frame | None, ctes: Mapping[str, Columns]) -> Columns:
        """Annotate a query expression; its columns."""
        ctes = self._with(node, outer, ctes)
        if isinstance(node, exp.Subquery):
            columns = self.query(node.this, outer, ctes)
        elif isinstance(node, exp.SetOperation):
            columns = self.query(node.this, outer, ctes)
            self.query(node.expression, outer, ctes)
        elif isinstance(node, exp.Select):
            columns = self._select(node, outer, ctes)
        else:
            raise not_imitated(type(node).__name__.upper())
        if len(columns) > MOST_COLUMNS:
            raise CatalogueError(f"target lists can have at most {MOST_COLUMNS} entries", "54011")
        node.meta[_KIND] = columns[0][1] if len(columns) == 1 else ""
        return columns

    def _with(
        self, node: exp.Expr, outer: _Frame | None, ctes: Mapping[str, Columns]
    ) -> Mapping[str, Columns]:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        for cte in with_.expressions:
            alias, inner = cte.args["alias"], cte.this
            if with_.args.get("recursive") and isinstance(inner, exp.SetOperation):
                first = self.query(inner.this, outer, ctes)
                ctes = {**ctes, name_of(alias.this): _renamed(first, alias)}
            columns = self.query(inner, outer, ctes)
            ctes = {**ctes, name_of(alias.this): _renamed(columns, alias)}
        return ctes

    def _select(self, node: exp.Select, outer: _Frame | None, ctes: Mapping[str, Columns]) -> Columns:
        frame = _Frame(outer)
        from_ = node.args.get("from_")
        sources = [from_.this] if from_ is not None else []
        joins = list(node.args.get("joins") or ())
        for source in [*sources, *(join.this for join in joins), *(node.args.get("laterals") or ())]:
            self._source(source, frame, ctes)
        for join in joins:
            for key in ("on", "using"):
                self._parts(join.args.get(key), frame, ctes)
        for key, value in node.args.items():
            if key not in ("with_", "from_", "joins", "laterals"):
                self._parts(value, frame, ctes)
        columns: Columns = []
        for each in node.expressions:
            columns += _projected(each, frame)
        return columns

    def _parts(self, value: object, frame: _Frame, ctes: Mapping[str, Columns]) -> None:
        if isinstance(value, list):
            for each in value:
                self._parts(each, frame, ctes)
        elif isinstance(value, exp.Query):
            self.query(value, frame, ctes)
        elif isinstance(value, exp.Expr):
            for child in value.args.values():
                self._parts(child, frame, ctes)
            if isinstance(value, exp.Column) and not isinstance(value.this, exp.Star):
                kind, relation = frame.find(name_of(value.args.get("table") or ""), name_of(value.this))
                if not kind and is_session_word(value):
                    kind = "name"
                    value.meta[_WORD] = True
                value.meta[_KIND] = kind
                if relation is not None:
                    value.meta[_RELATION] = (relation.schema, relation.name)
            else:
                value.meta[_KIND] = _kind(value)

    def _source(self, node: exp.Expr, frame: _Frame, ctes: Mapping[str, Columns]) -> None:
        alias = node.args.get("alias")
        relation = None
        if isinstance(node, exp.Lateral):
            inner = node.this
            if alias is not None:
                inner.set("alias", alias.copy())
            self._source(inner, frame, ctes)
            return
        if is_join(node):
            self._source(node.this, frame, ctes)
            columns: Columns = []
        elif isinstance(node, exp.Query):
            columns = self.query(node, frame, ctes)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name, schema = name_of(node.this), name_of(node.args.get("db") or "")
            if not schema and name in ctes:
                columns = ctes[name]
            else:
                relation = self._known.get((schema or "pg_catalog", name))
                columns = [(each.name, each.type) for each in relation.fields] if relation else []
        else:
            columns = self._made(node, frame, ctes)
        for join in node.args.get("joins") or ():
            self._source(join.this, frame, ctes)
            self._parts(join.args.get("on"), frame, ctes)
        name = name_of(alias.this) if alias is not None and alias.this else node.name.lower()
        if name or columns:
            frame.sources[name] = (_renamed(columns, alias) if alias is not None else columns, relation)

    def _made(self, node: exp.Expr, frame: _Frame, ctes: Mapping[str, Columns]) -> Columns:
        """Columns of a function in FROM, or of VALUES."""
        made = node.expressions if isinstance(node, exp.Unnest) else [node.this]
        if isinstance(node, exp.Values):
            self._parts(node.expressions, frame, ctes)
            first = node.expressions[0].expressions if node.expressions else []
            return [(f"column{number}", kind_of(each)) for number, each in enumerate(first, 1)]
        for each in made:
            self._parts(each, frame, ctes)
        if isinstance(node, exp.Unnest):
            kinds = [element(kind_of(each)) for each in made]
            return [("unnest", kind) for kind in kinds] + [("ordinality", "int8")] * bool(
                node.args.get("offset")
            )
        return [(node.this.name.lower(), kind_of(node.this))]


def _renamed(columns: Columns, alias: exp.Expr | None) -> Columns:
    names = [name_of(each) for each in alias.args.get("columns") or ()] if alias is not None else []
    return [
        (names[place] if place < len(names) else name, kind) for place, (name, kind) in enumerate(columns)
    ]


def _projected(node: exp.Expr, frame: _Frame) -> Columns:
    if isinstance(node, exp.Star):
        return [column for columns, _ in frame.sources.values() for column in columns]
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return list(frame.sources.get(name_of(node.args.get("table")), ([], None))[0])
    if isinstance(node, exp.Alias):
        return [(name_of(node.args["alias"]), kind_of(node.this))]
    return [(name_of(node.this) if isinstance(node, exp.Column) else "", kind_of(node))]


def _first(nodes: Sequence[exp.Expr | None]) -> str:
    """The type of the first that has one; a text beside a name makes no text of it."""
    return next((kind for kind in map(kind_of, nodes) if kind and kind != "unknown"), "")


def _kind(node: exp.Expr) -> str:
    """The type of an expression whose parts have theirs."""
    if isinstance(node, exp.Cast):
        return type_name(node.args["to"])
    if isinstance(
        node, exp.Paren | exp.Alias | exp.Filter | exp.Window | exp.Distinct | exp.Order | exp.Collate
    ):
        return kind_of(node.this) if node.this is not None else _first(node.expressions)
    if isinstance(node, exp.Dot):
        if isinstance(node.expression, exp.Anonymous):
            return kind_of(node.expression)
        return FIELDS.get(name_of(node.expression), "") if isinstance(node.expression, exp.Identifier) else ""
    if isinstance(node, exp.Case):
        return _first([*(each.args["true"] for each in node.args["ifs"]), node.args.get("default")])
    if isinstance(node, exp.Bracket):
        return element(kind_of(node.this))
    if isinstance(node, exp.Array):
        return f"_{_first(node.expressions)}" if _first(node.expressions) else ""
    if isinstance(node, exp.Literal):
        return "unknown" if node.is_string else ""
    if isinstance(node, exp.Extract):
        return "numeric"
    if type(node) in _NAMES:
        return "name"
    if isinstance(node, exp.Anonymous):
        return _called(node)
    return "bool" if isinstance(node, _TRUTHS) else ""


def _called(node: exp.Anonymous) -> str:
    name = str(node.this).lower()
    arguments = node.expressions
    function = ABOUT.get(name) or PLAIN.get(name)
    if name in ("array", "array_agg"):
        kind = kind_of(arguments[0]) if arguments else ""
        return f"_{kind}" if kind and kind not in VECTORS and not kind.startswith("_") else ""
    if name == "unnest":
        return element(kind_of(arguments[0])) if arguments else ""
    if name in ("current_database", "current_schema", "current_catalog", "pg_get_userbyid"):
        return "name"
    if name == "current_schemas":
        return "_name"
    if name in ("version", "current_setting", "set_config"):
        return "text"
    if function is None:
        return ""
    kind = _first(arguments) if function.type == "=" else function.type
    return "text" if name in ("min", "max") and kind in ("name", "char") else kind
