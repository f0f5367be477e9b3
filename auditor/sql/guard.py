"""A second opinion on SQL that is about to run: DuckDB's own parser must see nothing but what may run.

Promises for text that passes: one SELECT; every function, operator and type is on the list of
`auditor.sql.pure` and stands with a number of arguments that the list has; every table is one of the
readable ones, of the named relations or a WITH query of the statement; everything else is a kind of node that
is listed here, and a kind or a part of one that DuckDB adds is refused. Knows no column: that is `names`' and
`kinds`'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import duckdb

from auditor.sql import macros, pure
from auditor.sql.instance import empty
from auditor.sql.patterns import WIDEST, is_bounded
from auditor.sql.shape import DATA
from auditor.sql.understood import NotUnderstood

Node = dict[str, Any]

# What lowering itself writes: the records of a group, and their weights by record.
_LOWERED = frozenset({"list"})
# Aggregates that may be told in which order they meet their rows.
_ORDERED = _LOWERED | {
    "array_agg", "string_agg", "group_concat", "listagg", "first", "last", "any_value", "arbitrary", "mode",
    "arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by", "arg_max_null", "arg_min_null",
}  # fmt: skip
_SERIES = frozenset({"range", "generate_series", "list_value"})
_QUANTILES = frozenset({"quantile_cont", "quantile_disc", "quantile"})
"""Take a list of constants as well as one."""
"""What UNNEST may make rows of."""
_PATTERNS = frozenset({"format", "printf"})
# Parts that say nothing about what runs.
_SILENT = frozenset({"alias", "query_location", "query_location_length", "class", "type"})
_EMPTY: tuple[object, ...] = (None, False, "", [], {})

_OPERATORS = frozenset(
    ["COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_COALESCE", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL",
     "OPERATOR_NOT", "GROUPING_FUNCTION"]
)  # fmt: skip
_COMPARISONS = frozenset(
    ["COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
     "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM",
     "COMPARE_NOT_DISTINCT_FROM"]
)  # fmt: skip
_FRAMES = frozenset(
    ["UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS",
     "CURRENT_ROW_GROUPS", "EXPR_PRECEDING_ROWS", "EXPR_FOLLOWING_ROWS", "EXPR_PRECEDING_RANGE",
     "EXPR_FOLLOWING_RANGE", "EXPR_PRECEDING_GROUPS", "EXPR_FOLLOWING_GROUPS"]
)  # fmt: skip
# Parts with a fixed vocabulary, by kind of node.
_WORDS: dict[str, dict[str, frozenset[object]]] = {
    "WINDOW": {"start": _FRAMES, "end": _FRAMES, "ignore_nulls": frozenset({True, False}),
               "has_ignore_nulls": frozenset({True, False}), "distinct": frozenset({False}),
               "exclude_clause": frozenset({"NO_OTHER", "CURRENT_ROW", "GROUP", "TIES"})},
    "SUBQUERY expression": {"subquery_type": frozenset({"ANY", "EXISTS", "NOT_EXISTS", "SCALAR"}),
                            "comparison_type": _COMPARISONS | {"INVALID"}},
    "CAST": {"try_cast": frozenset({True, False})},
    "SELECT_NODE": {"aggregate_handling": frozenset({"STANDARD_HANDLING", "FORCE_AGGREGATES"})},
    "SET_OPERATION_NODE": {"setop_type": frozenset({"UNION", "UNION_BY_NAME", "INTERSECT", "EXCEPT"}),
                           "setop_all": frozenset({True, False})},
    "JOIN": {"join_type": frozenset({"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"}),
             "ref_type": frozenset({"REGULAR", "CROSS"}), "is_implicit": frozenset({True, False}),
             "nearest_count": frozenset({1}), "nearest_order_type": frozenset({"ASCENDING"})},
    "LIMIT_MODIFIER": {"limit_type": frozenset({"ROW_COUNT", "PERCENTAGE"})},
    "ORDER": {"null_order": frozenset({"ORDER_DEFAULT", "NULLS FIRST", "NULLS LAST"})},
    "CTE": {"materialized": frozenset(
        {"CTE_MATERIALIZE_DEFAULT", "CTE_MATERIALIZE_ALWAYS", "CTE_MATERIALIZE_NEVER"})},
}  # fmt: skip
# Parts that hold one expression or nothing, and parts that hold a list of them.
_INSIDE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "BETWEEN": (("input", "lower", "upper"), ()),
    "CASE": (("else_expr",), ()),
    "CAST": (("child",), ()),
    "COMPARISON": (("left", "right"), ()),
    "CONJUNCTION": ((), ("children",)),
    "OPERATOR": ((), ("children",)),
    "FUNCTION": (("filter",), ()),
    "WINDOW": (("start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr"), ("partitions",)),
    "SUBQUERY expression": (("child",), ()),
    "SELECT_NODE": (("where_clause", "having", "qualify"), ("select_list", "group_expressions")),
    "JOIN": (("condition",), ()),
    "LIMIT_MODIFIER": (("limit", "offset"), ()),
    "DISTINCT_MODIFIER": ((), ("distinct_on_targets",)),
    "ORDER": (("expression",), ()),
}
_CONJUNCTIONS = frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR"})
_LITERALS = frozenset({"INTEGER", "NUMERIC", "STRING", "BOOLEAN", "NULL_LITERAL"})
_TYPES: dict[str, frozenset[str]] = {
    "BETWEEN": frozenset({"COMPARE_BETWEEN", "COMPARE_NOT_BETWEEN"}),
    "COMPARISON": _COMPARISONS,
    "CONJUNCTION": _CONJUNCTIONS,
    "OPERATOR": _OPERATORS,
}


class _Refused(Exception):
    """Says what does not fit, for whoever looks into it; `check` turns it into a fixed text."""


class _Parser:
    """DuckDB's parser, on the instance without tables."""

    def __init__(self) -> None:
        self._instance = empty()
        self.arities = {
            (entry.kind == "window", entry.name.lower()): entry.arities
            for entry in pure.ENTRIES
            if entry.kind != "type" and entry.name not in self._instance.withdrawn
        } | {(False, name): arities for name, arities in macros.ARITIES.items()}

    def tree(self, sql: str) -> Node:
        """The statement as DuckDB serialises it."""
        [(text,)] = self._instance.rows("SELECT json_serialize_sql($1::VARCHAR)", [sql])
        tree: Node = json.loads(text)
        return tree

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the instance's own catalogue says."""
        return self._instance.rows(sql)


