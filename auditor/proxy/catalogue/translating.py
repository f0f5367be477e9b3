"""From PostgreSQL's SQL about the catalogue to DuckDB's, by one rule for each kind of node.

Promises that every node, function, table and type that comes out is on an allow-list, and that everything
else is a `CatalogueError`. Rules run from the leaves up, on a tree whose types `columns` has found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from auditor.proxy.catalogue import errors
from auditor.proxy.catalogue.building import HOMES, KEYWORDS
from auditor.proxy.catalogue.calling import Calls
from auditor.proxy.catalogue.checking import check
from auditor.proxy.catalogue.columns import (
    FIELDS,
    Columns,
    annotate,
    kind_of,
    name_of,
    relation_of,
    says_user,
    type_name,
)
from auditor.proxy.catalogue.errors import CatalogueError, not_imitated
from auditor.proxy.catalogue.functions import DENIED
from auditor.proxy.catalogue.nodes import bounded, call, listed, registered, shown_as_text, typed, unnested
from auditor.proxy.catalogue.parameters import literal, literal_array
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS, relations, stored_as
from auditor.proxy.catalogue.session import Change, Context
from auditor.proxy.catalogue.showing import Names
from auditor.sql.postgres.naming import NAMELESS, figured

_WITH = "with "
_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_OPERATORS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "~": exp.RegexpLike, "~*": exp.RegexpILike, "~~": exp.Like,
    "~~*": exp.ILike, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE, "||": exp.DPipe, "+": exp.Add,
}  # fmt: skip
_PARTS = {
    **dict.fromkeys(("year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute"), 0),
    **dict.fromkeys(("second", "epoch"), 6),
}
"""What EXTRACT takes out of a time, and its digits after the point."""
_ORDERS = frozenset({"default", "C", "POSIX", "ucs_basic", "C.utf8"})
_TEXTS = frozenset({"text", "varchar", "name", "bpchar", "cstring", "unknown"})
_INTEGERS = frozenset({"int2", "int4", "int8", "oid"})


@dataclass(frozen=True)
class Translated:
    """A statement in DuckDB's words."""

    sql: str
    columns: Columns
    """Names and PostgreSQL types of the result; the types may be ""."""
    changes: tuple[Change, ...] = ()
    """What set_config is to change."""


def translate(
    tree: exp.Expr, values: Sequence[object], context: Context, names: Names, database: str, version: str
) -> Translated:
    """Translate a statement about the catalogue.

    Args:
        tree: The statement; it is changed.
        values: Those of its parameters, the first for `$1`.
        context: The session.
        names: What names of objects mean.
        database: The database's name.
        version: PostgreSQL's version that is imitated.

    Raises:
        CatalogueError: for anything that is on no allow-list.
    """
    check(tree)
    columns = annotate(tree, relations())
    translator = _Translator(values, names, Calls(context, database, version))
    result = [name for name, _ in columns]
    for select in list(tree.find_all(exp.Select)):
        _name_columns(select)
    for node in reversed(list(tree.walk(bfs=False))):
        made = translator.rewritten(node)
        if made is not node:
            made.meta.setdefault("kind", kind_of(node))
            if node is tree:
                tree = made
            else:
                node.replace(made)
    kinds = [kind for _, kind in columns]
    sql = tree.sql(dialect=DuckDB)
    return Translated(sql, list(zip(result, kinds, strict=True)), tuple(translator.calls.changes))


