"""The argument of an aggregate as a linear form in a protected column.

An argument is read as a choice, by public conditions, between outcomes `coefficient * value + offset` with
constants known from the text, so that no number is computed from a protected value in SQL. Promises that
what it returns has one magnitude of coefficients (sums) or one outcome (extremes); which columns are
protected is the caller's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from auditor.sql import casts, truth
from auditor.sql.statement import Leaf
from auditor.sql.understood import NotUnderstood

KindOf = Callable[[exp.Column], int | None]
"""The position of the protected column that a column is, or None."""


@dataclass(frozen=True)
class Choice:
    """CASE: the first condition that holds gives the form; None stands for NULL."""

    branches: tuple[tuple[exp.Expr, Form], ...]
    """Condition and form."""
    default: Form
    """The form if no condition holds."""


Form = Leaf | Choice | None


class Argument:
    """The linear form of one aggregate's argument."""

    def __init__(
        self,
        argument: exp.Expr,
        kind_of: KindOf,
        kind: int,
        name_of: Callable[[int], str],
        is_truth: truth.IsTruth,
    ) -> None:
        self._kind_of = kind_of
        self._is_truth = is_truth
        self.kind = kind
        """Position of the protected column in the schema."""
        self._column = name_of(kind)
        self.record: exp.Column | None = None
        """The reference to the protected column."""
        self.once: exp.Column | None = None
        """The column that tells records apart, where each counts once however often a row has it."""
        self.form = self._form(argument)
        self.leaves = tuple(dict.fromkeys(_leaves(self.form)))
        if self.record is None or not any(leaf.coefficient for leaf in self.leaves):
            raise self._error("argument")

    def _error(self, code: str) -> NotUnderstood:
        return NotUnderstood(code, column=self._column)

    def require_sum(self) -> None:
        """Check that every record counts with the same weight or not at all."""
        if len({abs(leaf.coefficient) for leaf in self.leaves if leaf.coefficient}) != 1:
            raise self._error("coefficients")

    def require_extreme(self) -> None:
        """Check that there is one outcome: an extreme of two is not an extreme of values."""
        if len(self.leaves) != 1:
            raise self._error("extreme-case")

    def condition(self, leaf: Leaf) -> exp.Expr:
        """The public condition under which a row takes a leaf."""
        position = self.leaves.index(leaf)
        parts: list[exp.Expr] = []
        if not isinstance(self.form, Leaf):
            parts.append(self._code(self.form).eq(exp.Literal.number(position)))
        if leaf.coefficient and self.record is not None:
            parts.append(self.record.copy().is_(exp.null()).not_())
        return exp.and_(*parts) if parts else exp.true()

    def _code(self, form: Form) -> exp.Expr:
        if form is None:
            return exp.null()
        if isinstance(form, Leaf):
            return exp.Literal.number(self.leaves.index(form))
        case = exp.Case()
        for condition, branch in form.branches:
            case.append("ifs", exp.If(this=condition.copy(), true=self._code(branch)))
        case.set("default", self._code(form.default))
        return case

    def _form(self, node: exp.Expr) -> Form:
        if isinstance(node, exp.Paren) or casts.is_marked(node):
            return self._form(node.this)
        if isinstance(node, exp.Cast) and node.is_type("double") and self._is_worked_out(node.this):
            # of what is worked out from values: rounded as any DOUBLE is
            return self._form(node.this)
        if truth.is_number(node, self._is_truth):
            return self._form(node.this)
        if isinstance(node, exp.Column) and self._is_protected(node):
            self._read(node)
            return Leaf(Fraction(1), Fraction(0))
        if isinstance(node, exp.Null):
            return None
        number = constant(node)
        if number is not None:
            return Leaf(Fraction(0), number)
        if isinstance(node, exp.Neg):
            return _scaled(self._form(node.this), Fraction(-1))
        if isinstance(node, exp.Case | exp.If):
            return self._case(node)
        if isinstance(node, exp.Coalesce):
            return self._coalesce(node)
        if isinstance(node, exp.Add | exp.Sub):
            return self._sum(node)
        if isinstance(node, exp.Mul | exp.Div):
            return self._product(node)
        raise self._error("protected-cast" if isinstance(node, exp.Cast) else self._outside(node))

    def _is_worked_out(self, node: exp.Expr) -> bool:
        """Whether a value is read and something is done with it."""
        return not isinstance(node.unnest(), exp.Column) and self._reads(node)

    def _read(self, column: exp.Column) -> None:
        if self.record is not None and self.record != column:
            same = self._kind_of(column) == self._kind_of(self.record)
            raise self._error("argument" if same else "two-columns")
        self.record = column

    def _outside(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Pow):
            return "nonlinear"
        return "argument" if self._reads(node) else "offset"

    def _is_protected(self, column: exp.Column) -> bool:
        return self._kind_of(column) is not None

    def _reads(self, node: exp.Expr) -> bool:
        return any(self._is_protected(column) for column in node.find_all(exp.Column))

    def _case(self, node: exp.Case | exp.If) -> Form:
        branches: list[tuple[exp.Expr, exp.Expr]] = []
        if isinstance(node, exp.If):
            branches.append((node.this, node.args["true"]))
            default = node.args.get("false")
        else:
            for branch in node.args["ifs"]:
                condition = branch.this
                if node.this is not None:
                    condition = exp.EQ(
                        this=exp.paren(node.this.copy()), expression=exp.paren(condition.copy())
                    )
                branches.append((condition, branch.args["true"]))
            default = node.args.get("default")
        form = None if default is None else self._form(default)
        for condition, then in reversed(branches):
            form = self._branch(condition, self._form(then), form)
        return form

    def _branch(self, condition: exp.Expr, then: Form, otherwise: Form) -> Form:
        """CASE WHEN … THEN … ELSE … of two forms."""
        found = truth.truth_of(condition, self._is_truth)
        if found is None or (found.true == found.false and tests_null(found.column)):
            rest = otherwise.branches if isinstance(otherwise, Choice) else ()
            default = otherwise.default if isinstance(otherwise, Choice) else otherwise
            return Choice(((self._public(condition), then), *rest), default)
        # linear in the values 1 and 0, if each of them gives a number
        if not (isinstance(then, Leaf) and isinstance(otherwise, Leaf)):
            raise self._error("protected-condition")
        if then.coefficient or otherwise.coefficient:
            raise self._error("protected-condition")
        self._read(found.column)
        at_true = then.offset if found.true else otherwise.offset
        at_false = then.offset if found.false else otherwise.offset
        public = [] if found.public is None else [self._public(found.public)]
        present = found.column.copy().is_(exp.null()).not_()
        branches: list[tuple[exp.Expr, Form]] = [
            (exp.and_(*public, present), Leaf(at_true - at_false, at_false))
        ]
        if found.null:
            branches.append((exp.and_(*public) if public else exp.true(), then))
        return Choice(tuple(branches), otherwise)

    def _public(self, condition: exp.Expr) -> exp.Expr:
        for column in condition.find_all(exp.Column):
            if self._is_protected(column) and not tests_null(column):
                raise self._error("protected-condition")
        return condition

    def _coalesce(self, node: exp.Coalesce) -> Form:
        inner = self._form(node.this)
        rest = [constant(each) for each in node.expressions]
        if not isinstance(inner, Leaf) or not inner.coefficient or len(rest) != 1 or rest[0] is None:
            raise self._error("argument")
        if self.record is None:
            raise self._error("argument")
        present = self.record.copy().is_(exp.null()).not_()
        return Choice(((present, inner),), Leaf(Fraction(0), rest[0]))

    def _sum(self, node: exp.Add | exp.Sub) -> Form:
        sides = []
        for side in (node.this, node.expression):
            if constant(side) is None and not self._reads(side) and not isinstance(side, exp.Null):
                raise self._error("offset")
            sides.append(self._form(side))
        left, right = sides
        if isinstance(node, exp.Sub):
            right = _scaled(right, Fraction(-1))
        if isinstance(left, Leaf) and not left.coefficient:
            return _shifted(right, left.offset)
        if isinstance(right, Leaf) and not right.coefficient:
            return _shifted(left, right.offset)
        raise self._error("argument")

    def _product(self, node: exp.Mul | exp.Div) -> Form:
        left, right = constant(node.this), constant(node.expression)
        if isinstance(node, exp.Div):
            if not right:
                raise self._error("nonlinear" if right is None else "argument")
            return _scaled(self._form(node.this), 1 / right)
        if left is None and right is None:
            raise self._error("nonlinear")
        factor = right if left is None else left
        if not factor:
            raise self._error("argument")
        return _scaled(self._form(node.this if left is None else node.expression), factor)


