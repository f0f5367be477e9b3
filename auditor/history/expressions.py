"""Expressions over protected columns, read as linear forms: what a number that is shown is made of.

Promises that what `Reader.shown` returns has exactly the information of the expression: a form up to a public
factor and offset, or an extreme. Everything else raises `NotLinear`, with the kind by which an audit counts
it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from auditor.history.forms import EMPTY, Form, chosen, constant_text
from auditor.history.questions import COMPARISONS, CONDITION, Indicator, NotLinear, Questions, Shown
from auditor.history.questions import text_of as _text
from auditor.history.rounding import rounded_quotient
from auditor.sql.linear import constant
from auditor.sql.windows import is_windowed

if TYPE_CHECKING:
    from auditor.history.meanings import Kind

_WHOLE = frozenset(
    ["TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "UINT128"]
)
_AS_IT_IS = frozenset(["FLOAT", "DOUBLE", "TEXT", "VARCHAR", "CHAR", "BOOLEAN"])


class Reader(Questions):
    """Reads the expressions of one SELECT."""

    # --- what is shown

    def shown(self, node: exp.Expr, top: bool) -> Shown:
        """What a projection shows of protected values.

        Args:
            node: The projection.
            top: Whether it is the statement's own: no arithmetic follows.

        Raises:
            NotLinear: it is not modelled.
        """
        self._columns = set()
        extreme = self._extreme(node)
        if extreme is not None:
            return extreme
        bare = node
        while isinstance(bare, exp.Paren):
            bare = bare.this
        condition, inner = self._filtered(bare)
        # a factor that is common to all makes no difference, so a bare average is read as its sum
        if top and isinstance(inner, exp.Avg):
            form = self._aggregate(inner, condition, "", bare_average=True)
        else:
            form = self._form(node)
        return Shown(self._column(), form)

    def _column(self) -> int:
        if len(self._columns) != 1:
            raise NotLinear("several protected columns", "one number is made of several protected columns")
        (column,) = self._columns
        return column

    def _extreme(self, node: exp.Expr) -> Shown | None:
        node = self._without_constants(node)
        kind = None
        if isinstance(node, exp.Column):
            kind = self._kind_of(node)
        elif isinstance(node, exp.Subquery):
            kind = self._kind_of_query(node)
        if getattr(kind, "what", "") in ("max", "min"):
            return Shown(kind.column, None, kind.what, _text(node))  # type: ignore[union-attr, arg-type]
        condition, call = self._filtered(node)
        if not isinstance(call, exp.Max | exp.Min) or is_windowed(call):
            return None
        if self.indicated is not None:
            raise NotLinear(CONDITION, "an extreme of the records that a protected value chooses")
        form = self._form(call.this)
        factors = [constant_text(factor) for item in form.items for factor in item.factors]
        if not form.plain or any(factor is None for factor in factors) or form.blur:
            raise NotLinear(
                "MAX, MIN of an expression", "an extreme of more than single values is not modelled"
            )
        sign = -1 if sum(factor < 0 for factor in factors if factor is not None) % 2 else 1
        top = isinstance(call, exp.Max) == (sign > 0)
        self._named(type(call).__name__.upper())
        where = f"({form.present})" + (f" AND ({condition})" if condition else "")
        text = f"list(DISTINCT {form.items[0].text}) FILTER (WHERE {where})"
        return Shown(self._column(), None, "max" if top else "min", text)

    def _without_constants(self, node: exp.Expr) -> exp.Expr:
        """What an expression is of, where it can be told back from it: constants added, multiplied, cast."""
        while True:
            if isinstance(node, exp.Coalesce) and any(self.reads(each) for each in node.expressions):
                return node
            if isinstance(node, exp.Paren | exp.Cast | exp.Coalesce | exp.Neg) or (
                isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div) and constant(node.expression)
            ):
                node = node.this
            elif isinstance(node, exp.Add | exp.Sub | exp.Mul) and constant(node.this):
                node = node.expression
            else:
                return node

    def _filtered(self, node: exp.Expr) -> tuple[str, exp.Expr]:
        """An aggregate and the condition of its FILTER."""
        if not isinstance(node, exp.Filter):
            return "", node
        condition = node.expression.this
        if self.reads(condition):
            return "", node  # `_aggregate` looks at it
        return _text(condition), node.this

    # --- forms

    def _form(self, node: exp.Expr) -> Form:
        if isinstance(node, exp.Paren):
            return self._form(node.this)
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if isinstance(node, exp.Query):
            return self._of_kind(self._kind_of_query(node), f"({_text(node.unnest())})")
        if isinstance(node, exp.Neg):
            inner = self._form(node.this)
            return inner.scaled("-1", inner.blur, whole=True)
        if isinstance(node, exp.Add | exp.Sub):
            return self._added(node)
        if isinstance(node, exp.Mul | exp.Div | exp.IntDiv):
            return self._multiplied(node)
        if isinstance(node, exp.Cast):
            return self._cast(node)
        if isinstance(node, exp.Case | exp.If | exp.Coalesce):
            return self._chosen(node)
        if isinstance(node, exp.Round | exp.Trunc | exp.Floor | exp.Ceil):
            return self._rounded(node)
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.AggFunc | exp.Filter):
            return self._aggregate(node, "", "")
        indicator = self.indicator(node)
        if indicator is not None:
            self._columns.add(self._kind_of(indicator.record).column)  # type: ignore[union-attr]
            return indicator.form
        if isinstance(node, COMPARISONS):
            raise NotLinear(CONDITION, "a comparison with protected values is not modelled")
        name = node.sql_name() if isinstance(node, exp.Func) else type(node).__name__
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            name = node.name.upper()
        raise NotLinear(f"{name} of the protected column", "a function of protected values is not modelled")

    def _of_column(self, node: exp.Column) -> Form:
        return self._of_kind(self._kind_of(node), _text(node))

    def _of_kind(self, kind: Kind, text: str) -> Form:
        if kind is None:
            raise NotLinear("expression", "a public value stands where a protected one was expected")
        what = getattr(kind, "what", "")
        if what not in ("record", "form"):
            raise NotLinear(
                getattr(kind, "kind", "arithmetic with MAX or MIN"),
                getattr(kind, "reason", "an extreme is used in further arithmetic"),
            )
        self._columns.add(kind.column)  # type: ignore[union-attr]
        if what == "record":
            grid = self._grid(kind.column)  # type: ignore[union-attr]
            return Form.of_record(text, grid.minimum.denominator == 1 == grid.unit.denominator)
        return Form.of_list(text, kind.whole).blurred(kind.blur)  # type: ignore[union-attr]

    def _added(self, node: Any) -> Form:
        sides = []
        for side, sign in ((node.this, 1), (node.expression, -1 if isinstance(node, exp.Sub) else 1)):
            if self.reads(side):
                form = self._form(side)
                sides.append(form if sign > 0 else form.scaled("-1", form.blur, whole=True))
            else:
                number = constant(side)
                whole = number is not None and number.denominator == 1
                sides.append(Form((), () if number is not None else (_text(side),), whole=whole))
        return sides[0].plus(sides[1])

    def _multiplied(self, node: Any) -> Form:
        rounded = self._rounded_quotient(node)
        if rounded is not None:
            return rounded
        left, right = node.this, node.expression
        if self.reads(right):
            if self.reads(left) or not isinstance(node, exp.Mul):
                raise NotLinear("product of protected values", "a product or quotient of protected values")
            left, right = right, left
        form, number = self._form(left), constant(right)
        if isinstance(node, exp.Mul):
            blur = None if number is None else form.blur * float(abs(number))
            return form.scaled(_text(right), blur, number is not None and number.denominator == 1)
        inverse = f"(CAST(1 AS DOUBLE) / NULLIF(CAST({_text(right)} AS DOUBLE), 0))"
        over = form.blur / float(abs(number)) if number else None
        scaled = form.scaled(inverse, over)
        if isinstance(node, exp.Div):
            return scaled
        return replace(scaled if self._divides(form, number) else scaled.blurred(1.0), whole=True)

    def _divides(self, form: Form, number: Fraction | None) -> bool:
        """Whether whole division by a number leaves no rest, whatever a single value is."""
        if not number or not form.plain or form.items[0].factors:
            return False
        grid = self._grid(self._column())
        return (grid.minimum / number).denominator == 1 == (grid.unit / number).denominator

    def _rounded_quotient(self, node: exp.Expr) -> Form | None:
        """A quotient rounded to whole numbers, as it is written for PostgreSQL."""
        found = rounded_quotient(node)
        if found is None or self.reads(found.divisor) or not self.reads(found.value):
            return None
        inverse = f"(CAST({found.factor!r} AS DOUBLE) / NULLIF(CAST({_text(found.divisor)} AS DOUBLE), 0))"
        return replace(self._form(found.value).scaled(inverse, None).blurred(1.0), whole=True)

    def _cast(self, node: exp.Cast) -> Form:
        form = self._form(node.this)
        to = node.to
        name = to.this.value if isinstance(to.this, exp.DType) else str(to.this)
        if name in _AS_IT_IS:
            return form
        if form.whole and name in (*_WHOLE, "DECIMAL"):
            return form
        if name in _WHOLE:
            return replace(form.blurred(1.0) if form.blur < 1.0 else form, whole=True)
        if name == "DECIMAL":
            sizes = [int(each.name) for each in to.expressions]
            width = 10.0 ** -(sizes[1] if len(sizes) > 1 else (0 if sizes else 3))
            return form if form.blur >= width else form.blurred(width)
        raise NotLinear("cast of the protected column", "a protected value is cast to another type")

    def _rounded(self, node: exp.Expr) -> Form:
        form = self._form(node.this)
        digits = node.args.get("decimals")
        number = Fraction(0) if digits is None else constant(digits)
        if number is None:
            raise NotLinear("ROUND of the protected column", "rounded to digits that are not a constant")
        return form if form.whole and number >= 0 else form.blurred(10.0 ** -int(number))

    def _chosen(self, node: Any) -> Form:
        if isinstance(node, exp.Coalesce):
            if any(self.reads(each) for each in node.expressions):
                raise NotLinear("COALESCE of protected values", "COALESCE chooses among protected values")
            form = self._form(node.this)
            rest = " OR ".join(f"({_text(each)}) IS NOT NULL" for each in node.expressions)
            made = chosen([(f"({form.text}) IS NOT NULL", form.text)], f"CASE WHEN {rest} THEN {EMPTY} END")
            whole = form.whole and all(
                (constant(each) or Fraction(1, 2)).denominator == 1 for each in node.expressions
            )
            return replace(made.blurred(form.blur), whole=whole)
        cases = [node] if isinstance(node, exp.If) else node.args["ifs"]
        otherwise = node.args.get("false") if isinstance(node, exp.If) else node.args.get("default")
        if node.this is not None and not isinstance(node, exp.If) and self.reads(node.this):
            raise NotLinear(CONDITION, "CASE compares protected values")
        if any(self.reads(case.this) for case in cases):
            return self._indicated_case(node, cases, otherwise)
        blur, branches = 0.0, []
        for case in cases:
            condition = _text(case.this)
            if not isinstance(node, exp.If) and node.this is not None:
                condition = f"({_text(node.this)}) = ({condition})"
            text, width = self._branch(case.args["true"])
            branches.append((condition, text))
            blur = max(blur, width)
        text, width = self._branch(otherwise)
        return chosen(branches, text).blurred(max(blur, width))

    def _branch(self, node: exp.Expr | None) -> tuple[str, float]:
        if node is None or isinstance(node, exp.Null):
            return "NULL", 0.0
        if self.reads(node):
            form = self._form(node)
            return form.text, form.blur
        return f"CASE WHEN ({_text(node)}) IS NOT NULL THEN {EMPTY} END", 0.0

    def _indicated_case(self, node: Any, cases: list[Any], otherwise: exp.Expr | None) -> Form:
        """CASE WHEN x = 1 THEN p ELSE q END: q and p − q times the test."""
        test = (
            self.indicator(cases[0].this)
            if len(cases) == 1 and (isinstance(node, exp.If) or not node.this)
            else None
        )
        then = cases[0].args["true"]
        if test is None or self.reads(then) or (otherwise is not None and self.reads(otherwise)):
            raise NotLinear(CONDITION, "CASE chooses by protected values")
        rest = "0" if otherwise is None or isinstance(otherwise, exp.Null) else f"({_text(otherwise)})"
        self._columns.add(self._kind_of(test.record).column)  # type: ignore[union-attr]
        return test.form.scaled(f"(({_text(then)}) - {rest})", 0.0)

    def _window(self, node: exp.Window) -> Form:
        aside = [*(node.args.get("partition_by") or []), node.args.get("order")]
        if any(each is not None and self.reads(each) for each in aside) or self.indicated is not None:
            raise NotLinear(
                "window over the protected column", "a window is ordered or cut by protected values"
            )
        copy = node.copy()
        copy.set("this", exp.Var(this="_w"))
        over = _text(copy).removeprefix("_w OVER ")
        return self._aggregate(node.this, "", over)

    def _aggregate(self, node: exp.Expr, condition: str, window: str, bare_average: bool = False) -> Form:
        test: Indicator | None = self.indicated
        if isinstance(node, exp.Filter):
            where = node.expression.this
            if self.reads(where):
                found = self.indicator(where)
                if found is None or test is not None:
                    raise NotLinear(CONDITION, "FILTER chooses records by protected values")
                test = found
            else:
                condition = _text(where)
            node = node.this
        self._allowed(node)
        inner = self._counted(node, test) if isinstance(node, exp.Count) else self._tested(node, test)
        self._named(type(node).__name__.upper())
        total = inner.summed(condition, window)
        if isinstance(node, exp.Avg) and not bare_average:
            where = f" AND ({condition})" if condition else ""
            over = f" OVER {window}" if window else ""
            count = f"count(*) FILTER (WHERE {inner.present}{where}){over}"
            total = total.scaled(f"(CAST(1 AS DOUBLE) / NULLIF({count}, 0))", 0.0)
        return total

    def _allowed(self, node: exp.Expr) -> None:
        name = node.name.upper() if isinstance(node, exp.AnonymousAggFunc) else type(node).__name__.upper()
        if isinstance(node, exp.Func) and not isinstance(node, exp.AnonymousAggFunc):
            name = node.sql_name()
        distinct = isinstance(node.this, exp.Distinct)
        if not isinstance(node, exp.Sum | exp.Avg | exp.Count):
            raise NotLinear(f"{name} of the protected column", f"{name} of protected values is not modelled")
        if distinct and not isinstance(node, exp.Count):
            raise NotLinear(f"{name}(DISTINCT …)", "DISTINCT compares protected values")

    def _tested(self, node: exp.Expr, test: Indicator | None) -> Form:
        """The argument of SUM or AVG, under a test."""
        if test is None:
            form = self._form(node.this)
            if form.blur:
                raise NotLinear(
                    "rounding inside an aggregate", "protected values are rounded before they are added"
                )
            return form
        column = self._kind_of(test.record).column  # type: ignore[union-attr]
        self._columns.add(column)
        if isinstance(node, exp.Avg):
            raise NotLinear(CONDITION, "an average over the records that a protected value chooses")
        if not self.reads(node.this):
            return test.form.scaled(_text(node.this), 0.0)
        if node.this == test.record and test.one:
            return test.form
        raise NotLinear(CONDITION, "an aggregate over the records that a protected value chooses")

    def _counted(self, node: exp.Count, test: Indicator | None) -> Form:
        """The argument of COUNT as what is added up."""
        argument = node.this
        if isinstance(argument, exp.Distinct):
            bare = argument.expressions[0] if len(argument.expressions) == 1 else None
            if test is None or bare is None or not self._tells_apart(bare):
                raise NotLinear(
                    "COUNT(DISTINCT …) of the protected column", "COUNT(DISTINCT) compares protected values"
                )
            argument = bare
        if test is not None:
            if not isinstance(argument, exp.Star) and self.reads(argument) and argument != test.record:
                raise NotLinear(CONDITION, "a count of records that protected values choose")
            self._columns.add(self._kind_of(test.record).column)  # type: ignore[union-attr]
            form = test.form
            return form if isinstance(argument, exp.Star) else form.guarded(_text(argument))
        if isinstance(argument, exp.Case | exp.If):
            cases = [argument] if isinstance(argument, exp.If) else argument.args["ifs"]
            last = (
                argument.args.get("false") if isinstance(argument, exp.If) else argument.args.get("default")
            )
            found = (
                self.indicator(cases[0].this)
                if len(cases) == 1 and (isinstance(argument, exp.If) or not argument.this)
                else None
            )
            if (
                found is not None
                and (last is None or isinstance(last, exp.Null))
                and constant(cases[0].args["true"]) is not None
            ):
                self._columns.add(self._kind_of(found.record).column)  # type: ignore[union-attr]
                return found.form
        raise NotLinear(CONDITION, "a count of records that protected values choose")
