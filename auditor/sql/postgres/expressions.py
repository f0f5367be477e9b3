"""One expression after another, from PostgreSQL's tree to DuckDB's text: what is in no table is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from auditor.sql.postgres import (
    aggregates,
    casts,
    comparisons,
    functions,
    looker,
    moments,
    numbers,
    patterns,
    texts,
    types,
    zones,
)
from auditor.sql.postgres.scopes import Output, Scope, name_of
from auditor.sql.postgres.values import (
    ADDED,
    AND,
    ATOM,
    COMPARED,
    NOT,
    NULL,
    OR,
    OTHER,
    SIGNED,
    Value,
    no_operator,
    number,
    quoted_text,
    refuse,
)
from auditor.sql.rules.classify import clause_name
from auditor.sql.statement import ENDS
from auditor.sql.understood import NotUnderstood

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
}  # fmt: skip
_CLAUSE_CODES = {
    "sample": "sample", "pivots": "pivot", "laterals": "lateral",
    "into": "into", "recursive": "recursive", "columns": "alias-columns", "method": "join-kind",
}  # fmt: skip


def only(node: exp.Expr, *clauses: str) -> None:
    """Refuse a node with a clause that is not among those."""
    for clause, value in node.args.items():
        if clause not in clauses and value is not None and value is not False and value != []:
            raise NotUnderstood(_CLAUSE_CODES.get(clause, "construct"), name=clause_name(clause))


class Expressions:
    """Translates the expressions of one SELECT."""

    def __init__(self, scope: Scope, query: Callable[..., Output]) -> None:
        self.scope = scope
        self._query = query

    def value(self, node: exp.Expr) -> Value:
        """Any expression."""
        before = len(self.scope.far)
        made = self._value(node)
        if len(self.scope.far) > before and made.kind in (*moments.MOMENTS, zones.KIND):
            return replace(made, far=True)
        return made

    def _value(self, node: exp.Expr) -> Value:
        if isinstance(node, exp.Anonymous):
            return self._call(node)
        operator = _OPERATORS.get(type(node))
        if operator is not None and isinstance(node, exp.Binary):
            return self._binary(node, operator)
        translate = _NODES.get(type(node))
        if translate is None:
            raise _unknown(node)
        return translate(self, node)

    def condition(self, node: exp.Expr) -> Value:
        """An expression that must be boolean: DuckDB would take numbers and texts too."""
        value = casts.typed(self.value(node), "bool")
        if value.kind != "bool":
            raise no_operator(value)
        return value

    def selected(self, node: exp.Expr) -> str:
        """The condition of WHERE, HAVING or ON.

        A conjunct such as `CASE WHEN i <> 3 THEN 'a' END LIKE 'a%'`, of a derived table too, lets rows
        through in DuckDB 2.0 for which it is NULL; with IS TRUE it does not.
        """
        conjuncts = list(node.flatten()) if isinstance(node, exp.And) else [node]
        texts = []
        for conjunct in conjuncts:
            self.scope.computed_text = False
            value = self.condition(conjunct)
            plain = isinstance(conjunct.unnest(), exp.EQ | exp.NEQ | exp.GT | exp.LT | exp.GTE | exp.LTE)
            if "CASE " in value.text or (self.scope.computed_text and not plain):
                value = Value(f"{value.at(OTHER)} IS TRUE", "bool", COMPARED)
            texts.append(value.at(NOT) if len(conjuncts) > 1 else value.text)
        return " AND ".join(texts)

    def subquery(self, node: exp.Expr, wanted: list[Value] | None = None) -> Output:
        """A query inside an expression, which may refer to this one's columns."""
        inner = node.this if isinstance(node, exp.Subquery) else node
        scope = self.scope.inside()
        return self._query(inner, scope, None, wanted)

    def _compared_to_rows(self, left: Value, operator: str, query: exp.Expr) -> tuple[Value, Output]:
        """A value and a query of one column, as kinds that DuckDB compares as PostgreSQL does."""
        right = _single(self.subquery(query))
        comparisons.compared(left, operator, right)
        if left.kind == "parameter" or right.kind == "parameter":
            raise no_operator(left, right)
        kind, (left, right) = functions.unify(left, right)
        if "float4" in (left.kind, right.kind):
            raise refuse("real beside a subquery", "Cast to double precision.")
        fit = functions.like("", kind, left, right)
        return functions.fitted(left, kind, fit.scale), self.subquery(query, [fit])

    def _call(self, node: exp.Anonymous) -> Value:
        only(node, "this", "expressions")
        name = name_of(node.this) if isinstance(node.this, exp.Identifier) else str(node.this).lower()
        if name == "array_to_string" and len(node.expressions) == 2:
            return self._put_together(*node.expressions)
        if aggregates.is_aggregate(name):
            return aggregates.aggregate(self, name, node.expressions, None)
        if name.upper() in ENDS:
            return aggregates.end(self, name.upper(), node.expressions)
        if name in aggregates.WINDOWS:
            raise refuse(f"{name} without OVER")
        if name in ("array", "row"):
            raise NotUnderstood("nested-type")
        if name == "grouping":
            return Value(f"GROUPING({', '.join(self.value(each).text for each in node.expressions)})", "int4")
        return functions.call(name, [self.value(each) for each in node.expressions])

    def _put_together(self, array: exp.Expr, separator: exp.Expr) -> Value:
        """`array_to_string(array_agg(x), ',')`: string_agg, but for an empty text where all are NULL."""
        call, condition = array, None
        if isinstance(array, exp.Filter):
            call, condition = array.this, array.expression.this
        if not isinstance(call, exp.Anonymous) or str(call.name).lower() != "array_agg":
            raise NotUnderstood("nested-type")
        arguments = [each.copy() for each in call.expressions]
        if (
            len(arguments) == 1
            and isinstance(arguments[0], exp.Order)
            and not isinstance(arguments[0].this, exp.Distinct)
        ):
            order = arguments[0]
            arguments = [order.this, exp.Order(this=separator.copy(), expressions=order.expressions)]
        elif len(arguments) == 1 and not isinstance(arguments[0], exp.Order | exp.Distinct):
            arguments.append(separator.copy())
        else:
            raise NotUnderstood("nested-type")
        if self.value(arguments[0]).is_null:
            raise no_operator(self.value(arguments[0]))
        if casts.typed(self.value(separator), "text").literal is None:
            raise refuse("array_to_string by a separator that is not written out", "Write it.")
        made = aggregates.aggregate(self, "string_agg", arguments, condition)
        rows = aggregates.aggregate(self, "count", [exp.Star()], condition)
        return Value(f"CASE WHEN {rows.text} > 0 THEN COALESCE({made.text}, '') END", "text")

    def _binary(self, node: exp.Binary, operator: str) -> Value:
        only(node, "this", "expression", "typed", "safe")
        once = looker.difference(node)
        if once is not None:
            return self._each_once(*once)
        rows = _row(node.this), _row(node.expression)
        if rows[0] is not None and rows[1] is not None:
            values = [[self.value(each) for each in row] for row in rows if row is not None]
            return comparisons.of_rows(values[0], values[1], operator)
        left, right = self.value(node.this), node.expression
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(
                left, operator, "ANY" if isinstance(right, exp.Any) else "ALL", right.this
            )
        if isinstance(right, exp.Anonymous) and right.name.upper() in ("ALL", "SOME") and right.expressions:
            word = "ALL" if right.name.upper() == "ALL" else "ANY"
            return self._quantified(left, operator, word, right.expressions[0])
        other = self.value(right)
        if operator not in ("+", "-", "*", "/", "%"):
            return comparisons.compared(left, operator, other)
        left, other = comparisons.beside(left, other)
        moment = moments.arithmetic(operator, left, other)
        return moment if moment is not None else numbers.arithmetic(operator, left, other)

    def _each_once(self, node: exp.Expr, floor: bool, key: exp.Column) -> Value:
        """A sum in which each record counts once, however often a join repeats it."""
        inner = self.value(node).text
        value = f"CAST(FLOOR({inner}) AS DECIMAL(38, 0))" if floor else inner
        hashed = f"CAST(HASH({self.value(key).text}) AS DECIMAL(38, 0))"
        text = f"(SUM(DISTINCT {value} + {hashed}) - SUM(DISTINCT {hashed}))"
        return Value(text, "numeric", scale=0 if floor else None)

    def _quantified(self, left: Value, operator: str, word: str, node: exp.Expr) -> Value:
        inner = node.unnest() if isinstance(node, exp.Paren) else node
        if (operator, word) in (("=", "ANY"), ("<>", "ALL")):
            items = self._elements(inner)
            if items is not None:
                return comparisons.listed(left, items, negate=word == "ALL")
        if not isinstance(inner, exp.Query):
            raise NotUnderstood("nested-type")
        left, output = self._compared_to_rows(left, operator, inner)
        return Value(f"{left.at(OTHER)} {operator} {word} ({output.text})", "bool", COMPARED)

    def _elements(self, node: exp.Expr) -> list[Value] | None:
        """The elements of an array that is written out: ARRAY[1, 2], '{1,2}' or either with a type."""
        if isinstance(node, exp.Cast) and node.args["to"].this == exp.DType.ARRAY:
            kind, parameters = types.type_of(node.args["to"].expressions[0])
            items = self._elements(node.this)
            return None if items is None else [casts.converted(item, kind, parameters) for item in items]
        if isinstance(node, exp.Array):
            return [self.value(each) for each in node.expressions] or None
        if isinstance(node, exp.Literal) and node.args.get("is_string"):
            return patterns.elements(node.name)
        return None


