"""From PostgreSQL's SQL about the catalogue to DuckDB's, by one rule for each kind of node.

Promises that every node, function, table and type that comes out is on an allow-list, and that everything else
is a `CatalogueError`. Rules run from the leaves up, on a tree whose types `columns` has found.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from auditor.proxy.catalogue.building import HOMES, KEYWORDS, OWNER
from auditor.proxy.catalogue.columns import Columns, annotate, element, kind_of, name_of, relation_of, type_name
from auditor.proxy.catalogue.errors import DENIED as DENIED_STATE
from auditor.proxy.catalogue.errors import NO_OBJECT, NO_TABLE, CatalogueError, not_imitated
from auditor.proxy.catalogue.functions import ABOUT, DENIED, PLAIN
from auditor.proxy.catalogue.parameters import literal, literal_array
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS, relations, rows, stored_as
from auditor.proxy.catalogue.session import Change, Context

_ALLOWED = frozenset("""
    Select Union Intersect Except Subquery From Table TableAlias Alias Identifier Column Where Group Having Order
    Ordered Limit Offset Distinct With CTE Join Star Literal Null Boolean Paren Tuple Filter Case If Cast DataType
    DataTypeParam ObjectIdentifier Interval Var Exists In Between Is Parameter Any Escape Window WindowSpec Array
    Values Lateral Unnest And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Like ILike RegexpLike RegexpILike
    Add Sub Mul Div Mod Neg DPipe BitwiseAnd BitwiseOr BitwiseNot BitwiseLeftShift BitwiseRightShift Collate
    Operator Bracket Dot Anonymous CurrentUser SessionUser CurrentSchema CurrentCatalog CurrentTimestamp
    CurrentDate Substring Trim StrPosition Extract ArrayContainsAll ArrayContainedBy ArrayOverlaps Fetch
""".split())
_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_OPERATORS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "~": exp.RegexpLike, "~*": exp.RegexpILike, "~~": exp.Like,
    "~~*": exp.ILike, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE, "||": exp.DPipe, "+": exp.Add,
}  # fmt: skip
_SETTINGS = {str(row["name"]).lower(): row["setting"] or "" for row in rows("pg_settings")}
_TEXTS = frozenset({"text", "varchar", "name", "bpchar", "cstring", "unknown"})
_INTEGERS = frozenset({"int2", "int4", "int8", "oid"})
_SPREAD = frozenset({"unnest", "generate_series", "generate_subscripts"})


@dataclass(frozen=True)
class Translated:
    """A statement in DuckDB's words."""

    sql: str
    columns: Columns
    """Names and PostgreSQL types of the result; the types may be ""."""
    changes: tuple[Change, ...] = ()
    """What set_config is to change."""


def translate(tree: exp.Expr, values: Sequence[object], context: Context, database: str, version: str) -> Translated:
    """Translate a statement about the catalogue.

    Args:
        tree: The statement; it is changed.
        values: Those of its parameters, the first for `$1`.
        context: The session.
        database: The database's name.
        version: PostgreSQL's version that is imitated.

    Raises:
        CatalogueError: for anything that is on no allow-list.
    """
    for node in tree.walk():
        if type(node).__name__ not in _ALLOWED:
            raise not_imitated(type(node).__name__)
    columns = annotate(tree, relations())
    translator = _Translator(values, context, database, version)
    result = [name for name, _ in columns]
    for node in [each for each in tree.walk(bfs=False) if isinstance(each, exp.Select)]:
        _name_columns(node)
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
    return Translated(sql, list(zip(result, kinds, strict=True)), tuple(translator.changes))


def _name_columns(select: exp.Select) -> None:
    """Give every column of a SELECT the name that PostgreSQL gives it."""
    named = []
    for each in select.expressions:
        if isinstance(each, exp.Alias | exp.Star) or (isinstance(each, exp.Column) and isinstance(each.this, exp.Star)):
            named.append(each)
            continue
        kind = kind_of(each)
        alias = exp.Alias(this=each, alias=exp.to_identifier(figured(each) or "?column?", quoted=True))
        alias.meta["kind"] = kind
        named.append(alias)
    select.set("expressions", named)