@dataclass
class _Translator:
    values: Sequence[object]
    names: Names
    calls: Calls

    def rewritten(self, node: exp.Expr) -> exp.Expr:
        """What stands for a node whose parts are rewritten."""
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return node

    # Names

    def identifier(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.parent, exp.DataType | exp.ObjectIdentifier):
            return node
        return exp.to_identifier(name_of(node), quoted=True)

    def column(self, node: exp.Expr) -> exp.Expr:
        relation, name = relation_of(node), name_of(node.this)
        if (
            relation is not None
            and name in ("tableoid", "xmin")
            and name not in {f.name for f in relation.fields}
        ):
            return typed(
                exp.Literal.number(_class_of(relation.name) if name == "tableoid" else 0), "UINTEGER"
            )
        if says_user(node):
            return typed(exp.Literal.string(self.calls.context.user), "VARCHAR")
        node.set("db", None)
        node.set("catalog", None)
        return node

    def table(self, node: exp.Expr) -> exp.Expr:
        for each in ("rows_from", "only", "sample", "pivots", "version", "when", "ordinality"):
            if node.args.get(each) and each not in ("only",):
                raise not_imitated(each.replace("_", " ").upper())
        node.set("only", None)
        if isinstance(node.this, exp.Anonymous):
            return self._function_table(node)
        if not isinstance(node.this, exp.Identifier):
            raise not_imitated("this function in FROM")
        schema, name = name_of(node.args.get("db") or ""), name_of(node.this)
        if not schema:
            # A name of WITH; no relation of DuckDB's own begins so.
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
            node.set("this", exp.to_identifier(f"{_WITH}{name}", quoted=True))
            node.set("alias", alias)
            return node
        catalog = node.args.get("catalog")
        if catalog is not None and name_of(catalog) != self.calls.database:
            raise CatalogueError(
                "cross-database references are not implemented", hint="Leave the database's name out."
            )
        if (schema, name) not in relations():
            raise CatalogueError(f'relation "{schema}.{name}" does not exist', errors.NO_TABLE)
        if name in DENIED:
            raise CatalogueError(f"permission denied for table {name}", errors.DENIED)
        home = exp.to_identifier(HOMES[schema], quoted=True)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        joins = node.args.get("joins")
        place = exp.Table(this=exp.to_identifier(name, quoted=True), db=home)
        shown = self._seen(name, place)
        if shown is None:
            place.set("alias", alias)
            place.set("joins", joins)
            return place
        return exp.Subquery(this=shown, alias=alias, joins=joins)

    def _seen(self, name: str, place: exp.Table) -> exp.Select | None:
        """A relation as this session sees it, where not everybody sees the same."""
        if name in ("pg_roles", "pg_user") and not self.calls.context.administrator:
            column = exp.column("rolname" if name == "pg_roles" else "usename")
            seen = exp.In(this=column, expressions=self.calls.visible_users())
            return exp.select("*").from_(place).where(seen)
        if name == "pg_settings" and self.calls.context.settings:
            case = exp.Case()
            for key, value in self.calls.context.settings.items():
                same = exp.EQ(
                    this=call("lower", exp.column("name")), expression=exp.Literal.string(key.lower())
                )
                case = case.when(same, exp.Literal.string(value))
            shown = exp.alias_(case.else_(exp.column("setting")), "setting")
            return exp.Select(expressions=[exp.Star(**{"replace": [shown]})]).from_(place)
        return None

    def _function_table(self, node: exp.Expr) -> exp.Expr:
        name = str(node.this.this).lower()
        alias = node.args.get("alias")
        if name == KEYWORDS:
            return exp.Table(this=exp.to_identifier(KEYWORDS), db=exp.to_identifier("c"), alias=alias)
        if name == "unnest":
            return unnested([node.this.expressions[0]], alias, str(node.this.meta.get("name", name)))
        return unnested([_one(node.this)], alias, name)

    def common(self, node: exp.Expr) -> exp.Expr:
        alias = node.args["alias"]
        alias.set("this", exp.to_identifier(f"{_WITH}{name_of(alias.this)}", quoted=True))
        return node

    # Values

    def parameter(self, node: exp.Expr) -> exp.Expr:
        number = int(node.this.name) if node.this.name.isdecimal() else 0
        if not 1 <= number <= len(self.values):
            raise CatalogueError(f"there is no parameter ${number}", "42P02")
        return literal(self.values[number - 1])

    def cast(self, node: exp.Expr) -> exp.Expr:
        kind, inner = type_name(node.args["to"]), node.this
        given = kind_of(inner)
        if isinstance(inner, exp.Literal) and inner.is_string and kind.startswith("_"):
            inner = literal_array(inner.name)
        if kind in OBJECT_NAMES:
            if given in OBJECT_NAMES or given == "oid" or given in _INTEGERS:
                return typed(inner, "UINTEGER")
            return self._named(kind, inner)
        if kind in _TEXTS:
            length = node.args["to"].expressions if isinstance(node.args["to"], exp.DataType) else []
            text = typed(shown_as_text(inner), "VARCHAR")
            if kind == "bpchar" and (length or node.args["to"].this == exp.DType.CHAR):
                if length and length[0].name != "1":
                    raise not_imitated("a text that is padded")
                return call("left", text, exp.Literal.number(1))
            return call("left", text, length[0].this) if length and kind != "text" else text
        if kind == "char":
            return call("left", typed(shown_as_text(inner), "VARCHAR"), exp.Literal.number(1))
        stored = stored_as(kind)
        if stored == "VARCHAR" and kind not in ("json", "jsonb", "uuid", "inet", "bytea", "anyarray"):
            raise CatalogueError(f'type "{kind}" is not one that this catalogue casts to')
        if kind == "anyarray":
            return typed(inner, "VARCHAR[]")
        return typed(inner, stored)

    def _named(self, kind: str, node: exp.Expr) -> exp.Expr:
        """The OID of the object that a value names."""
        if isinstance(node, exp.Literal) and node.is_string:
            return typed(exp.Literal.number(self.names.meant(kind, node.name)), "UINTEGER")
        return typed(call(f"cae_{registered(kind)}", typed(node, "VARCHAR")), "UINTEGER")

    def bracket(self, node: exp.Expr) -> exp.Expr:
        index = node.expressions[0]
        if len(node.expressions) != 1 or isinstance(index, exp.Slice):
            raise not_imitated("this subscript")
        # The parser took 1 from PostgreSQL's subscript; vectors count from 0, lists from 1.
        shift = 2 if kind_of(node.this) in VECTORS else 1
        return call(
            "list_extract", node.this, exp.Add(this=exp.paren(index), expression=exp.Literal.number(shift))
        )

    def dot(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.this, exp.Identifier) and name_of(node.this) in HOMES:
            return node.expression if not isinstance(node.expression, exp.Identifier) else node
        if isinstance(node.expression, exp.Identifier) and name_of(node.expression) in FIELDS:
            return call("struct_extract", node.this, exp.Literal.string(name_of(node.expression)))
        raise not_imitated("a field of a row")

    def pipe(self, node: exp.Expr) -> exp.Expr:
        if any(
            isinstance(each, exp.Array) or kind_of(each).startswith("_")
            for each in (node.this, node.expression)
        ):
            # Arrays; one that is NULL counts as empty.
            return call("list_concat", bounded(node.this), bounded(node.expression))
        # Of a chain, each part is bounded; there are MOST_JOINED at most.
        left = node.this if isinstance(node.this, exp.DPipe) else bounded(shown_as_text(node.this))
        return exp.DPipe(this=left, expression=bounded(shown_as_text(node.expression)), safe=True)

    def division(self, node: exp.Expr) -> exp.Expr:
        if any(kind_of(each) in ("float4", "float8") for each in (node.this, node.expression)):
            return node
        outer = node.parent.parent if isinstance(node.parent, exp.Paren) else node.parent
        if isinstance(outer, exp.Cast) and kind_of(node.this) == "numeric":
            return node  # how many digits it has is the cast's to say
        if not (_is_whole(node.this) and _is_whole(node.expression)):
            raise not_imitated("a division of such numbers")
        return self.reckoned(exp.IntDiv(this=node.this, expression=node.expression))

    def extract(self, node: exp.Expr) -> exp.Expr:
        part = node.name.lower()
        if part not in _PARTS:
            raise not_imitated(f"EXTRACT of {part}")
        return typed(
            call("date_part", exp.Literal.string(part), node.expression), f"DECIMAL(18, {_PARTS[part]})"
        )

    def reckoned(self, node: exp.Expr) -> exp.Expr:
        # In DuckDB, smallint and a written number make smallint.
        kinds = {kind_of(node.this), kind_of(node.expression)}
        for each in (node.this, node.expression):
            if kind_of(each) == "int2" and kinds != {"int2"}:
                each.replace(typed(each.copy(), "INTEGER"))
        return node

    def position(self, node: exp.Expr) -> exp.Expr:
        return typed(call("strpos", node.this, node.args["substr"]), "INTEGER")

    def substring(self, node: exp.Expr) -> exp.Expr:
        pattern = node.args.get("start")
        if (
            node.args.get("length") is not None
            or not isinstance(pattern, exp.Literal)
            or not pattern.is_string
        ):
            return node
        # SUBSTRING(text FROM 'pattern'): what its parentheses match, or all of it.
        group = exp.Literal.number(1 if "(" in pattern.name else 0)
        found = call("regexp_extract", shown_as_text(node.this), pattern, group)
        return call("nullif", found, exp.Literal.string(""))

    def matches(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.expression, exp.Any):
            raise not_imitated("a pattern of several")
        matched = call("regexp_matches", shown_as_text(node.this), node.expression)
        if isinstance(node, exp.RegexpILike):
            matched.append("expressions", exp.Literal.string("i"))
        return matched

    def like(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.expression, exp.Any):
            raise not_imitated("a pattern of several")
        name = "ilike_escape" if isinstance(node, exp.ILike) else "like_escape"
        # PostgreSQL's patterns escape with a backslash unless they say otherwise, DuckDB's with nothing.
        made = call(name, shown_as_text(node.this), node.expression, exp.Literal.string("\\"))
        return exp.Not(this=made) if node.args.get("negate") else made

    def escaped(self, node: exp.Expr) -> exp.Expr:
        made: exp.Expr = node.this
        inner = made.this if isinstance(made, exp.Not) else made
        if not isinstance(inner, exp.Anonymous) or not isinstance(node.expression, exp.Literal):
            raise not_imitated("this ESCAPE")
        inner.expressions[2].replace(node.expression)
        return made

    def operator(self, node: exp.Expr) -> exp.Expr:
        sign = str(node.args["operator"]).removeprefix("pg_catalog.")
        negated = sign in ("!~", "!~*", "!~~", "!~~*")
        made = _OPERATORS.get(sign[1:] if negated else sign)
        if made is None:
            raise not_imitated(f"the operator {sign}")
        binary = made(this=node.this, expression=node.expression)
        done = self.rewritten(binary)
        return exp.Not(this=exp.paren(done)) if negated else done

    def compared(self, node: exp.Expr) -> exp.Expr:
        left, right = node.this, node.expression
        if (
            isinstance(right, exp.Anonymous)
            and str(right.this).lower() == "all"
            and isinstance(node, exp.NEQ)
        ):
            inner = right.expressions[0]
            if isinstance(inner, exp.Query):
                raise not_imitated("ALL of a query")
            return exp.Not(this=call("cae_any", listed(inner), left))
        if isinstance(right, exp.Any) and not isinstance(right.this, exp.Query):
            if not isinstance(node, exp.EQ):
                raise not_imitated("this comparison with ANY")
            array, kind = listed(right.this), kind_of(left)
            if array is not right.this.unnest() and kind and kind not in _TEXTS:
                # Texts in an array that is written as a text, for what are numbers.
                array = typed(array, f"{stored_as(kind)}[]")
            return call("cae_any", array, left)
        for one, other in ((left, right), (right, left)):
            kind = kind_of(one)
            if kind in OBJECT_NAMES and isinstance(other, exp.Literal) and other.is_string:
                other.replace(self._named(kind, other.copy()))
            elif kind in OBJECT_NAMES and kind_of(other) in _TEXTS - {"unknown"}:
                one.replace(shown_as_text(one.copy()))
        return node

    def member(self, node: exp.Expr) -> exp.Expr:
        kind = kind_of(node.this)
        for each in list(node.expressions):
            if kind in OBJECT_NAMES and isinstance(each, exp.Literal) and each.is_string:
                each.replace(self._named(kind, each.copy()))
        return node

    def word(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate):
            return typed(call("now"), "DATE") if isinstance(node, exp.CurrentDate) else call("now")
        return self.calls.of_session(figured(node, _cast_name), node)

    def called(self, node: exp.Expr) -> exp.Expr:
        return self.calls.written(node)

    def collate(self, node: exp.Expr) -> exp.Expr:
        value: exp.Expr = node.this
        order = node.expression
        if name_of(order.this if isinstance(order, exp.Column) else order) not in _ORDERS:
            raise not_imitated("this COLLATE")
        return value

    def unnest(self, node: exp.Expr) -> exp.Expr:
        if node.args.get("offset"):
            raise not_imitated("WITH ORDINALITY of this")
        return unnested(list(node.expressions), node.args.get("alias"), "unnest")