def _row(node: exp.Expr) -> list[exp.Expr] | None:
    """The values of a row, `(a, b)` or `ROW(a, b)`."""
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "row":
        return list(node.expressions) or None
    return list(node.expressions) if isinstance(node, exp.Tuple) else None


def _single(output: Output) -> Value:
    if len(output.columns) != 1:
        raise refuse("a subquery with several columns in an expression", "Select one column.")
    return replace(output.columns[0][1], bare=False)


_NESTED = (exp.Array, exp.Bracket, exp.Struct, exp.Dot, exp.Map, exp.Tuple)


def _unknown(node: exp.Expr) -> NotUnderstood:
    name = type(node).__name__
    if isinstance(node, _NESTED):
        return NotUnderstood("nested-type")
    if name.startswith(("Current", "Local", "Session")):
        return NotUnderstood("volatile", name=node.sql_name() if isinstance(node, exp.Func) else name.upper())
    if isinstance(node, exp.IgnoreNulls):
        return NotUnderstood("aggregate", name=name.upper())
    if isinstance(node, exp.Func) and not isinstance(node, exp.Collate):
        return NotUnderstood("function", name=node.sql_name())
    return NotUnderstood("construct", name=name.upper())


def _column(self: Expressions, node: exp.Expr) -> Value:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise NotUnderstood("star")
    return self.scope.resolve(node)


