"""Statements as analysts and BI tools write them, made by chance: for `test_people_write`.

Each is put together from parts: where rows come from, what they are grouped by, what is aggregated and what
stands around it. All are over the tables of `gate_double`.
"""

from __future__ import annotations

import random

CONDITIONS = [
    "age > 30",
    "sex = 'f'",
    "dept IN (VALUES ('IT'), ('HR'))",
    "hired > DATE '2016-01-01'",
    "hired < CURRENT_DATE",
    "age BETWEEN 25 AND 60",
    "dept IN (SELECT dept FROM regions WHERE size > 2)",
    "date(hired) >= TIMESTAMPTZ '2015-06-01T00:00:00Z'",
    "id % 3 <> 1",
    "dept = 'it' COLLATE NOCASE",
    "sex COLLATE NOCASE IN ('F', 'm')",
]
FILTERS = [
    "{t}.dept IN (SELECT dept FROM regions)",
    "age > (SELECT AVG(age) FROM staff)",
    "EXISTS (SELECT 1 FROM regions q WHERE q.dept = {t}.dept)",
    "active",
]
KEYS = [
    "dept",
    "sex",
    "age // 10",
    "date_trunc('year', hired)",
    "age - age % 20",
    "format('{{}}-{{}}', sex, dept)",
]
PUBLIC = [
    "COUNT(*)",
    "STRING_AGG(DISTINCT sex, '+' ORDER BY sex)",
    "LIST(id ORDER BY id DESC)",
    "ARG_MAX(age, id)",
    "MODE(age ORDER BY age)",
    "FIRST(dept ORDER BY id)",
    "MEDIAN(age)",
    "MAX(DISTINCT age)",
    "HISTOGRAM(age)",
    "QUANTILE_CONT(age, [0.25, 0.75])",
    "QUANTILE_DISC(age, 0.9)",
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
            self._part,
            self._once,
        )
        self.text = self._random.choice(kinds)()

    def _one(self, of: list[str]) -> str:
        return self._random.choice(of)

    def _value(self, column: str) -> str:
        """An expression of the protected column."""
        return self._one([
            column,
            f"CAST({column} AS DOUBLE)",
            f"{column}::DECIMAL(18, 3)",
            f"{column} * 12",
            f"({column} + 100) / 4",
            f"ROUND({column}, 2)",
            f"COALESCE({column}, 0)",
            f"CASE WHEN age > 40 THEN {column} ELSE 0 END",
            f"CASE WHEN sex = 'f' THEN {column} END",
        ])  # fmt: skip

    def _aggregate(self, column: str, table: str) -> str:
        value = self._value(column)
        made = self._one(
            [f"SUM({value})", f"AVG({value})", f"MAX({value})", f"MIN({value})", f"COUNT({column})"]
        )
        if self._random.random() < 0.3:
            made += f" FILTER (WHERE {self._one(FILTERS).format(t=table)})"
        return self._one(
            [made, made, f"ROUND({made}, 6)", f"COALESCE({made}, 0)", f"printf('%d people', COUNT({column}))"]
        )

    def _where(self) -> str:
        chosen = self._random.sample(CONDITIONS, self._random.randrange(3))
        return f" WHERE {' AND '.join(chosen)}" if chosen else ""

    def _source(self) -> tuple[str, str, str, str]:
        """WITH, FROM, the table's alias and the protected column's name in it."""
        limit = self._random.randrange(20, 110)
        derived = self._one([
            "SELECT * FROM staff",
            f"SELECT * FROM staff ORDER BY age DESC, id LIMIT {limit}",
            "SELECT * EXCLUDE (salary), salary * 2 AS salary FROM staff",
            "FROM staff WHERE age < 55 UNION ALL FROM staff WHERE age >= 55",
        ])  # fmt: skip
        return self._random.choice([
            ("", "staff", "staff", "salary"),
            ("", f"({derived}) s", "s", "salary"),
            (f"WITH s AS ({derived}) ", "s", "s", "salary"),
            ("", "(staff JOIN (SELECT 1 AS one) o ON TRUE)", "staff", "salary"),
            ("", "staff JOIN range(0, 100, 20) b(lo) ON age >= b.lo AND age < b.lo + 20", "staff", "salary"),
            ("", "(VALUES (0, 40), (40, 99)) b(x, y) JOIN staff ON age >= x AND age < y", "staff", "salary"),
        ])  # fmt: skip

    def _grouped(self) -> str:
        with_, source, table, column = self._source()
        keys = self._random.sample(KEYS, self._random.randrange(3))
        shown = [f"{key.format()} AS k{i}" for i, key in enumerate(keys)]
        shown += [f"{self._aggregate(column, table)} AS a{i}" for i in range(self._random.randrange(1, 3))]
        shown += [f"{self._one(PUBLIC)} AS p{i}" for i in range(self._random.randrange(2))]
        group = f" GROUP BY {', '.join(f'k{i}' for i in range(len(keys)))}" if keys else ""
        return f"{with_}SELECT {', '.join(shown)} FROM {source}{self._where()}{group}"

    def _distinct(self) -> str:
        key, value = self._one(KEYS[:4]), self._value("salary")
        call = self._one(["AVG", "MAX", "SUM", "MIN"])
        window = f"{call}({value}) OVER (PARTITION BY {key})"
        return f"SELECT DISTINCT {key} AS k, {window} AS a FROM staff{self._where()}"

    def _beside(self) -> str:
        window = self._one(["()", "(PARTITION BY dept)", "(PARTITION BY sex, dept)", "w"])
        named = " WINDOW w AS (PARTITION BY sex)" if window == "w" else ""
        value = self._value("salary")
        return f"SELECT id, age, AVG({value}) OVER {window} AS a FROM staff{self._where()}{named}"

    def _correlated(self) -> str:
        inner = self._aggregate("salary", "s")
        extra = self._one(["", " AND age > 30", " AND sex = 'm'"])
        query = f"SELECT {inner} AS m FROM staff s WHERE s.dept = r.dept{extra}"
        if self._random.random() < 0.5:
            return f"SELECT region, size, ({query}) AS m FROM regions r"
        shown = f"AVG({self._value('salary')}) AS m, COUNT(salary) AS n"
        simple = f"SELECT {shown} FROM staff s WHERE s.dept = r.dept{extra}"
        return f"SELECT r.region, q.m, q.n FROM regions r, LATERAL ({simple}) q"

    def _levels(self) -> str:
        keys = self._one(["ROLLUP (dept, sex)", "CUBE (dept, sex)", "GROUPING SETS ((dept), (sex), ())"])
        shown = f"{self._aggregate('salary', 'staff')} AS a, GROUPING(dept) AS g"
        return f"SELECT dept, sex, {shown} FROM staff{self._where()} GROUP BY {keys}"

    def _compared(self) -> str:
        """A group beside all, or beside others."""
        key, call = self._one(KEYS[:4]), self._one(["AVG", "SUM", "MAX"])
        whole = f"(SELECT {call}(salary) FROM staff{self._one(['', ' WHERE age > 40'])})"
        shown = self._one([
            f"{call}(salary) - {whole}", f"ROUND({call}(salary) / {whole}, 3)", f"{call}(salary) > {whole}",
        ])  # fmt: skip
        return f"SELECT {key} AS k, {shown} AS a FROM staff{self._where()} GROUP BY k"

    def _part(self) -> str:
        """A part of the groups, or of the records."""
        share = self._random.randrange(0, 101, 5)
        order = self._one(["k", "k DESC", "COUNT(*) DESC, k", "SUM(salary), k"])
        groups = f"SELECT {self._one(KEYS[:3])} AS k, AVG(salary) AS a FROM staff{self._where()} GROUP BY k"
        people = f"SELECT * FROM staff{self._where()} ORDER BY age, id LIMIT {share}%"
        return self._one(
            [f"{groups} ORDER BY {order} LIMIT {share}%", f"SELECT SUM(salary) AS a FROM ({people})"]
        )

    def _once(self) -> str:
        """Each once, over a join that repeats people."""
        fan = "staff JOIN range(0, 60, 15) b(lo) ON age >= b.lo"
        key = self._one(["lo", "dept", "sex"])
        hashed = "CAST(HASH(id) AS DECIMAL(38, 0))"
        whole = "CAST(FLOOR(COALESCE(salary, 0) * 1000000) AS DECIMAL(38, 0))"
        total = f"(SUM(DISTINCT {whole} + {hashed}) - SUM(DISTINCT {hashed}))"
        return f"SELECT {key} AS k, {total} AS a FROM {fan}{self._where()} GROUP BY k"

    def _top(self) -> str:
        order = self._one(["SUM(salary) DESC", "AVG(salary)", "MAX(salary) DESC"])
        count = self._random.randrange(1, 5)
        best = f"SELECT dept FROM staff GROUP BY dept ORDER BY {order}, dept LIMIT {count}"
        shown = f"{self._aggregate('salary', 's')} AS a FROM staff s"
        return self._one([
            f"SELECT s.dept, {shown} JOIN ({best}) t ON s.dept = t.dept GROUP BY s.dept",
            f"SELECT s.dept, sex, {shown} WHERE s.dept IN ({best}) GROUP BY s.dept, sex",
            f"SELECT t.dept, {shown} JOIN ({best}) t ON s.dept IS NOT DISTINCT FROM t.dept GROUP BY t.dept",
        ])  # fmt: skip
