"""Generates expressions as people write them for PostgreSQL: without the parentheses that precedence spares.

Not a test: `test_dialects` compares what they give in PostgreSQL and in DuckDB. Types are kept track of only
so far that most statements make sense to PostgreSQL; the rest it rejects, and so must the translation.
"""

from __future__ import annotations

import random

_INTEGERS = ("s", "i", "b", "id")
_NUMBERS = (*_INTEGERS, "n", "n", "d", "f")
_LITERALS = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "10",
    "2.5",
    "0.1",
    "1.50",
    "-0.5",
    "3.0",
    "1e2",
    "2.5::float8",
    "1.1::real",
    "'3'",
    "NULL",
    "3::smallint",
    "4::bigint",
    "1.25::numeric(6,1)",
)
_TEXTS = ("'abc'", "'a'", "''", "'A%'", "'Zoë'", "NULL", "'12'", "E'a\\tb'", "$$q'$$")
_DATES = ("'2020-02-29'", "date '2020-03-01'", "'2019-12-31'", "date '2000-01-01'")
_PATTERNS = ("'a%'", "'%b_'", "'%\\_%'", "'A'", "'%'", "'_'", "''", "'%ë'")
_REGULAR = (
    "'^a'",
    "'b|c'",
    "'^[a-z]+$'",
    "'.'",
    "'[^a]c?$'",
    "'(a|A).*'",
    "'^$'",
    "'\\d+'",
    "'o.'",
    "'[[:alpha:]]{2}'",
)
_FIELDS = ("year", "month", "day", "dow", "isodow", "doy", "week", "quarter", "isoyear", "decade", "epoch")
_UNITS = ("year", "quarter", "month", "week", "day")


