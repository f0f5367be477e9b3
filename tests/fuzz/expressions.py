"""Random scalar expressions and conditions over public columns, by kind of value.

Kinds are int, num, text, date, ts and bool. Everything that this module makes is meant to be valid for
DuckDB; with `forbidden` above 0, protected columns stand now and then where they must not.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

KINDS = ("int", "num", "text", "date", "bool")
RESERVED = {"select", "group", "order", "where", "from"}


@dataclass(frozen=True)
class Col:
    """A column that a query may read."""

    name: str
    kind: str
    secret: bool = False


@dataclass(frozen=True)
class Rel:
    """A relation in FROM."""

    alias: str
    cols: tuple[Col, ...]


@dataclass
class Literals:
    """Writes constants, some of them as parameters."""

    rng: random.Random
    style: str | None = None
    """None, "?", "$1" or "$name"."""
    values: list[object] = field(default_factory=list)

    def __call__(self, kind: str) -> str:
        value = self.value(kind)
        if self.style and len(self.values) < 5 and self.rng.random() < 0.3:
            self.values.append(value)
            return f"§{len(self.values) - 1}§"
        return _written(value)

    def value(self, kind: str) -> object:
        rng = self.rng
        if kind == "int":
            return rng.choice([0, 1, 2, 3, 5, 10, 20, 25, 30, 40, 50, 60, 100, 160, 175, 2020, -1, -7])
        if kind == "num":
            return rng.choice([Decimal("0.5"), Decimal("1.25"), Decimal("2.0"), Decimal("-7.5"), 3, 100, 0])
        if kind == "text":
            return rng.choice(["IT", "HR", "Ops", "R&D", "red", "f", "m", "a", "north", "x", "", "O'Fallon",
                               "Köln", "ß", "car", "%", "_a", "Zürich", "first"])  # fmt: skip
        if kind == "bool":
            return rng.random() < 0.5
        day = datetime.date(2015, 1, 31) + datetime.timedelta(days=37 * rng.randrange(40))
        return datetime.datetime(day.year, day.month, day.day, 13, 30) if kind == "ts" else day


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return f"({value})" if str(value).startswith("-") else str(value)


@dataclass
class View:
    """What an expression may read: relations in FROM, and those of the queries around it."""

    rels: tuple[Rel, ...]
    outer: View | None = None

    def of(self, kind: str, secret: bool = False) -> list[tuple[Rel, Col]]:
        return [
            (rel, col) for rel in self.rels for col in rel.cols if col.kind == kind and col.secret == secret
        ]

    def secrets(self) -> list[tuple[Rel, Col]]:
        return [(rel, col) for rel in self.rels for col in rel.cols if col.secret]


class Expressions:
    """Makes expressions."""

    def __init__(self, rng: random.Random, literals: Literals, forbidden: float = 0.0) -> None:
        self.rng = rng
        self.literal = literals
        self.forbidden = forbidden
        self.subquery: Callable[[View, str], str] | None = None
        """Makes a query of one column of a kind inside a condition; set by the grammar."""

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *weighted: tuple[float, str]) -> str:
        return self.rng.choices([each for _, each in weighted], [weight for weight, _ in weighted])[0]

    # --- names

    def name(self, name: str) -> str:
        """A name, quoted if it must be and sometimes if not, in some mixture of cases."""
        plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
        if not plain or name in RESERVED or self.chance(0.08):
            return '"' + name.replace('"', '""') + '"'
        return name.upper() if self.chance(0.06) else name

    def ref(self, view: View, rel: Rel, col: Col) -> str:
        ambiguous = (
            sum(each.name.lower() == col.name.lower() for other in view.rels for each in other.cols) > 1
        )
        if ambiguous or self.chance(0.3) or (view.outer is not None and self.chance(0.5)):
            return f"{self.name(rel.alias)}.{self.name(col.name)}"
        return self.name(col.name)

    def column(self, view: View, kind: str) -> str | None:
        """A column of a kind, or None."""
        if self.forbidden and self.chance(self.forbidden) and view.secrets():
            return self.ref(view, *self.rng.choice(view.secrets()))
        if view.outer is not None and self.chance(0.25):
            rel_col = view.outer.of(kind)
            if rel_col:
                rel, col = self.rng.choice(rel_col)
                return f"{self.name(rel.alias)}.{self.name(col.name)}"
        found = view.of(kind)
        return self.ref(view, *self.rng.choice(found)) if found else None

    # --- scalars

    def scalar(self, view: View, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        if depth <= 0 or self.chance(0.6):
            column = None if self.chance(0.15) else self.column(view, kind)
            return self.literal(kind) if column is None else column
        if self.chance(0.2):
            return self._any_kind(view, kind, depth - 1)
        made: str = getattr(self, "_" + kind)(view, depth - 1)
        return made

    def _any_kind(self, view: View, kind: str, depth: int) -> str:
        def one() -> str:
            return self.scalar(view, kind, depth)

        form = self.rng.randrange(7)
        if form == 0:
            return f"CASE WHEN {self.condition(view, depth)} THEN {one()} ELSE {one()} END"
        if form == 1:
            other = self.rng.choice(["int", "text"])
            return (
                f"CASE {self.scalar(view, other, 0)} WHEN {self.literal(other)} THEN {one()} "
                f"WHEN {self.literal(other)} THEN NULL END"
            )
        if form == 2:
            return f"COALESCE({one()}, {one()})"
        if form == 3:
            return f"NULLIF({one()}, {one()})"
        if form == 4:
            return f"{self.rng.choice(['GREATEST', 'LEAST'])}({one()}, {one()})"
        if form == 5:
            return f"IF({self.condition(view, depth)}, {one()}, {one()})"
        return f"({one()})"

    def _int(self, view: View, depth: int) -> str:
        def of(kind: str) -> str:
            return self.scalar(view, kind, depth)

        return self.rng.choice(
            [
                lambda: f"{of('int')} {self.rng.choice('+-')} {of('int')}",
                lambda: f"{of('int')} * {self.literal.value('int')}",
                lambda: f"{of('int')} // {self.rng.choice([2, 3, 10])}",
                lambda: f"{of('int')} % {self.rng.choice([2, 3, 7])}",
                lambda: f"abs({of('int')})",
                lambda: f"-({of('int')})",
                lambda: f"CAST({of('num')} AS {self.rng.choice(['INTEGER', 'BIGINT'])})",
                lambda: f"round({of('num')})::INTEGER",
                lambda: f"{self.rng.choice(['length', 'strlen', 'ascii'])}({of('text')})",
                lambda: f"{self.rng.choice(_DATE_PARTS)}({of('date')})",
                lambda: f"EXTRACT({self.rng.choice(_DATE_PARTS)} FROM {of('date')})",
                lambda: f"date_part('{self.rng.choice(_DATE_PARTS)}', {of('date')})",
                lambda: (
                    f"date_diff('{self.rng.choice(['day', 'month', 'year'])}', {of('date')}, {of('date')})"
                ),
                lambda: f"{of('date')} - {of('date')}",
                lambda: f"sign({of('int')})::INTEGER",
                lambda: f"position({self.literal('text')} IN {of('text')})",
                lambda: f"{of('bool')}::INTEGER",
                lambda: f"({of('int')} & 3)",
            ]
        )()

    def _num(self, view: View, depth: int) -> str:
        def of(kind: str) -> str:
            return self.scalar(view, kind, depth)

        return self.rng.choice(
            [
                lambda: f"{of('num')} {self.rng.choice('+-')} {of('num')}",
                lambda: f"{of('num')} {self.rng.choice('+-')} {of('int')}",
                lambda: f"{of('int')} / {of('int')}",
                lambda: f"{of('num')} / {self.rng.choice([2, 3, 10])}",
                lambda: f"{of('num')} * {self.rng.choice(['2', '0.5', '1.5'])}",
                lambda: f"{self.rng.choice(['round', 'trunc'])}({of('num')}, {self.rng.choice([0, 1, 2])})",
                lambda: f"{self.rng.choice(['floor', 'ceil', 'abs', 'cbrt', 'sign'])}({of('num')})",
                lambda: f"sqrt(abs({of('num')}))",
                lambda: f"ln(abs({of('int')}) + 1)",
                lambda: f"CAST({of('int')} AS {self.rng.choice(['DOUBLE', 'DECIMAL(12,2)', 'REAL'])})",
                lambda: f"TRY_CAST({of('text')} AS DOUBLE)",
                lambda: f"{of('num')}::DECIMAL(14,3)",
                lambda: f"{of('int')} ** 2",
                lambda: f"pow({of('int')}, 2)",
            ]
        )()

    def _text(self, view: View, depth: int) -> str:
        def of(kind: str) -> str:
            return self.scalar(view, kind, depth)

        return self.rng.choice(
            [
                lambda: f"{self.rng.choice(['lower', 'upper', 'trim', 'reverse', 'ltrim'])}({of('text')})",
                lambda: f"{of('text')} || {of('text')}",
                lambda: f"concat({of('text')}, '-', {of('int')})",
                lambda: f"concat_ws('/', {of('text')}, {of('text')})",
                lambda: f"substring({of('text')}, {self.rng.choice([1, 2, -1])}, 2)",
                lambda: f"{self.rng.choice(['left', 'right'])}({of('text')}, {self.rng.choice([1, 2])})",
                lambda: f"replace({of('text')}, {self.literal('text')}, '#')",
                lambda: f"{self.rng.choice(['lpad', 'rpad'])}({of('text')}, 5, '*')",
                lambda: f"CAST({of(self.rng.choice(['int', 'num', 'date', 'bool']))} AS VARCHAR)",
                lambda: f"{of('int')}::TEXT",
                lambda: f"strftime({of('date')}, '{self.rng.choice(['%Y-%m', '%d.%m.%Y', '%a'])}')",
                lambda: f"{self.rng.choice(['monthname', 'dayname'])}({of('date')})",
                lambda: f"split_part({of('text')}, '-', 1)",
                lambda: f"regexp_replace({of('text')}, '[aeiou]', '_')",
                lambda: f"regexp_extract({of('text')}, '[A-Z]+')",
            ]
        )()

    def _date(self, view: View, depth: int) -> str:
        def of(kind: str) -> str:
            return self.scalar(view, kind, depth)

        return self.rng.choice(
            [
                lambda: f"{of('date')} {self.rng.choice('+-')} {self.rng.choice([1, 30, 365])}",
                lambda: (
                    f"CAST({of('date')} + INTERVAL {self.rng.choice(['1 MONTH', '2 DAY', '1 YEAR'])} AS DATE)"
                ),
                lambda: f"date_trunc('{self.rng.choice(['month', 'year', 'quarter'])}', {of('date')})::DATE",
                lambda: f"last_day({of('date')})",
                lambda: f"make_date(2020, {self.rng.choice([1, 2, 12])}, 1 + abs({of('int')}) % 28)",
                lambda: f"TRY_CAST({of('text')} AS DATE)",
            ]
        )()

    def _bool(self, view: View, depth: int) -> str:
        return f"({self.condition(view, depth)})"

    # --- conditions

    def condition(self, view: View, depth: int = 2) -> str:
        """A condition on what may be read."""
        if depth > 0 and self.chance(0.22):
            left, right = self.condition(view, depth - 1), self.condition(view, depth - 1)
            form = self.pick((4, "AND"), (3, "OR"), (1, "NOT"))
            return f"NOT ({left})" if form == "NOT" else f"({left} {form} {right})"
        if self.subquery is not None and depth > 0 and self.chance(0.12):
            return self._with_subquery(view)
        kind = self.pick((4, "int"), (3, "text"), (2, "num"), (2, "date"), (1, "bool"))
        x = self.scalar(view, kind, min(depth, 1))
        return self._test(view, kind, x, depth)

    def _test(self, view: View, kind: str, x: str, depth: int) -> str:
        rng = self.rng

        def y() -> str:
            return self.literal(kind) if self.chance(0.6) else self.scalar(view, kind, 1)

        form = self.pick((8, "compare"), (2, "null"), (3, "in"), (2, "between"), (2, "like"), (1, "distinct"),
                         (1, "truth"), (0.3, "row"), (0.7, "secret"))  # fmt: skip
        if form == "secret" and view.secrets():
            name = self.ref(view, *rng.choice(view.secrets()))
            return f"{name} IS {rng.choice(['', 'NOT '])}NULL"
        if kind == "bool":
            return f"{x} {rng.choice(['= TRUE', 'IS NOT TRUE', 'IS FALSE', 'IS NULL', '<> FALSE'])}"
        if form == "null":
            return f"{x} IS {rng.choice(['', 'NOT '])}NULL"
        if form == "in":
            listed = [self.literal(kind) for _ in range(rng.randint(1, 4))] + ["NULL"] * self.chance(0.1)
            return f"{x} {rng.choice(['', '', 'NOT '])}IN ({', '.join(listed)})"
        if form == "between":
            return f"{x} {rng.choice(['', '', 'NOT '])}BETWEEN {y()} AND {y()}"
        if form == "like":
            return self._like(self.scalar(view, "text", 1))
        if form == "distinct":
            return f"{x} IS {rng.choice(['', 'NOT '])}DISTINCT FROM {y()}"
        if form == "truth":
            truth = rng.choice(["TRUE", "NOT TRUE", "FALSE", "NULL"])
            return f"({x} {rng.choice(['=', '<', '>='])} {y()}) IS {truth}"
        if form == "row":
            left, right = f"({x}, {self.scalar(view, 'int', 0)})", f"({y()}, {self.literal('int')})"
            return f"{left} {rng.choice(['=', '<>', '<'])} {right}"
        return f"{x} {rng.choice(['=', '=', '<>', '!=', '<', '<=', '>', '>='])} {y()}"

    def _like(self, x: str) -> str:
        pattern = self.rng.choice(["%T", "R%", "_p%", "%ö%", "%", "red", "%&_"])
        form = self.rng.randrange(8)
        if form < 3:
            return f"{x} {self.rng.choice(['', 'NOT '])}LIKE '{pattern}'"
        if form == 3:
            return f"{x} ILIKE '{pattern}'"
        if form == 4:
            return f"{x} LIKE 'R$_%' ESCAPE '$'"
        if form == 5:
            return f"regexp_matches({x}, '^[A-R]')"
        if form == 6:
            return f"{self.rng.choice(['starts_with', 'contains', 'suffix'])}({x}, {self.literal('text')})"
        return f"{x} {self.rng.choice(['SIMILAR TO', '~'])} '[A-Za-z]+'"

    def _with_subquery(self, view: View) -> str:
        assert self.subquery is not None
        form = self.pick((3, "in"), (2, "exists"), (2, "scalar"), (1, "any"))
        kind = self.rng.choice(["int", "text"])
        if form == "exists":
            return f"{self.rng.choice(['', 'NOT '])}EXISTS ({self.subquery(view, 'exists')})"
        if form == "in":
            x = self.scalar(view, kind, 0)
            return f"{x} {self.rng.choice(['', '', 'NOT '])}IN ({self.subquery(view, kind)})"
        if form == "scalar":
            x = self.scalar(view, "int", 0)
            return f"{x} {self.rng.choice(['<', '>', '=', '<>'])} ({self.subquery(view, 'scalar')})"
        x = self.scalar(view, kind, 0)
        operator = f"{self.rng.choice(['=', '<', '>'])} {self.rng.choice(['ANY', 'ALL'])}"
        return f"{x} {operator} ({self.subquery(view, kind)})"


_DATE_PARTS = ("year", "month", "day", "quarter", "week", "dayofyear", "isodow")


def renamed(cols: Sequence[Col], names: Sequence[str]) -> tuple[Col, ...]:
    """Columns under other names."""
    return tuple(replace(col, name=name) for col, name in zip(cols, names, strict=True))