def _literal(_: Expressions, node: exp.Expr) -> Value:
    if node.args.get("is_string"):
        return Value(quoted_text(node.name), "unknown", literal=node.name)
    return number(node.name)


def parameter(node: exp.Expr) -> Value:
    """`$1` or `$name`: of the type that its value has."""
    inner = node.this
    name = inner.name if isinstance(inner, exp.Expr) else str(inner or "")
    if not name or node.expression:
        raise NotUnderstood("parameters", detail="a parameter has no number")
    return Value(f"${name}", "parameter")


def _connected(self: Expressions, node: exp.Expr) -> Value:
    word, level = ("AND", AND) if isinstance(node, exp.And) else ("OR", OR)
    parts = []
    # Flat: a chain of a thousand conditions is as deep as it is long in the tree.
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if type(each) is type(node):
            waiting += [each.args["expression"], each.this]
        else:
            parts.append(self.condition(each).at(level + 1))
    return Value(f" {word} ".join(parts), "bool", level)


def _not(self: Expressions, node: exp.Expr) -> Value:
    return Value(f"NOT {self.condition(node.this).at(NOT + 1)}", "bool", NOT)


def _negative(self: Expressions, node: exp.Expr) -> Value:
    value = self.value(node.this)
    if value.kind == "interval":
        return Value(f"-{value.at(ATOM)}", "interval", SIGNED)
    return numbers.negated(value)


def _paren(self: Expressions, node: exp.Expr) -> Value:
    # Parentheses are written anew where they are needed; a column in them has its own name still.
    return self.value(node.this)


def _is(self: Expressions, node: exp.Expr) -> Value:
    word = "IS NOT" if node.args.get("negate") else "IS"
    if isinstance(node.expression, exp.Boolean):
        value = self.condition(node.this)
        return Value(
            f"{value.at(OTHER)} {word} {'TRUE' if node.expression.this else 'FALSE'}", "bool", COMPARED
        )
    if not isinstance(node.expression, exp.Null):
        raise NotUnderstood("construct", name="This IS")
    return Value(f"{self.value(node.this).at(OTHER)} {word} NULL", "bool", COMPARED)