@cache
def _parser() -> _Parser:
    return _Parser()


def check(sql: str, relations: Collection[str]) -> None:
    """Refuse text in which DuckDB's parser sees anything that is not listed.

    Args:
        sql: A statement that lowering generated.
        relations: Names of relations that it may read besides the readable tables, in `temp.main`.

    Raises:
        NotUnderstood: code "translation".
    """
    reason = refusal(sql, relations)
    if reason is not None:
        raise NotUnderstood("translation")


def tree(sql: str) -> Node:
    """What DuckDB's parser makes of a text; nothing that the text names needs to exist."""
    return _parser().tree(sql)


def catalogue(sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query of ours over the catalogue of the parser's instance."""
    return _parser().rows(sql)


def refusal(sql: str, relations: Collection[str]) -> str | None:
    """What does not fit, in the words of this module; None if everything does."""
    parser = _parser()
    try:
        found = parser.tree(sql)
        if found.get("error") or len(found.get("statements", ())) != 1:
            return "not one SELECT statement"
        _Walk(parser, frozenset(relations)).statement(found["statements"][0])
    except _Refused as refused:
        return str(refused)
    except (duckdb.Error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # A tree of another form than this release's is not understood either.
        return type(error).__name__
    return None


class _Walk:
    """Walks one statement; the WITH queries in scope are kept on the way."""

    def __init__(self, parser: _Parser, relations: frozenset[str]) -> None:
        self._parser = parser
        self._relations = relations
        self._ctes: list[frozenset[str]] = []
        self._expressions: dict[str, Callable[[Node], None]] = {
            "COLUMN_REF": self._column, "CONSTANT": self._constant, "FUNCTION": self._function,
            "WINDOW": self._window, "CASE": self._case, "CAST": self._cast, "SUBQUERY": self._scalar,
            "BETWEEN": self._typed, "COMPARISON": self._typed, "CONJUNCTION": self._typed,
            "OPERATOR": self._typed,
        }  # fmt: skip

    # --- queries

    def statement(self, node: Node) -> None:
        self._parts(node, "statement", {"node"})
        self._query(node["node"])

    def _query(self, node: Node) -> None:
        kind = node["type"]
        with self._scope(node["cte_map"]):
            for modifier in node["modifiers"]:
                self._modifier(modifier)
            if kind == "SELECT_NODE":
                self._parts(node, kind, {"cte_map", "modifiers", "from_table", "group_sets"})
                self._source(node["from_table"])
                if not all(isinstance(at, int) for group in node["group_sets"] for at in group):
                    raise _Refused("grouping sets")
            elif kind == "SET_OPERATION_NODE":
                self._parts(node, kind, {"cte_map", "modifiers", "children"})
                for child in node["children"]:
                    self._query(child)
            else:
                raise _Refused(f"query {kind}")

    @contextmanager
    def _scope(self, ctes: Node) -> Iterator[None]:
        depth = len(self._ctes)
        for each in ctes["map"]:
            self._parts(each["value"], "CTE", {"query_node"})
            # A WITH query sees those before it, not itself: no recursion.
            self._query(each["value"]["query_node"])
            self._ctes.append(frozenset({each["key"].lower()}))
        try:
            yield
        finally:
            del self._ctes[depth:]

    def _modifier(self, node: Node) -> None:
        kind = node["type"]
        if kind == "ORDER_MODIFIER":
            self._parts(node, kind, {"orders"})
            self._orders(node["orders"])
        elif kind == "LIMIT_MODIFIER" or kind == "DISTINCT_MODIFIER":
            self._parts(node, kind)
        else:
            raise _Refused(f"modifier {kind}")

    def _orders(self, orders: list[Node]) -> None:
        for order in orders:
            if order["expression"]["class"] == "STAR" and len(orders) == 1:
                # ORDER BY ALL
                self._parts(order["expression"], "STAR", {"columns"})
                self._parts({**order, "expression": None}, "ORDER")
                continue
            if order["type"] not in ("ORDER_DEFAULT", "ASCENDING", "DESCENDING"):
                raise _Refused("order")
            self._parts(order, "ORDER")

    def _source(self, node: Node) -> None:
        kind = node["type"]
        if kind == "BASE_TABLE":
            self._parts(node, kind, {"schema_name", "table_name", "catalog_name", "qualified_name"})
            self._table(node["catalog_name"], node["schema_name"], node["table_name"])
            path = [part for part in (node["catalog_name"], node["schema_name"]) if part]
            if node["qualified_name"] != {"path": [*path, node["table_name"]]}:
                raise _Refused("table path")
        elif kind == "JOIN":
            self._parts(node, kind, {"left", "right", "using_columns"})
            self._source(node["left"])
            self._source(node["right"])
        elif kind == "SUBQUERY":
            self._parts(node, kind, {"subquery"})
            self.statement(node["subquery"])
        elif kind == "EMPTY":
            self._parts(node, kind)
        else:
            raise _Refused(f"source {kind}")

    def _table(self, catalog: str, schema: str, name: str) -> None:
        if (catalog, schema) == ("", DATA):
            return
        if (catalog, schema) == ("temp", "main") and name in self._relations:
            return
        if (catalog, schema) == ("", "") and any(name.lower() in names for names in self._ctes):
            return
        raise _Refused(f"table {name}")

    # --- expressions

    def _expression(self, node: Node) -> None:
        kind = node["class"]
        rule = self._expressions.get(kind)
        if rule is None:
            raise _Refused(f"expression {kind}")
        rule(node)

    def _typed(self, node: Node) -> None:
        if node["type"] not in _TYPES[node["class"]]:
            raise _Refused(f"expression {node['type']}")
        if node["type"] == "COMPARE_IN":
            self._parts(node, "IN", {"children"})
            for child in node["children"]:
                self._pair(child)
        else:
            self._parts(node, node["class"])

    def _pair(self, node: Node) -> None:
        """`(a, b)` of `(a, b) IN ((1, 2), …)`, or an expression."""
        if node["class"] == "FUNCTION" and node["function_name"] == "row":
            self._parts(node, "FUNCTION", {"function_name", "arguments", "order_bys", "qualified_name"})
            self._inside(node)
        else:
            self._expression(node)

    def _column(self, node: Node) -> None:
        self._parts(node, "COLUMN_REF", {"column_names"})
        names = node["column_names"]
        if not names or not all(isinstance(name, str) for name in names):
            raise _Refused("column")
        if len(names) == 1 and names[0].lower() in pure.value_functions:
            raise _Refused(f"{names[0]} without a table")

    def _constant(self, node: Node) -> None:
        self._parts(node, "CONSTANT", {"literal"})
        literal = node["literal"]
        if set(literal) - {"kind", "text"} or literal["kind"] not in _LITERALS:
            raise _Refused(f"literal {literal['kind']}")

    def _function(self, node: Node) -> None:
        self._parts(
            node,
            "FUNCTION",
            {"function_name", "is_operator", "distinct", "arguments", "order_bys", "qualified_name"},
        )
        if node["order_bys"] != {"type": "ORDER_MODIFIER", "orders": []}:
            if node["function_name"].lower() not in _ORDERED:
                raise _Refused("ORDER BY in a function")
            if any(order["expression"]["class"] == "STAR" for order in node["order_bys"]["orders"]):
                raise _Refused("ORDER BY in a function")
            self._modifier(node["order_bys"])
        self._arguments(node, window=False)

    def _window(self, node: Node) -> None:
        self._parts(node, "WINDOW", {"function_name", "arguments", "orders", "qualified_name"})
        self._orders(node["orders"])
        self._arguments(node, window=True)

    def _rows(self, node: Node) -> None:
        """`UNNEST` of a series or a list in which nothing is read."""
        (given,) = node["arguments"]
        self._written_out(given, _SERIES)

    def _written_out(self, given: Node, names: frozenset[str]) -> None:
        """A series or a list in which nothing is read."""
        inner = given["expression"]
        if given["name"] or inner["class"] != "FUNCTION" or inner["function_name"].lower() not in names:
            raise _Refused("unnest")
        parts = {"function_name", "is_operator", "arguments", "order_bys", "qualified_name"}
        self._parts(inner, "FUNCTION", parts)
        written = json.dumps(inner)
        if '"COLUMN_REF"' in written or '"SUBQUERY"' in written or inner["order_bys"]["orders"]:
            raise _Refused("unnest")
        self._inside(inner)

    def _arguments(self, node: Node, window: bool) -> None:
        name = node["function_name"].lower()
        if name == "unnest" and not window and node["qualified_name"] == {"path": [node["function_name"]]}:
            self._rows(node)
            return
        if node["qualified_name"] != {"path": [node["function_name"]]}:
            raise _Refused(f"path of {name}")
        listed = node["arguments"][1:]
        if name in _QUANTILES and not window and [_called(each) for each in listed] == ["list_value"]:
            self._written_out(listed[0], frozenset({"list_value"}))
            self._expression(node["arguments"][0]["expression"])
            return
        arguments = self._inside(node)
        if name in _LOWERED and not window:
            if len(arguments) != 1:
                raise _Refused(name)
            return
        arities = self._parser.arities.get((False, name), ())
        if window and (True, name) in self._parser.arities:
            # LAG and NTH_VALUE take their further arguments or leave them out.
            most = max(most for _, most in self._parser.arities[True, name])
            arities = ((0, most),)
        if not any(least <= len(arguments) <= most for least, most in arities):
            raise _Refused(f"{name} with {len(arguments)} arguments")
        if name in pure.short_texts:
            self._padding(name, arguments[pure.short_texts[name]]["expression"])
        if name == "bar" and len(arguments) > 3:
            self._padding(name, arguments[3]["expression"])
        if name in _PATTERNS:
            literal = arguments[0]["expression"].get("literal", {})
            if literal.get("kind") != "STRING" or not is_bounded(literal["text"]):
                raise _Refused(f"pattern of {name}")

    def _inside(self, node: Node) -> list[Node]:
        for argument in node["arguments"]:
            if set(argument) != {"name", "expression"} or argument["name"]:
                raise _Refused("named argument")
            self._expression(argument["expression"])
        return list(node["arguments"])

    def _padding(self, name: str, length: Node) -> None:
        text = length["literal"]["text"] if length["class"] == "CONSTANT" else ""
        if not (text.isascii() and text.isdigit() and int(text[:9]) <= WIDEST and len(text) < 9):
            raise _Refused(f"length of {name}")

    def _case(self, node: Node) -> None:
        if node["type"] != "CASE_EXPR":
            raise _Refused(f"expression {node['type']}")
        self._parts(node, "CASE", {"case_checks"})
        for check_ in node["case_checks"]:
            if set(check_) != {"when_expr", "then_expr"}:
                raise _Refused("CASE")
            self._expression(check_["when_expr"])
            self._expression(check_["then_expr"])

    def _cast(self, node: Node) -> None:
        if node["type"] != "OPERATOR_CAST":
            raise _Refused(f"expression {node['type']}")
        self._parts(node, "CAST", {"type_expr"})
        type_ = node["type_expr"]
        self._parts(type_, "TYPE", {"type_name", "children", "qualified_name"})
        name = type_["type_name"]
        plain = type_["class"] == "TYPE" and type_["qualified_name"] == {"path": [name]}
        if not plain or name.lower() not in pure.types:
            raise _Refused(f"type {name}")
        for child in type_["children"]:
            if child["class"] != "CONSTANT":
                raise _Refused(f"type {name}")
            self._constant(child)

    def _scalar(self, node: Node) -> None:
        self._parts({**node, "child": None}, "SUBQUERY expression", {"subquery"})
        if node["child"] is not None:
            # `(a, b) IN (SELECT …)`
            self._pair(node["child"])
        self.statement(node["subquery"])

    # --- every node

    def _parts(self, node: Node, kind: str, handled: Collection[str] = ()) -> None:
        """Every part of a node is silent, empty, handled by the caller, a listed word or an expression."""
        words = _WORDS.get(kind, {})
        single, several = _INSIDE.get(kind, ((), ()))
        for part, value in node.items():
            if part in single:
                if value is not None:
                    self._expression(value)
            elif part in several:
                for each in value:
                    self._expression(each)
            elif part in words:
                if value not in words[part]:
                    raise _Refused(f"{part} of {kind}")
            elif part not in handled and part not in _SILENT and value not in _EMPTY:
                raise _Refused(f"{part} of {kind}")


def _called(argument: Node) -> str:
    """The function that an argument is a call of; empty where it is none."""
    return str(argument["expression"].get("function_name", "")).lower()
