"""Whether two texts are one statement to DuckDB: a text, and what was understood of it written out.

Promises that where `same` says yes DuckDB's parser makes one tree of both, up to the differences that are
written down here: each is another spelling of the same, by DuckDB's own catalogue or by its grammar. What is
not known to be a spelling is a difference. Compares trees before names are resolved; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import duckdb

from auditor.sql import guard, pure
from auditor.sql.guard import Node

# Where in the text a node stands, and whether an operator or a call was written, changes nothing.
_SILENT = frozenset({"query_location", "query_location_length", "is_operator", "named_param_map"})
# Functions that DuckDB registers under several names without saying so in its catalogue, or as macros.
_SPELLINGS = {
    "datediff": "date_diff", "datepart": "date_part", "datesub": "date_sub", "datetrunc": "date_trunc",
}  # fmt: skip
_PARTS = frozenset({"date_part", "date_trunc", "date_diff", "date_sub"})
"""Functions whose first argument is the name of a part of a date, in any case."""
_PART_NAMES = {"DOW": "DAYOFWEEK", "DOY": "DAYOFYEAR"}
"""Names of parts that the parser writes in another way: DuckDB has both for the same part."""
_VALUES = "_values"
_SPAN = re.compile(r"([+-]?\d{1,9}) (year|month|week|day|hour|minute|second)s?", re.IGNORECASE)
"""A text that is one number of one unit: INTERVAL '1 month' is the same as INTERVAL '1' MONTH."""
_MOMENTS = {
    "today": "current_date",
    "current_localtimestamp": "localtimestamp",
    **{each: each for each in ("current_date", "current_timestamp")},
}
"""What reads the clock, and how it is written without parentheses."""
_OF_TRUTH = frozenset({"bool_and", "bool_or"})
"""Aggregates of BOOLEAN alone: a cast to it changes nothing where the call is valid."""
_QUANTILES = frozenset({"quantile_cont", "quantile_disc"})
"""Of which the order is that of the argument: WITHIN GROUP has it there alone."""
_NEGATED = {
    "OPERATOR_IS_NULL": "OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NOT_NULL": "OPERATOR_IS_NULL",
    "COMPARE_IN": "COMPARE_NOT_IN", "COMPARE_BETWEEN": "COMPARE_NOT_BETWEEN",
    "COMPARE_DISTINCT_FROM": "COMPARE_NOT_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM": "COMPARE_DISTINCT_FROM",
}  # fmt: skip
# DuckDB's defaults, which no client can change.
_DEFAULTS = {("type", "ASCENDING"): "ORDER_DEFAULT", ("null_order", "NULLS LAST"): "ORDER_DEFAULT"}
_EXACT_DIGITS = 15
"""Whole numbers of so many digits are the same DOUBLE whether read as a number or as a text."""


@lru_cache(maxsize=256)
def same(text: str, written: str) -> bool:
    """Whether DuckDB reads two texts as one SELECT."""
    try:
        trees = [guard.tree(each) for each in (text, written)]
        if any(tree.get("error") or len(tree.get("statements", ())) != 1 for tree in trees):
            return False
        left, right = (_bare(tree["statements"][0]) for tree in trees)
        if left == right:
            return True  # as nearly always: nobody has to know other spellings
        left, right = _plain(left), _plain(right)
    except (duckdb.Error, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        # a tree of another form than this release's is not compared
        return False
    return bool(left == right)


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, str], dict[str, str]]:
    """DuckDB's own table of functions that are another's alias, and of names of types."""
    # of the instance that is there anyway: DuckDB ends the process where it cannot open another
    functions = guard.catalogue(
        "SELECT DISTINCT lower(function_name), lower(alias_of) FROM duckdb_functions() "
        "WHERE alias_of IS NOT NULL"
    )
    types = guard.catalogue(
        "SELECT DISTINCT lower(type_name), lower(logical_type) FROM duckdb_types() "
        "WHERE lower(type_name) <> 'json'"
    )
    aliases = {str(name): str(of) for name, of in functions}
    return aliases | _SPELLINGS, {str(name): str(of) for name, of in types} | {"text": "varchar"}


def _bare(node: Any) -> Any:
    """A tree without what changes nothing, and with DuckDB's defaults as such."""
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        part: _DEFAULTS.get((part, value), value) if isinstance(value, str) else _bare(value)
        for part, value in node.items()
        if part not in _SILENT
    }