def _in(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "expressions", "query")
    query = node.args.get("query")
    row = _row(node.this)
    if row is not None and query is None:
        return _row_in(self, row, node.expressions)
    left = self.value(node.this)
    if query is None and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        rows = [each.expressions for each in node.expressions[0].expressions]
        if all(len(row) == 1 for row in rows):
            return comparisons.listed(left, [self.value(row[0]) for row in rows], negate=False)
    if query is None:
        return comparisons.listed(left, [self.value(each) for each in node.expressions], negate=False)
    left, output = self._compared_to_rows(left, "=", query)
    return Value(f"{left.at(OTHER)} IN ({output.text})", "bool", COMPARED)


def _row_in(self: Expressions, row: list[exp.Expr], listed: list[exp.Expr]) -> Value:
    """`(a, b) IN ((1, 2), (3, 4))`: one of several rows is equal."""
    rows = [_row(each) for each in listed]
    left = [self.value(each) for each in row]
    tests = [
        comparisons.of_rows(left, [self.value(each) for each in other], "=")
        for other in rows if other is not None
    ]  # fmt: skip
    if len(tests) != len(rows):
        raise NotUnderstood("nested-type")
    return Value(" OR ".join(test.at(AND) for test in tests), "bool", OR) if len(tests) > 1 else tests[0]


def _between(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "low", "high", "negate", "symmetric")
    value, low, high = (self.value(node.args[each]) for each in ("this", "low", "high"))
    negate = bool(node.args.get("negate"))
    one = comparisons.between(value, low, high, negate)
    if not node.args.get("symmetric"):
        return one
    other = comparisons.between(value, high, low, negate)
    word, level = ("AND", AND) if negate else ("OR", OR)
    return Value(f"{one.at(level + 1)} {word} {other.at(level + 1)}", "bool", level)


def _overlay(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "expression", "from_", "for_")
    start, length = node.args["from_"], node.args.get("for_")
    return texts.overlaid(
        self.value(node.this),
        self.value(node.expression),
        functions.constant(self.value(start)),
        None if length is None else functions.constant(self.value(length)),
    )


def _case(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "ifs", "default")
    subject = casts.typed(self.value(node.this), "text") if node.this else None
    tests, results = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            tests.append(self.condition(branch.this).text)
        else:
            tests.append(comparisons.compared(subject, "=", self.value(branch.this)).text)
        results.append(self.value(branch.args["true"]))
    if node.args.get("default") is not None:
        results.append(self.value(node.args["default"]))
    kind, parts = functions.unify(*results)
    written = "".join(f" WHEN {test} THEN {part.text}" for test, part in zip(tests, parts, strict=False))
    if len(parts) > len(tests):
        written += f" ELSE {parts[-1].text}"
    return functions.like(f"CASE{written} END", kind, *parts)


def _exists(self: Expressions, node: exp.Expr) -> Value:
    return Value(f"EXISTS ({self.subquery(node.this).text})", "bool")


def _scalar(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this")
    output = self.subquery(node)
    # dividend and divisor of a mean mean something inside alone
    return replace(_single(output), text=f"({output.text})", level=ATOM, ratio=None)


def _cast(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "to")
    kind, parameters = types.type_of(node.args["to"])
    return casts.converted(self.value(node.this), kind, parameters)


def _interval(_: Expressions, node: exp.Expr) -> Value:
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        raise refuse("this form of INTERVAL", "Write INTERVAL '1 day'.")
    if not isinstance(node.this, exp.Literal):
        raise refuse("this form of INTERVAL", "Write INTERVAL '1 day'.")
    made = casts.interval(node.this.name + (f" {unit.name}" if unit is not None else ""))
    if made is None:
        raise refuse("this form of INTERVAL", "Write INTERVAL '1 day', with whole numbers.")
    return made


def _extract(self: Expressions, node: exp.Expr) -> Value:
    return moments.extracted(node.this.name, self.value(node.expression))


def _substring(self: Expressions, node: exp.Expr) -> Value:
    if node.args.get("start") is None:
        start: Value = number("1")
    else:
        start = self.value(node.args["start"])
    length = node.args.get("length")
    arguments = [self.value(node.this), start] + ([self.value(length)] if length is not None else [])
    return functions.call("substring", arguments)


def _trim(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "expression", "position")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
        str(node.args.get("position") or "").upper(), "btrim"
    )
    letters = node.args.get("expression")
    return functions.call(
        name, [self.value(node.this)] + ([self.value(letters)] if letters is not None else [])
    )


