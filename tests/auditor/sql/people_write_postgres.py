"""Statements in PostgreSQL's dialect as analysts and BI tools write them, made by chance.

For `test_people_write_postgres`, which asks a PostgreSQL server the same. Each is put together from parts:
where rows come from, what they are grouped by, what is aggregated and what stands around it. All are over
`staff` and `regions` of `gate_double`, in columns that both databases have.
"""

from __future__ import annotations

import random

CONDITIONS = [
    "age > 30",
    "sex = 'f'",
    "dept IN ('IT', 'HR')",
    "dept = ANY(ARRAY['IT', 'Ops'])",
    "hired > DATE '2016-01-01'",
    "hired >= '2015-06-01'::date AND hired < '2024-01-01'",
    "hired < CURRENT_DATE",
    "age BETWEEN SYMMETRIC 60 AND 25",
    "dept IN (SELECT dept FROM regions WHERE size > 2)",
    "id % 3 <> 1",
    "sex IS NOT NULL AND NOT (age > 50 OR id < 4)",
    "dept ILIKE 'i%'",
    "extract(year FROM hired) > 2017",
    "coalesce(sex, 'x') <> 'm'",
]
FILTERS = [
    "dept IN (SELECT dept FROM regions)",
    "age > (SELECT avg(age) FROM staff)",
    "active",
    "sex = 'm' AND age > 25",
]
KEYS = [
    "dept",
    "sex",
    "age / 10",
    "date_trunc('year', hired)",
    "extract(year FROM hired)",
    "age - age % 20",
    "concat_ws('-', sex, dept)",
    "to_char(hired, 'YYYY-MM')",
    "CASE WHEN age < 30 THEN 'young' WHEN age < 50 THEN 'middle' ELSE 'old' END",
    "active",
]
PUBLIC = [
    "count(*)",
    "string_agg(DISTINCT sex, '+' ORDER BY sex)",
    "min(hired)",
    "mode() WITHIN GROUP (ORDER BY age)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY age)",
    "bool_and(active)",
    "count(DISTINCT age)",
    "sum(bonus)",
    "round(avg(age), 2)",
]


