"""What a parameter must be that the client leaves open: the type of what it is compared or combined with.

As PostgreSQL does it: `salary > $1` makes `$1` a number, `day BETWEEN $1 AND $2` two dates, `$1::int` an
integer, `LIMIT $1` a bigint; what nothing decides is a text. The first mention that decides holds for all.

Promises a type for every parameter, in bounded time, whatever the text; a statement that does not parse has
texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from auditor.proxy.values import types
from auditor.proxy.values.expressions import (
    MOMENTS,
    NUMBERS,
    TEXTS,
    Dialect,
    Expressions,
    arguments,
    common,
    function_name,
    named_type,
    parameter_number,
    parsed,
    results_of,
)
from auditor.proxy.values.placeholders import highest, spaced
from auditor.proxy.values.types import BY_OID, INT4, INT8, TEXT, Type
from auditor.sql import limits
from auditor.sql.schema import Schema

MAX_BRANCHES = 50
"""Of a CASE, of a list of rows, of a function's arguments: those after them decide nothing."""
_OPEN = (0, types.UNKNOWN.oid)
_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_PATTERNS = (
    exp.Like,
    exp.ILike,
    exp.SimilarTo,
    exp.RegexpLike,
    exp.RegexpILike,
    exp.Escape,
    exp.Glob,
    exp.DPipe,
)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow)
_ALIKE = frozenset({"coalesce", "greatest", "least", "ifnull", "nullif", "mod"})
"""Functions whose arguments have one type."""
_ARGUMENTS = {
    **dict.fromkeys(("left", "right", "repeat"), (TEXT, INT4)),
    **dict.fromkeys(("substring", "substr"), (TEXT, INT4, INT4)),
    **dict.fromkeys(("lpad", "rpad"), (TEXT, INT4, TEXT)),
    "split_part": (TEXT, TEXT, INT4),
    **dict.fromkeys(("round", "trunc"), (types.NUMERIC, INT4)),
    **dict.fromkeys(("lag", "lead", "nth_value"), (None, INT4)),
    "ntile": (INT4,),
    "make_date": (INT4, INT4, INT4),
    **dict.fromkeys(("sqrt", "exp", "ln", "abs", "ceil", "ceiling", "floor", "power", "pow"),
                    (types.FLOAT8, types.FLOAT8)),
}  # fmt: skip
"""Types of the arguments of functions that take others than texts; None: not decided by the function."""


def infer(sql: str, schema: Schema, dialect: Dialect = "postgres", given: Sequence[int] = ()) -> list[int]:
    """The type of each parameter of a statement.

    Args:
        sql: The statement.
        schema: The tables that it may name.
        dialect: Whose SQL it is.
        given: OIDs as Parse has them; 0 and unknown are open.

    Returns:
        An OID for `$1`, `$2` and so on, up to the highest that is mentioned or given.

    Raises:
        BadParameter: 42P02, for `$0` and numbers past 65,535.
    """
    count = max(highest(sql), len(given))
    if all(oid not in _OPEN for oid in given) and len(given) == count:
        return list(given)
    tree = parsed(spaced(sql), dialect)
    decided = {} if tree is None else _Inference(schema, dialect, given).decide(tree)
    chosen = [*given, *[0] * (count - len(given))]
    return [decided.get(number, TEXT).oid if oid in _OPEN else oid for number, oid in enumerate(chosen, 1)]