def _position(self: Expressions, node: exp.Expr) -> Value:
    only(node, "this", "substr")
    return functions.call("strpos", [self.value(node.this), self.value(node.args["substr"])])


def _pattern(self: Expressions, node: exp.Expr, escape: str | None = None) -> Value:
    only(node, "this", "expression", "negate")
    value, pattern = (casts.typed(self.value(each), "text") for each in (node.this, node.expression))
    if value.kind not in ("text", "parameter") or pattern.kind not in ("text", "parameter"):
        raise no_operator(value, pattern)
    if isinstance(node, exp.SimilarTo):
        made = patterns.similar(value, pattern, escape)
    elif isinstance(node, exp.RegexpLike | exp.RegexpILike):
        made = patterns.regular(value, pattern, isinstance(node, exp.RegexpILike))
    else:
        made = patterns.like(value, pattern, escape, "ILIKE" if isinstance(node, exp.ILike) else "LIKE")
    return Value(f"NOT {made.at(NOT + 1)}", "bool", NOT) if node.args.get("negate") else made


def _escape(self: Expressions, node: exp.Expr) -> Value:
    inner, letter = node.this, node.expression
    negate = isinstance(inner, exp.Not)
    inner = inner.this if negate else inner
    if not isinstance(inner, exp.Like | exp.ILike | exp.SimilarTo) or not letter.args.get("is_string"):
        raise NotUnderstood("construct", name="ESCAPE")
    made = _pattern(self, inner, letter.name)
    return Value(f"NOT {made.at(NOT + 1)}", "bool", NOT) if negate else made


def _joined(self: Expressions, node: exp.Expr) -> Value:
    values = [casts.typed(self.value(each), "text") for each in node.flatten()]
    if not any(value.kind == "text" for value in values[:2]):
        raise no_operator(*values[:2])
    texts = [casts.as_text(value).at(ADDED) for value in values]
    return Value(" || ".join(texts), "text", OTHER)


def _power(self: Expressions, node: exp.Expr) -> Value:
    left, right = self.value(node.this), self.value(node.expression)
    return numbers.power(casts.typed(left, right.kind), casts.typed(right, left.kind))


def _filter(self: Expressions, node: exp.Expr) -> Value:
    if isinstance(node.this, exp.WithinGroup):
        return aggregates.quantile(self, node.this, node.args["expression"].this)
    name, arguments = aggregates.named(node.this)
    return aggregates.aggregate(self, name, arguments, node.args["expression"].this)


_NODES: dict[type[exp.Expr], Callable[[Expressions, exp.Expr], Value]] = {
    exp.Column: _column, exp.Literal: _literal, exp.Parameter: lambda _, node: parameter(node),
    exp.Placeholder: lambda _, node: parameter(node),
    exp.And: _connected, exp.Or: _connected, exp.Not: _not, exp.Neg: _negative,
    exp.Paren: _paren, exp.Is: _is,
    exp.In: _in, exp.Between: _between, exp.Case: _case, exp.Exists: _exists, exp.Subquery: _scalar,
    exp.Cast: _cast, exp.Interval: _interval, exp.Extract: _extract, exp.Substring: _substring,
    exp.Trim: _trim, exp.StrPosition: _position, exp.Like: _pattern, exp.ILike: _pattern,
    exp.SimilarTo: _pattern, exp.RegexpLike: _pattern, exp.RegexpILike: _pattern, exp.Escape: _escape,
    exp.Overlay: _overlay,
    exp.AtTimeZone: lambda self, node: zones.at_zone(self.value(node.this), self.value(node.args["zone"])),
    exp.CurrentDate: lambda *_: zones.today(), exp.CurrentTimestamp: lambda *_: zones.now(),
    exp.Localtimestamp: lambda *_: zones.clock(),
    exp.DPipe: _joined, exp.Pow: _power, exp.Filter: _filter, exp.Window: aggregates.over,
    exp.WithinGroup: lambda self, node: aggregates.quantile(self, node, None),
    exp.Null: lambda *_: NULL,
    exp.Boolean: lambda _, node: Value("TRUE" if node.this else "FALSE", "bool"),
}  # fmt: skip