def _plain(node: Any) -> Any:
    """A bare tree with every part written in one way."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    plain = {part: _plain(value) for part, value in node.items()}
    if plain.get("type") == "SUBQUERY" and plain.get("alias") == _VALUES:
        # VALUES of a WITH query, which the parser reads as SELECT * FROM (VALUES …) of this name
        inner = plain["subquery"]["node"]["from_table"]
        if inner["type"] == "EXPRESSION_LIST":
            return inner
    rule = _RULES.get(plain.get("class", ""))
    return plain if rule is None else rule(plain)


def _function(node: Node) -> Node:
    aliases, _ = _names()
    name = node["function_name"].lower()
    if node["qualified_name"] == {"path": [node["function_name"]]}:
        name = aliases.get(name, name)
        node["function_name"], node["qualified_name"] = name, None
    values = [each["expression"] for each in node["arguments"]]
    if any(each["name"] for each in node["arguments"]):
        return node
    if name in _MOMENTS and not values:
        return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": node["alias"],
                "column_names": [_MOMENTS[name]]}  # fmt: skip
    if name in _PARTS and values and values[0].get("literal", {}).get("kind") == "STRING":
        literal = values[0]["literal"]
        part = literal["text"].upper()
        literal["text"] = _PART_NAMES.get(part, part)
    if name in _QUANTILES:
        _order_by_argument(node)
    if name in ("range", "generate_series") and len(values) == 1:
        node["arguments"] = [{"name": "", "expression": _whole("0")}, *node["arguments"]]
    if name == "string_agg" and len(values) == 1:
        node["arguments"] = [*node["arguments"], {"name": "", "expression": _comma()}]
    if name in _OF_TRUTH and len(values) == 1 and _is_cast(values[0], "boolean"):
        node["arguments"][0]["expression"] = values[0]["child"]
    if name == "+" and len(values) == 1 and not _may_be_null(values[0]):
        # of a number it changes nothing, and of anything else it is an error
        return {**values[0], "alias": node["alias"]}
    if name == "contains" and len(values) == 2 and _are_constants(values[0]):
        # x IN ['a', 'b'], which is written x IN ('a', 'b'): alike where no element is NULL
        members = [each["expression"] for each in values[0]["arguments"]]
        return {"class": "OPERATOR", "type": "COMPARE_IN", "alias": node["alias"],
                "children": [values[1], *members]}  # fmt: skip
    if name == "if" and len(values) == 3:
        # a macro of DuckDB
        checks = [{"when_expr": values[0], "then_expr": values[1]}]
        return {"class": "CASE", "type": "CASE_EXPR", "alias": node["alias"], "case_checks": checks,
                "else_expr": values[2]}  # fmt: skip
    return node


def _named(node: Node) -> Node:
    """What reads the clock is written in any case."""
    names = node["column_names"]
    if len(names) == 1 and names[0].lower() in pure.value_functions:
        return {**node, "column_names": [names[0].lower()]}
    return node


def _order_by_argument(node: Node) -> None:
    """Write `QUANTILE_CONT(p) WITHIN GROUP (ORDER BY x)` and `(x, p ORDER BY x)` without an order."""
    arguments, orders = node["arguments"], node["order_bys"]["orders"]
    if len(orders) != 1 or {orders[0]["type"], orders[0]["null_order"]} != {"ORDER_DEFAULT"}:
        return
    ordered = orders[0]["expression"]
    if len(arguments) == 1:
        node["arguments"] = [{"name": "", "expression": ordered}, *arguments]
    elif len(arguments) != 2 or arguments[0]["expression"] != ordered:
        return
    node["order_bys"]["orders"] = []


def _are_constants(value: Node) -> bool:
    """Whether a value is a list of constants, none of them NULL."""
    if value.get("function_name") != "list_value" or not value["arguments"]:
        return False
    return all(
        not each["name"] and each["expression"].get("literal", {}).get("kind") in ("STRING", "INTEGER")
        for each in value["arguments"]
    )


def _may_be_null(value: Node) -> bool:
    """Whether a sign `+` could make a number of a bare NULL."""
    return bool(value["class"] == "PARAMETER" or value.get("literal", {}).get("kind") == "NULL_LITERAL")


def _is_cast(value: Node, type_: str) -> bool:
    cast = value["class"] == "CAST" and not value["try_cast"]
    return bool(cast and value["type_expr"].get("type_name") == type_)


def _cast(node: Node) -> Node:
    literal = node["child"].get("literal", {})
    digits = literal.get("text", "").removeprefix("-")
    span = _SPAN.fullmatch(literal.get("text", "")) if literal.get("kind") == "STRING" else None
    if _is_cast(node, "interval") and span is not None:
        # as the parser writes it: INTERVAL '1' MONTH
        return {**_span(span[1], span[2].upper()), "alias": node["alias"]}
    short = digits.isascii() and digits.isdigit() and len(digits) <= _EXACT_DIGITS
    if _is_cast(node, "double") and literal.get("kind") in ("INTEGER", "STRING") and short:
        # the number of an INTERVAL, which may be written as a text
        literal["kind"] = "STRING"
    return node


@lru_cache(maxsize=64)
def _span(number: str, unit: str) -> Node:
    """What DuckDB makes of INTERVAL 'number' UNIT."""
    statement = _bare(guard.tree(f"SELECT INTERVAL '{number}' {unit}")["statements"][0])
    found: Node = _plain(statement["node"]["select_list"][0])
    return found


def _type(node: Node) -> Node:
    _, types = _names()
    if node["qualified_name"] != {"path": [node["type_name"]]}:
        return node
    name = types.get(node["type_name"].lower(), node["type_name"].lower())
    node["type_name"], node["qualified_name"] = name, None
    if name == "varchar":
        node["children"] = []  # a length is read over
    elif name == "decimal" and not node["children"]:
        node["children"] = [_whole("18"), _whole("3")]
    elif name == "decimal" and len(node["children"]) == 1:
        node["children"] = [*node["children"], _whole("0")]
    return node


def _comma() -> Node:
    """What STRING_AGG puts between texts unless it is told."""
    return {**_whole(","), "literal": {"kind": "STRING", "text": ","}}


def _whole(text: str) -> Node:
    literal = {"kind": "INTEGER", "text": text}
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": literal}


def _operator(node: Node) -> Node:
    if node["type"] == "OPERATOR_NOT":
        (child,) = node["children"]
        if child["type"] in _NEGATED:
            return {**child, "type": _NEGATED[child["type"]], "alias": node["alias"]}
    return node


def _conjunction(node: Node) -> Node:
    children: list[Node] = []
    for child in node["children"]:
        children += child["children"] if child["type"] == node["type"] else [child]
    return {**node, "children": children}


_RULES: dict[str, Callable[[Node], Node]] = {
    "COLUMN_REF": _named, "FUNCTION": _function, "CAST": _cast, "TYPE": _type, "OPERATOR": _operator,
    "CONJUNCTION": _conjunction,
}  # fmt: skip
