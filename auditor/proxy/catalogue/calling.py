"""What stands for each call of a function: DuckDB's, a macro, or a value that the session decides.

Promises that nothing is called that `functions` does not list, and that settings change only where a
statement does nothing else.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from auditor.proxy.catalogue.building import KEYWORDS, OWNER
from auditor.proxy.catalogue.columns import kind_of
from auditor.proxy.catalogue.errors import NO_OBJECT, CatalogueError, not_imitated
from auditor.proxy.catalogue.functions import ABOUT, PLAIN, SESSION
from auditor.proxy.catalogue.nodes import bounded, call, listed, shown_as_text, subscripts, typed
from auditor.proxy.catalogue.parameters import literal
from auditor.proxy.catalogue.relations import rows, stored_as
from auditor.proxy.catalogue.session import Change, Context
from auditor.proxy.values import quantities

_UNITS = dict(quantities.UNITS) | {str(row["name"]).lower(): row["unit"] or "" for row in rows("pg_settings")}
_SETTINGS = {str(row["name"]).lower(): row["setting"] or "" for row in rows("pg_settings")}
_OF_TEXTS = frozenset(
    {"concat", "concat_ws", "lower", "upper", "string_agg", "quote_ident", "length", "replace"}
)
MOST_PUT = 16
"""Characters of a text that is put between or into others, as in functions.sql."""
MOST_FORMAT = 100
"""Characters of a pattern of format() and to_char()."""
_PLACES = re.compile(r"(%[sIL%])")
_TIMES = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M",
    "SS": "%S", "MS": "%g", "US": "%f", "TZ": "UTC", "Mon": "%b", "Month": "%B", "Dy": "%a", "Day": "%A",
    "DDD": "%j", "AM": "%p", "PM": "%p",
}  # fmt: skip
_TIME_PARTS = re.compile("(" + "|".join(sorted(_TIMES, key=len, reverse=True)) + ")")
_STARTED = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass
class Calls:
    """Writes calls; keeps the settings that they change."""

    context: Context
    database: str
    version: str
    changes: list[Change] = field(default_factory=list)

    def written(self, node: exp.Expr) -> exp.Expr:
        """What stands for a call whose arguments are written already.

        Raises:
            CatalogueError: for a function that is not on the lists.
        """
        name, arguments = str(node.this).lower(), node.expressions
        special = _SPECIAL.get(name)
        if special is not None:
            return special(node)
        function = ABOUT.get(name) or PLAIN.get(name)
        if function is None:
            raise CatalogueError(f"function {name} is not one that the catalogue answers")
        if name in SESSION:
            return self.of_session(name, node)
        if not function.target:
            raise not_imitated(f"{name}()")
        shown = [shown_as_text(each) for each in arguments] if name in _OF_TEXTS else arguments
        if name == "array_to_string" and not (len(shown) == 2 and _is_short(shown[1])):
            raise not_imitated("this separator of array_to_string()")
        if name in ("concat", "concat_ws"):
            shown = [bounded(typed(each, "VARCHAR")) for each in shown]
        target = function.target
        if name == "pg_table_is_visible" and self.context.settings.get("application_name") == "psql":
            # Its \d lists what is visible, with the schema beside it: here, the tables of every schema.
            target = "cae_pg_table_is_listed"
        made = call(target, *shown)
        # DuckDB counts in 64 bits.
        return typed(made, stored_as(function.type)) if function.type == "int4" else made

    def of_session(self, name: str, node: exp.Expr) -> exp.Expr:
        """The value of a function that the session decides."""
        arguments = node.expressions if isinstance(node, exp.Anonymous) else []
        constants = self._constants()
        if name in constants:
            value, kind = constants[name]
            return typed(literal(value), kind)
        if name == "current_schemas":
            implicit = not arguments or not isinstance(arguments[0], exp.Boolean) or bool(arguments[0].this)
            seen = ["pg_catalog", "public"] if implicit else ["public"]
            return exp.Array(expressions=[exp.Literal.string(each) for each in seen])
        if name == "pg_get_userbyid" and len(arguments) == 1:
            if self.context.administrator:
                return call("cae_any_user_name", arguments[0])
            return call("cae_user_name", arguments[0], exp.Array(expressions=self.visible_users()))
        if name == "current_setting" and arguments:
            return self._setting(arguments)
        if name == "set_config" and len(arguments) == 3:
            return self._set(node, arguments)
        if name == "pg_get_keywords":
            return call(KEYWORDS)
        raise not_imitated(f"{name}()")

    def visible_users(self) -> list[exp.Expr]:
        """Names of the roles that anybody but an administrator sees: their own, and the tables' owner."""
        return [exp.Literal.string(OWNER), exp.Literal.string(self.context.user)]

    def _constants(self) -> Mapping[str, tuple[str | int | None, str]]:
        context = self.context
        started = (context.started or _STARTED).isoformat(sep=" ")
        return {
            "version": (f"PostgreSQL {self.version} (cae-sql), 64-bit", "VARCHAR"),
            **dict.fromkeys(("current_database", "current_catalog"), (self.database, "VARCHAR")),
            **dict.fromkeys(
                ("current_user", "session_user", "user", "current_role"), (context.user, "VARCHAR")
            ),
            "current_schema": ("public", "VARCHAR"),
            "inet_server_addr": (context.server_address, "VARCHAR"),
            "inet_client_addr": (context.client_address, "VARCHAR"),
            "inet_server_port": (context.server_port, "INTEGER"),
            "inet_client_port": (context.client_port, "INTEGER"),
            "pg_backend_pid": (context.pid, "INTEGER"),
            **dict.fromkeys(("pg_postmaster_start_time", "pg_conf_load_time"), (started, "TIMESTAMPTZ")),
        }

    def _setting(self, arguments: list[exp.Expr]) -> exp.Expr:
        found = _written_out(arguments[0])
        session = {
            key.lower(): quantities.shown(value, _UNITS.get(key.lower(), ""))
            for key, value in self.context.settings.items()
        }
        session.setdefault("server_version", self.version)
        session.setdefault("server_version_num", _number(self.version))
        if found is None:
            case = exp.Case(this=call("lower", arguments[0]))
            for key, value in session.items():
                case = case.when(exp.Literal.string(key), exp.Literal.string(value))
            return case.else_(call("cae_setting", arguments[0].copy()))
        if isinstance(found, exp.Null):
            return typed(exp.null(), "VARCHAR")
        name = found.name.lower()
        setting = session.get(name, _SETTINGS.get(name))
        if setting is not None:
            return exp.Literal.string(quantities.shown(setting, _UNITS.get(name, "")))
        missing = arguments[1] if len(arguments) > 1 else None
        if isinstance(missing, exp.Boolean) and missing.this:
            return typed(exp.null(), "VARCHAR")
        raise CatalogueError(f'unrecognized configuration parameter "{name[:100]}"', NO_OBJECT)

    def _set(self, node: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
        name, value, local = _written_out(arguments[0]), _written_out(arguments[1]), arguments[2]
        if not isinstance(name, exp.Literal) or value is None or not isinstance(local, exp.Boolean):
            raise not_imitated("set_config() of anything but constants")
        place = node.parent
        while isinstance(place, exp.Alias | exp.Paren | exp.Dot):
            place = place.parent
        if not isinstance(place, exp.Select) or place.parent is not None or place.args.get("from_"):
            raise not_imitated("set_config() anywhere but in a SELECT without FROM")
        if place.args.get("where"):
            raise not_imitated("set_config() under a condition")
        text = None if isinstance(value, exp.Null) else value.name
        self.changes.append(Change(name.name.lower(), text, bool(local.this)))
        return typed(literal(_as_shown(name.name.lower(), text)), "VARCHAR")


def _as_shown(name: str, value: str | None) -> str | None:
    """A value that is being set, as SHOW has it afterwards."""
    if value is None or name not in quantities.UNITS:
        return value
    try:
        return quantities.shown(quantities.read(value, _UNITS[name]), _UNITS[name])
    except ValueError:
        return value  # the session says what is wrong with it


def _is_short(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and len(node.name) <= MOST_PUT


def _written_out(node: exp.Expr) -> exp.Expr | None:
    """The constant that an argument is, NULL among them; None if it is none."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    return node if isinstance(node, exp.Literal | exp.Null) else None


def _number(version: str) -> str:
    """A version as `server_version_num` has it: 15.2 is 150002."""
    major, _, minor = version.partition(".")
    return f"{major}{int(minor) if minor.isdecimal() else 0:04d}"


def _array(node: exp.Expr) -> exp.Expr:
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Query):
        raise not_imitated("this array")
    return exp.Array(expressions=[node.expressions[0]])


def _format(node: exp.Expr) -> exp.Expr:
    """format() with a text that is written out, as the texts that it joins."""
    pattern, values = node.expressions[0] if node.expressions else None, node.expressions[1:]
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or len(pattern.name) > MOST_FORMAT:
        raise not_imitated("format() of anything but a written text")
    made: list[exp.Expr] = []
    left = list(values)
    for piece in _PLACES.split(pattern.name):
        if piece in ("%s", "%I", "%L"):
            if not left:
                raise CatalogueError("too few arguments for format()", "22023")
            value = shown_as_text(left.pop(0))
            if piece == "%s":
                made.append(call("coalesce", bounded(typed(value, "VARCHAR")), exp.Literal.string("")))
            else:
                made.append(call("cae_quote_ident" if piece == "%I" else "cae_quote_nullable", value))
        elif piece == "%%":
            made.append(exp.Literal.string("%"))
        elif "%" in piece:
            raise not_imitated("this format()")
        elif piece:
            made.append(exp.Literal.string(piece))
    if len(made) > MOST_FORMAT:
        raise not_imitated("so long a format()")
    return call("concat", *made) if made else exp.Literal.string("")


def _row_to_json(node: exp.Expr) -> exp.Expr:
    """row_to_json() of a subquery whose columns are written out."""
    argument = node.expressions[0] if len(node.expressions) == 1 else None
    select = node.find_ancestor(exp.Select)
    from_ = select.args.get("from_") if select is not None else None
    row = from_.this if from_ is not None else None
    if (
        not isinstance(argument, exp.Column)
        or not isinstance(row, exp.Subquery)
        or row.alias != argument.name
        or not isinstance(row.this, exp.Select)
        or len(row.this.expressions) > MOST_FORMAT
        or not all(isinstance(each, exp.Alias) for each in row.this.expressions)
    ):
        raise not_imitated("row_to_json() of anything but a subquery with named columns")
    for each in row.this.expressions:
        if not (isinstance(each.this, exp.Anonymous) and each.this.this == "cae_brief"):
            each.set("this", call("cae_brief", each.this))
    return call("to_json", argument)


def _to_char(node: exp.Expr) -> exp.Expr:
    """to_char() of a time, by a pattern that is written out."""
    if len(node.expressions) != 2:
        raise not_imitated("this to_char()")
    value, pattern = node.expressions
    if not isinstance(pattern, exp.Literal) or len(pattern.name) > MOST_FORMAT:
        raise not_imitated("to_char() by anything but a written text")
    if kind_of(value) not in ("timestamp", "timestamptz", "date"):
        raise not_imitated("to_char() of anything but a time")
    written = ""
    for piece in _TIME_PARTS.split(pattern.name):
        if piece in _TIMES:
            written += _TIMES[piece]
        elif any(letter.isalpha() for letter in piece):
            raise not_imitated("this pattern of to_char()")
        else:
            written += piece.replace("%", "%%")
    return call("strftime", typed(value, "TIMESTAMP"), exp.Literal.string(written))


def _spread(node: exp.Expr) -> exp.Expr:
    """A function that gives several rows, under the name that its column has."""
    name, arguments = str(node.this).lower(), node.expressions
    if name == "generate_series" and 2 <= len(arguments) <= 3:
        made = typed(call("cae_series", *arguments), "INTEGER[]")
    elif name == "generate_subscripts" and len(arguments) == 2:
        made = typed(subscripts(arguments[0]), "INTEGER[]")
    elif name == "unnest" and len(arguments) == 1:
        made = listed(arguments[0])
    elif name == "_pg_expandarray" and len(arguments) == 1:
        made = call("cae_expanded", arguments[0])
    elif name == "aclexplode" and len(arguments) == 1:
        made = call("cae_aclexplode", arguments[0])
    else:
        raise not_imitated(f"{name}() of this")
    spread = call("unnest", made)
    spread.meta["name"] = name
    return spread


_SPECIAL: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    "array": _array,
    "array_agg": lambda node: call("list", *node.expressions),
    "all": lambda node: node,
    "format": _format,
    "to_char": _to_char,
    "row_to_json": _row_to_json,
    **dict.fromkeys(
        ("unnest", "generate_series", "generate_subscripts", "_pg_expandarray", "aclexplode"), _spread
    ),
}