class _Inference:
    """One statement's parameters."""

    def __init__(self, schema: Schema, dialect: Dialect, given: Sequence[int]) -> None:
        self._decided: dict[int, Type] = {}
        self._given = {n: BY_OID[oid] for n, oid in enumerate(given, 1) if oid not in _OPEN and oid in BY_OID}
        self._expressions = Expressions(schema, dialect, self._known)
        self._agreed: dict[int, Type | None] = {}

    def _known(self, number: int) -> Type | None:
        return self._given.get(number) or self._decided.get(number)

    def decide(self, tree: exp.Expr) -> dict[int, Type]:
        """Types of the parameters that something decides."""
        mentions = [node for node in tree.walk(bfs=False) if parameter_number(node)]
        for _ in range(2):  # a type may hang on that of another parameter
            self._agreed.clear()
            for node in mentions:
                number = parameter_number(node)
                if self._known(number) is None:
                    wanted = self._wanted(node)
                    if wanted is not None:
                        self._decided[number] = TEXT if wanted in TEXTS else wanted
        return self._decided

    def _wanted(self, node: exp.Expr) -> Type | None:
        """What the place of an expression asks of it."""
        depth = 0
        while node.parent is not None and depth < limits.MAX_DEPTH:
            parent, depth = node.parent, depth + 1
            if isinstance(parent, exp.Paren):
                node = parent
                continue
            if not self._passes(parent, node):
                return self._from_parent(parent, node)
            others = self._others(parent)
            if others is not None:
                return others
            case = parent.parent if isinstance(parent, exp.If) else None
            node = case or parent
        return None

    def _passes(self, parent: exp.Expr, node: exp.Expr) -> bool:
        """Whether the parent has the type of the expression, and so hands on what is asked of itself."""
        if isinstance(parent, exp.Case):
            return node is parent.args.get("default")
        if isinstance(parent, exp.If):
            return node is parent.args.get("true") and isinstance(parent.parent, exp.Case)
        return function_name(parent) in ("coalesce", "greatest", "least", "ifnull")

    def _others(self, parent: exp.Expr) -> Type | None:
        case = parent.parent if isinstance(parent, exp.If) else parent
        assert case is not None
        return self._common(case, results_of(case) if isinstance(case, exp.Case) else arguments(parent))

    def _common(self, parent: exp.Expr, nodes: Sequence[exp.Expr]) -> Type | None:
        """The type that the parts of an expression have together; open parameters among them have none.

        Found once for all of them: a list of parameters would take the square of its length otherwise.
        """
        if id(parent) not in self._agreed:
            self._agreed[id(parent)] = common([self._expressions.type_of(each) for each in nodes])
        return self._agreed[id(parent)]

    def _from_parent(self, parent: exp.Expr, node: exp.Expr) -> Type | None:
        if isinstance(parent, exp.Cast):
            return named_type(parent.args.get("to"))
        if isinstance(parent, exp.Limit | exp.Offset | exp.Fetch):
            return INT8
        if isinstance(parent, exp.Connector | exp.Not | exp.Where | exp.Having | exp.Join):
            return types.BOOL
        if isinstance(parent, exp.If):
            return self._condition(parent)
        if isinstance(parent, exp.Case):
            return common(
                [self._expressions.type_of(each.this) for each in parent.args["ifs"][:MAX_BRANCHES]]
            )
        if isinstance(parent, _PATTERNS):
            return TEXT
        if isinstance(parent, exp.In):
            return self._member(parent, node)
        if isinstance(parent, exp.Between):
            return self._bound(parent, node)
        if isinstance(parent, _COMPARISONS):
            return self._compared(parent, node)
        if isinstance(parent, exp.Any | exp.All):
            return self._array(parent)
        if isinstance(parent, exp.Tuple):
            return self._in_row(parent, node)
        if isinstance(parent, exp.Neg):
            return self._wanted(parent) or types.FLOAT8
        if isinstance(parent, _ARITHMETIC):
            return self._operand(parent, node)
        return self._argument(parent, node)

    def _bound(self, parent: exp.Between, node: exp.Expr) -> Type | None:
        """`x BETWEEN a AND b` is `x >= a AND x <= b`."""
        low, high = (self._expressions.type_of(parent.args.get(each)) for each in ("low", "high"))
        if node is parent.this:
            return low or high
        return self._expressions.type_of(parent.this) or low or high

    def _condition(self, branch: exp.If) -> Type | None:
        """`CASE WHEN $1 THEN …` is a condition, `CASE x WHEN $1 THEN …` a value of x."""
        case = branch.parent
        subject = case.this if isinstance(case, exp.Case) else None
        return types.BOOL if subject is None else self._expressions.type_of(subject)

    def _compared(self, parent: exp.Expr, node: exp.Expr) -> Type | None:
        other = parent.expression if node is parent.this else parent.this
        if isinstance(other, exp.Any | exp.All) or function_name(other) in ("any", "all", "some"):
            inside = arguments(other) or [other.this]
            found = self._expressions.type_of(inside[0])
            return BY_OID.get(found.element, found) if found is not None else None
        return self._expressions.type_of(other)

    def _member(self, parent: exp.In, node: exp.Expr) -> Type | None:
        query = parent.args.get("query")
        if node is parent.this and isinstance(query, exp.Expr):
            return self._expressions.type_of(query.this if isinstance(query, exp.Subquery) else query)
        if id(parent) not in self._agreed:
            # As in PostgreSQL, members that read columns are compared on their own, where there is a choice.
            constant = [each for each in parent.expressions if each.find(exp.Column) is None]
            alike = common([self._expressions.type_of(each) for each in (parent.this, *constant)])
            self._agreed[id(parent)] = alike or common(
                [self._expressions.type_of(each) for each in parent.expressions]
            )
        return self._agreed[id(parent)]

    def _array(self, parent: exp.Expr) -> Type | None:
        """`column = ANY($1)`: an array of the column's type."""
        comparison = parent.parent
        if not isinstance(comparison, _COMPARISONS):
            return None
        element = self._expressions.type_of(comparison.this)
        return types.array_of(element) if element is not None and (element.array or element.element) else None

    def _in_row(self, row: exp.Tuple, node: exp.Expr) -> Type | None:
        """`(a, b) = ($1, $2)` and `(a, b) IN (($1, $2))`, place by place."""
        place, outside = node.index, row.parent
        if place is None or not isinstance(outside, (*_COMPARISONS, exp.In)):
            return None
        if isinstance(outside, exp.In):
            rows = [outside.this, *outside.expressions]
        else:
            rows = [outside.this, outside.expression]
        others = [each.expressions for each in rows[:MAX_BRANCHES] if isinstance(each, exp.Tuple)]
        return common([self._expressions.type_of(each[place]) for each in others if place < len(each)])

    def _operand(self, parent: exp.Expr, node: exp.Expr) -> Type | None:
        left = node is parent.this
        other = self._expressions.type_of(parent.expression if left else parent.this)
        if isinstance(parent, exp.Pow):
            return types.NUMERIC if other is types.NUMERIC else types.FLOAT8
        if isinstance(parent, exp.Add) and other in MOMENTS:
            return types.INTERVAL
        if other is types.INTERVAL and isinstance(parent, exp.Mul | exp.Div):
            return types.FLOAT8
        return other if other in (*NUMBERS, *MOMENTS, types.INTERVAL) else None

    def _argument(self, parent: exp.Expr, node: exp.Expr) -> Type | None:
        name = function_name(parent)
        given = arguments(parent)
        if name in ("any", "all", "some"):
            return self._array(parent)
        if name in _ALIKE:
            return self._common(parent, given)
        few = enumerate(given[:MAX_BRANCHES])
        place = next((i for i, each in few if each is node), MAX_BRANCHES)
        expected = _ARGUMENTS.get(name, ())
        return expected[place] if place < len(expected) else None