def figured(node: exp.Expr) -> str:
    """The name of a column without AS (FigureColname in PostgreSQL's parser); "" if nothing names it."""
    if isinstance(node, exp.Column):
        return name_of(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Dot):
        return figured(node.expression) if isinstance(node.expression, exp.Anonymous) else name_of(node.expression)
    if isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.Bracket | exp.Collate):
        return figured(node.this)
    if isinstance(node, exp.Cast):
        return figured(node.this) or type_name(node.args["to"])
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        found = figured(default) if isinstance(default, exp.Column | exp.Anonymous) else ""
        return found or "case"
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select) and len(node.this.expressions) == 1:
        inner = node.this.expressions[0]
        return name_of(inner.args["alias"]) if isinstance(inner, exp.Alias) else figured(inner)
    if isinstance(node, exp.Exists):
        return "exists"
    words = {
        exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
        exp.CurrentCatalog: "current_catalog", exp.CurrentTimestamp: "current_timestamp", exp.CurrentDate:
        "current_date", exp.Array: "array", exp.Substring: "substring", exp.Trim: "btrim", exp.StrPosition:
        "position", exp.Extract: "extract", exp.Interval: "interval",
    }  # fmt: skip
    return words.get(type(node), "")


def _typed(node: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="duckdb"))


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _shown(node: exp.Expr) -> exp.Expr:
    """A value as the text that PostgreSQL shows."""
    kind = kind_of(node)
    if kind in OBJECT_NAMES:
        return _call(f"cae_{_registered(kind)}_text", node)
    if kind in VECTORS:
        return _call("cae_vector_text", node)
    return node


def _registered(kind: str) -> str:
    """The name in the macros of a type of names of objects."""
    if kind == "regrole":
        raise not_imitated("regrole")
    return "regproc" if kind == "regprocedure" else kind