class Statement:
    """One statement; `text` is it."""

    def __init__(self, seed: int) -> None:
        """Make one."""
        self._random = random.Random(seed)
        kinds = (
            self._grouped,
            self._grouped,
            self._grouped,
            self._distinct,
            self._beside,
            self._correlated,
            self._top,
            self._levels,
            self._compared,
            self._together,
        )
        self.text = self._random.choice(kinds)()

    def _one(self, of: list[str]) -> str:
        return self._random.choice(of)

    def _value(self, column: str) -> str:
        """An expression of the protected column."""
        return self._one([
            column,
            column,
            f"{column}::double precision",
            f"CAST({column} AS numeric(12, 2))",
            f"{column} * 12",
            f"({column} + 100) / 4",
            f"coalesce({column}, 0)",
            f"round({column}, 2)",
            f"CASE WHEN age > 40 THEN {column} ELSE 0 END",
            f"CASE WHEN sex = 'f' THEN {column} END",
        ])  # fmt: skip

    def _aggregate(self, column: str) -> str:
        call = self._one(["sum", "avg", "max", "min", "count"])
        value = column if call == "count" else self._value(column)
        made = f"{call}({value})"
        if self._random.random() < 0.3:
            made += f" FILTER (WHERE {self._one(FILTERS)})"
        around = [made, made, f"coalesce({made}, 0)", f"nullif({made}, 0)"]
        if "double" not in made and call != "count":
            around += [f"round({made}, 2)", f"round({made}, 1)::text || ' k'", f"({made})::numeric(14, 1)"]
            around += [f"format('%s each', round({made}, 2))", f"100.0 * {made} / 7"]
        return self._one(around)

    def _where(self) -> str:
        chosen = self._random.sample(CONDITIONS, self._random.randrange(3))
        return f" WHERE {' AND '.join(chosen)}" if chosen else ""

    def _source(self) -> tuple[str, str, str]:
        """WITH, FROM and the protected column's name in it."""
        limit = self._random.randrange(20, 110)
        derived = self._one([
            "SELECT * FROM staff",
            f"SELECT * FROM staff ORDER BY age DESC, id LIMIT {limit}",
            "SELECT id, age, sex, dept, hired, bonus, active, salary * 2 AS salary FROM staff",
            "SELECT * FROM staff WHERE age < 55 UNION ALL SELECT * FROM staff WHERE age >= 55",
        ])  # fmt: skip
        return self._random.choice([
            ("", "staff", "salary"),
            ("", f"({derived}) s", "salary"),
            (f"WITH s AS ({derived}) ", "s", "s.salary"),
            ("", "staff AS p", "p.salary"),
            ("", "staff JOIN generate_series(0, 80, 20) AS b(lo) ON age >= lo AND age < lo + 20", "salary"),
            ("", "(VALUES (0, 40), (40, 99)) AS b(x, y) JOIN staff ON age >= x AND age < y", "salary"),
            ("", "staff LEFT JOIN (SELECT dept AS d, region FROM regions) r ON staff.dept = r.d", "salary"),
        ])  # fmt: skip

    def _shown(self, column: str, most: int = 3) -> list[str]:
        shown = [f"{self._aggregate(column)} AS a{i}" for i in range(self._random.randrange(1, most))]
        return shown + [f"{self._one(PUBLIC)} AS p{i}" for i in range(self._random.randrange(2))]

    def _grouped(self) -> str:
        with_, source, column = self._source()
        keys = self._random.sample(KEYS, self._random.randrange(3))
        shown = [f"{key} AS k{i}" for i, key in enumerate(keys)] + self._shown(column)
        group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        if keys and self._random.random() < 0.3:
            group += self._one(
                [" HAVING count(*) > 5", f" HAVING avg({column}) > 480", " HAVING max(age) > 40"]
            )
        return f"{with_}SELECT {', '.join(shown)} FROM {source}{self._where()}{group}"

    def _levels(self) -> str:
        keys = self._one(["ROLLUP (dept, sex)", "CUBE (dept, sex)", "GROUPING SETS ((dept), (sex), ())"])
        shown = ", ".join(["dept", "sex", *self._shown("salary")])
        return f"SELECT {shown} FROM staff{self._where()} GROUP BY {keys}"

    def _distinct(self) -> str:
        key, call = self._one(KEYS[:3]), self._one(["avg", "max", "sum", "min"])
        window = f"{call}({self._value('salary')}) OVER (PARTITION BY {key})"
        return f"SELECT DISTINCT {key} AS k, {window} AS a FROM staff{self._where()}"

    def _beside(self) -> str:
        window = self._one(["()", "(PARTITION BY dept)", "(PARTITION BY sex, dept)", "w"])
        named = " WINDOW w AS (PARTITION BY sex)" if window == "w" else ""
        value = self._value("salary")
        return f"SELECT id, age, avg({value}) OVER {window} AS a FROM staff{self._where()}{named}"

    def _correlated(self) -> str:
        extra = self._one(["", " AND age > 30", " AND sex = 'm'"])
        if self._random.random() < 0.5:
            query = f"SELECT {self._aggregate('salary')} AS m FROM staff s WHERE s.dept = r.dept{extra}"
            return f"SELECT region, size, ({query}) AS m FROM regions r"
        shown = f"avg({self._value('salary')}) AS m, count(salary) AS n"
        simple = f"SELECT {shown} FROM staff s WHERE s.dept = r.dept{extra}"
        return f"SELECT r.region, q.m, q.n FROM regions r, LATERAL ({simple}) q"

    def _top(self) -> str:
        order = self._one(["sum(salary) DESC", "avg(salary)", "max(salary) DESC"])
        best = f"SELECT dept FROM staff WHERE dept IS NOT NULL GROUP BY dept ORDER BY {order}, dept"
        best += f" LIMIT {self._random.randrange(1, 5)}"
        shown = f"{self._aggregate('salary')} AS a FROM staff s"
        return self._one([
            f"SELECT s.dept, {shown} JOIN ({best}) t(d) ON s.dept = t.d GROUP BY s.dept",
            f"SELECT s.dept, sex, {shown} WHERE s.dept IN ({best}) GROUP BY s.dept, sex",
        ])  # fmt: skip

    def _compared(self) -> str:
        """A group beside all, or beside another group."""
        key, call = self._one(KEYS[:3]), self._one(["avg", "sum", "max"])
        rest = self._one(["", " WHERE sex = 'f'", " WHERE age > 40"])
        whole = f"(SELECT {call}(salary) FROM staff{rest})"
        shown = self._one([
            f"{call}(salary) - {whole}",
            f"round({call}(salary) / {whole}, 3)",
            f"100 * {call}(salary) / {whole}",
            f"{call}(salary) > {whole}",
            f"round(1.5 * {whole}, 1)",
        ])  # fmt: skip
        return f"SELECT {key} AS k, {shown} AS a FROM staff{self._where()} GROUP BY {key}"

    def _together(self) -> str:
        calls = ["sum", "avg", "min", "max"]
        parts = [
            f"SELECT '{name}' AS name, {self._one(calls)}(salary) AS a FROM staff{self._where()}"
            for name in ("one", "two", "three")[: self._random.randrange(2, 4)]
        ]
        return " UNION ALL ".join(parts)
