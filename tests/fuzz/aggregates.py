"""Random aggregates: of protected columns, of public ones, arithmetic over them, and windows over that."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.expressions import Expressions, View


class Aggregates:
    """Makes aggregates over what a view shows."""

    def __init__(self, expressions: Expressions, uneven: float = 0.04) -> None:
        self.e = expressions
        self.rng = expressions.rng
        self.uneven = uneven
        """Share of arguments in forms that nobody should answer."""
        self.named: str | None = ""
        """The WINDOW clause that the SELECT being made needs; None: none so far, "": it takes none."""

    # --- one aggregate

    def protected(self, view: View) -> str:
        """SUM, AVG, MIN, MAX or COUNT of a protected column, or of something public if there is none."""
        if not view.secrets():
            return self.public(view, "num")
        column = self.e.ref(view, *self.rng.choice(view.secrets()))
        function = self.e.pick((5, "SUM"), (4, "AVG"), (2, "MIN"), (2, "MAX"), (1.5, "COUNT"), (0.3, "mean"))
        if self.e.chance(self.uneven / 2):
            function = self.rng.choice(_OTHERS)
            inner = f"{column}, 0.5" if function == "QUANTILE_CONT" else column
            inner = f"{column}, {column}" if function == "ARG_MAX" else inner
            return f"{function}{' ' if '(' in function else '('}{inner})"
        argument = self.argument(view, column, extreme=function in ("MIN", "MAX"))
        return f"{function}({argument}){self.filter(view)}"

    def argument(self, view: View, column: str, extreme: bool) -> str:
        """The argument of an aggregate, mostly one that has even coefficients."""
        if self.e.chance(self.uneven):
            return self._odd(view, column)
        number = self.rng.choice(["2", "12", "0.5", "100", "1.25"])
        forms = [column] * 6 + [f"{number} * {column}", f"-{column}", f"{column} + {number}", f"({column})",
                 f"{column} * {number} - 1", f"{number} - {column}", f"{column} / 4",
                 f"-(2 * {column} + 3)"]  # fmt: skip
        if self.e.chance(0.65):
            return self.rng.choice(forms)
        condition = self.e.condition(view, 1)
        case = f"CASE WHEN {condition} THEN {column} END"
        if extreme:
            return case
        return self.rng.choice(
            [
                case,
                f"CASE WHEN {condition} THEN {column} ELSE 0 END",
                f"CASE WHEN {condition} THEN {column} ELSE -{column} END",
                f"CASE WHEN {condition} THEN 1 WHEN {self.e.condition(view, 0)} THEN {column} ELSE NULL END",
                f"COALESCE({column}, 0)",
                f"IF({condition}, {column}, 0)",
                f"2 * CASE WHEN {condition} THEN {column} ELSE 1.5 END + 1",
                f"CASE {self.e.scalar(view, 'int', 0)} WHEN 30 THEN {column} WHEN 40 THEN 0 "
                f"ELSE {column} END",
            ]
        )

    def _odd(self, view: View, column: str) -> str:
        other = self.e.scalar(view, self.rng.choice(["int", "num"]), 1)
        return self.rng.choice(
            [
                f"CASE WHEN {self.e.condition(view, 0)} THEN {column} ELSE 2 * {column} END",
                f"{column} * {other}", f"{column} + {other}", f"abs({column})", f"{column}::DOUBLE",
                f"{column} * {column}", f"CASE WHEN {column} > 50 THEN 1 ELSE 0 END", f"{column} ** 2",
                f"round({column}, -1)", f"greatest({column}, 50)", f"{column} % 2", f"0 * {column}",
                f"{column} / 0", f"{column} - {column}", f"nullif({column}, 30)", f"{column} // 10",
                f"1e200 * {column}", f"{column} * 1e-30", f"sqrt({column})", f"1 / {column}",
            ]
        )  # fmt: skip

    def public(self, view: View, kind: str) -> str:
        """An aggregate of public columns."""
        if kind == "int" and self.e.chance(0.45):
            return "COUNT(*)" + self.filter(view)
        of = self.e.pick((3, "int"), (1, "num"), (1, "text"), (1, "date"))
        x = self.e.scalar(view, of, 1)
        distinct = "DISTINCT " if self.e.chance(0.3) else ""
        if kind == "int":
            return f"COUNT({distinct}{x}){self.filter(view)}"
        if kind == "num":
            x = self.e.scalar(view, self.rng.choice(["int", "num"]), 1)
            function = self.rng.choice(
                ["SUM", "AVG", "MIN", "MAX", "MEDIAN", "SUM", "STDDEV_POP", "SUM(DISTINCT"]
            )
            return f"{function}{' ' if '(' in function else '('}{x}){self.filter(view)}"
        if kind == "bool":
            return f"{self.rng.choice(['bool_and', 'bool_or'])}({self.e.condition(view, 1)})"
        return f"{self.rng.choice(['MIN', 'MAX'])}({self.e.scalar(view, kind, 1)}){self.filter(view)}"

    def filter(self, view: View) -> str:
        if not self.e.chance(0.15):
            return ""
        where = "WHERE " if self.e.chance(0.9) else ""
        return f" FILTER ({where}{self.e.condition(view, 1)})"

    # --- over aggregates

    def over(self, view: View, keys: Sequence[tuple[str, str]], kind: str, depth: int = 2) -> str:
        """An expression of a kind over aggregates and keys (text and kind of each)."""
        same = [key for key, key_kind in keys if key_kind == kind]
        if same and self.e.chance(0.3):
            return self.rng.choice(same)
        if depth <= 0 or self.e.chance(0.6):
            return self._bare(view, kind)
        made: str = getattr(self, "_" + kind)(view, keys, depth - 1)
        return made

    def _bare(self, view: View, kind: str) -> str:
        if kind == "num":
            return self.protected(view) if self.e.chance(0.8) else self.public(view, "num")
        if kind == "int":
            return self.public(view, "int")
        if kind == "bool":
            return f"{self.protected(view)} > {self.rng.choice([0, 100, 1000])}"
        return self.public(view, kind)

    def _num(self, view: View, keys: Sequence[tuple[str, str]], depth: int) -> str:
        def num() -> str:
            return self.over(view, keys, "num", depth)

        return self.rng.choice(
            [
                lambda: f"{num()} / {self.public(view, 'int')}",
                lambda: f"{num()} {self.rng.choice('+-')} {num()}",
                lambda: f"ROUND({num()}, {self.rng.choice([0, 1, 2])})",
                lambda: f"{num()} * {self.rng.choice(['2', '0.01', '100'])}",
                lambda: f"COALESCE({num()}, 0)",
                lambda: (
                    f"CASE WHEN {self.public(view, 'int')} > {self.rng.choice([1, 3, 5])} THEN {num()} END"
                ),
                lambda: f"-{num()}",
                lambda: f"CAST({num()} AS DOUBLE)",
                lambda: f"({num()})::{self.rng.choice(['DOUBLE', 'DECIMAL(18,2)'])}",
                lambda: f"greatest({num()}, {num()})",
                lambda: f"{num()} / NULLIF({num()}, 0)",
                lambda: f"sqrt(abs({num()}))",
            ]
        )()

    def _int(self, view: View, keys: Sequence[tuple[str, str]], depth: int) -> str:
        return self.rng.choice(
            [
                lambda: f"{self.over(view, keys, 'int', depth)} + 1",
                lambda: f"CAST({self.over(view, keys, 'num', depth)} AS BIGINT)",
                lambda: f"round({self.protected(view)})::BIGINT",
                lambda: f"floor({self.protected(view)})::BIGINT % 7",
                lambda: f"{self.over(view, keys, 'int', depth)} // 2",
            ]
        )()

    def _text(self, view: View, keys: Sequence[tuple[str, str]], depth: int) -> str:
        return self.rng.choice(
            [
                lambda: f"CASE WHEN {self.protected(view)} >= {self.literal()} THEN 'hi' ELSE 'lo' END",
                lambda: f"CAST({self.over(view, keys, 'int', depth)} AS VARCHAR)",
                lambda: f"{self.over(view, keys, 'text', depth)} || '!'",
                lambda: f"CAST({self.over(view, keys, 'bool', depth)} AS VARCHAR)",
            ]
        )()

    def _date(self, view: View, keys: Sequence[tuple[str, str]], depth: int) -> str:
        return f"{self.over(view, keys, 'date', depth)} + 1"

    def _bool(self, view: View, keys: Sequence[tuple[str, str]], depth: int) -> str:
        return f"({self.having(view, keys)})"

    def having(self, view: View, keys: Sequence[tuple[str, str]]) -> str:
        """A condition on groups."""
        form = self.e.pick((4, "count"), (3, "protected"), (2, "key"), (1, "public"), (1, "both"))
        if form == "both":
            joint = self.rng.choice(["AND", "OR"])
            return f"{self.having(view, keys)} {joint} {self.having(view, keys)}"
        if form == "protected":
            x = self.protected(view)
            return self.rng.choice(
                [f"{x} > {self.rng.choice([0, 50, 1000, 20000])}", f"{x} IS NOT NULL",
                 f"{x} BETWEEN 10 AND 10000", f"{x} <> {self.protected(view)}"]
            )  # fmt: skip
        if form == "key" and keys:
            key, kind = self.rng.choice(list(keys))
            return self.rng.choice([f"{key} IS NOT NULL", f"{key} = {self.e.literal(kind)}", f"{key} IS NULL",
                                    f"{key} <> {self.e.literal(kind)}"])  # fmt: skip
        if form == "public":
            return f"{self.public(view, 'num')} > {self.e.literal('int')}"
        return f"COUNT(*) {self.rng.choice(['>=', '>', '<', '<>', '='])} {self.rng.choice([1, 2, 3, 5])}"

    def window(self, argument: str, partition: Sequence[str], order: Sequence[str]) -> str:
        """A window function over rows or groups."""
        function = self.e.pick((3, "SUM"), (2, "rank"), (1, "row_number"), (1, "AVG"), (1, "lag"), (1, "MAX"),
                               (1, "dense_rank"), (0.5, "ntile"), (0.5, "first_value"), (0.5, "COUNT"),
                               (0.5, "percent_rank"), (0.3, "nth_value"))  # fmt: skip
        call = {
            "rank": "rank()", "row_number": "row_number()", "dense_rank": "dense_rank()", "ntile": "ntile(3)",
            "lag": f"{self.rng.choice(['lag', 'lead'])}({argument})", "percent_rank": "percent_rank()",
            "nth_value": f"nth_value({argument}, 2)",
        }.get(function, f"{function}({argument})")  # fmt: skip
        parts = []
        if partition and self.e.chance(0.4):
            parts.append(f"PARTITION BY {self.rng.choice(list(partition))}")
        ranked = function in ("rank", "row_number", "dense_rank", "lag", "ntile", "percent_rank")
        if order and (ranked or self.e.chance(0.5)):
            listed = list(order) if self.e.chance(0.7) else [self.rng.choice(list(order))]
            parts.append("ORDER BY " + ", ".join(f"{each}{self.direction()}" for each in listed))
            if not ranked and self.e.chance(0.3):
                parts.append(self.rng.choice(_FRAMES))
        if self.named is None and self.e.chance(0.15):
            self.named = f" WINDOW win AS ({' '.join(parts)})"
            return f"{call} OVER win"
        return f"{call} OVER ({' '.join(parts)})"

    def literal(self) -> str:
        return str(self.rng.choice([0, 50, 1000]))

    def direction(self) -> str:
        return self.rng.choice(["", "", "", " DESC", " ASC", " NULLS FIRST", " DESC NULLS LAST"])


_OTHERS = (
    "MEDIAN", "STDDEV", "VAR_POP", "MODE", "FIRST", "LIST", "SUM(DISTINCT", "COUNT(DISTINCT", "ANY_VALUE",
    "ARG_MAX", "QUANTILE_CONT",
)  # fmt: skip
_FRAMES = (
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS UNBOUNDED PRECEDING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
)  # fmt: skip