@dataclass
class _Translator:
    values: Sequence[object]
    context: Context
    database: str
    version: str
    changes: list[Change] = field(default_factory=list)

    def rewritten(self, node: exp.Expr) -> exp.Expr:
        """What stands for a node whose parts are rewritten."""
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return node

    def visible_users(self) -> exp.Expr:
        """The names of roles that this user may see."""
        return exp.Array(expressions=[exp.Literal.string(OWNER), exp.Literal.string(self.context.user)])

    # Names

    def identifier(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.parent, exp.DataType | exp.ObjectIdentifier):
            return node
        return exp.to_identifier(name_of(node), quoted=True)

    def column(self, node: exp.Expr) -> exp.Expr:
        relation, name = relation_of(node), name_of(node.this)
        if relation is not None and name in ("tableoid", "xmin") and name not in {f.name for f in relation.fields}:
            return _typed(exp.Literal.number(_class_of(relation.name) if name == "tableoid" else 0), "UINTEGER")
        if not node.args.get("table") and not kind_of(node) and name in ("user", "current_role"):
            return exp.Literal.string(self.context.user)
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
            return node
        if (schema, name) not in relations():
            raise CatalogueError(f'relation "{schema}.{name}" does not exist', NO_TABLE)
        if name in DENIED:
            raise CatalogueError(f"permission denied for table {name}", DENIED_STATE)
        home = exp.to_identifier(HOMES[schema], quoted=True)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        joins = node.args.get("joins")
        place = exp.Table(this=exp.to_identifier(name, quoted=True), db=home)
        shown = self._seen(name, place)
        if shown is None:
            place.set("alias", alias)
            place.set("joins", joins)
            return place
        if joins:
            raise not_imitated("this join")
        return exp.Subquery(this=shown, alias=alias)

    def _seen(self, name: str, place: exp.Table) -> exp.Select | None:
        """A relation as this session sees it, where not everybody sees the same."""
        if name in ("pg_roles", "pg_user") and not self.context.administrator:
            column = exp.column("rolname" if name == "pg_roles" else "usename")
            seen = exp.In(this=column, expressions=self.visible_users().expressions)
            return exp.select("*").from_(place).where(seen)
        if name == "pg_settings" and self.context.settings:
            case = exp.Case()
            for key, value in self.context.settings.items():
                same = exp.EQ(this=_call("lower", exp.column("name")), expression=exp.Literal.string(key.lower()))
                case = case.when(same, exp.Literal.string(value))
            column = exp.alias_(case.else_(exp.column("setting")), "setting")
            return exp.Select(expressions=[exp.Star(**{"replace": [column]})]).from_(place)
        return None

    def _function_table(self, node: exp.Expr) -> exp.Expr:
        name = str(node.this.this).lower()
        alias = node.args.get("alias")
        if name == KEYWORDS:
            return exp.Table(this=exp.to_identifier(KEYWORDS), db=exp.to_identifier("c"), alias=alias)
        if name == "unnest":
            return _unnested([node.this.expressions[0]], alias, str(node.this.meta.get("name", name)))
        return _unnested([_one(node.this)], alias, name)

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
                return _typed(inner, "UINTEGER")
            return _typed(_call(f"cae_{_registered(kind)}", _typed(inner, "VARCHAR")), "UINTEGER")
        if kind in _TEXTS:
            length = node.args["to"].expressions if isinstance(node.args["to"], exp.DataType) else []
            text = _typed(_shown(inner), "VARCHAR")
            return _call("left", text, length[0].this) if length and kind != "text" else text
        if kind == "char":
            return _call("left", _typed(_shown(inner), "VARCHAR"), exp.Literal.number(1))
        stored = stored_as(kind)
        if stored == "VARCHAR" and kind not in ("json", "jsonb", "uuid", "inet", "bytea", "anyarray"):
            raise CatalogueError(f'type "{kind}" is not one that this catalogue casts to')
        if kind == "anyarray":
            return inner
        return _typed(inner, stored)

    def bracket(self, node: exp.Expr) -> exp.Expr:
        index = node.expressions[0]
        if len(node.expressions) != 1 or isinstance(index, exp.Slice):
            raise not_imitated("this subscript")
        # The parser took 1 from PostgreSQL's subscript; vectors count from 0, lists from 1.
        shift = 2 if kind_of(node.this) in VECTORS else 1
        return _call("list_extract", node.this, exp.Add(this=exp.paren(index), expression=exp.Literal.number(shift)))

    def dot(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.this, exp.Identifier) and name_of(node.this) in HOMES:
            return node.expression if not isinstance(node.expression, exp.Identifier) else node
        if isinstance(node.expression, exp.Identifier) and name_of(node.expression) in ("x", "n"):
            return _call("struct_extract", node.this, exp.Literal.string(name_of(node.expression)))
        raise not_imitated("a field of a row")

    def pipe(self, node: exp.Expr) -> exp.Expr:
        return exp.DPipe(this=_shown(node.this), expression=_shown(node.expression), safe=True)

    def division(self, node: exp.Expr) -> exp.Expr:
        # Whole numbers, as all of the catalogue's are.
        return exp.paren(_call("trunc", _typed(exp.Div(this=node.this, expression=node.expression), "DOUBLE"))) \
            if not _whole(node) else exp.IntDiv(this=node.this, expression=node.expression)

    def matches(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node.expression, exp.Any):
            raise not_imitated("a pattern of several")
        call = _call("regexp_matches", _shown(node.this), node.expression)
        if isinstance(node, exp.RegexpILike):
            call.append("expressions", exp.Literal.string("i"))
        return call

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
        if isinstance(right, exp.Anonymous) and str(right.this).lower() == "all" and isinstance(node, exp.NEQ):
            inner = right.expressions[0]
            if isinstance(inner, exp.Query):
                raise not_imitated("ALL of a query")
            return exp.Not(this=_call("list_contains", _listed(inner), left))
        if isinstance(right, exp.Any) and not isinstance(right.this, exp.Query):
            if not isinstance(node, exp.EQ):
                raise not_imitated("this comparison with ANY")
            return _call("list_contains", _listed(right.this), left)
        for one, other in ((left, right), (right, left)):
            kind = kind_of(one)
            if kind in OBJECT_NAMES and isinstance(other, exp.Literal) and other.is_string:
                other.replace(_call(f"cae_{_registered(kind)}", other))
            elif kind in OBJECT_NAMES and kind_of(other) in _TEXTS - {"unknown"}:
                one.replace(_shown(one))
        return node

    def member(self, node: exp.Expr) -> exp.Expr:
        kind = kind_of(node.this)
        for each in list(node.expressions):
            if kind in OBJECT_NAMES and isinstance(each, exp.Literal) and each.is_string:
                each.replace(_call(f"cae_{_registered(kind)}", each))
        return node

    def unnest(self, node: exp.Expr) -> exp.Expr:
        if node.args.get("offset"):
            raise not_imitated("WITH ORDINALITY of this")
        return _unnested([each for each in node.expressions], node.args.get("alias"), "unnest")

    # Functions

    def collate(self, node: exp.Expr) -> exp.Expr:
        return node.this

    def word(self, node: exp.Expr) -> exp.Expr:
        return self._of_session(figured(node), [])

    def function(self, node: exp.Expr) -> exp.Expr:
        name, arguments = str(node.this).lower(), node.expressions
        if name in ("array", "array_agg", "row", "all", *_SPREAD, "_pg_expandarray"):
            return self._special(node, name, arguments)
        function = ABOUT.get(name) or PLAIN.get(name)
        if function is None:
            raise CatalogueError(f"function {name} is not one that the catalogue answers", "0A000")
        if not function.target:
            return self._of_session(name, arguments)
        texts = name in ("concat", "concat_ws", "lower", "upper", "string_agg", "quote_ident", "length", "replace")
        return _call(function.target, *(_shown(each) if texts else each for each in arguments))

    def _special(self, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        if name == "array" and len(arguments) == 1 and isinstance(arguments[0], exp.Query):
            return exp.Array(expressions=[arguments[0]])
        if name == "array_agg":
            return _call("list", *arguments)
        if name == "unnest" and len(arguments) == 1:
            return _call("unnest", _listed(arguments[0]))
        if name == "generate_series" or (name == "generate_subscripts" and len(arguments) == 2):
            series = _call("generate_series", *arguments) if name == "generate_series" else _subscripts(arguments[0])
            spread = _call("unnest", series)
            spread.meta["name"] = name
            return spread
        if name == "_pg_expandarray" and len(arguments) == 1:
            return _call("unnest", _call("cae_expanded", arguments[0]))
        if name == "all":
            return node
        raise not_imitated(f"{name}()")

    def _of_session(self, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        context = self.context
        texts = {
            "version": f"PostgreSQL {self.version} (cae-sql), 64-bit", "current_database": self.database,
            "current_catalog": self.database, "current_schema": "public", "current_user": context.user,
            "session_user": context.user, "user": context.user, "current_role": context.user,
            "inet_server_addr": context.server_address, "inet_client_addr": context.client_address,
        }  # fmt: skip
        if name in texts:
            text = texts[name]
            return _typed(exp.null() if text is None else exp.Literal.string(text), "VARCHAR")
        numbers = {
            "pg_backend_pid": context.pid, "inet_server_port": context.server_port,
            "inet_client_port": context.client_port,
        }  # fmt: skip
        if name in numbers:
            number = numbers[name]
            return _typed(exp.null() if number is None else exp.Literal.number(number), "INTEGER")
        if name == "current_schemas":
            seen = ["pg_catalog"] * (not isinstance(arguments[0], exp.Boolean) or bool(arguments[0].this)) + ["public"]
            return exp.Array(expressions=[exp.Literal.string(each) for each in seen])
        if name == "pg_get_userbyid" and len(arguments) == 1:
            if context.administrator:
                return _call("cae_any_user_name", arguments[0])
            return _call("cae_user_name", arguments[0], self.visible_users())
        if name in ("pg_postmaster_start_time", "pg_conf_load_time"):
            started = context.started or datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
            return _typed(exp.Literal.string(started.isoformat(sep=" ")), "TIMESTAMPTZ")
        if name == "current_setting":
            return self._setting(arguments)
        if name == "set_config":
            return self._set(arguments)
        constants = {
            "pg_is_in_recovery": exp.false(), "pg_is_other_temp_schema": exp.false(),
            "txid_current": _typed(exp.Literal.number(1), "BIGINT"),
            "pg_my_temp_schema": _typed(exp.Literal.number(0), "UINTEGER"),
            "pg_advisory_unlock_all": exp.Literal.string(""), "getdatabaseencoding": exp.Literal.string("UTF8"),
            "pg_get_keywords": _call(KEYWORDS),
            "current_timestamp": _call("now"), "current_date": _typed(_call("now"), "DATE"),
        }  # fmt: skip
        if name not in constants:
            raise not_imitated(f"{name}()")
        return constants[name]

    def _setting(self, arguments: list[exp.Expr]) -> exp.Expr:
        if arguments and isinstance(arguments[0], exp.Cast):
            return _typed(exp.null(), "VARCHAR")
        if not arguments:
            raise not_imitated("current_setting() of nothing")
        if not isinstance(arguments[0], exp.Literal):
            case = exp.Case(this=_call("lower", arguments[0]))
            for key, value in self.context.settings.items():
                case = case.when(exp.Literal.string(key.lower()), exp.Literal.string(value))
            return case.else_(_call("cae_setting", arguments[0].copy())) if self.context.settings else _call("cae_setting", arguments[0])
        name = arguments[0].name.lower()
        session = {key.lower(): value for key, value in self.context.settings.items()}
        value = session.get(name, self.version if name == "server_version" else _SETTINGS.get(name))
        if name == "server_version_num" and name not in session:
            value = f"{self.version.split('.')[0]}{int((self.version.split('.') + ['0'])[1]):04d}"
        if value is None:
            if len(arguments) > 1 and isinstance(arguments[1], exp.Boolean) and arguments[1].this:
                return _typed(exp.null(), "VARCHAR")
            raise CatalogueError(f'unrecognized configuration parameter "{name}"', NO_OBJECT)
        return exp.Literal.string(value)

    def _set(self, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) == 3 and isinstance(arguments[1], exp.Cast):
            return _typed(exp.null(), "VARCHAR")
        if len(arguments) != 3 or not all(isinstance(each, exp.Literal) for each in arguments[:2]):
            raise not_imitated("set_config() of anything but constants")
        local = arguments[2]
        if not isinstance(local, exp.Boolean):
            raise not_imitated("set_config() of anything but constants")
        self.changes.append(Change(arguments[0].name.lower(), arguments[1].name, bool(local.this)))
        return exp.Literal.string(arguments[1].name)


def _class_of(name: str) -> int:
    return relations()["pg_catalog", name].oid if ("pg_catalog", name) in relations() else 0


def _whole(node: exp.Expr) -> bool:
    return all(
        kind_of(each) in _INTEGERS or kind_of(each) == "" for each in (node.this, node.expression)
    )


def _listed(node: exp.Expr) -> exp.Expr:
    """An array, also where it is written as a text."""
    inner = node.unnest()
    if isinstance(inner, exp.Literal) and inner.is_string:
        return literal_array(inner.name)
    return inner


def _subscripts(node: exp.Expr) -> exp.Expr:
    first = 0 if kind_of(node) in VECTORS else 1
    last = exp.Sub(this=_call("len", node), expression=exp.Literal.number(1 - first))
    return _call("generate_series", exp.Literal.number(first), last)


def _one(node: exp.Expr) -> exp.Expr:
    return exp.Array(expressions=[node])


def _unnested(lists: list[exp.Expr], alias: exp.Expr | None, name: str) -> exp.Expr:
    """A list as a table; without names for its columns, the table's is the column's."""
    table = alias.this if alias is not None and alias.this else exp.to_identifier(name, quoted=True)
    columns = [each for each in (alias.args.get("columns") or ())] if alias is not None else []
    if not columns and len(lists) == 1:
        columns = [table]
    return exp.Unnest(expressions=lists, alias=exp.TableAlias(this=table, columns=columns))


_Rule = Callable[[_Translator, exp.Expr], exp.Expr]
_RULES: Mapping[type[exp.Expr], _Rule] = {
    exp.Identifier: _Translator.identifier,
    exp.Column: _Translator.column,
    exp.Table: _Translator.table,
    exp.Parameter: _Translator.parameter,
    exp.Cast: _Translator.cast,
    exp.Bracket: _Translator.bracket,
    exp.Dot: _Translator.dot,
    exp.DPipe: _Translator.pipe,
    exp.Div: _Translator.division,
    exp.RegexpLike: _Translator.matches,
    exp.RegexpILike: _Translator.matches,
    exp.Operator: _Translator.operator,
    exp.In: _Translator.member,
    exp.Unnest: _Translator.unnest,
    exp.Collate: _Translator.collate,
    exp.Anonymous: _Translator.function,
    **dict.fromkeys(_COMPARED, _Translator.compared),
    **dict.fromkeys((exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog), _Translator.word),
    **dict.fromkeys((exp.CurrentTimestamp, exp.CurrentDate), _Translator.word),
}