def _class_of(name: str) -> int:
    return relations()["pg_catalog", name].oid if ("pg_catalog", name) in relations() else 0


def _is_whole(node: exp.Expr) -> bool:
    """Whether a value is certainly a whole number."""
    if isinstance(node, exp.Literal):
        return not node.is_string and node.name.isdecimal()
    if isinstance(node, exp.Paren | exp.Neg):
        return _is_whole(node.this)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod | exp.IntDiv):
        return _is_whole(node.this) and _is_whole(node.expression)
    return kind_of(node) in _INTEGERS


def _one(node: exp.Expr) -> exp.Expr:
    return exp.Array(expressions=[node])


_Rule = Callable[[_Translator, exp.Expr], exp.Expr]
_RULES: Mapping[type[exp.Expr], _Rule] = {
    exp.Identifier: _Translator.identifier,
    exp.Column: _Translator.column,
    exp.Table: _Translator.table,
    exp.CTE: _Translator.common,
    exp.Parameter: _Translator.parameter,
    exp.Cast: _Translator.cast,
    exp.Bracket: _Translator.bracket,
    exp.Dot: _Translator.dot,
    exp.DPipe: _Translator.pipe,
    exp.Div: _Translator.division,
    exp.Extract: _Translator.extract,
    exp.StrPosition: _Translator.position,
    exp.Substring: _Translator.substring,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _Translator.reckoned),
    exp.RegexpLike: _Translator.matches,
    exp.RegexpILike: _Translator.matches,
    exp.Like: _Translator.like,
    exp.ILike: _Translator.like,
    exp.Escape: _Translator.escaped,
    exp.Operator: _Translator.operator,
    exp.In: _Translator.member,
    exp.Unnest: _Translator.unnest,
    exp.Collate: _Translator.collate,
    exp.Anonymous: _Translator.called,
    **dict.fromkeys(_COMPARED, _Translator.compared),
    **dict.fromkeys(
        (exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog), _Translator.word
    ),
    **dict.fromkeys((exp.CurrentTimestamp, exp.CurrentDate), _Translator.word),
}


def _name_columns(select: exp.Select) -> None:
    """Give every column of a SELECT the name that PostgreSQL gives it."""
    if not select.expressions:
        if not isinstance(select.parent, exp.Exists):
            raise not_imitated("SELECT of nothing")
        select.set("expressions", [exp.Literal.number(1)])
    named = []
    for each in select.expressions:
        if isinstance(each, exp.Alias | exp.Star) or (
            isinstance(each, exp.Column) and isinstance(each.this, exp.Star)
        ):
            named.append(each)
            continue
        kind, name = kind_of(each), figured(each, _cast_name) or NAMELESS
        alias = exp.Alias(this=each, alias=exp.to_identifier(name, quoted=True))
        alias.meta["kind"] = kind
        named.append(alias)
    select.set("expressions", named)


def _cast_name(to: exp.Expr) -> str:
    """What a cast is called: a list by its elements."""
    kind = type_name(to)
    listed = isinstance(to, exp.DataType) and to.this == exp.DType.ARRAY
    return kind.removeprefix("_") if listed else kind