class Expressions:
    """A source of random expressions; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def statement(self) -> str:
        """One SELECT over `items`."""
        choose = self._random.random()
        depth = self._random.randint(1, 3)
        if choose < 0.45:
            listed = ", ".join(self.any(depth) for _ in range(self._random.randint(1, 2)))
            return f"SELECT id, {listed} FROM items"
        if choose < 0.65:
            return f"SELECT id FROM items WHERE {self.boolean(depth + 1)}"
        if choose < 0.9:
            return f"SELECT {self.aggregated(depth)} FROM items WHERE {self.boolean(1)}"
        if choose < 0.95:
            key = self.any(1)
            return f"SELECT {key} AS k, {self.aggregated(1)} AS v FROM items GROUP BY {key}"
        return f"SELECT {self.any(1)} AS k FROM items WHERE id < 4 UNION SELECT {self.any(1)} FROM items"

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def any(self, depth: int) -> str:
        """An expression of any kind."""
        kind = self._random.choice(
            (self.number, self.number, self.number, self.text, self.date, self.boolean)
        )
        return kind(depth)

    def _wrapped(self, text: str) -> str:
        return f"({text})" if self._random.random() < 0.25 else text

    def number(self, depth: int) -> str:
        """A number."""
        if depth <= 0:
            return self._one(*_NUMBERS, *_NUMBERS, *_LITERALS)
        a, b = self.number(depth - 1), self.number(depth - 1)
        choice = self._random.randint(0, 15)
        if choice <= 5:
            return self._wrapped(f"{a} {self._one('+', '-', '*', '/', '/', '%')} {b}")
        if choice == 6:
            return self._one(
                f"round({a}, {self._random.randint(-1, 3)})",
                f"round({a})",
                f"trunc({a}, 1)",
                f"trunc({a})",
                f"ceil({a})",
                f"floor({a})",
                f"abs({a})",
                f"sign({a})",
                f"- {a}",
            )
        if choice == 7:
            type_ = self._one(
                "int", "bigint", "smallint", "numeric", "numeric(12,2)", "numeric(8,1)", "float8", "real"
            )
            return self._one(f"({a})::{type_}", f"cast({a} as {type_})", f"{a}::{type_}")
        if choice == 8:
            return self._one(
                f"coalesce({a}, {b})", f"greatest({a}, {b})", f"least({a}, {b})", f"nullif({a}, {b})"
            )
        if choice == 9:
            return f"CASE WHEN {self.boolean(depth - 1)} THEN {a} ELSE {b} END"
        if choice == 10:
            return self._one(
                f"mod({a}, {b})",
                f"div({a}, {b})",
                f"power({a}, 2)",
                f"sqrt({a})",
                f"ln({a})",
                f"{a} ^ 2",
                f"exp({self._one('i', 'n', '1')})",
                f"log({a})",
            )
        if choice == 11:
            return self._one(f"length({self.text(depth - 1)})", f"position('a' in {self.text(depth - 1)})")
        if choice == 12:
            return self._one(
                f"extract({self._one(*_FIELDS)} from {self.date(depth - 1)})",
                f"date_part('{self._one(*_FIELDS)}', {self.date(depth - 1)})",
                f"{self.date(0)} - {self.date(0)}",
            )
        return self.number(0)

    def text(self, depth: int) -> str:
        """A text."""
        if depth <= 0:
            return self._one("x", "x", "x", *_TEXTS)
        a, b = self.text(depth - 1), self.text(depth - 1)
        n = self._random.randint(-2, 4)
        return self._one(
            f"{a} || {b}",
            f"{a} || i",
            f"lower({a})",
            f"upper({a})",
            f"left({a}, {n})",
            f"right({a}, {n})",
            f"substring({a} from {n} for {abs(n)})",
            f"substr({a}, {n})",
            f"trim({a})",
            f"replace({a}, 'a', {b})",
            f"coalesce({a}, {b})",
            f"concat({a}, {b}, i)",
            f"lpad({a}, {n}, '*')",
            f"reverse({a})",
            f"{a}::varchar(2)",
            f"CASE WHEN {self.boolean(depth - 1)} THEN {a} END",
            f"split_part({a}, 'b', 1)",
            "i::text",
            "day::text",
            f"btrim({a}, 'a')",
            f"greatest({a}, {b})",
            f"nullif({a}, {b})",
            "to_char(day, 'YYYY-MM')",
        )

    def date(self, depth: int) -> str:
        """A date or timestamp."""
        if depth <= 0:
            return self._one("day", "day", "at", "date '2020-01-31'", "timestamp '2020-02-29 12:30:00'")
        a = self.date(depth - 1)
        return self._one(
            f"{a} + interval '1 month'",
            f"{a} - interval '2 days'",
            "day + 3",
            "day - i",
            f"date_trunc('month', {a})",
            f"date_trunc('{self._one(*_UNITS)}', {a})",
            f"({a})::date",
            f"({a})::timestamp",
            f"coalesce({a}, {self.date(0)})",
            f"greatest({a}, {self.date(0)})",
            f"{a} + s * interval '1 day'",
        )

    def boolean(self, depth: int) -> str:
        """A condition."""
        if depth <= 0:
            return self._one(
                "ok", "i > 3", "x LIKE 'a%'", "n >= 2.5", "day < '2020-06-01'", "i IS NULL", "TRUE"
            )
        choice = self._random.randint(0, 11)
        compare = self._one("=", "<>", "<", "<=", ">", ">=", "=", "!=")
        if choice <= 2:
            return self._wrapped(f"{self.number(depth - 1)} {compare} {self.number(depth - 1)}")
        if choice == 3:
            return f"{self.text(depth - 1)} {compare} {self.text(depth - 1)}"
        if choice == 4:
            return f"{self.date(depth - 1)} {compare} {self._one(*_DATES, self.date(depth - 1))}"
        if choice == 5:
            a, b = self.boolean(depth - 1), self.boolean(depth - 1)
            return self._wrapped(self._one(f"{a} AND {b}", f"{a} OR {b}", f"NOT {a}", f"{a} OR {b} AND ok"))
        if choice == 6:
            like = self._one("LIKE", "NOT LIKE", "ILIKE", "SIMILAR TO", "~~")
            return f"{self.text(depth - 1)} {like} {self._one(*_PATTERNS)}"
        if choice == 7:
            return f"{self.text(depth - 1)} {self._one('~', '~*', '!~', '!~*')} {self._one(*_REGULAR)}"
        if choice == 8:
            return f"{self.number(depth - 1)} BETWEEN {self.number(0)} AND {self.number(0)}"
        if choice == 9:
            return f"{self.number(depth - 1)} IN ({self.number(0)}, {self.number(0)}, {self.number(0)})"
        if choice == 10:
            a = self.any(depth - 1)
            return self._one(
                f"({a}) IS NULL",
                f"({a}) IS NOT NULL",
                f"({self.boolean(depth - 1)}) IS NOT TRUE",
                f"{self.number(depth - 1)} IS DISTINCT FROM {self.number(0)}",
            )
        return self.boolean(0)

    def aggregated(self, depth: int) -> str:
        """An expression of aggregates."""
        if depth <= 0:
            a = self.number(1) if self._random.random() < 0.4 else self._one(*_NUMBERS)
            return self._one(
                f"sum({a})",
                f"avg({a})",
                f"sum({a})",
                f"avg({a})",
                f"min({a})",
                f"max({a})",
                f"count({a})",
                "count(*)",
                f"count(DISTINCT {a})",
                f"sum({a}) FILTER (WHERE ok)",
                "bool_or(ok)::int",
                "stddev(i)",
                "variance(i)",
                "max(length(x))",
                "min(x)",
                "max(day)",
            )
        a, b = self.aggregated(depth - 1), self.aggregated(depth - 1)
        return self._one(
            f"{a} / {b}",
            f"{a} / {b}",
            f"{a} * {self.literal()}",
            f"{a} + {b}",
            f"{a} - {b}",
            f"round({a}, 2)",
            f"round({a} / {self.literal()}, 1)",
            f"({a})::int",
            f"({a})::numeric(14,2)",
            f"coalesce({a}, 0)",
            f"CASE WHEN {a} > {self.literal()} THEN 1 ELSE 0 END",
            f"trunc({a}, 1)",
            f"floor({a})",
            f"ceil({a})",
            f"({a}) > {self.literal()}",
            f"round({a} * 1.0 / nullif({b}, 0), 2)",
            f"round(({a})::numeric, 2)",
        )

    def literal(self) -> str:
        """A number that is written out."""
        return self._one("2", "3", "10", "0.5", "100.0", "7", "2.5::float8")