def tests_null(column: exp.Column) -> bool:
    """Whether a column stands in `IS NULL` or `IS NOT NULL`."""
    node: exp.Expr = column
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    parent = node.parent
    return isinstance(parent, exp.Is) and parent.this is node and isinstance(parent.expression, exp.Null)


def constant(node: exp.Expr) -> Fraction | None:
    """The exact value of a constant number, or None if the node is none.

    >>> constant(exp.maybe_parse("-(3 + 1.5) / 2"))
    Fraction(-9, 4)
    """
    if isinstance(node, exp.Paren):
        return constant(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        return _number(node.name)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        if node.is_type("decimal"):
            return _as_decimal(node)
        return _number(node.name) if node.is_type("double") else None
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        left, right = constant(node.this), constant(node.expression)
        if left is None or right is None or (isinstance(node, exp.Div) and not right):
            return None
        if isinstance(node, exp.Add):
            return left + right
        if isinstance(node, exp.Sub):
            return left - right
        return left * right if isinstance(node, exp.Mul) else left / right
    return None


def _as_decimal(cast: exp.Cast) -> Fraction | None:
    """A number as a DECIMAL with digits enough for it, as translations write it."""
    digits = [each.name for each in cast.to.expressions]
    number = _number(cast.name)
    if number is None or len(digits) != 2 or not all(each.isdecimal() for each in digits):
        return None
    width, scale = map(int, digits)
    whole = number * 10**scale
    return number if whole.denominator == 1 and abs(whole) < 10**width else None


def _number(text: str) -> Fraction | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    # An exponent of thousands would make integers of thousands of digits.
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) < 400 else None


def _leaves(form: Form) -> list[Leaf]:
    if form is None:
        return []
    if isinstance(form, Leaf):
        return [form]
    inner = [_leaves(branch) for _, branch in form.branches] + [_leaves(form.default)]
    return [leaf for leaves in inner for leaf in leaves]


def _mapped(form: Form, change: Callable[[Leaf], Leaf]) -> Form:
    if form is None:
        return None
    if isinstance(form, Leaf):
        return change(form)
    branches = tuple((condition, _mapped(branch, change)) for condition, branch in form.branches)
    return Choice(branches, _mapped(form.default, change))


def _scaled(form: Form, factor: Fraction) -> Form:
    return _mapped(form, lambda leaf: Leaf(leaf.coefficient * factor, leaf.offset * factor))


def _shifted(form: Form, offset: Fraction) -> Form:
    return _mapped(form, lambda leaf: Leaf(leaf.coefficient, leaf.offset + offset))
